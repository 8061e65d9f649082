"""How fast batches of a program are: learnt from those that have run, for real or as shadows. Pure.

    seconds = a + records / P_O

a is what a batch takes whatever its size (planning it, starting its tasks, writing the last of it): t_s of the paper on
dual paradigms (DO, Eq. 5). P_O is the rate at which records go through. A straight line through the last batches gives
both; as long as all were alike, a is what the quickest has taken, at most, and P_O is the lower for it.
"""

from __future__ import annotations

import collections
import datetime
import math
from typing import NamedTuple

from spillway.controllers.switching.measurements import Costs

# Batches that are remembered: a quarter of a minute at four a second. Fewer: one that was disturbed counts for much.
# More: what has become slower, with a colder cache or longer records, is noticed late.
KEPT = 64
# A line needs sizes that differ by this much; else its slope is mostly noise.
SPREAD = 2.5
# Seconds from one batch to the next, at the least and at the most that is planned with: below, a batch is all overhead;
# above, no bound that people have could be kept.
SHORTEST, LONGEST = 0.05, 2.0


class Batch(NamedTuple):
    """One that has run."""

    records: int
    seconds: float


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
        self._batches: collections.deque[Batch] = collections.deque(maxlen=KEPT)

    def learn(self, batch: Batch) -> None:
        """Another one has run."""
        if batch.records > 0 and 0 < batch.seconds < math.inf:
            self._batches.append(batch)

    @property
    def line(self) -> Line | None:
        """What is known; None before the first batch."""
        if not self._batches:
            return None
        sizes = [batch.records for batch in self._batches]
        small, large = min(sizes), max(sizes)
        quickest = min(batch.seconds for batch in self._batches)
        if large < SPREAD * small:
            mean = math.fsum(sizes) / math.fsum(batch.seconds for batch in self._batches)
            return Line(quickest / 2, max(mean, 1.0))
        slope, fixed = self._fitted()
        return Line(min(max(fixed, 0.0), quickest), 1 / slope) if slope > 0 else Line(quickest, large / quickest)

    def _fitted(self) -> tuple[float, float]:
        """Slope and intercept, weighted so that an error counts by its share of the batch's time."""
        weights = [1 / batch.seconds**2 for batch in self._batches]
        total = math.fsum(weights)
        x = math.fsum(w * batch.records for w, batch in zip(weights, self._batches, strict=True)) / total
        y = math.fsum(w * batch.seconds for w, batch in zip(weights, self._batches, strict=True)) / total
        xx = math.fsum(w * (batch.records - x) ** 2 for w, batch in zip(weights, self._batches, strict=True))
        xy = math.fsum(
            w * (batch.records - x) * (batch.seconds - y) for w, batch in zip(weights, self._batches, strict=True)
        )
        slope = xy / xx
        return slope, y - slope * x
