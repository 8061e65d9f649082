"""Lines of generated code, each with the operator that it belongs to; names for what they speak of."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from spillway.expressions import parser
from spillway.expressions.source import Scope
from spillway.model.types import Schema

# Deeper than that, the rest of a tree becomes a function of its own: Python takes 20 loops and tries in one another
# (one operator needs up to 4, the loop around them all 3), 100 levels of indentation and a recursion of 1000 calls (we
# need 6 for an operator), and a topology may have 256 operators in a row.
MAX_BLOCKS, MAX_INDENT, MAX_OPERATORS = 10, 30, 60
_SAID = 200  # characters of an expression in a comment: enough to recognise it


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """The row that a line works on, to be found in its variables should it raise.

    Attributes:
        columns: their names.
        row: the source of the row.
        time: the source of its event time; None in a function of rows, whose caller has it.
    """

    columns: tuple[str, ...]
    row: str
    time: str | None = None


# Before it is decoded, a record is a message, which has the time at which it was written.
MESSAGE = Given(("key", "value"), "(message.key(), message.value())", "message.timestamp()[1] * 1000")

Owner = tuple[str, Given | None]  # the operator, or another place that has figures, and the row that it took


class Lines:
    """Text that grows, and whose each line is. `given` is what the lines to come work on."""

    def __init__(self, given: Given | None = None) -> None:
        self.lines: list[str] = []
        self.owners: list[Owner] = []
        self.given = given

    def add(self, indent: int, text: str | Iterable[str], owner: str) -> None:
        """One line, or several."""
        for line in (text,) if isinstance(text, str) else text:
            self.lines.append("    " * indent + line)
            self.owners.append((owner, self.given))

    def extend(self, other: Lines) -> None:
        """All lines of another text."""
        self.lines += other.lines
        self.owners += other.owners


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where in the generated code something is written.

    Attributes:
        port: the port whose records come by.
        indent: how deep.
        blocks: how many loops and tries around it.
        operators: how many operators before it.
        leave: what ends the work on this record here: continue, or return in a function.
        tail: whether nothing comes after it that such an end would leave out.
        timed: whether this is the body whose operators are timed.
        inside: whether it is in a function of its own, where counters are no local variables.
        timestamp: the variable of the record's time.
    """

    port: str
    indent: int
    blocks: int = 1
    operators: int = 0
    leave: str = "continue"
    tail: bool = True
    timed: bool = False
    inside: bool = False
    timestamp: str = "timestamp"

    def nested(self, *, loop: bool = False, block: bool = False, timestamp: str | None = None) -> Place:
        """One level deeper: in a loop of its own, in another block, or in an `if`."""
        return dataclasses.replace(
            self,
            indent=self.indent + 1,
            blocks=self.blocks + (loop or block),
            leave="continue" if loop else self.leave,
            tail=loop or self.tail,
            timestamp=timestamp or self.timestamp,
        )

    @property
    def is_deep(self) -> bool:
        """Whether a function should begin here."""
        return self.blocks >= MAX_BLOCKS or self.indent >= MAX_INDENT or self.operators >= MAX_OPERATORS


@dataclasses.dataclass(frozen=True, slots=True)
class Records:
    """A record at hand: the variables of its columns."""

    variables: Mapping[str, str]

    def row(self, schema: Schema) -> str:
        """The source of a row with these columns."""
        return tuple_of(self.variables[column.name] for column in schema)

    def given(self, schema: Schema, time: str) -> Given:
        """The row that a reader of these columns takes."""
        return Given(tuple(schema.names), self.row(schema), time)


@dataclasses.dataclass(frozen=True, slots=True)
class Changes:
    """An update at hand: the variables of the old and the new row, and the columns that rows have."""

    old: str
    new: str
    layout: Schema

    def given(self, _: Schema, time: str) -> Given:
        """The row that a reader takes: the new one, if there is one."""
        return Given(tuple(self.layout.names), f"{self.old} if {self.new} is None else {self.new}", time)


Flow = Records | Changes


class Names:
    """Names of variables, each given once, and what the code needs from outside.

    Names of ours have a prefix with an underscore, which keeps them apart from words of Python, from the modules that
    expressions call, and from the scope's own `t0` and `k0`.
    """

    def __init__(self) -> None:
        self.scope = Scope()
        self.outside: dict[str, Any] = {}
        self._taken: dict[str, int] = {}

    def new(self, prefix: str, name: str) -> str:
        """A name like `c_ad_id`, or `c_ad_id_2` where that is taken."""
        base = f"{prefix}_{identifier(name)}"
        self._taken[base] = number = self._taken.get(base, 0) + 1
        # The name of a column may end with a number too.
        return base if number == 1 else self.new(f"{prefix}{number}", name)

    def remembered(self) -> dict[str, int]:
        """What is given so far, to be given again by `forget`."""
        return dict(self._taken)

    def forget(self, remembered: dict[str, int]) -> None:
        """Give the same names again that were given since."""
        self._taken = dict(remembered)

    def columns(self, schema: Schema) -> dict[str, str]:
        """A variable for each column."""
        return {column.name: self.new("c", column.name) for column in schema}


def identifier(name: str) -> str:
    """The name of an operator, or the label of a port, an edge or an output, as a part of a name in Python.

    Different ones stay different: names have small letters, and no `_`.
    """
    operator, _, side = name.partition(".")
    return operator.replace("-", "_") + (f"_{side.upper()}" if side else "")


def addressed(flow: Records, schema: Schema, place: Place) -> str:
    """The source of a row for others, with its position and time."""
    return tuple_of(["offset", "index", place.timestamp, *(flow.variables[column.name] for column in schema)])


def item_name(text: str) -> str:
    """The name of the column that an item of a select gives."""
    node, name = parser.parse_item(text)
    return name or str(getattr(node, "name", ""))


def said(text: str) -> str:
    """What somebody wrote, for a comment: on one line, nothing in it that ends the line or that no file may hold."""
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    return line if len(line) <= _SAID else f"{line[:_SAID]}…"


def tuple_of(values: Iterable[str]) -> str:
    """The source of a tuple."""
    listed = list(values)
    return f"({listed[0]},)" if len(listed) == 1 else f"({', '.join(listed)})"


def assigned(values: Iterable[str], source: str) -> str:
    """The source that takes a tuple apart; of none, it is only computed."""
    listed = list(values)
    return f"{', '.join(listed)}{',' * (len(listed) == 1)} = {source}" if listed else source


def plain(schema: Schema) -> dict[str, str]:
    """A variable for each column, in a function where there are no others."""
    return {column.name: f"c_{column.name}" for column in schema}
