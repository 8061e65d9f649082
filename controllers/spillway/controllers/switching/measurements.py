"""What is known of each operator when a decision is due, and what is wrong with it.

A queue stands in front of a segment, so rate, queue and capacities are those of a segment, given for its head.
Operators further inside have their selectivity only.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Mapping

from spillway.model.operators import Paradigm

# Ten to twenty ticks. A worker that is silent for so long is late for a reason, and a burst of twice the capacity
# fills a typical switch point (half a second of work) in less. Longer: decisions about a load that is gone. Shorter:
# a pause of the garbage collector makes holes in the telemetry.
STALE = datetime.timedelta(seconds=2)
# Records, and records per second. No job has more; what is larger is a counter that ran over, and spoils products.
MOST = 1e12


@dataclasses.dataclass(frozen=True, slots=True)
class Costs:
    """What a batch costs beside its records: T, t_s, t_ot; and t_dt, the transmission record by record."""

    interval: datetime.timedelta
    schedule: datetime.timedelta
    transmission_batch: datetime.timedelta = datetime.timedelta(0)
    transmission_record: datetime.timedelta = datetime.timedelta(0)


@dataclasses.dataclass(frozen=True, slots=True)
class Measurement:
    """One operator in one tick.

    `rate` is V over the last `span`, raw: smoothing is done here. `record_capacity` is P_D, the last that was
    measured (in batches it can't be measured anew); `batch_capacity` is P_O from shadow calibration, None before it.
    """

    at: datetime.datetime
    span: datetime.timedelta
    rate: float
    queue: float
    record_capacity: float
    costs: Costs
    batch_capacity: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """One operator in the graph: what it reads, the head of its segment, how it runs, and whether batches can do it.

    `batchable` is False where a pin (`paradigm: record`) or its state (merges, joins with partitioned tables) forbids
    batches. `pinned` is what the manifest says; `auto` leaves the decision to us. `selectivity` is λ, None if unknown.
    `part` says in words where it is split, if only a part of it goes to batches; empty where all of it does.
    """

    name: str
    reads: tuple[str, ...] = ()
    head: str | None = None
    paradigm: Paradigm = Paradigm.RECORD
    pinned: Paradigm = Paradigm.AUTO
    batchable: bool = True
    selectivity: float | None = None
    part: str = ""

    @property
    def is_head(self) -> bool:
        """Whether a queue stands in front of it."""
        return self.head in (None, self.name)

    @property
    def may_batch(self) -> bool:
        """Whether it may run in batches at all."""
        return self.batchable and self.pinned is not Paradigm.RECORD


@dataclasses.dataclass(frozen=True, slots=True)
class Observation:
    """All operators, each after what it reads, and what was measured at heads of segments.

    `can_grow` is whether more workers may be asked for: batches that don't keep up are refused for them, and where any
    are refused, it tells scaling out from shedding.
    """

    nodes: tuple[Node, ...]
    measured: Mapping[str, Measurement]
    can_grow: bool = True

    def __getitem__(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    @property
    def by_name(self) -> dict[str, Node]:
        """Operators by name."""
        return {node.name: node for node in self.nodes}


def late(name: str, at: datetime.datetime | None, now: datetime.datetime) -> str | None:
    """Why there is nothing fresh to decide on, or None; `at` is when something was measured last."""
    if at is None:
        return f"no telemetry from `{name}` yet"
    if at.tzinfo is None or now.tzinfo is None or now - at <= STALE:
        return None  # times without a zone are wrong rather than late
    return f"no telemetry from `{name}` for {(now - at).total_seconds():.0f} s"


def misdated(name: str, at: datetime.datetime, now: datetime.datetime) -> str | None:
    """What of the time of a measurement makes no sense, or None."""
    if at.tzinfo is None or now.tzinfo is None:
        return f"the telemetry from `{name}` has a time without a zone"
    if at - now > STALE:
        return f"the telemetry from `{name}` is {(at - now).total_seconds():.0f} s ahead of the clock here"
    return None


def wrong(name: str, m: Measurement, now: datetime.datetime) -> str | None:
    """What of a measurement makes no sense, or None."""
    if problem := misdated(name, m.at, now):
        return problem
    numbers = [("arrival rate", m.rate, False), ("queue", m.queue, False), ("record capacity", m.record_capacity, True)]
    if m.batch_capacity is not None:
        numbers.append(("batch capacity", m.batch_capacity, False))
    for what, value, positive in numbers:
        if not sound(value) or (positive and value <= 0):
            return f"the {what} of `{name}` is {value}"
    c = m.costs
    if min(m.span, c.interval) <= datetime.timedelta(0):
        return f"the span or the batch interval of `{name}` is not positive"
    if min(c.schedule, c.transmission_batch, c.transmission_record) < datetime.timedelta(0):
        return f"a schedule or transmission time of `{name}` is negative"
    return None


def sound(value: float) -> bool:
    """Whether it is a number that can be measured: finite, not negative, of usual size."""
    return not math.isnan(value) and 0 <= value <= MOST
