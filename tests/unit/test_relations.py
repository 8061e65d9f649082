"""What flows along each edge: columns through every kind of operator, and the keys of tables."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import bad_manifests
from spillway.controllers import acceptance
from spillway.expressions import relations
from spillway.expressions.relations import Relation
from spillway.model import types

SOURCES: dict[str, Any] = {
    "streams": [
        {"name": "clicks", "topic": "clicks", "columns": "user string, page string, price double, n int, at timestamp"},
        {
            "name": "more-clicks",
            "topic": "c2",
            "columns": "user string, page string, price double, n int, at timestamp",
        },
        {"name": "sales", "topic": "sales", "columns": "user string, total decimal(10,2), sold timestamp"},
        {"name": "lines", "topic": "lines", "columns": "line string", "format": "raw", "keyColumn": "host"},
    ],
    "tables": [
        {"name": "users", "topic": "users", "key": ["user"], "columns": "user string, country string, age int"},
        {
            "name": "vips",
            "topic": "vips",
            "key": ["user"],
            "columns": "user string, since date",
            "distribution": "partitioned",
        },
        {"name": "pairs", "topic": "pairs", "key": ["user", "page"], "columns": "user string, page string, x bigint"},
    ],
}


def verdict(*steps: dict[str, Any], outputs: list[dict[str, Any]] | None = None) -> acceptance.Verdict:
    """The verdict on the sources and these steps, each written to a topic of its own."""
    made = copy.deepcopy(bad_manifests.GOOD)
    made["spec"] |= copy.deepcopy(SOURCES)
    made["spec"]["operators"] = list(steps)
    names = [part["name"] for part in (*SOURCES["streams"], *SOURCES["tables"], *steps)]
    made["spec"]["outputs"] = [{"name": f"o{i}", "input": name, "topic": f"o{i}"} for i, name in enumerate(names)]
    made["spec"]["outputs"] += outputs or []
    return acceptance.accept(made)


def relation(*steps: dict[str, Any]) -> Relation:
    """What comes out of the last step."""
    made = verdict(*steps)
    assert made.accepted, made.message
    return made.relations[steps[-1]["name"]]


def mistakes(*steps: dict[str, Any], outputs: list[dict[str, Any]] | None = None) -> list[str]:
    return [str(mistake) for mistake in verdict(*steps, outputs=outputs).mistakes]


def step(name: str, reads: str | None, **kind: Any) -> dict[str, Any]:
    return {"name": name, **({} if reads is None else {"input": reads}), **kind}


def counts(by: list[str], **aggregate: Any) -> dict[str, Any]:
    return step("counts", "clicks", aggregate={"by": by, "values": ["count(*) as views"], **aggregate})


# Every kind: the columns that come out, and the key where it is a table.
COLUMNS: dict[str, tuple[list[dict[str, Any]], str, tuple[str, ...] | None]] = {
    "a filter changes no column": (
        [step("a", "sales", filter="total > 10")],
        "user string, total decimal(10,2), sold timestamp",
        None,
    ),
    "a filter of a table is a table": (
        [step("a", "users", filter="age > 10")],
        "user string, country string, age int",
        ("user",),
    ),
    "a raw stream has its key as a further column": (
        [step("a", "lines", filter="host = 'a'")],
        "line string, host string",
        None,
    ),
    "a select gives its items in order, with their types": (
        [step("a", "clicks", select=["at", "upper(page) as title", "n + 1 as m", "price > 1 as dear"])],
        "at timestamp, title string, m int, dear boolean",
        None,
    ),
    "a select of a table keeps its key": (
        [step("a", "users", select=["age", "user", "upper(country) as land"])],
        "age int, user string, land string",
        ("user",),
    ),
    "a key may be selected under its own name": (
        [step("a", "users", select=["user as user", "age"])],
        "user string, age int",
        ("user",),
    ),
    "an explode keeps all columns and adds the element": (
        [step("a", "lines", explode={"array": "split(line, ' ')", "as": "word"})],
        "line string, host string, word string",
        None,
    ),
    "an explode keeps only what it names": (
        [step("a", "lines", explode={"array": "split(line, ' ')", "as": "word", "keep": ["host"]})],
        "host string, word string",
        None,
    ),
    "an explode may keep nothing": (
        [step("a", "lines", explode={"array": "split(line, ' ')", "as": "line", "keep": []})],
        "line string",
        None,
    ),
    "a Python map gives what it returns": (
        [step("a", "clicks", python={"function": "m:f", "as": "map", "returns": "s double, ts array<date>"})],
        "s double, ts array<date>",
        None,
    ),
    "a Python filter changes no column, not even of a table": (
        [step("a", "users", python={"function": "m:f", "as": "filter"})],
        "user string, country string, age int",
        ("user",),
    ),
    "an aggregate is a table by its groups": (
        [counts(["user", "upper(page) as title"])],
        "user string, title string, views bigint",
        ("user", "title"),
    ),
    "an aggregate over windows has them in its key": (
        [counts(["user"], window={"size": "10s"})],
        "user string, window_start timestamp, window_end timestamp, views bigint",
        ("user", "window_start", "window_end"),
    ),
    "an aggregate of everything is a table of one row": ([counts([])], "views bigint", ()),
    "an aggregate of an aggregate": (
        [
            counts(["user", "page"]),
            step("a", "counts", aggregate={"by": ["page"], "values": ["sum(views) as total", "count(*) as users"]}),
        ],
        "page string, total bigint, users bigint",
        ("page",),
    ),
    "a stream meets a table: columns of both, the common ones once": (
        [step("a", "sales", join={"table": "users", "by": ["user"]})],
        "user string, total decimal(10,2), sold timestamp, country string, age int",
        None,
    ),
    "the columns of a key may be named in any order": (
        [step("b", "clicks", select=["user", "page"]), step("a", "b", join={"table": "pairs", "by": ["page", "user"]})],
        "user string, page string, x bigint",
        None,
    ),
    "a stream meets a stream": (
        [step("a", "clicks", join={"stream": "sales", "by": ["user"], "within": "5m", "type": "full"})],
        "user string, page string, price double, n int, at timestamp, total decimal(10,2), sold timestamp",
        None,
    ),
    "a table meets a table and stays one": (
        [step("a", "users", join={"table": "vips", "by": ["user"], "type": "full"})],
        "user string, country string, age int, since date",
        ("user",),
    ),
    "several inputs are read as one": (
        [step("a", None, inputs=["clicks", "more-clicks"], select=["user"])],
        "user string",
        None,
    ),
}


@pytest.mark.parametrize("sentence", COLUMNS)
def test_columns_and_keys(sentence: str) -> None:
    steps, columns, key = COLUMNS[sentence]
    found = relation(*steps)
    assert (found.schema, found.key) == (types.parse_schema(columns), key)
    assert found.is_table is (key is not None)


OUTER = step("outer", "clicks", join={"stream": "sales", "by": ["user"], "within": "5m", "type": "left"})
KEPT = step("kept", "sales", join={"table": "vips", "by": ["user"]}, retention="1h")

# Which join takes records back that have been given; none where they are facts, or rows of a table.
CORRECTED: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "a stream": ([step("a", "clicks", filter="n > 1")], None),
    "an outer join of streams": ([OUTER], "outer"),
    "an inner join of streams": ([step("a", "clicks", join={"stream": "sales", "by": ["user"], "within": "5m"})], None),
    "what is made of an outer join's records": (
        [
            OUTER,
            step("b", "outer", select=["user", "split(page, '/') as parts"]),
            step("c", "b", explode={"array": "parts", "as": "part"}),
            step("d", "c", python={"function": "m:f", "as": "map", "returns": "user string"}),
            step("a", "d", join={"table": "users", "by": ["user"]}),
        ],
        "outer",
    ),
    "one of several inputs": (
        [
            OUTER,
            step("b", "outer", select=["user"]),
            step("c", "clicks", select=["user"]),
            step("a", None, inputs=["c", "b"], filter="user > 'a'"),
        ],
        "outer",
    ),
    "a table of an outer join's records": (
        [OUTER, step("a", "outer", aggregate={"by": ["user"], "values": ["sum(total) as total"]})],
        None,
    ),
    "a look-up that keeps records": ([KEPT], "kept"),
    "a look-up that keeps none": ([step("a", "sales", join={"table": "vips", "by": ["user"]})], None),
    "a look-up of the newest row": (
        [step("a", "sales", join={"table": "vips", "by": ["user"], "asOf": "latest"}, retention="1h")],
        None,
    ),
    "a look-up in a table that all have": (
        [step("a", "sales", join={"table": "users", "by": ["user"]}, retention="1h")],
        None,
    ),
    "a look-up in a table that is made of one that all have": (
        [
            step("b", "users", filter="age > 3"),
            step("a", "sales", join={"table": "b", "by": ["user"]}, retention="1h"),
        ],
        "a",
    ),
    "two tables": ([step("a", "users", join={"table": "vips", "by": ["user"], "type": "full"})], None),
}


@pytest.mark.parametrize("sentence", CORRECTED)
def test_who_takes_records_back(sentence: str) -> None:
    steps, join = CORRECTED[sentence]
    found = relation(*steps)
    assert (found.correction and found.correction.join) == join
    assert found.is_revised is (found.is_table or join is not None)


@pytest.mark.parametrize("function", ["max(n)", "min(n)", "any_value(n)", "approx_count_distinct(n)", "collect_set(n)"])
def test_what_can_take_nothing_back_is_told_which_join_corrects_its_records(function: str) -> None:
    between = step("between", "outer", filter="n > 1")
    (found,) = mistakes(
        OUTER, between, step("a", "between", aggregate={"by": ["user"], "values": [f"{function} as x"]})
    )
    name = function.partition("(")[0]
    assert found == (
        f"spec.operators[2].aggregate.values[0]: {name} can't take a value back when join 'outer' corrects a record; "
        "count, count_if, sum, avg can; or change the join: with type inner, it shows no record before its partner"
    )


WRONG: dict[str, tuple[list[dict[str, Any]], str]] = {
    "an explode of a table": (
        [step("a", "users", explode={"array": "split(country, '')", "as": "c"})],
        "spec.operators[0].input: explode works on streams, and 'users' is a table",
    ),
    "a Python map of a table": (
        [step("a", "users", python={"function": "m:f", "as": "map", "returns": "s double"})],
        "spec.operators[0].input: python works on streams, and 'users' is a table; only a Python filter",
    ),
    "an element with the name of a column that is kept": (
        [step("a", "lines", explode={"array": "split(line, ' ')", "as": "Line"})],
        "spec.operators[0].explode.as: column 'line' is there already; choose another name than 'Line'",
    ),
    "an explode that keeps a column twice": (
        [step("a", "lines", explode={"array": "split(line, ' ')", "as": "w", "keep": ["host", "host"]})],
        "spec.operators[0].explode.keep: names a column twice",
    ),
    "a table among several inputs": (
        [step("a", None, inputs=["clicks", "users"], select=["user"])],
        "spec.operators[0].inputs[1]: 'users' is a table; only streams can be read as one",
    ),
    "a key that is selected under another name": (
        [step("a", "users", select=["user as name", "age"])],
        "spec.operators[0].select: 'users' is a table with the key user; select must keep user",
    ),
    "a key that is made of something else": (
        [step("a", "users", select=["upper(user) as user", "age"])],
        "spec.operators[0].select: 'users' is a table with the key user; select must keep user",
    ),
    "items whose names differ in case only": (
        [step("a", "clicks", select=["user", "page as User"])],
        "spec.operators[0].select[1]: column 'user' is there already; rename one with `as`",
    ),
    "a group with the name of a window's end": (
        [counts(["user as window_end"], window={"size": "10s"})],
        "spec.operators[0].aggregate.by: column 'window_end' is there already",
    ),
    "a value with the name of a group": (
        [step("a", "clicks", aggregate={"by": ["user"], "values": ["count(*) as User"]})],
        "spec.operators[0].aggregate.values[0]: column 'user' is there already; choose another name than 'User'",
    ),
    "two values of one name": (
        [step("a", "clicks", aggregate={"by": ["user"], "values": ["count(*) as n", "sum(n) as n"]})],
        "spec.operators[0].aggregate.values[1]: column 'n' is there already",
    ),
    "a group by an array": (
        [counts(["split(page, '/') as parts"])],
        "spec.operators[0].aggregate.by[0]: column 'parts' is array<string>, which can't be a key; use one of its",
    ),
    "windows of a table without event time": (
        [step("a", "users", aggregate={"by": ["country"], "window": {"size": "1s"}, "values": ["count(*) as n"]})],
        "spec.operators[0].aggregate.window: 'users' is a table whose rows have no event time",
    ),
    "the highest of a table": (
        [step("a", "users", aggregate={"by": ["country"], "values": ["max(age) as oldest"]})],
        "spec.operators[0].aggregate.values[0]: max can't take a value back when a row of table 'users' changes; count",
    ),
    "the highest of a look-up that keeps records": (
        [KEPT, step("a", "kept", aggregate={"by": ["user"], "values": ["count(*) as n", "max(total) as most"]})],
        "spec.operators[1].aggregate.values[1]: max can't take a value back when join 'kept' corrects a record; count, "
        "count_if, sum, avg can; or change the join: without retention, or with asOf latest, it joins each record once",
    ),
    "a join of streams behind an outer one": (
        [
            OUTER,
            step("b", "outer", select=["user", "n"]),
            step("a", "b", join={"stream": "lines-of", "by": ["user"], "within": "5m"}),
            step("lines-of", "lines", select=["host as user", "line"]),
        ],
        "spec.operators[2].input: a join of streams takes no record back, and join 'outer' corrects those of 'b'; "
        "change that one: with type inner, it shows no record before its partner",
    ),
    "a join of streams with a look-up that keeps records": (
        [
            step("kept", "lines-of", join={"table": "vips", "by": ["user"]}, retention="1h"),
            step("a", "sales", join={"stream": "kept", "by": ["user"], "within": "5m"}),
            step("lines-of", "lines", select=["host as user", "line"]),
        ],
        "spec.operators[1].join.stream: a join of streams takes no record back, and join 'kept' corrects those of",
    ),
    "a join by less than the key": (
        [step("a", "sales", join={"table": "pairs", "by": ["user"]})],
        "spec.operators[0].join.by: a row of 'pairs' is found by its key user, page; `by` must name just that",
    ),
    "a join by columns of two types": (
        [
            step("b", "clicks", select=["n as user", "page as site"]),
            step("a", "b", join={"table": "users", "by": ["user"]}),
        ],
        "spec.operators[1].join.by[0]: column 'user' is int on one side and string on the other; cast one in a select",
    ),
    "a join by a double": (
        [
            step("b", "clicks", select=["price", "page as site"]),
            step("a", "clicks", join={"stream": "b", "by": ["price"], "within": "1s"}),
        ],
        "spec.operators[1].join.by[0]: column 'price' is double, which can't be a key; cast it to a decimal",
    ),
    "a table on the left of a join of streams": (
        [step("a", "users", join={"stream": "sales", "by": ["user"], "within": "1s"})],
        "spec.operators[0].input: 'users' is a table; a table is joined with `table:`, and stands on the right",
    ),
    "a table on the right of a join of streams": (
        [step("a", "sales", join={"stream": "users", "by": ["user"], "within": "1s"})],
        "spec.operators[0].join.stream: 'users' is a table; a table is joined with `table:`",
    ),
    "two tables with different keys": (
        [step("b", "pairs", select=["user", "page", "x"]), step("a", "b", join={"table": "users", "by": ["user"]})],
        "spec.operators[1].join.by: two tables join by the key of both; 'b' has the key user, page",
    ),
    "the version of a table that joins a table": (
        [step("a", "users", join={"table": "vips", "by": ["user"], "asOf": "latest"})],
        "spec.operators[0].join.asOf: two tables are joined as they change; remove asOf",
    ),
    "a right join of a stream with a table": (
        [step("a", "sales", join={"table": "users", "by": ["user"], "type": "right"})],
        "spec.operators[0].join.type: a stream joins a table by inner or left, not right",
    ),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_can_not_flow_is_told_once_with_its_place(sentence: str) -> None:
    steps, words = WRONG[sentence]
    found = mistakes(*steps)
    assert len(found) == 1, found
    assert found[0].startswith(words)


def test_a_join_of_more_columns_than_a_relation_may_have_is_refused() -> None:
    wide = ", ".join(f"c{i} int" for i in range(999))
    steps = [
        step("l", "clicks", python={"function": "m:f", "as": "map", "returns": f"k int, {wide}"}),
        step("r", "clicks", python={"function": "m:f", "as": "map", "returns": "k int, extra int"}),
        step("a", "l", join={"stream": "r", "by": ["k"], "within": "1s"}),
    ]
    found = mistakes(*steps)
    assert found == [
        "spec.operators[2].join: gives 1001 columns; at most 1000 are allowed: leave some out with select before"
    ]


# Echoes


def test_who_reads_a_wrong_operator_is_not_blamed_for_it() -> None:
    wrong = step("a", "clicks", filter="nothing > 1")
    readers = [
        step("b", "a", select=["whatever"]),
        step("c", "b", aggregate={"by": ["x"], "values": ["sum(y) as z"]}),
        step("d", "sales", join={"stream": "a", "by": ["zzz"], "within": "1s"}),
    ]
    found = mistakes(wrong, *readers, outputs=[{"name": "o", "input": "c", "topic": "o", "key": ["zzz"]}])
    assert len(found) == 1
    assert found[0].startswith("spec.operators[0].filter: unknown column 'nothing'")


def test_all_mistakes_of_one_operator_are_told() -> None:
    values = ["nonsense as a", "count(*) as n", "sum(nothing) as b"]
    found = mistakes(step("a", "clicks", aggregate={"by": ["nobody", "price"], "values": values}))
    assert [line.partition(": ")[0] for line in found] == [
        "spec.operators[0].aggregate.by[0]",
        "spec.operators[0].aggregate.by[1]",
        "spec.operators[0].aggregate.values[0]",
        "spec.operators[0].aggregate.values[2]",
    ]


def test_after_very_many_mistakes_no_further_operator_is_looked_at() -> None:
    many = [step(f"a{i}", "clicks", select=[f"usr{j}" for j in range(10)]) for i in range(256)]
    made = copy.deepcopy(bad_manifests.GOOD)
    made["spec"]["operators"] = many
    of_selects = [m for m in acceptance.accept(made).mistakes if "select" in m.path]
    assert len(of_selects) == relations.MAX_MISTAKES


# Sources

SOURCE_MISTAKES: dict[str, tuple[str, object, str]] = {
    "a key column with the name of a column": (
        "streams[0].keyColumn",
        "USER",
        "spec.streams[0].keyColumn: column 'user' is there already; choose another name than 'USER'",
    ),
    "a raw stream of numbers": (
        "streams[3].columns",
        "line int",
        "spec.streams[3].columns: format raw has exactly one column, of type string or binary, not `line int`",
    ),
    "a table's time that is no column": (
        "tables[0].timestamp",
        "since",
        "spec.tables[0].timestamp: unknown column 'since'; there are user, country, age",
    ),
    "a table's time that is a date": (
        "tables[1].timestamp",
        "since",
        "spec.tables[1].timestamp: column 'since' is date; event time has to be a timestamp",
    ),
    "a key that names a column twice": (
        "tables[0].key",
        ["user", "user"],
        "spec.tables[0].key: names a column twice",
    ),
    "a key that is a double": (
        "tables[2].columns",
        "user double, page string",
        "spec.tables[2].key[0]: column 'user' is double, which can't be a key; cast it to",
    ),
}


@pytest.mark.parametrize("sentence", SOURCE_MISTAKES)
def test_what_can_not_be_read_is_told_with_its_place(sentence: str) -> None:
    path, value, words = SOURCE_MISTAKES[sentence]
    made = copy.deepcopy(bad_manifests.GOOD)
    made["spec"] |= copy.deepcopy(SOURCES)
    made["spec"]["operators"] = [step("a", "sales", filter="total > 1")]
    names = [part["name"] for part in (*SOURCES["streams"], *SOURCES["tables"])]
    made["spec"]["outputs"] = [
        {"name": f"o{i}", "input": name, "topic": f"o{i}"} for i, name in enumerate([*names, "a"])
    ]
    bad_manifests.edit(made["spec"], path, value)
    found = [str(mistake) for mistake in acceptance.accept(made).mistakes]
    assert len(found) == 1, found
    assert found[0].startswith(words)


# Outputs

USERS = step("a", "users", filter="age > 1")
OUTPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "updates under a part of the key": (
        {"input": "pairs", "mode": "changelog", "key": ["user"]},
        "spec.outputs[8].key: updates would overwrite one another: the key must hold all of user, page",
    ),
    "updates of a stream": ({"input": "clicks", "mode": "changelog"}, "spec.outputs[8].mode: 'clicks' is a stream"),
    "a key of no column": (
        {"input": "clicks", "key": ["usr"]},
        "spec.outputs[8].key[0]: unknown column 'usr', did you mean 'user'?",
    ),
    "a key that is a double": (
        {"input": "clicks", "key": ["user", "price"]},
        "spec.outputs[8].key[1]: column 'price' is double, which can't be a key",
    ),
}


@pytest.mark.parametrize("sentence", OUTPUTS)
def test_an_output_that_can_not_be_written_is_told(sentence: str) -> None:
    output, words = OUTPUTS[sentence]
    found = mistakes(USERS, outputs=[{"name": "o", "topic": "o", **output}])
    assert len(found) == 1, found
    assert found[0].startswith(words)


@pytest.mark.parametrize(
    "output",
    [
        {"input": "pairs", "mode": "changelog"},
        {"input": "pairs", "mode": "changelog", "key": ["page", "user"]},
        {"input": "users", "mode": "changelog", "key": ["user", "country"]},
        {"input": "users", "mode": "append"},
        {"input": "clicks", "key": ["user"]},
    ],
)
def test_an_output_that_can_be_written_is_taken(output: dict[str, Any]) -> None:
    assert mistakes(USERS, outputs=[{"name": "o", "topic": "o", **output}]) == []
