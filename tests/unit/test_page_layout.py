"""Where the nodes of a graph are drawn: layers along the flow, few crossings, rows beside their neighbours."""

from __future__ import annotations

import itertools
import time

import pytest

from spillway.runtime.page import layout
from spillway.runtime.page.layout import Place


def rows(found: layout.Layout) -> dict[str, float]:
    return {name: place.row for name, place in found.places.items()}


def layers(found: layout.Layout) -> dict[str, int]:
    return {name: place.layer for name, place in found.places.items()}


def chain(names: str) -> list[tuple[str, str]]:
    return list(itertools.pairwise(names))


def test_a_chain_is_a_straight_line() -> None:
    found = layout.arrange("abcd", chain("abcd"))

    assert found.places == {"a": Place(0, 0), "b": Place(1, 0), "c": Place(2, 0), "d": Place(3, 0)}
    assert found.bends == {}


def test_nothing_is_drawn_of_nothing() -> None:
    assert layout.arrange([], []) == layout.Layout({}, {})


def test_a_table_stands_right_before_its_first_reader() -> None:
    found = layout.arrange(
        ["events", "a", "b", "table", "join"], [*chain("ab"), ("events", "a"), ("b", "join"), ("table", "join")]
    )

    assert layers(found) == {"events": 0, "a": 1, "b": 2, "table": 2, "join": 3}


def test_a_node_stands_behind_the_last_of_its_inputs() -> None:
    assert layers(layout.arrange("abcd", [*chain("abcd"), ("a", "d")]))["d"] == 3


def test_an_edge_over_layers_goes_around_the_nodes_in_them() -> None:
    found = layout.arrange("abcd", [*chain("abcd"), ("a", "d")])
    bends = found.bends["a", "d"]

    assert [bend.layer for bend in bends] == [1, 2]
    assert all(abs(bend.row - found.places[node].row) >= 0.69 for bend, node in zip(bends, "bc", strict=True))


def test_a_reader_of_two_stands_between_them() -> None:
    found = rows(layout.arrange("abj", [("a", "j"), ("b", "j")]))

    assert found["j"] == pytest.approx((found["a"] + found["b"]) / 2)
    assert abs(found["a"] - found["b"]) == pytest.approx(1)


def test_edges_that_need_not_cross_do_not() -> None:
    found = rows(layout.arrange("abcd", [("a", "d"), ("b", "c")]))

    assert (found["a"] < found["b"]) == (found["d"] < found["c"])


def test_an_edge_that_is_named_twice_is_drawn_once() -> None:
    assert layout.arrange("ab", [("a", "b"), ("a", "b")]) == layout.arrange("ab", [("a", "b")])


def test_a_node_before_one_that_it_reads_is_refused() -> None:
    with pytest.raises(ValueError, match="node 0 stands before node 1, which it reads"):
        layout.arrange("ab", [("b", "a")])


def test_the_largest_of_jobs_is_drawn_within_seconds() -> None:
    names = [str(number) for number in range(256)]
    edges = [*itertools.pairwise(names), *(("0", name) for name in names[2:])]
    began = time.monotonic()

    layout.arrange(names, edges)

    assert time.monotonic() - began < 10
