"""Events are told once, and again when they may have been forgotten."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import pytest

import reconciled
from fake_cluster import FakeCluster
from spillway.controllers.reconciling.decision import Event
from spillway.manager import kinds
from spillway.manager.recorder import SAME, Recorder

GROWN, FAILED = Event("Scaled", "2 workers"), Event("Scaled", "2 workers", warning=True)


class Told:
    """A recorder, its cluster, and its clock."""

    def __init__(self) -> None:
        self.cluster, self.now = FakeCluster(), reconciled.NOW
        self._recorder = Recorder(self.cluster, lambda: self.now, "test")

    def record(self, uid: str, *events: Event) -> int:
        """How many events there are then."""
        job: dict[str, Any] = {"metadata": {"name": uid, "namespace": "ns", "uid": uid}}
        asyncio.run(self._recorder.record(job, events))
        return sum(kind == kinds.EVENT.name for kind, *_ in self.cluster.objects)

    def forget(self, uid: str) -> None:
        self._recorder.forget(uid)


@pytest.fixture
def told() -> Told:
    return Told()


def test_the_same_is_told_once_of_each_job(told: Told) -> None:
    assert told.record("a", GROWN) == 1
    assert told.record("a", GROWN) == 1
    assert told.record("a", GROWN, FAILED) == 2
    assert told.record("b", GROWN) == 3


def test_the_same_is_told_again_after_a_while(told: Told) -> None:
    told.record("a", GROWN)
    told.now += SAME - datetime.timedelta(seconds=1)
    assert told.record("a", GROWN) == 1
    told.now += datetime.timedelta(seconds=1)
    assert told.record("a", GROWN) == 2


def test_nothing_is_kept_of_a_job_that_is_gone(told: Told) -> None:
    told.record("a", GROWN)
    told.forget("a")
    assert told.record("a", GROWN) == 2
