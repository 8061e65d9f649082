"""The oracle itself: it finds errors where Spark raises, nowhere else, and one question doesn't disturb another."""

from __future__ import annotations

import decimal
import math
from typing import Any

import pytest

import spark_oracle
from spark_oracle import ERROR, Oracle
from spillway.model import types

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SCHEMA = types.parse_schema("i int, s string, x double, d date, t timestamp, p decimal(38,2), l array<date>")
ROWS: tuple[tuple[Any, ...], ...] = (
    (1, "a", math.nan, 0, 1, decimal.Decimal("1.20"), [1, None]),
    (2147483647, "9", -0.0, -719162, -62135596800000000, decimal.Decimal("-0.01"), []),
    (None,) * 7,
)


def test_an_error_stays_in_its_row(oracle: Oracle) -> None:
    (answer,) = oracle.evaluate(["i + 1"], SCHEMA, ROWS)
    assert answer.type == types.INT
    assert answer.values == [2, ERROR, None]


def test_an_error_of_literals_alone_is_an_error_of_every_row_and_of_no_other_expression(oracle: Oracle) -> None:
    one, planned, two = oracle.evaluate(["1 / 0", "to_timestamp(chr(ceil(9.3e18D)))", "s"], SCHEMA, ROWS)
    assert one.values == [ERROR] * 3
    assert planned.values == [ERROR] * 3, "Spark computes this one while it plans the query"
    assert two.values == ["a", "9", None]


def test_what_the_analyzer_rejects_is_reported_apart(oracle: Oracle) -> None:
    answers = oracle.evaluate(["i", "nosuch(i)", "i +", "missing", "x"], SCHEMA, ROWS[2:])
    assert [bool(answer.rejected) for answer in answers] == [False, True, True, True, False]


def test_values_come_back_as_they_went_in(oracle: Oracle) -> None:
    answers = oracle.evaluate(list(SCHEMA.names), SCHEMA, ROWS)
    assert [answer.type for answer in answers] == [column.type for column in SCHEMA]
    for index, answer in enumerate(answers):
        assert all(map(spark_oracle.same, answer.values, [row[index] for row in ROWS]))


def test_compiled_and_interpreted_expressions_answer_alike(oracle: Oracle) -> None:
    questions = ["i + 1", "cast(s AS int)", "x + 1", "date_add(d, i)", "p / 0"]
    compiled = oracle.evaluate(questions, SCHEMA, ROWS, codegen=True)
    for one, two in zip(oracle.evaluate(questions, SCHEMA, ROWS), compiled, strict=True):
        assert all(map(spark_oracle.same, one.values, two.values))


@pytest.mark.parametrize(
    "expression",
    [
        "i + 2147483647",
        "cast(s AS int)",
        "p / 0",
        "element_at(l, 3)",
        "make_date(2023, 2, 29)",
        "sqrt(i - 2)",
        "1L << 1",
        "i",
    ],
)
def test_a_query_without_the_guard_raises_exactly_where_the_oracle_says(oracle: Oracle, expression: str) -> None:
    answer = oracle.evaluate([expression], SCHEMA, ROWS[:1])[0]
    assert spark_oracle.same(oracle.plain(expression, SCHEMA, ROWS[0]), answer.values[0])


def test_values_that_differ_are_told_apart() -> None:
    different: list[tuple[Any, Any]] = [
        (0.0, -0.0),
        (1, 1.0),
        (True, 1),
        (None, ERROR),
        (math.nan, None),
        ([1], [None]),
        ("a", "A"),
    ]
    different.append((decimal.Decimal("1.0"), decimal.Decimal("1.00")))
    assert not any(spark_oracle.same(*pair) for pair in different)
    assert spark_oracle.same([math.nan, -0.0], [math.nan, -0.0])
