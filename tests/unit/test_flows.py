"""What a flow, its costs and its settings may be, and what is refused before it gets into a formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

import flows
from spillway.controllers.costmodel import bottlenecks, exact, resources
from spillway.controllers.costmodel.flow import Costs, Flow, Node, Output, Setting, Slot
from spillway.model import operators

PAIR = Flow([flows.free("p"), flows.free("c", "p")])


def _detect(workload: dict[str, float]) -> object:
    return bottlenecks.detect(PAIR, flows.ones(PAIR), workload)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a circle": (lambda: Flow([flows.free("a", "b"), flows.free("b", "a")]), "in a circle, or wait for one: a, b"),
    "an operator that reads itself": (lambda: Flow([flows.free("a", "a")]), "in a circle"),
    "whoever waits for a circle": (
        lambda: Flow([flows.free("s"), flows.free("a", "s", "b"), flows.free("b", "a"), flows.free("c", "b")]),
        "a, b, c",
    ),
    "an input that nobody gives": (lambda: Flow([flows.free("a", "x")]), "node 'a' reads 'x', which no node gives"),
    "two nodes of one name": (lambda: Flow([flows.free("a"), flows.free("a")]), "node 'a', or an output of it"),
    "two outputs of one name": (
        lambda: Flow([Node("a", (), 0, 0, (Output("x"), Output("x")))]),
        "node 'a', or an output of it",
    ),
    "nothing at all": (lambda: Flow([]), "at least one node"),
    "a cost that is no number": (lambda: Costs(cpu=math.nan), "cpu is nan"),
    "an endless cost": (lambda: Costs(fetch=math.inf), "fetch is inf"),
    "a negative selectivity": (lambda: Costs(selectivity=-0.1), "selectivity is -0.1; it must be a number that is 0"),
    "a negative size of an output": (lambda: Output("x", record_size=-1), "record_size of 'x' is -1"),
    "a negative cost of a node": (lambda: Node("x", (), -1, 0, ()), "cpu of 'x' is -1"),
    "a core that stands still": (lambda: Slot(speed=0.0), "speed is 0.0; it must be a number above 0"),
    "a network that carries nothing": (lambda: Slot(network=0.0), "network is 0.0"),
    "a network that nobody shares": (lambda: Slot(sharing=0), "sharing is 0"),
    "no slot": (lambda: Setting(0, 1), "parallelism is 0"),
    "an empty frame": (lambda: Setting(1, 0), "frame is 0"),
    "a negative rate": (lambda: _detect({"p": -1.0}), "the rate of 'p' is -1.0"),
    "a rate that is no number": (lambda: _detect({"p": math.nan}), "the rate of 'p' is nan"),
    "an endless rate": (lambda: resources.minimise(PAIR, {"p": math.inf}), "the rate of 'p' is inf"),
    "a rate for an operator": (lambda: _detect({"p": 1.0, "c": 1.0}), r"rates for \['c', 'p'\].* are \['p'\]"),
    "no rate for a source": (lambda: _detect({}), r"rates for \[\], and the sources are \['p'\]"),
    "no setting for a node": (lambda: bottlenecks.detect(PAIR, {"p": Setting(1, 1)}, {"p": 1.0}), "'c' has no setting"),
    "more headroom than there is": (lambda: resources.minimise(PAIR, {"p": 1.0}, headroom=1.1), "headroom is 1.1"),
    "no headroom": (lambda: resources.minimise(PAIR, {"p": 1.0}, headroom=0.0), "headroom is 0.0"),
    "frames without records": (lambda: resources.minimise(PAIR, {"p": 1.0}, largest_frame=0), "largest_frame is 0"),
}


@pytest.mark.parametrize(("attempt", "message"), REFUSED.values(), ids=REFUSED)
def test_it_refuses(attempt: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attempt()


def test_a_written_number_is_the_decimal_that_it_looks_like() -> None:
    assert exact.exact(0.1) == Fraction(1, 10)
    assert exact.exact(7400 / 1e9) == Fraction(7400, 10**9)
    assert Fraction(0.1) != Fraction(1, 10)  # why


def test_what_is_too_large_for_a_float_is_infinite_to_people() -> None:
    assert exact.approximate(Fraction(10) ** 400) == math.inf
    assert exact.approximate(Fraction(1, 10**400)) == 0.0


def test_absurd_numbers_come_out_as_numbers() -> None:
    largest = 1.7e308
    costs = Costs(largest, largest, largest, largest, largest)
    flow = Flow([Node.operator("a", [], costs), Node.operator("b", ["a"], costs), Node.operator("c", ["b"], costs)])
    settings = resources.minimise(flow, {"a": largest}, Slot(network=5e-324)).settings

    assert not any(load.bottleneck for load in bottlenecks.detect(flow, settings, {"a": largest}, Slot(network=5e-324)))


def test_nothing_flows_behind_an_operator_that_lets_nothing_through() -> None:
    dear = Costs(cpu=1.0, fetch=8.0, emit=1.0)
    flow = Flow([flows.free("p"), flows.free("v", "p", selectivity=0.0), Node.operator("c", ["v"], dear)])
    settings = resources.minimise(flow, {"p": 10.0}).settings
    loads = {load.name: load for load in bottlenecks.detect(flow, settings, {"p": 10.0})}

    assert settings == flows.of({"p": (1, 1), "v": (1, 1), "c": (1, None)})
    assert loads["c"].rate_in == loads["c"].utilisation == 0.0
    assert loads["c"].frame_in is None
    assert loads["c"].capacity == pytest.approx(1 / 9)  # if something came, frames would have one record


def test_without_costs_there_is_no_limit() -> None:
    loads = bottlenecks.detect(PAIR, flows.ones(PAIR), {"p": 1e300})

    assert [load.capacity for load in loads] == [math.inf, math.inf]
    assert [load.utilisation for load in loads] == [0.0, 0.0]


def test_an_operator_that_reads_an_input_twice_gets_it_twice() -> None:
    flow = Flow([flows.free("p", record_size=1.0), flows.free("self-join", "p", "p", cpu=0.5)])
    p, join = bottlenecks.detect(flow, flows.ones(flow), {"p": 1.0}, Slot(network=16.0))

    assert (join.rate_in, join.utilisation) == (2.0, 1.0)
    assert (p.capacity, p.bottleneck) == (1.0, False)  # 16 bit/s over two edges of a byte


def test_a_sink_pays_neither_for_sending_nor_for_the_network_out() -> None:
    flow = Flow([flows.free("p"), flows.free("c", "p", emit=5.0, record_size=1e9)])

    assert not any(
        load.bottleneck for load in bottlenecks.detect(flow, flows.ones(flow), {"p": 1.0}, Slot(network=8.0))
    )


def test_a_source_has_nothing_to_fetch() -> None:
    flow = Flow([flows.free("p", fetch=1e9)])

    assert bottlenecks.detect(flow, flows.ones(flow), {"p": 1.0})[0].utilisation == 0.0


def test_an_overloaded_node_sends_what_it_can() -> None:
    flow = Flow([flows.free("p", cpu=0.25, selectivity=3.0), flows.free("c", "p", cpu=0.1)])
    p, c = bottlenecks.detect(flow, flows.ones(flow), {"p": 10.0})

    assert (p.bottleneck, p.utilisation, p.capacity) == (True, 2.5, 4.0)
    assert (c.rate_in, c.bottleneck, c.capacity) == (12.0, True, 10.0)  # 3 · min{10, 4}


def test_declared_costs_are_seconds_and_bytes() -> None:
    declared = operators.Costs.model_validate(
        {"cpu": "1000ns", "fetch": "7400ns", "emit": "2600ns", "selectivity": 0.99, "recordSize": 32}
    )

    assert Costs.declared(declared) == Costs(1e-6, 7.4e-6, 2.6e-6, 0.99, 32.0)


def test_what_is_not_declared_comes_from_elsewhere_or_is_asked_for() -> None:
    declared = operators.Costs.model_validate({"emit": "2s", "selectivity": 0})

    assert Costs.declared(declared, Costs(cpu=1.0, fetch=3.0, record_size=4.0)) == Costs(1.0, 3.0, 2.0, 0.0, 4.0)
    assert Costs.declared(None, Costs(cpu=1.0)) == Costs(cpu=1.0)
    with pytest.raises(ValueError, match="say nothing about cpu, fetch, record_size; declare or profile them"):
        Costs.declared(declared)
    with pytest.raises(ValueError, match="say nothing about cpu, record_size"):
        Costs.declared(declared, is_source=True)
