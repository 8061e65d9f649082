"""From columns to messages of output topics, as pieces of the loop that a program is compiled to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from spillway.model.types import Column, ColumnType, Kind
from spillway.runtime import frames
from spillway.runtime.codecs import values
from spillway.runtime.codecs.values import CodecError

# As for frames: what a topic takes unless somebody has told it otherwise.
MAX_BYTES = frames.MAX_BYTES
# Python writes smaller ones as 1E-7.
_PLAIN_DIGITS = 6

_encode = msgspec.json.Encoder(decimal_format="number").encode


class Objects:
    """Makes the JSON objects of some columns: `source` is an expression over variables, `namespace` what it needs."""

    def __init__(self, columns: Sequence[Column], name: str) -> None:
        """For these columns; `name` is what the loop calls the class of the objects."""
        self.columns = columns
        self.name = name
        fields = [(f"f{i}", Any) for i in range(len(columns))]
        names = {f"f{i}": column.name for i, column in enumerate(columns)}
        made = msgspec.defstruct(name, fields, rename=names, gc=False)
        self.namespace: Mapping[str, Any] = {**_NAMES, name: made}

    def source(self, variables: Sequence[str]) -> str:
        """The bytes of the object whose columns are in these variables."""
        listed = (_converted(c.type, variable) for c, variable in zip(self.columns, variables, strict=True))
        return f"as_json({self.name}({', '.join(listed)}))"


def _converted(kind: ColumnType, value: str) -> str:
    """What msgspec writes as the codec wants it; null or not."""
    match kind.kind:
        case Kind.DOUBLE:
            return f"({value} if {value} is None or {value} - {value} == 0.0 else special({value}))"
        case Kind.TIMESTAMP | Kind.DATE:
            return f"(None if {value} is None else {kind}_text({value}))"
        case Kind.DECIMAL if kind.scale > _PLAIN_DIGITS:
            return f"(None if {value} is None else plain({value}))"
        case Kind.ARRAY if kind.element is not None:
            element = _converted(kind.element, "e")
            return value if element == "e" else f"({value} and [{element} for e in {value}])"
    return value


def keyed(columns: Sequence[Column], name: str, variables: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    """The source of the bytes of a message key, and the names that it needs."""
    objects = Objects(columns, name)
    whole = objects.source(variables)
    if len(columns) > 1:
        return whole, objects.namespace
    (variable,), (column,) = variables, columns
    if column.type.kind is Kind.STRING:
        source = f"({whole} if {variable} is None or {variable}[:1] == '{{' else {variable}.encode())"
        return source, objects.namespace
    text = f"{name}Text"
    names = {**objects.namespace, text: values.text(column.type)}
    return f"({whole} if {variable} is None else {text}({variable}).encode())", names


def too_large(size: int, most: int) -> NoReturn:
    """Raise: no broker would take it, and all that come after it would wait."""
    message = f"the message takes {size} bytes; its topic takes {most}"
    raise CodecError(message)


def _plain(value: Any) -> msgspec.Raw:
    return msgspec.Raw(f"{value:f}".encode())


_NAMES: Mapping[str, Any] = {
    "as_json": _encode,
    "special": values.special,
    "timestamp_text": values.timestamp_text,
    "date_text": values.date_text,
    "plain": _plain,
    "too_large": too_large,
}
