"""Any graph without circles can be drawn, and what is drawn holds together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from spillway.runtime.page import layout
from spillway.runtime.page.layout import Layout, Place

Graph = tuple[list[str], list[tuple[str, str]]]
Line = tuple[Place, Place]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    names = [f"n{number}" for number in range(draw(st.integers(0, 14)))]
    pairs = list(itertools.combinations(names, 2))
    return names, draw(st.lists(st.sampled_from(pairs), max_size=30)) if pairs else []


def lines(found: Layout, edges: Iterable[tuple[str, str]]) -> list[Line]:
    drawn: list[Line] = []
    for source, target in dict.fromkeys(edges):
        points = [found.places[source], *found.bends.get((source, target), ()), found.places[target]]
        drawn += itertools.pairwise(points)
    return drawn


def crossings(drawn: list[Line]) -> int:
    return sum(
        (a.row - c.row) * (b.row - d.row) < 0
        for (a, b), (c, d) in itertools.combinations(drawn, 2)
        if a.layer == c.layer
    )


@given(graphs())
def test_each_line_goes_one_layer_on(graph: Graph) -> None:
    names, edges = graph
    found = layout.arrange(names, edges)

    assert found.places.keys() == set(names)
    assert all(target.layer == source.layer + 1 for source, target in lines(found, edges))


@given(graphs())
def test_nodes_and_bends_keep_their_distances(graph: Graph) -> None:
    names, edges = graph
    found = layout.arrange(names, edges)
    taken = [(place, 1.0) for place in found.places.values()]
    taken += [(bend, layout.BEND) for bends in found.bends.values() for bend in bends]

    assert min((place.row for place, _ in taken), default=0) == 0
    for (one, of_one), (other, of_other) in itertools.combinations(taken, 2):
        if one.layer == other.layer:
            assert abs(one.row - other.row) >= (of_one + of_other) / 2 - 0.002  # rounded to three digits


@given(graphs())
def test_it_is_always_the_same(graph: Graph) -> None:
    assert layout.arrange(*graph) == layout.arrange(*graph)


@given(st.integers(2, 7), st.randoms(use_true_random=False))
def test_pairs_in_any_order_are_untangled(many: int, dice: object) -> None:
    left, right = [f"a{number}" for number in range(many)], [f"b{number}" for number in range(many)]
    dice.shuffle(right)  # type: ignore[attr-defined]
    edges = [(f"a{name[1:]}", name) for name in right]

    assert crossings(lines(layout.arrange([*left, *right], edges), edges)) == 0


def test_a_crossing_would_be_counted() -> None:
    assert crossings([(Place(0, 0), Place(1, 1)), (Place(0, 1), Place(1, 0))]) == 1
