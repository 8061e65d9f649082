"""A driver is killed after each of its steps, and slots with it; the next one goes on where it was."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer

import armed_drivers
import armed_slots
import chaos
import kafka_records
from crashing import Crashing, Load, labelled, lost, plain
from running_job import CONTEXT, RunningJob, accepted
from spillway.controllers import topics
from spillway.controllers.topics import Topic
from spillway.local.broker import Broker
from spillway.runtime import admin, clients, failpoints
from spillway.runtime.clients import Access

NAMES = ("w0.0", "w1.0")
WITHIN = 40.0  # seconds for a driver to come by a point: as many as it takes to find a slot silent, several times
# Points that a driver comes by only when a slot has died, and nobody has followed it for some seconds.
LOSSES = ("fenced", "Fenced written", "positions read")


class Driven(RunningJob):
    """Slots of a job whose driver is the real one, in a process of its own."""

    def __init__(self, document: dict[str, Any], file: Path) -> None:
        file.write_text(yaml.safe_dump(document))
        self.file, self.job, self.code = file, accepted(document), None
        self.access, self.bootstrap = Access(self.job.spec.kafka), document["spec"]["kafka"]["bootstrapServers"][0]
        admin.create(clients.admin(self.access), [Topic(name, 2) for name in topics.of_user(self.job)])
        self.slots = {}
        self.reports = {}
        self._producer = Producer(kafka_records.client(self.bootstrap))
        self.drives: BaseProcess | None = None

    def drive(self, run: Callable[..., None], *arguments: Any) -> BaseProcess:
        """A driver."""
        self.drives = CONTEXT.Process(target=run, args=arguments, daemon=True)
        self.drives.start()
        return self.drives

    def close(self) -> None:
        if self.drives is not None:
            self.drives.kill()
            self.drives.join()
        super().close()


@contextlib.contextmanager
def driven(document: dict[str, Any], file: Path) -> Iterator[Driven]:
    job = Driven(document, file)
    try:
        yield job
    finally:
        job.close()


def sweep(job: Driven, load: Load, points: Sequence[str]) -> list[str]:
    """Kill a driver at each of the points, those that it was killed at."""
    died: list[str] = []
    for point in points:
        if point == "Plan written":  # the topics of the job are there
            for name in NAMES:
                job.launch(name, armed_slots.eager)
        driver, since, lost_one = job.drive(armed_drivers.dying, point, job.file), time.monotonic(), False
        while driver.exitcode is None:
            assert time.monotonic() < since + WITHIN, f"no driver came by {point!r} within {WITHIN:.0f} s"
            load.due()
            time.sleep(0.02)
            if point in LOSSES and not lost_one and time.monotonic() > since + 6.0:  # it has its part again
                lost_one = True
                job.kill(NAMES[0])
        if lost_one:
            job.launch(NAMES[0], armed_slots.eager)
        assert driver.exitcode == -signal.SIGKILL, f"the driver ended with {driver.exitcode}, on the way to {point!r}"
        died.append(point)
    return died


@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", chaos.seeds())
def test_drivers_die_after_every_step(broker: Broker, tmp_path: Path, seed: int) -> None:
    document = labelled(broker.bootstrap, f"drivers-{seed}", workers={"max": 2})
    with driven(document, tmp_path / "job.yaml") as job:
        load = Load(job, seed, rate=200.0)
        died = sweep(job, load, failpoints.DRIVER)
        job.drive(armed_drivers.restless, job.file)
        finish(job, load)

    print(f"killed at {len(died)} points: {', '.join(died)}")  # noqa: T201
    assert tuple(died) == failpoints.DRIVER


@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", chaos.seeds())
def test_drivers_die_after_every_step_of_a_batch(broker: Broker, tmp_path: Path, seed: int) -> None:
    document = plain(broker.bootstrap, f"batches-{seed}", workers={"max": 2})
    with driven(document, tmp_path / "job.yaml") as job:
        load = Load(job, seed, rate=200.0)
        died: list[str] = []
        for name in NAMES:
            job.launch(name, armed_slots.eager)
        for point in failpoints.ENGINE:
            driver, since = job.drive(armed_drivers.dying_in_batches, point, job.file), time.monotonic()
            while driver.exitcode is None:
                assert time.monotonic() < since + WITHIN, f"no driver came by {point!r} within {WITHIN:.0f} s"
                load.due()
                time.sleep(0.02)
            assert driver.exitcode == -signal.SIGKILL, (
                f"the driver ended with {driver.exitcode}, on the way to {point!r}"
            )
            died.append(point)
        job.drive(armed_drivers.switching, job.file)
        finish(job, load)

    print(f"killed at {len(died)} points: {', '.join(died)}")  # noqa: T201
    assert tuple(died) == failpoints.ENGINE


@pytest.mark.chaos
@pytest.mark.timeout(120)
def test_batches_that_lose_a_record_are_noticed(broker: Broker, tmp_path: Path) -> None:
    document = plain(broker.bootstrap, "careless", workers={"max": 2})
    with driven(document, tmp_path / "job.yaml") as job:
        load = Load(job, 1, rate=200.0)
        for name in NAMES:
            job.launch(name, armed_slots.eager)
        job.drive(armed_drivers.careless, job.file)
        until = time.monotonic() + 8
        while time.monotonic() < until:
            load.due()
            time.sleep(0.02)
        with pytest.raises(AssertionError, match="something is lost"):
            finish(job, load, seconds=10)


def finish(job: Driven, load: Load, seconds: float = 60) -> None:
    """All that was fed comes out, and is counted once: nobody but drivers has died, so what comes last is the count."""
    load.some(100)
    load.flush()
    deadline = time.monotonic() + seconds
    found = Crashing(job, load=load)
    while lost(found.copies(), load.lines) or found.last() != load.right:
        assert time.monotonic() < deadline, "something is lost, or was never counted, or twice"
        time.sleep(0.5)
