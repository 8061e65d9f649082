"""The functions of the user, called themselves; what they give is held to the types of `returns`."""

from __future__ import annotations

import datetime
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from spillway.bench.verifier import decoding
from spillway.bench.verifier.relations import UnverifiableError, Values
from spillway.model.operators import Python, PythonKind
from spillway.model.types import ColumnType, Kind, Schema

ROW = "_row"  # the column of a vectorised flatMap that says of which row each row was made
_BITS = {Kind.INT: 31, Kind.BIGINT: 63}


class FailedError(Exception):
    """The function raised, or gave something else than rows: a dead letter."""


Results = list[Values] | FailedError
Call = Callable[[Sequence[Values]], list[Results]]


class Caller:
    """The modules of a job's code."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def function(self, python: Python, given: Schema, schema: Schema) -> Call:
        """From rows to what the function makes of each; of a filter the row itself, or nothing."""
        function = self._loaded(python.function)
        if python.vectorised:
            return _Vectorised(function, python.as_, given, schema).each
        return lambda rows: [_single(function, python.as_, given, schema, row) for row in rows]

    def _loaded(self, reference: str) -> Callable[..., Any]:
        module, _, name = reference.partition(":")
        if self._folder is not None and str(self._folder) not in sys.path:
            sys.path.append(str(self._folder))  # at the end: a job's modules hide nobody else's
        try:
            found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            message = f"function {reference!r} can't be loaded: {error}; give --code DIR"
            raise UnverifiableError(message) from None
        return found


def _single(function: Callable[..., Any], kind: PythonKind, given: Schema, schema: Schema, row: Values) -> Results:
    try:
        record = {c.name: _seen(value, c.type) for c, value in zip(given, row, strict=True)}
        result = function(record)
        if kind is PythonKind.FILTER:
            if not isinstance(result, bool):
                return FailedError(repr(result))
            return [row] if result else []
        return [_row(one, schema) for one in ([result] if kind is PythonKind.MAP else result)]
    except Exception as error:
        return FailedError(f"{type(error).__name__}: {error}")


def _row(record: Any, schema: Schema) -> Values:
    if not isinstance(record, Mapping):
        message = f"{record!r} is no record"
        raise TypeError(message)
    return tuple(_taken(record[column.name], column.type) for column in schema)


def _seen(value: Any, kind: ColumnType) -> Any:
    """A value as functions get it."""
    if value is None:
        return None
    match kind.kind:
        case Kind.TIMESTAMP:
            return decoding.EPOCH + datetime.timedelta(microseconds=value)
        case Kind.DATE:
            return datetime.date.fromordinal(value + decoding.EPOCH.toordinal())
        case Kind.ARRAY if kind.element is not None:
            return [_seen(item, kind.element) for item in value]
    return value


def _taken(value: Any, kind: ColumnType) -> Any:
    """A value that a function gave, as rows have it; another type raises."""
    if value is None:
        return None
    match kind.kind:
        case Kind.STRING if isinstance(value, str):
            value.encode()  # half a surrogate pair is no text
            return value
        case Kind.BOOLEAN if isinstance(value, bool):
            return value
        case Kind.INT | Kind.BIGINT if type(value) is int and -(2 ** _BITS[kind.kind]) <= value < 2 ** _BITS[kind.kind]:
            return value
        case Kind.DOUBLE if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case Kind.DECIMAL if isinstance(value, Decimal) or type(value) is int:
            fitted = Decimal(value).quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
            if fitted == 0 or fitted.adjusted() < kind.precision - kind.scale:
                return fitted
        case Kind.BINARY if isinstance(value, bytes | bytearray):
            return bytes(value)
        case Kind.TIMESTAMP if isinstance(value, datetime.datetime):
            return decoding.micros(value if value.tzinfo else value.replace(tzinfo=datetime.UTC))
        case Kind.DATE if type(value) is datetime.date:
            return value.toordinal() - decoding.EPOCH.toordinal()
        case Kind.ARRAY if isinstance(value, list | tuple) and kind.element is not None:
            return [_taken(item, kind.element) for item in value]
    message = f"{value!r} is no {kind}"
    raise TypeError(message)


class _Vectorised:
    """A function of record batches. It may not look from one record to another, so one call has all of them."""

    def __init__(self, function: Callable[..., Any], kind: PythonKind, given: Schema, schema: Schema) -> None:
        self._function, self._kind = function, kind
        self._given, self._schema = given, schema

    def each(self, rows: Sequence[Values]) -> list[Results]:
        """What comes of each row; where the whole raises, they are asked one by one."""
        try:
            return list(self._applied(rows)) if rows else []
        except Exception as error:
            if len(rows) == 1:
                return [FailedError(f"{type(error).__name__}: {error}")]
            return [result for row in rows for result in self.each([row])]

    def _applied(self, rows: Sequence[Values]) -> list[list[Values]]:
        columns = list(zip(*rows, strict=True))
        fields = [pa.field(column.name, _arrow(column.type)) for column in self._given]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)]
        result = self._function(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)))
        if self._kind is PythonKind.FILTER:
            decisions = (result.column(0) if isinstance(result, pa.RecordBatch) else result).to_pylist()
            return [[row] if stays else [] for row, stays in zip(rows, decisions, strict=True)]
        made_of = result.column(ROW).to_pylist() if self._kind is PythonKind.FLAT_MAP else range(len(rows))
        found: list[list[Values]] = [[] for _ in rows]
        for place, record in zip(made_of, result.to_pylist(), strict=True):
            found[place].append(_row(record, self._schema))
        return found


def _arrow(kind: ColumnType) -> pa.DataType:
    match kind.kind:
        case Kind.DECIMAL:
            return pa.decimal128(kind.precision, kind.scale)
        case Kind.ARRAY if kind.element is not None:
            return pa.list_(_arrow(kind.element))
    return {
        Kind.BOOLEAN: pa.bool_(),
        Kind.INT: pa.int32(),
        Kind.BIGINT: pa.int64(),
        Kind.DOUBLE: pa.float64(),
        Kind.STRING: pa.string(),
        Kind.BINARY: pa.binary(),
        Kind.DATE: pa.date32(),
        Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    }[kind.kind]
