"""Kill any process after any step: nothing is lost, no table is wrong, and internal edges count each record once.

All of it happens under load, with partitions moving. With exactly-once nothing comes out twice either, and updates of a
key come one after the other, whoever dies and whoever rises from the dead.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from typing import get_args

import pytest

import chaos
import crashing
from crashing import Crashing, labelled, lost, repeated
from spillway.local.broker import Broker
from spillway.local.installation import Installation
from spillway.runtime import failpoints

AT_LEAST, EXACTLY = "at-least-once", "exactly-once"
# Of exactly-once, what differs: how a commit goes, and what precedes and follows it. `make chaos` kills at all points.
COMMITS = ("processed", "snapshot taken", "rows sent", "positions sent", "committed", "released")
# Where a zombie has something to say that it hasn't said: records and frames, or a commit. `make chaos` has all points.
HAUNTED = ("sent", "positions sent")
# Points that only somebody who does more than hold and sleep comes by, or at which nothing is owned yet.
NEVER_HAUNTED = {"joining", "gone", "drained"}


def check(job: Crashing, delivery: str) -> None:
    """What is promised."""
    job.end()
    assert job.table() == job.load.right
    upserts, copies = job.upserts(), job.copies()
    assert not lost(copies, job.load.lines)
    assert set(copies) == set(job.load.lines)
    for word, count in job.load.right.items():
        assert set(upserts[word]) == set(range(1, count + 1)), f"{word} has counts that were never right"
    if delivery == EXACTLY:
        assert not repeated(copies)
        assert all(upserts[word] == list(range(1, count + 1)) for word, count in job.load.right.items())


def _all(points: Sequence[str], seed: int) -> list[str]:
    """In an order of their own, when it's long."""
    found = list(points)
    if chaos.LONG:
        random.Random(seed).shuffle(found)  # noqa: S311
    return found


@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", chaos.seeds())
@pytest.mark.parametrize(
    ("delivery", "points"), [(AT_LEAST, failpoints.SLOT), (EXACTLY, failpoints.SLOT if chaos.LONG else COMMITS)]
)
def test_slots_die_after_every_step(broker: Broker, delivery: str, points: Sequence[str], seed: int) -> None:
    with crashing.crashing(labelled(broker.bootstrap, f"dies-{delivery}-{seed}", delivery=delivery), seed) as job:
        died = job.sweep(_all(points, seed))
        check(job, delivery)

    print(f"{delivery}: killed at {len(died)} points: {', '.join(died)}")  # noqa: T201
    assert sorted(died) == sorted(points)


@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", chaos.seeds())
@pytest.mark.parametrize("delivery", [AT_LEAST, EXACTLY])
def test_zombies_change_nothing_that_is_promised(broker: Broker, delivery: str, seed: int) -> None:
    points = HAUNTED
    if chaos.LONG:
        points = tuple(point for point in get_args(failpoints.Slot) if point not in NEVER_HAUNTED)
    with crashing.crashing(labelled(broker.bootstrap, f"haunted-{delivery}-{seed}", delivery=delivery), seed) as job:
        haunted = job.haunt(_all(points, seed))
        check(job, delivery)

    print(f"{delivery}: haunted at {len(haunted)} points, {job.late()} updates out of order")  # noqa: T201
    assert sorted(haunted) == sorted(points)


@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", chaos.seeds())
def test_a_broker_is_killed_under_load_and_away_for_some_time(kafka: Installation, seed: int) -> None:
    """Slots wait, or begin anew, and go on; a slot dies meanwhile."""
    with (
        Broker(using=kafka) as broker,
        crashing.crashing(labelled(broker.bootstrap, "outage", delivery=EXACTLY), seed) as job,
    ):
        for name in job.NAMES:
            job.job.start(name)
        job.during(1.0)
        broker.kill()
        fed = len(job.load.lines)
        again = threading.Thread(target=broker.start)
        again.start()
        while again.is_alive():
            job.tick(moves=False)
        assert len(job.load.lines) > fed
        job.during(1.0)
        assert broker.pid is not None
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            job.load.due()
            job.job.kill("w0.0")
            time.sleep(60.0 if chaos.LONG else 2.0)
        finally:
            os.kill(broker.pid, signal.SIGCONT)
        job.job.start("w0.0")
        job.during(1.0)
        check(job, EXACTLY)
