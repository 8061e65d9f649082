"""The tree of a checked expression: every column known, every type fixed, every conversion written out.

A term knows whether it may be null and whether it may raise. Both only make generated code shorter: where the
checker doesn't know, it says yes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from spillway.model.types import BOOLEAN, ColumnType

Source = str | Callable[[Sequence[str]], str]


@dataclasses.dataclass(frozen=True, slots=True)
class Constant:
    """A value in the run-time representation.

    `literal` where it is written so: in arithmetic of decimals, Spark gives a literal only the digits that it has.
    """

    value: object
    type: ColumnType
    literal: bool = False

    @property
    def nullable(self) -> bool:
        """Only NULL itself."""
        return self.value is None

    @property
    def raises(self) -> bool:
        """Never."""
        return False


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column of the input."""

    name: str
    type: ColumnType
    nullable: bool = True
    raises: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Apply:
    """A computation over arguments: arithmetic, a conversion, a function.

    `strict`: arguments are evaluated in `order`, the first null ends it with null. `eager`: all are evaluated before
    nulls are looked for. The source has fields {0}, {1}… for arguments, {t} for a temporary, {k} for `constant`.
    """

    source: Source
    arguments: tuple[Term, ...]
    type: ColumnType
    gives_null: bool = False
    fails: bool = False
    strict: bool = True
    eager: bool = False
    order: tuple[int, ...] = ()
    constant: object = None
    nullable: bool = dataclasses.field(init=False)
    raises: bool = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        nulls = self.strict and any(argument.nullable for argument in self.arguments)
        object.__setattr__(self, "nullable", self.gives_null or nulls)
        object.__setattr__(self, "raises", self.fails or any(argument.raises for argument in self.arguments))


class _Condition:
    """What terms with a boolean have in common."""

    __slots__ = ()

    @property
    def type(self) -> ColumnType:
        """Always boolean."""
        return BOOLEAN

    @property
    def raises(self) -> bool:
        """As the parts do."""
        return any(part.raises for part in children(self))  # type: ignore[arg-type]  # the subclasses are the terms

    @property
    def nullable(self) -> bool:
        """As the parts are."""
        return any(part.nullable for part in children(self))  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True, slots=True)
class Compare(_Condition):
    """`= <> < <= > >=` of two terms of one type; null if one of them is."""

    op: str
    left: Term
    right: Term


@dataclasses.dataclass(frozen=True, slots=True)
class Same(_Condition):
    """`<=>`: two nulls are the same; never null."""

    left: Term
    right: Term

    @property
    def nullable(self) -> bool:
        """Never."""
        return False


@dataclasses.dataclass(frozen=True, slots=True)
class Between(_Condition):
    """`value >= low and value <= high`, the value evaluated once."""

    value: Term
    low: Term
    high: Term


@dataclasses.dataclass(frozen=True, slots=True)
class In(_Condition):
    """`value = option or value = option …`, the value evaluated once."""

    value: Term
    options: tuple[Term, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Logic(_Condition):
    """A chain of `and` or of `or`."""

    op: str
    terms: tuple[Term, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Not(_Condition):
    """The other way round."""

    operand: Term


@dataclasses.dataclass(frozen=True, slots=True)
class Test(_Condition):
    """Whether the value is null, true or false; never null."""

    __test__ = False  # no test case, whatever pytest thinks

    value: Term
    what: str

    @property
    def nullable(self) -> bool:
        """Never."""
        return False


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The value of the first branch whose condition is true; all values have one type."""

    branches: tuple[tuple[Term, Term], ...]
    otherwise: Term

    @property
    def type(self) -> ColumnType:
        """That of all values."""
        return self.otherwise.type

    @property
    def nullable(self) -> bool:
        """As the values are."""
        return self.otherwise.nullable or any(value.nullable for _, value in self.branches)

    @property
    def raises(self) -> bool:
        """As the parts do."""
        return any(part.raises for part in children(self))


@dataclasses.dataclass(frozen=True, slots=True)
class First:
    """`coalesce`: the first value that is not null; what comes after it is not evaluated."""

    values: tuple[Term, ...]

    @property
    def type(self) -> ColumnType:
        """That of all values."""
        return self.values[0].type

    @property
    def nullable(self) -> bool:
        """Only if all are."""
        return all(value.nullable for value in self.values)

    @property
    def raises(self) -> bool:
        """As the parts do."""
        return any(value.raises for value in self.values)


Term = Constant | Column | Apply | Compare | Same | Between | In | Logic | Not | Test | Choice | First


def children(term: Term) -> tuple[Term, ...]:
    """The terms right below."""
    match term:
        case Apply(arguments=many) | Logic(terms=many) | First(values=many):
            return many
        case Compare(left=left, right=right) | Same(left=left, right=right):
            return (left, right)
        case Between():
            return (term.value, term.low, term.high)
        case In():
            return (term.value, *term.options)
        case Not(operand=below) | Test(value=below):
            return (below,)
        case Choice():
            return (*(part for branch in term.branches for part in branch), term.otherwise)
        case _:
            return ()


def columns(term: Term) -> Iterator[str]:
    """The names of the columns that it reads; one may come twice."""
    if isinstance(term, Column):
        yield term.name
    for child in children(term):
        yield from columns(child)
