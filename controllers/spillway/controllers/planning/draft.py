"""A plan in the making: settings that a search changes one at a time, and what they would promise.

Two numbers say how good it is: how much more than it can do the fullest slot has (0 when none has), and the quantile.
A change of one segment concerns itself, whom it reads and who reads it, so only these are estimated anew.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from spillway.controllers.costmodel import chaining
from spillway.controllers.costmodel.bottlenecks import Work
from spillway.controllers.costmodel.flow import Flow, Setting
from spillway.controllers.latency import paths, prediction, stations
from spillway.controllers.latency.batches import Engine
from spillway.controllers.latency.moments import ZERO, Moments
from spillway.controllers.latency.queueing import Variability
from spillway.controllers.latency.segments import Circumstances, Edge, Estimate
from spillway.controllers.latency.stations import SLACK
from spillway.controllers.latency.windows import Window
from spillway.controllers.planning import texts
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Chaining, Traits
from spillway.controllers.planning.shapes import Operators, Segments, Shape

# Seconds from the start of one batch to that of the next, of which a segment gets the shortest that it can keep.
# Below 50 ms a batch is all schedule; above 10 s nobody would call it streaming; steps of a half cost a record a
# quarter of an interval more than the best would.
INTERVALS = (0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)

# Records in a frame at the most. What a frame costs is then a ten-thousandth of that for each record: nothing. Larger
# frames would only keep a slot from its neighbours for longer.
LARGEST = 10_000
# Bytes in a frame at the most: a frame is one message, and brokers take a megabyte unless told otherwise.
MESSAGE = 900_000

# Records that a frame has room for, of those that come until its deadline on the fastest edge of its segment: so much
# more than the mean that next to none is cut by its size at the planned rate, and a burst still does not make a frame
# of everything. With no room to spare half of the frames would leave early, and cost as much as the full ones.
SPARE = 2.0

# No deadline is shorter than its share of this part of the bound, as if there were some edges more on the longest way:
# on one edge 1 % of the bound, on twenty 0.2 %. Shorter ones would save time that nobody asked for, at the price of
# frames that a burst finds too small; and timers of a process are late by a millisecond anyway.
WORTH, _FEW = 0.05, 4

STEADY = Variability(0.0, 0.0)


class Score(NamedTuple):
    """How good a draft is; less is better, and what can't keep up is worse than anything that takes long."""

    overload: float
    quantile: float

    def keeps(self, bound: float) -> bool:
        """Whether it is a plan."""
        return self.overload <= 0 and self.quantile <= bound


@dataclasses.dataclass(frozen=True, slots=True)
class Saved:
    """All that a search may change."""

    settings: Mapping[str, Setting]
    deadlines: Mapping[str, float]
    engines: Mapping[str, Engine]
    shared: Mapping[str, tuple[str, ...]]


class Draft:
    """The segments of a shape with settings that may change."""

    def __init__(self, operators: Operators, shape: Shape, *, tolerance: float = SLACK) -> None:
        problem = operators.problem
        self.operators, self.shape, self.tolerance = operators, shape, tolerance
        self.segments = {segment[0]: segment for segment in shape.segments}
        self.flow = whole(operators.flow, shape.segments)
        self.nodes = stations.of(self.flow, problem.workload, problem.slot)
        self.record = tuple(n.name for n in self.flow.nodes if n.name in self.segments and n.name not in shape.batches)
        self.speedups = {head: operators.speedup(self.segments[head]) for head in sorted(shape.batches)}
        self.windows = windows_of(operators, shape.segments)
        self.variability = variability_of(operators, shape.segments)
        limits = {head: operators.limit(head) for head in self.record}
        self.limits = {head: limit for head, limit in limits.items() if limit is not None}
        self.cap = problem.promise.bound
        self.longest = _longest(self.flow)
        self.floor = self.cap * WORTH / (self.longest + _FEW)
        self.largest = {node.name: self._largest(node.name) for node in self.flow.nodes}
        self.settings = {node.name: Setting(1, 1 if self.flow.is_read(node) else None) for node in self.flow.nodes}
        self.deadlines = {output: self.cap for head in self.segments for output in self.nodes[head].emits}
        self.engines: dict[str, Engine] = {}
        self.shared: dict[str, tuple[str, ...]] = {}
        around = Circumstances(
            self.settings, self.deadlines, self.engines, self.limits, self.variability, self.shared,
            problem.slot, int(problem.slot.sharing), problem.hop,
        )  # fmt: skip
        self.estimate = Estimate(self.flow, self.nodes, around)
        self._deviations = math.sqrt(problem.promise.quantile / (1 - problem.promise.quantile))  # of Cantelli's bound
        self._owner = {output: node.name for output, node in self.flow.owners.items()}
        self._stays: dict[str, Moments] = {}
        self._full: dict[str, float] = {}
        self._trips: dict[Edge, Moments] = {}
        self.path: tuple[str, ...] = ()
        self.followed: tuple[dict[str, Setting], tuple[Work, ...]] | None = None
        for head in sorted(shape.batches):
            self.widen(head, 1)

    def _largest(self, name: str) -> int:
        sizes = [size for output, size in self.nodes[name].sizes.items() if output in self.nodes[name].emits]
        return max(1, min(LARGEST, int(MESSAGE / max(1.0, *sizes)))) if sizes else LARGEST

    # What may change

    def widen(self, name: str, parallelism: int) -> None:
        """So many slots, or cores with the shortest interval that they can keep."""
        self.settings[name] = dataclasses.replace(self.settings[name], parallelism=parallelism)
        if name in self.shape.batches:
            self._choose_interval(name)
        self._changed(name)

    def hold(self, name: str, time: float) -> None:
        """Frames of a segment leave so long after their first record, or a little before when many come at once."""
        time = min(self.cap, max(self.floor, texts.rounded(time, 3))) if time > 0 else 0.0
        records = 1 + self.rate(name) * time
        frame = max(1, min(self.largest[name], math.ceil(SPARE * records))) if records > 1 else 1
        self.settings[name] = dataclasses.replace(self.settings[name], frame=frame)
        for output in self.nodes[name].emits:
            self.deadlines[output] = time if frame > 1 else self.cap
        self._changed(name)

    def held(self, name: str) -> float:
        """For how long frames of a segment are held; not at all when each record is one."""
        if (self.settings[name].frame or 1) == 1:
            return 0.0
        return max(self.deadlines[output] for output in self.nodes[name].emits)

    def hold_as(self, plan: Plan) -> None:
        """The frames of another plan with the same segments."""
        for name in self.framed():
            before = plan[name]
            self.hold(name, max(before.deadlines.values(), default=0.0) if (before.frame or 1) > 1 else 0.0)

    def begin(self, settings: Mapping[str, Setting]) -> None:
        """Other settings for all segments, and frames that are in no hurry."""
        self.settings.update(settings)
        self.deadlines.update(dict.fromkeys(self.deadlines, self.cap))
        self._forget()
        self.share(())

    def postpone(self, deadlines: Mapping[str, float]) -> None:
        """Other deadlines."""
        for output, deadline in deadlines.items():
            self.deadlines[output] = deadline
        for name in {self._owner[output] for output in deadlines}:
            self._changed(name)

    def share(self, groups: Iterable[tuple[str, ...]]) -> None:
        """Which segments share a slot, from now on; those of one alone don't."""
        self._share({name: tuple(sorted(group)) for group in groups if len(group) > 1 for name in group})

    def _share(self, shared: Mapping[str, tuple[str, ...]]) -> None:
        moved = [name for name in {*self.shared, *shared} if self.shared.get(name) != shared.get(name)]
        self.shared.clear()
        self.shared.update(shared)
        for name in moved:
            self._stays.pop(name, None)
            self._full.pop(name, None)
            for edge in self.sends(name):
                self._trips.pop(edge, None)
        if moved and self.operators.problem.slot.sharing > 1:
            self._forget()

    def saved(self) -> Saved:
        """As it is now, to come back to."""
        return Saved(dict(self.settings), dict(self.deadlines), dict(self.engines), dict(self.shared))

    def restore(self, saved: Saved) -> None:
        """As it was."""
        changed = {name for name, setting in saved.settings.items() if self.settings[name] is not setting}
        changed |= {self._owner[o] for o, deadline in saved.deadlines.items() if self.deadlines[o] != deadline}
        changed |= {name for name, engine in saved.engines.items() if self.engines[name] is not engine}
        self.settings.update(saved.settings)
        self.deadlines.update(saved.deadlines)
        self.engines.update(saved.engines)
        for name in sorted(changed):
            self._changed(name)
        self._share(saved.shared)

    def _forget(self) -> None:
        self.estimate.forget_all()
        self._full.clear()
        self._stays.clear()
        self._trips.clear()

    def _changed(self, name: str) -> None:
        if self.operators.problem.slot.sharing > 1:  # every slot is as fast as the others leave it
            self._forget()
            return
        self.estimate.forget(name)
        for edge in self.estimate.edges_of(name):
            self._trips.pop(edge, None)
        for other in self.estimate.around_of(name):
            for member in self.shared.get(other, (other,)):
                self._stays.pop(member, None)
                self._full.pop(member, None)

    # What it would be like

    def score(self) -> Score:
        """How good it is."""
        return Score(self.overload(), self.quantile())

    def overload(self) -> float:
        """By how much the fullest slot has more to do than it may, as a share of that; 0 when none has."""
        return max(0.0, max((self.fullness(name) - 1 for name in self.segments), default=0.0) - self.tolerance)

    def fullness(self, name: str) -> float:
        """The part of what may be used of the slots, or cores, of a segment, that is used."""
        found = self._full.get(name)
        if found is None:
            found = self._full[name] = self._fullness(name)
        return found

    def busy(self, name: str) -> float:
        """The slots, or parts of one, that a segment needs with its frames, of the share that may be used."""
        needs = self.estimate.busy(name)
        return max(needs.cpu, needs.network_in, needs.network_out) / self.operators.share

    def _fullness(self, name: str) -> float:
        share = self.operators.share
        if name in self.shape.batches:
            engine, cores = self.engines[name], self.settings[name].parallelism
            done = self.estimate.pressed(name) / cores
            return (done + engine.schedule.mean / engine.interval) / share
        limit = self.limits.get(name)
        if limit is not None and self.settings[name].parallelism > limit:
            return math.inf
        if name not in self.shared:
            return self.busy(name) / self.settings[name].parallelism
        needs = [self.estimate.busy(member) for member in self.shared[name]]
        need = max(math.fsum(need[kind] for need in needs) for kind in range(3))
        return need / share

    def quantile(self) -> float:
        """The promised quantile of the worst way; `path` has its segments then."""
        for name in self.nodes:
            if name not in self._stays:
                self._stays[name] = sum(self.estimate.stay(name).values(), ZERO)
        for edge in self.estimate.edges:
            if edge not in self._trips:
                self._trips[edge] = sum(self.estimate.trip(*edge).values(), ZERO)
        closing: Mapping[str, paths.Close] = {}
        if self.windows:
            senders = prediction.senders(self.flow, self.settings, self.windows)
            closing = paths.closes(self.windows, senders, self.estimate.slowdown)
        worst = paths.trails(self.flow, self._stays, self._trips, closing, self._rank)[0]
        self.path = worst.path
        return self._rank(worst.mean, worst.variance)

    def _rank(self, mean: float, variance: float) -> float:
        return mean + self._deviations * math.sqrt(variance)

    def stay(self, name: str) -> float:
        """Seconds that a record stays in a segment, on average."""
        return self._stays[name].mean if name in self._stays else 0.0

    def in_time(self, name: str, cores: int) -> bool:
        """Whether so many cores can do all of a batch within some interval, with headroom."""
        schedule, longest = self.operators.problem.schedule or ZERO, INTERVALS[-1]
        done = self.busy(name) / self.speedups[name] / cores
        return done + schedule.mean / longest / self.operators.share <= 1 + self.tolerance

    def reads(self, name: str) -> set[str]:
        """The segments that a segment reads."""
        return {self._owner[output] for output in self.nodes[name].inputs}

    @property
    def slots(self) -> int:
        """Worker slots, each shared one once."""
        alone = sum(self.settings[name].parallelism for name in self.record if name not in self.shared)
        return alone + len(set(self.shared.values()))

    @property
    def cores(self) -> int:
        """Executor cores."""
        return sum(self.settings[name].parallelism for name in self.shape.batches)

    def sends(self, name: str) -> tuple[Edge, ...]:
        """The edges out of a segment."""
        return tuple((output, reader) for output in self.nodes[name].emits for reader in self.flow.readers[output])

    def framed(self) -> tuple[str, ...]:
        """The segments whose frames are to be chosen."""
        return tuple(name for name in self.record if self.nodes[name].emits)

    def rate(self, name: str) -> float:
        """Records per second in a buffer of the fastest edge out of a segment."""
        return max((self._rate(*edge) for edge in self.sends(name)), default=0.0)

    def _rate(self, output: str, reader: str) -> float:
        producer = self.flow.owners[output].name
        before, slots = self._partitions(producer), self.settings[reader].parallelism
        buffers = before * self._partitions(reader) if self.nodes[reader].keyed else max(before, slots)
        return self.nodes[producer].rates[output] / buffers

    def _partitions(self, name: str) -> int:
        return self.limits.get(name, self.settings[name].parallelism)

    def _choose_interval(self, name: str) -> None:
        """The shortest interval in which the batch is done, with headroom; the longest if in none."""
        schedule = self.operators.problem.schedule or ZERO
        emits = self.nodes[name].emits
        for interval in INTERVALS:
            self.engines[name] = Engine(interval, schedule, self.speedups[name])
            if emits:
                batch = max((self._rate(*edge) for edge in self.sends(name)), default=0.0) * interval
                frame = max(1, min(self.largest[name], int(batch)))
                self.settings[name] = dataclasses.replace(self.settings[name], frame=frame)
            self.estimate.forget(name)
            if self._fullness(name) <= 1 + self.tolerance:
                return


def whole(flow: Flow, segments: Segments) -> Flow:
    """The flow with a node for each segment."""
    return chaining.fused(flow, {segment[0]: segment for segment in segments if len(segment) > 1})


def windows_of(operators: Operators, segments: Segments) -> dict[str, Window]:
    """By segment; only a head has one."""
    return {s[0]: window for s in segments if (window := operators.traits(s[0]).window) is not None}


def variability_of(operators: Operators, segments: Segments) -> dict[str, Variability]:
    """By segment: arrivals as at its head, and costs that vary as much as those that vary most of its operators.

    Without any headroom the thesis is taken at its word, where `Chaining.NEVER` asks for it: rates and costs that
    don't vary. With any variation the queue of a slot that is used up to the last thousandth would be the plan.
    """
    problem = operators.problem
    steady = problem.chaining is Chaining.NEVER and problem.headroom == 0
    found: dict[str, Variability] = {}
    for segment in segments:
        own = [operators.traits(name).variability for name in segment]
        if steady:
            own = [STEADY if varies == Traits().variability else varies for varies in own]
        found[segment[0]] = Variability(own[0].arrival, max(varies.service for varies in own))
    return found


def _longest(flow: Flow) -> int:
    """The most framed edges on a way."""
    depth: dict[str, int] = {}
    for node in flow.nodes:
        before = (depth[flow.owners[output].name] + flow.is_framed(output) for output in node.inputs)
        depth[node.name] = max(before, default=0)
    return max(depth.values(), default=0)
