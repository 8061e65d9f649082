"""The same text, run by a real Spark and by generated Python: every value and every error must be the same.

`make test` tries 20 000 random pairs (one expression on one row); `make fuzz` a million with new dice, whose seed is
printed and can be set with `SPILLWAY_SEED`.
"""

from __future__ import annotations

import functools
import itertools
import random
import sys
from collections.abc import Sequence
from typing import Any

import pytest

import expression_fuzz
import fuzzing
from expression_fuzz import SCHEMA, Difference
from spark_oracle import ERROR, Oracle, same
from spillway.expressions import aggregates, check_aggregate, errors, expression
from spillway.model import types
from spillway.model.types import ColumnType, Kind, Schema

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.timeout(3600, func_only=True)]

ROWS = 40
SIMPLE = [*expression_fuzz.PLAIN, *expression_fuzz.DECIMALS]


def report(found: Sequence[Difference]) -> str:
    return "\n".join(map(str, sorted(found, key=lambda difference: len(difference.text))[:10]))


def agree(oracle: Oracle, texts: Sequence[str], data: Sequence[Sequence[Any]], schema: Schema = SCHEMA) -> int:
    found, pairs = expression_fuzz.differences(oracle, texts, data, schema=schema)
    assert not found, f"{len(found)} of {len(texts)} expressions differ:\n{report(found)}"
    return pairs


def accepted(texts: Sequence[str], schema: Schema = SCHEMA) -> list[str]:
    """Those that are in the subset."""
    found = []
    for text in texts:
        try:
            expression.check(text, schema)
        except errors.ExpressionError:
            continue
        found.append(text)
    return found


@pytest.fixture(scope="module")
def data() -> list[list[Any]]:
    return expression_fuzz.rows(random.Random(7), 120)  # noqa: S311 (reproducible, no secret)


@pytest.mark.fuzz
def test_random_expressions_on_random_rows(oracle: Oracle) -> None:
    wanted = 20_000 * fuzzing.FACTOR
    seed = fuzzing.seed()
    dice = random.Random(seed)  # noqa: S311 (reproducible, no secret)
    pairs, rejected, generated = 0, 0, 0
    while pairs < wanted:
        rows = expression_fuzz.rows(dice, ROWS)
        generator = expression_fuzz.Generator(dice)
        texts = [generator.text(dice.choice(SIMPLE), dice.randint(1, 4)) for _ in range(min(wanted // ROWS, 600) + 1)]
        inside = accepted(texts)
        found, compared = expression_fuzz.differences(oracle, inside, rows)
        assert not found, f"SPILLWAY_SEED={seed}, {len(found)} differ:\n{report(found)}"
        pairs += compared
        generated += len(texts)
        rejected += len(texts) - len(inside)
        sys.stderr.write(f"{pairs} pairs agree (seed {seed})\n")
    assert rejected < generated / 5, "the generator writes too much that is outside of the subset"


@pytest.mark.fuzz
def test_random_expressions_as_spark_compiles_them(oracle: Oracle) -> None:
    seed = fuzzing.seed()
    dice = random.Random(seed)  # noqa: S311 (reproducible, no secret)
    rows = expression_fuzz.rows(dice, 60)
    generator = expression_fuzz.Generator(dice)
    texts = accepted([generator.text(dice.choice(SIMPLE), dice.randint(1, 3)) for _ in range(50)])
    found, _ = expression_fuzz.differences(oracle, texts, rows, codegen=True)
    assert not found, f"SPILLWAY_SEED={seed}, {len(found)} differ:\n{report(found)}"


def test_a_part_of_literals_alone_that_raises_is_never_a_value(oracle: Oracle) -> None:
    """Spark fails before it looks at rows, so it says nothing of those with a null in front of that part."""
    schema, rows = types.parse_schema("words array<string>"), [(None,), (["x"],)]
    # A cast around it, for the interpreter asks the parts of `||` in another order than compiled code.
    texts = ["cast(words[0] || words[2147483647 * 2] as binary)"]

    def values(*given: Any) -> Any:
        return lambda *_: (types.BINARY, list(given))

    assert expression_fuzz.ours(texts[0], schema, rows)[1] == [None, ERROR]
    compare = functools.partial(expression_fuzz.differences, oracle, texts, rows, schema=schema)
    for codegen in (False, True):
        assert compare(codegen=codegen)[0] == []
        assert compare(codegen=codegen, compute=values(b"x", ERROR))[0]


def columns(kind: ColumnType) -> tuple[str, str]:
    """Two columns of the type, or twice the same."""
    names = [column.name for column in SCHEMA if column.type == kind]
    return names[0], names[-1]


def test_operators_on_all_pairs_of_types(oracle: Oracle, data: list[list[Any]]) -> None:
    operators = ["+", "-", "*", "/", "%", "div", "=", "<>", "<", "<=", ">", ">=", "<=>", "||"]
    texts = [f"{columns(a)[0]} {op} {columns(b)[1]}" for op in operators for a in SIMPLE for b in SIMPLE]
    inside = accepted(texts)
    assert len(inside) > 300
    agree(oracle, inside, data)


def test_literals_of_all_types_among_operators(oracle: Oracle, data: list[list[Any]]) -> None:
    literals = ["0", "-1", "2147483648", "1.5", "-0.05BD", "1e0", "0D", "123456789012.25", "NULL"]
    operators = ["+", "*", "/", "%", "=", "<", ">", ">=", "<=>"]
    names = ["i", "l", "x", "p", "q"]
    texts = [f"{name} {op} {value}" for name in names for op in operators for value in literals]
    texts += [f"{value} {op} {name}" for name in names for op in operators for value in literals]
    inside = accepted(texts)
    assert len(inside) > 600
    agree(oracle, inside, data[:60])


def test_signs_and_predicates_on_all_types(oracle: Oracle, data: list[list[Any]]) -> None:
    texts = [f"{sign}{columns(kind)[0]}" for sign in "+-" for kind in SIMPLE]
    for kind in SIMPLE:
        one, two = columns(kind)
        texts += [f"{one} is null", f"{one} is not null", f"{one} between {two} and {one}", f"{one} in ({two}, {one})"]
        texts += [f"{one} not between {one} and {two}", f"{one} not in ({two}, NULL)", f"nullif({one}, {two})"]
        texts += [
            f"coalesce({one}, {two})",
            f"case {one} when {two} then 1 else 2 end",
            f"{one} is distinct from {two}",
        ]
    texts += [f"{c} is {word}" for c in "bc" for word in ["true", "not true", "false", "not false"]]
    texts += ["b and c", "b or c", "not b", "b = c", "b and (c or b is null)", "not (b and c)", "b and c and not b"]
    texts += ["if(b, i, l)", "if(b, x, i)", "if(c, p, i)", "nvl2(i, s, t)", "ifnull(i, l)", "nvl(x, 1)"]
    texts += ["ai[i]", "az[j]", "ax[0]", "al[-1]", "ai[j]", "array(i, l)[0]", "array(1, 2.5)[i]"]
    agree(oracle, accepted(texts), data)
    assert len(accepted(texts)) > 120


def test_an_error_counts_only_where_spark_gets_to_it(oracle: Oracle, data: list[list[Any]]) -> None:
    failing = ["i / 0 > 1", "cast(s as int) = 1", "ai[9] = 1", "l * m > 0"]
    calm = ["b", "i > 0", "x is null", "b is true", "not c"]
    texts = [f"{one} {op} {two}" for one, two in itertools.product(failing, calm) for op in ("and", "or")]
    texts += [f"{two} {op} {one}" for one, two in itertools.product(failing, calm) for op in ("and", "or")]
    texts += [f"{one} {op} {two}" for one, two in itertools.permutations(failing, 2) for op in ("and", "or")]
    texts += [f"if({two}, {one}, b)" for one, two in itertools.product(failing, calm)]
    texts += [
        "(l + m) + i",
        "i + (l + m)",
        "(l + m) * x",
        "l / i + m",
        "i / l",
        "(l * m) % i",
        "i % (l * m)",
        "i div (l * m)",
    ]
    texts += ["(l + m) = i", "i = (l + m)", "(l + m) between i and l", "i between l + m and l", "i in (l + m, i, 1)"]
    texts += ["(l + m) in (i, l)", "(l + m) <=> i", "i <=> (l + m)", "coalesce(l + m, 1)", "coalesce(i, l + m)"]
    texts += ["ai[i + j]", "nullif(l + m, i)", "nullif(i, l + m)", "p * q + i", "q * q", "q / p + (l + m)", "-(l + m)"]
    texts += ["case l + m when i then 1 when 2 then 3 end", "case i when l + m then 1 when i then 2 end"]
    agree(oracle, texts, data)


@pytest.mark.parametrize("into", SIMPLE, ids=str)
def test_casts_from_every_type(oracle: Oracle, data: list[list[Any]], into: ColumnType) -> None:
    givens = [kind for kind in SIMPLE if expression_fuzz.castable(kind, into)]
    texts = [f"{word}({columns(kind)[0]} as {into})" for kind in givens for word in ("cast", "try_cast")]
    texts += [f"{columns(kind)[1]}::{into}" for kind in givens]
    agree(oracle, texts, data)


def test_casts_of_texts(oracle: Oracle) -> None:
    schema = types.parse_schema("s string")
    rows = [[text] for text in expression_fuzz.TEXTS]
    into = [
        "boolean",
        "int",
        "bigint",
        "double",
        "decimal(10,2)",
        "decimal(38,0)",
        "decimal(38,38)",
        "date",
        "timestamp",
    ]
    agree(oracle, [f"try_cast(s as {kind})" for kind in into] + [f"cast(s as {kind})" for kind in into], rows, schema)


def test_casts_of_arrays(oracle: Oracle, data: list[list[Any]]) -> None:
    into = ["int", "bigint", "double", "decimal(20,1)", "decimal(3,0)", "string", "boolean"]
    texts = [f"cast({name} as array<{kind}>)" for name in ("ai", "al", "ax", "az") for kind in into]
    inside = accepted(texts)
    assert len(inside) > 20
    agree(oracle, inside, data)


def test_patterns(oracle: Oracle, data: list[list[Any]]) -> None:
    patterns = [*expression_fuzz.LIKES, "a%b", "%a%b%", "_%", "%_", "%%a", "a%%", "__%", "x_", "%\\__"]
    texts = [f"s like {expression_fuzz.literal(pattern, types.STRING)}" for pattern in patterns]
    texts += ["s like '100/%' escape '/'", "s like '//' escape '/'", "s like '%/_%' escape '/'", "s not like 'a%'"]
    texts += [f"s rlike {expression_fuzz.literal(pattern, types.STRING)}" for pattern in expression_fuzz.RLIKES]
    agree(oracle, texts, data)


GROUPINGS = [
    "i = j is null", "i == j = b", "not i = j", "i = j between b and c", "not i in (1)", "i <=> j = b", "-i * j",
    "i + j || s", "b and c or b", "! b and c", "s like t || s", "1 = 1 = b", "i > j = b", "not not b",
    "i + j is null", "-i::bigint", "-ai[0]", "i - -1", "i-1", "- -1", "-1", "-2147483648", "2147483648",
    "-9223372036854775808", ".5", "5.", "1.e3", "1e3", "1.5e3BD", "0.05", "1L", "1.5D", "'a' 'b'", "'it''s'",
    "\"x\"", "\"a\"\"b\"", "r'\\n'", "'\\n\\t\\\\\\%\\_\\0\\101'", "'\\u0041\\U0001F600'", "'\\x\\'\\\"'",
    "date'2020-01-01'", "timestamp'2020-01-01 00:00:00'", "X'1F'", "i not between 1 and 2",
    "case when b then 1 else 2 end", "case i when 1 then 2 end", "i between 1 and 2 and b", "i + j * l - m / x % y",
    "i is not distinct from j", "`i` + `j`", "i\n+\tj", "CAST(i AS BIGINT)", "Try_Cast(s As Int)", "i DIV j",
    "NULL IS NULL", "b is true and c is not false", "s not like 'a' and b", "upper(s) = 'A' or lower(t) = 'b'",
    "i != j", "i <> j", "(((i)))", "i % j div l", "i = -1", "-i = j", "-(-1)", "+1", "+ - + i", "-1.5", "-1.5BD",
    "i+-j", "b = (i = j) and c", "timestamp", "date", "user", "year", "key", "value", "type", "window", "count",
    "first", "end_time", "position", "left", "row", "rank",
]  # fmt: skip


def test_groups_and_literals_are_those_of_sparks_parser(oracle: Oracle) -> None:
    """Our tree, written with all its parentheses, is the same expression to Spark as the text itself."""
    parser = oracle.spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 (it has no public door)
    from spillway.expressions import parser as ours
    from spillway.expressions import syntax

    compared = 0
    for text in GROUPINGS:
        try:
            written = syntax.render(ours.parse(text))
        except errors.ExpressionError:
            assert text in {"window", "position", "left", '"a""b"'}, text
            continue
        assert parser.parseExpression(text).fastEquals(parser.parseExpression(written)), f"{text} is {written}"
        compared += 1
    assert compared > 80


def test_a_wrong_function_is_caught(oracle: Oracle, data: list[list[Any]]) -> None:
    def wrong(text: str, schema: Schema, rows: Sequence[Sequence[Any]]) -> tuple[ColumnType, list[Any]]:
        kind, values = expression_fuzz.ours(text, schema, rows)
        return kind, [2.0 if value == 2 and row[0] == 1 else value for value, row in zip(values, rows, strict=True)]

    rows = [[1, 1, *row[2:]] for row in data[:1]] + data
    found, _ = expression_fuzz.differences(oracle, ["i + j"], rows, compute=wrong)
    assert [difference.ours for difference in found] == [2.0]


def test_a_lost_error_is_caught(oracle: Oracle, data: list[list[Any]]) -> None:
    def careless(text: str, schema: Schema, rows: Sequence[Sequence[Any]]) -> tuple[ColumnType, list[Any]]:
        kind, values = expression_fuzz.ours(text, schema, rows)
        return kind, [None if value is ERROR else value for value in values]

    assert expression_fuzz.differences(oracle, ["cast(s as int)"], data, compute=careless)[0]


AGGREGATES = [
    "count(*)",
    "count(i)",
    "count(i, s)",
    "count_if(b)",
    "sum(i)",
    "sum(x)",
    "sum(p)",
    "sum(q)",
    "avg(i)",
    "avg(l)",
]
AGGREGATES += ["avg(x)", "avg(p)", "avg(q)", "avg(r)", "sum(r)", "mean(j)"]
AGGREGATES += [
    f"{name}({c.name})" for name in ("min", "max", "approx_count_distinct") for c in SCHEMA if not c.type.element
]
AGGREGATES += [f"collect_set({name})" for name in ("i", "s", "d", "b", "p", "w", "x")]


@pytest.mark.parametrize("size", [0, 1, 5, 200])
def test_aggregates(oracle: Oracle, size: int) -> None:
    dice = random.Random(size)  # noqa: S311 (reproducible, no secret)
    rows = expression_fuzz.rows(dice, size)
    texts = [text for text in AGGREGATES if text not in {"avg(x)", "sum(x)", "avg(i)", "avg(l)", "mean(j)"} or size < 2]
    answers = oracle.aggregate(texts, SCHEMA, rows)
    for text, (kind, value) in zip(texts, answers, strict=True):
        checked = check_aggregate(f"{text} as a", SCHEMA)
        ours = folded(checked, rows)
        if checked.function == "collect_set" and value is not None and ours is not None:
            assert len(value) == len(ours), text
            steps = aggregates.steps(checked)
            state = steps.zero
            for item in value:
                state = steps.add(state, item)
            value = steps.finish(state)
        assert kind in {checked.type, None}, text
        if kind is None and checked.function in {"sum", "avg"}:
            continue  # a partial sum in Spark's order did not fit; ours is asked for the total only
        assert same(value, ours), f"{text} of {size} rows: Spark {value!r}, we {ours!r}"


@pytest.mark.parametrize("count", [10, 380, 420, 700, 1320, 1500, 2600, 5000, 20000])
def test_approximate_counts_are_the_very_same_number(oracle: Oracle, count: int) -> None:
    schema = types.parse_schema("l bigint")
    rows = [[value * 7919] for value in range(count)]
    ((_, spark),) = oracle.aggregate(["approx_count_distinct(l)"], schema, rows)
    assert folded(check_aggregate("approx_count_distinct(l) as n", schema), rows, schema) == spark


def folded(checked: Any, rows: Sequence[Sequence[Any]], schema: Schema = SCHEMA) -> Any:
    """The aggregate over rows, in two halves that are merged; ERROR where it overflows."""
    from spillway.expressions import compiler

    steps = aggregates.steps(checked)
    values = compiler.compile_row(checked.arguments, schema)
    half = len(rows) // 2
    states = []
    try:
        for part in (rows[:half], rows[half:]):
            state = steps.zero
            for row in part:
                state = steps.add(state, *values(row))
            states.append(state)
        return steps.finish(steps.merge(states[0], states[1]))
    except errors.ROW_ERRORS:
        return ERROR


def test_every_type_has_columns() -> None:
    assert {column.type.kind for column in SCHEMA} == set(Kind) - {Kind.NULL}
