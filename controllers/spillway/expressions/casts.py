"""Conversions between types, as Spark's ANSI mode makes them: which exist, and what they do with a value.

`plan` says how one type becomes another; the functions below it are what generated code calls. Not all conversions of
Spark are here: a double as a string depends on the version of Java (its Double.toString changed in 19), and bytes
that are no UTF-8 stay as they are in a string of Spark, which no string of Python can hold.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from spillway.expressions import arithmetic, datetimes
from spillway.expressions.datetimes import BLANKS
from spillway.expressions.errors import Condition, EvaluationError
from spillway.model.types import ColumnType, Kind

LIMITS = {Kind.INT: (-(2**31), 2**31 - 1), Kind.BIGINT: (-(2**63), 2**63 - 1)}
_DIGITS = {Kind.INT: 10, Kind.BIGINT: 19}
# Below 10^15, Java 17 writes the same digits of a double as Python and as later versions of Java (none of 3 million
# random doubles differed); from 2^53 on one in fifty has a digit more.
_SURE_DIGITS = 15
_EXACT_SCALE = 5  # with the ten digits of an int, as many as a double tells apart


@dataclasses.dataclass(frozen=True, slots=True)
class Conversion:
    """How a value becomes one of another type: `function(value, *extras)`, or `inline` where an operator does."""

    function: str
    extras: tuple[object, ...] = ()
    fails: bool = False
    inline: str = ""
    nulls: bool = False  # whether it makes null of some values, without an error

    @property
    def source(self) -> str:
        """The template, with {0} for the value."""
        if self.inline:
            return self.inline
        return f"{self.function}({', '.join(['{0}', *map(repr, self.extras)])})"

    @property
    def attempt(self) -> str:
        """The template that gives None where the conversion raises."""
        return f"casts.attempt({', '.join([self.function, '{0}', *map(repr, self.extras)])})"


_SAME = Conversion("casts.same", inline="{0}")

# From, to: what needs neither parameters nor limits.
_SIMPLE: dict[tuple[Kind, Kind], Conversion] = {
    (Kind.BOOLEAN, Kind.INT): Conversion("int"),
    (Kind.BOOLEAN, Kind.BIGINT): Conversion("int"),
    (Kind.BOOLEAN, Kind.DOUBLE): Conversion("float"),
    (Kind.BOOLEAN, Kind.STRING): Conversion("casts.boolean_text", inline="('true' if {0} else 'false')"),
    (Kind.INT, Kind.BIGINT): _SAME,
    (Kind.INT, Kind.BOOLEAN): Conversion("bool"),
    (Kind.BIGINT, Kind.BOOLEAN): Conversion("bool"),
    (Kind.DOUBLE, Kind.BOOLEAN): Conversion("bool"),
    (Kind.DECIMAL, Kind.BOOLEAN): Conversion("bool"),
    (Kind.INT, Kind.DOUBLE): Conversion("float"),
    (Kind.BIGINT, Kind.DOUBLE): Conversion("float"),
    (Kind.DECIMAL, Kind.DOUBLE): Conversion("float"),
    (Kind.INT, Kind.STRING): Conversion("str"),
    (Kind.BIGINT, Kind.STRING): Conversion("str"),
    (Kind.DECIMAL, Kind.STRING): Conversion("format", ("f",)),
    (Kind.INT, Kind.TIMESTAMP): Conversion("casts.seconds_to_timestamp"),
    (Kind.BIGINT, Kind.TIMESTAMP): Conversion("casts.seconds_to_timestamp"),
    (Kind.DOUBLE, Kind.TIMESTAMP): Conversion("casts.double_to_timestamp", fails=True),
    (Kind.STRING, Kind.BOOLEAN): Conversion("casts.text_to_boolean", fails=True),
    (Kind.STRING, Kind.DOUBLE): Conversion("casts.text_to_double", fails=True),
    (Kind.STRING, Kind.DATE): Conversion("casts.text_to_date", fails=True),
    (Kind.STRING, Kind.TIMESTAMP): Conversion("casts.text_to_timestamp", fails=True),
    (Kind.STRING, Kind.BINARY): Conversion("str.encode", inline="{0}.encode()"),
    (Kind.DATE, Kind.TIMESTAMP): Conversion("casts.date_to_timestamp", fails=True),
    (Kind.DATE, Kind.STRING): Conversion("casts.datetimes.date_text"),
    (Kind.TIMESTAMP, Kind.DATE): Conversion("casts.timestamp_to_date", inline="{0} // 86400000000"),
    (Kind.TIMESTAMP, Kind.STRING): Conversion("casts.datetimes.timestamp_text"),
    (Kind.TIMESTAMP, Kind.BIGINT): Conversion("casts.timestamp_to_seconds", inline="{0} // 1000000"),
    (Kind.TIMESTAMP, Kind.DOUBLE): Conversion("casts.timestamp_to_double", inline="{0} / 1000000.0"),
}  # fmt: skip

# What Spark would do and the subset doesn't, with the way out.
_OUTSIDE = {
    (Kind.DOUBLE, Kind.STRING): "how a double is written depends on the version of Java: "
    "write cast(cast(x as decimal(21,6)) as string)",
    (Kind.BINARY, Kind.STRING): "bytes that are no UTF-8 cannot be carried: write decode(x, 'UTF-8')",
    (Kind.ARRAY, Kind.STRING): "write array_join(x, ', ')",
    (Kind.DECIMAL, Kind.TIMESTAMP): "write cast(cast(x as double) as timestamp)",
    (Kind.TIMESTAMP, Kind.DECIMAL): "write unix_micros(x)",
    (Kind.DATE, Kind.INT): "write unix_date(x)",
    (Kind.DATE, Kind.BIGINT): "write unix_date(x)",
    (Kind.INT, Kind.DATE): "write date_from_unix_date(x)",
}


def plan(given: ColumnType, into: ColumnType) -> Conversion | str:
    """How a value of one type becomes one of the other, or why it doesn't."""
    pair = (given.kind, into.kind)
    if given == into or given.kind is Kind.NULL:
        return _SAME
    if pair in _SIMPLE:
        return _SIMPLE[pair]
    if into.kind is Kind.DECIMAL:
        to_decimal = _to_decimal(given, into)
        if to_decimal is not None:
            return to_decimal
    if into.kind in LIMITS:
        to_whole = _to_whole(given, into.kind)
        if to_whole is not None:
            return to_whole
    if given.element and into.element:
        inner = plan(given.element, into.element)
        if isinstance(inner, str) or inner is _SAME:
            return inner
        function = _Name(inner.function)
        return Conversion("casts.elements", (function, *inner.extras), fails=inner.fails)
    return _OUTSIDE.get(pair, "Spark has no such conversion either")


class _Name(str):
    """A name in generated code: its repr is itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _to_decimal(given: ColumnType, into: ColumnType) -> Conversion | str | None:
    precision, scale = into.precision, into.scale
    whole = precision - scale
    match given.kind:
        case Kind.BOOLEAN:
            return Conversion("casts.whole_to_decimal", (precision, scale), fails=whole < 1)
        case Kind.INT | Kind.BIGINT:
            safe = whole >= _DIGITS[given.kind]
            return Conversion("casts.whole_to_decimal", (precision, scale), fails=not safe)
        case Kind.DECIMAL:
            # A digit more, because rounding may carry.
            carry = 1 if scale < given.scale else 0
            safe = whole >= given.precision - given.scale + carry
            return Conversion("casts.arithmetic.fit", (precision, scale), fails=not safe)
        case Kind.DOUBLE:
            if whole > _SURE_DIGITS:
                return (
                    f"how a large double is written depends on the version of Java: a decimal with at most "
                    f"{_SURE_DIGITS} digits before the point can be had, such as decimal({_SURE_DIGITS + 6},6)"
                )
            return Conversion("casts.double_to_decimal", (precision, scale), fails=True, nulls=True)
        case Kind.STRING:
            return Conversion("casts.text_to_decimal", (precision, scale), fails=True)
        case _:
            return None


def _to_whole(given: ColumnType, into: Kind) -> Conversion | str | None:
    limits = LIMITS[into]
    if (
        given.kind is Kind.DECIMAL
        and into is Kind.INT
        and given.scale > _EXACT_SCALE
        and given.precision > _SURE_DIGITS
    ):
        return "Spark goes by way of a double here, which rounds: write cast(cast(x as bigint) as int)"
    match given.kind:
        case Kind.BIGINT:
            return Conversion("casts.whole_to_whole", limits, fails=True)
        case Kind.DOUBLE:
            return Conversion("casts.double_to_whole", limits, fails=True)
        case Kind.DECIMAL:
            return Conversion("casts.decimal_to_whole", limits, fails=True)
        case Kind.STRING:
            return Conversion("casts.text_to_whole", limits, fails=True)
        case Kind.TIMESTAMP:
            return Conversion("casts.timestamp_to_whole", limits, fails=True)
        case _:
            return None


# What generated code calls. Values are never None here.


def attempt(function: Callable[..., Any], value: object, *extras: object) -> Any:
    """`try_cast`: None where the conversion raises."""
    try:
        return function(value, *extras)
    except EvaluationError:
        return None


def elements(values: list[Any], function: Callable[..., Any], *extras: object) -> list[Any]:
    """The conversion of every element; nulls stay."""
    return [None if value is None else function(value, *extras) for value in values]


def _invalid(value: object, kind: str) -> EvaluationError:
    return EvaluationError(f"{value!r} is no {kind}; use try_cast to get NULL instead", Condition.INVALID_CAST)


def _beyond(value: object, kind: str) -> EvaluationError:
    return EvaluationError(f"{value} does not fit {kind}; use try_cast to get NULL instead", Condition.CAST_OVERFLOW)


def _kind(high: int) -> str:
    return "int" if high == LIMITS[Kind.INT][1] else "bigint"


def whole_to_whole(value: int, low: int, high: int) -> int:
    """Bigint to int."""
    if low <= value <= high:
        return value
    raise _beyond(value, _kind(high))


def double_to_whole(value: float, low: int, high: int) -> int:
    """Towards zero. As in Java, 2^63 counts as the largest bigint, because that is how it looks as a double."""
    if math.isfinite(value):
        whole = int(value)
        if low <= whole <= high:
            return whole
        if whole == 2**63 and high == 2**63 - 1:
            return high
    raise _beyond(value, _kind(high))


def decimal_to_whole(value: Decimal, low: int, high: int) -> int:
    """Towards zero."""
    whole = int(value)
    if low <= whole <= high:
        return whole
    raise _beyond(value, _kind(high))


_WHOLE = re.compile(r"[+-]?[0-9]+")


def text_to_whole(value: str, low: int, high: int) -> int:
    """Digits with a sign, blanks around them; no point."""
    text = value.strip(BLANKS)
    # 4300 digits are where Python refuses; so long a text can only be zeros or too large.
    if _WHOLE.fullmatch(text) and len(text) <= 4300:
        whole = int(text)
        if low <= whole <= high:
            return whole
    raise _invalid(value, _kind(high))


def timestamp_to_whole(value: int, low: int, high: int) -> int:
    """Seconds since 1970."""
    return whole_to_whole(value // 1_000_000, low, high)


def whole_to_decimal(value: int, precision: int, scale: int) -> Decimal:
    """With zeros after the point."""
    return arithmetic.fit(Decimal(int(value)), precision, scale)


def double_to_decimal(value: float, precision: int, scale: int) -> Decimal | None:
    """By way of the digits that the double is written with; null for NaN and the infinities, as in Spark."""
    return arithmetic.fit(Decimal(repr(value)), precision, scale) if math.isfinite(value) else None


# Java takes the digits of all scripts here (and only here), as far as they are one `char` each.
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?(\d{1,10}))?")
_MAX_EXPONENT = 2**31 - 1  # of Java's BigDecimal


def text_to_decimal(value: str, precision: int, scale: int) -> Decimal:
    """Digits with or without point and exponent, blanks around them."""
    match = _DECIMAL.fullmatch(value.strip(BLANKS[:0x21]))
    if match is None or int(match[1] or 0) > _MAX_EXPONENT or max(value) > "\uffff":
        raise _invalid(value, f"decimal({precision},{scale})")
    if int(match[1] or 0) > 100_000:
        # Beyond what any decimal holds; below what any of them shows.
        if "e-" in value.lower() or not Decimal(match[0].lower().partition("e")[0]):
            return arithmetic.fit(Decimal(0), precision, scale)
        raise _beyond(value, f"decimal({precision},{scale})")
    number = Decimal(match[0])
    return arithmetic.fit(number, precision, scale)


_SPECIAL = {
    "inf": math.inf, "+inf": math.inf, "infinity": math.inf, "+infinity": math.inf,
    "-inf": -math.inf, "-infinity": -math.inf, "nan": math.nan,
}  # fmt: skip
_DOUBLE = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_JAVA_BLANKS = BLANKS[:0x21]


def text_to_double(value: str) -> float:
    """What Java reads as a double, a suffix and hexadecimal digits included, and the names of what is no number."""
    text = value.strip(_JAVA_BLANKS)
    if match := _DOUBLE.fullmatch(text):
        return float(match[1])
    special = _SPECIAL.get(text.lower())
    if special is not None:
        return special
    if text in {"+NaN", "-NaN"}:
        return math.nan
    if match := _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(match[1])
        except OverflowError:
            return -math.inf if text.startswith("-") else math.inf
    raise _invalid(value, "double")


_BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}


def text_to_boolean(value: str) -> bool:
    """t, true, y, yes, 1; f, false, n, no, 0; in any case, blanks around them."""
    found = _BOOLEANS.get(value.strip(BLANKS).lower())
    if found is None:
        raise _invalid(value, "boolean")
    return found


def text_to_date(value: str) -> int:
    """`yyyy-mm-dd`, and the other forms that Spark reads."""
    days = datetimes.date_of(value)
    if days is None:
        raise _invalid(value, "date")
    return days


def text_to_timestamp(value: str) -> int:
    """`yyyy-mm-dd hh:mm:ss.ffffff+hh:mm`, and the other forms that Spark reads; UTC where no zone is given."""
    micros = datetimes.timestamp_of(value)
    if micros is None:
        raise _invalid(value, "timestamp")
    return micros


def seconds_to_timestamp(value: int) -> int:
    """Seconds since 1970; beyond the last timestamp it is the last one."""
    low, high = LIMITS[Kind.BIGINT]
    return min(max(value * 1_000_000, low), high)


def double_to_timestamp(value: float) -> int:
    """Seconds since 1970 with a fraction."""
    return double_to_whole(value * 1e6, *LIMITS[Kind.BIGINT])


def date_to_timestamp(value: int) -> int:
    """Midnight in UTC."""
    low, high = LIMITS[Kind.BIGINT]
    micros = value * datetimes.DAY
    if low <= micros <= high:
        return micros
    raise _beyond(value, "timestamp")


# The same as functions, for the elements of arrays, where an operator would do for a single value.


def same(value: Any) -> Any:
    """The value as it is."""
    return value


def boolean_text(value: bool) -> str:
    """`true`, `false`."""
    return "true" if value else "false"


def timestamp_to_date(value: int) -> int:
    """The day in UTC."""
    return value // datetimes.DAY


def timestamp_to_seconds(value: int) -> int:
    """Whole seconds since 1970."""
    return value // 1_000_000


def timestamp_to_double(value: int) -> float:
    """Seconds since 1970 with a fraction."""
    return value / 1_000_000.0
