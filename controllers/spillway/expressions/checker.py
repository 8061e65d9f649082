"""Finds out what an expression means: its columns, its types, and the conversions that Spark would make by itself.

Conversions happen among numbers only (int, bigint, decimal, double). Spark would also turn strings into numbers or
times, and dates into timestamps; here that is written as a CAST, so that the text says it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NoReturn

from spillway.expressions import arithmetic, casts, datetimes, errors, operators, patterns, syntax, terms
from spillway.expressions.functions import registry, signature
from spillway.expressions.terms import Apply, Constant, Term
from spillway.model import errors as model_errors
from spillway.model import types
from spillway.model.types import BOOLEAN, ColumnType, Kind, Schema

_NUMBERS = frozenset({Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE})
_SPECIAL = ("epoch", "now", "today", "tomorrow", "yesterday")
_NEGATED_DIGITS = 34  # Spark negates with the precision of IEEE's decimal128
_DIV_DIGITS = 18  # so many fit every bigint
# Functions that are forms of their own, because they evaluate only what they need.
_FORMS = frozenset({"if", "coalesce", "ifnull", "nvl", "nullif", "nvl2"})


class Checker:
    """Checks the tree of one text against one schema."""

    def __init__(self, text: str, schema: Schema) -> None:
        self.text = text
        self.types = {column.name: column.type for column in schema}

    def fail(self, message: str, node: syntax.Node) -> NoReturn:
        """There is a mistake, at the node."""
        raise errors.ExpressionError(message, self.text, node.at)

    def term(self, node: syntax.Node) -> Term:
        """The node with its meaning."""
        match node:
            case syntax.Literal():
                return Constant(node.value, node.type, literal=True)
            case syntax.Name():
                return self.column(node)
            case syntax.Unary():
                return self.unary(node)
            case syntax.Binary():
                return self.binary(node)
            case syntax.Logic():
                return terms.Logic(node.op, tuple(self.condition(part, node.op.upper()) for part in node.terms))
            case syntax.Between():
                return self.between(node)
            case syntax.In():
                return self.membership(node)
            case syntax.Match():
                return self.match(node)
            case syntax.Is():
                return self.state(node)
            case syntax.Case():
                return self.case(node)
            case syntax.Cast():
                return self.cast(node)
            case syntax.Subscript():
                return self.subscript(node)
            case syntax.Call():
                return self.call(node)

    def column(self, node: syntax.Name) -> Term:
        """A name of the schema, in the same case."""
        kind = self.types.get(node.name)
        if kind is not None:
            return terms.Column(node.name, kind)
        near = next((name for name in self.types if name.lower() == node.name.lower()), "")
        hint = f", did you mean {near!r}?" if near else model_errors.did_you_mean(node.name, self.types)
        if not hint and registry.FUNCTIONS.get(node.name.lower()):
            hint = f"; the function of that name is called with parentheses: {node.name}()"
        known = (
            "" if hint else f"; columns are {', '.join(self.types)}" if self.types else "; there are no columns here"
        )
        message = f"unknown column {node.name!r}{hint or known}"
        self.fail(message, node)

    # Conversions.

    def converted(self, term: Term, into: ColumnType, node: syntax.Node) -> Term:
        """The term as another type; constants are converted right away."""
        if term.type == into:
            return term
        plan = casts.plan(term.type, into)
        if isinstance(plan, str):
            message = f"a {term.type} cannot become a {into}: {plan}"
            self.fail(message, node)
        return self._apply(plan, term, into, safe=False)

    def _apply(self, plan: casts.Conversion, term: Term, into: ColumnType, *, safe: bool) -> Term:
        if isinstance(term, Constant):
            if term.value is None:
                return Constant(None, into)
            try:
                return Constant(_FUNCTIONS[plan.function](term.value, *map(_resolved, plan.extras)), into)
            except errors.EvaluationError:
                # The row raises, as in Spark: it may be in a branch that no row takes.
                if safe:
                    return Constant(None, into)
        if safe and plan.fails:
            return Apply(plan.attempt, (term,), into, gives_null=True)
        return Apply(plan.source, (term,), into, gives_null=plan.nulls, fails=plan.fails)

    def common(self, found: list[Term], nodes: list[syntax.Node], what: str) -> ColumnType:
        """The one type that the values of all have."""
        wide: ColumnType = types.NULL
        for term, node in zip(found, nodes, strict=True):
            wider = signature.wider(wide, term.type)
            if wider is None:
                self.fail(f"{what} must have one type, found {wide} and {term.type}{_advice(wide, term.type)}", node)
            wide = wider
        return wide

    def unified(self, nodes: list[syntax.Node], what: str) -> list[Term]:
        """The terms of the nodes, converted to their common type."""
        found = [self.term(node) for node in nodes]
        wide = self.common(found, nodes, what)
        return [self.converted(term, wide, node) for term, node in zip(found, nodes, strict=True)]

    def condition(self, node: syntax.Node, where: str) -> Term:
        """A boolean."""
        term = self.term(node)
        if term.type.kind is Kind.NULL:
            return Constant(None, BOOLEAN)
        if term.type != BOOLEAN:
            message = f"{where} needs a condition, found a {term.type}: write a comparison, such as x <> 0"
            self.fail(message, node)
        return term

    # Operators.

    def unary(self, node: syntax.Unary) -> Term:
        """A sign, or NOT."""
        if node.op == "not":
            return terms.Not(self.condition(node.operand, "NOT"))
        term = self.term(node.operand)
        if term.type.kind not in _NUMBERS:
            message = f"a sign stands before a number, found a {term.type}"
            self.fail(message, node)
        if node.op == "+":
            return dataclasses.replace(term, literal=False) if isinstance(term, Constant) else term
        if (limits := casts.LIMITS.get(term.type.kind)) is not None:
            source = f"({{t}} if ({{t}} := -{{0}}) <= {limits[1]} else arithmetic.overflow({{t}}, '{term.type}'))"
            return Apply(source, (term,), term.type, fails=True)
        if term.type.precision > _NEGATED_DIGITS:
            message = f"Spark rounds the negative of a decimal to {_NEGATED_DIGITS} digits: write 0 - x"
            self.fail(message, node)
        source = "-{0}" if term.type.kind is Kind.DOUBLE else "{0}.copy_negate() if {0} else {0}"
        return Apply(source, (term,), term.type)

    def binary(self, node: syntax.Binary) -> Term:
        """Arithmetic, a comparison or `||`."""
        if node.op == "||":
            call = syntax.Call("concat", (node.left, node.right), node.at)
            return self.call(call)
        left, right = self.term(node.left), self.term(node.right)
        if node.op in operators.ARITHMETIC:
            return self.arithmetic(node, left, right)
        return self.comparison(node.op, [left, right], [node.left, node.right])

    def comparison(self, op: str, found: list[Term], nodes: list[syntax.Node]) -> Term:
        """`=` and its relatives."""
        wide = self.common(found, nodes, f"both sides of {op}")
        if wide.kind is Kind.ARRAY:
            message = f"arrays cannot be compared with {op}: compare their elements, or use array_contains"
            self.fail(message, nodes[0])
        if wide.kind is Kind.NULL:
            message = f"both sides of {op} are NULL: write cast(NULL as …), or IS NULL"
            self.fail(message, nodes[0])
        left, right = (self.converted(term, wide, node) for term, node in zip(found, nodes, strict=True))
        if wide.kind is Kind.DOUBLE:
            # Python compares an int with a double exactly, as Spark does; a bigint Spark rounds before.
            left, right = (operators.peeled(side, frozenset({Kind.INT})) for side in (left, right))
        return terms.Same(left, right) if op == "<=>" else terms.Compare(op, left, right)

    def arithmetic(self, node: syntax.Binary, left: Term, right: Term) -> Term:
        """`+ - * / % div`, with the types that Spark gives them."""
        for term, side in ((left, node.left), (right, node.right)):
            if term.type.kind not in _NUMBERS | {Kind.NULL}:
                message = f"{node.op!r} needs numbers, found a {term.type}{_arithmetic_advice(term.type, node.op)}"
                self.fail(message, side)
        kinds = {left.type.kind, right.type.kind}
        if Kind.NULL in kinds:
            message = f"the type of NULL is not known in arithmetic: write cast(NULL as {_typed(left, right)})"
            self.fail(message, node)
        if Kind.DECIMAL in kinds and Kind.DOUBLE not in kinds:
            return self.decimals(node, left, right)
        double = Kind.DOUBLE in kinds or node.op == "/"
        whole = types.BIGINT if Kind.BIGINT in kinds or node.op == "div" else types.INT
        if double and node.op == "div":
            message = "'div' needs whole numbers or decimals: write cast(x / y as bigint)"
            self.fail(message, node)
        into = types.DOUBLE if double else whole
        pair = (self.converted(left, into, node.left), self.converted(right, into, node.right))
        return operators.doubles(node.op, pair) if double else operators.whole(node.op, pair, whole)

    def decimals(self, node: syntax.Binary, left: Term, right: Term) -> Term:
        """Arithmetic of decimals: whole numbers become decimals, literals with only the digits that they have."""
        pair: list[Term] = []
        for term, side in ((left, node.left), (right, node.right)):
            if term.type.kind is Kind.DECIMAL:
                pair.append(term)
            else:
                pair.append(self.converted(term, _as_decimal(term), side))
        whole = pair[0].type.precision - pair[0].type.scale + pair[1].type.scale
        if node.op == "div" and whole > _DIV_DIGITS:
            message = f"Spark cuts a quotient that is no bigint: 'div' of decimals takes at most {_DIV_DIGITS} digits"
            self.fail(f"{message}; write floor(x / y), or cast to smaller decimals", node)
        return operators.decimals(node.op, (pair[0], pair[1]))

    def between(self, node: syntax.Between) -> Term:
        """Two comparisons, each with its own common type; of one value."""
        nodes = [node.value, node.low, node.high]
        value, low, high = (self.term(part) for part in nodes)
        for bound, side in ((low, node.low), (high, node.high)):
            self.comparison("BETWEEN", [value, bound], [node.value, side])
        wide = self.common([value, low, high], nodes, "the value and the bounds of BETWEEN")
        return terms.Between(
            *(self.converted(term, wide, part) for term, part in zip((value, low, high), nodes, strict=True))
        )

    def membership(self, node: syntax.In) -> Term:
        """`in (…)`."""
        value, *options = self.unified([node.value, *node.options], "the value and the options of IN")
        if value.type.kind in {Kind.ARRAY, Kind.NULL}:
            message = f"IN cannot look for a {value.type}"
            self.fail(message, node.value)
        return terms.In(value, tuple(options))

    def match(self, node: syntax.Match) -> Term:
        """`like` and `rlike`: the pattern is a literal, so that it is checked and translated once."""
        value = self.term(node.value)
        op = node.op.upper()
        if value.type.kind is Kind.NULL:
            value = Constant(None, types.STRING)
        if value.type != types.STRING:
            message = f"{op} needs a string, found a {value.type}: write cast(x as string)"
            self.fail(message, node.value)
        pattern = node.pattern
        if not isinstance(pattern, syntax.Literal) or not isinstance(pattern.value, str):
            message = f"the pattern of {op} must be a string literal; to look for another column use contains(x, y)"
            self.fail(message, pattern)
        try:
            if node.op == "like":
                source, constant = patterns.like(pattern.value, node.escape)
            else:
                source, constant = patterns.rlike(pattern.value)
        except ValueError as mistake:
            self.fail(str(mistake), pattern)
        return Apply(source, (value,), BOOLEAN, constant=constant)

    def state(self, node: syntax.Is) -> Term:
        """`is null`, `is true`, `is false`."""
        if node.what == "null":
            return terms.Test(self.term(node.value), "null")
        return terms.Test(self.condition(node.value, f"IS {node.what.upper()}"), node.what)

    def case(self, node: syntax.Case) -> Term:
        """`case`: the value of the operand is compared with one WHEN after the other."""
        conditions: list[Term] = []
        if node.operand is None:
            conditions = [self.condition(condition, "WHEN") for condition, _ in node.branches]
        else:
            operand = self.term(node.operand)
            for condition, _ in node.branches:
                pair = [operand, self.term(condition)]
                conditions.append(self.comparison("=", pair, [node.operand, condition]))
        nodes = [value for _, value in node.branches] + ([node.otherwise] if node.otherwise else [])
        values = self.unified(nodes, "the values of CASE")
        otherwise = values.pop() if node.otherwise else Constant(None, values[0].type)
        return terms.Choice(tuple(zip(conditions, values, strict=True)), otherwise)

    def cast(self, node: syntax.Cast) -> Term:
        """`cast` and `try_cast`."""
        term = self.term(node.value)
        if term.type == node.type:
            return term
        plan = casts.plan(term.type, node.type)
        if isinstance(plan, str):
            message = f"CAST of {term.type} to {node.type} is not supported: {plan}"
            self.fail(message, node)
        if term.type.kind is Kind.STRING and node.type.kind in {Kind.DATE, Kind.TIMESTAMP}:
            self.dated(term, node.type, node)
        if node.safe and plan.fails and node.type.kind is Kind.ARRAY:
            message = "TRY_CAST of arrays is not supported: cast the elements"
            self.fail(message, node)
        return self._apply(plan, term, node.type, safe=node.safe)

    def dated(self, term: Term, kind: ColumnType, node: syntax.Node) -> None:
        """Of a text without columns, Spark also reads words such as 'today', which mean the time of the query."""
        special = isinstance(term, Constant) and str(term.value).strip().lower().startswith(_SPECIAL)
        if special or not (isinstance(term, Constant) or any(terms.columns(term))):
            message = f"a {kind} made of a text without columns: write {kind}'…'"
            self.fail(message, node)

    def subscript(self, node: syntax.Subscript) -> Term:
        """`array[index]`, from 0."""
        value, index = self.term(node.value), self.term(node.index)
        if value.type.element is None:
            message = f"[ ] needs an array, found a {value.type}"
            self.fail(message, node.value)
        if index.type.kind is Kind.BIGINT:
            self.fail("Spark cuts an index to 32 bits: write cast(… as int), which raises instead", node.index)
        if index.type.kind is not Kind.INT:
            message = f"the index of an array is an int, found a {index.type}"
            self.fail(message, node.index)
        return Apply("arithmetic.item({0}, {1})", (value, index), value.type.element, gives_null=True, fails=True)

    # Functions.

    def call(self, node: syntax.Call) -> Term:
        """A function of the library, or one of the forms that evaluate only what they need."""
        if node.star or node.distinct or node.name in AGGREGATES:
            message = (
                f"{node.name} is an aggregate: it stands in the values of an aggregate operator, not in an expression"
            )
            self.fail(message, node)
        function = registry.FUNCTIONS.get(node.name)
        if function is None and node.name not in _FORMS:
            hint = model_errors.did_you_mean(node.name, registry.FUNCTIONS)
            message = (
                f"unknown function {node.name!r}{hint or '; docs/reference/expressions.md lists all that there are'}"
            )
            self.fail(message, node)
        if node.name in _FORMS:
            return self.form(node)
        assert function is not None  # noqa: S101 (for mypy: both are missing above)
        found = [self.term(argument) for argument in node.arguments]
        call = function.resolve(
            [_argument(term, argument) for term, argument in zip(found, node.arguments, strict=True)]
        )
        if call is None:
            given = ", ".join(str(term.type) for term in found)
            message = (
                f"{node.name}({given}) does not exist: {'; '.join(_usage(node.name, s) for s in function.signatures)}"
            )
            self.fail(message, node)
        if call.objection:
            self.fail(call.objection, node)
        if node.name.endswith(("to_date", "to_timestamp")) and found[0].type.kind is Kind.STRING:
            self.dated(found[0], call.result, node)
        arguments = tuple(
            self.converted(term, into, argument)
            for term, into, argument in zip(found, call.parameters, node.arguments, strict=True)
        )
        s = call.signature
        gives_null = s.nullable or not s.strict
        return Apply(call.source, arguments, call.result, gives_null=gives_null, fails=True, strict=s.strict)

    def form(self, node: syntax.Call) -> Term:
        """`if`, `coalesce` and their relatives."""
        name, given = node.name, list(node.arguments)
        wanted = {"if": 3, "ifnull": 2, "nvl": 2, "nullif": 2, "nvl2": 3}.get(name)
        if not given or (wanted and len(given) != wanted):
            message = f"{name} takes {wanted or 'one or more'} arguments, found {len(given)}"
            self.fail(message, node)
        if name == "if":
            condition = self.condition(given[0], "IF")
            yes, no = self.unified(given[1:], "the values of IF")
            return terms.Choice(((condition, yes),), no)
        if name == "nvl2":
            condition = terms.Not(terms.Test(self.term(given[0]), "null"))
            yes, no = self.unified(given[1:], "the values of NVL2")
            return terms.Choice(((condition, yes),), no)
        if name == "nullif":
            pair = [self.term(part) for part in given]
            same = self.comparison("=", pair, given)
            return terms.Choice(((same, Constant(None, pair[0].type)),), pair[0])
        return terms.First(tuple(self.unified(given, f"the arguments of {name}")))


AGGREGATES = frozenset(
    {"count", "sum", "min", "max", "avg", "mean", "count_if", "any_value", "approx_count_distinct", "collect_set"}
    | {"collect_list", "first", "last"}
)


def _advice(one: ColumnType, other: ColumnType) -> str:
    """The way out where two types have nothing in common."""
    kinds = {one.kind, other.kind}
    if kinds == {Kind.DATE, Kind.TIMESTAMP}:
        return ": write cast(… as timestamp) or cast(… as date) at one of them"
    if Kind.STRING in kinds:
        target = other if one.kind is Kind.STRING else one
        return f": write cast(… as {target}) or cast(… as string)"
    if kinds <= _NUMBERS:
        return ": no decimal holds the digits of both; write cast(… as decimal(38,…)) or cast(… as double)"
    return ": write a cast"


def _arithmetic_advice(kind: ColumnType, op: str) -> str:
    if kind.kind is Kind.DATE:
        return ": use date_add, date_sub, datediff"
    if kind.kind is Kind.TIMESTAMP:
        return ": use unix_micros(x) for the difference of two, timestampadd for a sum"
    if kind.kind is Kind.STRING and op == "+":
        return ": strings are joined with ||, numbers are made with cast(x as int)"
    return ": write cast(x as …)" if kind.kind is Kind.STRING else ""


def _argument(term: Term, node: syntax.Node) -> signature.Argument:
    """What the library wants to know about an argument."""
    literal = isinstance(node, syntax.Literal)
    return signature.Argument(term.type, literal, term.value if literal and isinstance(term, Constant) else None)


def _usage(name: str, s: signature.Signature) -> str:
    """A signature as a message shows it."""
    parameters = [f"{p.name} {'literal ' if p.literal else ''}{p.accepts}" for p in s.parameters]
    return f"{name}({', '.join(parameters)}{', …' if s.variadic else ''})"


def _typed(left: Term, right: Term) -> ColumnType:
    """A type for the NULL among the two."""
    return next((term.type for term in (left, right) if term.type.kind is not Kind.NULL), types.INT)


def _as_decimal(term: Term) -> ColumnType:
    """The decimal that a whole number becomes: a literal with only the digits that it has."""
    if isinstance(term, Constant) and term.literal and isinstance(term.value, int):
        return types.decimal(len(str(abs(term.value))), 0)
    return signature.AS_DECIMAL[term.type.kind]


def _resolved(extra: object) -> object:
    return _FUNCTIONS[extra] if isinstance(extra, str) and extra in _FUNCTIONS else extra


_FUNCTIONS: dict[str, Any] = {
    "int": int, "float": float, "bool": bool, "str": str, "format": format, "str.encode": str.encode,
    "casts.arithmetic.fit": arithmetic.fit,
    "casts.datetimes.date_text": datetimes.date_text,
    "casts.datetimes.timestamp_text": datetimes.timestamp_text,
    **{f"casts.{name}": value for name, value in vars(casts).items() if callable(value)},
}  # fmt: skip
