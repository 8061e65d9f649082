"""What gets through when somebody is too slow, and who is to blame."""

from __future__ import annotations

from fractions import Fraction

import pytest

import flows
from spillway.controllers.costmodel import bottlenecks, throughput
from spillway.controllers.costmodel.flow import Flow

# s -> a -> c and t -> b -> c; c can do 8 records a second, b can do 5, and the others any number.
TWO_WAYS = Flow(
    [
        flows.free("s"),
        flows.free("t"),
        flows.free("a", "s"),
        flows.free("b", "t", cpu=0.2),
        flows.free("c", "a", "b", cpu=1 / 8),
    ]
)


def _limits(flow: Flow, workload: dict[str, float]) -> dict[str, str | None]:
    return {node.name: node.limit for node in throughput.predict(flow, flows.ones(flow), workload).nodes}


def test_everything_gets_through_when_nobody_is_too_slow() -> None:
    found = throughput.predict(TWO_WAYS, flows.ones(TWO_WAYS), {"s": 4.0, "t": 4.0})

    assert found.sources == {"s": 4.0, "t": 4.0}
    assert {node.limit for node in found.nodes} == {None}


def test_the_last_bottleneck_on_the_way_is_the_one_to_widen() -> None:
    # b lets 5 of 10 through, c 8 of 11 + 5: half of everybody's, so 5.5 of s and 2.5 of t.
    found = throughput.predict(TWO_WAYS, flows.ones(TWO_WAYS), {"s": 11.0, "t": 10.0})

    assert found.sources == {"s": 5.5, "t": 2.5}
    assert {node.limit for node in found.nodes} == {"c"}


def test_a_bottleneck_holds_back_only_those_in_front_of_it() -> None:
    assert _limits(TWO_WAYS, {"s": 1.0, "t": 10.0}) == {"s": None, "t": "b", "a": None, "b": "b", "c": None}


def test_selectivity_turns_rates_back_into_those_of_the_source() -> None:
    flow = Flow(
        [flows.free("p", selectivity=4.0), flows.free("v", "p", selectivity=0.5), flows.free("c", "v", cpu=0.1)]
    )

    # c takes 10 of the 40·0.5 that 10 records make: half.
    assert throughput.predict(flow, flows.ones(flow), {"p": 10.0}).sources == {"p": 5.0}


def test_who_lets_nothing_through_is_not_held_back() -> None:
    flow = Flow([flows.free("p", selectivity=0.0), flows.free("q"), flows.free("c", "p", "q", cpu=1.0)])

    assert throughput.predict(flow, flows.ones(flow), {"p": 50.0, "q": 4.0}).sources == {"p": 50.0, "q": 1.0}


def test_what_one_producer_may_not_send_is_not_given_to_its_neighbour() -> None:
    # p sends to c and to a slow one; c would have room for all of q then, but the model shares c as if p sent all.
    flow = Flow(
        [flows.free("p"), flows.free("q"), flows.free("slow", "p", cpu=1.0), flows.free("c", "p", "q", cpu=1 / 12)]
    )

    found = throughput.predict(flow, flows.ones(flow), {"p": 10.0, "q": 10.0})

    assert found.sources == {"p": 1.0, "q": 6.0}
    assert _limits(flow, {"p": 10.0, "q": 10.0}) | {"c": "c"} == {"p": "slow", "q": "c", "slow": "slow", "c": "c"}


def test_the_prediction_is_cautious_where_ways_meet_behind_a_bottleneck() -> None:
    # Of 8 records a can do 4, and c can do 6 of the 4 + 8 that come: a half of a half gets through a, so 2 of the 8.
    # In truth 3 could: a would have 3, and c 6. With one source, growth says so.
    flow = Flow(
        [
            flows.free("p"),
            flows.free("a", "p", cpu=1 / 4),
            flows.free("b", "p"),
            flows.free("c", "a", "b", cpu=Fraction(1, 6)),
        ]
    )

    assert throughput.predict(flow, flows.ones(flow), {"p": 8.0}).sources == {"p": 2.0}
    assert throughput.growth(flow, flows.ones(flow), {"p": 8.0}) * 8 == 3.0


def test_growth_is_how_far_the_fullest_is_from_full() -> None:
    assert throughput.growth(TWO_WAYS, flows.ones(TWO_WAYS), {"s": 2.0, "t": 2.0}) == 2.0
    assert throughput.growth(TWO_WAYS, flows.ones(TWO_WAYS), {"s": 12.0, "t": 4.0}) == 0.5


@pytest.mark.parametrize("workload", [{"s": 0.0, "t": 0.0}, {"s": 1.0, "t": 0.0}])
def test_growth_has_no_end_where_nothing_costs(workload: dict[str, float]) -> None:
    flow = Flow([flows.free("s"), flows.free("t", cpu=1.0)])

    assert throughput.growth(flow, flows.ones(flow), workload) == float("inf")


def test_a_tie_behind_an_overloaded_node_is_no_bottleneck() -> None:
    # 1/0.3 records a second is no decimal; two of them are as many as c can do.
    flow = Flow([flows.free("p", cpu=0.3), flows.free("q", cpu=0.3), flows.free("c", "p", "q", cpu=0.15)])
    loads = bottlenecks.detect(flow, flows.ones(flow), {"p": 100.0, "q": 100.0})

    assert [load.name for load in loads if load.bottleneck] == ["p", "q"]
    assert loads[2].utilisation == 1.0
