"""Calls of the library's functions over edge values, as SQL and as Python, to be compared value by value.

One table of rows serves all functions: for every type a few columns, each with its own shuffle of that type's edge
values, so that a call with two or three arguments meets many of their combinations. A call takes its arguments from
these columns; parameters that ask for a literal take theirs from a list by name.

Python's side is the template of the registry with the guard that its contract promises: arguments from left to
right, the first null ends a strict call.
"""

from __future__ import annotations

import dataclasses
import decimal
import functools
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import function_values
from spillway.expressions import errors
from spillway.expressions.functions import registry
from spillway.expressions.functions.signature import Argument, Call, Function, Parameter, Signature
from spillway.model import types
from spillway.model.types import Column, ColumnType, Kind, Schema

RAISED = object()  # what a call gives that raises; never a value

_COPIES = 3  # columns per type: no call has more than three arguments of one type that matter


@dataclasses.dataclass(frozen=True, slots=True)
class Literal:
    """An argument that stands in the text."""

    value: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Raising:
    """An argument whose evaluation raises."""


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One call: its SQL, what it resolves to, its arguments (names of columns where they are texts)."""

    function: Function
    sql: str
    call: Call
    arguments: tuple[str | Literal | Raising, ...]
    given: tuple[ColumnType, ...]  # before widening

    def shown(self, row: dict[str, Any]) -> list[Any]:
        """The arguments in this row, for a message."""
        return [row[argument] if isinstance(argument, str) else argument for argument in self.arguments]


def value_of(case: Case, row: dict[str, Any]) -> Any:
    """What Python makes of the case in this row; RAISED where it raises an error of a row."""
    values: list[Any] = []
    for argument, given, into in zip(case.arguments, case.given, case.call.parameters, strict=True):
        if isinstance(argument, Raising):
            if case.call.signature.strict:
                return RAISED
            values.append(None)  # the template raises by itself, if it comes there
            continue
        value = argument.value if isinstance(argument, Literal) else row[argument]
        if value is None and case.call.signature.strict:
            return None
        values.append(widened(value, given, into))
    raising = tuple(isinstance(argument, Raising) for argument in case.arguments)
    try:
        return _compiled(case.call, raising)(*values)
    except errors.ROW_ERRORS:
        return RAISED


def _raise() -> NoReturn:
    message = "an argument raises"
    raise errors.EvaluationError(message)


@functools.cache
def _compiled(call: Call, raising: tuple[bool, ...]) -> Callable[..., Any]:
    names = [f"a{index}" for index in range(len(call.parameters))]
    sources = ["_raise()" if bad else name for name, bad in zip(names, raising, strict=True)]
    source = f"lambda {', '.join(names)}: {call.source(sources)}"
    function: Callable[..., Any] = eval(source, {**registry.NAMESPACE, "_raise": _raise})  # noqa: S307 (our templates)
    return function


def widened(value: Any, given: ColumnType, into: ColumnType) -> Any:
    """The value as the wider type: what the compiler does before a call."""
    if value is None or given == into:
        return value
    if given.kind is Kind.ARRAY and given.element and into.element:
        return [widened(item, given.element, into.element) for item in value]
    if into.kind is Kind.DOUBLE:
        return float(value)
    if into.kind is Kind.DECIMAL:
        unit = decimal.Decimal((0, (1,), -into.scale))
        return decimal.Decimal(value).quantize(unit, context=decimal.Context(prec=80))
    return value


class Table:
    """The rows that all cases share; columns are added as cases ask for them."""

    def __init__(self, rows: int) -> None:
        self.count = rows
        self.columns: dict[str, tuple[ColumnType, list[Any]]] = {}

    def column(self, kind: ColumnType, copy: int, values: Sequence[Any] | None = None, label: str = "") -> str:
        """The name of a column of edge values; a null in about 1 of 12 rows."""
        name = "c_" + "".join(c if c.isalnum() else "_" for c in f"{kind}_{label}_{copy}").lower()
        if name not in self.columns:
            dice = random.Random(name)  # noqa: S311 (reproducible, no secret)
            own = list(function_values.pool(kind) if values is None else values)
            own += [None] * max(1, len(own) // 12)
            filled: list[Any] = []
            while len(filled) < self.count:
                dice.shuffle(own)
                filled += own
            self.columns[name] = (kind, filled[: self.count])
        return name

    def nulls(self, kind: ColumnType) -> str:
        """The name of a column of nulls: a literal NULL would let Spark decide before there are rows."""
        return self.column(kind, 0, [None], "null")

    @property
    def schema(self) -> Schema:
        """The columns so far."""
        return Schema(tuple(Column(name, kind) for name, (kind, _) in self.columns.items()))

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows so far."""
        return list(zip(*(values for _, values in self.columns.values()), strict=True))


def cases(function: Function, table: Table, literals: int) -> Iterator[Case]:
    """The calls of a function: every signature, with every type of its families, and so many choices of literals."""
    for signature in function.signatures:
        for more in (0, 1) if signature.variadic else (0,):
            parameters = signature.spread(len(signature.parameters) + more) or ()
            for given in _types(parameters):
                combined = list(itertools.product(*_choices(function, parameters, given, table)))
                dice = random.Random(function.name)  # noqa: S311 (reproducible, no secret)
                for arguments in dice.sample(combined, min(len(combined), literals)):
                    yield from _case(function, signature, arguments, given)


def orders(function: Function, table: Table) -> Iterator[Case]:
    """Calls in which one argument raises, alone and with a null in another place: who is evaluated first?"""
    for signature in function.signatures:
        parameters = signature.spread(len(signature.parameters) + signature.variadic) or ()
        given = next(_types(parameters))
        plain: list[str | Literal] = [choice[0] for choice in _choices(function, parameters, given, table)]
        places = [index for index, parameter in enumerate(parameters) if not parameter.literal]
        for bad, null in itertools.product(places, places):
            arguments: list[str | Literal | Raising] = list(plain)
            arguments[null] = table.nulls(given[null])
            arguments[bad] = Raising()
            yield from _case(function, signature, arguments, given)


def _types(parameters: Sequence[Parameter]) -> Iterator[tuple[ColumnType, ...]]:
    """The types for the parameters: families one after the other; T the same everywhere, and mixed."""
    if any(isinstance(p.accepts, str) and "T" in p.accepts for p in parameters):
        for kind in function_values.GENERIC:
            yield tuple(_bound(p, kind) for p in parameters)
        for mixed in function_values.MIXED if len(parameters) > 1 else ():
            yield tuple(_bound(p, mixed[i % 2]) for i, p in enumerate(parameters))
        return
    concrete = function_values.CONCRETE
    choices = [concrete[p.accepts] if isinstance(p.accepts, str) else (p.accepts,) for p in parameters]
    for index in range(max(map(len, choices), default=1)):
        yield tuple(choice[(index + shift) % len(choice)] for shift, choice in enumerate(choices))


def _bound(parameter: Parameter, kind: ColumnType) -> ColumnType:
    if isinstance(parameter.accepts, ColumnType):
        return parameter.accepts
    if "T" not in parameter.accepts:
        return function_values.CONCRETE[parameter.accepts][0]
    for _ in range(parameter.accepts.count("<")):
        kind = types.array(kind)
    return kind


def _choices(
    function: Function, parameters: Sequence[Parameter], given: Sequence[ColumnType], table: Table
) -> list[list[str | Literal]]:
    """What each argument may be: one column, or all literals."""
    found: list[list[str | Literal]] = []
    for copy, (parameter, kind) in enumerate(zip(parameters, given, strict=True)):
        named = (function.name, parameter.name)
        if parameter.literal:
            literals = function_values.LITERALS.get(named) or function_values.LITERALS[parameter.name]
            found.append([Literal(value) for value in literals])
            continue
        key: function_values.Key = named if named in function_values.SPECIAL else parameter.name
        values, label = function_values.SPECIAL.get(key), "_".join(key) if isinstance(key, tuple) else key
        if values is None:
            small = kind.kind in (Kind.INT, Kind.BIGINT) and parameter.name in function_values.SMALL_NAMES
            values, label = (function_values.SMALL, "small") if small else (None, "")
        found.append([table.column(kind, copy % _COPIES, values, label)])
    return found


def _case(
    function: Function,
    signature: Signature,
    arguments: Sequence[str | Literal | Raising],
    given: tuple[ColumnType, ...],
) -> Iterator[Case]:
    known: list[Argument] = []
    texts: list[str] = []
    for argument, kind in zip(arguments, given, strict=True):
        fixed = isinstance(argument, Literal)
        known.append(Argument(kind, fixed, argument.value if isinstance(argument, Literal) else None))
        raising = f"CAST(raise_error('x') AS {kind})"
        texts.append(
            literal(argument.value)
            if isinstance(argument, Literal)
            else argument
            if isinstance(argument, str)
            else raising
        )
    call = function.resolve(known)
    if call is None:
        assert signature.tight, f"{function.name}{tuple(map(str, given))} fits nothing"
        return
    if not call.objection and call.signature is signature:  # inside the subset, and no earlier signature answers
        yield Case(function, f"{function.name}({', '.join(texts)})", call, tuple(arguments), given)


def literal(value: Any) -> str:
    """The SQL of a literal."""
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)
