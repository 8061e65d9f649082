"""Plans of small topologies by trying everything: what the planner is measured against.

All legal ways to fuse, both paradigms for each segment, all numbers of slots and cores, all ways to share slots, and
frames, deadlines and intervals from grids, by rising cost; the first that keeps the promise wins. Nothing of the
planner's search is used, only the cost model and the latency model, and the rules of what is legal are written down
here once more. What can't be enough whatever the frames are is left out, or nothing would ever end.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from spillway.controllers.costmodel import bottlenecks, chaining, exact
from spillway.controllers.costmodel.flow import Flow, Node, Setting
from spillway.controllers.latency import prediction, segments, stations
from spillway.controllers.latency.batches import Engine
from spillway.controllers.latency.queueing import Variability
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Chaining, Problem, Traits
from spillway.model.operators import Paradigm

INTERVALS = (0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)
FRAMES = tuple(round(1.5**i) for i in range(23))  # 1 to 7482
DEADLINES = (1.0, 0.1, 0.01)  # of the bound
# Settings that are predicted for one set of slots, and for a whole topology; each takes half a millisecond. Where the
# grid has more, every second frame, or every third, is tried.
GRID, TRIED = 700, 4000

Groups = tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Cheapest:
    """What was found: the cost of the cheapest plan, None when there is none; and whether all was tried."""

    cost: int | None
    complete: bool


@dataclasses.dataclass(frozen=True, slots=True)
class _Sized:
    """Segments with slots, before their frames."""

    members: Groups
    batches: frozenset[str]
    sizes: Mapping[str, int]
    shared: Groups


def cheapest(problem: Problem, *, below: int | None = None, hints: Plan | None = None) -> Cheapest:
    """The cheapest plan; only such that cost less than `below`, and with the frames of `hints` among those tried."""
    search = _Search(problem, hints)
    most = problem.room.slots + problem.room.cores if below is None else below - 1
    for cost in range(1, most + 1):
        for sized in search.of_cost(cost):
            if search.keeps(sized):
                return Cheapest(cost, search.left > 0)
            if search.left <= 0:
                return Cheapest(None, complete=False)
    return Cheapest(None, complete=True)


def right(problem: Problem, plan: Plan) -> str:
    """What is wrong with a plan that says that it keeps the promise; nothing if it does."""
    search = _Search(problem, None)
    members = tuple(segment.operators for segment in plan.segments)
    sizes = {segment.name: segment.parallelism for segment in plan.segments}
    batches = frozenset(plan.engines)
    if plan.slots > problem.room.slots or plan.cores > problem.room.cores:
        return f"{plan.slots} slots and {plan.cores} cores are more than may be had"
    if members not in [tuple(sorted(m, key=lambda s: members.index(s) if s in members else -1)) for m in search.ways()]:
        return f"{members} may not be fused like that"
    sized = _Sized(members, batches, sizes, plan.shared)
    if not search.possible(sized):
        return "a paradigm or a number of slots is not possible"
    draft = search.flow_of(sized)
    frames = {segment.name: segment.frame for segment in plan.segments}
    seen = search.quantile(draft, sized, frames, dict(plan.deadlines), plan.engines)
    if seen is None:
        return "a slot has more to do than it may"
    if not seen <= problem.promise.bound or not math.isclose(seen, plan.predicted, rel_tol=1e-6):
        return f"it takes {seen}, and {plan.predicted} was said"
    return ""


class _Search:
    def __init__(self, problem: Problem, hints: Plan | None) -> None:
        self.problem = problem
        self.flow = Flow(
            _as_topic(node)
            if node.name in problem.topics
            else dataclasses.replace(node, keyed=self.traits(node.name).keyed)
            for node in problem.flow.nodes
        )
        self.operators = [node.name for node in self.flow.nodes if node.name not in problem.topics]
        self.share = 1 - exact.exact(problem.headroom)
        self.hints = hints
        self.left = TRIED
        self.times = self._times()

    def traits(self, name: str) -> Traits:
        return self.problem.traits.get(name, Traits())

    def ways(self) -> Iterator[Groups]:
        """All ways to group operators into segments."""
        joints = [name for name in self.operators if self._joins(self.flow[name])]
        for size in range(len(joints), -1, -1):
            for joined in itertools.combinations(joints, size):
                groups: dict[str, list[str]] = {}
                for name in self.operators:
                    parent = self.flow.owners[self.flow[name].inputs[0]].name if name in joined else None
                    home = next((group for group in groups.values() if parent in group), None)
                    if home is None:
                        groups[name] = [name]
                    else:
                        home.append(name)
                yield tuple(tuple(group) for group in groups.values())

    def _joins(self, node: Node) -> bool:
        traits = self.traits(node.name)
        if self.problem.chaining is Chaining.NEVER or traits.keyed or traits.window or len(node.inputs) != 1:
            return False
        return not self.flow.owners[node.inputs[0]].is_source

    def of_cost(self, cost: int) -> Iterator[_Sized]:
        """All segments with sizes that cost so much together and might be enough."""
        for members in self.ways():
            heads = [group[0] for group in members]
            for count in range(len(heads) + 1):
                for batches in itertools.combinations(heads, count):
                    yield from self._sizes(members, frozenset(batches), cost)

    def _sizes(self, members: Groups, batches: frozenset[str], cost: int) -> Iterator[_Sized]:
        record = [group[0] for group in members if group[0] not in batches]
        never = self.problem.chaining is Chaining.NEVER
        for small in _subsets(record):
            for shared in [tuple((name,) for name in small)] if never else _partitions(small):
                wide = [name for name in record if name not in small]
                ahead = [*wide, *sorted(batches)]
                left = cost - len(shared)
                for sizes in _compositions(left, [2] * len(wide) + [1] * len(batches)):
                    of = dict(zip(ahead, sizes, strict=True)) | dict.fromkeys(small, 1)
                    sized = _Sized(members, batches, of, tuple(group for group in shared if len(group) > 1))
                    if self.possible(sized) and self._might_do(sized):
                        yield sized

    def possible(self, sized: _Sized) -> bool:
        """Whether paradigms, partitions and the room allow it."""
        for group in sized.members:
            head, batch = group[0], group[0] in sized.batches
            for name in group:
                traits = self.traits(name)
                if batch and (not traits.batchable or self.problem.schedule is None):
                    return False
                if traits.pinned is (Paradigm.RECORD if batch else Paradigm.BATCH):
                    return False
            limit = self.limit(head)
            if not batch and limit is not None and sized.sizes[head] > limit:
                return False
        cores = sum(sized.sizes[name] for name in sized.batches)
        together = {name for group in sized.shared for name in group}
        alone = [group[0] for group in sized.members if group[0] not in sized.batches | together]
        slots = sum(sized.sizes[name] for name in alone) + len(sized.shared)
        return cores <= self.problem.room.cores and slots <= self.problem.room.slots

    def limit(self, head: str) -> int | None:
        """How many slots can read what a segment reads."""
        node, known = self.flow[head], self.problem.partitions
        if node.is_source:
            return known.get(head)
        read = {self.flow.owners[name].name for name in node.inputs} & self.problem.topics
        counts = [known[name] for name in read if name in known]
        if self.traits(head).keyed:
            return min(counts, default=None)
        if read:
            return sum(counts) if len(counts) == len(read) else None
        before = [self.limit(self.flow.owners[name].name) for name in node.inputs]
        return max((limit for limit in before if limit is not None), default=None) if None not in before else None

    def _speedup(self, group: Sequence[str], times: Mapping[str, Fraction]) -> float:
        total = float(sum(times[name] for name in group))
        if not total:
            return len(group) / sum(1 / self.traits(name).speedup for name in group)
        return total / sum(float(times[name]) / self.traits(name).speedup for name in group)

    def _times(self) -> dict[str, Fraction]:
        ones = {node.name: Setting(1, 1) for node in self.flow.nodes}
        works = bottlenecks.follow(self.flow, ones, self.problem.workload, self.problem.slot, limited=False)
        speed = exact.exact(self.problem.slot.speed)
        return {w.node.name: w.inflow.records * exact.exact(w.node.cpu) / speed for w in works}

    def _might_do(self, sized: _Sized) -> bool:
        """Whether slots are enough when frames cost nothing."""
        times = self.times
        slots = [*sized.shared]
        together = {name for group in sized.shared for name in group}
        slots += [(group[0],) for group in sized.members if group[0] not in together]
        by_head = {group[0]: group for group in sized.members}
        for slot in slots:
            need = float(sum(times[name] for head in slot for name in by_head[head]))
            if slot[0] in sized.batches:
                need /= self._speedup(by_head[slot[0]], times)
            if need > float(self.share) * sized.sizes[slot[0]] * (1 + 1e-9):
                return False
        return True

    def flow_of(self, sized: _Sized) -> Flow:
        """A node for each segment."""
        return chaining.fused(self.flow, {group[0]: group for group in sized.members if len(group) > 1})

    def keeps(self, sized: _Sized) -> bool:
        """Whether some frames, deadlines and intervals of the grid keep the promise."""
        flow = self.flow_of(sized)
        speedups = {g[0]: self._speedup(g, self.times) for g in sized.members if g[0] in sized.batches}
        framed = [g[0] for g in sized.members if any(flow.readers[o.name] for o in flow[g[0]].outputs)]
        step = 1
        while (len(FRAMES) // step + 2) ** len(framed) * len(DEADLINES) ** (len(framed) > 0) > GRID and step < 8:
            step += 1
        grids = [sorted({*FRAMES[::step], FRAMES[-1], *self._hinted(name)}) for name in framed]
        intervals = (
            itertools.product(INTERVALS, repeat=len(speedups))
            if len(speedups) < 2
            else zip(*[INTERVALS] * len(speedups), strict=True)
        )
        for chosen in intervals:
            schedule = self.problem.schedule
            engines = (
                {h: Engine(t, schedule, speedups[h]) for h, t in zip(sorted(speedups), chosen, strict=True)}
                if schedule
                else {}
            )
            for sizes in itertools.product(*grids):
                frames = dict(zip(framed, sizes, strict=True))
                for part in DEADLINES if framed else (1.0,):
                    deadlines = {
                        o.name: part * self.problem.promise.bound
                        for h in framed
                        for o in flow[h].outputs
                        if flow.readers[o.name]
                    }
                    seen = self.quantile(flow, sized, frames, deadlines, engines)
                    if seen is not None:
                        self.left -= 1
                        if seen <= self.problem.promise.bound:
                            return True
                        if self.left <= 0:
                            return False
        return False

    def _hinted(self, name: str) -> Iterable[int]:
        if self.hints is None:
            return ()
        return (s.frame for s in self.hints.segments if s.name == name and s.frame is not None)

    def quantile(
        self, flow: Flow, sized: _Sized, frames: Mapping[str, int | None], deadlines: Mapping[str, float],
        engines: Mapping[str, Engine],
    ) -> float | None:  # fmt: skip
        """The promised quantile; None when a slot, or a batch, has more to do than it may."""
        problem = self.problem
        settings = {
            n.name: Setting(sized.sizes.get(n.name, 1), (frames.get(n.name) or 1) if flow.is_read(n) else None)
            for n in flow.nodes
        }
        limits = {h: self.limit(h) for h in sized.sizes if h not in engines}
        partitions = {name: limit for name, limit in limits.items() if limit is not None}
        varies = {group[0]: self._varies(group) for group in sized.members}
        together = {name: tuple(sorted(group)) for group in sized.shared for name in group}
        around = segments.Circumstances(
            settings, deadlines, engines, partitions, varies, together, problem.slot, int(problem.slot.sharing),
            problem.hop,
        )  # fmt: skip
        seen = segments.Estimate(flow, stations.of(flow, problem.workload, problem.slot), around)
        for name in sized.sizes:
            busy = seen.pressed(name) if name in engines else max(seen.busy(name)[:3])
            if name in engines:
                busy = busy / settings[name].parallelism + engines[name].schedule.mean / engines[name].interval
                full = busy / float(self.share)
            else:
                group = together.get(name, (name,))
                most = max(math.fsum(seen.busy(member)[kind] for member in group) for kind in range(3))
                full = most / float(self.share) / settings[name].parallelism
            if full > 1 + 1e-9:
                return None
        windows = {g[0]: window for g in sized.members if (window := self.traits(g[0]).window) is not None}
        found = prediction.predict(
            flow, settings, problem.workload, deadlines=deadlines, windows=windows, partitions=partitions,
            paradigms=dict.fromkeys(engines, Paradigm.BATCH), variability=varies, slot=problem.slot, hop=problem.hop,
            engines=engines, shared=sized.shared, at=problem.promise.quantile,
        )  # fmt: skip
        return found.quantile(problem.promise.quantile)

    def _varies(self, group: Collection[str]) -> Variability:
        own = [self.traits(name).variability for name in group]
        if self.problem.chaining is Chaining.NEVER and self.problem.headroom == 0:  # the thesis: nothing varies
            own = [Variability(0.0, 0.0) if varies == Variability() else varies for varies in own]
        return Variability(own[0].arrival, max(varies.service for varies in own))


def _as_topic(node: Node) -> Node:
    outputs = tuple(dataclasses.replace(output, emit=0, framed=False) for output in node.outputs)
    return dataclasses.replace(node, cpu=0, fetch=0, outputs=outputs)


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for size in range(len(names), -1, -1):
        yield from itertools.combinations(names, size)


def _partitions(names: Sequence[str]) -> Iterator[Groups]:
    """All ways to put names into groups."""
    if not names:
        yield ()
        return
    first, rest = names[0], names[1:]
    for groups in _partitions(rest):
        yield ((first,), *groups)
        for i, group in enumerate(groups):
            yield (*groups[:i], (first, *group), *groups[i + 1 :])


def _compositions(total: int, least: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to share a total out, each at least so much."""
    if not least:
        if total == 0:
            yield ()
        return
    for first in range(least[0], total - sum(least[1:]) + 1):
        for rest in _compositions(total - first, least[1:]):
            yield (first, *rest)
