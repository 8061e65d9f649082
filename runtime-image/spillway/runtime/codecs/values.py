"""Values as JSON has them, and as rows have them."""

from __future__ import annotations

import base64
import binascii
import functools
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

from spillway.expressions import arithmetic, datetimes
from spillway.model.errors import TerminalError
from spillway.model.types import ColumnType, Kind

Convert = Callable[[Any], Any]

# Records of one second, or one day, come together, so a few texts are asked for again and again. The bound is for
# streams where they don't: 4096 texts are less than a megabyte.
_REMEMBERED = 4096

_LEAST_MILLIS, _MOST_MILLIS = arithmetic.BIGINT_MIN // 1000 + 1, arithmetic.BIGINT_MAX // 1000
_SECOND = len("2026-03-01T10:00:00")
BOUNDS = {Kind.INT: (-(2**31), 2**31 - 1), Kind.BIGINT: (arithmetic.BIGINT_MIN, arithmetic.BIGINT_MAX)}
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class CodecError(TerminalError):
    """A message that is no record of its stream, or a record that no message can hold."""


def _no(value: Any, kind: object) -> NoReturn:
    found = {str: "the text", bool: "the boolean", list: "an array", dict: "an object"}.get(type(value), "the number")
    shown = "" if isinstance(value, list | dict) else f" {str(value)[:40]!r}" if type(value) is str else f" {value}"
    message = f"expected {kind}, found {found}{shown[:60]}"
    raise CodecError(message)


# Into rows. What these get is never None.


@functools.lru_cache(_REMEMBERED)
def _start_of(second: str) -> int | None:
    return datetimes.timestamp_of(second + "Z")


def timestamp(value: int | str) -> int:
    """Microseconds of a JSON text, or of a number of milliseconds."""
    if type(value) is int:
        if _LEAST_MILLIS <= value <= _MOST_MILLIS:
            return value * 1000
        return _no(value, "timestamp")
    text = str(value)
    rest = text[_SECOND:]
    if rest == "Z":
        found = _start_of(text[:_SECOND])
    elif rest[:1] == "." and rest[-1:] == "Z" and rest[1:-1].isdigit() and rest.isascii():
        found = _start_of(text[:_SECOND])
        if found is not None:
            found += int(rest[1:-1][:6].ljust(6, "0"))
    else:
        found = datetimes.timestamp_of(text)
    return _no(value, "timestamp") if found is None else found


@functools.lru_cache(_REMEMBERED)
def date(value: str) -> int:
    """Days of a JSON text."""
    found = datetimes.date_of(value)
    return _no(value, "date") if found is None else found


def decimal(value: Decimal, precision: int, scale: int) -> Decimal:
    """A decimal with the digits of its type."""
    if not value.is_finite():
        _no(value, f"decimal({precision},{scale})")
    return arithmetic.fit(value, precision, scale)


def lenient(kind: ColumnType) -> Convert:
    """From whatever JSON held, numbers with a fraction as Decimal, to a value; what is none raises."""
    convert = _lenient(kind)
    return lambda value: None if value is None else convert(value)


def _lenient(kind: ColumnType) -> Convert:
    if kind.element is not None:
        element = lenient(kind.element)
        return lambda value: [element(item) for item in value] if type(value) is list else _no(value, kind)
    match kind.kind:
        case Kind.DOUBLE:
            return _double
        case Kind.DECIMAL:
            return functools.partial(_decimal, kind=kind)
        case Kind.INT | Kind.BIGINT:
            return functools.partial(_whole, kind=kind.kind)
        case Kind.TIMESTAMP:
            return _timestamp
        case Kind.DATE:
            return lambda value: date(value) if type(value) is str else _no(value, "date")
        case Kind.BINARY:
            return _binary
        case _:
            python: type = bool if kind.kind is Kind.BOOLEAN else str
            return lambda value: value if type(value) is python else _no(value, kind)


def _whole(value: Any, kind: Kind) -> int:
    # Looked at before it is expanded: 1e999999999 is a short text, and a number of a gigabyte.
    if isinstance(value, Decimal) and (value == 0 or 0 <= value.adjusted() < 20) and value == value.to_integral_value():
        value = int(value)
    low, high = BOUNDS[kind]
    return value if type(value) is int and low <= value <= high else _no(value, kind)


def _double(value: Any) -> float:
    if type(value) is str and value in SPECIAL:
        return SPECIAL[value]
    found = math.nan
    if type(value) is int or isinstance(value, Decimal):
        try:
            found = float(value)
        except OverflowError:
            _no(value, "double")
    return found if math.isfinite(found) else _no(value, "double")


def _decimal(value: Any, kind: ColumnType) -> Decimal:
    try:
        return decimal(Decimal(value) if type(value) in {int, str} else value, kind.precision, kind.scale)
    except (ArithmeticError, AttributeError):
        _no(value, kind)


def _timestamp(value: Any) -> int:
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < 20:
        found = int((value * 1000).to_integral_value())
        if arithmetic.BIGINT_MIN <= found <= arithmetic.BIGINT_MAX:
            return found
    return timestamp(value) if type(value) in {int, str} else _no(value, "timestamp")


def _binary(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True) if type(value) is str else _no(value, "binary")
    except (binascii.Error, ValueError):
        _no(value, "binary (base64)")


# Out of rows. These, too, never get None.


@functools.lru_cache(_REMEMBERED)
def _second_text(second: int) -> str:
    return datetimes.timestamp_text(second * 1_000_000).replace(" ", "T")


def timestamp_text(value: int) -> str:
    """A timestamp as JSON has it: ISO 8601 in UTC, with no, three or six digits of the second."""
    second, micros = divmod(value, 1_000_000)
    text = _second_text(second)
    if not micros:
        return text + "Z"
    return f"{text}.{micros:06}Z" if micros % 1000 else f"{text}.{micros // 1000:03}Z"


date_text = functools.lru_cache(_REMEMBERED)(datetimes.date_text)


def special(value: float) -> str:
    """A double that is no number, as JSON has it."""
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def text(kind: ColumnType) -> Callable[[Any], str]:
    """A value of a key as its text."""
    match kind.kind:
        case Kind.BOOLEAN:
            return lambda value: "true" if value else "false"
        case Kind.DECIMAL:
            return lambda value: f"{value:f}"
        case Kind.DATE:
            return date_text
        case Kind.TIMESTAMP:
            return timestamp_text
        case Kind.BINARY:
            return lambda value: base64.b64encode(value).decode()
        case _:
            return str
