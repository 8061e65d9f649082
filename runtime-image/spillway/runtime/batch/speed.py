"""How fast batches of a program are: learnt from those that have run, for real or as shadows. Pure.

    seconds = a + records / P_O

a is what a batch takes whatever its size (planning it, starting its tasks, writing the last of it): t_s of the paper on
dual paradigms (DO, Eq. 5). P_O is the rate at which records go through. A straight line through the last batches of
each size gives both: of each size, because after a burst all batches are small, and nobody could tell from those what
large ones do. As long as all were alike, a is half of what the quickest took, and P_O what they did on average.
"""

from __future__ import annotations

import collections
import datetime
import math
from collections.abc import Sequence
from typing import NamedTuple

from spillway.controllers.switching.measurements import Costs

# Batches that are remembered of each size. Fewer: one that was disturbed counts for much. More: what has become slower,
# with a colder cache or longer records, is noticed late.
KEPT = 12
# Sizes that differ by less than this factor are one.
ALIKE = 4.0
# A line needs sizes that differ by this much; else its slope is mostly noise.
SPREAD = 2.5
# Seconds from one batch to the next, at the least and at the most that is planned with: below, a batch is all overhead;
# a backlog is worked off in batches of a second (`driver.batching`).
SHORTEST, LONGEST = 0.05, 1.0


class Batch(NamedTuple):
    """One that has run."""

    records: int
    seconds: float


class Weight:
    """How many records a message has: 1 in a topic of the user; in an edge as many as its frames have, lately.

    Positions count messages, and what they cost goes by records. Summed up over some batches, so that one with a few
    small frames counts for little.
    """

    def __init__(self) -> None:
        self._last: collections.deque[tuple[int, int]] = collections.deque(maxlen=KEPT)

    def learn(self, messages: int, records: int) -> None:
        """Another batch has had so many."""
        if messages > 0 and records > 0:
            self._last.append((messages, records))

    @property
    def each(self) -> float | None:
        """Records of a message; None before the first batch."""
        messages = sum(messages for messages, _ in self._last)
        return max(1.0, sum(records for _, records in self._last) / messages) if messages else None


class Line(NamedTuple):
    """What a batch takes: `fixed` seconds, and one second for each `capacity` records."""

    fixed: float
    capacity: float

    def interval(self, rate: float) -> float:
        """Seconds from one batch to the next, back to back, when so many records come in each of them.

        T = a + V·T/P_O, so T = a / (1 - V/P_O).
        """
        left = 1 - rate / self.capacity
        return min(LONGEST, max(SHORTEST, self.fixed / left if left > 0 else LONGEST))

    def costs(self, rate: float) -> Costs:
        """As decisions want to have it."""
        return Costs(datetime.timedelta(seconds=self.interval(rate)), datetime.timedelta(seconds=self.fixed))


class Speed:
    """Of one program."""

    def __init__(self) -> None:
        self._of_size: dict[int, collections.deque[Batch]] = {}

    def learn(self, batch: Batch) -> None:
        """Another one has run."""
        if batch.records > 0 and 0 < batch.seconds < math.inf:
            size = int(math.log(batch.records, ALIKE))
            self._of_size.setdefault(size, collections.deque(maxlen=KEPT)).append(batch)

    def scale(self, factor: float) -> None:
        """As many times as many executors from now on. Taken to be that much quicker, but for what is fixed.

        What is measured from then on puts that right: batches of a size are remembered, and forgotten, in turn.
        """
        line = self.line
        if line is None:
            return
        for size, batches in self._of_size.items():
            scaled = (Batch(records, _scaled(seconds, line.fixed, factor)) for records, seconds in batches)
            self._of_size[size] = collections.deque(scaled, maxlen=KEPT)

    @property
    def line(self) -> Line | None:
        """What is known; None before the first batch."""
        batches = [batch for of_size in self._of_size.values() for batch in of_size]
        if not batches:
            return None
        sizes = [batch.records for batch in batches]
        small, large = min(sizes), max(sizes)
        quickest = min(batch.seconds for batch in batches)
        if large < SPREAD * small:
            mean = math.fsum(sizes) / math.fsum(batch.seconds for batch in batches)
            return Line(quickest / 2, max(mean, 1.0))
        slope, fixed = _fitted(batches)
        return Line(min(max(fixed, 0.0), quickest), 1 / slope) if slope > 0 else Line(quickest, large / quickest)


def _scaled(seconds: float, fixed: float, factor: float) -> float:
    return min(seconds, fixed) + max(0.0, seconds - fixed) / factor


def _fitted(batches: Sequence[Batch]) -> tuple[float, float]:
    """Slope and intercept, weighted so that an error counts by its share of the batch's time."""
    weighted = [(1 / batch.seconds**2, batch) for batch in batches]
    total = math.fsum(weight for weight, _ in weighted)
    x = math.fsum(weight * batch.records for weight, batch in weighted) / total
    y = math.fsum(weight * batch.seconds for weight, batch in weighted) / total
    xx = math.fsum(weight * (batch.records - x) ** 2 for weight, batch in weighted)
    xy = math.fsum(weight * (batch.records - x) * (batch.seconds - y) for weight, batch in weighted)
    slope = xy / xx
    return slope, y - slope * x
