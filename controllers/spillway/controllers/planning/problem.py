"""What is asked of planning: operators with their costs, the load, the promise, and what may be had."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from types import MappingProxyType

from spillway.controllers.costmodel.flow import CORE, Flow, Slot, Workload
from spillway.controllers.latency.moments import ZERO, Moments
from spillway.controllers.latency.queueing import Variability
from spillway.controllers.latency.windows import Window
from spillway.model.operators import Paradigm


class Chaining(enum.StrEnum):
    """Which operators may be one segment.

    never: every operator is a segment on slots of its own, as in the thesis on streaming data flows.
    auto: whatever is cheapest. Operators are fused, and small segments share a slot.
    """

    AUTO = "auto"
    NEVER = "never"


@dataclasses.dataclass(frozen=True, slots=True)
class Promise:
    """This share of all records is done within `bound` seconds."""

    bound: float
    quantile: float


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """What may be had at the most: worker slots, and executor cores for batches."""

    slots: int
    cores: int


_EXPONENTIAL = Variability()


@dataclasses.dataclass(frozen=True, slots=True)
class Traits:
    """What planning has to know of one operator beside its costs.

    Attributes:
        keyed: its input comes partitioned by key, so it begins a segment.
        pinned: what the manifest says; `AUTO` leaves it to the planner.
        batchable: whether it may run in batches at all; what merges state may not.
        speedup: P_O/P_D, how many records a core of the batch engine does while a slot does one, as measured. 1 where
            nobody measured: that batches are faster is never assumed.
        window: what it does when a window ends.
        variability: how much its arrivals and costs vary.
    """

    keyed: bool = False
    pinned: Paradigm = Paradigm.AUTO
    batchable: bool = True
    speedup: float = 1.0
    window: Window | None = None
    variability: Variability = _EXPONENTIAL


def _traits() -> Mapping[str, Traits]:
    return MappingProxyType({})


def _partitions() -> Mapping[str, int]:
    return MappingProxyType({})


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """All that a plan depends on.

    Attributes:
        flow: operators, unfused; streams are its sources.
        workload: records per second for each source.
        promise: what is to be kept.
        room: what may be had.
        topics: sources that are the user's topics and nothing else: they cost nothing, take no slot and are in no
            segment; whoever reads them begins one. Other sources are planned as segments of their own.
        traits: by operator, where they differ from `Traits()`.
        partitions: by source, of its topic: no more slots than that can read it. No limit where nothing is said.
        headroom: share of capacity to keep free, as `policy.headroom`.
        slot: what a slot has; `slot.sharing` is how many slots a worker has.
        hop: what the log takes for a frame from one segment to the next.
        schedule: what a batch takes beside its records; None when there is no batch engine.
        chaining: which operators may be one segment.
    """

    flow: Flow
    workload: Workload
    promise: Promise
    room: Room
    topics: frozenset[str] = frozenset()
    traits: Mapping[str, Traits] = dataclasses.field(default_factory=_traits)
    partitions: Mapping[str, int] = dataclasses.field(default_factory=_partitions)
    headroom: float = 0.0
    slot: Slot = CORE
    hop: Moments = ZERO
    schedule: Moments | None = None
    chaining: Chaining = Chaining.AUTO
