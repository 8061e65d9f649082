"""What is written is read again as it was, different keys stay different, and no message does more than raise."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import cases
from programs import Message, decoder, encoder, keyer
from row_values import TYPES, rows, same, schemas
from spillway.expressions import EvaluationError
from spillway.model.kafka import Stream, Table
from spillway.model.types import Column, Schema
from spillway.runtime.codecs.values import CodecError

EVERYTHING = Schema(tuple(Column(f"c{i}", kind) for i, kind in enumerate(TYPES)))
STREAM = Stream(name="s", topic="s", columns=str(EVERYTHING))
DECODE, ENCODE = decoder(STREAM), encoder(EVERYTHING)

# What a message may raise: that it is no JSON, no UTF-8, nested too deep, or no record.
EXPECTED = (CodecError, EvaluationError, msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@cases(100)
@given(rows(EVERYTHING))
def test_a_row_that_is_written_is_read_as_it_was(row: tuple[Any, ...]) -> None:
    assert same(DECODE(Message(0, ENCODE(row)))[1], row)


@st.composite
def two_keys(draw: st.DrawFn) -> tuple[Schema, tuple[Any, ...], tuple[Any, ...]]:
    schema = draw(schemas(least=1, most=2, keys=True))
    return schema, draw(rows(schema)), draw(rows(schema))


@cases(70)
@given(two_keys())
def test_different_keys_have_different_bytes_and_each_finds_its_row(keys: Any) -> None:
    schema, one, other = keys
    key = keyer(schema)
    table = Table(name="t", topic="t", columns=f"{schema}, v int", key=schema.names)
    _, old, new = decoder(table)(Message(0, None, key(one)))

    assert (key(one) == key(other)) == (one == other)
    assert same(old, (*one, None))
    assert new is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
near_values = st.sampled_from(["2026-03-01", "NaN", "1e5", "AP8=", "12:30", "1e999999999", "{", "\ud7ff", "9" * 40])


@cases(120)
@given(st.dictionaries(st.sampled_from(EVERYTHING.names), json_values | near_values, max_size=6))
def test_any_object_is_a_record_or_an_error(record: dict[str, Any]) -> None:
    with contextlib.suppress(*EXPECTED):
        _, row = DECODE(Message(0, json.dumps(record).encode()))
        assert len(row) == len(EVERYTHING)
        ENCODE(row)


number = st.from_regex(r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,12})?", fullmatch=True)


@cases(100)
@given(st.sampled_from(EVERYTHING.names), number)
def test_any_number_is_a_value_or_an_error(name: str, text: str) -> None:
    with contextlib.suppress(*EXPECTED):
        ENCODE(DECODE(Message(0, f'{{"{name}": {text}}}'.encode()))[1])


@cases(100)
@given(st.binary(max_size=40) | st.text(alphabet='{}[]",:0123456789eE.+-\\unltrasf c0', max_size=40).map(str.encode))
def test_any_bytes_are_a_record_or_an_error(data: bytes) -> None:
    with contextlib.suppress(*EXPECTED):
        DECODE(Message(0, data))


KEYED = [
    decoder(Table(name="t", topic="t", columns=f"k {kind}, v int", key=("k",))) for kind in TYPES[:3] + TYPES[4:10]
]


@cases(70)
@given(st.sampled_from(KEYED), st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode))
def test_any_key_deletes_or_is_an_error(decode: Any, key: bytes | None) -> None:
    with contextlib.suppress(*EXPECTED):
        assert decode(Message(0, None, key))[2] is None
