"""Schemas survive being written and read again; any other text is refused in a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
from spillway.model import types
from spillway.model.types import Column, ColumnType, Schema

pytestmark = pytest.mark.fuzz

SIMPLE = st.sampled_from(
    [types.BOOLEAN, types.INT, types.BIGINT, types.DOUBLE, types.STRING, types.BINARY, types.DATE, types.TIMESTAMP]
)
DECIMALS = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: types.decimal(p, s)))
# As deep as is allowed, and one deeper.
KINDS: st.SearchStrategy[ColumnType] = st.builds(
    lambda kind, depth: kind if depth == 0 else types.array(kind), st.one_of(SIMPLE, DECIMALS), st.integers(0, 1)
)
NAMES = st.from_regex(types.NAME, fullmatch=True)
SCHEMAS = st.lists(st.builds(Column, NAMES, KINDS), min_size=1, max_size=8, unique_by=lambda c: c.name.lower())
WORDS = st.sampled_from(["a", "b", "B", "int", "decimal", "array", "float", "map", *"(),<>:`'1", "38", "é"])
TEXTS = st.one_of(st.text(max_size=60), *(st.lists(WORDS, max_size=14).map(glue.join) for glue in ("", " ")))


def nested(kind: ColumnType, depth: int) -> ColumnType:
    for _ in range(depth):
        kind = types.array(kind)
    return kind


@fuzzing.cases(200)
@given(SCHEMAS)
def test_a_schema_that_is_written_reads_the_same(columns: list[Column]) -> None:
    schema = Schema(tuple(columns))
    assert types.parse_schema(str(schema)) == schema


@fuzzing.cases(100)
@given(st.one_of(SIMPLE, DECIMALS), st.integers(0, 20))
def test_arrays_are_read_as_deep_as_allowed(kind: ColumnType, depth: int) -> None:
    deep = nested(kind, depth)
    try:
        assert types.parse_type(str(deep)) == deep
    except ValueError:
        assert depth > types.MAX_DEPTH
    else:
        assert depth <= types.MAX_DEPTH


@fuzzing.cases(500)
@given(TEXTS)
def test_any_text_is_a_schema_or_refused_in_a_short_sentence(text: str) -> None:
    try:
        schema = types.parse_schema(text)
    except ValueError as error:
        assert 0 < len(str(error)) < 250  # noqa: PT017 - either outcome is right
    else:
        assert types.parse_schema(str(schema)) == schema
        assert len({name.lower() for name in schema.names}) == len(schema)
