"""GROUP BY, also by windows of event time, over all rows at once in plain Python.

Not determined, and said so: a group with rows that may have been too late for its retention, or that may have been
dropped in between; `any_value` of different values; `approx_count_distinct`, an estimate; sums of doubles in their last
digits. For a sum of n doubles any order is within n * eps * sum|x| of any other (Higham, Accuracy and Stability of
Numerical Algorithms, 4.2, with eps = 2^-53, doubled for two different orders).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

from spillway.bench.verifier import translation
from spillway.bench.verifier.engine import Engine, Result
from spillway.bench.verifier.relations import EXACT, Assumptions, Relation, Row, UnverifiableError, Values
from spillway.bench.verifier.translation import Translated
from spillway.expressions import parser, syntax
from spillway.model.operators import Operator
from spillway.model.types import Column, Kind, Schema

_EPS = 2.0**-52
# A table's rows are taken back and added again, any number of times; each leaves its rounding. With so many updates for
# each row, of values as large as the present ones, this bound still holds.
_UPDATES = 10_000
_EXACT_WHOLE = 2**53  # beyond, sums of whole numbers as doubles depend on their order too


@dataclasses.dataclass(frozen=True, slots=True)
class _Value:
    """One aggregate: its function, its arguments among the evaluated items, and the column of its result."""

    function: str
    arguments: tuple[int, ...]
    column: Column
    of_doubles: bool


@dataclasses.dataclass(slots=True)
class _Group:
    rows: list[tuple[Row, Result]] = dataclasses.field(default_factory=list)
    doubtful: bool = False
    certain: bool = False  # whether one of its rows is surely there


def aggregated(
    operator: Operator, given: Relation, schema: Schema, revised: bool, engine: Engine, assumed: Assumptions
) -> Relation:
    """The table of all groups; `revised`: whether rows of the input come and go."""
    aggregate = operator.aggregate
    assert aggregate is not None  # noqa: S101 - the kind of the operator says so
    groups = [translation.item(text, given.schema) for text in aggregate.by]
    width = len(groups) + 2 * (aggregate.window is not None)
    key = schema.names[:width]
    items, values = _values(aggregate.values, groups, given.schema, schema.columns[width:])
    counts = frozenset(v.column.name for v in values if v.function in {"count", "count_if"} and not revised)
    made = Relation(schema, (), key, ordered=False, counts=counts, clock=given.clock, open=given.open)
    results = engine.evaluate(items, given.schema, given.rows)
    found: dict[Values, _Group] = {}
    horizon = None if operator.retention is None else given.clock - operator.retention.amount // 1000
    start_column = given.schema.names.index("window_start") if aggregate.window and given.is_table else None
    for row, result in zip(given.rows, results, strict=True):
        if row.passing or (result.values is None and not result.shaky):
            continue
        if result.values is None or any(place < len(groups) for place in result.unsure):
            return dataclasses.replace(made, open=f"{operator.name}: rows whose group is unsure")
        time = row.time if start_column is None else row.values[start_column]
        for window in _windows(operator, time):
            group = found.setdefault((*result.values[: len(groups)], *window), _Group())
            group.rows.append((row, result))
            late = horizon is not None and (window[1] - 1 if window else row.time) < horizon
            sure = not late or (assumed.none_late and bool(window))
            group.certain |= sure and not row.maybe
            group.doubtful |= row.maybe or not sure
    rows = [_row(k, group, values, revised) for k, group in found.items()]
    return dataclasses.replace(made, rows=tuple(rows))


def _values(
    texts: Sequence[str], groups: Sequence[Translated], given: Schema, columns: Sequence[Column]
) -> tuple[list[Translated], list[_Value]]:
    items, values = list(groups), []
    for text, column in zip(texts, columns, strict=True):
        node, _ = parser.parse_item(text)
        assert isinstance(node, syntax.Call)  # noqa: S101 - an accepted job has only these
        arguments = [translation.translated(argument, "", text, given) for argument in node.arguments]
        of_doubles = any(argument.type.kind is Kind.DOUBLE for argument in arguments)
        places = tuple(range(len(items), len(items) + len(arguments)))
        values.append(_Value({"mean": "avg"}.get(node.name, node.name), places, column, of_doubles))
        items += arguments
    return items, values


def _windows(operator: Operator, time: int) -> Collection[tuple[int, ...]]:
    """The windows [start, end) that hold a time, by trying all that could."""
    window = operator.aggregate.window if operator.aggregate is not None else None
    if window is None:
        return [()]
    size, slide = window.size.amount // 1000, (window.slide or window.size).amount // 1000
    last = time // slide * slide
    starts = range(last, time - size, -slide)
    return [(start, start + size) for start in starts]


def _row(key: Values, group: _Group, values: Sequence[_Value], revised: bool) -> Row:
    rows = [row for row, _ in group.rows]
    out: list[Any] = list(key)
    unsure: set[int] = set()
    slack: dict[int, float] = {}
    for place, value in enumerate(values, len(key)):
        if group.doubtful or any(argument in result.unsure for _, result in group.rows for argument in value.arguments):
            out.append(None)
            unsure.add(place)
            continue
        result, off = _folded(value, group, revised)
        out.append(None if off is math.inf else result)
        if off is math.inf:
            unsure.add(place)
        elif off:
            slack[place] = off
    return Row(
        tuple(out),
        max(row.time for row in rows),
        max(row.appended for row in rows),
        maybe=not group.certain,
        unsure=frozenset(unsure),
        slack=slack or EXACT,
    )


def _folded(value: _Value, group: _Group, revised: bool) -> tuple[Any, float]:
    """The result, and how far it may be off: infinitely far where nothing can be said."""
    given = [tuple((result.values or ())[place] for place in value.arguments) for _, result in group.rows]
    times = [row.times for row, _ in group.rows]
    if value.function == "count":
        return sum(n for n, arguments in zip(times, given, strict=True) if None not in arguments), 0.0
    if value.function == "count_if":
        return sum(n for n, arguments in zip(times, given, strict=True) if arguments[0] is True), 0.0
    numbers = [arguments[0] for arguments in given if arguments[0] is not None]
    off = sum(result.slack.get(value.arguments[0], 0.0) for _, result in group.rows)
    match value.function:
        case "sum" | "avg":
            return _total(value, numbers, off, revised) if numbers else (None, 0.0)
        case "min" | "max":
            order = (lambda n: (n != n, n)) if value.of_doubles else (lambda n: n)
            return (min if value.function == "min" else max)(numbers, key=order, default=None), off
        case "any_value":
            different = len({repr(arguments[0]) for arguments in given}) > 1
            return given[0][0], math.inf if different or off else 0.0
        case "collect_set":
            return _collected(numbers), math.inf if off else 0.0
        case "approx_count_distinct":
            return None, math.inf
    message = f"can't verify the aggregate {value.function}"
    raise UnverifiableError(message)


def _total(value: _Value, numbers: Sequence[Any], off: float, revised: bool) -> tuple[Any, float]:
    count = len(numbers)
    if isinstance(numbers[0], Decimal):
        return _of_decimals(value, numbers)
    if not value.of_doubles:
        total = sum(numbers)
        if value.function == "sum":
            return total, 0.0 if -(2**63) <= total < 2**63 else math.inf
        exact = sum(map(abs, numbers)) < _EXACT_WHOLE
        return total / count, 0.0 if exact else abs(total / count) * _EPS * count
    if any(number - number != 0 for number in numbers):
        total = sum(numbers)  # infinite, or no number: the same in any order, unless they meet
        return total if value.function == "sum" else total / count, math.inf if revised else 0.0
    total = math.fsum(numbers)
    size = math.fsum(map(abs, numbers))
    steps = count * _UPDATES if revised else count
    off += steps * _EPS * size
    return (total, off) if value.function == "sum" else (total / count, off / count + abs(total / count) * _EPS)


def _of_decimals(value: _Value, numbers: Sequence[Decimal]) -> tuple[Any, float]:
    total = sum(map(Fraction, numbers), Fraction(0))
    kind = value.column.type
    with localcontext(prec=100):
        if value.function == "avg":
            total /= len(numbers)
        exact = Decimal(total.numerator) / Decimal(total.denominator)
        result = exact.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
    fits = result == 0 or result.adjusted() < kind.precision - kind.scale
    return result, 0.0 if fits else math.inf


def _collected(values: Sequence[Any]) -> list[Any]:
    numbers = [value for value in values if value == value]
    unique: list[Any] = sorted({0.0 if value == 0 and isinstance(value, float) else value for value in numbers})
    return unique + [math.nan] * (len(numbers) < len(values))
