"""Vectorised functions in the loop: whole batches, single culprits, and rows that keep their positions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import programs
from programs import messages
from spillway.runtime.functions import Function
from spillway.runtime.programs import cutting
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.running import Running

TEXT = """
streams: [{{name: events, topic: events, columns: 'k string, a bigint, at timestamp, day date, n decimal(9,2), xs array<timestamp>', timestamp: at}}]
operators:
  - {{name: all, input: events, filter: "a is not null"}}
  - {{name: called, input: all, python: {{function: "m:f", as: {kind}, vectorised: true, {more}}}}}
  - {{name: last, input: called, filter: "100 div a > 0"}}
outputs: [{{name: r, input: last, topic: r}}, {{name: s, input: all, topic: s}}]
"""  # noqa: E501
ALL = "returns: 'k string, a bigint, at timestamp, day date, n decimal(9,2), xs array<timestamp>'"


def run(
    call: Callable[..., Any], records: list[Any], kind: str = "map", more: str = ALL, at_once: int = 100
) -> Running:
    more = "costs: {cpu: 1ms}" if kind == "filter" else more
    text = TEXT.format(kind=kind, more=more)
    if kind == "filter":
        text = text.replace("vectorised: true, costs: {cpu: 1ms}}", "vectorised: true}")
    spec = programs.spec(text)
    (program,) = cutting.cut(spec, {"all": ("all", "called", "last")}, {"m:f": "d"})
    running = Loop(program, {"m:f": Function("m:f", call, "d")}).bind()
    sent = messages([{"at": 5, **record} for record in records])
    for i in range(0, len(sent), at_once):
        running.run["events"](sent[i : i + at_once])
    return running


def out(running: Running, name: str = "r") -> list[Any]:
    return [msgspec.json.decode(value) for *_, value in running.outputs[name]]


RECORDS = [
    {"k": "x", "a": 1, "day": "2026-03-01", "n": 1.5, "xs": [1, None]},
    {"k": "é", "a": 2, "at": "2026-03-01T00:00:00.5Z"},
    {"k": None, "a": 3, "n": -0.01, "xs": []},
]


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_every_type_goes_to_arrow_and_back(at_once: int) -> None:
    seen: list[int] = []

    def same(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch.num_rows)
        return batch

    running = run(same, RECORDS, at_once=at_once)

    assert running.letters == []
    assert out(running) == out(running, "s")
    assert len(out(running)) == 3
    assert max(seen) == min(at_once, 3)


def test_columns_may_come_in_any_order_and_near_types() -> None:
    def near(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict(
            {"y": pc.add(batch["a"], 1).cast(pa.int16()), "a": batch["a"], "more": batch["k"]}
        )

    assert out(run(near, RECORDS, more="returns: 'a bigint, y double'")) == [
        {"a": 1, "y": 2.0},
        {"a": 2, "y": 3.0},
        {"a": 3, "y": 4.0},
    ]


def test_rows_keep_the_positions_of_their_records() -> None:
    running = run(lambda batch: batch, RECORDS)

    assert [row[:3] for row in running.outputs["r"]] == [(0, 0, 5000), (1, 0, 1_772_323_200_500_000), (2, 0, 5000)]


def test_one_bad_record_is_one_letter() -> None:
    def fragile(batch: pa.RecordBatch) -> pa.RecordBatch:
        if 2 in batch["a"].to_pylist():
            message = "no twos"
            raise ValueError(message)
        return batch

    running = run(fragile, [{"a": 1}, {"a": 2}, {"a": 3}])

    assert [row["a"] for row in out(running)] == [1, 3]
    assert [row["a"] for row in out(running, "s")] == [1, 2, 3]
    (letter,) = running.letters
    assert (letter.operator, letter.offset, letter.error) == ("called", 1, "ValueError: no twos")
    assert (letter.timestamp, dict(zip(letter.columns, letter.row or (), strict=True))["a"]) == (5000, 2)
    counts = running.counts()
    assert (counts["called"].records_in, counts["called"].records_out, counts["called"].errors) == (3, 2, 1)
    assert counts["called"].timed == 3


def test_one_that_exits_makes_letters_and_an_interrupt_ends_the_loop() -> None:
    def exits(batch: pa.RecordBatch) -> pa.RecordBatch:
        return sys.exit(1) if 2 in batch["a"].to_pylist() else batch

    def interrupts(batch: pa.RecordBatch) -> pa.RecordBatch:
        raise KeyboardInterrupt

    running = run(exits, [{"a": 1}, {"a": 2}])

    assert [row["a"] for row in out(running)] == [1]
    assert [letter.error for letter in running.letters] == ["SystemExit: 1"]
    with pytest.raises(KeyboardInterrupt):
        run(interrupts, [{"a": 1}, {"a": 2}])


def test_what_raises_behind_it_takes_nothing_else_with_it() -> None:
    running = run(lambda batch: batch, [{"a": 1}, {"a": 0}, {"a": 2}])

    assert [row["a"] for row in out(running)] == [1, 2]
    assert [row["a"] for row in out(running, "s")] == [1, 0, 2]
    assert [(letter.operator, letter.offset) for letter in running.letters] == [("last", 1)]


def test_a_flat_map_says_of_which_row_each_was_made() -> None:
    def several(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = [i for i, a in enumerate(batch["a"].to_pylist()) for _ in range(a)]
        return pa.RecordBatch.from_pydict({"a": pa.array(rows[::-1], pa.int64()), "_row": rows[::-1]})

    running = run(several, [{"a": 2}, {"a": 0}, {"a": 1}, {"a": 1}], kind="flatMap", more="returns: 'a bigint'")

    assert [(row[0], row[1]) for row in running.outputs["r"]] == [(2, 0), (3, 0)]
    assert [letter.offset for letter in running.letters] == [0, 0]  # 100 div 0, for both of its rows


def test_a_filter_gives_a_boolean_array() -> None:
    kept = run(lambda batch: pc.greater(batch["a"], 1), RECORDS, kind="filter")
    wrapped = run(lambda batch: pa.RecordBatch.from_pydict({"x": [True, None, False]}), RECORDS, kind="filter")

    assert [row["a"] for row in out(kept)] == [2, 3]
    assert [row["a"] for row in out(wrapped)] == [1]


@pytest.mark.parametrize(
    ("kind", "result", "why"),
    [
        ("map", None, "m:f gave NoneType, not an Arrow record batch"),
        ("map", pa.RecordBatch.from_pydict({"a": pa.array([1, 2])}), "gave 2 rows for 1; a map gives one for each"),
        ("map", pa.RecordBatch.from_pydict({"b": pa.array([1])}), "m:f left out column 'a'"),
        ("map", pa.RecordBatch.from_pydict({"a": pa.array(["x"])}), "m:f, column 'a': expected bigint, found string"),
        ("map", pa.RecordBatch.from_pydict({"a": pa.array([1.5])}), "m:f, column 'a': expected bigint, found double"),
        ("flatMap", pa.RecordBatch.from_pydict({"a": pa.array([1])}), "needs an int column '_row'"),
        ("flatMap", pa.RecordBatch.from_pydict({"a": pa.array([1]), "_row": [1]}), "needs an int column '_row'"),
        ("filter", [True], "gave list, not a boolean array"),
        ("filter", pa.array([1]), "not a boolean array"),
        ("filter", pa.array([True, True]), "gave 2 values for 1 rows"),
    ],
)
def test_a_wrong_result_is_a_letter(kind: str, result: Any, why: str) -> None:
    running = run(lambda batch: result, [{"a": 1}], kind=kind, more="returns: 'a bigint'")

    assert out(running) == []
    assert why in running.letters[0].error
    assert running.letters[0].operator == "called"


def test_a_vectorised_filter_may_read_a_table() -> None:
    text = """
streams: [{name: events, topic: events, columns: 'k string'}]
operators:
  - {name: counts, input: events, aggregate: {by: [k], values: ["count(*) as n"]}}
  - {name: odd, input: counts, python: {function: "m:f", as: filter, vectorised: true}}
outputs: [{name: r, input: odd, topic: r}]
"""
    spec = programs.spec(text)
    odd = Function("m:f", lambda batch: pc.equal(pc.bit_wise_and(batch["n"], 1), 1), "d")
    job = programs.Job(spec, programs.together(spec), {"m:f": odd})
    job.run({"events": messages([{"k": k} for k in "aabccc"])})

    assert job.letters == []
    assert {row["k"]: row["n"] for row in job.table("r").values()} == {"b": 1, "c": 3}


def test_behind_a_join_of_streams_each_pair_is_judged_alone() -> None:
    text = """
streams:
  - {name: lefts, topic: lefts, columns: 'k string, a bigint'}
  - {name: rights, topic: rights, columns: 'k string, b bigint'}
operators:
  - {name: both, input: lefts, join: {stream: rights, by: [k], within: 10s}}
  - {name: called, input: both, python: {function: "m:f", as: map, vectorised: true, returns: 'a bigint, b bigint'}}
  - {name: last, input: called, select: ["a div b as q"]}
outputs: [{name: r, input: last, topic: r}]
"""

    def fragile(batch: pa.RecordBatch) -> pa.RecordBatch:
        if 5 in batch["b"].to_pylist():
            message = "no fives"
            raise ValueError(message)
        return batch

    spec = programs.spec(text)
    job = programs.Job(spec, programs.together(spec), {"m:f": Function("m:f", fragile, "d")})
    job.programs = tuple(sorted(job.programs, key=lambda program: ["rights", "lefts", "both"].index(program.name)))
    job.run({"lefts": messages([{"k": "x", "a": 10}]), "rights": messages([{"k": "x", "b": b} for b in (1, 0, 5, 2)])})

    assert [row["q"] for row in job.rows("r")] == [10, 5]
    assert [letter.operator for letter in job.letters] == ["called", "last"]
