"""What is simulated: a job with its true costs, the platform that it runs on, and what goes wrong when."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from spillway.controllers.costmodel.flow import CORE, Flow, Node, Setting, Slot
from spillway.controllers.latency.moments import ZERO, Moments
from spillway.controllers.latency.queueing import Variability
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Problem, Promise
from spillway.model.operators import Paradigm


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """What runs: a node for each segment. Segments stay what they are for the whole run.

    Attributes:
        flow: the segments with what they really cost, whatever a policy believes.
        promise: what is to be kept.
        frames: by node, b_out; 1 where nothing is said.
        deadlines: by output, seconds after its first record at which a frame leaves at the latest.
        partitions: by node, of its input: no more slots than that can work on it.
        batchable: nodes that may run in batches.
        speedup: by node, how many records an executor core does while a slot does one; 1 where nobody measured.
        shares: nodes that share their slots with one another.
        variability: by node, how much arrivals and costs vary.
        slot: what a slot has.
        hop: what the log takes for a frame from one segment to the next.
    """

    flow: Flow
    promise: Promise
    frames: Mapping[str, int] = dataclasses.field(default_factory=_nothing)
    deadlines: Mapping[str, float] = dataclasses.field(default_factory=_nothing)
    partitions: Mapping[str, int] = dataclasses.field(default_factory=_nothing)
    batchable: frozenset[str] = frozenset()
    speedup: Mapping[str, float] = dataclasses.field(default_factory=_nothing)
    shares: frozenset[str] = frozenset()
    variability: Mapping[str, Variability] = dataclasses.field(default_factory=_nothing)
    slot: Slot = CORE
    hop: Moments = ZERO

    def __post_init__(self) -> None:
        nodes = {node.name for node in self.flow.nodes}
        for what in ("frames", "partitions", "batchable", "speedup", "shares", "variability"):
            unknown = sorted(set(getattr(self, what)) - nodes)
            if unknown:
                message = f"{what} are given for {', '.join(unknown)}, which the flow does not have"
                raise ValueError(message)
        for name, count in self.partitions.items():
            if count < 1:
                message = f"the input of {name!r} has {count} partitions; it needs at least one"
                raise ValueError(message)

    @classmethod
    def of(cls, plan: Plan, problem: Problem) -> Self:
        """The job that a plan is for, with the costs that the planner was told."""
        named = {segment.name: segment for segment in plan.segments}
        traits = {name: problem.traits[name] for name in named if name in problem.traits}
        partitions = {
            node.name: min(problem.partitions[source] for source in node.inputs if source in problem.partitions)
            for node in plan.flow.nodes
            if any(source in problem.partitions for source in node.inputs)
        }
        deadlines = {output: at for segment in plan.segments for output, at in segment.deadlines.items()}
        return cls(
            plan.flow,
            problem.promise,
            {name: segment.frame for name, segment in named.items() if segment.frame is not None},
            deadlines,
            partitions,
            frozenset(name for name in named if name not in traits or traits[name].batchable),
            {name: of_node.speedup for name, of_node in traits.items()},
            frozenset(name for name, segment in named.items() if segment.shares),
            {name: of_node.variability for name, of_node in traits.items()},
            problem.slot,
            problem.hop,
        )

    @property
    def segments(self) -> tuple[str, ...]:
        """The nodes that take slots, by level and name."""
        return tuple(node.name for node in self.flow.nodes if not node.is_topic)

    def settings(self, parallelism: Mapping[str, int]) -> dict[str, Setting]:
        """The settings with these slots, and 1 for what takes none."""
        return {
            node.name: Setting(max(1, parallelism.get(node.name, 1)), self.frames.get(node.name, 1))
            for node in self.flow.nodes
        }

    def dearer(self, factor: float) -> Job:
        """The same job, each record `factor` times as dear: what a policy with old costs has to live with."""
        return dataclasses.replace(self, flow=Flow(dearer(node, factor) for node in self.flow.nodes))


def dearer(node: Node, factor: float) -> Node:
    """A node whose records and frames are `factor` times as dear."""
    outputs = tuple(dataclasses.replace(output, emit=float(output.emit) * factor) for output in node.outputs)
    return dataclasses.replace(node, cpu=float(node.cpu) * factor, fetch=float(node.fetch) * factor, outputs=outputs)


class Mechanism(enum.StrEnum):
    """How a change of size is carried out.

    moves: partitions are handed over, a few at a time, while all others go on; as Spillway does it.
    group: a consumer group rebalances, all partitions that move at once; as a Kafka Deployment under KEDA does it.
    restart: the job stops as a whole and goes on with the new sizes; as Flink does it.
    """

    MOVES = "moves"
    GROUP = "group"
    RESTART = "restart"


@dataclasses.dataclass(frozen=True, slots=True)
class Platform:
    """How long things take, in seconds, and what may be had.

    Attributes:
        start: from when a slot is asked for until it may own partitions. A pod on a node that has its image is ready
            in 3 to 5 s, Python imports and the restore of its state take the rest. A node that has to come first
            would take minutes, for every policy alike.
        stop: from when a slot owns nothing until it is gone: a last commit, and the pod's end.
        core_start: the same as `start` for an executor core: a JVM, its registration, and the first Python worker.
        pause: how long a partition stands still while it moves: release, commit, and the owner's first record (100 to
            300 ms).
        prepare: before a switch, while the old owner goes on: the program is compiled, and Spark is warm.
        takeover: from the death of a worker until its partitions have another owner: missed heartbeats, and a fence.
        mechanism: how a change of size is carried out.
        rebalance: with `group`, how long partitions that move stand still: until the next poll of all members, twice,
            as the cooperative protocol has two phases; and the heir's first fetch.
        restart: with `restart`, how long the job stands still: a savepoint, cancel, deploy, restore. 30 s is a small
            job on pods that are there already; users report 2 to 3 minutes, and more where nodes must start.
        interval: T of batches.
        schedule: what a batch takes beside its records; 40 to 60 ms were measured for a warm session.
        longest: the most work of one batch; more waits for the next one, so that what came first is done first.
        cores: executor cores that are always there (`executors.min`), asked for or not.
        slots_most: worker slots that may be had (`workers.max`).
        cores_most: executor cores that may be had (`executors.max`).
    """

    start: float = 8.0
    stop: float = 1.0
    core_start: float = 12.0
    pause: float = 0.2
    prepare: float = 0.3
    takeover: float = 3.0
    mechanism: Mechanism = Mechanism.MOVES
    rebalance: float = 3.0
    restart: float = 30.0
    interval: float = 0.2
    schedule: float = 0.05
    longest: float = 1.0
    cores: int = 0
    slots_most: int = 1000
    cores_most: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Death:
    """A slot of a segment dies: its partitions wait for the takeover, and its pod is started again."""

    at: float
    segment: str


@dataclasses.dataclass(frozen=True, slots=True)
class Slow:
    """One slot of a segment is on a slow node for a while: it works at `speed`, 1 being the usual one."""

    at: float
    segment: str
    length: float
    speed: float


@dataclasses.dataclass(frozen=True, slots=True)
class Blind:
    """Metrics are missing for a while: of one segment, or of all."""

    at: float
    length: float
    segment: str | None = None


Fault = Death | Slow | Blind


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """How a segment begins: worker slots, paradigm, and executor cores while it is in batches."""

    slots: int
    paradigm: Paradigm = Paradigm.RECORD
    cores: int = 0
