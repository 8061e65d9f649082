"""Which throughput is sustained: Algorithm 1 of the benchmark paper, the slope of the queue, and the search. Pure.

The queue is what was due and is not done: records of which no result tells yet. (The paper asks what a system has not
*pulled*; what it has pulled and sits on is in our queue too, so ours is the stricter one, and needs nobody's word.)
With c^a acceptable and c^b tolerable, it is looked at once for every c^a records:

    queue > c^b          not sustained, the load is stopped
    queue < c^a          fine; the count of back-pressure begins anew
    else                 tolerated, at most c^b / c^a times in a row

    c^a = the larger one of 1 s of the rate, and what comes in two batches;    c^b = 15 c^a

(the paper's 1 M and 15 M are 0.8 s and 12.5 s of the rate that it found). A load that is a little too much can keep
below c^a for longer than anybody measures. So, at the end of a step, a line through the queue over time must not rise
by more than a hundredth of the rate (as in Theodolite and ShuffleBench), unless all that it has grown by is less than
what a batch makes it go up and down by, a quarter of c^a.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

import numpy as np

TIMES = 15  # c^b / c^a, as in the paper
SECONDS, BATCHES = 1.0, 2.0
RISE = 0.01  # of the rate
NOISE = 0.25  # of c^a
SETTLED = 1 / 3  # of a step, before which a queue may still fill: caches, just-in-time compilers, a switch


class Reason(enum.StrEnum):
    """What became of a rate."""

    SUSTAINED = "sustained"
    LONG = "the queue is longer than what can be tolerated"
    PRESSURE = "the queue is longer than what is acceptable, for too long"
    RISES = "the queue rises"
    LATE = "the generator was late: nothing is known of this rate"


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """c^a and c^b, in records."""

    acceptable: float
    tolerable: float

    @classmethod
    def of(cls, rate: float, batch: float = 0.0) -> Limits:
        """For a rate, and a system whose batches come every so many seconds; 0 for none."""
        acceptable = rate * max(SECONDS, BATCHES * batch)
        return cls(acceptable, TIMES * acceptable)


class Check:
    """Lines 8 to 25 of Algorithm 1."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pressed = 0

    def look(self, queue: float) -> Reason:
        """After every c^a records."""
        if queue > self._limits.tolerable:
            return Reason.LONG
        if queue < self._limits.acceptable:
            self._pressed = 0
            return Reason.SUSTAINED
        self._pressed += 1
        return Reason.PRESSURE if self._pressed >= TIMES else Reason.SUSTAINED


def risen(samples: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """By how many records a second a queue rises, and in all: a line through its samples, once it has settled."""
    if not samples:
        return 0.0, 0.0
    start, end = samples[0][0], samples[-1][0]
    some = np.array([one for one in samples if one[0] >= start + SETTLED * (end - start)])
    if len(some) < 3:
        return 0.0, 0.0
    slope = float(np.polyfit(some[:, 0] - start, some[:, 1], 1)[0])
    return slope, slope * float(some[-1, 0] - some[0, 0])


def judged(rate: float, limits: Limits, samples: Sequence[tuple[float, float]]) -> Reason:
    """Of a step that came to its end."""
    slope, growth = risen(samples)
    return Reason.RISES if slope > RISE * rate and growth > NOISE * limits.acceptable else Reason.SUSTAINED


class Search:
    """The highest rate that is sustained: doubled until one isn't, then halfway between, until they are near."""

    def __init__(self, first: float, *, near: float = 0.1, most: int = 16) -> None:
        """Begins at `first` records per second, and ends with rates that differ by `near`, or after `most` steps."""
        self._next, self._near, self._left = first, near, most
        self.sustained = 0.0
        self.failed: float | None = None

    def following(self) -> float | None:
        """The next rate to try; None where it is known."""
        if self._left == 0 or (self.failed is not None and self.failed <= self.sustained * (1 + self._near)):
            return None
        # One record a second is nothing.
        return None if self.failed is not None and self.failed < 1 else self._next

    def told(self, rate: float, *, sustained: bool) -> None:
        """What became of a rate."""
        self._left -= 1
        if sustained:
            self.sustained = max(self.sustained, rate)
        else:
            self.failed = rate if self.failed is None else min(self.failed, rate)
        if self.failed is None:
            self._next = rate * 2
        elif self.sustained:
            self._next = (self.sustained + self.failed) / 2
        else:
            self._next = self.failed / 2
