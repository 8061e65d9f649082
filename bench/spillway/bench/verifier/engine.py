"""Expressions over many rows at once, in DuckDB.

What raises on one row stops a whole query; so a query that raises is halved until the row is alone. A double with a
slack is asked at both ends of it too: where the results differ only a little, the result has a slack itself; where a
condition or a whole number falls on one side or the other, it is unsure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from spillway.bench.verifier import functions
from spillway.bench.verifier.relations import EXACT, NOTHING, Row, UnverifiableError, Values
from spillway.bench.verifier.translation import Translated
from spillway.model.types import ColumnType, Kind, Schema

_ARROW = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
}
# How much wider than what was seen at the ends of a slack: the function between them need not be a line.
_WIDER = 4.0


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What some expressions give for one row.

    Attributes:
        values: of each expression; None where one of them raised.
        shaky: whether it raises, or what, is not certain.
        unsure: places of expressions whose values are not.
        slack: by place, how far a double may be off.
    """

    values: Values | None
    shaky: bool = False
    unsure: frozenset[int] = NOTHING
    slack: Mapping[int, float] = dataclasses.field(default_factory=lambda: EXACT)


class Engine:
    """A DuckDB in memory. Nothing of it is shared, and it reads nothing but what it is given."""

    def __init__(self) -> None:
        self._db = duckdb.connect(config={"threads": 1, "enable_external_access": "false"})
        self._db.execute("SET error_on_division_by_zero = true")
        # It would take out what has a certain result, with the errors in it: (x + y) * (z - z).
        self._db.execute("PRAGMA disable_optimizer")
        for name, (function, given, result) in functions.OF_PYTHON.items():
            self._db.create_function(name, function, given, result)

    def close(self) -> None:
        """Give the memory back."""
        self._db.close()

    def evaluate(self, items: Sequence[Translated], schema: Schema, rows: Sequence[Row]) -> list[Result]:
        """The values of all expressions for each row."""
        if not items:
            return [Result(()) for _ in rows]
        plain = self._values(items, schema, [row.values for row in rows])
        places = {name: place for place, name in enumerate(schema.names)}
        reads = [frozenset(places[name] for name in item.columns) for item in items]
        used = frozenset[int]().union(*reads)
        lazy = any(item.lazy for item in items)
        found = []
        for row, values in zip(rows, plain, strict=True):
            unsure = frozenset(i for i, read in enumerate(reads) if read & row.unsure) if row.unsure else NOTHING
            raised = values is None and (lazy or any(row.values[place] is None for place in used))
            found.append(Result(values, bool(unsure) or raised, unsure))
        self._hidden(items, schema, rows, found)
        self._spread(items, schema, rows, found)
        return found

    def _hidden(self, items: Sequence[Translated], schema: Schema, rows: Sequence[Row], found: list[Result]) -> None:
        """Where a result is null, look whether a part of it raises: then it may be an error as well."""
        asked = [i for i, result in enumerate(found) if result.values is not None and None in result.values]
        parts = [
            Translated(part.text, part.type, item.columns, lazy=False, name=item.name)
            for item in items
            for part in item.parts
            if len(item.parts) > 1 and part.type.kind is not Kind.NULL
        ]
        if not asked or not parts:
            return
        for i, values in zip(asked, self._values(parts, schema, [rows[i].values for i in asked]), strict=True):
            if values is None:
                found[i] = dataclasses.replace(found[i], values=None, shaky=True)

    def _spread(self, items: Sequence[Translated], schema: Schema, rows: Sequence[Row], found: list[Result]) -> None:
        """Ask rows with a slack again, at its ends."""
        used = frozenset(place for place, name in enumerate(schema.names) if any(name in i.columns for i in items))
        asked = [i for i, row in enumerate(rows) if used & row.slack.keys()]
        variants = [(i, values) for i in asked for values in _variants(rows[i], used)]
        results = self._values(items, schema, [values for _, values in variants])
        for (i, _), values in zip(variants, results, strict=True):
            found[i] = _spread(found[i], values, [item.type for item in items])

    def _values(self, items: Sequence[Translated], schema: Schema, rows: Sequence[Values]) -> list[Values | None]:
        used = sorted({name for item in items for name in item.columns})
        places = [schema.names.index(name) for name in used]
        kinds = [schema.columns[place].type for place in places]
        results = ", ".join(f"{item.text} AS r{i}" for i, item in enumerate(items))
        query = f"SELECT {results} FROM given ORDER BY __at"  # noqa: S608 - built of checked expressions
        found: list[Values | None] = [None] * len(rows)
        pending = [(0, len(rows))] if rows else []
        while pending:
            first, end = pending.pop()
            columns = {"__at": pa.array(range(first, end), pa.int64())}
            for name, place, kind in zip(used, places, kinds, strict=True):
                columns[name] = _array([row[place] for row in rows[first:end]], kind)
            try:
                answer = self._ask(query, pa.table(columns))
            except duckdb.Error as error:
                if isinstance(error, duckdb.BinderException | duckdb.CatalogException | duckdb.ParserException):
                    message = f"can't verify {[item.name or item.text for item in items]}: DuckDB says {error}"
                    raise UnverifiableError(message) from None
                if end - first > 1:
                    middle = (first + end) // 2
                    pending += [(first, middle), (middle, end)]
                continue
            results_of = [_values(answer.column(i), item.type) for i, item in enumerate(items)]
            found[first:end] = list(zip(*results_of, strict=True))
        return found

    def _ask(self, query: str, given: pa.Table) -> pa.Table:
        self._db.register("given", given)
        try:
            return self._db.sql(query).to_arrow_table()
        finally:
            self._db.unregister("given")


def _variants(row: Row, used: frozenset[int]) -> list[Values]:
    """The row with each of its inexact doubles at either end, and all of them together."""
    places = [place for place in sorted(used & row.slack.keys()) if isinstance(row.values[place], float)]
    sets = [(place,) for place in places] + ([tuple(places)] if len(places) > 1 else [])
    found = []
    for group in sets:
        for sign in (-1.0, 1.0):
            values = list(row.values)
            for place in group:
                values[place] += sign * row.slack[place]
            found.append(tuple(values))
    return found


def _spread(result: Result, values: Values | None, kinds: Sequence[ColumnType]) -> Result:
    """What a result is, now that another one is possible too."""
    if result.values is None or values is None:
        return dataclasses.replace(result, shaky=result.shaky or (result.values is None) != (values is None))
    unsure, slack = set(result.unsure), dict(result.slack)
    for i, (one, other, kind) in enumerate(zip(result.values, values, kinds, strict=True)):
        if one == other:
            continue
        if kind.kind is Kind.DOUBLE and one is not None and other is not None and abs(one - other) < float("inf"):
            slack[i] = max(slack.get(i, 0.0), abs(one - other) * _WIDER)
        else:
            unsure.add(i)
    return Result(result.values, result.shaky, frozenset(unsure), slack)


def _array(values: list[Any], kind: ColumnType) -> pa.Array:
    match kind.kind:
        case Kind.TIMESTAMP:
            return pa.array(values, pa.int64()).cast(pa.timestamp("us"))
        case Kind.DATE:
            return pa.array(values, pa.int32()).cast(pa.date32())
    return pa.array(values, _arrow(kind))


def _arrow(kind: ColumnType) -> pa.DataType:
    if kind.kind is Kind.DECIMAL:
        return pa.decimal128(kind.precision, kind.scale)
    if kind.kind is Kind.ARRAY and kind.element is not None:
        if kind.element.kind in {Kind.DATE, Kind.TIMESTAMP}:
            message = f"can't verify expressions over columns of type {kind}"
            raise UnverifiableError(message)
        return pa.list_(_arrow(kind.element))
    return _ARROW[kind.kind]


def _values(column: pa.ChunkedArray, kind: ColumnType) -> list[Any]:
    match kind.kind:
        case Kind.TIMESTAMP:
            column = column.cast(pa.timestamp("us")).cast(pa.int64())
        case Kind.DATE:
            column = column.cast(pa.date32()).cast(pa.int32())
    found: list[Any] = column.to_pylist()
    return found
