"""Loads of several phases, and when each message is due: an absolute schedule, as in `record.schedule`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from spillway.bench.workloads.work import Floats


@dataclasses.dataclass(frozen=True, slots=True)
class Phase:
    """A part of a load: at one rate (messages per second), for so many seconds."""

    name: str
    rate: float
    seconds: float

    @property
    def count(self) -> int:
        """Messages that are due in it."""
        return round(self.rate * self.seconds)


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """Phases, one after the other, from a time in seconds since 1970 on; messages count up from `first`."""

    start: float
    phases: Sequence[Phase]
    first: int = 0

    @property
    def count(self) -> int:
        """All messages."""
        return sum(phase.count for phase in self.phases)

    @property
    def end(self) -> float:
        """When it is over."""
        return self.start + sum(phase.seconds for phase in self.phases)

    def spans(self) -> dict[str, tuple[float, float]]:
        """By phase, from when to when."""
        ends = list(itertools.accumulate((phase.seconds for phase in self.phases), initial=self.start))
        return {phase.name: (ends[i], ends[i + 1]) for i, phase in enumerate(self.phases)}

    def dues(self) -> Floats:
        """When each message is due."""
        starts = [start for start, _ in self.spans().values()]
        each = [start + np.arange(phase.count) / phase.rate for start, phase in zip(starts, self.phases, strict=True)]
        return np.concatenate(each) if each else np.zeros(0)


def at_rate(start: float, rate: float, seconds: float, first: int = 0, name: str = "load") -> Load:
    """One phase."""
    return Load(start, (Phase(name, rate, seconds),), first)
