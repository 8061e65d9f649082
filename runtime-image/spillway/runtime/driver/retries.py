"""Moves that failed, and when they are tried again. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from spillway.controllers.protocol.values import Partition

# Seconds until a move is tried again, doubled with each failure. What makes moves fail (a module that is missing, a
# state that is large, a slot that hangs) seldom passes within less; each try restores a state for nothing.
FIRST, LONGEST = 5.0, 60.0


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """How often a partition could not be moved, until when it is left alone, and why."""

    times: int
    until: float
    why: str


class Retries:
    """What failed lately, by partition."""

    def __init__(self) -> None:
        self._of: dict[Partition, Failure] = {}

    def failed(self, place: Partition, why: str, now: float) -> None:
        """Another failure."""
        known = self._of.get(place)
        times = known.times + 1 if known else 1
        self._of[place] = Failure(times, now + min(LONGEST, FIRST * 2 ** (times - 1)), why)

    def moved(self, place: Partition) -> None:
        """It went well at last."""
        self._of.pop(place, None)

    def waiting(self, failed: Collection[Partition], now: float) -> frozenset[Partition]:
        """Those of them that are still left alone."""
        return frozenset(place for place in failed if place in self._of and now < self._of[place].until)

    def reasons(self) -> dict[Partition, str]:
        """Why, by partition."""
        return {place: failure.why for place, failure in sorted(self._of.items())}
