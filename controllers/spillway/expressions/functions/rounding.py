"""Rounding: to whole numbers, to places, up, down, and to the nearest."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from decimal import Decimal

from spillway.expressions import arithmetic
from spillway.expressions.functions.signature import Argument, Function, Signature, of
from spillway.model import types
from spillway.model.types import ColumnType

FUNCTIONS: list[Function] = []

# Beyond 2**53 a double has no digits after the point.
_WHOLE_FROM = 2.0**53
# Enough for any double written out: 309 digits before the point, 38 places behind it.
_WRITTEN = decimal.Context(prec=400)


def to_bigint(value: float) -> int:
    """A whole double as bigint; NaN is 0, as in Java."""
    if value != value:
        return 0
    if not -(2.0**63) <= value < 2.0**63:
        arithmetic.overflow(value, "bigint")
    return int(value)


def ceiling(value: float) -> int:
    """The smallest bigint that is not below."""
    return to_bigint(value) if value != value or abs(value) >= _WHOLE_FROM else math.ceil(value)


def floor(value: float) -> int:
    """The largest bigint that is not above."""
    return to_bigint(value) if value != value or abs(value) >= _WHOLE_FROM else math.floor(value)


def rounded(value: Decimal, result: ColumnType, mode: str) -> Decimal:
    """The decimal with the digits of the result."""
    found = value.quantize(Decimal((0, (1,), -result.scale)), rounding=mode, context=arithmetic.EXACT)
    return found or arithmetic.zero_of(result.scale)


def _whole(arguments: Sequence[Argument]) -> ColumnType:
    """A decimal without digits after the point."""
    given = arguments[0].type
    return types.decimal(min(given.precision - given.scale + (given.scale > 0), types.MAX_PRECISION), 0)


def _to_whole(name: str, double: str, mode: str, meaning: str, examples: tuple[tuple[str, str], ...]) -> Function:
    return Function(
        name,
        (
            of("number bigint", "bigint", "{0}"),
            of("number decimal", _whole, f"rounding.rounded({{0}}, rounding.WHOLE, '{mode}')"),
            of("number double", "bigint", f"rounding.{double}({{0}})"),
        ),
        f"{meaning}; a bigint, or for a decimal a decimal without digits after the point; an error where a double has"
        " no bigint; 0 for NaN.",
        examples,
        ("ceiling",) if name == "ceil" else (),
    )


WHOLE = types.decimal(types.MAX_PRECISION, 0)
FUNCTIONS.append(
    _to_whole(
        "ceil", "ceiling", decimal.ROUND_CEILING, "The smallest whole number that is not below the value",
        (("ceil(-0.1)", "CAST(0 AS decimal(1,0))"), ("ceil(2.5D)", "3L"), ("ceil(5)", "5L")),
    )
)  # fmt: skip
FUNCTIONS.append(
    _to_whole(
        "floor", "floor", decimal.ROUND_FLOOR, "The largest whole number that is not above the value",
        (("floor(-0.1)", "CAST(-1 AS decimal(1,0))"), ("floor(2.5D)", "2L")),
    )
)  # fmt: skip


def round_double(value: float, places: int, mode: str) -> float:
    """A double rounded as the decimal number that it is written as."""
    if not math.isfinite(value):
        return value
    found = Decimal(repr(value)).quantize(Decimal((0, (1,), -places)), rounding=mode, context=_WRITTEN)
    return float(found) + 0.0  # Java's decimals have one zero


def round_whole(value: int, places: int, mode: str) -> int:
    """A whole number; negative places round before the point."""
    if places >= 0:
        return value
    return int(Decimal(value).quantize(Decimal((0, (1,), -places)), rounding=mode, context=arithmetic.EXACT))


def round_decimal(value: Decimal, places: int, precision: int, scale: int, mode: str) -> Decimal:
    """A decimal with the digits of the result; raises where it doesn't fit."""
    step = scale if places >= 0 else places
    found = value.quantize(Decimal((0, (1,), -step)), rounding=mode, context=arithmetic.EXACT)
    return arithmetic.fit(found, precision, scale)


def _round_type(arguments: Sequence[Argument]) -> ColumnType:
    """A decimal with so many places."""
    given = arguments[0].type
    places = int(str(arguments[1].value)) if len(arguments) > 1 else 0
    whole = given.precision - given.scale + 1
    if places < 0:
        return types.decimal(min(max(whole, -places + 1), types.MAX_PRECISION), 0)
    scale = min(given.scale, places)
    return types.decimal(min(whole + scale, types.MAX_PRECISION), scale)


def _places(arguments: Sequence[Argument]) -> str:
    places = arguments[1].value if len(arguments) > 1 else 0
    if isinstance(places, int) and -types.MAX_PRECISION < places <= types.MAX_PRECISION:
        return ""
    return f"{places} places: from -37 to 38"


def _places_of_double(arguments: Sequence[Argument]) -> str:
    places = arguments[1].value if len(arguments) > 1 else 0
    if isinstance(places, int) and 0 <= places <= types.MAX_PRECISION:
        return ""
    # Java before 19 writes some doubles from 1e16 on with one digit too many, and Spark rounds what is written.
    return f"{places} places of a double: from 0 to 38; round a bigint or a decimal before the point"


def _rounding(name: str, mode: str, how: str, examples: tuple[tuple[str, str], ...]) -> Function:
    signatures: list[Signature] = []
    for parameter, places in (("", "0"), (", places int literal", "{1}")):
        fitted = f"rounding.round_whole({{0}}, {places}, '{mode}')"
        signatures += [
            of(f"number int{parameter}", "int", f"numbers.fitting_int({fitted})", check=_places),
            of(f"number bigint{parameter}", "bigint", f"numbers.fitting_bigint({fitted})", check=_places),
            of(
                f"number decimal{parameter}", _round_type,
                f"rounding.round_decimal({{0}}, {places}, {{result.precision}}, {{result.scale}}, '{mode}')",
                check=_places,
            ),
            of(
                f"number double{parameter}", "double", f"rounding.round_double({{0}}, {places}, '{mode}')",
                check=_places_of_double,
            ),
        ]  # fmt: skip
    return Function(
        name,
        tuple(signatures),
        f"The value rounded to so many places after the point (by default 0; negative: before it), halves {how}; a"
        " double is rounded as the decimal number that it is written as, not before the point; an error on"
        " overflow.",
        examples,
    )


FUNCTIONS.append(
    _rounding(
        "round", decimal.ROUND_HALF_UP, "away from zero",
        (("round(2.5D)", "3.0D"), ("round(2.675D, 2)", "2.68D"), ("round(125, -1)", "130")),
    )
)  # fmt: skip
FUNCTIONS.append(
    _rounding(
        "bround", decimal.ROUND_HALF_EVEN, "to the even neighbour",
        (("bround(2.5D)", "2.0D"), ("bround(25, -1)", "20")),
    )
)  # fmt: skip


def rint(value: float) -> float:
    """The nearest whole number, halves to the even one."""
    return math.copysign(float(round(value)), value) if abs(value) < _WHOLE_FROM else value


FUNCTIONS.append(
    Function(
        "rint",
        (of("number double", "double", "rounding.rint({0})"),),
        "The nearest whole number as double, halves to the even one.",
        (("rint(12.5D)", "12.0D"),),
    )
)
