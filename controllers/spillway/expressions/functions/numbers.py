"""Numbers: signs, remainders, buckets. Rounding is in `rounding`, roots and angles are in `mathematics`."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from decimal import Decimal

from spillway.expressions import arithmetic
from spillway.expressions.functions import signature
from spillway.expressions.functions.signature import Argument, Function, Signature, of

FUNCTIONS: list[Function] = []

_INT_MAX = 2**31 - 1
_BIGINT_MAX = 2**63 - 1
# IEEE's decimal128, Scala's default for the sign of a BigDecimal.
_NEGATION = decimal.Context(prec=34, rounding=decimal.ROUND_HALF_EVEN)


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
    """The same template for int and for bigint, checked to fit."""
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
        return _after(_saturated(float(buckets) * (value - least) / (most - least)))
    if value > most or value <= least:
        return 0 if value > most else buckets + 1
    return _after(_saturated(float(buckets) * (most - value) / (most - least)))


def _after(bucket: int) -> int:
    """One more; Java's long begins again after its largest."""
    return bucket + 1 if bucket < _BIGINT_MAX else -_BIGINT_MAX - 1


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
