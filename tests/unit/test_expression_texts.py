"""What is an expression, how it groups, and what a message says about a text that is none."""

from __future__ import annotations

import random
import time

import pytest

from spillway.expressions import ExpressionError, check, check_item, parser, syntax, tokens
from spillway.model import types

SCHEMA = types.parse_schema(
    "a int, b int, c boolean, s string, t string, arr array<int>, d date, ts timestamp, x double"
)


@pytest.mark.parametrize(
    ("text", "grouped"),
    {
        "between takes a comparison as its value": ("a = b between c and c", "((`a` = `b`) between `c` and `c`)"),
        "like takes a comparison as its pattern": ("s like t = s", "(`s` like (`t` = `s`))"),
        "comparisons go from left to right": ("a > b = c", "((`a` > `b`) = `c`)"),
        "is null is the last": ("a + 1 is null", "((`a` + 1) is null)"),
        "not is looser than comparisons": ("not a = b", "(not (`a` = `b`))"),
        "not is tighter than and": ("not c and c", "((not `c`) and `c`)"),
        "and is tighter than or": ("c or c and c", "(`c` or (`c` and `c`))"),
        "a minus before a number belongs to it": ("-1 - -2", "(-1 - -2)"),
        "a sign is tighter than times": ("-a * b", "((- `a`) * `b`)"),
        "double colon is tighter than a sign": ("-a::bigint", "(- cast(`a` as bigint))"),
        "|| stands with plus": ("s || t + a", "((`s` || `t`) + `a`)"),
        "strings side by side are one": ("'it''s' ' so'", "'it\\'s so'"),
        "the and of between is its own": ("a between 1 and 2 and c", "((`a` between 1 and 2) and `c`)"),
        "== and != are = and <>": ("a == b", "(`a` = `b`)"),
    }.values(),
)
def test_groups(text: str, grouped: str) -> None:
    assert syntax.render(parser.parse(text)) == grouped


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "a column nearly right": ("event_tipe = 1", "unknown column 'event_tipe'"),
        "a column in another case": ("A + 1", "did you mean 'a'?"),
        "a function nearly right": ("uper(s)", "did you mean 'upper'?"),
        "a string for a number": ("s = 1", "write cast(… as int)"),
        "a date for a timestamp": ("d = ts", "cast(… as timestamp)"),
        "a number for a condition": ("a and c", "AND needs a condition, found a int: write a comparison"),
        "a comment": ("a -- really", "use a YAML comment"),
        "a hint": ("/*+ broadcast */ a", "comments are not supported"),
        "two statements": ("a; b", "one expression is expected"),
        "a subquery": ("a in (select 1)", "subqueries are not supported"),
        "exists": ("exists (select 1)", "subqueries are not supported"),
        "a placeholder": ("a = ?", "placeholders are not supported"),
        "a named placeholder": ("a = :x", "placeholders are not supported"),
        "a variable": ("s = '${env:HOME}'", "variable substitution"),
        "a window": ("sum(a) over ()", "aggregate operator with a window"),
        "a lambda": ("filter(arr, v -> v > 1)", "lambda functions"),
        "an interval": ("ts + interval 1 day", "intervals are not supported"),
        "a star": ("*", "count(*)"),
        "an aggregate": ("sum(a)", "aggregate operator"),
        "bits": ("a & b", "bitwise"),
        "a field": ("a.b", "columns have no fields"),
        "an operator after a predicate": ("a is null = c", "put the condition in parentheses"),
        "a predicate after a predicate": ("a is null is null", "put the condition in parentheses"),
        "ilike": ("s ilike 'a'", "lower(x) LIKE"),
        "a pattern that is no literal": ("s like t", "must be a string literal"),
        "an escape in the middle": ("s like 'a\\\\b'", "must stand before"),
        "a pattern that Java reads differently": ("s rlike '\\\\bword'", "not in the subset"),
        "a double as text": ("cast(x as string)", "cast(cast(x as decimal(21,6)) as string)"),
        "an unknown type": ("cast(a as integr)", "did you mean 'integer'?"),
        "a suffix": ("1x", "suffixes are"),
        "a string that does not end": ("s = 'abc", "a string is not closed"),
        "a word of SQL": ("end + 1", "write `end`"),
        "nothing": ("  ", "the expression is empty"),
        "half of it": ("a +", "ends too early"),
        "a NULL of no type": ("a + null", "write cast(NULL as int)"),
        "the word of today": ("cast('today' as date)", "write date'…'"),
        "the word of now": ("to_timestamp('now')", "write timestamp'…'"),
        "an index of 64 bits": ("arr[cast(a as bigint)]", "cast(… as int)"),
        "too many digits": ("1" * 39, "more than 38 digits"),
    }.values(),
)  # fmt: skip
def test_what_is_outside_is_rejected_with_the_way_out(text: str, said: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        check(text, SCHEMA)
    assert said in str(caught.value)


def test_a_message_points_at_its_place() -> None:
    with pytest.raises(ExpressionError) as caught:
        check("a + 1 = 2 and (b + 1 = 2 or s || 'x' = 'ax') and c and s + 1 = 3", SCHEMA)
    assert caught.value.at == 55
    assert "at character 56, near" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    {
        "parentheses": "(" * 4000 + "a" + ")" * 4000,
        "only opening ones": "(" * 8000,
        "nots": "not " * 2000 + "c",
        "signs": "- " * 4000 + "a",
        "a chain": "+".join(["a"] * 4000),
        "calls": "abs(" * 2000 + "a" + ")" * 2000,
        "subscripts": "arr" + "[0" * 2000 + "]" * 2000,
        "cases": "case when c then " * 400 + "a" + " end" * 400,
        "casts": "a" + "::int" * 1500,
        "a type": "cast(a as " + "array<" * 1000 + "int" + ">" * 1000 + ")",
        "quotes": "'" * 8001,
        "backslashes": "'" + "\\" * 8001,
        "too long": "a" * (tokens.MAX_LENGTH + 1),
    }.values(),
)
def test_hostile_texts_end_quickly_in_a_message(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(ExpressionError):
        check(text, SCHEMA)
    assert time.perf_counter() - start < 2


def test_long_chains_of_conditions_are_fine() -> None:
    assert check(" or ".join(f"a = {i}" for i in range(600)), SCHEMA).type == types.BOOLEAN
    assert check("case " + "".join(f"when a = {i} then {i} " for i in range(250)) + "end", SCHEMA).type == types.INT


def test_whatever_stands_there_the_answer_is_an_expression_or_a_message() -> None:
    dice = random.Random(3)  # noqa: S311 (reproducible, no secret)
    words = "a b c s arr ( ( ) ) [ ] , + - * / % = <> < and or not in between like is null true case when then else end"
    pieces = [
        *words.split(),
        "cast(",
        "as int)",
        "'x'",
        "1",
        "1.5",
        "upper(",
        "::",
        "date'2020-01-01'",
        "distinct",
        "from",
    ]
    accepted = 0
    for _ in range(5000):
        text = " ".join(dice.choice(pieces) for _ in range(dice.randrange(1, 9)))
        try:
            check(text, SCHEMA)
            accepted += 1
        except ExpressionError:
            pass
    assert accepted > 50


def test_items_have_names() -> None:
    assert check_item("a", SCHEMA).name == "a"
    item = check_item("upper(s) as loud", SCHEMA)
    assert (item.name, item.type, item.columns) == ("loud", types.STRING, ("s",))
    assert check_item("a + b total", SCHEMA).name == "total"
    with pytest.raises(ExpressionError, match="needs a name: write 'a \\+ 1 as …'"):
        check_item("a + 1", SCHEMA)
