"""A checked expression, and the ways to get one: a value, a condition, an item of a select."""

from __future__ import annotations

import dataclasses

from spillway.expressions import checker, errors, parser, syntax, terms
from spillway.model import types
from spillway.model.types import ColumnType, Kind, Schema


@dataclasses.dataclass(frozen=True, slots=True)
class Expression:
    """An expression whose names and types are right: the text for Spark, the term for the record paradigm."""

    text: str
    type: ColumnType
    columns: tuple[str, ...]  # the names that it reads, each once, in the order of the text
    nullable: bool
    term: terms.Term = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """An expression with the name of its column."""

    name: str
    expression: Expression

    @property
    def type(self) -> ColumnType:
        """The type of the column."""
        return self.expression.type

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that it reads."""
        return self.expression.columns

    @property
    def text(self) -> str:
        """For Spark, with its name."""
        return self.expression.text


def check(text: str, schema: Schema) -> Expression:
    """Check an expression; raises ExpressionError, which says what to write instead."""
    return _expression(parser.parse(text), text, schema)


def check_condition(text: str, schema: Schema) -> Expression:
    """Check a condition of a filter or a join."""
    node = parser.parse(text)
    term = checker.Checker(text, schema).condition(node, "a filter")
    return described(term, text)


def check_item(text: str, schema: Schema) -> Item:
    """Check an item of a select: the name of a column, or `expression as name`."""
    node, name = parser.parse_item(text)
    if not name:
        if not isinstance(node, syntax.Name):
            message = f"the column needs a name: write '{text.strip()} as …'"
            raise errors.ExpressionError(message)
        name = node.name
    return Item(name, _expression(node, text, schema))


def _expression(node: syntax.Node, text: str, schema: Schema) -> Expression:
    expression = described(checker.Checker(text, schema).term(node), text)
    if expression.type.kind is Kind.NULL or expression.type.element == types.NULL:
        message = "the type of NULL is not known here: write cast(NULL as …)"
        raise errors.ExpressionError(message, text)
    return expression


def described(term: terms.Term, text: str) -> Expression:
    """The expression of a term."""
    return Expression(text, term.type, tuple(dict.fromkeys(terms.columns(term))), term.nullable, term)
