"""Rows come back from letters exactly; what is replayed ends where it would be had nothing failed."""

from __future__ import annotations

import contextlib
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import programs
import topologies
from fuzzing import cases
from programs import messages
from replayed import NAMES, LetterJob
from row_values import rows, same, schemas
from spillway.model import types
from spillway.model.types import Schema
from spillway.runtime import letters
from spillway.runtime.codecs import exact
from spillway.runtime.functions import Function
from spillway.runtime.letters import Letter, LetterError
from spillway.runtime.programs import running
from spillway.runtime.programs.program import Port, Program
from spillway.runtime.replays import works

CODE = Path(__file__).parents[1] / "support" / "user_code"
LABELS = [{"k": k, "label": label} for k, label in topologies.LABELS.items()]
seeds = st.integers(0, 2**32)
BIGINTS = st.integers(-(2**63), 2**63 - 1)
ANYTHING = st.text(max_size=9) | st.binary(max_size=9) | st.floats() | st.decimals() | BIGINTS | st.none()


def _program(schema: Schema) -> Program:
    port = Port("x", None, 0, schema, updates=False)
    return Program("x", (port,), (), (), ())


def _letter(schema: Schema, row: Any, error: str = "ValueError: no") -> running.Letter:
    return running.Letter("x", 4, 2, "y", error, (3, "line"), 5, tuple(schema.names), row)


@cases(80)
@given(schemas(least=1).flatmap(lambda schema: st.tuples(st.just(schema), rows(schema))))
def test_a_row_of_any_types_comes_back_exactly(given_row: tuple[Schema, Any]) -> None:
    schema, row = given_row
    read = letters.decode(letters.encode(_letter(schema, row), _program(schema), 3, NAMES))

    assert isinstance(read, Letter)
    assert same(tuple(read.values().values()), row)
    assert [f"{name} {kind}" for name, kind in read.columns] == [f"{c.name} {c.type}" for c in schema]


@cases(100)
@given(st.recursive(ANYTHING | st.text(st.characters(), max_size=5), lambda inner: st.lists(inner, max_size=3)))
def test_any_value_that_a_row_may_hold_comes_back_exactly(value: Any) -> None:
    assert same(exact.read(exact.written(value)), value)


@cases(60)
@given(
    st.text(st.characters(), max_size=30),
    st.lists(ANYTHING | st.integers() | st.dictionaries(st.text(), ANYTHING) | st.sets(st.text())),
)
def test_whatever_a_row_holds_and_an_error_says_it_becomes_a_letter(error: str, row: list[Any]) -> None:
    schema = types.parse_schema(", ".join(f"c{i} string" for i in range(len(row) or 1)))
    found = _letter(schema, tuple(row), error)

    assert isinstance(letters.decode(letters.encode(found, _program(schema), 0, NAMES)), Letter)


@cases(150)
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_bytes_are_a_letter_or_an_error(data: bytes) -> None:
    with contextlib.suppress(LetterError):
        letters.decode(data)


@cases(80)
@given(seeds, st.data())
def test_a_letter_with_changed_bytes_is_read_or_refused(seed: int, data: st.DataObject) -> None:
    schema = types.parse_schema("a decimal(5,2), b binary")
    written = bytearray(letters.encode(_letter(schema, (None, b"abc")), _program(schema), 0, NAMES))
    for _ in range(data.draw(st.integers(1, 3))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(LetterError):
        found = letters.decode(bytes(written))
        if isinstance(found, Letter):
            found.values()


# Replays


class _Failing:
    """A function that fails on a third of the records, for as long as it is broken."""

    def __init__(self, function: Function) -> None:
        self.function, self.broken = function, True

    def __call__(self, given_: Any) -> Any:
        records = [given_] if isinstance(given_, dict) else given_.to_pylist()
        if self.broken and any(zlib.crc32(repr(sorted(one.items())).encode()) % 3 == 0 for one in records):
            message = f"not today: {records[0]['k']!r}"
            raise ValueError(message)
        return self.function.call(given_)


def _mended(seed: int, size: int, count: int) -> tuple[Any, Any, int]:
    """What there is in the end, what there should be, and how many letters there were."""
    dice = programs.seeded(seed)
    made = topologies.topology(dice, size)
    spec = programs.spec(made.parts)
    events = topologies.events(dice, count)
    failing = {name: _Failing(function) for name, function in programs.loaded(spec, CODE).items()}
    loaded = {name: Function(name, one, one.function.digest) for name, one in failing.items()}
    job = LetterJob(spec, topologies.segments(dice, made.operators), loaded, partitions=3, dice=dice)
    sent = messages(events)
    job.run({"events": {0: sent[::2], 1: sent[1::2]}, "labels": messages(LABELS)})
    count = len(job.read())
    assert all(route.leads for _, route in job.routed()), [route for _, route in job.routed()]
    for one in failing.values():
        one.broken = False
    job.replay(loaded.__getitem__)
    assert job.read() == []
    found = {}
    for output in made.outputs:
        name = output["name"]
        rows_of = job.table(name).values() if output["input"] in made.tables else job.rows(name)
        found[name] = _sorted(rows_of)
    return found, {name: _sorted(rows_of) for name, rows_of in made.expected(events).items()}, count


def _sorted(given_rows: Any) -> list[Any]:
    return sorted(({name: row[name] for name in sorted(row)} for row in given_rows), key=repr)


@cases(25)
@given(seeds, st.integers(1, 9), st.integers(0, 30))
def test_letters_of_a_mended_function_end_where_they_would_have_been(seed: int, size: int, count: int) -> None:
    found, expected, _ = _mended(seed, size, count)

    assert found == expected


def test_there_are_letters_and_one_that_is_lost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(_mended(seed, 8, 30)[2] for seed in range(10)) > 50

    again = works.Works.again
    monkeypatch.setattr(
        works.Works, "again", lambda self, letter, number, *rest: again(self, letter, number, *rest)[:0]
    )
    assert any(found != expected for found, expected, _ in (_mended(seed, 8, 30) for seed in range(10)))


def test_a_letter_is_never_larger_than_a_message_may_be() -> None:
    schema = types.parse_schema("a string, b binary, c array<string>")
    for row in (
        ("x" * 9_000_000, b"y", ["z"]),
        ("small", b"y" * 9_000_000, None),
        ("\x00" * 1_000_000, b"", ["\ud800" * 1000] * 1000),
        (None, b"", ["x" * 1000] * 9000),
    ):
        data = letters.encode(_letter(schema, row, "long " * 1_000_000), _program(schema), 0, NAMES)
        read = letters.decode(data)
        assert isinstance(read, Letter)
        assert len(data) <= letters.MOST
        if sys.getsizeof(row[0]) > letters.MOST:
            assert "large values were cut" in read.cut
            assert exact.read(read.row[1]) == b"y" if read.row else False
            with pytest.raises(LetterError, match="large values were cut"):
                read.values()
