"""What came out of a simulation: rows over time, what was changed and why, and totals."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from spillway.model.operators import Paradigm


class Kind(enum.StrEnum):
    """What an event is about."""

    RESIZE = "resize"
    SWITCH = "switch"
    FAULT = "fault"


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """A change that a policy asked for, or a fault: `before` and `after` are sizes or paradigms, by segment."""

    at: float
    kind: Kind
    segments: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str]
    reason: str
    sentence: str


@dataclasses.dataclass(frozen=True, slots=True)
class SegmentRow:
    """One segment at the end of a row: slots that work, its paradigm, and records that wait."""

    slots: int
    paradigm: Paradigm
    queue: float


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One stretch of time.

    Attributes:
        at: when it begins, in seconds since the start.
        rate: records per second that all sources sent.
        done: records per second that were done by the last segments.
        latency: of these, at the promised quantile; where nothing was done, how long what waits has waited.
        within: the share of them within the bound; None where nothing was done.
        predicted: what the policy expected, None where it doesn't predict.
        slots: worker slots that are paid for.
        cores: executor cores that are paid for.
        queue: records that wait in front of all segments.
        segments: by name.
    """

    at: float
    rate: float
    done: float
    latency: float
    within: float | None
    predicted: float | None
    slots: int
    cores: int
    queue: float
    segments: Mapping[str, SegmentRow]


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """The run in one line.

    Attributes:
        sent: records that the sources sent.
        done: records that the last segments were done with.
        queued: records that wait at the end, in front of all segments.
        within: the share of the records, by number, that were done within the bound; what still waits at the end and
            is late already counts as late.
        kept: whether that is the promised share or more.
        slot_hours: worker slots that were paid for.
        core_hours: executor cores that were paid for.
        resizes: changes of sizes.
        switches: changes of paradigms.
        worst: the highest latency of all rows, in seconds.
        late: seconds of rows whose latency was beyond the bound.
        recovery: the longest stretch of such rows, in seconds.
    """

    sent: float
    done: float
    queued: float
    within: float
    kept: bool
    slot_hours: float
    core_hours: float
    resizes: int
    switches: int
    worst: float
    late: float
    recovery: float

    @property
    def hours(self) -> float:
        """All that was paid for, a core like a slot."""
        return self.slot_hours + self.core_hours


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """A simulation: `bound` and `quantile` are what was promised, `every` is how long a row is."""

    bound: float
    quantile: float
    every: float
    rows: tuple[Row, ...]
    events: tuple[Event, ...]
    totals: Totals

    def data(self) -> dict[str, Any]:
        """As JSON has it; a latency that never ends is null."""
        return {
            "boundSeconds": self.bound,
            "quantile": self.quantile,
            "rows": [_plain(dataclasses.asdict(row)) for row in self.rows],
            "events": [_plain(dataclasses.asdict(event)) for event in self.events],
            "totals": _plain(dataclasses.asdict(self.totals)),
        }


def stretches(rows: tuple[Row, ...], bound: float, every: float) -> Iterator[float]:
    """How long each stretch of rows beyond the bound is, in seconds."""
    for late, group in itertools.groupby(rows, key=lambda row: row.latency > bound):
        if late:
            yield len(list(group)) * every


def _plain(value: Any) -> Any:
    """Without infinities, which JSON does not have."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
