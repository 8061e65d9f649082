"""Aggregates give the same result however the rows are split, ordered and merged, and after a trip through msgpack."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

import function_values
from spillway.expressions import ROW_ERRORS, ExpressionError, aggregates, check_aggregate, hyperloglog
from spillway.model import types

SCHEMA = types.parse_schema(
    "i int, l bigint, x double, p decimal(10,2), s string, w binary, d date, b boolean, arr array<int>"
)
TEXTS = ["count(*)", "count(i)", "count_if(b)", "sum(i)", "sum(p)", "avg(p)", "min(i)", "max(s)", "min(x)", "max(x)"]
TEXTS += [
    "min(p)",
    "max(w)",
    "approx_count_distinct(s)",
    "collect_set(s)",
    "collect_set(p)",
    "collect_set(x)",
    "max(b)",
]


def steps_of(text: str) -> tuple[aggregates.Steps, list[int]]:
    checked = check_aggregate(f"{text} as a", SCHEMA)
    return aggregates.steps(checked), [SCHEMA.names.index(e.columns[0]) for e in checked.arguments]


def fold(steps: aggregates.Steps, columns: Sequence[int], rows: Sequence[Sequence[Any]]) -> Any:
    state = steps.zero
    for row in rows:
        state = steps.add(state, *(row[column] for column in columns))
    return state


def some_rows(dice: random.Random) -> list[list[Any]]:
    pools = [function_values.pool(column.type)[:12] for column in SCHEMA]
    return [[None if dice.random() < 0.2 else dice.choice(pool) for pool in pools] for _ in range(dice.randrange(30))]


@pytest.mark.parametrize("text", TEXTS)
def test_any_split_order_and_merge_gives_the_same(text: str) -> None:
    steps, columns = steps_of(text)
    dice = random.Random(text)  # noqa: S311 (reproducible, no secret)
    for _ in range(60):
        rows = some_rows(dice)
        whole = steps.finish(fold(steps, columns, rows))
        dice.shuffle(rows)
        cuts = sorted(dice.randrange(len(rows) + 1) for _ in range(3))
        parts = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
        merged = steps.zero
        for part in parts:
            merged = steps.merge(merged, stored(steps, fold(steps, columns, part)))
        assert repr(steps.finish(merged)).replace("-0.0", "0.0") == repr(whole).replace("-0.0", "0.0")


def stored(steps: aggregates.Steps, state: Any) -> Any:
    """The state after it was written and read."""
    return steps.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(state)))


@pytest.mark.parametrize("text", ["count(*)", "count(i)", "count_if(b)", "sum(i)", "sum(p)", "avg(p)"])
def test_a_row_that_is_taken_back_was_never_there(text: str) -> None:
    steps, columns = steps_of(text)
    assert steps.subtract is not None
    dice = random.Random(text)  # noqa: S311 (reproducible, no secret)
    for _ in range(60):
        rows, gone = some_rows(dice), some_rows(dice)
        state = fold(steps, columns, rows + gone)
        for row in gone:
            state = steps.subtract(state, *(row[column] for column in columns))
        assert state == fold(steps, columns, rows)


def test_states_are_replaced_not_changed() -> None:
    for text in TEXTS:
        steps, columns = steps_of(text)
        before = repr(steps.zero)
        fold(steps, columns, some_rows(random.Random(1)))  # noqa: S311 (reproducible, no secret)
        assert repr(steps.zero) == before


def test_of_no_rows_counts_are_zero_and_the_rest_is_null() -> None:
    found = {text: steps_of(text)[0] for text in TEXTS}
    empty = {text: steps.finish(steps.zero) for text, steps in found.items()}
    assert empty["count(*)"] == empty["approx_count_distinct(s)"] == 0
    assert empty["sum(i)"] is empty["avg(p)"] is empty["min(x)"] is None
    assert empty["collect_set(s)"] == []


def test_a_sum_may_leave_the_range_and_come_back() -> None:
    steps, _ = steps_of("sum(l)")
    state = steps.add(steps.add(steps.zero, 2**63 - 1), 1)
    with pytest.raises(ROW_ERRORS):
        steps.finish(state)
    assert steps.finish(steps.add(stored(steps, state), -1)) == 2**63 - 1


def test_nan_is_the_largest() -> None:
    rows = [[None, None, value] for value in (1.0, math.nan, math.inf)]
    least, columns = steps_of("min(x)")
    assert least.finish(fold(least, columns, rows)) == 1.0
    most, columns = steps_of("max(x)")
    assert math.isnan(most.finish(fold(most, columns, rows)))


def test_types_of_results() -> None:
    wanted = {
        "sum(i)": "bigint",
        "sum(x)": "double",
        "sum(p)": "decimal(20,2)",
        "avg(i)": "double",
        "avg(p)": "decimal(14,6)",
    }
    wanted |= {"count(*)": "bigint", "min(d)": "date", "collect_set(s)": "array<string>", "any_value(b)": "boolean"}
    assert {text: str(check_aggregate(f"{text} as a", SCHEMA).type) for text in wanted} == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("count(distinct i) as n", "approx_count_distinct"),
        ("sum(s) as n", "sum needs numbers, found a string"),
        ("count(*)", "needs a name: write 'count(*) as …'"),
        ("sum(i) / count(*) as n", "in a select after it"),
        ("summ(i) as n", "did you mean 'sum'?"),
        ("collect_list(i) as n", "use collect_set"),
        ("min(arr) as n", "explode"),
        ("sum(*) as n", "only in count(*)"),
        ("sum(i, l) as n", "one argument, found 2"),
    ],
)
def test_what_is_outside_is_rejected_with_the_way_out(text: str, said: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        check_aggregate(text, SCHEMA)
    assert said in str(caught.value)


def test_a_sketch_is_near_the_truth() -> None:
    dice = random.Random(2)  # noqa: S311 (reproducible, no secret)
    for count in (1, 100, 1000, 10_000):
        sketch = hyperloglog.empty()
        for _ in range(count):
            sketch = hyperloglog.add(sketch, dice.getrandbits(64))
        assert abs(hyperloglog.estimate(sketch) - count) <= 0.15 * count


def test_an_aggregate_says_what_it_reads() -> None:
    checked = check_aggregate("sum(i * l) as total", SCHEMA)
    assert (checked.name, checked.function, checked.columns) == ("total", "sum", ("i", "l"))
    assert checked.arguments[0].type == types.BIGINT
