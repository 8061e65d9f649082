"""Literals: the value and the type of what stands for itself in a text. A mistake comes back as its message."""

from __future__ import annotations

from decimal import Decimal

from spillway.expressions import arithmetic, datetimes
from spillway.expressions.tokens import Token
from spillway.model import types
from spillway.model.types import ColumnType

Found = tuple[object, ColumnType]

WORDS: dict[str, Found] = {
    "null": (None, types.NULL),
    "true": (True, types.BOOLEAN),
    "false": (False, types.BOOLEAN),
}

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
BIGINT_MIN, BIGINT_MAX = -(2**63), 2**63 - 1


def number(token: Token, minus: bool) -> Found | str:
    """A number: int, bigint or decimal(n,0) by size, decimal with a point, double with an exponent or D."""
    text = f"-{token.value}" if minus else token.value
    if token.suffix == "D" or (not token.suffix and "e" in text.lower()):
        value = float(text)
        if value in {float("inf"), float("-inf")}:
            return f"{text} is beyond what a double holds"
        return value, types.DOUBLE
    if token.suffix == "BD" or "." in text:
        return _decimal(text)
    whole = int(text)
    if token.suffix == "L" or not INT_MIN <= whole <= INT_MAX:
        if BIGINT_MIN <= whole <= BIGINT_MAX:
            return whole, types.BIGINT
        return f"{text} is beyond what a bigint holds" if token.suffix else _decimal(text)
    return whole, types.INT


def _decimal(text: str) -> Found | str:
    """A decimal with the digits that are written: 1.50 is decimal(3,2), 0.05 is decimal(2,2)."""
    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or len(digits) + abs(exponent) > 2 * types.MAX_PRECISION:
        return f"{text} has more than {types.MAX_PRECISION} digits"
    scale = max(0, -exponent)
    whole = len(digits) + max(0, exponent) if value else 1
    precision = max(whole, scale)
    if precision > types.MAX_PRECISION:
        return f"{text} has more than {types.MAX_PRECISION} digits"
    # A decimal has no negative zero, in contrast to Python's.
    exact = arithmetic.EXACT.quantize(value, Decimal((0, (1,), -scale)))
    return exact or arithmetic.zero_of(scale), types.decimal(precision, scale)


def typed(word: str, text: str) -> Found | str:
    """`date '…'`, `timestamp '…'`, `x'…'`."""
    if word == "date":
        day = datetimes.date_of(text)
        return f"{text!r} is no date: write date'2026-01-31'" if day is None else (day, types.DATE)
    if word in {"timestamp", "timestamp_ltz"}:
        moment = datetimes.timestamp_of(text)
        if moment is None or datetimes.has_region(text):
            return f"{text!r} is no timestamp: write timestamp'2026-01-31 12:30:00.5' (UTC, or with +01:00)"
        return moment, types.TIMESTAMP
    if word == "x":
        try:
            return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text), types.BINARY
        except ValueError:
            return f"x'{text}' is not hexadecimal"
    if word == "interval":
        return "intervals are not supported; use the functions on dates and timestamps"
    if word == "timestamp_ntz":
        return "timestamps without a zone are not supported; write timestamp'…'"
    return f"{word!r} before a string is not supported: known are date'…', timestamp'…' and x'…'"


def type_named(text: str) -> ColumnType:
    """The type of a CAST; raises ValueError that says what is wrong."""
    if text.strip().lower() == "bool":
        message = "Spark SQL spells it boolean"
        raise ValueError(message)
    return types.parse_type(text)
