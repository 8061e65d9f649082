r"""One expression as SQL of DuckDB, with its type; or `UnverifiableError`, never a text that means something else.

Where the two languages differ, the SQL says it in DuckDB's way:

| here (Spark, ANSI) | in DuckDB |
|---|---|
| `/` of whole numbers is a double, by zero an error | cast to double, and `error()` where the divisor is zero |
| `div`, `%` truncate, by zero an error | `//` and `%` do, with the setting that divisions by zero raise |
| decimals have 38 digits at the most | operands are widened to 38 digits first; what Spark would round is refused |
| doubles and decimals are cut when they are cast to whole numbers | `trunc` before the cast, which would round |
| `like` escapes with a backslash | `escape '\\'` is written out |
| `lower`, `upper` know final sigmas and sharp s | Python's, as functions of DuckDB |
| `split` takes a pattern | `string_split`, where the pattern has no sign of patterns |
| a column, a function or a cast that is not in these tables | refused |

A null on the left ends an operator, and so do operands of `and`, `or` and the like that make the result certain; what
stands behind raises nothing then. In which order DuckDB asks is its own matter. So where an expression has such
operands (`lazy`), or one of its columns is null, a row that raises here is only a maybe.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from decimal import Decimal
from typing import NoReturn

from spillway.bench.verifier import functions, sql
from spillway.bench.verifier.relations import UnverifiableError
from spillway.bench.verifier.sql import Sql, quoted, type_name
from spillway.expressions import parser, syntax
from spillway.expressions.errors import ExpressionError
from spillway.model import types
from spillway.model.types import ColumnType, Kind, Schema

_WHOLE = frozenset({Kind.INT, Kind.BIGINT})
_NUMBERS = _WHOLE | {Kind.DOUBLE, Kind.DECIMAL}
_COMPARISONS = {"=": "=", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "IS NOT DISTINCT FROM"}
_PATTERN_SIGNS = frozenset("\\^$.|?*+()[]{}")


@dataclasses.dataclass(frozen=True, slots=True)
class Translated:
    """One expression.

    Attributes:
        text: as SQL.
        type: of its values.
        columns: that it reads.
        lazy: whether it has operands that are not always evaluated, or makes nulls of other values.
        name: that it gives to its column.
        parts: what may raise in it, wherever it is always evaluated: a null beside it may hide that from DuckDB.
    """

    text: str
    type: ColumnType
    columns: frozenset[str]
    lazy: bool
    name: str
    parts: tuple[Sql, ...] = ()


def item(text: str, schema: Schema) -> Translated:
    """`expression [as name]`."""
    try:
        node, name = parser.parse_item(text)
    except ExpressionError as error:
        raise UnverifiableError(str(error)) from None
    return translated(node, name or (node.name if isinstance(node, syntax.Name) else ""), text, schema)


def translated(node: syntax.Node, name: str, text: str, schema: Schema) -> Translated:
    """A tree."""
    walk = Translator(schema, text)
    found = walk.of(node)
    parts = tuple(dict.fromkeys(walk.parts))
    return Translated(found.text, found.type, frozenset(columns(node)), walk.lazy, name, parts)


def name_of(text: str) -> str:
    """The column that an item makes."""
    node, name = parser.parse_item(text)
    return name or (node.name if isinstance(node, syntax.Name) else "")


def columns(node: syntax.Node) -> set[str]:
    """The names that a tree reads."""
    if isinstance(node, syntax.Name):
        return {node.name}
    return {name for child in syntax.children(node) for name in columns(child)}


class Translator:
    """Walks one tree."""

    def __init__(self, schema: Schema, text: str) -> None:
        self._schema = schema
        self._text = text
        self.lazy = False
        self.parts: list[Sql] = []
        self._choices = 0  # how many choices are around the node

    def refuse(self, what: str) -> NoReturn:
        """This can't be verified."""
        message = f"can't verify the expression {self._text!r}: the verifier does not know {what}"
        raise UnverifiableError(message)

    def of(self, node: syntax.Node) -> Sql:
        """Any node."""
        chooses = isinstance(node, syntax.Case | syntax.Logic) or getattr(node, "name", "") in functions.LAZY
        self._choices += chooses
        found = self._of(node)
        self._choices -= chooses
        if isinstance(node, syntax.Unary | syntax.Binary | syntax.Cast | syntax.Call | syntax.Subscript):
            self.parts += [] if self._choices else [found]
        return found

    def _of(self, node: syntax.Node) -> Sql:
        match node:
            case syntax.Literal():
                return self._literal(node)
            case syntax.Name():
                kind = self._schema.get(node.name)
                if kind is None:
                    self.refuse(f"column {node.name!r}")
                return Sql(quoted(node.name), kind)
            case syntax.Unary(op="not"):
                return Sql(f"(NOT {self.of(node.operand).text})", types.BOOLEAN)
            case syntax.Unary():
                return self._sign(node)
            case syntax.Binary():
                return self._binary(node)
            case syntax.Logic():
                self.lazy = True
                terms = [self.of(term).text for term in node.terms]
                return Sql(f"({f' {node.op} '.join(terms)})", types.BOOLEAN)
            case syntax.Between():
                value, low, high = (self.of(part) for part in (node.value, node.low, node.high))
                self._comparable(value, low)
                self._comparable(value, high)
                return Sql(f"({value.text} BETWEEN {low.text} AND {high.text})", types.BOOLEAN)
            case syntax.In():
                return self._membership(node)
            case syntax.Match():
                return self._match(node)
            case syntax.Is():
                return Sql(f"({self.of(node.value).text} IS {node.what.upper()})", types.BOOLEAN)
            case syntax.Case():
                return self._case(node)
            case syntax.Cast():
                return self._cast(self.of(node.value), node)
            case syntax.Call():
                return self._call(node)
            case syntax.Subscript():
                return self._element(node)

    def _literal(self, node: syntax.Literal) -> Sql:
        value, kind = node.value, node.type
        if value is None:
            self.lazy = True
            return Sql("NULL", types.NULL)
        match kind.kind:
            case Kind.STRING:
                written = sql.text(str(value))
            case Kind.BINARY if isinstance(value, bytes):
                written = "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'"
            case Kind.TIMESTAMP:
                return Sql(f"make_timestamp({value})", kind)
            case Kind.DATE:
                return Sql(f"(DATE '1970-01-01' + {value})", kind)
            case Kind.DECIMAL if isinstance(value, Decimal):
                written = f"{value:f}"
            case Kind.DOUBLE:
                written = f"'{value!r}'"
            case _:
                written = str(value)
        return Sql(f"CAST({written} AS {type_name(kind)})", kind)

    def _sign(self, node: syntax.Unary) -> Sql:
        value = self.of(node.operand)
        if value.type.kind not in _NUMBERS:
            self.refuse(f"{node.op} of {value.type}")
        return value if node.op == "+" else Sql(f"(-{value.text})", value.type)

    def _binary(self, node: syntax.Binary) -> Sql:
        left, right = self.of(node.left), self.of(node.right)
        if node.op in _COMPARISONS:
            self._comparable(left, right)
            return Sql(f"({left.text} {_COMPARISONS[node.op]} {right.text})", types.BOOLEAN)
        if node.op == "||":
            if {left.type.kind, right.type.kind} != {Kind.STRING}:
                self.refuse(f"{left.type} || {right.type}")
            return Sql(f"({left.text} || {right.text})", types.STRING)
        kind = self._wider(left, right, node)
        if node.op == "/" and kind.kind is not Kind.DECIMAL:
            one, other = (f"CAST({side.text} AS DOUBLE)" for side in (left, right))
            zero = f"{one} IS NOT NULL AND {other} = 0"
            return Sql(f"(CASE WHEN {zero} THEN error('division by zero') ELSE {one} / {other} END)", types.DOUBLE)
        if node.op == "div" and kind.kind in _WHOLE:
            return Sql(f"(CAST({left.text} AS BIGINT) // {right.text})", types.BIGINT)
        if node.op == "%" and kind.kind is not Kind.DECIMAL:
            zero = f"{left.text} IS NOT NULL AND {right.text} = 0"
            return Sql(f"(CASE WHEN {zero} THEN error('division by zero') ELSE {left.text} % {right.text} END)", kind)
        if node.op in {"+", "-", "*"}:
            if kind.kind is Kind.DECIMAL:
                return self._decimals(left, node.op, right)
            return Sql(f"({left.text} {node.op} {right.text})", kind)
        self.refuse(f"{node.op} of {left.type} and {right.type}")

    def _decimals(self, left: Sql, op: str, right: Sql) -> Sql:
        one, other = _as_decimal(left.type), _as_decimal(right.type)
        if op == "*":
            kind = types.ColumnType(Kind.DECIMAL, one.precision + other.precision + 1, one.scale + other.scale)
        else:
            scale = max(one.scale, other.scale)
            digits = max(one.precision - one.scale, other.precision - other.scale) + 1
            kind = types.ColumnType(Kind.DECIMAL, digits + scale, scale)
        if kind.precision > types.MAX_PRECISION:
            self.refuse(f"{op} of decimals with more than {types.MAX_PRECISION} digits")
        wide = (f"CAST({side.text} AS DECIMAL(38,{of.scale}))" for side, of in ((left, one), (right, other)))
        return Sql(f"CAST({f' {op} '.join(wide)} AS {type_name(kind)})", kind)

    def _wider(self, left: Sql, right: Sql, node: syntax.Node) -> ColumnType:
        if left.type.kind not in _NUMBERS or right.type.kind not in _NUMBERS:
            self.refuse(f"arithmetic of {left.type} and {right.type}")
        return _widest([left.type, right.type])

    def _comparable(self, left: Sql, right: Sql) -> None:
        kinds = {left.type.kind, right.type.kind} - {Kind.NULL}
        if not (len(kinds) <= 1 or kinds <= _NUMBERS) or Kind.ARRAY in kinds:
            self.refuse(f"a comparison of {left.type} and {right.type}")

    def _membership(self, node: syntax.In) -> Sql:
        value, options = self.of(node.value), [self.of(option) for option in node.options]
        for option in options:
            self._comparable(value, option)
        return Sql(f"({value.text} IN ({', '.join(option.text for option in options)}))", types.BOOLEAN)

    def _match(self, node: syntax.Match) -> Sql:
        value, pattern = self.of(node.value), node.pattern
        if not isinstance(pattern, syntax.Literal) or not isinstance(pattern.value, str):
            self.refuse("a pattern that is no literal")
        if node.op == "like":
            escape = sql.text(node.escape)
            return Sql(f"({value.text} LIKE {self._literal(pattern).text} ESCAPE {escape})", types.BOOLEAN)
        if _PATTERN_SIGNS & set(pattern.value):
            self.refuse(f"the pattern {pattern.value!r}")
        return Sql(f"contains({value.text}, {self._literal(pattern).text})", types.BOOLEAN)

    def _case(self, node: syntax.Case) -> Sql:
        self.lazy = True
        operand = None if node.operand is None else self.of(node.operand)
        branches = [(self.of(when), self.of(then)) for when, then in node.branches]
        otherwise = Sql("NULL", types.NULL) if node.otherwise is None else self.of(node.otherwise)
        kind = self.common([*(then for _, then in branches), otherwise])
        tests = []
        for when, then in branches:
            if operand is not None:
                self._comparable(operand, when)
            test = when.text if operand is None else f"{operand.text} = {when.text}"
            tests.append(f"WHEN {test} THEN {then.to(kind)}")
        return Sql(f"(CASE {' '.join(tests)} ELSE {otherwise.to(kind)} END)", kind)

    def common(self, found: Sequence[Sql]) -> ColumnType:
        """The type that holds all of them."""
        kinds = [one.type for one in found if one.type.kind is not Kind.NULL]
        if not kinds:
            self.refuse("NULL without a type")
        if all(kind == kinds[0] for kind in kinds):
            return kinds[0]
        if any(kind.kind not in _NUMBERS for kind in kinds):
            self.refuse(f"a choice between {' and '.join(map(str, dict.fromkeys(kinds)))}")
        kind = _widest(kinds)
        if kind.kind is Kind.DECIMAL and kind.precision > types.MAX_PRECISION:
            self.refuse(f"a choice between decimals that takes {kind.precision} digits")
        return kind

    def _cast(self, value: Sql, node: syntax.Cast) -> Sql:
        given, wanted = value.type.kind, node.type.kind
        if value.type == node.type or given is Kind.NULL:
            return Sql(f"CAST({value.text} AS {type_name(node.type)})", node.type)
        text = value.text
        self.lazy |= node.safe
        if wanted in _WHOLE and given in {Kind.DOUBLE, Kind.DECIMAL}:
            text = f"trunc({text})"
        elif given is Kind.DECIMAL and wanted is Kind.STRING:
            text = f"CAST({text} AS DECIMAL(38,{value.type.scale}))"  # else 0.5 of decimal(1,1) would be '.5'
        elif (given, wanted) not in _CASTS:
            self.refuse(f"a cast from {value.type} to {node.type}")
        return Sql(f"{'TRY_' * node.safe}CAST({text} AS {type_name(node.type)})", node.type)

    def _element(self, node: syntax.Subscript) -> Sql:
        value, index = self.of(node.value), self.of(node.index)
        if value.type.element is None or index.type.kind is not Kind.INT:
            self.refuse(f"{value.type}[{index.type}]")
        self.lazy = True  # an element may be null
        outside = f"{index.text} < 0 OR {index.text} >= len({value.text})"
        text = f"(CASE WHEN {outside} THEN error('index') ELSE {value.text}[CAST({index.text} AS BIGINT) + 1] END)"
        return Sql(text, value.type.element)

    def _call(self, node: syntax.Call) -> Sql:
        arguments = [self.of(argument) for argument in node.arguments]
        function = functions.FUNCTIONS.get(node.name)
        if function is None or node.star or node.distinct or not arguments:
            self.refuse(f"function {node.name}")
        self.lazy |= node.name in functions.LAZY
        found = function(functions.Called(node.arguments, arguments, self.common))
        if found is None:
            self.refuse(f"{node.name}({', '.join(str(argument.type) for argument in arguments)})")
        return found


_CASTS = frozenset(
    {
        (Kind.INT, Kind.BIGINT),
        (Kind.BIGINT, Kind.INT),
        *((kind, Kind.DOUBLE) for kind in (*_WHOLE, Kind.DECIMAL)),
        *((kind, Kind.DECIMAL) for kind in (*_WHOLE, Kind.DECIMAL)),
        *((kind, Kind.STRING) for kind in (*_WHOLE, Kind.DECIMAL, Kind.BOOLEAN, Kind.DATE)),
        (Kind.TIMESTAMP, Kind.DATE),
        (Kind.DATE, Kind.TIMESTAMP),
        (Kind.BOOLEAN, Kind.INT),
    }
)


def _as_decimal(kind: ColumnType) -> ColumnType:
    """A whole number as a decimal: of a literal, Spark would take fewer digits, which changes no value."""
    digits = {Kind.INT: 10, Kind.BIGINT: 19}
    return types.decimal(digits[kind.kind], 0) if kind.kind in digits else kind


def _widest(kinds: Sequence[ColumnType]) -> ColumnType:
    found = {kind.kind for kind in kinds}
    if Kind.DOUBLE in found:
        return types.DOUBLE
    if Kind.DECIMAL in found:
        decimals = [_as_decimal(kind) for kind in kinds]
        scale = max(kind.scale for kind in decimals)
        return types.ColumnType(Kind.DECIMAL, max(k.precision - k.scale for k in decimals) + scale, scale)
    return types.BIGINT if Kind.BIGINT in found else types.INT
