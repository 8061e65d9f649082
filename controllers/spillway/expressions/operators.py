"""Arithmetic as terms: what Python does alone, and where it needs help to do what Spark does."""

from __future__ import annotations

from typing import Any

from spillway.expressions import arithmetic, casts
from spillway.expressions.terms import Apply, Constant, Term
from spillway.model import types
from spillway.model.types import ColumnType, Kind

_NAMES = {"+": "sum", "-": "difference", "*": "product", "/": "quotient", "%": "remainder"}
ARITHMETIC = frozenset({*_NAMES, "div"})


def doubles(op: str, pair: tuple[Term, Term]) -> Term:
    """Arithmetic of doubles: only the division fails, at zero."""
    pair = _mixed(op, pair)
    if op in {"/", "%"}:
        # Spark looks at the divisor first: a null there means that the other side is not evaluated.
        source = "{0} / {1}" if op == "/" else "arithmetic.double_remainder({0}, {1})"
        return Apply(source, pair, types.DOUBLE, fails=not _nonzero(pair[1]), order=(1, 0))
    return Apply(f"{{0}} {op} {{1}}", pair, types.DOUBLE)


def _mixed(op: str, pair: tuple[Term, Term]) -> tuple[Term, Term]:
    """Without the conversions to double that an operator of Python makes by itself."""
    whole = frozenset({Kind.INT, Kind.BIGINT})
    one, two = (peeled(side, whole) for side in pair)
    if one.type.kind is Kind.DOUBLE or two.type.kind is Kind.DOUBLE:
        return one, two
    # The quotient of two ints is that of the doubles; of two bigints it may be more exact than Spark's.
    ints = one.type.kind is Kind.INT and two.type.kind is Kind.INT
    return (one, two) if op == "/" and ints else pair


def peeled(term: Term, kinds: frozenset[Kind]) -> Term:
    """The whole number below its conversion to double."""
    if isinstance(term, Apply) and term.source == "float({0})" and term.arguments[0].type.kind in kinds:
        return term.arguments[0]
    return term


def whole(op: str, pair: tuple[Term, Term], kind: ColumnType) -> Term:
    """Arithmetic of whole numbers: the result has to fit."""
    if op == "div":
        return Apply("arithmetic.quotient({0}, {1})", pair, types.BIGINT, fails=True, order=(1, 0))
    if op == "%":
        return Apply("arithmetic.remainder({0}, {1})", pair, kind, fails=not _nonzero(pair[1]), order=(1, 0))
    low, high = casts.LIMITS[kind.kind]
    source = f"({{t}} if {low} <= ({{t}} := {{0}} {op} {{1}}) <= {high} else arithmetic.overflow({{t}}, '{kind}'))"
    return Apply(source, pair, kind, fails=True)


def decimals(op: str, pair: tuple[Term, Term]) -> Term:
    """Arithmetic of decimals: by operators of Python where those are exact, by functions where not."""
    left, right = pair[0].type, pair[1].type
    if op == "div":
        return Apply("arithmetic.decimal_div({0}, {1})", pair, types.BIGINT, fails=True, order=(1, 0))
    result = arithmetic.decimal_result(op, left, right)
    order = (1, 0) if op in "/%" else ()
    natural = {"+": max(left.scale, right.scale), "-": max(left.scale, right.scale), "*": left.scale + right.scale}
    if op in natural and result.precision <= arithmetic.NATIVE_DIGITS and result.scale == natural[op]:
        zero: Any = arithmetic.zero_of(result.scale)
        # -1.0 * 0.0 is -0.00 in Python, which Spark's decimals don't have.
        return Apply("({0} * {1} or {k})" if op == "*" else f"{{0}} {op} {{1}}", pair, result, constant=zero)
    source = f"arithmetic.decimal_{_NAMES[op]}({{0}}, {{1}}, {result.precision}, {result.scale})"
    return Apply(source, pair, result, fails=True, order=order)


def _nonzero(term: Term) -> bool:
    return isinstance(term, Constant) and bool(term.value)
