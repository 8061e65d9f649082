"""What holds of the cost model for any graph, costs and rates; half of the numbers are round, so that ties are met."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
import time
from collections.abc import Sequence
from fractions import Fraction

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flows
import fuzzing
from spillway.controllers.costmodel import bottlenecks, chaining, exact, resources, throughput
from spillway.controllers.costmodel.bottlenecks import Load
from spillway.controllers.costmodel.capacity import Edge, Inflow
from spillway.controllers.costmodel.flow import CORE, Costs, Flow, Node, Setting, Slot

ROUNDING = 1e-9  # of the floats that results are given in; every decision is exact
SOME = fuzzing.cases(60)
SECONDS = st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.3, 0.5, 1.0]) | st.floats(0, 1)
SELECTIVITIES = st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]) | st.floats(0, 2)
RATES = st.sampled_from([0.0, 1.0, 2.0, 10.0, 0.1]) | st.floats(0, 1000)
SIZES = st.sampled_from([0.0, 1.0, 100.0])
LARGEST = st.none() | st.integers(1, 100)


@dataclasses.dataclass(frozen=True)
class Case:
    """A flow, its slots, and what comes."""

    nodes: tuple[Node, ...]
    slot: Slot
    workload: dict[str, float]

    @property
    def flow(self) -> Flow:
        return Flow(self.nodes)


@st.composite
def cases(draw: st.DrawFn, most: int = 8) -> Case:
    """Up to `most` nodes; each reads any earlier ones, an input perhaps twice, or is a source."""
    nodes: list[Node] = []
    for i in range(draw(st.integers(1, most))):
        inputs = draw(st.lists(st.integers(0, i - 1), max_size=3)) if i else []
        costs = Costs(draw(SECONDS), draw(SECONDS), draw(SECONDS), draw(SELECTIVITIES), draw(SIZES))
        nodes.append(Node.operator(f"n{i}", [f"n{j}" for j in inputs], costs))
    slot = draw(st.sampled_from([CORE, Slot(speed=2.0), Slot(network=10_000.0), Slot(network=1e5, sharing=3)]))
    return Case(tuple(nodes), slot, {node.name: draw(RATES) for node in nodes if node.is_source})


def overloaded(loads: Sequence[Load]) -> list[str]:
    return [load.name for load in loads if load.bottleneck]


@SOME
@given(cases(), LARGEST, st.sampled_from([1.0, 0.8, 0.5]))
def test_the_fewest_slots_are_enough(case: Case, largest: int | None, headroom: float) -> None:
    found = resources.minimise(case.flow, case.workload, case.slot, headroom=headroom, largest_frame=largest)
    loads = bottlenecks.detect(case.flow, found.settings, case.workload, case.slot)

    assert overloaded(loads) == []
    assert all(load.utilisation <= headroom * (1 + ROUNDING) for load in loads)
    assert all((setting.frame or 1) <= (largest or math.inf) for setting in found.settings.values())
    assert found.slots == sum(setting.parallelism for setting in found.settings.values())


@SOME
@given(cases(), LARGEST)
def test_with_a_slot_less_anywhere_that_node_is_a_bottleneck_whatever_the_frames(
    case: Case, largest: int | None
) -> None:
    # This is all of the paper's promise that can hold: the slots are the fewest; the frames are only small.
    settings = resources.minimise(case.flow, case.workload, case.slot, largest_frame=largest).settings
    roomy = {name: dataclasses.replace(s, frame=largest or 10**9 * (s.frame or 1)) for name, s in settings.items()}

    for name, setting in settings.items():
        if setting.parallelism > 1:
            fewer = roomy | {name: dataclasses.replace(roomy[name], parallelism=setting.parallelism - 1)}
            assert name in overloaded(bottlenecks.detect(case.flow, fewer, case.workload, case.slot))


@SOME
@given(cases(), LARGEST, st.data())
def test_more_never_needs_less(case: Case, largest: int | None, data: st.DataObject) -> None:
    more = {name: rate + data.draw(RATES) for name, rate in case.workload.items()}
    before = resources.minimise(case.flow, case.workload, case.slot, largest_frame=largest).settings
    after = resources.minimise(case.flow, more, case.slot, largest_frame=largest).settings

    assert all(after[name].parallelism >= before[name].parallelism for name in before)


@SOME
@given(cases(), st.integers(1, 50), st.integers(0, 50))
def test_smaller_frames_never_need_fewer_slots(case: Case, least: int, more: int) -> None:
    sizes = (least, least + more, None)
    slots = [resources.minimise(case.flow, case.workload, case.slot, largest_frame=size).slots for size in sizes]

    assert slots == sorted(slots, reverse=True)


@SOME
@given(cases(), st.integers(1, 3), st.integers(1, 20))
def test_throughput_exceeds_no_capacity_on_the_way(case: Case, slots: int, frame: int) -> None:
    settings = {node.name: Setting(slots, frame) for node in case.nodes}
    loads = bottlenecks.detect(case.flow, settings, case.workload, case.slot)
    found = throughput.predict(case.flow, settings, case.workload, case.slot)
    again = bottlenecks.detect(case.flow, settings, found.sources, case.slot)

    assert all(found.sources[name] <= rate for name, rate in case.workload.items())
    for load, node in zip(loads, found.nodes, strict=True):
        assert node.rate_in <= min(load.rate_in, load.capacity) * (1 + ROUNDING)
        assert (node.limit is None) or node.limit in overloaded(loads)
    if len(case.workload) == 1:
        growth = throughput.growth(case.flow, settings, case.workload, case.slot)
        assert all(
            found.sources[name] <= rate * min(1, growth) * (1 + ROUNDING) for name, rate in case.workload.items()
        )
    # Only what gets through comes: nobody is overloaded, and nobody gets more than was predicted.
    for load, node in zip(again, found.nodes, strict=True):
        assert load.utilisation <= 1 + ROUNDING
        assert load.rate_in <= node.rate_in * (1 + ROUNDING)


@SOME
@given(cases(), st.integers(1, 3), st.integers(1, 20))
def test_everything_gets_through_where_there_is_no_bottleneck(case: Case, slots: int, frame: int) -> None:
    settings = {node.name: Setting(slots, frame) for node in case.nodes}
    growth = throughput.growth(case.flow, settings, case.workload, case.slot)
    names = overloaded(bottlenecks.detect(case.flow, settings, case.workload, case.slot))
    found = throughput.predict(case.flow, settings, case.workload, case.slot)

    assert (found.sources == case.workload) or names
    assert (growth < 1 + ROUNDING) if names else (growth > 1 - ROUNDING)


@SOME
@given(cases(), st.integers(1, 3), st.integers(1, 20))
def test_the_largest_growth_fills_somebody_and_overloads_nobody(case: Case, slots: int, frame: int) -> None:
    settings = {node.name: Setting(slots, frame) for node in case.nodes}
    growth = throughput.growth(case.flow, settings, case.workload, case.slot)
    hypothesis.assume(1e-6 < growth < 1e6)  # beyond, rates would be below their grid, or there is no end
    grown = {name: rate * growth for name, rate in case.workload.items()}
    loads = bottlenecks.detect(case.flow, settings, grown, case.slot)

    assert max(load.utilisation for load in loads) == pytest.approx(1, rel=1e-6)


@SOME
@given(cases(), LARGEST, st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_matters(case: Case, largest: int | None, dice: random.Random) -> None:
    def everything(nodes: Sequence[Node], workload: dict[str, float]) -> tuple[object, ...]:
        flow = Flow(nodes)
        found = resources.minimise(flow, workload, case.slot, largest_frame=largest)
        ones = {node.name: Setting(1, 3) for node in nodes}
        return (
            list(found.settings.items()),
            list(found.sized_by.items()),
            bottlenecks.detect(flow, ones, workload, case.slot),
            throughput.predict(flow, ones, workload, case.slot),
        )

    shuffled = [
        dataclasses.replace(node, inputs=tuple(dice.sample(node.inputs, len(node.inputs)))) for node in case.nodes
    ]
    dice.shuffle(shuffled)
    reversed_workload = dict(reversed(case.workload.items()))

    assert everything(case.nodes, case.workload) == everything(shuffled, reversed_workload)
    assert everything(case.nodes, case.workload) == everything(case.nodes, case.workload)


@SOME
@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 100)), min_size=1, max_size=6))
def test_the_effective_frame_is_between_the_smallest_and_the_largest(edges: list[tuple[int, int]]) -> None:
    frame = Inflow.merged(Edge(Fraction(rate), frame, Fraction(0)) for rate, frame in edges).frame

    assert frame is not None
    assert min(frame for _, frame in edges) <= frame <= max(frame for _, frame in edges)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Node, ...]:
    """A source and up to six operators that each read one earlier node; what passes between them costs nothing."""
    nodes = [Node.operator("n0", [], Costs(draw(SECONDS), 0.0, 0.0, draw(SELECTIVITIES)))]
    for i in range(1, draw(st.integers(2, 7))):
        costs = Costs(draw(SECONDS), 0.0, 0.0, draw(SELECTIVITIES))
        nodes.append(Node.operator(f"n{i}", [f"n{draw(st.integers(0, i - 1))}"], costs))
    return tuple(nodes)


@SOME
@given(trees())
def test_a_fused_tree_is_as_busy_as_its_operators_together(nodes: tuple[Node, ...]) -> None:
    flow = Flow(nodes)
    apart = bottlenecks.follow(flow, flows.ones(flow), {"n0": 7.0}, limited=False)
    whole = chaining.fuse(flow, "whole", [node.name for node in nodes])
    (together,) = bottlenecks.follow(Flow([whole]), {"whole": Setting(1)}, {"whole": 7.0}, limited=False)

    ends = {output.name: apart_rate for output in whole.outputs for apart_rate in (_rate(apart, output.name),)}
    assert together.demand.cpu - sum(work.demand.cpu for work in apart) < Fraction(1, 10**40)
    assert sum(work.demand.cpu for work in apart) - together.demand.cpu < Fraction(1, 10**40)
    assert all(abs(together.rates_out[name] - rate) < Fraction(1, 10**40) for name, rate in ends.items())


def _rate(works: Sequence[bottlenecks.Work], output: str) -> Fraction:
    return next(work.rates_out[output] for work in works if output in work.rates_out)


@SOME
@given(trees(), st.integers(1, 6))
def test_fusing_in_two_steps_is_fusing_at_once(nodes: tuple[Node, ...], split: int) -> None:
    flow = Flow(nodes)
    top = [node.name for node in nodes[: split + 1]]  # their parents are among them, so this is a tree as well
    rest = [node.name for node in nodes if node.name not in top]
    stepwise = chaining.fused(flow, {"top": top})

    at_once = chaining.fuse(flow, "whole", [node.name for node in nodes])
    in_two = chaining.fuse(stepwise, "whole", ["top", *rest])

    assert in_two.cpu == at_once.cpu
    assert set(in_two.outputs) == set(at_once.outputs)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("fan_in", [3, 50])
def test_fifty_nodes_are_sized_in_no_time(seed: int, fan_in: int) -> None:
    flow = Flow(flows.nodes_at_random(seed, 50, fan_in=fan_in))
    workload = {node.name: 1e5 / 3 for node in flow.sources}
    start = time.process_time()
    settings = resources.minimise(flow, workload, Slot(network=1e9, sharing=3)).settings
    loads = bottlenecks.detect(flow, settings, workload, Slot(network=1e9, sharing=3))

    assert overloaded(loads) == []
    assert time.process_time() - start < 0.5  # measured: 15 to 40 ms; the rest is for busy machines


def test_fifty_overloaded_nodes_that_all_read_one_another_keep_short_numbers() -> None:
    # Without the grid, the rates of each have the digits of all before it: 2^50 at the end.
    costs = Costs(cpu=0.3, fetch=0.7, emit=0.11, selectivity=0.9)
    names = [f"n{i:02}" for i in range(50)]
    flow = Flow(Node.operator(name, names[:i], costs) for i, name in enumerate(names))
    settings = {name: Setting(1, i + 3) for i, name in enumerate(names)}
    start = time.process_time()
    works = bottlenecks.follow(flow, settings, {"n00": 1e6})
    throughput.predict(flow, settings, {"n00": 1e6})

    assert all(work.share < 1 for work in works)
    assert all(exact.RATE_GRID % rate.denominator == 0 for work in works for rate in work.rates_out.values())
    assert time.process_time() - start < 2


def test_every_tie_of_small_whole_numbers_is_decided_by_arithmetic() -> None:
    # R·c_cpu against dop, with tenths and thirds that floats do not have: 3 · 0.1 > 0.3 for them.
    for rate, tenths, slots in itertools.product(range(1, 13), range(1, 13), range(1, 5)):
        flow = Flow([flows.free("p", cpu=tenths / 10)])
        (load,) = bottlenecks.detect(flow, {"p": Setting(slots)}, {"p": float(rate)})

        assert load.bottleneck == (rate * tenths > 10 * slots), (rate, tenths, slots)
