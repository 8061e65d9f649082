"""The tree of an expression as it was written: operators grouped as Spark groups them, names and types not yet known.

Each node knows the place (`at`) where a message about it points to. `render` writes a tree with every group in
parentheses; tests compare it with what Spark's own parser makes of the text.
"""

from __future__ import annotations

import dataclasses

from spillway.expressions import datetimes
from spillway.model.types import ColumnType


@dataclasses.dataclass(frozen=True, slots=True)
class Literal:
    """A value with its type, in the run-time representation."""

    value: object
    type: ColumnType
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class Name:
    """The name of a column."""

    name: str
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class Unary:
    """A sign (`+`, `-`) or `not`."""

    op: str
    operand: Node
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic, a comparison or `||`; `==` is `=`, `!=` is `<>`."""

    op: str
    left: Node
    right: Node
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class Logic:
    """A chain of `and` or of `or`."""

    op: str
    terms: tuple[Node, ...]
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class Between:
    """`value between low and high`."""

    value: Node
    low: Node
    high: Node
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class In:
    """`value in (options)`."""

    value: Node
    options: tuple[Node, ...]
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class Match:
    """`value like pattern escape '…'` or `value rlike pattern`."""

    op: str
    value: Node
    pattern: Node
    escape: str
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class Is:
    """`value is null`, `is true`, `is false`."""

    value: Node
    what: str
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """`case [operand] when … then … [else …] end`."""

    operand: Node | None
    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class Cast:
    """`cast(value as type)`, `try_cast` (`safe`), `value::type`."""

    value: Node
    type: ColumnType
    safe: bool
    at: int


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """`name(arguments)`; `star` for `count(*)`, `distinct` for `count(distinct x)`."""

    name: str
    arguments: tuple[Node, ...]
    at: int
    star: bool = False
    distinct: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Subscript:
    """`value[index]`."""

    value: Node
    index: Node
    at: int


Node = Literal | Name | Unary | Binary | Logic | Between | In | Match | Is | Case | Cast | Call | Subscript


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below, in the order of the text."""
    match node:
        case Literal() | Name():
            return ()
        case Unary(operand=below) | Is(value=below) | Cast(value=below):
            return (below,)
        case Binary(left=left, right=right) | Match(value=left, pattern=right) | Subscript(value=left, index=right):
            return (left, right)
        case Between():
            return (node.value, node.low, node.high)
        case In():
            return (node.value, *node.options)
        case Logic(terms=many) | Call(arguments=many):
            return many
        case Case():
            ends = [end for end in (node.operand, node.otherwise) if end is not None]
            return (*(part for branch in node.branches for part in branch), *ends)


def render(node: Node) -> str:
    """The tree as SQL, with every group in parentheses; literals as they are in Spark."""
    match node:
        case Literal():
            return _literal(node)
        case Name():
            return "`" + node.name.replace("`", "``") + "`"
        case Unary():
            return f"({node.op} {render(node.operand)})"
        case Binary():
            return f"({render(node.left)} {node.op} {render(node.right)})"
        case Logic():
            # In pairs from the left, as the grammar has it.
            text = render(node.terms[0])
            for term in node.terms[1:]:
                text = f"({text} {node.op} {render(term)})"
            return text
        case Between():
            return f"({render(node.value)} between {render(node.low)} and {render(node.high)})"
        case In():
            return f"({render(node.value)} in ({', '.join(map(render, node.options))}))"
        case Match():
            escape = "" if node.escape == "\\" else f" escape {_text(node.escape)}"
            return f"({render(node.value)} {node.op} {render(node.pattern)}{escape})"
        case Is():
            return f"({render(node.value)} is {node.what})"
        case Case():
            operand = f" {render(node.operand)}" if node.operand else ""
            branches = "".join(f" when {render(when)} then {render(then)}" for when, then in node.branches)
            return f"case{operand}{branches}{f' else {render(node.otherwise)}' if node.otherwise else ''} end"
        case Cast():
            return f"{'try_' * node.safe}cast({render(node.value)} as {node.type})"
        case Call():
            arguments = "*" if node.star else ", ".join(map(render, node.arguments))
            return f"{node.name}({'distinct ' * node.distinct}{arguments})"
        case Subscript():
            return f"{render(node.value)}[{render(node.index)}]"


def _literal(node: Literal) -> str:
    value, kind = node.value, str(node.type)
    if value is None or isinstance(value, bool):
        return str(value).replace("None", "null").lower()
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return _text(value)
    if kind in {"date", "timestamp"}:
        written = datetimes.date_text(int(str(value))) if kind == "date" else datetimes.timestamp_text(int(str(value)))
        return f"{kind}'{written}'"
    return (
        f"{value:f}BD" if kind.startswith("decimal") else f"{value!r}{ {'double': 'D', 'bigint': 'L'}.get(kind, '') }"
    )


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
