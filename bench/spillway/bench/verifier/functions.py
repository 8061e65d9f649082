"""The functions of expressions that DuckDB can verify, each as what DuckDB calls it.

Not in the table: functions whose edge cases the two engines see differently (times as texts, regular expressions,
substrings from the end), and those that nobody needed yet. To add one is a line here and a case in
tests/unit/test_verifier_expressions.py, which compares with the job's own meaning.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from spillway.bench.verifier.sql import Sql, type_name
from spillway.expressions import syntax
from spillway.model import types
from spillway.model.types import ColumnType, Kind

_PATTERN_SIGNS = frozenset("\\^$.|?*+()[]{}")
_WHOLE = frozenset({Kind.INT, Kind.BIGINT})
_NUMBERS = _WHOLE | {Kind.DOUBLE, Kind.DECIMAL}

_DIGITS = 700  # of the largest double before the point, and of the smallest behind it

# Functions with arguments that aren't evaluated where they decide nothing, or that make nulls.
LAZY = frozenset({"coalesce", "nvl", "ifnull", "nvl2", "if", "nullif"})


def _rounded(number: float, digits: int) -> float:
    """Half up of the digits that the double is written with, as Spark does; DuckDB rounds its binary value."""
    with localcontext(prec=_DIGITS):
        return float(Decimal(repr(number)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


# Python's own know final sigmas and sharp s, as Java's do: name, arguments and result as DuckDB calls them.
OF_PYTHON: Mapping[str, tuple[Callable[..., Any], list[Any], str]] = {
    "py_lower": (str.lower, ["VARCHAR"], "VARCHAR"),
    "py_upper": (str.upper, ["VARCHAR"], "VARCHAR"),
    "py_round": (_rounded, ["DOUBLE", "INTEGER"], "DOUBLE"),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Called:
    """A call: its arguments as they are written and as SQL, and what finds a type for several of them."""

    nodes: Sequence[syntax.Node]
    arguments: Sequence[Sql]
    common: Callable[[Sequence[Sql]], ColumnType]

    def are(self, *kinds: Kind) -> bool:
        """Whether the arguments have these types; a bare null has any."""
        found = [argument.type.kind for argument in self.arguments]
        return len(found) == len(kinds) and all(
            one in {kind, Kind.NULL} for one, kind in zip(found, kinds, strict=True)
        )

    def literal(self, place: int) -> object:
        """The value of an argument that is a literal; None of another."""
        node = self.nodes[place]
        return node.value if isinstance(node, syntax.Literal) else None


Function = Callable[[Called], Sql | None]


def _plain(name: str, result: ColumnType, *kinds: Kind) -> Function:
    """The same function under its name in DuckDB."""

    def made(call: Called) -> Sql | None:
        if not call.are(*kinds):
            return None
        return Sql(f"{name}({', '.join(argument.text for argument in call.arguments)})", result)

    return made


def _texts(name: str, result: ColumnType, count: int = 1) -> Function:
    return _plain(name, result, *[Kind.STRING] * count)


def _choice(name: str, least: int) -> Function:
    """All arguments as one type."""

    def made(call: Called) -> Sql | None:
        if len(call.arguments) < least:
            return None
        kind = call.common(call.arguments)
        return Sql(f"{name}({', '.join(argument.to(kind) for argument in call.arguments)})", kind)

    return made


def _if(call: Called) -> Sql | None:
    if len(call.arguments) != 3 or call.arguments[0].type.kind is not Kind.BOOLEAN:
        return None
    condition, then, otherwise = call.arguments
    kind = call.common([then, otherwise])
    return Sql(f"(CASE WHEN {condition.text} THEN {then.to(kind)} ELSE {otherwise.to(kind)} END)", kind)


def _nvl2(call: Called) -> Sql | None:
    if len(call.arguments) != 3:
        return None
    value, then, otherwise = call.arguments
    kind = call.common([then, otherwise])
    return Sql(f"(CASE WHEN {value.text} IS NOT NULL THEN {then.to(kind)} ELSE {otherwise.to(kind)} END)", kind)


def _nullif(call: Called) -> Sql | None:
    if len(call.arguments) != 2 or call.arguments[0].type != call.arguments[1].type:
        return None
    one, other = call.arguments
    return Sql(f"NULLIF({one.text}, {other.text})", one.type)


def _is_null(negated: bool) -> Function:
    word = "IS NOT NULL" if negated else "IS NULL"
    return lambda call: Sql(f"({call.arguments[0].text} {word})", types.BOOLEAN) if len(call.arguments) == 1 else None


def _split(call: Called) -> Sql | None:
    """A pattern of ordinary characters is a separator; an empty one would give the characters."""
    pattern = call.literal(1) if call.are(Kind.STRING, Kind.STRING) else None
    if not isinstance(pattern, str) or not pattern or _PATTERN_SIGNS & set(pattern):
        return None
    return Sql(f"string_split({call.arguments[0].text}, {call.arguments[1].text})", types.array(types.STRING))


def _substring(call: Called) -> Sql | None:
    """From the front only: the two engines count from the end differently."""
    place = call.literal(1) if len(call.nodes) > 1 else None
    length = call.literal(2) if len(call.nodes) == 3 else 0
    if call.arguments[0].type.kind is not Kind.STRING or len(call.nodes) > 3:
        return None
    if not (isinstance(place, int) and place >= 1 and isinstance(length, int) and length >= 0):
        return None
    return Sql(f"substring({', '.join(argument.text for argument in call.arguments)})", types.STRING)


def _edge(name: str) -> Function:
    def made(call: Called) -> Sql | None:
        count = call.literal(1) if call.are(Kind.STRING, Kind.INT) else None
        if not isinstance(count, int) or count < 0:
            return None
        return Sql(f'"{name}"({call.arguments[0].text}, {call.arguments[1].text})', types.STRING)

    return made


def _trimmed(name: str) -> Function:
    return lambda call: Sql(f"{name}({call.arguments[0].text}, ' ')", types.STRING) if call.are(Kind.STRING) else None


def _abs(call: Called) -> Sql | None:
    if len(call.arguments) != 1 or call.arguments[0].type.kind not in _NUMBERS:
        return None
    return Sql(f"abs({call.arguments[0].text})", call.arguments[0].type)


def _round(call: Called) -> Sql | None:
    digits = call.literal(1) if len(call.nodes) == 2 else 0
    value = call.arguments[0]
    if not isinstance(digits, int) or digits < 0 or len(call.nodes) > 2:
        return None
    match value.type.kind:
        case Kind.INT | Kind.BIGINT:
            return value
        case Kind.DOUBLE:
            # NaN would come back from Python as null.
            finite = f"py_round({value.text}, {digits})"
            return Sql(f"(CASE WHEN isfinite({value.text}) THEN {finite} ELSE {value.text} END)", types.DOUBLE)
        case Kind.DECIMAL:
            scale = min(digits, value.type.scale)
            whole = value.type.precision - value.type.scale
            kind = types.ColumnType(Kind.DECIMAL, whole + scale + 1, scale)
            return Sql(f"CAST({value.text} AS {type_name(kind)})", kind) if kind.precision <= 38 else None
    return None


def _floored(name: str) -> Function:
    def made(call: Called) -> Sql | None:
        if len(call.arguments) != 1:
            return None
        value = call.arguments[0]
        if value.type.kind in _WHOLE:
            return Sql(value.to(types.BIGINT), types.BIGINT)
        if value.type.kind is not Kind.DOUBLE:
            return None
        # As Java casts: NaN is 0; what is too large raises here and there.
        text = f"(CASE WHEN isnan({value.text}) THEN CAST(0 AS BIGINT) ELSE CAST({name}({value.text}) AS BIGINT) END)"
        return Sql(text, types.BIGINT)

    return made


def _array(call: Called) -> Sql | None:
    if not call.arguments:
        return None
    kind = call.common(call.arguments)
    return Sql(f"list_value({', '.join(argument.to(kind) for argument in call.arguments)})", types.array(kind))


def _part_of_time(name: str) -> Function:
    """Of a timestamp or a date, where the part is one that a date has."""

    def made(call: Called) -> Sql | None:
        known = {Kind.TIMESTAMP} | ({Kind.DATE} if name in {"year", "month", "day"} else set())
        if len(call.arguments) != 1 or call.arguments[0].type.kind not in known:
            return None
        return Sql(f"CAST({name}({call.arguments[0].text}) AS INTEGER)", types.INT)

    return made


def _concat(call: Called) -> Sql | None:
    if not call.arguments or not call.are(*[Kind.STRING] * len(call.arguments)):
        return None
    return Sql(f"({' || '.join(argument.text for argument in call.arguments)})", types.STRING)


FUNCTIONS: Mapping[str, Function] = {
    "abs": _abs,
    "array": _array,
    "ceil": _floored("ceil"),
    "ceiling": _floored("ceil"),
    "char_length": _texts("length", types.INT),
    "coalesce": _choice("coalesce", 1),
    "concat": _concat,
    "contains": _texts("contains", types.BOOLEAN, 2),
    "day": _part_of_time("day"),
    "dayofmonth": _part_of_time("day"),
    "endswith": _texts("ends_with", types.BOOLEAN, 2),
    "floor": _floored("floor"),
    "greatest": _choice("greatest", 2),
    "hour": _part_of_time("hour"),
    "if": _if,
    "ifnull": _choice("coalesce", 2),
    "instr": _texts("instr", types.INT, 2),
    "isnan": lambda call: (
        Sql(f"coalesce(isnan({call.arguments[0].text}), false)", types.BOOLEAN) if call.are(Kind.DOUBLE) else None
    ),
    "isnotnull": _is_null(negated=True),
    "isnull": _is_null(negated=False),
    "lcase": _texts("py_lower", types.STRING),
    "least": _choice("least", 2),
    "left": _edge("left"),
    "len": _texts("length", types.INT),
    "length": _texts("length", types.INT),
    "lower": _texts("py_lower", types.STRING),
    "ltrim": _trimmed("ltrim"),
    "minute": _part_of_time("minute"),
    "month": _part_of_time("month"),
    "nullif": _nullif,
    "nvl": _choice("coalesce", 2),
    "nvl2": _nvl2,
    "right": _edge("right"),
    "round": _round,
    "rtrim": _trimmed("rtrim"),
    "split": _split,
    "startswith": _texts("starts_with", types.BOOLEAN, 2),
    "substr": _substring,
    "substring": _substring,
    "trim": _trimmed("trim"),
    "ucase": _texts("py_upper", types.STRING),
    "upper": _texts("py_upper", types.STRING),
    "year": _part_of_time("year"),
}
