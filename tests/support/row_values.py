"""Values of every type of column, for random rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from spillway.expressions import arithmetic
from spillway.model import types
from spillway.model.types import Column, ColumnType, Kind, Schema

TYPES = [
    types.BOOLEAN, types.INT, types.BIGINT, types.DOUBLE, types.decimal(38, 10), types.decimal(5, 0), types.STRING,
    types.BINARY, types.DATE, types.TIMESTAMP, types.array(types.STRING), types.array(types.array(types.decimal(9, 2))),
    types.array(types.DOUBLE), types.array(types.TIMESTAMP),
]  # fmt: skip


def values(kind: ColumnType) -> st.SearchStrategy[Any]:
    """Any value of a type, null too."""
    if kind.element is not None:
        return st.none() | st.lists(values(kind.element), max_size=3)
    match kind.kind:
        case Kind.BOOLEAN:
            found: st.SearchStrategy[Any] = st.booleans()
        case Kind.INT | Kind.DATE:
            found = st.integers(-(2**31), 2**31 - 1)
        case Kind.BIGINT | Kind.TIMESTAMP:
            found = st.integers(-(2**63), 2**63 - 1)
        case Kind.DOUBLE:
            found = st.floats()
        case Kind.DECIMAL:
            most = 10**kind.precision - 1
            found = st.integers(-most, most).map(lambda whole: Decimal(whole).scaleb(-kind.scale, arithmetic.EXACT))
        case Kind.BINARY:
            found = st.binary(max_size=9)
        case _:
            found = st.text(st.characters(codec="utf-8"), max_size=9)
    return st.none() | found


def schemas(*, most: int = 5, least: int = 0, keys: bool = False) -> st.SearchStrategy[Schema]:
    """Columns of any types; of those that a key can have, if so asked."""
    fit = [kind for kind in TYPES if not keys or (kind.element is None and kind != types.DOUBLE)]
    found = st.lists(st.sampled_from(fit), min_size=least, max_size=most)
    return found.map(lambda kinds: Schema(tuple(Column(f"c{i}", kind) for i, kind in enumerate(kinds))))


def rows(schema: Schema) -> st.SearchStrategy[tuple[Any, ...]]:
    """A row of these columns."""
    return st.tuples(*(values(column.type) for column in schema))


def same(one: Any, other: Any) -> bool:
    """Equal with all types and digits; NaN is NaN."""
    return repr(one) == repr(other)
