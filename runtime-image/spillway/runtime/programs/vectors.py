"""Vectorised functions: called with an Arrow record batch of all records that one call of the loop brought.

If the function raises on the whole, it is asked again record by record: so one bad record is one dead letter, and a
function that raises always makes each record one. Rows keep the position of the record that they were made of, because
frames tell by positions what a reader has: that is why a flatMap has to say which row of the batch each of its rows
belongs to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from spillway.model import types
from spillway.model.operators import Python, PythonKind
from spillway.model.types import ColumnType, Kind, Schema
from spillway.runtime.functions import Function, FunctionError
from spillway.runtime.programs.running import Taken

Row = tuple[Any, ...]
ROW = "_row"  # the column of a flatMap that says of which row of the batch a row was made
_ADDRESS = 3  # offset, index and timestamp stand before the columns


class Accounts(Protocol):
    """Where a call is noted; `running.Running` is one."""

    passes: list[int]
    spent: list[int]
    numbers: dict[str, int]

    def refused(
        self, error: BaseException, offset: int, index: int, operator: str = "", given: Taken | None = None
    ) -> None:
        """A row raised."""


def returns(python: Python, given: Schema) -> Schema:
    """The columns that a function gives; a filter gives what it got."""
    return given if python.returns is None else types.parse_schema(python.returns)


class Vectors:
    """A vectorised function with its schemas. `result` has the columns of the rows that it gives."""

    def __init__(self, function: Function, python: Python, given: Schema) -> None:
        """A function that takes rows of the given schema."""
        import pyarrow  # here: programs without such a function don't pay for it

        self._arrow = pyarrow
        self._function, self._as = function, python.as_
        self._name = python.function
        self.result = returns(python, given)
        self._takes = pyarrow.schema([(column.name, self._type(column.type)) for column in given])
        gives = self.result if self._as is not PythonKind.FILTER else Schema()
        self._gives = pyarrow.schema([(column.name, self._type(column.type)) for column in gives])

    def __call__(self, rows: Sequence[Row], at: Accounts, operator: str) -> Iterator[Row]:
        """What comes of rows that begin with their offset, index and timestamp; those that raise are told."""
        start, count = time.perf_counter_ns(), len(rows)
        try:
            found = self._applied(rows)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            found = []
            for row in rows:
                try:
                    found += self._applied([row]) if count > 1 else self._raised(error)
                except BaseException as own:
                    offset, index, timestamp, *values = row
                    at.refused(own, offset, index, operator, (timestamp, tuple(self._takes.names), tuple(values)))
        number = at.numbers[operator]
        at.spent[number] += time.perf_counter_ns() - start
        at.passes[number] += count
        return iter(found)

    def single(self, layout: Schema, wanted: Schema) -> Callable[[Row], Any]:
        """The function for one row of a layout: whether it passes, or the rows with the wanted columns."""
        given = [layout.names.index(name) for name in self._takes.names]
        picked = [self.result.names.index(name) for name in wanted.names] if self._as is not PythonKind.FILTER else []

        def apply(row: Row) -> Any:
            found = self._applied([(0, 0, 0, *(row[i] for i in given))])
            if self._as is PythonKind.FILTER:
                return bool(found)
            return [tuple(one[_ADDRESS + i] for i in picked) for one in found]

        return apply

    @staticmethod
    def _raised(error: BaseException) -> list[Row]:
        raise error

    def _applied(self, rows: Sequence[Row]) -> list[Row]:
        arrow = self._arrow
        columns = list(zip(*rows, strict=True))[_ADDRESS:]
        arrays = [arrow.array(column, field.type) for column, field in zip(columns, self._takes, strict=True)]
        batch = arrow.RecordBatch.from_arrays(arrays, schema=self._takes)
        given = self._function.call(batch)
        if self._as is PythonKind.FILTER:
            return [row for row, stays in zip(rows, self._decisions(given, len(rows)), strict=True) if stays]
        if not isinstance(given, arrow.RecordBatch):
            message = f"{self._name} gave {type(given).__name__}, not an Arrow record batch"
            raise FunctionError(message)
        made_of = range(len(rows)) if self._as is PythonKind.MAP else self._made_of(given, len(rows))
        if given.num_rows != len(made_of):
            message = f"{self._name} gave {given.num_rows} rows for {len(rows)}; a map gives one for each"
            raise FunctionError(message)
        values = [self._values(given, field) for field in self._gives]
        found = [(*rows[i][:_ADDRESS], *row) for i, row in zip(made_of, zip(*values, strict=True), strict=True)]
        return found if self._as is PythonKind.MAP else sorted(found, key=lambda row: row[:2])

    def _values(self, given: Any, field: Any) -> list[Any]:
        """The values of a column as rows have them."""
        number = given.schema.get_field_index(field.name)
        if number < 0:
            message = f"{self._name} left out column {field.name!r}"
            raise FunctionError(message)
        column = given.column(number)
        kind = self.result.get(field.name)
        assert kind is not None  # noqa: S101 - the field was made of it
        try:
            if column.type != field.type:
                column = column.cast(field.type)  # safe: what doesn't fit raises
        except (self._arrow.ArrowInvalid, self._arrow.ArrowNotImplementedError) as error:
            message = (
                f"{self._name}, column {field.name!r}: expected {kind}, found {given.column(number).type}: {error}"
            )
            raise FunctionError(message) from None
        return [*map(_rowwise(kind), self._whole(column, kind).to_pylist())]

    def _whole(self, column: Any, kind: ColumnType) -> Any:
        """Times as the whole numbers that rows have."""
        if kind.kind is Kind.TIMESTAMP:
            return column.cast(self._arrow.int64())
        return column.cast(self._arrow.int32()) if kind.kind is Kind.DATE else column

    def _decisions(self, given: Any, count: int) -> list[bool]:
        arrow = self._arrow
        if isinstance(given, arrow.RecordBatch) and given.num_columns == 1:
            given = given.column(0)
        if not isinstance(given, arrow.Array | arrow.ChunkedArray) or given.type != arrow.bool_():
            message = f"{self._name} gave {type(given).__name__}, not a boolean array with one value for each row"
            raise FunctionError(message)
        if len(given) != count:
            message = f"{self._name} gave {len(given)} values for {count} rows"
            raise FunctionError(message)
        return [value is True for value in given.to_pylist()]

    def _made_of(self, given: Any, count: int) -> list[int]:
        number = given.schema.get_field_index(ROW)
        found: list[int] | None = given.column(number).to_pylist() if number >= 0 else None
        if found is None or not all(type(i) is int and 0 <= i < count for i in found):
            message = f"{self._name} needs an int column {ROW!r}: of which row of the batch each of its rows was made"
            raise FunctionError(message)
        return found

    def _type(self, kind: ColumnType) -> Any:
        arrow = self._arrow
        if kind.element is not None:
            return arrow.list_(self._type(kind.element))
        if kind.kind is Kind.DECIMAL:
            return arrow.decimal128(kind.precision, kind.scale)
        return {
            Kind.BOOLEAN: arrow.bool_(),
            Kind.INT: arrow.int32(),
            Kind.BIGINT: arrow.int64(),
            Kind.DOUBLE: arrow.float64(),
            Kind.STRING: arrow.string(),
            Kind.BINARY: arrow.binary(),
            Kind.DATE: arrow.date32(),
            Kind.TIMESTAMP: arrow.timestamp("us", tz="UTC"),
        }[kind.kind]


def _rowwise(kind: ColumnType) -> Callable[[Any], Any]:
    """What is left to do for arrays of times, whose elements Arrow gives as objects of Python."""
    element = kind.element
    if element is None or not _has_times(element):
        return lambda value: value
    from spillway.runtime.functions import checked

    return lambda value: checked(value, kind)


def _has_times(kind: ColumnType) -> bool:
    return kind.kind in {Kind.TIMESTAMP, Kind.DATE} or (kind.element is not None and _has_times(kind.element))
