"""What can be decided about paradigms, why, and the values that say so."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from types import MappingProxyType

from spillway.controllers.explain import Alternative
from spillway.controllers.switching.bursts import Burst
from spillway.model.operators import Paradigm


class Action(enum.StrEnum):
    """What to do."""

    TO_BATCH = "ToBatch"
    TO_RECORD = "ToRecord"
    HOLD = "Hold"
    REFUSE = "Refuse"
    ADVISE = "Advise"


class Reason(enum.StrEnum):
    """Why; `REASONS` says it in words. In the order in which one of several operators speaks for the job."""

    QUEUE_BEYOND_POINT = "QueueBeyondPoint"
    BURST = "Burst"
    BURST_PASSED = "BurstPassed"
    BATCHES_UNMEASURED = "BatchesUnmeasured"
    BATCHES_FORBIDDEN = "BatchesForbidden"
    BATCHES_NO_FASTER = "BatchesNoFaster"
    BATCHES_TOO_SLOW = "BatchesTooSlow"
    IN_PROGRESS = "InProgress"
    INVALID = "Invalid"
    NO_TELEMETRY = "NoTelemetry"
    DRAINING = "Draining"
    CALMING = "Calming"
    BUSY = "Busy"
    BATCHES_FASTER = "BatchesFaster"
    BELOW_POINT = "BelowPoint"
    PAUSED = "Paused"
    NO_OPERATORS = "NoOperators"


REASONS: dict[Reason, str] = {
    Reason.QUEUE_BEYOND_POINT: "The queue is beyond L_up: batches are done with it sooner.",
    Reason.BURST: "The rate stepped up beyond the capacity: when a first batch is done, the queue is beyond L_up.",
    Reason.BURST_PASSED: "For the whole pause, record by record would have been faster, and has room for the rate.",
    Reason.BATCHES_UNMEASURED: "Batches might help, but no shadow calibration has said how fast they are.",
    Reason.BATCHES_FORBIDDEN: "Batches might help, but a pin or the state of an operator forbids them.",
    Reason.BATCHES_NO_FASTER: "Batches are not faster than record by record by more than the error of measurement.",
    Reason.BATCHES_TOO_SLOW: "Batches are faster, but even they can't keep up with the arrival rate.",
    Reason.IN_PROGRESS: "The last switch is still under way.",
    Reason.INVALID: "What was measured makes no sense, so nothing is switched; the sentence says what is wrong.",
    Reason.NO_TELEMETRY: "Nothing fresh was measured, so nothing is switched: missing data is no calm.",
    Reason.DRAINING: "The queue is beyond L_up, but shrinks below the switch point before a first batch would be done.",
    Reason.CALMING: "Record by record would do again, but not for the whole pause yet.",
    Reason.BUSY: "Record by record has no room for the rate yet.",
    Reason.BATCHES_FASTER: "There is room for the rate, but with this queue batches are still as fast.",
    Reason.BELOW_POINT: "The queue is not beyond L_up: record by record is faster.",
    Reason.PAUSED: "The job is paused.",
    Reason.NO_OPERATORS: "There is no operator with a queue in front of it.",
}


class Instead(enum.StrEnum):
    """What would help where batches are refused."""

    SCALE_OUT = "ScaleOut"
    SHED = "Shed"


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """What one operator (or one range that runs in batches, by its head) is in favour of, and why.

    `operators` are those that would change. `again` is how long this holds, as far as time alone can change it.
    """

    point: str
    action: Action
    reason: Reason
    sentence: str
    operators: tuple[str, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    instead: Instead | None = None
    again: datetime.timedelta | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Switch:
    """A switch that was decided: of what, to which paradigm, when."""

    operators: tuple[str, ...]
    to: Paradigm
    at: datetime.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Pause:
    """How long the range of an operator must be calm before it comes back, and when it last did."""

    length: datetime.timedelta
    returned: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class History:
    """What is remembered between ticks: detectors, since when queues are calm, pauses, and the last switch.

    `seen` is when the last measurement was taken that a detector has taken into account, so that none counts twice.
    """

    bursts: Mapping[str, Burst] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    seen: Mapping[str, datetime.datetime] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    calm: Mapping[str, datetime.datetime] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    pauses: Mapping[str, Pause] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    last: Switch | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """The decision for the job in one tick. `verdicts` has what every operator was in favour of."""

    action: Action
    reason: Reason
    point: str | None
    operators: tuple[str, ...]
    to: Paradigm | None
    sentence: str
    inputs: tuple[tuple[str, str], ...]
    alternatives: tuple[Alternative, ...]
    verdicts: tuple[Verdict, ...]
    history: History
    instead: Instead | None = None
    again: datetime.timedelta | None = None

    def __str__(self) -> str:
        lost = "".join(f" Rejected: {alternative}." for alternative in self.alternatives)
        return f"{self.sentence}{lost}"
