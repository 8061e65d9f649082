"""The port of policies: what one gets to see, and what it may wish for."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from spillway.model.operators import Paradigm

# When a run starts: policies get real times, as in a job.
EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@dataclasses.dataclass(frozen=True, slots=True)
class SegmentSeen:
    """One segment, as telemetry has it for the time since the policy was last asked, with the errors of measuring.

    Attributes:
        arrival: records per second that came.
        processed: records per second that were done.
        emitted: records per second that went out, by output.
        busy: the share of the time that its slots (or, in batches, the engine) were busy, 0 to 1.
        queue: records that wait, now.
        asked: slots that are asked for.
        ready: slots that work.
        cores: executor cores that work for it while it is in batches.
        paradigm: how it runs.
        switching: whether it is on the way to the other paradigm.
        batch_capacity: P_O with `cores` as they are, or as they would be, from shadow calibration; None where it may
            not run in batches, or there are no cores.
    """

    arrival: float
    processed: float
    emitted: Mapping[str, float]
    busy: float
    queue: float
    asked: int
    ready: int
    cores: int
    paradigm: Paradigm
    switching: bool
    batch_capacity: float | None

    @property
    def capacity(self) -> float | None:
        """P_D, the records per second that all its slots together can do: processed/busy; None where nothing is."""
        return self.processed / self.busy if self.busy > 0 and self.processed > 0 else None


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """All that a policy gets.

    Attributes:
        span: the time that rates are of.
        segments: by name; None where metrics are missing.
        sources: records per second of each source; None where metrics are missing.
        latency: seconds, the promised quantile of what was done in the span; None where nothing was, or it is missing.
        slots: worker slots that are asked for, and that work.
        cores: executor cores that are asked for, and that work.
    """

    span: datetime.timedelta
    segments: Mapping[str, SegmentSeen | None]
    sources: Mapping[str, float | None]
    latency: float | None
    slots: tuple[int, int]
    cores: tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class SegmentWish:
    """How a segment should run. `slots` are held also while it is in batches, or there is no quick way back."""

    slots: int
    paradigm: Paradigm = Paradigm.RECORD
    cores: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """What should be; what is as wished already stays as it is. A segment that is not named stays as well.

    Attributes:
        segments: by name; of those that share their slots `slots` is left out of account, and `shared` counts.
        shared: slots for all segments that share theirs; None leaves them.
        cores: executor cores for all batches; None is as many as the segments in batches need.
        reason: why, for programs.
        sentence: why, for people, with the numbers of this case.
        predicted: the latency that the policy expects, in seconds; None where it doesn't predict any.
    """

    segments: Mapping[str, SegmentWish] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    shared: int | None = None
    cores: int | None = None
    reason: str = ""
    sentence: str = ""
    predicted: float | None = None


class Policy(Protocol):
    """Who decides about sizes and paradigms."""

    @property
    def every(self) -> datetime.timedelta:
        """How often it is asked."""

    def decide(self, seen: Seen, now: datetime.datetime) -> Wish:
        """What should be, after what was seen."""


class Static:
    """Never changes anything: the plan that somebody made once."""

    every = datetime.timedelta(seconds=60)

    def decide(self, seen: Seen, now: datetime.datetime) -> Wish:
        """Nothing."""
        return Wish(reason="Static", sentence="nothing is ever changed")
