"""SQL of DuckDB with types, and how types and names are written there."""

from __future__ import annotations

import dataclasses

from spillway.model.types import ColumnType, Kind

_NAMES = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INT: "INTEGER",
    Kind.BIGINT: "BIGINT",
    Kind.DOUBLE: "DOUBLE",
    Kind.STRING: "VARCHAR",
    Kind.BINARY: "BLOB",
    Kind.DATE: "DATE",
    # Without a zone: with one, DuckDB's own session zone and its extension for it would have a say.
    Kind.TIMESTAMP: "TIMESTAMP",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Sql:
    """SQL of a value, and its type."""

    text: str
    type: ColumnType

    def to(self, kind: ColumnType) -> str:
        """The same as another type that holds it."""
        return self.text if self.type == kind else f"CAST({self.text} AS {type_name(kind)})"


def type_name(kind: ColumnType) -> str:
    """A type as DuckDB calls it."""
    if kind.kind is Kind.DECIMAL:
        return f"DECIMAL({kind.precision},{kind.scale})"
    if kind.kind is Kind.ARRAY and kind.element is not None:
        return f"{type_name(kind.element)}[]"
    return _NAMES[kind.kind]


def quoted(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"
