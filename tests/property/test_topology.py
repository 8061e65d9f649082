"""Any graph is put in order or told to be none, in a time that nobody notices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
from spillway.model import kafka, operators, quantities, topology
from spillway.model.topology import Draft, Topology

pytestmark = pytest.mark.fuzz

# What each operator reads, by place: 0 and 1 are streams, an operator itself is its place in the list + 2.
STREAMS = 2
Reads = list[list[int]]


def named(place: int) -> str:
    return f"s{place}" if place < STREAMS else f"o{place - STREAMS}"


def draft(reads: Reads, order: list[int] | None = None) -> Draft:
    """The operators, in an order; every one of them goes to an output, so that none is unread."""
    streams = [kafka.Stream(name=named(i), topic=f"t{i}", columns="a int") for i in range(STREAMS)]
    steps = [_operator(i, sources) for i, sources in enumerate(reads)]
    outputs = [kafka.Output(name=f"x{p}", input=named(p), topic=f"x{p}") for p in range(len(reads) + STREAMS)]
    steps = [steps[i] for i in order] if order is not None else steps
    return Draft(tuple(enumerate(streams)), (), tuple(enumerate(steps)), tuple(enumerate(outputs)))


def _operator(i: int, sources: list[int]) -> operators.Operator:
    name, main = named(i + STREAMS), named(sources[0])
    if len(sources) == 1:
        return operators.Operator(name=name, input=main, filter="true")
    if len(sources) == 2:
        join = operators.Join(stream=named(sources[1]), by=("a",), within=quantities.Duration(10**9))
        return operators.Operator(name=name, input=main, join=join)
    return operators.Operator(name=name, inputs=tuple(map(named, sources)), filter="true")


def sources(most: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, most), min_size=1, max_size=4)


@st.composite
def acyclic(draw: st.DrawFn) -> tuple[Reads, list[int]]:
    """A graph whose operators read only earlier ones, and an order to write them down in."""
    reads = [draw(sources(i + STREAMS - 1)) for i in range(draw(st.integers(1, 12)))]
    return reads, draw(st.permutations(range(len(reads))))


ANY = st.integers(1, 12).flatmap(lambda n: st.lists(sources(n + STREAMS - 1), min_size=n, max_size=n))


def names(graph: Topology) -> list[str]:
    return [node.name for node in graph.nodes]


def is_topological(graph: Topology) -> bool:
    seen: set[str] = set()
    for node in graph.nodes:
        if not seen.issuperset(node.reads):
            return False
        seen.add(node.name)
    return True


def on_a_circle(reads: Reads) -> set[str]:
    """The operators from which a way leads back to themselves, by following every way."""
    found = set()
    for start in range(len(reads)):
        reached: set[int] = set()
        todo = list(reads[start])
        while todo:
            place = todo.pop()
            if place >= STREAMS and place not in reached:
                reached.add(place)
                todo += reads[place - STREAMS]
        if start + STREAMS in reached:
            found.add(named(start + STREAMS))
    return found


@fuzzing.cases(150)
@given(acyclic())
def test_a_graph_without_circles_is_put_in_order_with_nothing_lost(case: tuple[Reads, list[int]]) -> None:
    reads, order = case
    graph, mistakes = topology.build(draft(reads, order))
    assert mistakes == []
    assert is_topological(graph)
    assert sorted(names(graph)) == sorted(named(place) for place in range(len(reads) + STREAMS))


@fuzzing.cases(100)
@given(acyclic())
def test_the_order_is_that_of_the_manifest_wherever_that_is_one(case: tuple[Reads, list[int]]) -> None:
    reads, order = case
    assert names(topology.build(draft(reads))[0]) == [named(place) for place in range(len(reads) + STREAMS)]
    once, _ = topology.build(draft(reads, order))
    # Written down in the order that was found, it stays as it is.
    again = [int(name[1:]) for name in names(once) if name[0] == "o"]
    assert names(topology.build(draft(reads, again))[0]) == names(once)


@fuzzing.cases(150)
@given(ANY)
def test_circles_are_told_exactly_where_there_are_some(reads: Reads) -> None:
    graph, mistakes = topology.build(draft(reads))
    circular = on_a_circle(reads)
    assert bool(mistakes) == bool(circular)
    assert is_topological(graph)
    told = [mistake.message.partition("circle: ")[2].split(" → ") for mistake in mistakes]
    for circle in told:
        assert circle[0] == circle[-1]
        assert circular.issuperset(name for name in circle if not name.startswith("("))
    assert not circular & set(names(graph))


@fuzzing.cases(100)
@given(ANY)
def test_readers_are_the_other_side_of_reads(reads: Reads) -> None:
    graph, _ = topology.build(draft(reads))
    forth = {(reader, name) for name, readers in graph.readers.items() for reader in readers}
    back = {(node.name, name) for node in graph.nodes for name in node.reads}
    assert forth == back
