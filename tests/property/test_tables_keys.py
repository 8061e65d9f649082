"""Keys as bytes: equal values have equal bytes, different ones different bytes, and bytes become values again."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
from spillway.expressions import arithmetic
from spillway.model import types
from spillway.model.types import ColumnType
from spillway.runtime import keys

BIGINTS = st.integers(-(2**63), 2**63 - 1)
# Few different values of each type, so that equal ones meet; and any values.
VALUES: dict[ColumnType, st.SearchStrategy[Any]] = {
    types.BOOLEAN: st.booleans(),
    types.INT: st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1),
    types.BIGINT: st.integers(-3, 3) | BIGINTS,
    types.decimal(38, 4): st.integers(-30_000, 30_000).map(lambda n: Decimal(n).scaleb(-4, arithmetic.EXACT))
    | st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(n).scaleb(-4, arithmetic.EXACT)),
    types.STRING: st.sampled_from(["", "a", "b", "1"]) | st.text(),
    types.BINARY: st.sampled_from([b"", b"a", b"1"]) | st.binary(),
    types.DATE: st.integers(-3, 3) | st.integers(-719_162, 2_932_896),
    types.TIMESTAMP: st.integers(-3, 3) | BIGINTS,
}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[ColumnType], tuple[Any, ...], tuple[Any, ...]]:
    """Types, and two keys of them."""
    kinds = draw(st.lists(st.sampled_from([*VALUES]), max_size=3))
    one, other = (tuple(draw(st.none() | VALUES[kind]) for kind in kinds) for _ in range(2))
    return kinds, one, other


@fuzzing.cases(400)
@given(pairs())
def test_keys_are_equal_just_where_their_bytes_are(
    drawn: tuple[list[ColumnType], tuple[Any, ...], tuple[Any, ...]],
) -> None:
    kinds, one, other = drawn
    encode = keys.encoder(kinds)

    assert (encode(one) == encode(other)) == (one == other)
    assert encode(one) == keys.encode(one)


@fuzzing.cases(400)
@given(pairs())
def test_bytes_become_the_same_values_digit_for_digit(
    drawn: tuple[list[ColumnType], tuple[Any, ...], tuple[Any, ...]],
) -> None:
    kinds, one, _ = drawn

    again = keys.decoder(kinds)(keys.encoder(kinds)(one))

    assert repr(again) == repr(one)


@fuzzing.cases(200)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=6), st.integers(0, 5))
def test_digits_after_the_point_make_no_other_key(value: Decimal, more: int) -> None:
    longer = Decimal(f"{value:f}{'0' * more}")

    assert keys.encode((value,)) == keys.encode((longer,))


def test_bytes_that_keep_the_digits_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_extension", str)

    with pytest.raises(AssertionError):
        test_digits_after_the_point_make_no_other_key()


@fuzzing.cases(100)
@given(st.binary(), st.integers(1, 1000))
def test_a_partition_is_one_of_those_there_are(key: bytes, partitions: int) -> None:
    assert 0 <= keys.partition(key, partitions) < partitions
