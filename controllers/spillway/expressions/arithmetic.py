"""Arithmetic of the rows where an operator of Python alone is not enough: the edges of types, and decimals.

Decimals follow Spark with `allowPrecisionLoss`: the result of an operator has the type that `decimal_result` says;
where that needs more than 38 digits, digits after the point are given up, down to 6.
Spark's decimals know no negative zero, Python's do: nothing here returns one.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from typing import NoReturn

from spillway.expressions.errors import Condition, EvaluationError
from spillway.model import types
from spillway.model.types import ColumnType

# Enough for every intermediate result of 38-digit operands to be exact: products have 76 digits.
EXACT = decimal.Context(prec=160, rounding=decimal.ROUND_HALF_UP, Emin=-999_999, Emax=999_999)
# Spark cuts products and quotients to 39 digits before it rounds them to their type.
_CUT = decimal.Context(prec=types.MAX_PRECISION + 1, rounding=decimal.ROUND_DOWN, Emin=-999_999, Emax=999_999)
_UNITS = tuple(Decimal(1).scaleb(-scale) for scale in range(types.MAX_PRECISION + 2))
_MIN_SCALE = 6  # digits after the point that Spark keeps even if digits before it are lost
NATIVE_DIGITS = 28  # Python's own operators are exact up to here, and twice as fast as those of a context

BIGINT_MIN, BIGINT_MAX = -(2**63), 2**63 - 1


def overflow(value: object, kind: str) -> NoReturn:
    """The result doesn't fit its type."""
    message = f"{value} does not fit {kind}"
    raise EvaluationError(message, Condition.OVERFLOW)


def quotient(left: int, right: int) -> int:
    """`div` of whole numbers: towards zero; the smallest bigint by -1 doesn't fit."""
    if right == 0:
        raise _zero()
    result = abs(left) // abs(right)
    if (left < 0) is not (right < 0):
        return -result
    return result if result <= BIGINT_MAX else overflow(result, "bigint")


def remainder(left: int, right: int) -> int:
    """`%` of whole numbers: the sign is that of the left one."""
    if right == 0:
        raise _zero()
    result = abs(left) % abs(right)
    return -result if left < 0 else result


def double_remainder(left: float, right: float) -> float:
    """`%` of doubles: the sign is that of the left one."""
    if right == 0.0:
        raise _zero()
    return math.nan if math.isinf(left) else math.fmod(left, right)


def fit(value: Decimal, precision: int, scale: int) -> Decimal:
    """The decimal rounded half up to its type; one that doesn't fit raises."""
    whole = precision - scale
    if not value or value.adjusted() < whole:
        result = value.quantize(_UNITS[scale], context=EXACT)
        if not result:
            return zero_of(scale)
        if result.adjusted() < whole:  # rounding may have carried
            return result
    message = f"{value} does not fit decimal({precision},{scale})"
    raise EvaluationError(message, Condition.OUT_OF_RANGE)


def decimal_sum(left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal:
    """`+`."""
    return fit(EXACT.add(left, right), precision, scale)


def decimal_difference(left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal:
    """`-`."""
    return fit(EXACT.subtract(left, right), precision, scale)


def decimal_product(left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal:
    """`*`."""
    return fit(_CUT.multiply(left, right), precision, scale)


def decimal_quotient(left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal:
    """`/`: 39 digits after the point are computed, and then rounded."""
    if not right:
        raise _zero()
    return fit(_divided(left, right), precision, scale)


def _divided(left: Decimal, right: Decimal) -> Decimal:
    """The quotient, cut after 39 digits behind the point."""
    digits = types.MAX_PRECISION + 1
    top, bottom = left.as_integer_ratio(), right.as_integer_ratio()
    numerator, denominator = top[0] * bottom[1] * 10**digits, top[1] * bottom[0]
    whole = abs(numerator) // abs(denominator)
    return EXACT.scaleb(Decimal(whole if (numerator < 0) is (denominator < 0) else -whole), -digits)


def decimal_remainder(left: Decimal, right: Decimal, precision: int, scale: int) -> Decimal:
    """`%`: the sign is that of the left one."""
    if not right:
        raise _zero()
    _whole(left, right)  # for its error
    return fit(EXACT.remainder(left, right), precision, scale)


def decimal_div(left: Decimal, right: Decimal) -> int:
    """`div`: the whole quotient, towards zero; the checker sees to it that it fits."""
    if not right:
        raise _zero()
    return int(EXACT.divide_int(left, right))


def _whole(left: Decimal, right: Decimal) -> int:
    """The whole quotient; Java gives up where it needs more than 39 digits, not counting zeros at its end."""
    result = int(EXACT.divide_int(left, right))
    if abs(result) >= 10 ** (types.MAX_PRECISION + 1) and len(str(abs(result)).rstrip("0")) > types.MAX_PRECISION + 1:
        overflow(result, f"decimal({types.MAX_PRECISION},0)")
    return result


def item(values: list[object], index: int) -> object:
    """`array[index]`, from 0; outside of the array it raises."""
    if 0 <= index < len(values):
        return values[index]
    message = f"index {index} is outside of an array with {len(values)} elements"
    raise EvaluationError(message, Condition.INVALID_INDEX)


def _zero() -> EvaluationError:
    return EvaluationError("division by zero; use try_divide, or nullif(divisor, 0)", Condition.DIVIDE_BY_ZERO)


def zero_of(scale: int) -> Decimal:
    """Zero with so many digits after the point."""
    return Decimal((0, (0,), -scale))


def adjusted(precision: int, scale: int) -> ColumnType:
    """A decimal type for so many digits; beyond 38, digits after the point are given up, down to 6."""
    if precision <= types.MAX_PRECISION:
        return types.decimal(precision, scale)
    whole = precision - scale
    return types.decimal(types.MAX_PRECISION, max(types.MAX_PRECISION - whole, min(scale, _MIN_SCALE)))


def decimal_result(op: str, left: ColumnType, right: ColumnType) -> ColumnType:
    """The type of `left op right` for + - * / %."""
    (p1, s1), (p2, s2) = (left.precision, left.scale), (right.precision, right.scale)
    if op in "+-":
        scale = max(s1, s2)
        return adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if op == "*":
        return adjusted(p1 + p2 + 1, s1 + s2)
    if op == "/":
        scale = max(_MIN_SCALE, s1 + p2 + 1)
        return adjusted(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    return adjusted(min(p1 - s1, p2 - s2) + scale, scale)
