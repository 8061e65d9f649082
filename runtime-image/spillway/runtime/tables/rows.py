"""Rows as the changelog has them, and back: lists, with decimals as texts.

Rows are decoded as whatever is there, not by the types of their columns: if a wrong value ever got in, the state has to
be readable all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from spillway.model.types import ColumnType, Kind, Schema
from spillway.runtime.tables.updates import Row


def restorer(schema: Schema) -> Callable[[Sequence[Any]], Row]:
    """From the values of a decoded row to the row."""
    restore = {i: _value(column.type) for i, column in enumerate(schema) if _holds_decimal(column.type)}
    if not restore:
        return tuple

    def restored(values: Sequence[Any]) -> Row:
        row = list(values)
        for i, value in restore.items():
            row[i] = value(row[i])
        return tuple(row)

    return restored


def _holds_decimal(kind: ColumnType) -> bool:
    return kind.kind is Kind.DECIMAL or (kind.element is not None and _holds_decimal(kind.element))


def _value(kind: ColumnType) -> Callable[[Any], Any]:
    if kind.element is None:
        return lambda value: None if value is None else Decimal(value)
    element = _value(kind.element)
    return lambda value: None if value is None else [element(item) for item in value]
