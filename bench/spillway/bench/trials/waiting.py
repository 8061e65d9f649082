"""The queue of Algorithm 1: how many records are due and not done."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from spillway.bench.dual.loads import Load
from spillway.bench.dual.tails import Tail
from spillway.bench.workloads.work import Floats, Key, Numbers, Work
from spillway.local.driver import Driver, DriverError


class Waiting(Protocol):
    """How many records are due and not done."""

    def begin(self, load: Load) -> None:
        """Another step, from here on."""

    def end(self, sent: int) -> None:
        """So many messages of the step were sent, and no more."""

    def sent(self) -> int:
        """Messages of all steps."""

    def length(self, now: float) -> float:
        """Of the queue, at a time in seconds since 1970."""


class ByResults:
    """As the results tell, from outside."""

    def __init__(self, tail: Tail, work: Work, before: Floats) -> None:
        self._tail, self._work, self._dues = tail, work, before
        self._expected: Mapping[Key, Numbers] = {}
        self._before = 0

    def begin(self, load: Load) -> None:
        """All results that there can be are known before anything is sent."""
        self._before = len(self._dues)
        self._dues = np.concatenate([self._dues, load.dues()])
        self._expected = self._work.expected(self._dues)

    def end(self, sent: int) -> None:
        """What was not sent, is not expected."""
        self._dues = self._dues[: self._before + sent]
        self._expected = self._work.expected(self._dues)

    def sent(self) -> int:
        """Messages of all steps."""
        return len(self._dues)

    def length(self, now: float) -> float:
        """What is due, less what the newest results tell of."""
        done = self._tail.frontier(self._expected)
        return float(np.searchsorted(self._dues, now)) - (done or 0.0)


class ByDriver:
    """As the driver of a job tells: messages in front of all of its segments. So it is what the paper's queue is."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._count, self._last = 0, 0.0

    def begin(self, load: Load) -> None:
        """Nothing has to be known."""

    def end(self, sent: int) -> None:
        """So many more."""
        self._count += sent

    def sent(self) -> int:
        """Messages of all steps."""
        return self._count

    def length(self, _: float) -> float:
        """The lag of all segments; the last one that was told while the driver has no time to."""
        with contextlib.suppress(DriverError):
            self._last = float(sum(one.lag or 0 for one in self._driver.observation().segments))
        return self._last
