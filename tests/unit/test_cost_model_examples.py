"""Examples 1 to 13 of the thesis, each with its own numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest

import flows
from spillway.controllers.costmodel import bottlenecks, resources, throughput
from spillway.controllers.costmodel.capacity import Bound, Edge, Inflow, Prices
from spillway.controllers.costmodel.flow import Costs, Flow, Node, Setting, Slot

CONFIGURATION = {"v1": (2, 100), "v2": (1, 50), "v3": (2, 1), "v4": (3, 20), "v5": (2, None), "v6": (1, None)}


def _overloaded(flow: Flow, settings: dict[str, Setting], workload: dict[str, float]) -> set[str]:
    return {load.name for load in bottlenecks.detect(flow, settings, workload) if load.bottleneck}


def _prices(flow: Flow, name: str, slot: Slot) -> Prices:
    return Prices.of(flow, flow[name], slot)


def test_example_1_a_flow_knows_its_sources_its_sinks_and_who_reads_whom() -> None:
    flow = flows.example_1()

    assert [node.name for node in flow.sources] == ["v1", "v2"]
    assert [node.name for node in flow.nodes if not flow.is_read(node)] == ["v5", "v6"]
    assert flow["v3"].inputs == ("v1",)
    assert flow.readers["v3"] == ("v4",)
    assert set(flow["v4"].inputs) == {"v2", "v3"}
    assert flow.readers["v4"] == ("v5", "v6")


def test_examples_2_and_8_a_configuration_takes_the_sum_of_its_parallelism() -> None:
    settings = flows.of(CONFIGURATION)

    assert resources.consumption(settings) == 11  # the tasks that Example 2 lists
    assert _overloaded(flows.example_1(), settings, {"v1": 1.0, "v2": 1.0}) == set()


def test_example_8_an_operator_that_is_read_needs_a_frame_size() -> None:
    settings = flows.of(CONFIGURATION | {"v3": (2, None)})

    with pytest.raises(ValueError, match="'v3' is read, so its setting needs a frame"):
        bottlenecks.detect(flows.example_1(), settings, {"v1": 1.0, "v2": 1.0})


def _two_sources() -> Flow:
    """Figure 3.1: C(s1) = 7, C(s2) = 4 and C(o) = 5 records per second."""
    return Flow(
        Node(name, inputs, Fraction(1, capacity), 0.0, flows.free(name).outputs)
        for name, inputs, capacity in (("s1", (), 7), ("s2", (), 4), ("o", ("s1", "s2"), 5))
    )


WORKLOADS = {
    "C1": ((3, 2), set()),
    "C2": ((1, 4), set()),
    "C3": ((5, 0), set()),
    "more than the first source can do": ((9, 2), {"s1", "o"}),
    "more than the second source can do": ((1, 7), {"s2"}),
    "the sink can't, though its only source could": ((6, 0), {"o"}),
    "the sink can't, though both sources could": ((4, 3), {"o"}),
    "both maximum source capacities together": ((5, 4), {"o"}),
}


@pytest.mark.parametrize(("rates", "overloaded"), WORKLOADS.values(), ids=WORKLOADS)
def test_example_3_a_flow_has_many_capacities(rates: tuple[int, int], overloaded: set[str]) -> None:
    flow = _two_sources()

    assert _overloaded(flow, flows.ones(flow), {"s1": rates[0], "s2": rates[1]}) == overloaded


@pytest.mark.parametrize(("workload", "capacity"), [({"s1": 1, "s2": 0}, 5.0), ({"s1": 0, "s2": 1}, 4.0)])
def test_example_3_the_most_that_one_source_alone_can_give(workload: dict[str, float], capacity: float) -> None:
    flow = _two_sources()

    assert throughput.growth(flow, flows.ones(flow), workload) == capacity


def test_example_4_a_frame_of_twenty_is_shared_by_four_frames_of_ten() -> None:
    flow = Flow([flows.free("p"), flows.free("v", "p", selectivity=0.5, emit=1.0), flows.free("c", "v")])
    one_frame_of_ten = Inflow.merged([Edge(Fraction(10), 10, Fraction(0))])

    assert _prices(flow, "v", Slot()).demand(one_frame_of_ten, 20).cpu == Fraction(1, 4)


def test_example_5_frames_of_5_and_10_are_frames_of_20_thirds() -> None:
    inflow = Inflow.merged([Edge(Fraction(1), 5, Fraction(0)), Edge(Fraction(1), 10, Fraction(0))])

    assert inflow.frame == Fraction(20, 3)  # printed 6.6, a period


def test_example_6_record_sizes_are_weighted_by_their_rates() -> None:
    inflow = Inflow.merged([Edge(Fraction(6), 1, Fraction(5)), Edge(Fraction(1), 1, Fraction(20))])

    assert inflow.bytes == 50
    assert inflow.record_size == Fraction(50, 7)  # printed 7.1


def test_example_7_four_readers_of_half_the_records_halve_what_can_come_in() -> None:
    size = 100.0
    slot = Slot(network=1000 * 8 * size)  # C_N = 1000 records per second
    sinks = [flows.free(f"c{i}", "filter") for i in range(4)]
    flow = Flow(
        [flows.free("p", record_size=size), flows.free("filter", "p", selectivity=0.5, record_size=size), *sinks]
    )
    loads = bottlenecks.detect(flow, flows.ones(flow), {"p": 1000.0}, slot)
    filter_ = next(load for load in loads if load.name == "filter")

    assert filter_.rate_in == 1000.0
    assert filter_.capacity == 500.0
    assert filter_.bounds == (Bound.NETWORK_OUT,)  # neither C_i nor C_N is exceeded
    assert filter_.rates_out == {"filter": 250.0}  # s · min{R_in, C}


def test_example_9_a_level_is_the_longest_way_from_a_source() -> None:
    assert flows.example_1().levels == {"v1": 0, "v2": 0, "v3": 1, "v4": 2, "v5": 3, "v6": 3}


def test_example_10_producers_are_held_back_in_proportion() -> None:
    flow = Flow([flows.free("p1"), flows.free("p2"), flows.free("c", "p1", "p2", cpu=1 / 20)])

    found = throughput.predict(flow, flows.ones(flow), {"p1": 10.0, "p2": 30.0})

    # Line 18 of the printed algorithm takes R̂_in(c)/s, 20 for both, twice what p1 sends at all.
    assert found.sources == {"p1": 5.0, "p2": 15.0}
    assert {node.limit for node in found.nodes} == {"c"}


def test_example_11_the_slowest_consumer_decides() -> None:
    flow = Flow([flows.free("p"), flows.free("c1", "p", cpu=1 / 10), flows.free("c2", "p", cpu=1 / 20)])

    found = throughput.predict(flow, flows.ones(flow), {"p": 50.0})

    assert [(node.name, node.rate_in) for node in found.nodes] == [("p", 10.0), ("c1", 10.0), ("c2", 20.0)]
    assert found.nodes[0].rates_out == {"p": 10.0}
    assert found.nodes[0].limit == "c1"


def test_example_12_a_bound_that_is_out_of_reach_takes_one_slot_more() -> None:
    costs = Costs(cpu=1.0, fetch=1e-9)
    flow = Flow([flows.free("p"), Node.operator("v", ["p"], costs)])

    assert resources.minimise(flow, {"p": 10.0}).settings["v"].parallelism == 11


def test_a_bound_that_can_be_reached_takes_no_slot_more() -> None:
    flow = Flow([flows.free("p"), flows.free("v", "p", cpu=1.0)])
    settings = resources.minimise(flow, {"p": 10.0}).settings

    assert settings["v"].parallelism == 10
    assert _overloaded(flow, dict(settings), {"p": 10.0}) == set()


def _example_13() -> Flow:
    nines = Costs(cpu=0.9, fetch=0.9, emit=0.9)
    return Flow([flows.free("p"), Node.operator("v", ["p"], nines), flows.free("c", "v")])


def test_example_13_the_first_frames_that_do_are_10_and_90() -> None:
    settings = resources.minimise(_example_13(), {"p": 1.0}).settings

    assert settings == flows.of({"p": (1, 10), "v": (1, 90), "c": (1, None)})


FRAMES = {
    "input frames of 5 are never enough": ((5, 10**12), False),
    "exactly the time there is": ((10, 90), True),
    "a record less": ((10, 89), False),
    "15 and 25": ((15, 25), True),
    "20 and 20": ((20, 20), True),
}


@pytest.mark.parametrize(("frames", "enough"), FRAMES.values(), ids=FRAMES)
def test_example_13_other_frames(frames: tuple[int, int], enough: bool) -> None:
    settings = flows.of({"p": (1, frames[0]), "v": (1, frames[1]), "c": (1, None)})

    assert (_overloaded(_example_13(), settings, {"p": 1.0}) == set()) is enough


def test_example_13_with_frames_of_5_a_record_takes_at_least_1080_ms() -> None:
    settings = flows.of({"p": (1, 5), "v": (1, 10**15), "c": (1, None)})
    v = bottlenecks.detect(_example_13(), settings, {"p": 1.0})[1]

    assert v.name == "v"
    assert v.capacity == pytest.approx(1 / 1.080)
