"""What a function accepts and gives, and which of its signatures fits a call.

**Families.** A parameter accepts one type, or a family of types:

| accepts | takes | the argument arrives as |
|---|---|---|
| a `ColumnType` | that type, and what widens to it | that type |
| `"integral"` | int, bigint | its own type |
| `"decimal"` | decimal of any precision and scale | its own type |
| `"numeric"` | int, bigint, decimal, double | its own type |
| `"array"` | array of anything | its own type |
| `"any"` | everything | its own type |
| `"T"` | everything; all `T` of one call have one common type | the common type |
| `"array<T>"`, `"array<array<T>>"` | arrays whose elements take part in `T` | an array of the common type |

**Widening** is what Spark's ANSI mode does among numbers without being asked, and nothing else: int to bigint; int,
bigint and decimal to double; for `T` also int to decimal(10,0) and bigint to decimal(20,0), and two decimals to the
one that holds both (where that would need more than 38 digits there is no common type: Spark would round).
Arrays widen as their elements do. A bare NULL takes the type of its parameter, if all signatures of the function
agree on one there; otherwise it needs a CAST. Spark would also turn strings into numbers or times, numbers into
strings, dates into timestamps and back; that is outside the subset, so such a call fits nothing.

**The compiler's side.** `Function.resolve` gives a `Call`: the types to which the compiler converts the arguments, the
type of the result, and `Call.source`, which puts the Python source of the arguments into the template.
A strict signature means: the arguments are evaluated from left to right, the first null ends it with null (the
arguments after it are *not* evaluated, so their errors don't happen), and the template gets non-null values.
Otherwise the template gets the arguments as they are, null being `None`, and decides itself what is evaluated: the
compiler puts the expressions in place, and doesn't evaluate them beforehand. Where a null and an error meet, the form
that Spark compiles decides (its interpreter evaluates `concat` and a few others in another order).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

from spillway.model import types
from spillway.model.types import ColumnType, Kind

FAMILIES = {
    "integral": frozenset({Kind.INT, Kind.BIGINT}),
    "decimal": frozenset({Kind.DECIMAL}),
    "numeric": frozenset({Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE}),
    "array": frozenset({Kind.ARRAY}),
    "any": frozenset(Kind),
}

# Digits that hold every int and every bigint: Spark's own choice.
AS_DECIMAL = {Kind.INT: types.decimal(10, 0), Kind.BIGINT: types.decimal(20, 0)}
_NUMERIC = FAMILIES["numeric"]
# What an argument that is no array contributes to the T of array<T>: an array without an element type fits nothing.
_NOTHING = ColumnType(Kind.ARRAY)


@dataclasses.dataclass(frozen=True, slots=True)
class Argument:
    """What is known about an argument when it is compiled."""

    type: ColumnType
    literal: bool = False  # a literal, also with a sign before it
    value: object = None  # of a literal, in the run-time representation


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    """A place for an argument; `literal` asks for a literal that is not null."""

    name: str
    accepts: ColumnType | str
    literal: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Signature:
    """One way to call a function.

    Fields of the template: `{0}`, `{1}`… the source of an argument (an atom or in parentheses); `{all}` all of them,
    each followed by a comma, so that `({all})` is a tuple; `{result}` the type of the result, `{types}` those of the
    arguments as strings. Where that is not enough, the template is a function from the sources to the source.
    """

    parameters: tuple[Parameter, ...]
    # A type, or a rule for the arguments after widening, whose docstring is what the reference says about it.
    result: ColumnType | Callable[[Sequence[Argument]], ColumnType]
    python: str | Callable[[Sequence[str]], str]
    strict: bool = True
    nullable: bool = False  # a strict one that may give None for arguments that are not null
    variadic: bool = False  # the last parameter stands for one or more arguments
    tight: bool = False  # T mixes a decimal with no other type: Spark doesn't widen them for every function
    check: Callable[[Sequence[Argument]], str] | None = None  # what is wrong with the literals, or ""

    def spread(self, count: int) -> tuple[Parameter, ...] | None:
        """The parameters of a call with so many arguments, or None where the number doesn't fit."""
        missing = count - len(self.parameters)
        if missing == 0:
            return self.parameters
        if self.variadic and missing > 0:
            return self.parameters + (self.parameters[-1],) * missing
        return None

    def fit(self, arguments: Sequence[Argument]) -> Call | None:
        """The call of this signature with these arguments, or None where their types don't fit."""
        parameters = self.spread(len(arguments))
        if parameters is None:
            return None
        bounds = [
            _unwrap(argument.type, parameter.accepts)
            for parameter, argument in zip(parameters, arguments, strict=True)
            if isinstance(parameter.accepts, str) and "T" in parameter.accepts
        ]
        common = common_type([bound or _NOTHING for bound in bounds])
        if self.tight and len({bound for bound in bounds if bound != types.NULL}) > 1 and _has_decimal(bounds):
            return None
        taken: list[Argument] = []
        for parameter, argument in zip(parameters, arguments, strict=True):
            into = _taken(argument.type, parameter.accepts, common)
            if into is None or (parameter.literal and (not argument.literal or argument.value is None)):
                return None
            taken.append(dataclasses.replace(argument, type=into))
        result = self.result if isinstance(self.result, ColumnType) else self.result(taken)
        return Call(self, tuple(argument.type for argument in taken), result, self.check(taken) if self.check else "")


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A signature that fits: what the arguments are converted to, and what comes out."""

    signature: Signature
    parameters: tuple[ColumnType, ...]
    result: ColumnType
    objection: str = ""  # why the literals are outside the subset; empty where they are inside

    def source(self, arguments: Sequence[str]) -> str:
        """The Python source of the call; each argument is an atom or in parentheses."""
        if callable(self.signature.python):
            return self.signature.python(arguments)
        everything = "".join(f"{argument}, " for argument in arguments)
        names = tuple(map(str, self.parameters))
        return self.signature.python.format(*arguments, all=everything, result=self.result, types=names)


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """A function of the subset."""

    name: str  # lower case, as in Spark
    signatures: tuple[Signature, ...]  # the first that fits wins
    meaning: str  # one sentence for the reference, with nulls, errors and edges
    examples: tuple[tuple[str, str], ...]  # SQL, and SQL of its value; tested against Spark and against us
    aliases: tuple[str, ...] = ()

    def resolve(self, arguments: Sequence[Argument]) -> Call | None:
        """The call with these arguments, or None where no signature fits."""
        for index, argument in enumerate(arguments):
            if argument.type.kind is Kind.NULL:
                spreads = [s.spread(len(arguments)) for s in self.signatures]
                if len({spread[index].accepts for spread in spreads if spread}) > 1:
                    return None
        fits = (signature.fit(arguments) for signature in self.signatures)
        return next((call for call in fits if call), None)


def of(
    parameters: str,
    result: str | Callable[[Sequence[Argument]], ColumnType],
    python: str | Callable[[Sequence[str]], str],
    *,
    strict: bool = True,
    nullable: bool = False,
    tight: bool = False,
    check: Callable[[Sequence[Argument]], str] | None = None,
) -> Signature:
    """A signature in short: `of("text string, count int literal", "string", "…")`, `...` after a variadic one."""
    read: list[Parameter] = []
    for part in parameters.removesuffix(" ...").split(", ") if parameters else ():
        name, accepts, *literal = part.split(" ")
        family = accepts in FAMILIES or "T" in accepts
        read.append(Parameter(name, accepts if family else types.parse_type(accepts), bool(literal)))
    given = types.parse_type(result) if isinstance(result, str) else result
    variadic = parameters.endswith(" ...")
    return Signature(tuple(read), given, python, strict, nullable, variadic, tight, check)


def first(arguments: Sequence[Argument]) -> ColumnType:
    """The type of the first argument."""
    return arguments[0].type


def second(arguments: Sequence[Argument]) -> ColumnType:
    """The type of the second argument."""
    return arguments[1].type


def element(arguments: Sequence[Argument]) -> ColumnType:
    """The type of the elements."""
    return arguments[0].type.element or types.NULL


def array_of(arguments: Sequence[Argument]) -> ColumnType:
    """An array of the first argument."""
    return types.array(arguments[0].type)


def wider(one: ColumnType, other: ColumnType) -> ColumnType | None:
    """The type that holds the values of both without loss of whole digits, or None."""
    if one == other or other.kind is Kind.NULL:
        return one
    if one.kind is Kind.NULL:
        return other
    if one.kind is Kind.ARRAY and other.kind is Kind.ARRAY and one.element and other.element:
        element = wider(one.element, other.element)
        return types.array(element) if element else None
    kinds = {one.kind, other.kind}
    if not kinds <= _NUMERIC:
        return None
    if Kind.DOUBLE in kinds:
        return types.DOUBLE
    if Kind.DECIMAL not in kinds:
        return types.BIGINT
    left, right = AS_DECIMAL.get(one.kind, one), AS_DECIMAL.get(other.kind, other)
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    return types.decimal(precision, scale) if precision <= types.MAX_PRECISION else None


def common_type(arguments: Sequence[ColumnType]) -> ColumnType | None:
    """The type that holds the values of all, or None."""
    first: ColumnType | None = types.NULL
    return functools.reduce(lambda found, one: wider(found, one) if found else None, arguments, first)


def _unwrap(given: ColumnType, accepts: str) -> ColumnType | None:
    """What the argument contributes to T; None where it is no array of that depth."""
    for _ in range(accepts.count("<")):
        if given.kind is Kind.NULL:
            return types.NULL
        if given.kind is not Kind.ARRAY or given.element is None:
            return None
        given = given.element
    return given


def _has_decimal(bounds: Sequence[ColumnType | None]) -> bool:
    return any("decimal" in str(bound) for bound in bounds)


def _taken(given: ColumnType, accepts: ColumnType | str, common: ColumnType | None) -> ColumnType | None:
    """The type as which the argument arrives, or None where the parameter doesn't take it."""
    if isinstance(accepts, ColumnType):
        return accepts if given.kind is Kind.NULL or _widens(given, accepts) else None
    if accepts in FAMILIES:
        return given if given.kind in FAMILIES[accepts] else None
    for _ in range(accepts.count("<")):
        common = types.array(common) if common else None
    return common


def _widens(given: ColumnType, into: ColumnType) -> bool:
    if given.kind is Kind.ARRAY and into.kind is Kind.ARRAY and given.element and into.element:
        return given.element.kind is Kind.NULL or _widens(given.element, into.element)
    return wider(given, into) == into
