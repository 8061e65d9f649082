"""Operators fused into one node: what it costs, what leaves it, and which groups can't be fused."""

from __future__ import annotations

from fractions import Fraction

import pytest

import flows
from spillway.controllers.costmodel import bottlenecks, chaining, resources
from spillway.controllers.costmodel.flow import Costs, Flow, Node, Output, Setting

TREE = Flow(
    [
        flows.free("p"),
        Node.operator("a", ["p"], Costs(cpu=1.0, fetch=7.0, emit=5.0, selectivity=2.0, record_size=10)),
        Node.operator("b", ["a"], Costs(cpu=3.0, fetch=7.0, emit=6.0, selectivity=0.5, record_size=20)),
        Node.operator("c", ["b"], Costs(cpu=4.0, fetch=7.0, emit=8.0, selectivity=3.0, record_size=30)),
        Node.operator("d", ["a"], Costs(cpu=5.0, fetch=7.0, emit=9.0, selectivity=0.1, record_size=40)),
        flows.free("x", "c"),
    ]
)


def test_a_chain_takes_frames_in_once_and_sends_them_once() -> None:
    flow = Flow([flows.free("p"), *(TREE[name] for name in "abc"), flows.free("x", "c")])

    # One record makes two of a, one of b and three of c: 1 + 2·3 + 1·4 seconds.
    assert chaining.fuse(flow, "abc", ["c", "a", "b"]) == Node("abc", ("p",), 11, 7.0, (Output("c", 3, 8.0, 30),))


def test_a_tree_has_an_output_for_each_reader_outside_and_each_end() -> None:
    whole = chaining.fuse(TREE, "tree", ["a", "b", "c", "d"])

    assert whole.cpu == 1 + 2 * 3 + 1 * 4 + 2 * 5
    assert whole.outputs == (Output("d", Fraction(1, 5), 9.0, 40), Output("c", 3, 8.0, 30))


def test_what_is_read_inside_and_outside_leaves_too() -> None:
    assert chaining.fuse(TREE, "bc", ["b", "c"]).outputs == (Output("c", Fraction(3, 2), 8.0, 30),)
    assert chaining.fuse(TREE, "ab", ["a", "b"]).outputs == (Output("a", 2, 5.0, 10), Output("b", 1, 6.0, 20))


def test_the_others_go_on_reading_the_same_outputs() -> None:
    flow = chaining.fused(TREE, {"front": ["p", "a"], "back": ["b", "c", "x"]})

    assert {node.name: node.inputs for node in flow.nodes} == {"front": (), "back": ("a",), "d": ("a",)}
    assert flow["front"].is_source


def test_one_operator_alone_stays_what_it_is() -> None:
    assert chaining.fuse(TREE, "b", ["b"]) == TREE["b"]


def test_a_fused_node_sends_all_its_outputs_in_frames_of_one_size() -> None:
    flow = chaining.fused(TREE, {"ab": ["a", "b"]})
    settings = {node.name: Setting(100, 1) for node in flow.nodes} | {"ab": Setting(100, 4), "p": Setting(1, 10)}
    load = next(load for load in bottlenecks.detect(flow, settings, {"p": 1.0}) if load.name == "ab")

    # c_fetch/10 + c_cpu + (2·5 + 1·6)/4 = 0.7 + 7 + 4 seconds for each record, on 100 slots.
    assert load.utilisation == pytest.approx(0.117)
    assert load.rates_out == {"a": 2.0, "b": 1.0}


def test_fused_linear_road_needs_fewer_slots() -> None:
    flow = chaining.fused(flows.linear_road(), {"read": ["spout", "parse"], "tolls": ["mv", "toll"]})
    found = resources.minimise(flow, {"read": 500_000.0})

    # read: 500000/s · (1000 + 3500) ns = 2.25, so 3, as spout and parse apart (1 + 2); tolls one instead of two.
    # agg gets frames of at least floor(7400 / (2/495000 s - 2600 ns)) + 1 = 6.
    assert found.settings == flows.of({"read": (3, 6), "agg": (2, 1), "block": (1, None), "tolls": (1, None)})
    assert found.slots == 7


NO_TREES = {
    "two that do not touch": (["c", "d"], "node 'c' reads b: only a tree can be fused"),
    "a gap": (["a", "c"], "node 'c' reads b"),
    "nothing": ([], "nothing is no node"),
    "a stranger": (["a", "z"], r"\['z'\] is no node of the flow"),
}


@pytest.mark.parametrize(("members", "message"), NO_TREES.values(), ids=NO_TREES)
def test_only_a_tree_can_be_fused(members: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chaining.fuse(TREE, "whole", members)


def test_an_operator_that_meets_itself_again_can_not_be_fused() -> None:
    diamond = Flow([flows.free("p"), flows.free("a", "p"), flows.free("b", "p"), flows.free("join", "a", "b")])

    with pytest.raises(ValueError, match="node 'join' reads a, b"):
        chaining.fuse(diamond, "whole", ["p", "a", "b", "join"])


def test_two_sources_can_not_be_fused() -> None:
    flow = Flow([flows.free("p"), flows.free("q")])

    with pytest.raises(ValueError, match="node 'q' reads a source"):
        chaining.fuse(flow, "whole", ["p", "q"])


def test_an_operator_is_in_one_group_at_most() -> None:
    with pytest.raises(ValueError, match=r"in two groups: \['b'\]"):
        chaining.fused(TREE, {"ab": ["a", "b"], "bc": ["b", "c"]})
