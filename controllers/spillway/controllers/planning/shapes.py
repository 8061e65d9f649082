"""Which operators may be one segment, in which paradigm, and what that costs at the least.

An operator begins a segment when it is keyed or has several inputs (what it reads comes from several slots), when its
results are those of windows (they wait for all who send), when it reads a topic, and when it reads a source that is a
segment of its own. Sources are never fused. All others may be fused with what they read: any set of such *joints* that
is cut gives trees, and no circle (see `costmodel.chaining`). Fused operators share a paradigm.

What a segment costs at the least follows from frames so large that nobody pays for them, and does not depend on how
its operators are grouped, because what reaches each of them does not:

    need = max{Σ R_i·c_cpu,i, R_in/C_i, R_in/C_o}          slots
    record by record   ⌈need/h⌉, h the share that may be used; those of at most 1 share slots: ⌈Σ need/h⌉ for all
    in batches         ⌈need/(σ·h)⌉ cores, σ = Σ t_i / Σ (t_i/σ_i), t_i = R_i·c_cpu,i

No plan of that shape is cheaper, so shapes are looked at by rising bound, and those that can't win are never tried.
"""
# ruff: noqa: RUF002 - sigma is the symbol of the paper, and no o

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from spillway.controllers.costmodel.flow import Flow, Node
from spillway.controllers.latency import stations
from spillway.controllers.latency.stations import SLACK
from spillway.controllers.planning.problem import Chaining, Problem, Traits
from spillway.model.operators import Paradigm

Segments = tuple[tuple[str, ...], ...]  # the operators of each, the head first

# Shapes that are all looked at: some 20 us each for their bound, so a tenth of a second. Beyond, what is fused is
# fused as far as it goes, and single cuts and switches are tried from there.
ALL = 4096

_DEFAULT = Traits()


class Shape(NamedTuple):
    """What the segments are, and the heads of those that work in batches."""

    segments: Segments
    batches: frozenset[str]


class Bound(NamedTuple):
    """What a shape costs at the least; infinite when it can't be had whatever it costs."""

    slots: float
    cores: float

    @property
    def cost(self) -> float:
        """Slots and cores."""
        return self.slots + self.cores


class Operators:
    """What of a problem is about operators, whatever segments they become."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.flow = Flow(self._node(node) for node in problem.flow.nodes)
        self.stations = stations.of(self.flow, problem.workload, problem.slot)
        self.share = 1 - problem.headroom
        self.names = tuple(node.name for node in self.flow.nodes if node.name not in problem.topics)
        self.parents: dict[str, str] = {}
        for node in self.flow.nodes:
            if self._may_fuse(node):
                self.parents[node.name] = self.flow.owners[node.inputs[0]].name
        self._limits: dict[str, int | None] = {}
        for node in self.flow.nodes:  # each after those that it reads
            self._limits[node.name] = self._limit(node)

    def traits(self, name: str) -> Traits:
        """Of one operator."""
        return self.problem.traits.get(name, _DEFAULT)

    def _node(self, node: Node) -> Node:
        """The user's topics cost nothing and send no frames; who reads by key stands in the traits."""
        if node.name in self.problem.topics:
            outputs = tuple(dataclasses.replace(output, emit=0.0, framed=False) for output in node.outputs)
            return Node(node.name, node.inputs, 0.0, 0.0, outputs)
        return dataclasses.replace(node, keyed=self.traits(node.name).keyed)

    def paradigms(self, name: str) -> tuple[Paradigm, ...]:
        """Those that an operator may run in, record first; none when it is pinned to what is not possible."""
        traits = self.traits(name)
        batch = traits.batchable and self.problem.schedule is not None
        possible = [Paradigm.RECORD, Paradigm.BATCH] if batch else [Paradigm.RECORD]
        return tuple(p for p in possible if traits.pinned in (Paradigm.AUTO, p))

    def _may_fuse(self, node: Node) -> bool:
        if self.problem.chaining is Chaining.NEVER or len(node.inputs) != 1:
            return False
        traits, parent = self.traits(node.name), self.flow.owners[node.inputs[0]]
        alone = traits.keyed or traits.window is not None or parent.is_source
        return not alone and bool({*self.paradigms(node.name)} & {*self.paradigms(parent.name)})

    def _limit(self, node: Node) -> int | None:
        """How many slots can read what a segment with this head reads; None when nothing limits it.

        Several topics that are read as one stream have their partitions side by side; when they are read by key, the
        same key has to be in the same partition of each, so the topic with the fewest decides. What comes over our
        own edges has as many partitions as are needed, but does not help a slot to a share of the topics; without a
        key it comes in as many as whoever sends it reads.
        """
        known = self.problem.partitions
        if node.is_source:
            return known.get(node.name)
        read = sorted({self.flow.owners[name].name for name in node.inputs} & self.problem.topics)
        counts = [known[name] for name in read if name in known]
        if self.traits(node.name).keyed:
            return min(counts, default=None)
        if read:
            return sum(counts) if len(counts) == len(read) else None
        before = [self._limits[self.flow.owners[name].name] for name in node.inputs]
        known_before = [limit for limit in before if limit is not None]
        return max(known_before) if known_before and len(known_before) == len(before) else None

    def limit(self, head: str) -> int | None:
        """How many slots a segment can have; None when nothing limits it."""
        return self._limits[head]

    def segments(self, cuts: Iterable[str] = ()) -> Segments:
        """All joints fused but those that are cut."""
        cut, groups, of = frozenset(cuts), dict[str, list[str]](), dict[str, str]()
        for name in self.names:
            head = of[self.parents[name]] if name in self.parents and name not in cut else name
            of[name] = head
            groups.setdefault(head, []).append(name)
        return tuple(tuple(group) for group in groups.values())

    def possible(self, segment: Sequence[str]) -> tuple[Paradigm, ...]:
        """The paradigms that all operators of a segment may run in."""
        kinds = [self.paradigms(name) for name in segment]
        return tuple(p for p in (Paradigm.RECORD, Paradigm.BATCH) if all(p in kind for kind in kinds))

    def time(self, name: str) -> float:
        """R_i·c_cpu,i."""
        return self.stations[name].rate * self.stations[name].cpu

    def need(self, segment: Sequence[str]) -> float:
        """Slots that a segment keeps busy when frames cost nothing."""
        cpu = math.fsum(self.time(name) for name in segment)
        head, members = self.stations[segment[0]], frozenset(segment)
        if not self.problem.slot.network:
            return cpu
        byte = stations.per_byte(self.problem.slot)
        leaves = math.fsum(
            byte * node.rates[output] * node.sizes[output] * len(self.flow.readers[output])
            for node in (self.stations[name] for name in segment)
            for output in node.emits
            if any(reader not in members for reader in self.flow.readers[output])
        )
        return max(cpu, head.network_in, leaves)

    def speedup(self, segment: Sequence[str]) -> float:
        """σ; the harmonic mean without weights where nothing is to be done."""
        times = [(self.time(name), self.traits(name).speedup) for name in segment]
        total = math.fsum(time for time, _ in times)
        if not total:
            return len(times) / math.fsum(1 / speedup for _, speedup in times)
        return total / math.fsum(time / speedup for time, speedup in times)

    def bound(self, shape: Shape, factor: float = 1.0) -> Bound:
        """What a shape costs at the least, with so many times the load."""
        slots, cores, small, any_small = 0.0, 0.0, 0.0, False
        for segment in shape.segments:
            need, head = factor * self.need(segment), segment[0]
            if head in shape.batches:
                cores += least(need / self.speedup(segment) / self.share)
                continue
            limit, wanted = self._limits[head], least(need / self.share)
            if limit is not None and wanted > limit:
                return Bound(math.inf, math.inf)
            if wanted > 1 or self.problem.chaining is Chaining.NEVER:
                slots += wanted
            else:
                small, any_small = small + need, True
        return Bound(slots + (least(small / self.share) if any_small else 0), cores)


def least(need: float) -> float:
    """The next whole number of slots, at least 1; ties are decided without rounding, when a plan is checked."""
    return max(1.0, float(math.ceil(need * (1 - SLACK)))) if math.isfinite(need) else math.inf


def candidates(operators: Operators) -> list[tuple[Bound, Shape]]:
    """Shapes by rising bound, then fewer cores, then fewer segments, then by name; all of them where they are few."""
    found: dict[Shape, Bound] = {}
    every = _all(operators) if _count(operators) <= ALL else _some(operators)
    for shape in every:
        if shape not in found:
            found[shape] = operators.bound(shape)
    return sorted(((bound, shape) for shape, bound in found.items()), key=lambda item: _order(*item))


def _order(bound: Bound, shape: Shape) -> tuple[float, float, int, Segments, list[str]]:
    return (bound.cost, bound.cores, len(shape.segments), shape.segments, sorted(shape.batches))


def _count(operators: Operators) -> int:
    free = sum(len(operators.paradigms(name)) > 1 for name in operators.names)
    return int(2 ** min(30, len(operators.parents) + free))


def _all(operators: Operators) -> Iterator[Shape]:
    joints = sorted(operators.parents)
    for size in range(len(joints) + 1):
        for cuts in itertools.combinations(joints, size):
            segments = operators.segments(cuts)
            choices = [operators.possible(segment) for segment in segments]
            for chosen in itertools.product(*choices):
                yield _shape(segments, dict(zip((s[0] for s in segments), chosen, strict=True)))


def _shape(segments: Segments, paradigms: Mapping[str, Paradigm]) -> Shape:
    return Shape(segments, frozenset(head for head, paradigm in paradigms.items() if paradigm is Paradigm.BATCH))


def _some(operators: Operators) -> Iterator[Shape]:
    """Fused as far as it goes; then whatever single cut lowers the bound, until none does; and so with batches.

    Batches are tried for the segments that save most by them, one more at a time.
    """
    cuts = _legal(operators)
    for prefer in (Paradigm.RECORD, Paradigm.BATCH):
        segments = operators.segments(cuts)
        yield from _with_batches(operators, segments, prefer)
    best = _record(operators, operators.segments(cuts))
    yield best
    improved, joints = True, [name for name in sorted(operators.parents) if name not in cuts]
    while improved:
        improved = False
        for joint in joints:
            shape = _record(operators, operators.segments([*cuts, joint]))
            if joint not in cuts and operators.bound(shape).cost < operators.bound(best).cost:
                best, improved = shape, True
                cuts = [*cuts, joint]
                yield from _with_batches(operators, shape.segments, Paradigm.RECORD)


def _legal(operators: Operators) -> list[str]:
    """The joints that must be cut for every segment to have a paradigm: fused by pairs they may share none."""
    cuts: list[str] = []
    for name in operators.names:
        if name in operators.parents:
            segment = next(s for s in operators.segments(cuts) if name in s)
            so_far = segment[: segment.index(name) + 1]
            if not operators.possible(so_far):
                cuts.append(name)
    return cuts


def _record(operators: Operators, segments: Segments) -> Shape:
    """Record by record wherever that is possible."""
    return _shape(segments, {s[0]: operators.possible(s)[0] for s in segments})


def _with_batches(operators: Operators, segments: Segments, prefer: Paradigm) -> Iterator[Shape]:
    """One segment more in batches at a time, the one first that saves most; or all of them at once."""
    base = {s[0]: operators.possible(s)[0] for s in segments}
    saves = {
        s[0]: least(operators.need(s) / operators.share)
        - least(operators.need(s) / operators.speedup(s) / operators.share)
        for s in segments
        if len(operators.possible(s)) > 1
    }
    order = sorted(saves, key=lambda head: (-saves[head], head))
    if prefer is Paradigm.BATCH:
        yield _shape(segments, base | dict.fromkeys(order, Paradigm.BATCH))
        return
    yield _shape(segments, base)
    chosen = dict(base)
    for head in order:
        if saves[head] <= 0:
            break
        chosen[head] = Paradigm.BATCH
        yield _shape(segments, chosen)
