"""A checked aggregate: which function, of what, and the type of its result. How it runs is in `aggregates`."""

from __future__ import annotations

import dataclasses

from spillway.expressions import checker, errors, parser, syntax, terms
from spillway.expressions.expression import Expression, described
from spillway.model import errors as model_errors
from spillway.model import types
from spillway.model.types import ColumnType, Kind, Schema

_NUMBERS = frozenset({Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL})
_ALIASES = {"mean": "avg"}
FUNCTIONS = (
    "count", "count_if", "sum", "avg", "min", "max", "any_value", "approx_count_distinct", "collect_set",
)  # fmt: skip
_OUTSIDE = {
    "collect_list": "its order would be that of arrival, which two paradigms don't share: use collect_set",
    "first": "it depends on the order of arrival: use any_value, min or max",
    "last": "it depends on the order of arrival: use any_value, min or max",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate with the name of its column."""

    name: str
    function: str
    arguments: tuple[Expression, ...]  # none for count(*)
    type: ColumnType
    text: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that it reads."""
        return tuple(dict.fromkeys(name for argument in self.arguments for name in argument.columns))


def check_aggregate(text: str, schema: Schema) -> Aggregate:
    """Check `count(*) as views`, `sum(price * quantity) as total`; raises ExpressionError."""
    node, name = parser.parse_item(text)
    if not isinstance(node, syntax.Call) or node.name not in checker.AGGREGATES:
        hint = model_errors.did_you_mean(node.name, FUNCTIONS) if isinstance(node, syntax.Call) else ""
        message = f"an aggregate is one of {', '.join(FUNCTIONS)}, alone: compute with it in a select after it{hint}"
        raise errors.ExpressionError(message, text, node.at)
    function = _ALIASES.get(node.name, node.name)
    if function in _OUTSIDE:
        message = f"{function} is not supported: {_OUTSIDE[function]}"
        raise errors.ExpressionError(message, text, node.at)
    if node.distinct:
        message = f"{function}(DISTINCT …) is not supported: use approx_count_distinct(x) or collect_set(x)"
        raise errors.ExpressionError(message, text, node.at)
    if not name:
        message = f"the aggregate needs a name: write '{text.strip()} as …'"
        raise errors.ExpressionError(message)
    arguments = _arguments(function, node, text, schema)
    kind = arguments[0].type if arguments else types.NULL
    return Aggregate(name, function, arguments, _result(function, kind, text, node), text)


def _arguments(function: str, node: syntax.Call, text: str, schema: Schema) -> tuple[Expression, ...]:
    """The arguments, as many as the function takes."""
    if node.star:
        if function != "count":
            message = f"'*' stands only in count(*), not in {function}"
            raise errors.ExpressionError(message, text, node.at)
        return ()
    if not node.arguments or (function != "count" and len(node.arguments) != 1):
        message = f"{function} takes one argument, found {len(node.arguments)}"
        raise errors.ExpressionError(message, text, node.at)
    looked = checker.Checker(text, schema)
    if function == "count_if":
        return (described(looked.condition(node.arguments[0], "count_if"), text),)
    found = [described(looked.term(argument), text) for argument in node.arguments]
    for expression, argument in zip(found, node.arguments, strict=True):
        if expression.type.kind is Kind.NULL:
            message = "the type of NULL is not known here: write cast(NULL as …)"
            raise errors.ExpressionError(message, text, argument.at)
        if isinstance(expression.term, terms.Constant) and function == "approx_count_distinct":
            message = "approx_count_distinct needs a column: of a literal it is 1"
            raise errors.ExpressionError(message, text, argument.at)
    return tuple(found)


def _result(function: str, kind: ColumnType, text: str, node: syntax.Call) -> ColumnType:
    """The type of the result, as in Spark."""
    if function in {"count", "count_if", "approx_count_distinct"}:
        return types.BIGINT
    if function in {"sum", "avg"} and kind.kind not in _NUMBERS:
        message = f"{function} needs numbers, found a {kind}: write cast(x as …)"
        raise errors.ExpressionError(message, text, node.at)
    if function in {"min", "max", "collect_set"} and kind.kind is Kind.ARRAY:
        message = f"{function} of arrays is not supported: explode them first"
        raise errors.ExpressionError(message, text, node.at)
    decimal = kind.kind is Kind.DECIMAL
    if function == "sum":
        total = types.BIGINT if kind.kind in {Kind.INT, Kind.BIGINT} else types.DOUBLE
        return _bounded(kind.precision + 10, kind.scale) if decimal else total
    if function == "avg":
        return _bounded(kind.precision + 4, kind.scale + 4) if decimal else types.DOUBLE
    return types.array(kind) if function == "collect_set" else kind


def _bounded(precision: int, scale: int) -> ColumnType:
    return types.decimal(min(precision, types.MAX_PRECISION), min(scale, types.MAX_PRECISION))
