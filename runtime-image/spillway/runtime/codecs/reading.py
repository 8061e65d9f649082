"""From messages to columns, as pieces of the loop that a program is compiled to.

Only the columns that somebody reads are decoded; msgspec skips the rest of the object. What it decodes at once is what
producers usually write. Whatever it refuses is looked at once more, column by column: either it is another way to write
the same value (5.0 for a bigint, "NaN"), or the error names the column.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Protocol

import msgspec

from spillway.expressions.errors import EvaluationError
from spillway.model.kafka import Format, Stream, Table
from spillway.model.types import BINARY, Column, ColumnType, Kind, Schema
from spillway.runtime.codecs import values
from spillway.runtime.codecs.values import CodecError

# What msgspec or a conversion raises for a value that may still be right: the slow way decides.
_UNUSUAL = (msgspec.ValidationError, EvaluationError, CodecError, TypeError)


class Message(Protocol):
    """What a program asks of a message; confluent_kafka's have it."""

    def offset(self) -> int | None:
        """Where it stands in its partition."""

    def key(self) -> bytes | None:
        """Its key."""

    def value(self) -> bytes | None:
        """What it holds."""

    def timestamp(self) -> tuple[int, int]:
        """The kind of its timestamp, and milliseconds since 1970."""


@dataclasses.dataclass(frozen=True, slots=True)
class Piece:
    """Lines of Python, and the names that they need beside `message` and the variables."""

    lines: tuple[str, ...]
    namespace: Mapping[str, Any]


_TYPES: dict[Kind, Any] = {
    Kind.BOOLEAN: bool,
    Kind.INT: Annotated[int, msgspec.Meta(ge=values.BOUNDS[Kind.INT][0], le=values.BOUNDS[Kind.INT][1])],
    Kind.BIGINT: Annotated[int, msgspec.Meta(ge=values.BOUNDS[Kind.BIGINT][0], le=values.BOUNDS[Kind.BIGINT][1])],
    Kind.DOUBLE: float,
    Kind.DECIMAL: Decimal,
    Kind.STRING: str,
    Kind.BINARY: bytes,
    Kind.DATE: str,
    Kind.TIMESTAMP: int | str,
}


def _type(kind: ColumnType) -> Any:
    return (list[_type(kind.element)] if kind.element is not None else _TYPES[kind.kind]) | None  # type: ignore[misc]


def _converted(kind: ColumnType, value: str) -> str | None:
    """The source of the conversion of what msgspec gives, where it needs one."""
    match kind.kind:
        case Kind.TIMESTAMP | Kind.DATE:
            return f"as_{kind}({value})"
        case Kind.DECIMAL:
            return f"as_decimal({value}, {kind.precision}, {kind.scale})"
        case Kind.ARRAY if kind.element is not None:
            inner = _converted(kind.element, "e")
            return f"[None if e is None else {inner} for e in {value}]" if inner else None
    return None


def decoded(columns: Sequence[Column], variables: Mapping[str, str], name: str) -> Piece:
    """Source that takes the columns out of `value`, a JSON object; names of its own end with the given one."""
    fields = [(f"f{i}", _type(column.type), None) for i, column in enumerate(columns)]
    names = {f"f{i}": column.name for i, column in enumerate(columns)}
    record = msgspec.defstruct("Record", fields, rename=names, gc=False)
    namespace = {
        f"decode_{name}": msgspec.json.Decoder(record).decode,
        f"slowly_{name}": _slowly(columns),
        "unusual": _UNUSUAL,
        "as_timestamp": values.timestamp,
        "as_date": values.date,
        "as_decimal": values.decimal,
    }
    lines = [f"record = decode_{name}(value)"]
    for i, column in enumerate(columns):
        variable = variables[column.name]
        lines.append(f"{variable} = record.f{i}")
        if (source := _converted(column.type, variable)) is not None:
            lines += [f"if {variable} is not None:", f"    {variable} = {source}"]
    listed = _tuple([variables[column.name] for column in columns])
    again = f"{listed} = slowly_{name}(value)" if columns else f"slowly_{name}(value)"
    return Piece(("try:", *_indented(lines), "except unusual:", f"    {again}"), namespace)


def _slowly(columns: Sequence[Column]) -> Callable[[bytes | None], tuple[Any, ...]]:
    """The values of the columns, however they are written; an error names the column."""
    unpack = msgspec.json.Decoder(float_hook=Decimal).decode
    convert = [(column.name, values.lenient(column.type)) for column in columns]

    def decode(value: bytes | None) -> tuple[Any, ...]:
        if value is None:
            message = "the message is empty; a record is one JSON object"
            raise CodecError(message)
        record = unpack(value)
        if not isinstance(record, dict):
            message = f"the message holds {type(record).__name__}, not one JSON object"
            raise CodecError(message)
        found = []
        for name, conversion in convert:
            try:
                found.append(conversion(record.get(name)))
            except (EvaluationError, CodecError) as error:
                message = f"column {name!r}: {error}"
                raise CodecError(message) from None
        return tuple(found)

    return decode


def of_stream(stream: Stream, schema: Schema, variables: Mapping[str, str], name: str) -> Piece:
    """Source from `message` to `timestamp` and the variables of the columns in the schema, which may be fewer."""
    columns = [column for column in schema if column.name != stream.key_column]
    if stream.format is Format.RAW:
        piece = _raw(columns, variables)
    else:
        # Also where nobody reads a column: what is no object is no record either.
        piece = decoded(columns, variables, name)
        piece = Piece(("value = message.value()", *piece.lines), piece.namespace)
    lines = [*piece.lines]
    if stream.key_column is not None and schema.get(stream.key_column) is not None:
        key = variables[stream.key_column]
        lines += [f"{key} = message.key()", f"if {key} is not None:", f"    {key} = str({key}, 'utf-8')"]
    lines += _event_time(stream.timestamp, variables)
    return Piece(tuple(lines), {**piece.namespace, "no_event_time": no_event_time})


def _raw(columns: Sequence[Column], variables: Mapping[str, str]) -> Piece:
    lines = []
    for column in columns:
        variable = variables[column.name]
        lines.append(f"{variable} = message.value()")
        if column.type != BINARY:
            lines += [f"if {variable} is not None:", f"    {variable} = str({variable}, 'utf-8')"]
    return Piece(tuple(lines), {})


def _event_time(column: str | None, variables: Mapping[str, str]) -> list[str]:
    if column is None:
        return ["timestamp = message.timestamp()[1] * 1000"]
    return [f"timestamp = {variables[column]}", "if timestamp is None:", f"    no_event_time({column!r})"]


def no_event_time(column: str) -> None:
    """Raise: a record without an event time stands in no window, and meets no version of a table."""
    message = f"column {column!r} is null, and it is the event time"
    raise CodecError(message)


def of_table(table: Table, schema: Schema, variables: Mapping[str, str], name: str) -> Piece:
    """Source from `message` to `timestamp`, `old` and `new`: a row with only its key, and the row or None.

    A topic of updates doesn't say what a row was before. Who has to know keeps the rows.
    """
    piece = decoded(schema.columns, variables, name)
    known = [variables[column.name] if column.name in table.key else "None" for column in schema]
    lines = (
        "value = message.value()",
        "if value is None:",
        "    timestamp = message.timestamp()[1] * 1000",
        f"    old, new = gone_{name}(message.key()), None",
        "else:",
        *_indented(piece.lines),
        *_indented(_event_time(table.timestamp, variables)),
        f"    old = {_tuple(known)}",
        f"    new = {_tuple([variables[column.name] for column in schema])}",
    )
    names = {**piece.namespace, "no_event_time": no_event_time, f"gone_{name}": _key_row(table.key, schema)}
    return Piece(lines, names)


def _key_row(key: Sequence[str], schema: Schema) -> Callable[[bytes | None], tuple[Any, ...]]:
    """From the key of a message without a value to a row that has only its key."""
    columns = [column for column in schema if column.name in key]
    from_object = _slowly(columns)
    from_text = _from_text(columns[0]) if len(columns) == 1 else None

    def row(data: bytes | None) -> tuple[Any, ...]:
        if data is None:
            message = f"an empty message without a key deletes nothing; the key is {', '.join(key)}"
            raise CodecError(message)
        found = from_object(data) if from_text is None or data[:1] == b"{" else (from_text(data),)
        by_name = dict(zip((column.name for column in columns), found, strict=True))
        return tuple(by_name.get(column.name) for column in schema)

    return row


def _from_text(column: Column) -> Callable[[bytes], Any]:
    """The value of a key that is one text: what JSON would have without quotes."""
    convert = values.lenient(column.type)
    quoted = column.type.kind in {Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.BINARY, Kind.DECIMAL}

    def value(data: bytes) -> Any:
        try:
            return convert(str(data, "utf-8") if quoted else msgspec.json.decode(data))
        except (EvaluationError, CodecError, ValueError) as error:
            message = f"key column {column.name!r}: {error}"
            raise CodecError(message) from None

    return value


def _tuple(listed: Sequence[str]) -> str:
    return f"({', '.join(listed)}{',' * (len(listed) == 1)})"


def _indented(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"    {line}" for line in lines)
