"""Random well-typed expressions over rows of edge values, answered by Spark and by generated Python, and compared.

An expression is generated for a type that is wanted, so that nearly all of them are accepted; those that the checker
rejects are counted, and the tests look at that count. A pair is one expression on one row: it agrees if both give the
same value, or both raise.
"""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import function_values
import spark_oracle
from spark_oracle import ERROR, Oracle
from spillway.expressions import compiler, datetimes, errors, expression
from spillway.expressions.functions import registry
from spillway.expressions.functions.signature import Parameter
from spillway.model import types
from spillway.model.types import ColumnType, Kind, Schema

SCHEMA = types.parse_schema(
    "i int, j int, l bigint, m bigint, x double, y double, p decimal(10,2), q decimal(38,10), r decimal(4,4),"
    " h decimal(38,0), s string, t string, d date, e date, f timestamp, g timestamp, b boolean, c boolean,"
    " w binary, v binary, ai array<int>, al array<bigint>, ax array<double>, `as` array<string>".replace("`as`", "az")
)
NUMBERS = (Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL)
PLAIN = (
    types.BOOLEAN, types.INT, types.BIGINT, types.DOUBLE, types.STRING, types.BINARY, types.DATE, types.TIMESTAMP,
)  # fmt: skip
DECIMALS = tuple(column.type for column in SCHEMA if column.type.kind is Kind.DECIMAL)

# Texts that look like numbers and times, almost or quite: for casts.
TEXTS = [
    "0", "1", "-1", "+1", "12", " 12 ", "1.0", "1.", ".5", ".", "-", "+", "1e3", "1E-3", "1e400", "-1e400",
    "1e-400", "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807",
    "9223372036854775808", "00000000000000000000000000001", "99999999999999999999999999999999999999", "1e38",
    "1e37", "0e50", "0e-50", "100000000000000000000000000000000000000",
    "0.00000000000000000000000000000000000000000000001", "1_000", "1,000", "NaN", "nan", "NAN", "-nan", "+NaN",
    "Infinity", "-Infinity", "+inf", "INF", "infinit", "1d", "1D", "1f", "1.5F", "1L", "0x1p3", "0x1.8P1", "0x10",
    "0x.8p-2d", "1e", "e1", "1 2", "\t1\n", "\x001\x1f", "\x7f1", "\xa01", "\u20281", "\uff11\uff12", "\u0663",
    "1e2147483647", "1e-2147483648", "1e99999999999", "12345678901234567890.123456789012345678901234567890", "t",
    "T", "true", "TRUE", " True ", "f", "false", "y", "yes", "Y", "n", "no", "1 ", "tru", "on", "off", "2020",
    "2020-", "2020-1", "2020-01", "2020-1-1", "2020-01-01", "2020-02-30", "2019-02-29", "2020-02-29", "2020-13-01",
    "2020-00-01", "2020-01-00", "2020-01-32", "2020-01-01 ", " 2020-01-01", "2020 ", "2020-01 ", " 2020",
    "+2020-01-01", "-2020-01-01", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "99999-01-01",
    "999999-01-01", "9999999-01-01", "5881580-07-11", "5881580-07-12", "-5877641-06-23", "-5877641-06-22",
    "12345678-01-01", "202-01-01", "20200101", "2020-01-01T", "2020-01-01 T", "2020-01-01Tx", "2020-01-01 x",
    "2020-01-01x", "2020/01/01", "2020-1-1-1", "2020-001-01", "2020-01-01 00", "2020-01-01 1", "2020-01-01 1:2",
    "2020-01-01 1:2:3", "2020-01-01T01:02:03", "2020-01-01 24:00:00", "2020-01-01 23:59:60", "2020-01-01 23:60:00",
    "2020-01-01 01:02:03.", "2020-01-01 01:02:03.1", "2020-01-01 01:02:03.123456", "2020-01-01 01:02:03.1234567",
    "2020-01-01 01:02:03.999999999999", "2020-01-01 01:02:03Z", "2020-01-01 01:02:03 Z", "2020-01-01 01:02:03z",
    "2020-01-01 01:02:03UTC", "2020-01-01 01:02:03 UTC", "2020-01-01 01:02:03utc", "2020-01-01 01:02:03+01:00",
    "2020-01-01 01:02:03+1:00", "2020-01-01 01:02:03+01:0", "2020-01-01 01:02:03-01:30", "2020-01-01 01:02:03+01",
    "2020-01-01 01:02:03+1", "2020-01-01 01:02:03+0130", "2020-01-01 01:02:03+01:30:15",
    "2020-01-01 01:02:03+013015", "2020-01-01 01:02:03+18:00", "2020-01-01 01:02:03+18:01",
    "2020-01-01 01:02:03+19:00", "2020-01-01 01:02:03.5+01:00", "2020-01-01 01:02:03.+01:00",
    "2020-01-01 01:02+01:00", "2020-01-01 01Z", "2020-01-01 01:02:03 GMT+1", "2020-01-01 01:02:03UTC+01:00",
    "2020-01-01 01:02:03UT-2", "2020-01-01 01:02:03 EST", "2020-01-01 01:02:03 PST",
    "2020-07-01 01:02:03 Europe/Berlin", "2020-03-29 02:30:00 Europe/Berlin", "2020-10-25 02:30:00 Europe/Berlin",
    "1890-01-01 00:00:00 Europe/Berlin", "2020-01-01 01:02:03 Europe/Nowhere", "2020-01-01 01:02:03 europe/berlin",
    "2020-01-01 01:02:03 +01:00 ", "2020-01-01 01:02:03++1", "2020-01-01 01:02:03 x",
    "294247-01-10 04:00:54.775807", "294247-01-10 04:00:54.775808", "-290308-12-21 19:59:05.224192",
    "-290308-12-21 19:59:05.224191", "999999-12-31 23:59:59", "1000000-01-01", "-0044-03-15 12:00:00",
    "1:2:3 2020-01-01", "2020-01-01  01:02:03", "2020-01-01 001:02:03", "2020-01-01 01:02:003", "epoch", "now",
    "today", "2020-W01-1", "2020-01-01 01:02:03\x00", "2020-01-01\n", "\x0b2020-01-01", "2020-01-01\xa0",
]  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """A pair on which the two disagree."""

    text: str
    row: dict[str, Any]
    spark: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.text}\n    Spark {self.spark!r}, we {self.ours!r}\n    row {self.row}"


def rows(dice: random.Random, count: int) -> list[list[Any]]:
    """Rows of edge values; one in eight is null."""
    pools = [_pool(column.type) for column in SCHEMA]
    return [[None if dice.random() < 0.125 else dice.choice(pool) for pool in pools] for _ in range(count)]


def _pool(kind: ColumnType) -> list[Any]:
    found = function_values.pool(kind)
    # Half of the texts look like something that a cast reads.
    return [text for text in found if len(text) < 100] + TEXTS if kind.kind is Kind.STRING else found


class Generator:
    """Writes random expressions of a type that is asked for."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.functions = _functions()

    def text(self, kind: ColumnType, depth: int) -> str:
        """An expression of the type; operands are in parentheses or atoms."""
        if depth <= 0 or self.dice.random() < 0.15:
            return self.leaf(kind)
        ways: list[Callable[[ColumnType, int], str]] = [self.choice, self.cast, self.call]
        if kind.kind in NUMBERS:
            ways += [self.arithmetic] * 4
        if kind.kind is Kind.BOOLEAN:
            ways += [self.comparison] * 3 + [self.logic] * 3 + [self.predicate] * 3
        if kind.kind is Kind.STRING:
            ways += [lambda wanted, left: f"({self.text(wanted, left)} || {self.text(wanted, left)})"]
        if kind in (types.INT, types.BIGINT, types.DOUBLE, types.STRING):
            ways += [lambda wanted, left: f"{self.leaf(types.array(wanted))}[{self.text(types.INT, left)}]"]
        return self.dice.choice(ways)(kind, depth - 1)

    def leaf(self, kind: ColumnType) -> str:
        """A column, or a literal."""
        names = [column.name for column in SCHEMA if column.type == kind]
        if names and self.dice.random() < 0.75:
            return self.dice.choice(names)
        if kind.kind is Kind.ARRAY:
            return names[0] if names else f"array({self.leaf(kind.element or types.INT)})"
        if self.dice.random() < 0.05:
            return f"cast(NULL as {kind})"
        return literal(self.dice.choice(_pool(kind)), kind)

    def decimal(self) -> ColumnType:
        """One of the decimal types."""
        return self.dice.choice(DECIMALS)

    def number(self, kind: ColumnType) -> ColumnType:
        """A type that widens to the one that is wanted."""
        if kind.kind is Kind.INT:
            return types.INT
        if kind.kind is Kind.BIGINT:
            return self.dice.choice([types.INT, types.BIGINT])
        if kind.kind is Kind.DOUBLE:
            return self.dice.choice([types.INT, types.BIGINT, types.DOUBLE, types.DOUBLE, self.decimal()])
        return self.dice.choice([types.INT, types.BIGINT, self.decimal(), self.decimal()])

    def arithmetic(self, kind: ColumnType, depth: int) -> str:
        """The result may have another type within the numbers; a cast sets it right."""
        if self.dice.random() < 0.1:
            return f"({self.dice.choice('-+')} {self.text(kind, depth)})"
        if kind.kind is Kind.BIGINT and self.dice.random() < 0.2:
            one, two = (self.dice.choice([types.INT, types.BIGINT, self.decimal()]) for _ in range(2))
            return f"({self.text(one, depth)} div {self.text(two, depth)})"
        op = self.dice.choice("+-*%" if kind.kind in {Kind.INT, Kind.BIGINT} else "+-*/%")
        one, two = self.number(kind), self.number(kind)
        inner = f"({self.text(one, depth)} {op} {self.text(two, depth)})"
        return inner if kind.kind in {Kind.INT, Kind.DOUBLE} and op != "/" else f"cast({inner} as {kind})"

    def comparison(self, kind: ColumnType, depth: int) -> str:
        """Two values that compare."""
        one, two = self.comparable()
        op = self.dice.choice(["=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"])
        return f"({self.text(one, depth)} {op} {self.text(two, depth)})"

    def comparable(self) -> tuple[ColumnType, ColumnType]:
        """Two types that have a common one."""
        if self.dice.random() < 0.5:
            wanted = self.dice.choice([types.BIGINT, types.DOUBLE, types.DOUBLE])
            return self.number(wanted), self.number(wanted)
        kind = self.dice.choice([*PLAIN, *DECIMALS])
        return kind, kind

    def logic(self, kind: ColumnType, depth: int) -> str:
        """`and`, `or`, `not`."""
        if self.dice.random() < 0.25:
            return f"(not {self.text(kind, depth)})"
        op = self.dice.choice([" and ", " or "])
        return "(" + op.join(self.text(kind, depth) for _ in range(self.dice.choice([2, 2, 3]))) + ")"

    def predicate(self, kind: ColumnType, depth: int) -> str:
        """`between`, `in`, `like`, `rlike`, `is`."""
        word = self.dice.choice(["between", "in", "like", "rlike", "null", "state", "distinct"])
        maybe = self.dice.choice(["", "not "])
        if word == "null":
            return f"({self.text(self.dice.choice([*PLAIN, *DECIMALS]), depth)} is {maybe}null)"
        if word == "state":
            return f"({self.text(kind, depth)} is {maybe}{self.dice.choice(['true', 'false'])})"
        if word in {"like", "rlike"}:
            pattern = self.dice.choice(LIKES if word == "like" else RLIKES)
            return f"({self.text(types.STRING, depth)} {maybe}{word} {literal(pattern, types.STRING)})"
        one, two = self.comparable()
        value, low, high = self.text(one, depth), self.text(two, depth), self.text(two, depth)
        if self.dice.random() < 0.5:
            low, high = self.leaf(two), self.leaf(two)
        if word == "between":
            return f"({value} {maybe}between {low} and {high})"
        if word == "distinct":
            return f"({value} is {maybe}distinct from {low})"
        return f"({value} {maybe}in ({', '.join(self.leaf(two) for _ in range(self.dice.choice([1, 2, 5])))}, {high}))"

    def choice(self, kind: ColumnType, depth: int) -> str:
        """`case`, `if`, `coalesce`, `nullif`."""
        way = self.dice.randrange(6)
        one, two = self.text(kind, depth), self.text(kind, depth)
        if way == 0 or kind.kind is Kind.ARRAY:
            return f"if({self.text(types.BOOLEAN, depth)}, {one}, {two})"
        if way == 1:
            return f"coalesce({one}, {two}, {self.leaf(kind)})"
        if way == 2:
            return f"nullif({one}, {two})"
        if way == 3:
            operand, other = self.comparable()
            branches = f"when {self.text(other, depth)} then {one} when {self.text(other, depth)} then {two}"
            return f"(case {self.text(operand, depth)} {branches} end)"
        end = self.dice.choice(["", f"else {self.leaf(kind)} "])
        conditions = [self.text(types.BOOLEAN, depth) for _ in range(2)]
        return f"(case when {conditions[0]} then {one} when {conditions[1]} then {two} {end}end)"

    def cast(self, kind: ColumnType, depth: int) -> str:
        """From any type that the subset converts."""
        givens = [given for given in [*PLAIN, *DECIMALS] if castable(given, kind)]
        if not givens:
            return self.leaf(kind)
        given = self.text(self.dice.choice(givens), depth)
        word = self.dice.choice(["cast", "cast", "try_cast", "::"])
        return (
            f"{given}::{kind}"
            if word == "::" and given.isalpha()
            else f"{word if word != '::' else 'cast'}({given} as {kind})"
        )

    def call(self, kind: ColumnType, depth: int) -> str:
        """A function of the library whose result has the type."""
        fitting = self.functions.get(kind, [])
        if not fitting:
            return self.leaf(kind)
        name, parameters = self.dice.choice(fitting)
        return f"{name}({', '.join(self.text(parameter, depth) for parameter in parameters)})"


LIKES = [
    "%",
    "",
    "a%",
    "%a",
    "%a%",
    "a_c",
    "_",
    "__",
    "%a_b%",
    "100\\%",
    "a\\\\b",
    "%\n%",
    "%-01-%",
    "2020%",
    "S%L",
    "%%",
]
RLIKES = [
    "a",
    "^a",
    "a$",
    "^$",
    "[0-9]+",
    "\\d{4}-\\d\\d",
    "^[a-z ]*$",
    "(?i)spark",
    "a|b",
    ".",
    "^.$",
    "\\s",
    "x{2,3}",
    "\\w+$",
]


def castable(given: ColumnType, into: ColumnType) -> bool:
    """Whether the subset has this conversion, and Java and Python agree on it everywhere."""
    from spillway.expressions import casts

    return given != into and not isinstance(casts.plan(given, into), str)


# With a random count these take all memory of the JVM; `function_cases` asks them with small ones.
_HUNGRY = frozenset({"repeat", "space", "lpad", "rpad", "sequence", "array_repeat"})
# These differ in the order of errors and nulls, for units that are computed from literals, and for dates that are no
# timestamps (from the year 294 247 on); everything else about them is in `function_cases`.
_PARTICULAR = frozenset({"date_trunc", "trunc", "months_between"})


def _functions() -> dict[ColumnType, list[tuple[str, tuple[ColumnType, ...]]]]:
    """Functions that take columns of simple types, by the type of their result."""
    found: dict[ColumnType, list[tuple[str, tuple[ColumnType, ...]]]] = {}
    for function in dict.fromkeys(registry.FUNCTIONS.values()):
        if function.name in _HUNGRY | _PARTICULAR:
            continue
        for signature in function.signatures:
            if callable(signature.result) or not all(map(_simple, signature.parameters)):
                continue
            kinds = tuple(p.accepts for p in signature.parameters if isinstance(p.accepts, ColumnType))
            found.setdefault(signature.result, []).append((function.name, kinds))
    return found


def _simple(parameter: Parameter) -> bool:
    return (
        isinstance(parameter.accepts, ColumnType) and not parameter.literal and parameter.accepts.kind is not Kind.ARRAY
    )


def literal(value: Any, kind: ColumnType) -> str:
    """The value as SQL."""
    if value is None:
        return f"cast(NULL as {kind})"
    match kind.kind:
        case Kind.BOOLEAN:
            return str(value).lower()
        case Kind.INT:
            return f"({value})" if value < 0 else str(value)
        case Kind.BIGINT:
            return f"({value}L)"
        case Kind.DOUBLE:
            return f"({value!r}D)" if value == value and abs(value) != float("inf") else f"cast('{value}' as double)"
        case Kind.DECIMAL:
            return f"cast({value:f}BD as {kind})"
        case Kind.STRING:
            return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"
        case Kind.BINARY:
            return f"X'{value.hex()}'"
        case Kind.DATE:
            return f"date_from_unix_date({value})"
        case Kind.TIMESTAMP:
            return f"timestamp_micros({value}L)"
        case _:
            return f"array({', '.join(literal(item, kind.element or types.INT) for item in value)})"


def ours(text: str, schema: Schema, data: Sequence[Sequence[Any]]) -> tuple[ColumnType, list[Any]]:
    """The type, and the value for each row, ERROR where it raises."""
    checked = expression.check(text, schema)
    function = compiler.compile_row([checked], schema)
    found: list[Any] = []
    for row in data:
        try:
            found.append(function(row)[0])
        except errors.ROW_ERRORS:
            found.append(ERROR)
    if checked.type == types.BOOLEAN:
        _same_as_condition(text, schema, data, found)
    return checked.type, found


def _same_as_condition(text: str, schema: Schema, data: Sequence[Sequence[Any]], found: list[Any]) -> None:
    """As a filter, the expression passes the rows where it is true, and raises where it raises."""
    condition = compiler.compile_condition(expression.check_condition(text, schema), schema)
    for row, value in zip(data, found, strict=True):
        try:
            passes: Any = condition(row)
        except errors.ROW_ERRORS:
            passes = ERROR
        if passes is not (value if value is ERROR else value is True):
            message = f"{text} is {value!r} as a value and {passes!r} as a filter on {row}"
            raise AssertionError(message)


# The analyzer computes literals where it needs one, such as an index; what is wrong with them is no matter of rows.
_COMPUTED = (
    "ARITHMETIC_OVERFLOW",
    "DIVIDE_BY_ZERO",
    "REMAINDER_BY_ZERO",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "CAST_",
    "DATETIME_OVERFLOW",
)


def _of_today(value: Any) -> bool:
    """A timestamp of today: a text with a time and no date, which Spark reads by its clock, and Spillway doesn't."""
    return isinstance(value, int) and abs(value // datetimes.DAY - time.time() // 86400) <= 1


def differences(
    oracle: Oracle,
    texts: Sequence[str],
    data: Sequence[Sequence[Any]],
    *,
    schema: Schema = SCHEMA,
    codegen: bool = False,
    compute: Callable[[str, Schema, Sequence[Sequence[Any]]], tuple[ColumnType, list[Any]]] = ours,
) -> tuple[list[Difference], int]:
    """Expressions on which Spark and Python disagree, with the first such row, and how many pairs were compared.

    Where the interpreter disagrees, the form that Spark compiles decides: it is what a query runs, and the two forms
    meet nulls and errors in different orders in a few functions, such as `concat`. What is computed of literals alone
    fails Spark's query before any row is looked at; ours has no value either, but a null where one comes before it.
    """
    found: list[Difference] = []
    pairs = 0
    for text, answer in zip(texts, oracle.evaluate(texts, schema, data, codegen=codegen), strict=True):
        kind, values = compute(text, schema, data)
        if any(error in answer.rejected for error in _COMPUTED):
            continue
        if answer.rejected or answer.type != kind:
            found.append(Difference(text, {}, answer.rejected or answer.type, kind))
            continue
        pairs += len(data)
        for row, theirs, mine in zip(data, answer.values, values, strict=True):
            hidden = answer.planned and mine is None
            if not spark_oracle.same(theirs, mine) and not hidden and not _of_today(theirs):
                used = {name: value for name, value in zip(schema.names, row, strict=True) if name in text}
                found.append(Difference(text, used, theirs, mine))
                break
    if found and not codegen:
        again = [difference.text for difference in found]
        found, _ = differences(oracle, again, data, schema=schema, codegen=True, compute=compute)
    return found, pairs
