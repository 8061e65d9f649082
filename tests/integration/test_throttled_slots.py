"""A slot under a CPU limit: the driver goes by what it gets done, not by what its records cost when it has a core."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import throttled
from deployed_job import Deployed, deployed
from spillway.local.broker import Broker
from spillway.local.process import Process

pytestmark = [pytest.mark.timeout(240, func_only=True), pytest.mark.xdist_group("throttled")]

# Lines of 24 words per second. A slot with a core does some thousand of them.
MANY, FEW = 700.0, 20.0
SHARE = 0.04  # at a tenth a slot still does 700 lines, with more of them in each turn


def _document(name: str) -> dict[str, Any]:
    words = {"array": "split(lower(line), ' ')", "as": "word", "keep": []}
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name},
        "spec": {
            "latency": {"bound": "500ms", "quantile": 0.99},
            "streams": [{"name": "lines", "topic": f"{name}-lines", "format": "raw", "columns": "line string"}],
            "operators": [
                {"name": "words", "input": "lines", "explode": words},
                {"name": "counts", "input": "words", "aggregate": {"by": ["word"], "values": ["count(*) as n"]}},
            ],
            "outputs": [{"name": "result", "input": "counts", "topic": f"{name}-counts"}],
            "execution": {"workers": {"min": 1, "max": 4}, "executors": {"min": 0, "max": 0}},
        },
    }


@contextlib.contextmanager
def _fed(job: Deployed, topic: str, rate: float, folder: Path) -> Iterator[None]:
    command = [sys.executable, "-P", "-m", "spillway.bench.lines", "--bootstrap", job.broker.bootstrap, "--topic"]
    command += [topic, "--rate", str(rate), "--seconds", "200", "--start", f"{time.time() + 1:.3f}"]
    process = Process(command, folder / "feeder.log", folder=folder)
    try:
        yield
    finally:
        process.kill()


@contextlib.contextmanager
def _running(broker: Broker, name: str, folder: Path) -> Iterator[tuple[Deployed, int]]:
    """The job with one worker, and the process of its slot."""
    with deployed(broker, _document(name), folder) as job:
        job.start("driver")
        job.start("worker", "--worker", "0")
        job.until(lambda: job.told.ready)
        (slot,) = job.until(lambda: throttled.slots_of(job.processes["worker"].pid))
        yield job, slot


def test_a_slot_with_a_small_share_of_a_core_is_not_planned_as_a_whole_one(broker: Broker, tmp_path: Path) -> None:
    with _running(broker, "throttled-many", tmp_path) as (job, slot), _fed(job, "throttled-many-lines", MANY, tmp_path):
        job.until(lambda: (job.told.rate_in or 0.0) > MANY / 2)
        time.sleep(5)
        assert job.told.recommended.slots == 1, job.told.recommended.sentence  # with a core it would do
        with throttled.to(SHARE, slot):
            job.until(lambda: (job.told.recommended.slots or 0) >= 2, 90)


def test_what_a_throttled_slot_does_without_a_queue_it_can_do(broker: Broker, tmp_path: Path) -> None:
    with (
        _running(broker, "throttled-few", tmp_path) as (job, slot),
        throttled.to(0.3, slot),
        _fed(job, "throttled-few-lines", FEW, tmp_path),
    ):
        job.until(lambda: (job.told.rate_in or 0.0) > FEW / 2)
        time.sleep(20)
        assert job.client.capacities("words")["P_D"] >= FEW, job.client.deciding()
        assert job.told.recommended.slots == 1, job.told.recommended.sentence
