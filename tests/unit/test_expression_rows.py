"""What generated code gives for a row, and what it looks like; a real Spark is asked elsewhere."""

from __future__ import annotations

import math
import traceback
from decimal import Decimal
from typing import Any

import pytest

from spillway.expressions import ROW_ERRORS, EvaluationError, check, check_condition, compiler, source
from spillway.model import types

SCHEMA = types.parse_schema(
    "i int, l bigint, x double, y double, p decimal(10,2), s string, b boolean, c boolean, arr array<int>"
)


def row(**values: Any) -> list[Any]:
    return [values.get(column.name) for column in SCHEMA]


def value(text: str, **values: Any) -> Any:
    return compiler.compile_row([check(text, SCHEMA)], SCHEMA)(row(**values))[0]


def passes(text: str, **values: Any) -> bool:
    return compiler.compile_condition(check_condition(text, SCHEMA), SCHEMA)(row(**values))


@pytest.mark.parametrize("b", [True, False, None])
@pytest.mark.parametrize("c", [True, False, None])
def test_logic_has_three_values(b: bool | None, c: bool | None) -> None:
    both = False if b is False or c is False else None if b is None or c is None else True
    assert value("b and c", b=b, c=c) is both
    either = True if b or c else None if b is None or c is None else False
    assert value("b or c", b=b, c=c) is either
    assert passes("b and c", b=b, c=c) is (both is True)
    assert passes("not (b and c)", b=b, c=c) is (both is False)
    assert passes("b or c", b=b, c=c) is (either is True)
    assert passes("not (b or c)", b=b, c=c) is (either is False)


def test_nan_equals_itself_and_is_the_largest() -> None:
    nan = math.nan
    assert value("x = y", x=nan, y=nan) is True
    assert value("x > y", x=nan, y=math.inf) is True
    assert value("x < y", x=1.0, y=nan) is True
    assert value("x > 1.5", x=nan) is True
    assert value("x between 1 and 2", x=nan) is False
    assert value("x <=> y", x=nan, y=None) is False
    assert value("x in (1.5, 2)", x=nan) is False
    assert value("x = y", x=0.0, y=-0.0) is True


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("i + 1", {"i": 2**31 - 1}),
        ("l * 2", {"l": 2**62}),
        ("-i", {"i": -(2**31)}),
        ("i / 0", {"i": 1}),
        ("x % 0", {"x": 1.0}),
        ("l div -1", {"l": -(2**63)}),
        ("cast(s as int)", {"s": "1.5"}),
        ("cast(l as int)", {"l": 2**31}),
        ("cast(p as decimal(3,2))", {"p": Decimal("10.00")}),
        ("arr[2]", {"arr": [1]}),
        ("arr[-1]", {"arr": [1]}),
    ],
)
def test_what_has_no_value_raises(text: str, values: dict[str, Any]) -> None:
    with pytest.raises(ROW_ERRORS):
        value(text, **values)


def test_a_null_on_the_left_hides_an_error_on_the_right_and_not_the_other_way_round() -> None:
    assert value("i + cast(s as int)", i=None, s="x") is None
    with pytest.raises(EvaluationError):
        value("cast(s as int) + i", i=None, s="x")


def test_a_filter_does_not_lose_the_error_behind_a_null() -> None:
    assert passes("b and cast(s as int) = 1", b=False, s="x") is False
    with pytest.raises(EvaluationError):
        passes("b and cast(s as int) = 1", b=None, s="x")


def test_decimals_have_no_negative_zero() -> None:
    for text in ("p * 0", "-p", "p % 1", "p / 3", "0 - p"):
        assert not str(value(text, p=Decimal("0.00"))).startswith("-"), text
    assert str(value("p * 0", p=Decimal("-5.00"))) == "0.00"


def test_decimals_do_not_depend_on_the_context_of_the_thread() -> None:
    schema = types.parse_schema("q decimal(38,0), r decimal(38,0)")
    most = Decimal("9" * 38)
    both = compiler.compile_row([check("q - 1", schema), check("q = r", schema)], schema)
    assert both([most, most]) == (Decimal("9" * 37 + "8"), True)


@pytest.mark.parametrize(
    ("text", "python"),
    {
        "a comparison with a literal needs no guard": ("s = 'view'", "c_s == 'view'"),
        "a range is one chained comparison": ("i between 10 and 100", "c_i is not None and 10 <= c_i <= 100"),
        "a list of literals is one look-up": ("s in ('DE', 'FR')", "c_s in ('DE', 'FR')"),
        "not turns a comparison round": ("not i > 5", "c_i is not None and c_i <= 5"),
        "conditions are chained": ("b and i > 5", "c_b and c_i is not None and c_i > 5"),
    }.values(),
)
def test_conditions_become_what_a_person_would_write(text: str, python: str) -> None:
    variables = {column.name: f"c_{column.name}" for column in SCHEMA}
    assert source.Scope().condition(check_condition(text, SCHEMA).term, variables) == python


def test_values_become_what_a_person_would_write() -> None:
    variables = {column.name: f"c_{column.name}" for column in SCHEMA}
    wanted = "None if c_x is None or c_i is None else c_x * c_i"
    assert source.Scope().value(check("x * i", SCHEMA).term, variables) == wanted


def test_texts_of_the_user_are_only_ever_literals() -> None:
    nasty = "'); import os; os.abort() #"
    assert passes("s = '\\'); import os; os.abort() #'", s=nasty) is True
    assert value("s || '{0} {t} {k}'", s="a") == "a{0} {t} {k}"
    assert value("s like '%{0}\"%'", s='x{0}"y') is True


def test_literals_anywhere_compile_without_a_warning() -> None:
    texts = ["greatest(1, i)", "concat_ws('-', 'a', s)", "'a' || s", "coalesce(1, i)", "nvl2('x', 1, 2)", "1 <=> 2"]
    texts += ["date_from_unix_date(-5) is null", "minute(timestamp_micros(5)) is null", "'a' like '%'", "-1 is null"]
    texts += ["greatest(date_from_unix_date(5), cast(NULL as date))", "reverse(cast(NULL as string))"]
    for text in texts:
        value(text)
    assert value("equal_null('a', s)", s="a") is True
    assert value("'a' is null or 1 is not null") is True


def test_a_traceback_shows_the_generated_line() -> None:
    with pytest.raises(EvaluationError) as caught:
        value("cast(s as int)", s="x")
    assert "casts.text_to_whole(c_s" in "".join(traceback.format_exception(caught.value))


def test_rows_are_not_changed_and_arrays_not_shared() -> None:
    make = compiler.compile_row([check("array(1, 2)", SCHEMA)], SCHEMA)
    first = make(row())[0]
    first.append(3)
    assert make(row())[0] == [1, 2]
