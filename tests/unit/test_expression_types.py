"""The types of results: Spark's, in ANSI mode."""

from __future__ import annotations

import pytest

from spillway.expressions import check
from spillway.model import types

SCHEMA = types.parse_schema(
    "i int, l bigint, x double, p decimal(10,2), q decimal(38,10), s string, b boolean, d date, arr array<int>"
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("i + i", "int"), ("i + l", "bigint"), ("i / i", "double"), ("i * x", "double"), ("i div i", "bigint"),
        ("i % l", "bigint"), ("p + p", "decimal(11,2)"), ("p * p", "decimal(21,4)"), ("p / p", "decimal(23,13)"),
        ("p % p", "decimal(10,2)"), ("q + q", "decimal(38,9)"), ("q * q", "decimal(38,6)"), ("p + i", "decimal(13,2)"),
        ("p + 1", "decimal(11,2)"), ("p + (+1)", "decimal(13,2)"), ("p + l", "decimal(23,2)"), ("p * x", "double"),
        ("1.5", "decimal(2,1)"), ("0.05", "decimal(2,2)"), ("1e3", "double"), ("1.5D", "double"), ("1L", "bigint"),
        ("2147483647", "int"), ("2147483648", "bigint"), ("-2147483648", "int"),
        ("9223372036854775808", "decimal(19,0)"),
        ("1.5e3BD", "decimal(4,0)"), ("i = l", "boolean"), ("case when b then i else x end", "double"),
        ("coalesce(i, p)", "decimal(12,2)"),
        ("if(b, l, p)", "decimal(22,2)"), ("arr[0]", "int"),
        ("array(i, l)", "array<bigint>"), ("nullif(i, l)", "int"), ("X'00ff'", "binary"),
        ("cast(NULL as date)", "date"),
        ("case when b then 1 end", "int"), ("s like 'a%'", "boolean"), ("date'2020-01-01'", "date"),
    ],
)  # fmt: skip
def test_types(text: str, kind: str) -> None:
    assert str(check(text, SCHEMA).type) == kind


@pytest.mark.parametrize(
    ("text", "nullable"),
    [
        ("1 + 1", False), ("i + 1", True), ("i is null", False), ("coalesce(i, 0)", False), ("coalesce(i, l)", True),
        ("i <=> l", False), ("case when b then 1 end", True), ("case when b then 1 else 2 end", False),
        ("try_cast('x' as int)", True), ("b and true", True), ("'a' || 'b'", False),
    ],
)  # fmt: skip
def test_nullability(text: str, nullable: bool) -> None:
    assert check(text, SCHEMA).nullable is nullable


def test_columns_are_named_once_in_the_order_of_the_text() -> None:
    assert check("l + i * l + i", SCHEMA).columns == ("l", "i")
