"""What the generated loop does: counts, times, dead letters, deep trees, tables, and how it can be read."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import linecache
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import confluent_kafka
import msgspec
import pytest

import programs
from programs import Message, messages
from spillway.runtime.functions import Function, FunctionError
from spillway.runtime.programs import cutting, states
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.running import Count, Running

STREAM = "streams: [{name: events, topic: events, columns: 'k string, a bigint, b bigint'}]\n"


def function(call: Callable[..., Any]) -> dict[str, Function]:
    return {"m:f": Function("m:f", call, "d")}


def loop(text: str, *members: str, call: Callable[..., Any] | None = None, sampled: int = 64) -> Loop:
    """The loop of the first segment, with these members; every other operator is alone."""
    spec = programs.spec((STREAM if "streams:" not in text else "") + text)
    functions = {} if call is None else function(call)
    rest = {o.name: (o.name,) for o in spec.operators if o.name not in members}
    made = cutting.cut(spec, {members[0]: members, **rest}, {"m:f": "d"})
    return Loop(next(p for p in made if p.name == members[0]), functions, sampled=sampled)


def bound(made: Loop, partitions: int = 1) -> Running:
    tables = {state.name: states.made(state) for state in made.program.states}
    return made.bind(tables, {edge.reader: partitions for edge in made.program.edges})


def out(running: Running, name: str = "r") -> list[Any]:
    return [None if value is None else msgspec.json.decode(value) for *_, value in running.outputs[name]]


FILTERED = """
operators:
  - {name: positive, input: events, filter: "a > 0"}
  - {name: divided, input: positive, select: [k, "100 div b as q"]}
outputs: [{name: r, input: divided, topic: r}]
"""


def test_records_go_through_in_order() -> None:
    running = bound(loop(FILTERED, "positive", "divided"))
    running.run["events"](messages([{"k": "x", "a": 1, "b": 10}, {"a": 0}, {"k": "y", "a": 2, "b": 3}], start=5))

    assert out(running) == [{"k": "x", "q": 10}, {"k": "y", "q": 33}]
    assert [(offset, index) for offset, index, *_ in running.outputs["r"]] == [(5, 0), (7, 0)]


def test_what_raises_is_a_letter_and_the_rest_goes_on() -> None:
    made = loop(FILTERED, "positive", "divided")
    running = bound(made)
    bad = [{"a": 1, "b": 0}, b"no json", {"a": "1"}, {"k": "y", "a": 1, "b": 2}]
    running.run["events"](messages(bad, start=3))

    assert out(running) == [{"k": "y", "q": 50}]
    first, second, third = running.letters
    assert (first.port, first.offset, first.index, first.operator) == ("events", 3, 0, "divided")
    assert "DIVIDE_BY_ZERO" in first.error
    number, text = first.line
    assert made.source.splitlines()[number - 1].strip() == text
    assert "quotient" in text
    assert (second.offset, second.operator) == (4, "events")
    assert "malformed" in second.error
    assert third.error == "column 'a': expected bigint, found the text '1'"


def test_a_row_that_raises_takes_nothing_else_of_its_record_with_it() -> None:
    text = """
operators:
  - {name: all, input: events, filter: "true"}
  - {name: words, input: all, explode: {array: "array(1, b)", as: x, keep: [a]}}
  - {name: divided, input: words, select: ["100 div x as q"]}
  - {name: elsewhere, input: all, filter: "a > 0"}
outputs: [{name: r, input: divided, topic: r}, {name: s, input: all, topic: s}, {name: t, input: elsewhere, topic: t}]
"""
    running = bound(loop(text, "all", "words", "divided"))
    running.run["events"](messages([{"a": 1, "b": 5}, {"a": 2, "b": 0}, {"a": 3, "b": 4}]))

    assert out(running) == [{"q": 100}, {"q": 20}, {"q": 100}, {"q": 100}, {"q": 25}]
    assert [row["a"] for row in out(running, "s")] == [1, 2, 3]
    assert [row[4] for row in running.edges["elsewhere.main"][0]] == [1, 2, 3]
    assert [(letter.offset, letter.operator, letter.row) for letter in running.letters] == [(1, "divided", (0,))]


def test_a_record_that_only_others_can_not_decode_is_a_letter_wherever_it_is_read() -> None:
    spec = programs.spec(
        STREAM
        + """
operators:
  - {name: halves, input: events, select: ["a div 2 as half"]}
  - {name: names, input: events, select: ["upper(k) as name"]}
outputs: [{name: r, input: halves, topic: r}, {name: s, input: names, topic: s}]
"""
    )
    for segments in (cutting.alone(spec), {"events": ("events", "halves", "names")}):
        job = programs.Job(spec, segments).run({"events": messages([{"k": 5, "a": 2}, {"k": "x", "a": 4}])})

        assert (job.rows("r"), job.rows("s")) == ([{"half": 2}], [{"name": "X"}])
        assert {(letter.operator, letter.offset) for letter in job.letters} == {("events", 0)}


def test_a_letter_has_the_row_as_it_went_into_the_operator() -> None:
    text = """
operators:
  - {name: halves, input: events, select: ["a div 2 as half", "k"]}
  - {name: divided, input: halves, select: ["100 div half as q"]}
outputs: [{name: r, input: divided, topic: r}]
"""
    running = bound(loop(text, "halves", "divided"))
    running.run["events"]([Message(7, b'{"k": "x", "a": 1}', time=5), Message(8, b"{", b"name", time=6)])

    of_row, of_message = running.letters
    assert (of_row.port, of_row.offset, of_row.operator) == ("events", 7, "divided")
    assert (of_row.timestamp, of_row.columns, of_row.row) == (5000, ("half",), (0,))
    assert (of_message.timestamp, of_message.columns) == (6000, ("key", "value"))
    assert of_message.row == (b"name", b"{")


def test_a_state_knows_nothing_of_a_row_that_raised_before_it_and_keeps_what_stood_beside() -> None:
    text = """
operators:
  - {name: sums, input: events, aggregate: {by: [k], values: ["sum(100 div a) as total", "count(*) as n"]}}
  - {name: large, input: sums, filter: "100 div (total - 50) > 0"}
outputs: [{name: r, input: large, topic: r}, {name: s, input: sums, topic: s}]
"""
    running = bound(loop(text, "sums", "large"))
    running.run["sums.main"](0, [(0, 0, time, "x", a) for time, a in enumerate((1, 0, 1, -2, -1))])

    assert [(row["total"], row["n"]) for row in out(running, "s")] == [(100, 1), (200, 2), (150, 3), (50, 4)]
    first, second = running.letters
    assert (first.operator, first.timestamp, first.columns, first.row) == ("sums", 1, ("k", "a"), ("x", 0))
    assert (second.operator, second.timestamp, second.row) == ("large", 4, ("x", 50, 4))
    assert running.outputs["r"][-1][4] is None  # the row of before is gone


def test_what_a_flat_map_gave_before_it_raised_is_not_let_through() -> None:
    def midway(record: dict[str, Any]) -> Any:
        for a in (1, 2):
            yield {"x": a, "y": None}
        yield {"x": 3 if record["a"] else "three", "y": None}

    running = called(midway, {"a": 1}, {"a": 0}, {"a": 2}, kind="flatMap")

    assert [row["x"] for row in out(running)] == [1, 2, 3, 1, 2, 3]
    assert [(letter.operator, letter.offset) for letter in running.letters] == [("called", 1)]


def test_an_error_that_is_raised_again_tells_of_the_row_that_it_is_about() -> None:
    always = ValueError("the same object")

    def raises(record: dict[str, Any]) -> bool:
        raise always

    running = called(raises, *({"a": a} for a in range(3)), kind="filter", more="vectorised: false")
    running.run["events"](messages([{"a": 7}]))

    assert [dict(zip(letter.columns, letter.row or (), strict=True))["a"] for letter in running.letters] == [0, 1, 2, 7]
    assert always.__traceback__ is None


class PanicError(BaseException):
    """What libraries in other languages raise; this one can't even say why."""

    def __str__(self) -> str:
        raise ValueError


def test_whatever_a_function_raises_is_a_letter_but_an_interrupt() -> None:
    def exits(record: dict[str, Any]) -> bool:
        if record["a"] == 3:
            raise PanicError
        return sys.exit(2) if record["a"] == 1 else True

    def interrupts(_: dict[str, Any]) -> bool:
        raise KeyboardInterrupt

    running = called(exits, *({"a": a} for a in range(4)), kind="filter", more="vectorised: false")

    assert [row["a"] for row in out(running)] == [0, 2]
    assert [letter.error for letter in running.letters] == [
        "SystemExit: 2",
        "PanicError, which can't say what it is about",
    ]
    with pytest.raises(KeyboardInterrupt):
        called(interrupts, {"a": 0}, kind="filter", more="vectorised: false")


def test_a_record_that_raises_leaves_what_other_records_of_its_message_sent() -> None:
    text = """
operators:
  - {name: one, input: events, filter: "a > 0"}
  - {name: two, input: one, select: ["100 div b as q"]}
outputs: [{name: r, input: two, topic: r}]
"""
    running = bound(loop(text, "two"))
    running.run["two.main"](9, [(0, 0, 5, 1), (0, 0, 6, 0), (0, 0, 7, 2)], 4)

    assert [(row[:3], value) for row, value in zip(running.outputs["r"], out(running), strict=True)] == [
        ((9, 4, 5), {"q": 100}),
        ((9, 6, 7), {"q": 50}),
    ]
    assert [(letter.offset, letter.index) for letter in running.letters] == [(9, 5)]


def test_every_place_counts_what_came_and_what_went() -> None:
    text = """
operators:
  - {name: positive, input: events, filter: "a > 0"}
  - {name: words, input: positive, explode: {array: "split(k, ' ')", as: w}}
  - {name: divided, input: words, select: [w, "100 div b as q"]}
outputs: [{name: r, input: divided, topic: r}]
"""
    running = bound(loop(text, "positive", "words", "divided"))
    sent = [{"a": 1, "b": 1, "k": "x y"}, {"a": 0}, b"?", {"a": 1, "b": 0, "k": "z"}]
    for message in messages(sent):
        running.run["events"]([message])

    counts = {name: (c.records_in, c.records_out, c.errors) for name, c in running.counts().items()}
    assert counts == {
        "events": (4, 3, 1),
        "positive": (3, 2, 0),
        "words": (2, 3, 0),
        "divided": (3, 2, 1),
        "r.output": (2, 2, 0),
    }


def test_one_record_in_so_many_is_timed() -> None:
    clock = itertools.count(step=10).__next__
    for sampled, timed in ((1, 20), (4, 5), (64, 0)):
        running = loop(FILTERED, "positive", "divided", sampled=sampled).bind(clock=clock)
        for size in (3, 1, 9, 7):
            running.run["events"](messages([{"a": 1, "b": 1}] * size))

        counts = running.counts()
        assert [counts[name].timed for name in ("events", "positive", "divided", "r.output")] == [timed] * 4
        assert len(out(running)) == 20


def test_the_time_of_the_clock_itself_counts_for_nobody() -> None:
    clock = itertools.count(step=10).__next__
    running = loop(FILTERED, "positive", "divided", sampled=1).bind(clock=clock)
    running.run["events"](messages([{"a": 1, "b": 1}] * 5))

    assert {count.seconds for count in running.counts().values()} == {0.0}


def test_an_operator_that_takes_its_time_is_found() -> None:
    now = 0

    def clock() -> int:
        nonlocal now
        now += 1
        return now

    def slow(record: dict[str, Any]) -> dict[str, Any]:
        nonlocal now
        now += 5000
        return {"x": 1}

    text = """
operators:
  - {name: all, input: events, filter: "true"}
  - {name: slow, input: all, python: {function: "m:f", as: map, returns: "x int"}}
outputs: [{name: r, input: slow, topic: r}]
"""
    running = loop(text, "all", "slow", call=slow, sampled=2).bind(clock=clock)
    running.run["events"](messages([{}] * 10))

    slowest = running.counts()["slow"]
    assert slowest == Count(10, 10, 0, 5, slowest.seconds)
    assert slowest.seconds == pytest.approx(5 * 5000e-9)
    assert running.counts()["all"].seconds == 0


def test_a_traceback_shows_the_generated_line() -> None:
    def broken(record: dict[str, Any]) -> bool:
        raise KeyError(*traceback.format_stack(limit=2))

    text = """
operators: [{name: judged, input: events, python: {function: "m:f", as: filter}}]
outputs: [{name: r, input: judged, topic: r}]
"""
    made = loop(text, "judged", call=broken)
    running = bound(made)
    running.run["events"](messages([{}]))

    (letter,) = running.letters
    assert letter.operator == "judged"
    assert "f_judged({" in letter.line[1]
    assert "spillway program judged" in letter.error
    assert "f_judged({" in letter.error
    assert linecache.getline(made.file, letter.line[0]).strip() == letter.line[1]


def test_the_source_is_python_with_the_names_of_the_operators() -> None:
    made = loop(FILTERED, "positive", "divided")

    ast.parse(made.source)
    assert "# positive (filter): a > 0" in made.source
    assert "# divided (select): k, 100 div b as q" in made.source
    assert "# to topic r (append)" in made.source


@pytest.mark.parametrize("kind", ["chain", "explodes", "branches"])
def test_a_job_may_have_256_operators_in_a_row(kind: str) -> None:
    operators, outputs = [], []
    for i in range(256):
        above = f"o{i - 1}" if i else "events"
        if kind == "explodes":
            part: dict[str, Any] = {"explode": {"array": "array(a)", "as": "x", "keep": ["a"]}}
        else:
            part = {"filter": f"a > {i % 3}"}
        operators.append({"name": f"o{i}", "input": above, **part})
        if kind == "branches" and i % 16 == 3:
            outputs.append({"name": f"r{i}", "input": f"o{i}", "topic": f"r{i}"})
            operators[-1]["filter"] = f"a > {i % 3 + 1}"
    outputs.append({"name": "r", "input": "o255", "topic": "r"})
    columns = "k string, a bigint, b bigint"
    spec = programs.spec(
        {
            "streams": [{"name": "events", "topic": "events", "columns": columns}],
            "operators": operators,
            "outputs": outputs,
        }
    )
    (program,) = cutting.cut(spec, {"o0": [o["name"] for o in operators]})
    running = bound(Loop(program, sampled=2))
    running.run["events"](messages([{"a": 1}, {"a": 9}, {"a": 7}] * 2))

    assert [row["a"] for row in out(running)] == ([1, 9, 7] * 2 if kind == "explodes" else [9, 7] * 2)
    assert running.counts()["o255"].records_in == len(out(running))


def test_only_columns_that_somebody_reads_are_taken_out_of_a_message() -> None:
    made = loop(FILTERED.replace("[k, ", "["), "positive", "divided")

    assert made.program.ports[0].schema.names == ("a", "b")
    assert "c_k" not in made.source


def test_rows_of_an_edge_go_to_the_partition_of_their_key() -> None:
    text = """
operators:
  - {name: all, input: events, filter: "true"}
  - {name: sums, input: all, aggregate: {by: ["lower(k) as low"], values: ["sum(a) as total"]}}
outputs: [{name: r, input: sums, topic: r}]
"""
    running = bound(loop(text, "all"), partitions=4)
    running.run["events"](messages([{"k": k, "a": i} for i, k in enumerate("aAbBcCdDaA")] + [{"a": 1}]))

    found = running.edges["sums.main"]
    by_key: dict[Any, set[int]] = {}
    for partition, rows in enumerate(found):
        for _, _, _, k, _ in rows:
            by_key.setdefault(k and k.lower(), set()).add(partition)
    assert all(len(partitions) == 1 for partitions in by_key.values())
    assert len(set().union(*by_key.values())) > 1
    assert sum(map(len, found)) == 11


UPDATED = """
operators:
  - {name: counts, input: events, aggregate: {by: [k], values: ["count(*) as n", "sum(a) as total"]}}
  - {name: few, input: counts, filter: "100 div (n - 2) < 0 or n = 3"}
  - {name: shown, input: few, select: [k, "total + 1 as more"]}
  - {name: again, input: counts, aggregate: {by: ["n % 2 as odd"], values: ["count(*) as keys"]}}
outputs: [{name: r, input: shown, topic: r}, {name: s, input: again, topic: s}]
"""


def updated(*records: Any) -> Running:
    running = bound(loop(UPDATED, "counts", "few", "shown"), partitions=8)
    for i, (k, a) in enumerate(records):
        running.run["counts.main"](i, [(0, 0, i, k, a)])
    return running


def test_a_row_that_passes_no_more_is_deleted_and_one_that_raises_is_no_row() -> None:
    running = updated(("x", 1), ("x", 2), ("x", 3))

    # n = 1 passes; n = 2 raises, which deletes the row and is a letter; n = 3 passes, and its old row is no news.
    assert [(key, value) for _, _, _, key, value in running.outputs["r"]] == [
        (b"x", b'{"k":"x","more":2}'),
        (b"x", None),
        (b"x", b'{"k":"x","more":7}'),
    ]
    assert [(letter.operator, letter.offset) for letter in running.letters] == [("few", 1)]
    assert running.counts()["few"].errors == 1


def test_an_update_goes_to_two_partitions_where_its_key_has_changed() -> None:
    running = updated(("x", 1), ("x", 2))

    sent = [(partition, row) for partition, rows in enumerate(running.edges["again.main"]) for row in rows]
    first, *later = sorted(sent, key=lambda found: found[1][:2])
    assert first[1] == (0, 0, 0, None, ("x", 1))
    assert {(row[3], row[4]) for _, row in later} == {(("x", 1), None), (None, ("x", 2))}
    assert {partition for partition, _ in later} >= {first[0]}
    assert len({partition for partition, _ in later}) == 2


def test_an_update_that_nobody_can_see_ends_at_its_filter() -> None:
    text = """
operators:
  - {name: counts, input: events, aggregate: {by: [k], values: ["count(*) as n"]}}
  - {name: many, input: counts, filter: "n > 2"}
  - {name: just, input: many, select: [k]}
outputs: [{name: r, input: just, topic: r}]
"""
    running = bound(loop(text, "counts", "many", "just"))
    running.run["counts.main"](0, [(0, i, i, "x") for i in range(6)])

    assert [value for *_, value in running.outputs["r"]] == [b'{"k":"x"}']


def test_a_users_table_is_kept_so_that_its_readers_know_the_old_row() -> None:
    text = """
streams: [{name: events, topic: events, columns: 'k string'}]
tables: [{name: people, topic: people, key: [id], columns: 'id string, town string, age int'}]
operators:
  - {name: grown, input: people, filter: "age >= 18"}
  - {name: towns, input: grown, aggregate: {by: [town], values: ["count(*) as people"]}}
  - {name: unused, input: events, filter: "true"}
outputs: [{name: r, input: towns, topic: r}, {name: s, input: unused, topic: s}, {name: t, input: people, topic: t}]
"""
    spec = programs.spec(text)
    job = programs.Job(spec, cutting.alone(spec), partitions=2)
    people = [
        Message(0, b'{"id": "1", "town": "A", "age": 20}', b"1", 1),
        Message(1, b'{"id": "2", "town": "A", "age": 30}', b"2", 2),
        Message(2, b'{"id": "3", "town": "B", "age": 9}', b"3", 3),
        Message(3, b'{"id": "1", "town": "B", "age": 21}', b"1", 4),
        Message(4, None, b"2", 5),
        Message(5, b'{"id": "3", "town": "B", "age": 18}', b"3", 6),
    ]
    job.run({"people": people, "events": []})

    assert job.letters == []
    assert job.table("r") == {b"B": {"town": "B", "people": 2}}
    assert {row["id"] for row in job.table("t").values()} == {"1", "3"}


def test_an_outer_join_of_streams_takes_back_what_it_showed() -> None:
    text = """
streams:
  - {name: lefts, topic: lefts, columns: 'k string, a bigint'}
  - {name: rights, topic: rights, columns: 'k string, b string'}
operators:
  - {name: both, input: lefts, join: {stream: rights, by: [k], within: 10s, type: full}}
  - {name: words, input: both, explode: {array: "split(coalesce(b, 'none'), ' ')", as: w}}
  - {name: counts, input: words, aggregate: {by: [w], values: ["count(*) as n", "sum(a) as total"]}}
outputs: [{name: r, input: counts, topic: r}]
"""
    spec = programs.spec(text)
    for segments in (cutting.alone(spec), programs.together(spec), programs.together(spec, sources=True)):
        job = programs.Job(spec, segments, partitions=3)
        lefts = messages([{"k": "x", "a": 1}, {"k": "y", "a": 2}])
        rights = messages([{"k": "x", "b": "p q"}, {"k": "x", "b": "q"}, {"k": "z", "b": "p"}])
        job.run({"lefts": lefts, "rights": rights})

        assert job.letters == []
        assert {w["w"]: (w["n"], w["total"]) for w in job.table("r").values()} == {
            "none": (1, 2),
            "p": (2, 1),
            "q": (2, 2),
        }


def test_a_look_up_takes_back_what_it_keeps_of_a_record_that_is_taken_back() -> None:
    text = """
streams:
  - {name: lefts, topic: lefts, columns: 'k string, a bigint'}
  - {name: rights, topic: rights, columns: 'k string, b bigint'}
tables: [{name: towns, topic: towns, key: [k], columns: 'k string, town string', distribution: partitioned}]
operators:
  - {name: both, input: lefts, join: {stream: rights, by: [k], within: 10s, type: left}}
  - {name: placed, input: both, join: {table: towns, by: [k], type: left}, retention: 1h}
  - {name: known, input: placed, select: ["coalesce(town, '?') as town", "coalesce(b, 0L) as b"]}
  - {name: sums, input: known, aggregate: {by: [town], values: ["count(*) as n", "sum(b) as total"]}}
outputs: [{name: r, input: sums, topic: r}]
"""
    job = programs.Job(programs.spec(text), {"both": ("both",), "placed": ("placed", "known"), "sums": ("sums",)})
    job.run({"lefts": messages([{"k": "x", "a": 1}], step=0), "rights": messages([{"k": "x", "b": 5}]), "towns": []})
    placed = job.running["placed", "edge.placed", 0]
    placed.run["placed.other"](9, [(0, 0, 0, None, ("x", "Ulm"))])

    # The record without a partner is gone: only the pair moves from the unknown town to Ulm.
    assert [row[3:] for row in placed.edges["sums.main"][0]] == [(("?", 5), ("Ulm", 5))]
    assert job.rows("r")[-1] == {"town": "?", "n": 1, "total": 5}


def test_the_rows_of_an_operator_are_looked_up_in_the_order_in_which_they_come() -> None:
    text = """
operators:
  - {name: counts, input: events, aggregate: {by: [k], values: ["count(*) as n"]}}
  - {name: placed, input: events, join: {table: counts, by: [k]}}
outputs: [{name: r, input: placed, topic: r}]
"""
    running = bound(loop(text, "placed"))
    for time, n in ((5, 1), (3, 2)):  # a late record made the newest row
        running.run["placed.other"](n, [(0, 0, time, None, ("x", n))])
    running.run["placed.main"](3, [(0, 0, 9, "x", 1, 1)])

    assert [row["n"] for row in out(running)] == [2]


def test_a_pair_of_an_inner_join_that_raises_takes_no_other_pair_with_it() -> None:
    text = """
streams:
  - {name: lefts, topic: lefts, columns: 'k string, a bigint'}
  - {name: rights, topic: rights, columns: 'k string, b bigint'}
operators:
  - {name: both, input: lefts, join: {stream: rights, by: [k], within: 10s}}
  - {name: divided, input: both, select: ["a div b as q"]}
outputs: [{name: r, input: divided, topic: r}]
"""
    running = bound(loop(text, "both", "divided"))
    running.run["both.other"](0, [(0, 0, 0, "x", b) for b in (1, 0, 2)])
    running.run["both.main"](1, [(0, 0, 0, "x", 10)])

    assert sorted(row["q"] for row in out(running)) == [5, 10]
    assert [(letter.operator, letter.offset) for letter in running.letters] == [("divided", 1)]


def test_a_value_that_no_message_holds_is_a_letter() -> None:
    text = """
operators: [{name: wide, input: events, select: ["repeat(k, 1000000) as wide"]}]
outputs: [{name: r, input: wide, topic: r}]
"""
    running = bound(loop(text, "wide"))
    running.run["events"](messages([{"k": "xy"}, {"k": ""}]))

    assert out(running) == [{"wide": ""}]
    (letter,) = running.letters
    assert letter.operator == "r.output"
    assert letter.error == "the message takes 2000011 bytes; its topic takes 1000000"


# Functions of the user in the loop


PYTHON = """
operators:
  - {{name: all, input: events, filter: "true"}}
  - {{name: called, input: all, python: {{function: "m:f", as: {kind}, {more}}}}}
outputs: [{{name: r, input: called, topic: r}}]
"""


def called(
    call: Callable[..., Any], *records: Any, kind: str = "map", more: str = "returns: 'x bigint, y string'"
) -> Running:
    running = bound(loop(PYTHON.format(kind=kind, more=more), "all", "called", call=call))
    running.run["events"](messages(records))
    return running


def test_a_function_has_a_record_of_its_own() -> None:
    def greedy(record: dict[str, Any]) -> dict[str, Any]:
        record["a"] = 100
        return {"x": record.pop("b"), "y": record["k"]}

    text = PYTHON.format(kind="map", more="returns: 'x bigint, y string'").replace(
        "outputs: [", "outputs: [{name: s, input: all, topic: s}, "
    )
    running = bound(loop(text, "all", "called", call=greedy))
    running.run["events"](messages([{"a": 1, "b": 2, "k": "é"}]))

    assert out(running) == [{"x": 2, "y": "é"}]
    assert out(running, "s") == [{"k": "é", "a": 1, "b": 2}]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (None, "m:f gave NoneType None; a record is a dict of x, y"),
        ({"x": 1}, "m:f left out column 'y'; give None where there is no value"),
        ({"x": 2**63, "y": ""}, "m:f, column 'x': expected bigint, found int 9223372036854775808"),
        ({"x": 1, "y": b""}, "m:f, column 'y': expected string, found bytes b''"),
        ([("x", 1), ("y", "")], "a record is a dict of x, y"),
    ],
)
def test_a_wrong_result_is_a_letter(result: Any, why: str) -> None:
    running = called(lambda record: result, {})

    assert out(running) == []
    assert why in running.letters[0].error
    assert running.letters[0].operator == "called"


ARRAYS = "returns: 's array<string>, b array<bigint>, i array<int>, d array<double>, f array<boolean>'"
ALL_RIGHT: Mapping[str, Any] = {"s": ["x", "y"], "b": [2**63 - 1, 0], "i": [-(2**31)], "d": [0.5], "f": [True, False]}


@pytest.mark.parametrize(
    ("other", "gives"),
    [
        ({}, {}),
        ({"s": ["é", None], "b": [], "i": None, "d": (1, 2.5)}, {"d": [1.0, 2.5]}),
    ],
)
def test_arrays_are_taken_as_they_are_where_they_are_right(other: dict[str, Any], gives: dict[str, Any]) -> None:
    running = called(lambda _: {**ALL_RIGHT, **other}, {}, more=ARRAYS)

    assert out(running) == [{**ALL_RIGHT, **other, **gives}]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"s": ["x", b"y"]}, "column 's': expected string, found bytes b'y'"),
        ({"s": "xy"}, "column 's': expected array<string> (a list), found str 'xy'"),
        ({"b": [1, 2**63]}, "column 'b': expected bigint, found int 9223372036854775808"),
        ({"b": [1, True]}, "column 'b': expected bigint, found bool True"),
        ({"i": [2**31]}, "column 'i': expected int, found int 2147483648"),
        ({"i": [0, -(2**31) - 1]}, "column 'i': expected int, found int -2147483649"),
        ({"d": [0.5, "x"]}, "column 'd': expected double, found str 'x'"),
        ({"f": [True, 1]}, "column 'f': expected boolean, found int 1"),
    ],
)
def test_an_array_with_a_wrong_element_is_a_letter(wrong: dict[str, Any], why: str) -> None:
    running = called(lambda _: {**ALL_RIGHT, **wrong}, {}, more=ARRAYS)

    assert out(running) == []
    assert why in running.letters[0].error


def test_an_array_is_not_changed_by_a_function_that_keeps_it() -> None:
    kept: list[str] = []

    def adds(record: dict[str, Any]) -> dict[str, Any]:
        kept.append(record["k"])
        return {"s": kept}

    text = PYTHON.format(kind="map", more="returns: 's array<string>'").replace(
        "outputs: [{name: r, input: called",
        "  - {name: next, input: called, filter: 'true'}\noutputs: [{name: r, input: next",
    )
    running = bound(loop(text, "all", "called", call=adds))
    running.run["events"](messages([{"k": "x"}, {"k": "y"}]))

    assert [row[3] for rows in running.edges["next.main"] for row in rows] == [["x"], ["x", "y"]]


def test_a_flat_map_gives_any_number_of_records() -> None:
    def several(record: dict[str, Any]) -> Any:
        return ({"x": i, "y": None} for i in range(record["a"]))

    running = called(several, {"a": 2}, {"a": 0}, {"a": 1}, kind="flatMap")

    assert [row["x"] for row in out(running)] == [0, 1, 0]


def test_a_filter_that_gives_neither_true_nor_false_is_a_letter() -> None:
    running = called(lambda record: record["a"], {"a": 1}, {"a": True}, kind="filter", more="vectorised: false")

    assert "gave int 1; a filter gives True or False" in running.letters[0].error


def test_a_function_that_changed_since_it_was_planned_is_refused() -> None:
    made = loop(PYTHON.format(kind="filter", more="vectorised: false"), "all", "called", call=bool)
    other = {"m:f": dataclasses.replace(function(bool)["m:f"], digest="another")}

    with pytest.raises(FunctionError, match="'m:f' is of another version here than program 'all'"):
        Loop(made.program, other)
    with pytest.raises(FunctionError, match="needs function 'm:f', which is not loaded"):
        Loop(made.program)


def test_a_look_up_that_comes_before_its_row_is_corrected_for_as_long_as_its_retention() -> None:
    text = """
streams: [{name: events, topic: events, columns: 'k string, a bigint'}]
tables: [{name: towns, topic: towns, key: [k], columns: 'k string, town string', distribution: partitioned}]
operators:
  - {name: placed, input: events, join: {table: towns, by: [k], type: left}, retention: 1h}
  - {name: known, input: placed, select: ["coalesce(town, '?') as town", a]}
  - {name: sums, input: known, aggregate: {by: [town], values: ["sum(a) as total"]}}
outputs: [{name: r, input: sums, topic: r}]
"""
    spec = programs.spec(text)
    for segments in (cutting.alone(spec), programs.together(spec)):
        job = programs.Job(spec, segments, partitions=2)
        events = messages([{"k": "x", "a": 1}, {"k": "y", "a": 2}, {"k": "x", "a": 4}], step=1000)
        towns = [Message(0, b'{"k": "x", "town": "A"}', b"x", 1), Message(1, b'{"k": "x", "town": "B"}', b"x", 1500)]
        job.run({"events": events, "towns": towns})

        assert job.letters == []
        assert {row["town"]: row["total"] for row in job.table("r").values()} == {"?": 3, "B": 4}


def test_a_replica_is_fed_once_for_all_partitions() -> None:
    text = """
streams: [{name: events, topic: events, columns: 'k string'}]
tables: [{name: towns, topic: towns, key: [k], columns: 'k string, town string'}]
operators: [{name: placed, input: events, join: {table: towns, by: [k], asOf: latest}}]
outputs: [{name: r, input: placed, topic: r}]
"""
    made = loop(text, "placed")
    (state,) = made.program.states
    shared = states.replica(state)
    one, other = (made.bind({"placed": states.made(state, shared)}) for _ in range(2))
    one.run["placed.other"]([Message(0, b'{"k": "x", "town": "A"}', b"x"), Message(1, b"?", b"y")])
    other.run["events"](messages([{"k": "x"}]))

    assert out(other) == [{"k": "x", "town": "A"}]
    assert [(letter.port, letter.operator) for letter in one.letters] == [("placed.other", "placed.other")]
    other.run["placed.other"]([Message(0, b"?", b"y")])
    assert out(other) == [{"k": "x", "town": "A"}]  # of the record with the same offset in another topic
    one.run["placed.other"]([Message(2, None, b"x")])
    other.run["events"](messages([{"k": "x"}], start=1))
    assert len(out(other)) == 1


def test_whatever_stands_in_an_expression_stays_in_its_line() -> None:
    nasty = "k = 'a\\nb' or k\n\n  = 'x\u2028\x00\x85y'\r\n or  k = 'import os'"
    spec = programs.spec(
        {
            "streams": [{"name": "events", "topic": "events", "columns": "k string, a bigint, b bigint"}],
            "operators": [
                {"name": "some", "input": "events", "filter": nasty},
                {
                    "name": "counts",
                    "input": "some",
                    "aggregate": {"by": ["concat(k,\n'#')\nas g"], "values": ["count(*) as n"]},
                },
            ],
            "outputs": [{"name": "r", "input": "counts", "topic": "r"}],
        }
    )
    job = programs.Job(spec, cutting.alone(spec))
    job.run({"events": messages([{"k": "x\u2028\x00\x85y"}, {"k": "a\nb"}, {"k": "c"}])})

    assert job.letters == []
    assert {row["g"] for row in job.table("r").values()} == {"x\u2028\x00\x85y#", "a\nb#"}
    for made in job.loops.values():
        assert made.source.count("\n") == len(made.source.split("\n")) - 1 == len(made._owners)  # noqa: SLF001


def test_names_that_look_like_one_another_or_like_the_code_stay_apart() -> None:
    names = [
        "n",
        "record",
        "to",
        "goes",
        "passes",
        "value",
        "n--n",
        "n-n",
        "key-of",
        "of",
        "import",
        "c2",
        "x-main",
        "x",
    ]
    operators: list[dict[str, Any]] = [
        {"name": name, "input": names[i - 1] if i else "slowly-events", "filter": f"a > {i}"}
        for i, name in enumerate(names)
    ]
    operators += [
        {"name": "update", "input": "n", "aggregate": {"by": ["k"], "values": ["count(*) as record"]}},
        {"name": "row", "input": "update", "filter": "record > 0"},
        {
            "name": "class",
            "inputs": ["x", "events"],
            "select": ["k", "a as as", "b as value", "a as index", "a as c_a"],
        },
    ]
    columns = "k string, a bigint, b bigint"
    spec = programs.spec(
        {
            "streams": [{"name": name, "topic": name, "columns": columns} for name in ("events", "slowly-events")],
            "operators": operators,
            "outputs": [
                {"name": "text", "input": "row", "topic": "t1"},
                {"name": "text-text", "input": "class", "topic": "t2", "key": ["as"]},
            ],
        }
    )
    for segments in (cutting.alone(spec), programs.together(spec)):
        job = programs.Job(spec, segments)
        sent = messages([{"k": "x", "a": a, "b": 5} for a in (0, 1, 14, 15)])
        job.run({"events": sent, "slowly-events": sent})

        assert job.letters == []
        assert [row["as"] for row in job.rows("text-text")] == [0, 1, 14, 14, 15, 15]
        assert job.table("text") == {b"x": {"k": "x", "record": 3}}


def test_two_tables_join_as_they_change() -> None:
    text = """
streams: [{name: events, topic: events, columns: 'k string, a bigint'}]
tables: [{name: towns, topic: towns, key: [k], columns: 'k string, town string'}]
operators:
  - {name: counts, input: events, aggregate: {by: [k], values: ["count(*) as n"]}}
  - {name: placed, input: counts, join: {table: towns, by: [k], type: full}}
  - {name: shown, input: placed, select: [k, "coalesce(town, '?') as town", "coalesce(n, 0L) as n"]}
  - {name: sums, input: shown, aggregate: {by: [town], values: ["sum(n) as n"]}}
outputs: [{name: r, input: sums, topic: r}, {name: s, input: shown, topic: s}]
"""
    spec = programs.spec(text)
    for segments in (cutting.alone(spec), programs.together(spec), programs.together(spec, sources=True)):
        job = programs.Job(spec, segments, partitions=3)
        towns = [
            Message(i, value, key)
            for i, (key, value) in enumerate(
                [
                    (b"x", b'{"k": "x", "town": "A"}'),
                    (b"y", b'{"k": "y", "town": "A"}'),
                    (b"z", b'{"k": "z", "town": "B"}'),
                    (b"y", b'{"k": "y", "town": "B"}'),
                    (b"z", None),
                ]
            )
        ]
        job.run({"events": messages([{"k": k} for k in "xxywwz"]), "towns": towns})

        assert job.letters == []
        assert {row["town"]: row["n"] for row in job.table("r").values()} == {"A": 2, "B": 1, "?": 3}
        assert set(job.table("s")) == {b"w", b"x", b"y", b"z"}


def test_messages_of_the_kafka_client_are_what_is_asked_for() -> None:
    sent = confluent_kafka.Message("events", 0, 7, b"k", b'{"k": "x", "a": 1, "b": 10}', None, None, (1, 5))
    running = bound(loop(FILTERED, "positive", "divided"))
    running.run["events"]([sent])

    assert [row[:3] for row in running.outputs["r"]] == [(7, 0, 5000)]
