"""Types of columns, and schemas: the part of Spark's type system that both paradigms share.

| type | in Python, at run time |
|---|---|
| boolean | `bool` |
| int | `int` within 32 bits |
| bigint | `int` within 64 bits |
| double | `float` |
| decimal(p,s) | `decimal.Decimal` with exactly s digits after the point |
| string | `str` |
| binary | `bytes` |
| date | `int`: days since 1970-01-01 |
| timestamp | `int`: microseconds since 1970-01-01T00:00Z |
| array<t> | `list` |

Dates and timestamps are whole numbers because that is what they are in Spark, what compares and hashes fastest,
and what a frame carries without a conversion. The session time zone is UTC in both paradigms.
Every column may be null (`None`): a stream promises nothing about what comes next.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterator

from spillway.model import errors

MAX_COLUMNS = 1000
MAX_PRECISION = 38  # Spark's own limit: 38 digits are what 128 bits hold
MAX_DEPTH = 8  # of nested arrays: deeper is a mistake or an attack, and recursion has to end somewhere
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class Kind(enum.StrEnum):
    """What a value is, before parameters."""

    BOOLEAN = "boolean"
    INT = "int"
    BIGINT = "bigint"
    DOUBLE = "double"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    ARRAY = "array"
    NULL = "void"  # the type of a bare NULL; no column has it


@dataclasses.dataclass(frozen=True, slots=True)
class ColumnType:
    """A type with its parameters; `str()` gives it as Spark writes it."""

    kind: Kind
    precision: int = 0
    scale: int = 0
    element: ColumnType | None = None

    def __str__(self) -> str:
        if self.kind is Kind.DECIMAL:
            return f"decimal({self.precision},{self.scale})"
        if self.kind is Kind.ARRAY:
            return f"array<{self.element}>"
        return self.kind.value


BOOLEAN = ColumnType(Kind.BOOLEAN)
INT = ColumnType(Kind.INT)
BIGINT = ColumnType(Kind.BIGINT)
DOUBLE = ColumnType(Kind.DOUBLE)
STRING = ColumnType(Kind.STRING)
BINARY = ColumnType(Kind.BINARY)
DATE = ColumnType(Kind.DATE)
TIMESTAMP = ColumnType(Kind.TIMESTAMP)
NULL = ColumnType(Kind.NULL)


def decimal(precision: int, scale: int) -> ColumnType:
    """A decimal type with so many digits, of which so many after the point."""
    return ColumnType(Kind.DECIMAL, precision=precision, scale=scale)


def array(element: ColumnType) -> ColumnType:
    """An array type."""
    return ColumnType(Kind.ARRAY, element=element)


# Spark's other names for the same types.
_SIMPLE = {
    "boolean": BOOLEAN, "bool": BOOLEAN,
    "int": INT, "integer": INT,
    "bigint": BIGINT, "long": BIGINT,
    "double": DOUBLE,
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
}  # fmt: skip

# Types of Spark that are not here, with the way out.
_ABSENT = {
    "tinyint": "use int", "byte": "use int", "smallint": "use int", "short": "use int",
    "float": "use double", "real": "use double",
    "varchar": "use string", "char": "use string", "text": "use string",
    "timestamp_ntz": "use timestamp; the session time zone is UTC", "timestamp_ltz": "use timestamp",
    "map": "bring the entries into columns of their own", "struct": "bring the fields into columns of their own",
    "interval": "use bigint", "variant": "use string",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A name and its type."""

    name: str
    type: ColumnType

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclasses.dataclass(frozen=True, slots=True)
class Schema:
    """Columns in their order."""

    columns: tuple[Column, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def get(self, name: str) -> ColumnType | None:
        """The type of the column of that name, or None where there is none."""
        return next((column.type for column in self.columns if column.name == name), None)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        return ", ".join(map(str, self.columns))


class _Reader:
    """Reads `name type, name type` from left to right; raises ValueError with the place in words."""

    # Words are cut where they are too long to be right, so that no message repeats a page of them.
    token = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]{0,128}|[0-9]{1,20}|\S)")

    def __init__(self, text: str) -> None:
        self.tokens = self.token.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        word = self.peek()
        self.at += 1
        return word

    def expect(self, mark: str, after: str) -> None:
        if (word := self.take()) != mark:
            message = f"expected {mark!r} after {after}, found {word!r}" if word else f"expected {mark!r} after {after}"
            raise ValueError(message)

    def type(self, depth: int = 0) -> ColumnType:
        word = self.take()
        name = word.lower()
        if depth > MAX_DEPTH:
            message = f"arrays are nested more than {MAX_DEPTH} deep"
            raise ValueError(message)
        if name in _SIMPLE:
            return _SIMPLE[name]
        if name in {"decimal", "dec", "numeric"}:
            return self.decimal()
        if name == "array":
            self.expect("<", "array")
            element = self.type(depth + 1)
            self.expect(">", f"array<{element}")
            return array(element)
        if not name:
            message = "a type is missing at the end"
        elif name in _ABSENT:
            message = f"type {name!r} is not supported: {_ABSENT[name]}"
        else:
            known = [*_SIMPLE, "decimal", "array"]
            message = f"unknown type {word!r}{errors.did_you_mean(name, known)}"
        raise ValueError(message)

    def decimal(self) -> ColumnType:
        precision, scale = 10, 0  # as in Spark
        if self.peek() == "(":
            self.take()
            precision = self.number("the precision of decimal")
            if self.peek() == ",":
                self.take()
                scale = self.number("the scale of decimal")
            self.expect(")", "decimal(…")
        if not 1 <= precision <= MAX_PRECISION or scale > precision:
            message = f"decimal({precision},{scale}): precision is 1 to {MAX_PRECISION}, scale at most the precision"
            raise ValueError(message)
        return decimal(precision, scale)

    def number(self, what: str) -> int:
        word = self.take()
        if not re.fullmatch("[0-9]{1,3}", word):
            message = f"{what} must be a whole number, found {word!r}"
            raise ValueError(message)
        return int(word)


def parse_type(text: str) -> ColumnType:
    """Read one type, such as `array<string>`; raises ValueError that says what is wrong."""
    reader = _Reader(text)
    found = reader.type()
    if rest := reader.peek():
        message = f"unexpected {rest!r} after {found}"
        raise ValueError(message)
    return found


def parse_schema(text: str) -> Schema:
    """Read `ad_id string, event_time timestamp`; raises ValueError that says what is wrong.

    Names are unique also when case is ignored: Spark ignores case, the record paradigm doesn't, and
    with such names both agree.
    """
    reader = _Reader(text)
    columns: list[Column] = []
    seen: dict[str, str] = {}
    while True:
        name = reader.take()
        if not NAME.fullmatch(name):
            message = f"expected the name of a column (letters, digits, _), found {name!r}"
            if not name:
                message = "a column is missing at the end" if columns else "no columns"
            raise ValueError(message)
        if reader.peek() == ":":
            reader.take()
        columns.append(Column(name, reader.type()))
        if (twin := seen.setdefault(name.lower(), name)) is not name or len(seen) < len(columns):
            message = (
                f"column {name!r} is there twice" if twin == name else f"{twin!r} and {name!r} differ in case only"
            )
            raise ValueError(message)
        if len(columns) > MAX_COLUMNS:
            message = f"more than {MAX_COLUMNS} columns"
            raise ValueError(message)
        if not reader.peek():
            return Schema(tuple(columns))
        reader.expect(",", f"column {name!r}")
