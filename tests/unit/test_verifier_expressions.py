"""What an expression means to the verifier is what it means to the job, or the verifier says that it does not know it.

Random expressions of the generator that compares the job with Spark, and each function of the verifier's table by hand.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

import expression_fuzz
import fuzzing
from expression_fuzz import SCHEMA
from spark_oracle import ERROR
from spillway.bench.verifier import functions, translation
from spillway.bench.verifier.engine import Engine
from spillway.bench.verifier.relations import Row, UnverifiableError
from spillway.expressions import errors, expression
from spillway.model import types

Data = list[list[Any]]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


def same(one: Any, other: Any) -> bool:
    """Equal values; NaN is NaN, and trailing zeros of a decimal are none."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other) or (one != one and other != other and one is not ERROR and other is not ERROR)


def compare(engine: Engine, text: str, data: Data) -> int:
    """How many rows agree; those that the verifier is not sure of are left out."""
    item = translation.item(text, SCHEMA)
    results = engine.evaluate([item], SCHEMA, [Row(tuple(row), 0, 0) for row in data])
    _, values = expression_fuzz.ours(text, SCHEMA, data)
    compared = 0
    for row, result, value in zip(data, results, values, strict=True):
        if not result.shaky:
            mine = ERROR if result.values is None else result.values[0]
            assert same(mine, value), f"{text}: the verifier has {mine!r}, the job {value!r} of {row}"
            compared += 1
    return compared


@pytest.mark.fuzz
def test_random_expressions(engine: Engine) -> None:
    seed = fuzzing.seed()
    dice = random.Random(seed)  # noqa: S311 (reproducible, no secret)
    generator = expression_fuzz.Generator(dice)
    kinds = [*expression_fuzz.PLAIN, *expression_fuzz.DECIMALS]
    wanted, compared, refused = 250 * fuzzing.FACTOR, 0, 0
    while compared < wanted:
        data = expression_fuzz.rows(dice, 8)
        text = generator.text(dice.choice(kinds), dice.randint(1, 3))
        try:
            expression.check(text, SCHEMA)
            compared += compare(engine, text, data)
        except (errors.ExpressionError, UnverifiableError):
            refused += 1
    assert refused < 3 * compared, f"SPILLWAY_SEED={seed}"


# Of each function of the table a call over columns; and what stands in the examples.
CALLS = [
    "abs(i)", "abs(x)", "abs(p)", "array(i, j)[1]", "ceil(x)", "ceil(i)", "ceiling(y)", "char_length(s)",
    "coalesce(i, j, 0)", "concat(s, t, 'x')", "contains(s, 'a')", "day(f)", "dayofmonth(d)", "endswith(s, t)",
    "floor(x)", "floor(l)", "greatest(i, j, l)", "greatest(x, y)", "hour(f)", "if(b, i, j)", "ifnull(s, t)",
    "instr(s, 'a')", "isnan(x)", "isnotnull(i)", "isnull(i)", "lcase(s)", "least(p, q)", "left(s, 2)", "len(s)",
    "length(s)", "lower(s)", "ltrim(s)", "minute(f)", "month(d)", "nullif(i, j)", "nvl(x, y)", "nvl2(i, s, t)",
    "right(s, 3)", "round(x)", "round(x, 2)", "round(i)", "round(p, 1)", "rtrim(s)", "split(s, ' ')", "split(s, 'a')",
    "startswith(s, t)", "substr(s, 2)", "substring(s, 2, 3)", "trim(s)", "ucase(s)", "upper(s)", "year(d)", "year(f)",
    "case when s = 'a' then cast(p * 0.9 as decimal(10,2)) else p end", "s like '%a_b%'", "s like '100\\\\%'",
    "if(x < 40, cast(round((40 - x) * 2) as int), 0)", "x between -1.5 and y", "i / j", "i div j", "i % j", "x % y",
    "i <=> j", "s || t", "-l", "not b", "b and c or b is null", "i in (1, 2, null)", "cast(x as int)", "cast(p as int)",
    "cast(i as decimal(10,2))", "cast(d as string)", "cast(f as date)", "s rlike 'ark'", "p + i", "p * r", "p - r",
    "timestamp'2026-01-01 00:00:00' < f", "date'2026-01-31' >= d", "w = X'00FF'", "l + 9223372036854775807L",
]  # fmt: skip


@pytest.fixture(scope="module")
def data() -> Data:
    found = expression_fuzz.rows(random.Random(11), 16)  # noqa: S311 (reproducible, no secret)
    low, high = -62_000_000_000_000_000, 250_000_000_000_000_000  # microseconds: the years 6 to 9892, which Python has
    for row in found:
        for place, column in enumerate(SCHEMA):
            if column.type == types.TIMESTAMP and row[place] is not None and not low < row[place] < high:
                row[place] = 1_772_366_400_123_456
    return found


@pytest.mark.parametrize("text", CALLS)
def test_a_call(engine: Engine, data: Data, text: str) -> None:
    assert compare(engine, text, data) > 5


def test_every_function_of_the_table_is_tried() -> None:
    tried = {text.split("(")[0] for text in CALLS}

    assert set(functions.FUNCTIONS) <= tried


@pytest.mark.parametrize(
    "text",
    ["soundex(s)", "s rlike '^a'", "split(s, '[0-9]')", "cast(s as int)", "substring(s, -2)", "q * q", "p / p",
     "left(s, i)", "cast(x as decimal(10,2))", "cast(f as string)", "date_add(d, 1)"],
)  # fmt: skip
def test_what_the_verifier_does_not_know_is_refused(text: str) -> None:
    expression.check(text, SCHEMA)

    with pytest.raises(UnverifiableError, match="can't verify"):
        translation.item(text, SCHEMA)


def results(engine: Engine, text: str, value: float, slack: float) -> tuple[Any, bool, float]:
    """The value for a double that may be off, whether it is sure, and how far it may be off itself."""
    schema = types.parse_schema("x double")
    (result,) = engine.evaluate([translation.item(text, schema)], schema, [Row((value,), 0, 0, slack={0: slack})])
    assert result.values is not None
    return result.values[0], not result.unsure, result.slack.get(0, 0.0)


def test_a_double_that_may_be_off_makes_doubles_that_may_be(engine: Engine) -> None:
    value, sure, slack = results(engine, "x * 2", 21.0, 1e-9)

    assert (value, sure) == (42.0, True)
    assert 2e-9 < slack < 1e-7


def test_a_condition_on_the_edge_of_what_a_double_may_be_is_unsure(engine: Engine) -> None:
    assert results(engine, "x < 40", 40.0, 1e-9)[1] is False
    assert results(engine, "x < 40", 39.9, 1e-9)[:2] == (True, True)
    assert results(engine, "cast(round(x) as int)", 0.5, 1e-9)[1] is False
    assert results(engine, "cast(round(x) as int)", 0.6, 1e-9)[:2] == (1, True)


def test_a_row_that_raises_is_found_among_many(engine: Engine) -> None:
    schema = types.parse_schema("a int, b int")
    rows = [Row((i, 0 if i in (17, 63) else 1), 0, 0) for i in range(100)]

    found = engine.evaluate([translation.item("a / b", schema)], schema, rows)

    assert [i for i, result in enumerate(found) if result.values is None] == [17, 63]
    assert found[5].values == (5.0,)
    assert not any(result.shaky for result in found)


def test_decimals_keep_their_digits(engine: Engine) -> None:
    schema = types.parse_schema("amount decimal(10,2)")
    (result,) = engine.evaluate([translation.item("amount * 0.9", schema)], schema, [Row((Decimal("10.05"),), 0, 0)])

    assert result.values == (Decimal("9.045"),)
