"""Spillway's own policy in a simulation: the tick of a driver, and the sizing of whoever starts pods.

What a driver learns from telemetry is learnt here too: how dear records really are, as a factor on the costs that were
believed, smoothed over `LEARN`. Segments stay what they are, so each is planned as one operator that nothing is fused
with.

Slots that are held longer than the plan needs them (the scale-down delay) work where they are: owners are balanced by
load, so a slot more relieves all others.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from types import MappingProxyType

from spillway.controllers import sizing, tick
from spillway.controllers.costmodel.flow import Flow, Node
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Problem, Traits
from spillway.controllers.provisioning import Arrivals
from spillway.controllers.sizes import Bounds, History, Present, Recommendation, SizePolicy
from spillway.controllers.sizing import Sizing
from spillway.controllers.switching import measurements
from spillway.controllers.switching.measurements import Costs, Measurement
from spillway.model.execution import Policy as JobPolicy
from spillway.model.operators import Paradigm
from spillway.simulation.jobs import Job, Platform
from spillway.simulation.policies import Seen, SegmentSeen, SegmentWish, Wish

# Seconds. Timing 1 record in 64 is off by some per cent; over five seconds that is below one.
LEARN = 5.0
# A capacity from less work than this is mostly its error.
BUSY = 0.05
# Costs that differ by less are the same: a plan with headroom does not depend on a per cent.
SAME = 0.01


@dataclasses.dataclass(frozen=True, slots=True)
class Least:
    """What there is at all times: `workers.min` and `executors.min`, in slots and cores."""

    slots: int = 1
    cores: int = 0


class Steered:
    """Decides as Spillway does."""

    every = datetime.timedelta(milliseconds=200)

    def __init__(self, job: Job, problem: Problem, platform: Platform, policy: JobPolicy, least: Least) -> None:
        """`problem` has the costs that are believed, by operator or by segment; `job` has the segments."""
        self._platform, self._policy, self._least = platform, policy, least
        self._problem = _of_segments(job, problem)
        self._sizes = SizePolicy(
            datetime.timedelta(seconds=policy.cooldown.seconds),
            datetime.timedelta(seconds=policy.scale_down_delay.seconds),
            policy.mode,
        )
        self._history = tick.History()
        self._workers, self._executors = History(), History()
        self._factors = dict.fromkeys(job.segments, 1.0)
        self._planned_with = self._made_with = dict(self._factors)
        self._known = self._problem
        self._each: dict[str, float] = {}  # P_D of one slot
        self._paradigms: dict[str, Paradigm] = {}

    def decide(self, seen: Seen, now: datetime.datetime) -> Wish:
        """One tick."""
        for name, segment in seen.segments.items():
            if segment is not None:
                self._learn(name, segment, seen.span)
        before = self._history.provisioning.planned
        decision = tick.decide(self._observation(seen, now), self._dearer(), self._policy, self._history, now)
        self._history = decision.history
        if decision.provision.planned is not before:
            self._planned_with = self._made_with
        switched = dict.fromkeys(decision.switch.operators, decision.switch.to)
        workers, executors = self._sizing(decision, seen, now)
        plan = decision.provision.plan
        segments = {
            name: SegmentWish(slots, switched.get(name) or self._runs(name), self._cores(name, plan, seen))
            for name, slots in _spread(workers.size, plan, seen, self._problem).items()
        }
        said = decision.switch if switched else decision.provision
        sizes = (("slots", workers), ("cores", executors))
        resized = [f"{what}: {size.sentence}" for what, size in sizes if _acts(size)]
        sentence = said.sentence if switched or not resized else "; ".join([said.sentence, *resized])
        return Wish(segments, None, executors.size, str(said.reason), sentence, plan.predicted if plan else None)

    def _learn(self, name: str, segment: SegmentSeen, span: datetime.timedelta) -> None:
        """What a slot really does, and by what factor records are dearer than was believed."""
        self._paradigms[name] = segment.paradigm
        capacity, planned = segment.capacity, self._history.provisioning.planned
        if segment.paradigm is not Paradigm.RECORD or segment.busy < BUSY or not capacity or not segment.ready:
            return
        share = 1 - math.exp(-span.total_seconds() / LEARN)
        each = capacity / segment.ready
        self._each[name] = each if name not in self._each else self._each[name] + share * (each - self._each[name])
        plan = planned.plan if planned else None
        if plan is not None and (of_plan := _capacity(plan, name)):
            self._factors[name] = self._planned_with[name] * of_plan / self._each[name]

    def _dearer(self) -> Problem:
        """The problem with costs as they were learnt; made anew when one has changed by more than `SAME`."""
        if any(abs(factor / self._made_with[name] - 1) > SAME for name, factor in self._factors.items()):
            flow = Flow(_times(node, self._factors.get(node.name, 1.0)) for node in self._problem.flow.nodes)
            self._known = dataclasses.replace(self._problem, flow=flow)
            self._made_with = dict(self._factors)
        return self._known

    def _runs(self, name: str) -> Paradigm:
        """How a segment runs, as far as is known."""
        return self._paradigms.get(name, Paradigm.RECORD)

    def _observation(self, seen: Seen, now: datetime.datetime) -> tick.Observation:
        """What a driver would have, from telemetry."""
        flow, traits = self._problem.flow, self._problem.traits
        nodes = []
        for node in flow.nodes:
            if node.name in self._problem.topics:
                continue
            reads = tuple(flow.owners[name].name for name in node.inputs)
            emitted = segment.emitted if (segment := seen.segments.get(node.name)) else {}
            passed = sum(emitted.values()) / segment.processed if segment and segment.processed > 0 else None
            nodes.append(
                measurements.Node(
                    node.name,
                    tuple(name for name in reads if name not in self._problem.topics),
                    paradigm=self._runs(node.name),
                    batchable=traits[node.name].batchable,
                    selectivity=passed,
                )
            )
        measured = {
            name: found
            for name, segment in seen.segments.items()
            if segment is not None and (found := self._measured(name, segment, seen.span, now)) is not None
        }
        arrivals = {
            name: None if rate is None else Arrivals(now, seen.span, rate) for name, rate in seen.sources.items()
        }
        can_grow = seen.slots[0] < self._problem.room.slots
        return tick.Observation(measurements.Observation(tuple(nodes), measured, can_grow), arrivals, {}, (), {})

    def _measured(
        self, name: str, segment: SegmentSeen, span: datetime.timedelta, now: datetime.datetime
    ) -> Measurement | None:
        """One segment; before a slot has done anything, its capacity is what the plan believes."""
        planned = self._history.provisioning.planned
        believed = _capacity(planned.plan, name) if planned and planned.plan else None
        each = self._each.get(name, believed)
        if not each:
            return None
        interval, schedule = self._platform.interval, self._platform.schedule
        costs = Costs(datetime.timedelta(seconds=interval), datetime.timedelta(seconds=schedule))
        capacity = max(1, segment.ready) * each
        return Measurement(now, span, segment.arrival, segment.queue, capacity, costs, segment.batch_capacity)

    def _sizing(self, decision: tick.Decision, seen: Seen, now: datetime.datetime) -> tuple[Sizing, Sizing]:
        """What is asked for of slots and of cores; each has a history of its own."""
        room, provision = self._problem.room, decision.provision
        workers = sizing.decide(
            Recommendation(provision.slots, now),
            Present(*seen.slots),
            Bounds(min(self._least.slots, room.slots), room.slots),
            self._sizes,
            self._workers,
            now,
        )
        executors = sizing.decide(
            Recommendation(provision.cores, now),
            Present(*seen.cores),
            Bounds(min(self._least.cores, room.cores), room.cores),
            self._sizes,
            self._executors,
            now,
        )
        self._workers, self._executors = workers.history, executors.history
        return workers, executors

    def _cores(self, name: str, plan: Plan | None, seen: Seen) -> int:
        """Executor cores of a segment: all that there are for those in batches, by what the plan gives each."""
        parts = {
            segment.name: segment.parallelism
            for segment in (plan.segments if plan else ())
            if segment.paradigm is Paradigm.BATCH
        }
        if name not in parts:
            return max(1, seen.cores[1])
        return max(1, round(max(seen.cores[1], sum(parts.values())) * parts[name] / sum(parts.values())))


def _of_segments(job: Job, problem: Problem) -> Problem:
    """The problem with a job's segments for operators; what begins a segment is fused with nothing before it."""
    topics = frozenset(node.name for node in job.flow.nodes if node.is_topic)
    traits = {
        name: dataclasses.replace(
            problem.traits.get(name, Traits()),
            keyed=True,
            batchable=name in job.batchable,
            speedup=job.speedup.get(name, 1.0),
        )
        for name in job.segments
    }
    return dataclasses.replace(problem, flow=job.flow, topics=topics, traits=MappingProxyType(traits))


def _capacity(plan: Plan, name: str) -> float | None:
    """Records per second that a plan expects of one slot of a segment; None in batches, or when it is not in it."""
    segment = next((segment for segment in plan.segments if segment.name == name), None)
    if segment is None or segment.paradigm is Paradigm.BATCH:
        return None
    each = segment.load.capacity / segment.parallelism
    return each if 0 < each < math.inf else None


def _times(node: Node, factor: float) -> Node:
    """A node whose records and frames are `factor` times as dear."""
    outputs = tuple(dataclasses.replace(output, emit=float(output.emit) * factor) for output in node.outputs)
    return dataclasses.replace(node, cpu=float(node.cpu) * factor, fetch=float(node.fetch) * factor, outputs=outputs)


def _spread(total: int, plan: Plan | None, seen: Seen, problem: Problem) -> dict[str, int]:
    """Slots for each segment: what the plan gives it, and what is held beyond that where it is.

    What the plan gives is scaled down when less may be had. Of what is held beyond it, first goes what a segment has
    more of than the others, by name among equals.
    """
    asked = {name: segment.asked for name, segment in seen.segments.items() if segment is not None}
    if plan is None:
        return asked
    wanted = {
        segment.name: 1 if segment.paradigm is Paradigm.BATCH else segment.parallelism for segment in plan.segments
    }
    held = {name: max(wanted.get(name, 1), count) for name, count in asked.items()} or dict(wanted)
    while sum(held.values()) > max(total, len(held)):
        spared = (name for name in held if held[name] > 1)  # a segment without a slot would stand still
        most = max(spared, key=lambda name: (held[name] - wanted.get(name, 1), held[name], name))
        held[most] -= 1
    return held


def _acts(size: Sizing) -> bool:
    return size.action in (sizing.Action.GROW, sizing.Action.SHRINK)
