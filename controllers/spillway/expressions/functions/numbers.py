"""Numbers: rounding, signs, remainders, buckets, bits. What needs a mathematical library is in `mathematics`."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from decimal import Decimal

from spillway.expressions import arithmetic
from spillway.expressions.functions import signature
from spillway.expressions.functions.signature import Argument, Function, Signature, of
from spillway.model import types
from spillway.model.types import ColumnType

FUNCTIONS: list[Function] = []

_INT_MAX = 2**31 - 1
_BIGINT_MAX = 2**63 - 1
# Beyond 2**53 a double has no digits after the point.
_WHOLE_FROM = 2.0**53
# IEEE's decimal128, Scala's default for the sign of a BigDecimal.
_NEGATION = decimal.Context(prec=34, rounding=decimal.ROUND_HALF_EVEN)
# Enough for any double written out: 309 digits before the point, 38 places behind it.
_WRITTEN = decimal.Context(prec=400)


def fitting_int(value: int) -> int:
    """The value, if it is an int."""
    return value if -_INT_MAX - 1 <= value <= _INT_MAX else arithmetic.overflow(value, "int")


def fitting_bigint(value: int) -> int:
    """The value, if it is a bigint."""
    return value if -_BIGINT_MAX - 1 <= value <= _BIGINT_MAX else arithmetic.overflow(value, "bigint")


def negated(value: Decimal, precision: int) -> Decimal:
    """The decimal with the other sign; Spark's Decimal rounds it to 34 digits on the way."""
    found = _NEGATION.minus(value)
    return arithmetic.fit(found, precision, -int(value.as_tuple().exponent))


def _each(python: str) -> tuple[Signature, ...]:
    """The same template for int and bigint, where `fitting` is the check, for decimal, and for double."""
    whole = "numbers.fitting_{}(" + python + ")"
    return (
        of("number int", "int", whole.replace("{}", "int")),
        of("number bigint", "bigint", whole.replace("{}", "bigint")),
    )


FUNCTIONS.append(
    Function(
        "abs",
        (
            *_each("abs({0})"),
            of("number decimal", signature.first, "({0} if {0} >= 0 else numbers.negated({0}, {result.precision}))"),
            of("number double", "double", "abs({0})"),
        ),
        "The value without its sign; an error for the smallest int and the smallest bigint.",
        (("abs(-1)", "1"), ("abs(-1.50)", "1.50")),
    )
)
FUNCTIONS.append(
    Function(
        "negative",
        (
            *_each("-{0}"),
            of("number decimal", signature.first, "numbers.negated({0}, {result.precision})"),
            of("number double", "double", "(-{0})"),
        ),
        "The value with the other sign; an error for the smallest int and the smallest bigint.",
        (("negative(1)", "-1"),),
    )
)
FUNCTIONS.append(
    Function(
        "positive",
        (of("number numeric", signature.first, "{0}"),),
        "The value itself.",
        (("positive(1)", "1"),),
    )
)


def sign(value: float) -> float:
    """-1.0, 1.0, or the value itself where it is a zero or NaN."""
    return math.copysign(1.0, value) if value and value == value else value


FUNCTIONS.append(
    Function(
        "sign",
        (of("number double", "double", "numbers.sign({0})"),),
        "-1.0 for negative, 1.0 for positive numbers, otherwise the value (0.0, -0.0, NaN) itself.",
        (("sign(40)", "1.0D"), ("sign(-0.5)", "-1.0D")),
        ("signum",),
    )
)


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
            of("number decimal", _whole, f"numbers.rounded({{0}}, numbers.WHOLE, '{mode}')"),
            of("number double", "bigint", f"numbers.{double}({{0}})"),
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


def round_decimal(value: Decimal, places: int, result: ColumnType, mode: str) -> Decimal | None:
    """A decimal; None where it doesn't fit into the digits of the result."""
    step = result.scale if places >= 0 else places
    found = value.quantize(Decimal((0, (1,), -step)), rounding=mode, context=arithmetic.EXACT)
    return arithmetic.fit(found, result.precision, result.scale)


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


def _rounding(name: str, mode: str, how: str, examples: tuple[tuple[str, str], ...]) -> Function:
    signatures: list[Signature] = []
    for parameter, places in (("", "0"), (", places int literal", "{1}")):
        fitted = f"numbers.round_whole({{0}}, {places}, '{mode}')"
        signatures += [
            of(f"number int{parameter}", "int", f"numbers.fitting_int({fitted})", check=_places),
            of(f"number bigint{parameter}", "bigint", f"numbers.fitting_bigint({fitted})", check=_places),
            of(
                f"number decimal{parameter}", _round_type,
                f"numbers.round_decimal({{0}}, {places}, numbers.types.decimal({{result.precision}}, {{result.scale}}),"
                f" '{mode}')", check=_places,
            ),
            of(
                f"number double{parameter}", "double", f"numbers.round_double({{0}}, {places}, '{mode}')",
                check=_places,
            ),
        ]  # fmt: skip
    return Function(
        name,
        tuple(signatures),
        f"The value rounded to so many places after the point (by default 0; negative: before it), halves {how}; a"
        " double is rounded as the decimal number that it is written as; an error on overflow.",
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
        (of("number double", "double", "numbers.rint({0})"),),
        "The nearest whole number as double, halves to the even one.",
        (("rint(12.5D)", "12.0D"),),
    )
)


def no_decimals(arguments: Sequence[Argument]) -> str:
    """What to say where decimals are given to a function that has an operator for them."""
    return f"{arguments[0].type}, {arguments[1].type}: decimals are not supported here; use the operator %"


def _doubles_or_whole(python: str, double: str) -> tuple[Signature, ...]:
    """Spark evaluates the divisor first, and where it is null not the dividend."""
    python, double = (f"(None if (_t := {{1}}) is None else {template})" for template in (python, double))
    return (
        of("dividend int, divisor int", "int", python.replace("#", "32"), strict=False),
        of("dividend bigint, divisor bigint", "bigint", python.replace("#", "64"), strict=False),
        of("dividend decimal, divisor numeric", signature.first, "", check=no_decimals),
        of("dividend numeric, divisor decimal", signature.first, "", check=no_decimals),
        of("dividend double, divisor double", "double", double, strict=False),
    )


def mod(divisor: int, dividend: int | None) -> int | None:
    """The remainder."""
    return None if dividend is None else arithmetic.remainder(dividend, divisor)


def mod_double(divisor: float, dividend: float | None) -> float | None:
    """The remainder."""
    return None if dividend is None else arithmetic.double_remainder(dividend, divisor)


def pmod(divisor: int, dividend: int | None, bits: int) -> int | None:
    """The remainder, brought to the positive side by adding the divisor once, which wraps around as in Java."""
    if dividend is None:
        return None
    found = arithmetic.remainder(dividend, divisor)
    if found >= 0:
        return found
    found += divisor
    return arithmetic.remainder(found + (1 << bits) if found < -(1 << bits - 1) else found, divisor)


def pmod_double(divisor: float, dividend: float | None) -> float | None:
    """The remainder, brought to the positive side by adding the divisor once."""
    if dividend is None:
        return None
    found = arithmetic.double_remainder(dividend, divisor)
    return arithmetic.double_remainder(found + divisor, divisor) if found < 0 else found


FUNCTIONS.append(
    Function(
        "mod",
        _doubles_or_whole("numbers.mod(_t, {0})", "numbers.mod_double(_t, {0})"),
        "The remainder, with the sign of the dividend, as the operator `%`; an error for a zero divisor.",
        (("mod(7, 3)", "1"), ("mod(-7, 3)", "-1")),
    )
)
FUNCTIONS.append(
    Function(
        "pmod",
        _doubles_or_whole("numbers.pmod(_t, {0}, #)", "numbers.pmod_double(_t, {0})"),
        "The remainder, positive for a positive divisor; an error for a zero divisor.",
        (("pmod(10, 3)", "1"), ("pmod(-10, 3)", "2")),
    )
)


def width_bucket(value: float, low: float, high: float, buckets: int) -> int | None:
    """The bucket of equal width from low to high; None where there are no buckets."""
    if buckets <= 0 or buckets == _BIGINT_MAX or value != value or low == high:
        return None
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    least, most = min(low, high), max(low, high)
    if low < high:
        if value < least or value >= most:
            return 0 if value < least else buckets + 1
        return _saturated(float(buckets) * (value - least) / (most - least)) + 1
    if value > most or value <= least:
        return 0 if value > most else buckets + 1
    return _saturated(float(buckets) * (most - value) / (most - least)) + 1


def _saturated(value: float) -> int:
    """As Java turns a double into a long."""
    return 0 if value != value else _BIGINT_MAX if value >= 2.0**63 else int(value)


FUNCTIONS.append(
    Function(
        "width_bucket",
        (
            of(
                "number double, low double, high double, buckets bigint", "bigint",
                "numbers.width_bucket({0}, {1}, {2}, {3})", nullable=True,
            ),
        ),
        "Which of so many buckets of equal width between low and high (which may be the smaller) the value is in: 0"
        " before the first, buckets + 1 behind the last; null where there are no buckets, or a bound is not finite.",
        (("width_bucket(5.3D, 0.2D, 10.6D, 5)", "3L"),),
    )
)  # fmt: skip


def factorial(number: int) -> int | None:
    """The product of 1 to the number; None outside of 0 to 20."""
    return math.factorial(number) if 0 <= number <= 20 else None


FUNCTIONS.append(
    Function(
        "factorial",
        (of("number int", "bigint", "numbers.factorial({0})", nullable=True),),
        "The factorial; null outside of 0 to 20.",
        (("factorial(5)", "120L"), ("factorial(21)", "CAST(NULL AS bigint)")),
    )
)
