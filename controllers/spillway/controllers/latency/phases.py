"""Where the time of a record goes."""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Self

from spillway.controllers.latency.moments import ZERO, Moments


class Phase(enum.StrEnum):
    """The types of latency of LAT Table 2 as they occur here, those of DO Eq. 3, and windows (LAT 3.3).

    There is no disk (the log is written behind the records) and no heartbeat (readers are told at once).
    """

    WAIT = "wait"  # until the frame is full, or its deadline has come: "batching" in LAT
    QUEUE = "queue"  # behind other frames
    NETWORK = "network"
    CPU = "cpu"
    BATCH = "batch"  # t_wait: for the next micro-batch, and in it until all of it is done
    SCHEDULE = "schedule"  # t_schedule
    WINDOW = "window"  # for the slowest of the records that complete the window, and for its turn


@dataclasses.dataclass(frozen=True)
class Breakdown:
    """The moments of every phase, those that take no time included."""

    phases: Mapping[Phase, Moments]

    @classmethod
    def of(cls, phases: Mapping[Phase, Moments]) -> Self:
        """Phases that are not named take no time."""
        return cls(MappingProxyType({phase: phases.get(phase, ZERO) for phase in Phase}))

    @classmethod
    def total(cls, parts: Iterable[Breakdown]) -> Breakdown:
        """Phase by phase, the sum of all parts."""
        return functools.reduce(operator.add, parts, NOTHING)

    def __getitem__(self, phase: Phase) -> Moments:
        return self.phases[phase]

    def __iter__(self) -> Iterator[Phase]:
        return iter(self.phases)

    def __add__(self, other: Breakdown) -> Breakdown:
        return Breakdown.of({phase: self[phase] + other[phase] for phase in Phase})

    @property
    def moments(self) -> Moments:
        """All phases together."""
        return sum(self.phases.values(), ZERO)

    def steadied(self, factor: float) -> Breakdown:
        """The same means, and `factor` times every variance."""
        return Breakdown.of(
            {phase: Moments(m.mean, m.variance * factor, m.third * factor**1.5) for phase, m in self.phases.items()}
        )


NOTHING = Breakdown.of({})
