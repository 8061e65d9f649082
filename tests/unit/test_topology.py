"""The graph of a job: its order, and what does not fit together."""

from __future__ import annotations

import dataclasses
import time
from typing import TypeVar

import pytest

from spillway.model import kafka, operators, topology
from spillway.model.topology import Draft, Kind, Topology


def stream(name: str, topic: str = "") -> kafka.Stream:
    return kafka.Stream(name=name, topic=topic or f"topic-{name}", columns="a int")


def table(name: str) -> kafka.Table:
    return kafka.Table(name=name, topic=f"topic-{name}", columns="a int", key=("a",))


def step(name: str, *reads: str) -> operators.Operator:
    if len(reads) == 1:
        return operators.Operator(name=name, input=reads[0], filter="true")
    return operators.Operator(name=name, inputs=reads, filter="true")


def lookup(name: str, reads: str, partner: str) -> operators.Operator:
    return operators.Operator(name=name, input=reads, join=operators.Join(table=partner, by=("a",)))


def output(reads: str, topic: str = "", name: str = "") -> kafka.Output:
    return kafka.Output(name=name or f"out-{reads}", input=reads, topic=topic or f"result-{reads}")


Part = kafka.Stream | kafka.Table | operators.Operator | kafka.Output
P = TypeVar("P", bound=Part)


def draft(*parts: Part, broken: str | None = None) -> Draft:
    """A draft of parts, each in its list."""

    def of(kind: type[P]) -> tuple[tuple[int, P], ...]:
        return tuple(enumerate(part for part in parts if isinstance(part, kind)))

    names = frozenset(() if broken is None else (broken,))
    return Draft(of(kafka.Stream), of(kafka.Table), of(operators.Operator), of(kafka.Output), names)


def order(graph: Topology) -> list[str]:
    return [node.name for node in graph.nodes]


def mistakes(draft: Draft) -> list[str]:
    return [str(mistake) for mistake in topology.build(draft)[1]]


# Order


def test_what_stands_in_order_stays_in_order() -> None:
    graph, found = topology.build(
        draft(stream("s"), table("t"), step("a", "s"), lookup("b", "a", "t"), step("c", "a"), output("b"), output("c"))
    )
    assert found == []
    assert order(graph) == ["s", "t", "a", "b", "c"]


def test_every_node_comes_after_what_it_reads() -> None:
    graph, found = topology.build(
        draft(step("c", "b", "a"), step("b", "a"), lookup("a", "s", "t"), table("t"), stream("s"), output("c"))
    )
    assert found == []
    assert order(graph) == ["s", "t", "a", "b", "c"]


def test_the_order_does_not_depend_on_outputs() -> None:
    parts = (stream("s"), step("b", "a"), step("a", "s"), step("c", "s"))
    one, _ = topology.build(draft(*parts, output("b"), output("c")))
    other, _ = topology.build(draft(*parts, output("c"), output("b"), output("a")))
    assert order(one) == order(other)


def test_a_node_knows_its_kind_place_and_sources() -> None:
    graph, _ = topology.build(draft(stream("s"), table("t"), lookup("a", "s", "t"), output("a")))
    assert [(node.kind, node.path, node.reads) for node in graph.nodes] == [
        (Kind.STREAM, ("spec", "streams", 0), ()),
        (Kind.TABLE, ("spec", "tables", 0), ()),
        (Kind.OPERATOR, ("spec", "operators", 0), ("s", "t")),
    ]
    assert graph["t"].part == table("t")


def test_the_readers_of_a_node_are_told_once_each() -> None:
    graph, _ = topology.build(draft(stream("s"), step("a", "s"), step("b", "s", "s"), step("c", "a", "b"), output("c")))
    assert graph.readers == {"s": ("a", "b"), "a": ("c",), "b": ("c",), "c": ()}


def test_a_row_of_256_operators_is_a_legal_job_in_either_direction() -> None:
    row = [step("o0", "s"), *(step(f"o{i}", f"o{i - 1}") for i in range(1, 256))]
    for steps in (row, row[::-1]):
        graph, found = topology.build(draft(stream("s"), *steps, output("o255")))
        assert found == []
        assert order(graph) == ["s", *(f"o{i}" for i in range(256))]


def test_a_row_far_longer_than_the_stack_of_python_is_ordered_too() -> None:
    steps = [step("o0", "s"), *(step(f"o{i}", f"o{i - 1}") for i in range(1, 5000))]
    graph, found = topology.build(draft(stream("s"), *steps[::-1], output("o4999")))
    assert found == []
    assert len(graph.nodes) == 5001


# Circles


def test_an_operator_that_reads_itself_is_a_circle() -> None:
    graph, found = topology.build(draft(stream("s"), step("a", "s", "a"), output("a")))
    assert [str(mistake) for mistake in found] == ["spec.operators[0]: operators read each other in a circle: a → a"]
    assert order(graph) == ["s"]


def test_a_circle_is_told_once_in_the_direction_of_the_records() -> None:
    # b reads a, c reads b, a reads c: records would go a → b → c → a.
    found = mistakes(draft(stream("s"), step("a", "s", "c"), step("b", "a"), step("c", "b"), output("c")))
    assert found == ["spec.operators[1]: operators read each other in a circle: a → b → c → a"]


def test_a_circle_through_a_join_is_found() -> None:
    found = mistakes(draft(stream("s"), step("a", "b"), lookup("b", "s", "a"), output("b")))
    assert len(found) == 1
    assert "in a circle: a → b → a" in found[0]


def test_two_circles_are_two_mistakes() -> None:
    parts = (step("a", "b"), step("b", "a"), step("c", "d"), step("d", "c"))
    found = mistakes(draft(stream("s"), *parts, output("a"), output("c")))
    assert [line.partition(": ")[2] for line in found] == [
        "operators read each other in a circle: a → b → a",
        "operators read each other in a circle: c → d → c",
    ]


def test_a_big_circle_is_told_by_its_ends() -> None:
    ring = [step(f"o{i}", f"o{(i - 1) % 256}") for i in range(256)]
    found = mistakes(draft(stream("s"), *ring, output("o7")))
    assert len(found) == 1
    assert found[0].endswith("in a circle: o0 → o1 → o2 → o3 → (248 more) → o252 → o253 → o254 → o255 → o0")


def test_a_graph_of_nothing_but_circles_is_told_in_time_and_with_measure() -> None:
    tangle = [step(f"o{i}", *(f"o{(i + j) % 256}" for j in range(16))) for i in range(256)]
    began = time.perf_counter()
    graph, found = topology.build(draft(stream("s"), *tangle, output("o0")))
    assert time.perf_counter() - began < 1
    assert 0 < len(found) <= 256
    assert max(len(str(mistake)) for mistake in found) < 300
    assert order(graph) == ["s"]


def test_what_does_not_depend_on_a_circle_is_still_there() -> None:
    parts = (step("fine", "s"), step("a", "b"), step("b", "a"), step("behind", "a", "s"))
    graph, found = topology.build(draft(stream("s"), *parts, output("fine"), output("behind")))
    assert len(found) == 1
    assert order(graph) == ["s", "fine"]


# Names


def test_a_name_that_is_taken_is_told_with_who_has_it() -> None:
    parts = (stream("s"), table("s"), step("a", "s"), step("a", "s"), output("a"))
    assert mistakes(draft(*parts)) == [
        "spec.tables[0].name: name 's' is taken by the stream at spec.streams[0]",
        "spec.operators[1].name: name 'a' is taken by the operator at spec.operators[0]",
    ]


def test_an_unknown_name_is_told_with_a_near_one() -> None:
    assert mistakes(draft(stream("clicks"), step("a", "click"), output("a"))) == [
        "spec.operators[0].input: no stream, table or operator is called 'click', did you mean 'clicks'?"
    ]


def test_an_unknown_name_without_a_near_one_is_told_with_those_that_there_are() -> None:
    assert mistakes(draft(stream("s"), table("t"), step("a", "zzz"), output("a"))) == [
        "spec.operators[0].input: no stream, table or operator is called 'zzz'; known are s, t"
    ]


def test_of_many_known_names_a_few_are_told() -> None:
    many = [stream(f"s{i}") for i in range(30)]
    (found,) = mistakes(draft(*many, step("a", "xyz", *(s.name for s in many[:15])), output("a")))
    assert found.endswith("known are s0, s1, s10, s11, s12, s13, s14, s15 and 22 more")


def test_an_operator_is_not_told_to_read_itself() -> None:
    (found,) = mistakes(draft(stream("s"), step("count", "counts"), output("count")))
    assert "did you mean" not in found


def test_every_place_that_names_a_source_is_checked() -> None:
    window = operators.Join(stream="no3", by=("a",), within="1s")  # type: ignore[arg-type]
    meets = operators.Operator(name="c", input="s", join=window)
    parts = (step("a", "s", "no1"), lookup("b", "a", "no2"), meets, output("no4"))
    places = [line.partition(":")[0] for line in mistakes(draft(stream("s"), *parts))]
    assert places == [
        "spec.operators[0].inputs[1]",
        "spec.operators[1].join.table",
        "spec.operators[2].join.stream",
        "spec.outputs[0].input",
    ]


# What nobody reads


@pytest.mark.parametrize(
    ("part", "place"),
    [(stream("z"), "spec.streams[1]"), (table("z"), "spec.tables[0]"), (step("z", "s"), "spec.operators[1]")],
)
def test_what_nobody_reads_is_told_with_what_to_do(part: Part, place: str) -> None:
    (found,) = mistakes(draft(stream("s"), step("a", "s"), output("a"), part))
    assert found.startswith(f"{place}: nobody reads ")
    assert found.endswith("'z': add an operator or an output with `input: z`, or remove it")


def test_a_stream_may_go_straight_to_an_output() -> None:
    assert mistakes(draft(stream("s"), step("a", "s"), output("s"), output("a"))) == []


# Echoes


def test_what_a_misspelt_reference_leaves_unread_is_not_a_second_mistake() -> None:
    assert len(mistakes(draft(stream("clicks"), step("a", "click"), output("a")))) == 1


def test_what_a_broken_operator_may_read_is_not_called_unread() -> None:
    assert mistakes(draft(stream("s"), stream("z"), step("a", "s"), output("a"), broken="reader-of-z")) == []


def test_who_reads_a_broken_part_reads_no_unknown_name() -> None:
    assert mistakes(draft(stream("s"), step("a", "gone"), step("b", "s"), output("b"), broken="gone")) == []


def test_a_broken_part_does_not_hide_an_unknown_name_beside_it() -> None:
    found = mistakes(draft(stream("s"), step("a", "elsewhere"), output("a"), broken="gone"))
    assert [line.partition(":")[0] for line in found] == ["spec.operators[0].input"]


def test_where_the_name_of_a_broken_part_can_not_be_read_no_name_is_called_unknown() -> None:
    assert mistakes(draft(stream("s"), step("a", "elsewhere"), output("a"), broken="")) == []


def test_what_reads_a_broken_part_stays_in_the_graph() -> None:
    graph, _ = topology.build(draft(stream("s"), step("a", "gone"), step("b", "s"), output("b"), broken="gone"))
    assert order(graph) == ["s", "a", "b"]


# Outputs


def test_two_outputs_write_two_topics() -> None:
    assert mistakes(draft(stream("s"), step("a", "s"), output("a", "t"), output("s", "t"))) == [
        "spec.outputs[1].topic: topic 't' is written by output 'out-a' already"
    ]


def test_two_outputs_have_two_names() -> None:
    assert mistakes(draft(stream("s"), step("a", "s"), output("a", name="o"), output("s", name="o"))) == [
        "spec.outputs[1].name: name 'o' is taken by spec.outputs[0]"
    ]


def test_an_output_does_not_feed_the_job_itself() -> None:
    (found,) = mistakes(draft(stream("s", "events"), step("a", "s"), output("a", "events")))
    assert found == "spec.outputs[0].topic: topic 'events' is read as 's': writing it too would be an endless loop"


def test_two_streams_may_read_one_topic() -> None:
    assert mistakes(draft(stream("s", "t"), stream("z", "t"), step("a", "s", "z"), output("a"))) == []


def test_building_twice_gives_the_same() -> None:
    same = draft(stream("s"), step("b", "a"), step("a", "s", "c"), step("c", "a"), output("b"))
    assert topology.build(same) == topology.build(dataclasses.replace(same))
