"""Aggregates, split so that they run anywhere: fold rows into a state, merge states, make the result of a state.

| aggregate | state | |
|---|---|---|
| `count(*)`, `count(x, …)`, `count_if(c)` | number of rows | |
| `sum(x)` | total and number of values | a total that doesn't fit raises in `finish` |
| `avg(x)` | the same; whole numbers are added as doubles, as in Spark | |
| `min(x)`, `max(x)`, `any_value(x)` | the value in a list, an empty list before the first | NaN is the largest |
| `approx_count_distinct(x)` | HyperLogLog++ registers | the same number as Spark's |
| `collect_set(x)` | the values | sorted in the result; Spark promises no order |

States are None, bool, int, float, str, bytes and lists of those. The exception is Decimal, in states as in rows:
msgpack encoders write it as its text, and `restore` makes it a Decimal again after decoding.
Sums of doubles depend on the order of the rows in the last digits, here as in Spark. Sums of whole numbers and of
decimals don't: only the total has to fit. (Spark raises also where a partial sum of its own order doesn't.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from spillway.expressions import arithmetic, hyperloglog
from spillway.expressions.aggregate import Aggregate
from spillway.expressions.functions import hashing
from spillway.model.types import ColumnType, Kind

State = Any
Value = Any


@dataclasses.dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one aggregate. `add` takes the values of its arguments; states are not changed but replaced."""

    zero: State
    add: Callable[..., State]  # (state, *values)
    merge: Callable[[State, State], State]
    finish: Callable[[State], Value]
    subtract: Callable[..., State] | None = None  # takes a row back, where that is possible
    restore: Callable[[State], State] = lambda state: state  # after decoding: Decimals are texts there


def steps(aggregate: Aggregate) -> Steps:
    """The steps of an aggregate."""
    kinds = [argument.type for argument in aggregate.arguments]
    match aggregate.function:
        case "count":
            return _count()
        case "count_if":
            return _count_if()
        case "sum":
            return _sum(kinds[0], aggregate.type)
        case "avg":
            return _average(kinds[0], aggregate.type)
        case "min" | "max":
            return _extreme(kinds[0], largest=aggregate.function == "max")
        case "any_value":
            return _any_value(kinds[0])
        case "approx_count_distinct":
            return _distinct(kinds[0])
        case _:
            return _collected(kinds[0])


def _count() -> Steps:
    def add(state: int, *values: Value) -> int:
        return state if None in values else state + 1

    def subtract(state: int, *values: Value) -> int:
        return state if None in values else state - 1

    return Steps(0, add, int.__add__, int, subtract)


def _count_if() -> Steps:
    return Steps(
        0,
        lambda state, value: state + 1 if value else state,
        int.__add__,
        int,
        lambda state, value: state - 1 if value else state,
    )


def _totals(convert: Callable[[Value], Value], zero: Value) -> Any:
    """The folding that sum and avg share: [total, number of values]."""

    def add(state: list[Value], value: Value) -> list[Value]:
        return state if value is None else [state[0] + convert(value), state[1] + 1]

    def subtract(state: list[Value], value: Value) -> list[Value]:
        return state if value is None else [state[0] - convert(value), state[1] - 1]

    def merge(one: list[Value], other: list[Value]) -> list[Value]:
        return [one[0] + other[0], one[1] + other[1]]

    return [zero, 0], add, merge, subtract


def _sum(given: ColumnType, result: ColumnType) -> Steps:
    if given.kind is Kind.DECIMAL:
        return _decimal_totals(given, lambda total, _: arithmetic.fit(total, result.precision, result.scale))
    if given.kind is Kind.DOUBLE:
        zero, add, merge, subtract = _totals(float, 0.0)
        return Steps(zero, add, merge, lambda state: state[0] if state[1] else None, subtract)
    return _whole_totals()


def _whole_totals() -> Steps:
    """Sum of whole numbers. A total beyond 64 bits waits as its text for values that bring it back."""

    def changed(state: list[Value], by: int, count: int) -> list[Value]:
        total = int(state[0]) + by
        return [total if arithmetic.BIGINT_MIN <= total <= arithmetic.BIGINT_MAX else str(total), state[1] + count]

    def finish(state: list[Value]) -> int | None:
        total, count = state
        if isinstance(total, str):
            arithmetic.overflow(total, "bigint")
        return total if count else None

    return Steps(
        [0, 0],
        lambda state, value: state if value is None else changed(state, value, 1),
        lambda one, other: changed(one, int(other[0]), other[1]),
        finish,
        lambda state, value: state if value is None else changed(state, -value, -1),
    )


def _average(given: ColumnType, result: ColumnType) -> Steps:
    if given.kind is Kind.DECIMAL:
        return _decimal_totals(
            given,
            lambda total, count: arithmetic.decimal_quotient(total, Decimal(count), result.precision, result.scale),
        )
    zero, add, merge, subtract = _totals(float, 0.0)
    return Steps(zero, add, merge, lambda state: state[0] / state[1] if state[1] else None, subtract)


def _decimal_totals(given: ColumnType, finished: Callable[[Decimal, int], Decimal]) -> Steps:
    """Sum and avg of decimals: exact on the way; what doesn't fit the result raises at the end."""
    plus, minus = arithmetic.EXACT.add, arithmetic.EXACT.subtract
    return Steps(
        [arithmetic.zero_of(given.scale), 0],
        lambda state, value: state if value is None else [plus(state[0], value), state[1] + 1],
        lambda one, other: [plus(one[0], other[0]), one[1] + other[1]],
        lambda state: finished(state[0], state[1]) if state[1] else None,
        lambda state, value: state if value is None else [minus(state[0], value), state[1] - 1],
        lambda state: [Decimal(state[0]), state[1]],
    )


def _restored(given: ColumnType) -> Callable[[State], State]:
    return (lambda state: [Decimal(value) for value in state]) if given.kind is Kind.DECIMAL else list


def _extreme(given: ColumnType, *, largest: bool) -> Steps:
    """Min and max; a state is [value], or [] before the first."""

    def beats(one: Value, other: Value) -> bool:
        if one != one or other != other:  # NaN is the largest of all
            return bool(other == other if largest else one == one)
        return bool(one > other) if largest else bool(one < other)

    def add(state: list[Value], value: Value) -> list[Value]:
        return state if value is None or (state and not beats(value, state[0])) else [value]

    def merge(one: list[Value], other: list[Value]) -> list[Value]:
        return add(one, other[0]) if other else one

    return Steps([], add, merge, lambda state: state[0] if state else None, restore=_restored(given))


def _any_value(given: ColumnType) -> Steps:
    """The first value that comes, null or not."""
    restored = _restored(given)
    return Steps(
        [],
        lambda state, value: state or [value],
        lambda one, other: one or other,
        lambda state: state[0] if state else None,
        restore=lambda state: state if None in state else restored(state),
    )


def _distinct(given: ColumnType) -> Steps:
    names = (str(given),)

    def add(state: bytes, value: Value) -> bytes:
        return state if value is None else hyperloglog.add(state, hashing.xxhash64((value,), names))

    return Steps(hyperloglog.empty(), add, hyperloglog.merge, hyperloglog.estimate)


def _collected(given: ColumnType) -> Steps:
    """The different values; looking for one takes as long as there are values."""
    double = given.kind is Kind.DOUBLE

    def has(state: list[Value], value: Value) -> bool:
        return value in state if value == value else any(known != known for known in state)  # NaN is one value

    def add(state: list[Value], value: Value) -> list[Value]:
        if value is None or has(state, value):
            return state
        return [*state, value + 0.0 if double else value]  # of the two zeros the positive one

    def merge(one: list[Value], other: list[Value]) -> list[Value]:
        return [*one, *(value for value in other if not has(one, value))]

    def finish(state: list[Value]) -> list[Value]:
        return sorted(state, key=lambda value: (value != value, value)) if double else sorted(state)  # NaN last

    return Steps([], add, merge, finish, restore=_restored(given))
