"""Spillway's own policy in a simulation: the tick of a driver, and the sizing of whoever starts pods.

What a driver learns from telemetry is learnt here too: how dear records really are, as a factor on the costs that were
believed, smoothed over `LEARN`. Segments stay what they are, so each is planned as one operator that nothing is fused
with.

All slots are one pool, as `assignment` makes it: partitions of all segments are spread over all slots by their load, so
a slot more relieves every segment, and the one with the most to do gets the most of it.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Sequence
from types import MappingProxyType

from spillway.controllers import sizing, tick
from spillway.controllers.costmodel.flow import Flow
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Problem, Traits
from spillway.controllers.provisioning import Arrivals
from spillway.controllers.sizes import Bounds, History, Present, Recommendation, SizePolicy
from spillway.controllers.sizing import Sizing
from spillway.controllers.switching import measurements
from spillway.controllers.switching.measurements import Costs, Measurement
from spillway.model.execution import Policy as JobPolicy
from spillway.model.operators import Paradigm
from spillway.simulation import fluid, jobs
from spillway.simulation.jobs import Fault, Job, Platform, Start
from spillway.simulation.policies import Seen, SegmentSeen, SegmentWish, Wish
from spillway.simulation.runs import Run
from spillway.simulation.traces import Trace

# Seconds. Timing 1 record in 64 is off by some per cent; over five seconds that is below one.
LEARN = 5.0
# A capacity from less work than this is mostly its error.
BUSY = 0.05
# Costs that differ by less are the same: a plan with headroom does not depend on a per cent.
SAME = 0.01
# Of a slot: what a segment can have at the least, however busy all others are.
LEFT = 0.1


@dataclasses.dataclass(frozen=True, slots=True)
class Least:
    """What there is at all times: `workers.min` and `executors.min`, in slots and cores."""

    slots: int = 1
    cores: int = 0


def run(
    plan: Plan,
    problem: Problem,
    trace: Trace,
    platform: Platform,
    policy: JobPolicy,
    least: Least,
    *,
    truth: Job | None = None,
    faults: Sequence[Fault] = (),
    seed: int = 0,
) -> Run:
    """A job under a trace, from its first plan on, which has the segments; `truth` are its real costs, if others."""
    job = pooled(truth or Job.of(plan, problem))
    steers = Steered(job, problem, platform, policy, least)
    start = {
        segment.name: Start(0, segment.paradigm, segment.parallelism if segment.paradigm is Paradigm.BATCH else 0)
        for segment in plan.segments
    }
    slots = max(plan.slots, least.slots)
    return fluid.run(job, trace, steers, start, platform, shared=slots, faults=faults, seed=seed)


def pooled(job: Job) -> Job:
    """The same job, with all slots for all segments."""
    return dataclasses.replace(job, shares=frozenset(job.segments))


class Steered:
    """Decides as Spillway does."""

    every = datetime.timedelta(milliseconds=200)

    def __init__(self, job: Job, problem: Problem, platform: Platform, policy: JobPolicy, least: Least) -> None:
        """`problem` has the costs that are believed, by operator or by segment; `job` has the segments."""
        self._platform, self._policy, self._least = platform, policy, least
        self._problem = _of_segments(job, problem)
        self._sizes = SizePolicy.of(policy)
        self._history = tick.History()
        self._workers, self._executors = History(), History()
        self._factors = dict.fromkeys(job.segments, 1.0)
        self._planned_with = self._made_with = dict(self._factors)
        self._known = self._problem
        self._each: dict[str, float] = {}  # P_D of one slot
        self._taken: dict[str, float] = {}  # slots that are busy; smoothed, as behind batches it is all or none
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
            name: SegmentWish(0, switched.get(name) or self._runs(name), self._cores(name, plan, seen))
            for name in seen.segments
        }
        provision = decision.provision
        said = decision.switch if switched else provision
        sizes = (("slots", workers), ("cores", executors))
        resized = [f"{what}: {size.sentence}" for what, size in sizes if _acts(size)]
        needed = provision.planned.sentence if provision.planned and provision.slots is not None else said.sentence
        sentence = said.sentence if switched or not resized else "; ".join([needed, *resized])
        predicted = plan.predicted if plan else None
        return Wish(segments, workers.size, executors.size, str(said.reason), sentence, predicted)

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
            flow = Flow(jobs.dearer(node, self._factors.get(node.name, 1.0)) for node in self._problem.flow.nodes)
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
        share = 1 - math.exp(-seen.span.total_seconds() / LEARN)
        for name, segment in seen.segments.items():
            before = self._taken.get(name, 0.0)
            self._taken[name] = before + share * (self._busy(name, segment) - before)
        measured, together = {}, _together(seen)
        for name, segment in seen.segments.items():
            taken = sum(self._taken.values()) - self._taken[name]
            if segment is not None and (found := self._measured(name, segment, taken, seen.span, now)) is not None:
                measured[name] = dataclasses.replace(found, batch_capacity=together.get(name))
        arrivals = {
            name: None if rate is None else Arrivals(now, seen.span, rate) for name, rate in seen.sources.items()
        }
        can_grow = seen.slots[0] < self._problem.room.slots
        return tick.Observation(measurements.Observation(tuple(nodes), measured, can_grow), arrivals, {}, (), {})

    def _busy(self, name: str, segment: SegmentSeen | None) -> float:
        """Slots that a segment keeps busy; in batches, those that it would if it came back."""
        if segment is None:
            return 0.0
        if segment.paradigm is Paradigm.RECORD:
            return segment.busy * segment.ready
        each = self._each.get(name)
        return segment.arrival / each if each else 0.0

    def _measured(
        self, name: str, segment: SegmentSeen, taken: float, span: datetime.timedelta, now: datetime.datetime
    ) -> Measurement | None:
        """One segment; its capacity is that of the slots that others leave it, of which `taken` are busy with others.

        Before a slot has done anything, what it can do is what the plan believes.
        """
        planned = self._history.provisioning.planned
        believed = _capacity(planned.plan, name) if planned and planned.plan else None
        each = self._each.get(name, believed)
        if not each:
            return None
        interval, schedule = self._platform.interval, self._platform.schedule
        costs = Costs(datetime.timedelta(seconds=interval), datetime.timedelta(seconds=schedule))
        left = max(segment.ready - taken, segment.busy * segment.ready, LEFT)
        return Measurement(now, span, segment.arrival, segment.queue, left * each, costs)

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


def _together(seen: Seen) -> dict[str, float]:
    """P_O of each segment when all that may are in batches at once, for they share the cores.

    Alone a segment does P_O; of all cores it takes V/P_O. So together they do 1/Σ(V/P_O) times what comes.
    """
    alone = {
        name: (segment.arrival, segment.batch_capacity)
        for name, segment in seen.segments.items()
        if segment is not None and segment.batch_capacity
    }
    taken = sum(arrival / capacity for arrival, capacity in alone.values())
    return {name: arrival / taken if arrival and taken else capacity for name, (arrival, capacity) in alone.items()}


def _acts(size: Sizing) -> bool:
    return size.action in (sizing.Action.GROW, sizing.Action.SHRINK)
