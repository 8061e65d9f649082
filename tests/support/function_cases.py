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
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from spillway.expressions import errors
from spillway.expressions.functions import registry
from spillway.expressions.functions.signature import Argument, Call, Function, Parameter, Signature
from spillway.model import types
from spillway.model.types import Column, ColumnType, Kind, Schema

RAISED = object()  # what a call gives that raises; never a value
RAISING = object()  # an argument whose evaluation raises

MAX_ROWS = 400
_COPIES = 3  # columns per type: no call has more than three arguments of one type that matter
_WHOLE = decimal.Decimal(1)


def _decimals(precision: int, scale: int) -> list[decimal.Decimal]:
    unit = _WHOLE.scaleb(-scale)
    most = decimal.Decimal((0, (9,) * precision, -scale))
    some = [0, 1, -1, 2, 15, -15, 25, 35, 50, -50, 49, 99, 100, 149, 150, 12345]
    found = [decimal.Decimal(n).scaleb(-scale) for n in some if n < 10**precision]
    found += [(decimal.Decimal(n) / 2).quantize(unit) for n in (-7, -5, -3, 1, 3, 5, 7) if scale or precision > 2]
    return [*(value for value in found if value.copy_abs() <= most), most, most.copy_negate()]


_DAYS = [0, 1, -1, 59, 60, 365, 789, 11016, 11017, 18321, 18322, 19782, 19783, 19789, 19790, 20454, 20453, -719162]
_DAYS += [2932896, -135140, -141428, 47541, 20089, 20088, 20087, 20086, 20085, 20084, 20083, -25508, 10957, 18261]
_DAY = 86_400_000_000

STRINGS = [
    "",
    " ",
    "  ",
    "a",
    "A",
    "b",
    "abc",
    "ABC",
    "Spark SQL",
    " padded  ",
    "a,b,,c",
    ",",
    ".",
    "a.b.c",
    "aaa",
    "aa",
]
STRINGS += [
    "ß",
    "İstanbul",
    "ΑΣ",
    "ΑΣ ΣΑ",
    "ὈΔΥΣΣΕΎΣ",
    "ﬁx",
    "ǆ ǅ",
    "e\u0301",
    "é",
    "😀",
    "a😀b",
    "\ud7ff\ue000",
    "\U0010ffff",
]
STRINGS += ["\t x \n", "\u00a0x\u00a0", "\x00", "0", "-1", "12", "007", "%", "_", "a_c", "100%", "\\", "a\\b", "O'Neil"]
STRINGS += [
    "2024-02-29",
    "x" * 3000,
    "banana",
    "an",
    "\r\n",
    "line\n",
    "line\r\nnext",
    "\u2028",
    "ı I",
    "Kelvin \u212a",
]
STRINGS += ["\u019b\u0264 \ua7cb", "hello world", "HELLO wORLD", "日本語", "a\tb", "true", "NULL", "ab" * 40, "ŉ", "ﬀ"]

POOLS: dict[Kind, list[Any]] = {
    Kind.BOOLEAN: [True, False],
    Kind.INT: [0, 1, -1, 2, 3, -2, 7, 10, 31, 32, 63, 64, 100, 255, 256, -255, 1000, 2024, 65535, 2**31 - 1, -(2**31), 2**30]
    + [-(2**31) + 1, 2**31 - 2, 123456789],
    Kind.BIGINT: [0, 1, -1, 2, 5, -7, 10, 63, 100, 2**31, -(2**31) - 1, 2**53, 2**53 + 1, -(2**53) - 1, 10**18]
    + [2**63 - 1, -(2**63), -(2**63) + 1, 86400, 1700000000, 1700000000123, 1700000000123456, -62135596800, 253402300799],
    Kind.DOUBLE: [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1e-5, 3.14159, 2.675, 1e15, 1e16, 123456.789, 1e17]
    + [-1e18, 9.3e18, 1e22, 1e300, -1e308, 5e-324, 2.2250738585072014e-308, float("nan"), float("inf"), float("-inf")]
    + [100.0, 10.0, 2.0, 8.0, 3.0, 0.3, 45.0, -3.7, 2147483648.0, 9223372036854775807.0, 1.7976931348623157e308],
    Kind.STRING: STRINGS,
    Kind.BINARY: [b"", b"\x00", b"abc", b"\xff\xfe", bytes(range(256)), b" a ", b"a" * 100, "é😀".encode(), b"\x80\x81"],
    Kind.DATE: _DAYS,
    Kind.TIMESTAMP: [d * _DAY for d in _DAYS] + [d * _DAY + 86399999999 for d in _DAYS]
    + [1, -1, 1700000000123456, 1709210096987654, -1234567, 999999, 1000000, -62135596800000000, 253402300799999999],
}  # fmt: skip
# Whole numbers that are positions, lengths, counts: most of them within the texts and arrays that they meet.
SMALL = [-7, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 8, 9, 13, 40]

CONCRETE = {
    "integral": (types.INT, types.BIGINT),
    "decimal": (types.decimal(10, 2), types.decimal(38, 18), types.decimal(38, 0), types.decimal(5, 5), types.decimal(3, 0)),
    "numeric": (types.INT, types.BIGINT, types.DOUBLE, types.decimal(10, 2)),
    "array": (types.array(types.INT), types.array(types.STRING), types.array(types.array(types.INT))),
    "any": (
        types.BOOLEAN, types.INT, types.BIGINT, types.DOUBLE, types.decimal(10, 2), types.decimal(38, 18), types.STRING,
        types.BINARY, types.DATE, types.TIMESTAMP, types.array(types.INT), types.array(types.array(types.INT)),
    ),
}  # fmt: skip
GENERIC = (
    types.BOOLEAN, types.INT, types.BIGINT, types.DOUBLE, types.decimal(10, 2), types.STRING, types.BINARY, types.DATE,
    types.TIMESTAMP, types.array(types.INT), types.array(types.DOUBLE),
)  # fmt: skip
# Of these T has to be widened: what each argument is, in turn.
MIXED = ((types.INT, types.BIGINT), (types.BIGINT, types.DOUBLE), (types.decimal(10, 2), types.INT))

# Literals by (function, parameter) or by parameter.
LITERALS: dict[tuple[str, str] | str, list[Any]] = {}
# Other values for a parameter than those of its type.
SPECIAL: dict[tuple[str, str] | str, list[Any]] = {}
SMALL_NAMES = frozenset({"position", "count", "length", "times", "part_number", "start", "index", "places", "bits"})


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One call: its SQL, its Python, and the columns that it reads."""

    function: Function
    sql: str
    call: Call
    arguments: tuple[str | tuple[Any], ...]  # the name of a column, or a literal in a tuple
    given: tuple[ColumnType, ...]  # before widening


def value_of(case: Case, row: dict[str, Any]) -> Any:
    """What Python makes of the case in this row."""
    compiled = _compiled(case.call)
    values: list[Any] = []
    for argument, given, into in zip(case.arguments, case.given, case.call.parameters, strict=True):
        value = argument[0] if isinstance(argument, tuple) else row[argument]
        if value is RAISING:
            return RAISED
        if value is None and case.call.signature.strict:
            return None
        values.append(widened(value, given, into))
    try:
        return compiled(*values)
    except errors.ROW_ERRORS:
        return RAISED


_CACHE: dict[tuple[int, Call], Callable[..., Any]] = {}


def _compiled(call: Call) -> Callable[..., Any]:
    key = (id(call.signature), call)
    if key not in _CACHE:
        names = [f"a{index}" for index in range(len(call.parameters))]
        source = f"lambda {', '.join(names)}: {call.source(names)}"
        _CACHE[key] = eval(source, dict(registry.NAMESPACE))  # noqa: S307 (our own templates)
    return _CACHE[key]


def widened(value: Any, given: ColumnType, into: ColumnType) -> Any:
    """The value as the wider type: what the compiler does before a call."""
    if value is None or given == into:
        return value
    if given.kind is Kind.ARRAY and given.element and into.element:
        return [widened(item, given.element, into.element) for item in value]
    if into.kind is Kind.DOUBLE:
        return float(value)
    if into.kind is Kind.DECIMAL:
        return decimal.Decimal(value).quantize(_WHOLE.scaleb(-into.scale), context=decimal.Context(prec=80))
    return value


def pool(kind: ColumnType) -> list[Any]:
    """The edge values of a type, without null."""
    if kind.kind is Kind.DECIMAL:
        return _decimals(kind.precision, kind.scale)
    if kind.kind is Kind.ARRAY and kind.element:
        inner = pool(kind.element)
        dice = random.Random(str(kind))  # noqa: S311 (reproducible, no secret)
        few = [*inner[:6], None]
        arrays: list[Any] = [[], [None], [inner[0]], [None, None], inner[:3], inner[2::-1], inner[:2] * 2]
        arrays += [[dice.choice(inner) for _ in range(dice.randrange(1, 6))] for _ in range(6)]
        return arrays + [[dice.choice(few) for _ in range(dice.randrange(2, 9))] for _ in range(16)]
    return POOLS[kind.kind]


class Table:
    """The rows that all cases share; columns are added as cases ask for them."""

    def __init__(self, rows: int = MAX_ROWS) -> None:
        self.count = rows
        self.columns: dict[str, tuple[ColumnType, list[Any]]] = {}

    def column(self, kind: ColumnType, copy: int, values: Sequence[Any] | None = None, label: str = "") -> str:
        """The name of a column of edge values; a null in about 1 of 12 rows."""
        name = "c_" + "".join(c if c.isalnum() else "_" for c in f"{kind}_{label}_{copy}").lower()
        if name not in self.columns:
            dice = random.Random(name)  # noqa: S311 (reproducible, no secret)
            own = list(values if values is not None else pool(kind))
            own += [None] * max(1, len(own) // 12)
            filled: list[Any] = []
            while len(filled) < self.count:
                dice.shuffle(own)
                filled += own
            self.columns[name] = (kind, filled[: self.count])
        return name

    @property
    def schema(self) -> Schema:
        """The columns so far."""
        return Schema(tuple(Column(name, kind) for name, (kind, _) in self.columns.items()))

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows so far."""
        return list(zip(*(values for _, values in self.columns.values()), strict=True))


def cases(function: Function, table: Table) -> Iterator[Case]:
    """The calls of a function: every signature, with every type that its families stand for."""
    for signature in function.signatures:
        for width in (0, 1) if signature.variadic else (0,):
            parameters = signature.spread(len(signature.parameters) + width)
            assert parameters is not None
            for given in _types(parameters):
                yield from _cases(function, signature, parameters, given, table)


def _types(parameters: Sequence[Parameter]) -> Iterator[tuple[ColumnType, ...]]:
    """The types for the parameters: families one after the other, T the same everywhere, and mixed once."""
    if any(isinstance(p.accepts, str) and "T" in p.accepts for p in parameters):
        for kind in GENERIC:
            yield tuple(_bound(p, kind) for p in parameters)
        if len(parameters) > 1:
            for mixed in MIXED:
                yield tuple(_bound(p, mixed[i % 2]) for i, p in enumerate(parameters))
        return
    choices = [CONCRETE[p.accepts] if isinstance(p.accepts, str) else (p.accepts,) for p in parameters]
    longest = max(map(len, choices), default=1)
    for index in range(longest):
        yield tuple(choice[(index + shift) % len(choice)] for shift, choice in enumerate(choices))


def _bound(parameter: Parameter, kind: ColumnType) -> ColumnType:
    if isinstance(parameter.accepts, ColumnType):
        return parameter.accepts
    if "T" not in parameter.accepts:
        return CONCRETE[parameter.accepts][0]
    for _ in range(parameter.accepts.count("<")):
        kind = types.array(kind)
    return kind


def _cases(
    function: Function,
    signature: Signature,
    parameters: Sequence[Parameter],
    given: tuple[ColumnType, ...],
    table: Table,
) -> Iterator[Case]:
    choices: list[list[str | tuple[Any]]] = []
    for copy, (parameter, kind) in enumerate(zip(parameters, given, strict=True)):
        named = (function.name, parameter.name)
        if parameter.literal:
            literals = LITERALS.get(named) or LITERALS[parameter.name]
            choices.append([(value,) for value in literals])
            continue
        values = SPECIAL.get(named) or SPECIAL.get(parameter.name)
        label = "_".join(named) if named in SPECIAL else parameter.name if values else ""
        if values is None and kind.kind in (Kind.INT, Kind.BIGINT) and parameter.name in SMALL_NAMES:
            values, label = SMALL, "small"
        choices.append([table.column(kind, copy % _COPIES, values, label)])
    for arguments in itertools.product(*choices):
        known = [
            Argument(t, isinstance(a, tuple), a[0] if isinstance(a, tuple) else None)
            for a, t in zip(arguments, given, strict=True)
        ]
        call = function.resolve(known)
        if call is None:
            assert signature.tight, (function.name, given)
            continue
        if call.objection or call.signature is not signature:
            continue  # outside the subset, or a call that an earlier signature answers
        texts = [literal(a[0], t) if isinstance(a, tuple) else a for a, t in zip(arguments, given, strict=True)]
        yield Case(function, f"{function.name}({', '.join(texts)})", call, arguments, given)


def literal(value: Any, kind: ColumnType) -> str:
    """The SQL of a literal."""
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"{value}L" if kind.kind is Kind.BIGINT else str(value)
