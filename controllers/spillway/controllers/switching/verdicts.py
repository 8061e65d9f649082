"""What can be decided about paradigms, why, and the values that say so."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from collections.abc import Mapping
from types import MappingProxyType

from spillway.controllers import explain
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


class Reason(explain.Reasons):
    """Why, in the order in which one of several operators speaks for the job."""

    QUEUE_BEYOND_POINT = "QueueBeyondPoint", "The queue is beyond L_up: batches are done with it sooner."
    BURST = "Burst", "The rate stepped up beyond the capacity: when a first batch is done, the queue is beyond L_up."
    BURST_PASSED = (
        "BurstPassed",
        "For the whole pause record by record would have been faster, and had room.",
    )
    BATCHES_UNMEASURED = (
        "BatchesUnmeasured",
        "Batches might help, but no shadow calibration says how fast they are.",
    )
    BATCHES_FORBIDDEN = "BatchesForbidden", "Batches might help, but a pin or the state of an operator forbids them."
    BATCHES_NO_FASTER = (
        "BatchesNoFaster",
        "Batches are not faster by more than the error of measurement.",
    )
    BATCHES_TOO_SLOW = (
        "BatchesTooSlow",
        "Batches are faster, but can't keep up with the arrival rate either; more workers can.",
    )
    IN_PROGRESS = "InProgress", "The last switch is still under way."
    INVALID = "Invalid", "What was measured makes no sense, so nothing is switched; the sentence says what is wrong."
    NO_TELEMETRY = "NoTelemetry", "Nothing fresh was measured, so nothing is switched: missing data is no calm."
    DRAINING = (
        "Draining",
        "The queue is beyond L_up, but shrinks: a first batch would come too late.",
    )
    CALMING = "Calming", "Record by record would do again, but not for the whole pause yet."
    BUSY = "Busy", "Record by record has no room for the rate yet."
    BATCHES_FASTER = "BatchesFaster", "There is room for the rate, but with this queue batches are still as fast."
    BELOW_POINT = "BelowPoint", "The queue is not beyond L_up: record by record is faster."
    PAUSED = "Paused", "The job is paused."
    NO_OPERATORS = "NoOperators", "There is no operator with a queue in front of it."


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
    inputs: explain.Inputs = ()
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
    inputs: explain.Inputs
    alternatives: tuple[Alternative, ...]
    verdicts: tuple[Verdict, ...]
    history: History
    instead: Instead | None = None
    again: datetime.timedelta | None = None

    @property
    def switches(self) -> bool:
        """Whether operators are to change their paradigm; what is only advised is not to be done."""
        return self.to is not None and self.action is not Action.ADVISE

    def __str__(self) -> str:
        return explain.told(self)
