"""Every example, and random topologies, on a real broker: partitions move, a slot dies, and an independent judge looks.

Many jobs are parts of one here, so that they need few processes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import fuzzing
import judged_job
import kafka_records
import merged
import mixtures
import programs
from judged_job import Feeder
from merged import Part
from running_job import RunningJob, running
from spillway.local.broker import Broker
from spillway.runtime.programs import cutting

ONCE: dict[str, Any] = {"delivery": "exactly-once"}


def _ran(name: str, broker: Broker, parts: Sequence[Part], folder: Path, **execution: Any) -> RunningJob:
    """A job of these parts that has gone through trouble, and is done."""
    code = judged_job.code_of(name, parts, folder)
    document = merged.document(name, broker.bootstrap, parts, execution={"workers": {"max": 1}, **execution})
    with running(document, code=code, frame=20) as job:
        feeder = Feeder(job, parts)
        feeder.tables(parts)
        job.start("w0.0")
        job.spread("w0.0")
        job.finish()  # tables are there ahead of what looks them up, as the judge takes for granted
        judged_job.troubled(job, feeder)
    return job


def _wrong(job: RunningJob, parts: Sequence[Part], folder: Path) -> dict[str, str]:
    """What the judge finds, by part."""
    verdicts = {part.name: judged_job.verdict(job, part, folder) for part in parts}
    return {name: judged_job.told(verdict) for name, verdict in verdicts.items() if not verdict.right}


def _random(seed: int, size: int = 5) -> list[Part]:
    """A topology with its records in two orders."""
    return [mixtures.random_topology(seed, size, 60, 2, order) for order in (None, programs.seeded(seed))]


@pytest.mark.long
@pytest.mark.timeout(400)
def test_all_examples_are_right_after_moves_and_a_crash(broker: Broker, tmp_path: Path) -> None:
    parts = [*mixtures.examples(120, 2), mixtures.formats(120, 2)]
    job = _ran("examples", broker, parts, tmp_path)

    assert _wrong(job, parts, tmp_path) == {}


@pytest.mark.long
@pytest.mark.timeout(400)
def test_with_all_segments_apart_each_result_is_seen_once_when_asked_for(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "together", cutting.alone)
    parts = [mixtures.example(name, 100, 2) for name in ("diamond", "ysb", "sentiment", "enrichment")]
    first, again = _random(5)
    job = _ran("apart", broker, [*parts, first, again], tmp_path, **ONCE)

    assert _wrong(job, [*parts, first, again], tmp_path) == {}
    assert judged_job.rows(job, first) == judged_job.rows(job, again)
    # The judge is not blind: a record that nobody has processed is missed.
    late = {"sensor": "sensor-x", "celsius": 45.0, "measured_at": parts[0].messages[-1].time}
    kafka_records.produce(broker.bootstrap, merged.topic("apart", parts[0], "readings"), [json.dumps(late)])
    assert set(_wrong(job, parts, tmp_path)) == {"diamond"}


@pytest.mark.fuzz
@pytest.mark.skipif(fuzzing.FACTOR == 1, reason="in `make fuzz`: two minutes for each case")
@pytest.mark.timeout(7200)
def test_random_topologies_are_right_however_they_are_cut(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = programs.seeded(fuzzing.seed())
    for case in range(fuzzing.FACTOR // 5):
        seed = dice.randrange(2**20)
        parts = [part for number in range(3) for part in _random(seed + number, dice.randrange(3, 9))]
        execution = dice.choice([dict[str, Any](), ONCE])
        with monkeypatch.context() as patch:
            if case % 2:
                patch.setattr(programs, "together", cutting.alone)
            job = _ran(f"random{case}", broker, parts, tmp_path, **execution)
        assert _wrong(job, parts, tmp_path) == {}, seed
        for first, again in zip(parts[::2], parts[1::2], strict=True):
            assert judged_job.rows(job, first) == judged_job.rows(job, again), seed
