"""The answer of planning: segments, what they promise, what they cost, and why they are so."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from spillway.controllers.costmodel.bottlenecks import Load
from spillway.controllers.costmodel.flow import Flow, Setting
from spillway.controllers.explain import Alternative, Inputs, Reasons
from spillway.controllers.latency.batches import Engine
from spillway.controllers.latency.prediction import Prediction
from spillway.model.operators import Paradigm


class Reason(Reasons):
    """Why the plan is what it is."""

    CHEAPEST = "Cheapest", "No cheaper plan keeps the promise with the headroom."
    NEEDS_SLOTS = "NeedsSlots", "Segments need more worker slots than workers.max and workers.slots allow."
    NEEDS_CORES = "NeedsCores", "Segments in batches need more executor cores than executors.max and cores allow."
    NEEDS_PARTITIONS = "NeedsPartitions", "A topic has fewer partitions than slots are needed to read it."
    BOUND_TOO_TIGHT = "BoundTooTight", "Even with all that may be had, records take longer than the bound."
    NO_BATCHES = "NoBatches", "An operator is pinned to batches that it may not run in, or that nothing can run."
    INVALID = "Invalid", "The input makes no sense, so nothing is planned; the sentence says what is wrong."


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """A program at work, with the numbers of its load.

    Attributes:
        name: its head, the operator that takes its input.
        operators: the head first, then each after the one that it reads.
        paradigm: record or batch.
        parallelism: worker slots that it is spread over, or executor cores.
        frame: b_out, records in each frame of its outputs; None when only output topics read it.
        deadlines: by output that is read, seconds after its first record at which a frame leaves at the latest.
        interval: T of its batches in seconds; None record by record.
        shares: whether it shares its slot with other segments.
        load: rates, capacity and utilisation under the workload.
        inside: by operator, records per second in and out, the head first.
    """

    name: str
    operators: tuple[str, ...]
    paradigm: Paradigm
    parallelism: int
    frame: int | None
    deadlines: Mapping[str, float]
    interval: float | None
    shares: bool
    load: Load
    inside: Mapping[str, tuple[float, float]]


_TOPIC = Setting(1, 1)


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """All segments of a job, by level and name, and what they promise together.

    Attributes:
        segments: all of them.
        flow: a node for each segment, and for each topic that costs nothing.
        prediction: how long records take, by phase and segment.
        predicted: the promised quantile of that, in seconds.
        slots: worker slots that it costs, each shared one once.
        cores: executor cores that it costs.
        shared: the groups of segments that share one slot each.
        engines: by segment that works in batches, what the latency model has to know of them.
    """

    segments: tuple[Segment, ...]
    flow: Flow
    prediction: Prediction
    predicted: float
    slots: int
    cores: int
    shared: tuple[tuple[str, ...], ...] = ()
    engines: Mapping[str, Engine] = dataclasses.field(default_factory=lambda: MappingProxyType({}))

    @property
    def settings(self) -> Mapping[str, Setting]:
        """By node of `flow`, as the cost model wants them; a topic has one of no meaning."""
        own = {s.name: Setting(s.parallelism, s.frame) for s in self.segments}
        return {node.name: own.get(node.name, _TOPIC) for node in self.flow.nodes}

    @property
    def deadlines(self) -> Mapping[str, float]:
        """By output of `flow`."""
        return {output: deadline for s in self.segments for output, deadline in s.deadlines.items()}

    @property
    def paradigms(self) -> Mapping[str, Paradigm]:
        """By segment."""
        return {s.name: s.paradigm for s in self.segments}

    def __getitem__(self, name: str) -> Segment:
        return next(segment for segment in self.segments if segment.name == name)


@dataclasses.dataclass(frozen=True, slots=True)
class Planned:
    """The decision. Where nothing is feasible, `plan` is the one that gets the most through; None for senseless input.

    `up_to` is the largest factor of the workload at which what may be had still keeps the promise; below 1 when
    nothing is feasible. `limits` are further sentences, one for each thing that is in the way.
    """

    feasible: bool
    plan: Plan | None
    reason: Reason
    sentence: str
    inputs: Inputs
    alternatives: tuple[Alternative, ...]
    limits: tuple[str, ...] = ()
    up_to: float | None = None
