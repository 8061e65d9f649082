"""Aggregates as tables, against their definitions over the whole input: any values, any order, any crash."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
import table_reference as reference
from spillway import expressions
from spillway.expressions import aggregates, source
from spillway.model import types
from spillway.runtime.tables import aggregation, folding
from spillway.runtime.tables.aggregation import Aggregation
from spillway.runtime.tables.store import Store
from table_reference import MS, Reader, Record, Row

COLUMNS = "k string, n bigint, d decimal(10,2), x double"
ROWS = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.none() | st.integers(-5, 5),
    st.none() | st.integers(-500, 500).map(lambda n: Decimal(n).scaleb(-2)),
    st.none() | st.sampled_from([-1.5, 0.0, 0.25, 8.0]),  # their sums are exact, in whatever order
)
# Around 1970, so that windows lie on both sides, and at the borders of windows.
TIMES = st.integers(-30, 30).map(lambda t: t * MS) | st.integers(-30 * MS, 30 * MS)
RECORDS = st.lists(st.tuples(TIMES, ROWS), max_size=25)
WINDOWS = st.sampled_from([None, (10, 10), (10, 3), (7, 5), (1, 1)])


VALUES: dict[str, tuple[str, Callable[[Row], Any]]] = {
    "count(*)": ("count", lambda row: 1),
    "count(n)": ("count", lambda row: row[1]),
    "count_if(n > 0)": ("count", lambda row: 1 if row[1] is not None and row[1] > 0 else None),
    "sum(n)": ("sum", lambda row: row[1]),
    "sum(n * 2)": ("sum", lambda row: None if row[1] is None else row[1] * 2),
    "sum(d)": ("sum", lambda row: row[2]),
    "sum(x)": ("sum", lambda row: row[3]),
    "avg(n)": ("avg", lambda row: row[1]),
    "avg(x)": ("avg", lambda row: row[3]),
    "min(n)": ("min", lambda row: row[1]),
    "max(d)": ("max", lambda row: row[2]),
    "max(x)": ("max", lambda row: row[3]),
}


def _made(
    texts: Sequence[str],
    window: tuple[int, int] | None = None,
    *,
    by: Sequence[str] = ("k",),
    columns: str = COLUMNS,
    key: tuple[str, ...] = (),
    retention: str | None = None,
    combiner: bool = False,
) -> Aggregation:
    values = [f"{text} as v{i}" for i, text in enumerate(texts)]
    parts: dict[str, Any] = {"by": by, "values": values}
    if window:
        parts["window"] = {"size": f"{window[0]}ms", "slide": f"{window[1]}ms"}
    it, given_ = reference.operator(retention, aggregate=parts), reference.relation(columns, *key)
    maker = aggregation.combiner if combiner else Aggregation
    return maker(it, given_, reference.result(it, given_))


def _expected(records: Sequence[Record], texts: Sequence[str], window: tuple[int, int] | None) -> dict[Any, Row]:
    spans = None if window is None else (window[0] * MS, window[1] * MS)
    return reference.aggregated(records, lambda row: row[:1], [VALUES[text] for text in texts], spans)


def _run(table: Aggregation, records: Sequence[Record]) -> Reader:
    reader = Reader()
    for t, row in records:
        reader.read(table.record(t, row))
    return reader


TEXTS = st.lists(st.sampled_from([*VALUES]), min_size=1, max_size=4)


def _any_order(
    records: Sequence[Record],
    texts: Sequence[str],
    window: tuple[int, int] | None,
    shuffle: Callable[[list[Record]], None],
) -> None:
    """Run them as they are and shuffled; both times the table is that of the definition, for readers as well."""
    expected = _expected(records, texts, window)
    width = 1 if window is None else 3
    records, contents = list(records), []
    for _ in range(2):
        table = _made(texts, window)
        reader = _run(table, records)

        assert reader.by_key(width) == expected
        assert {row[:width]: row for row in table.scan(1000)} == expected
        assert all(table.get(key) == row for key, row in expected.items())
        contents.append(reference.content(table.stores))
        shuffle(records)

    assert contents[0] == contents[1]


@fuzzing.cases(80)
@given(RECORDS, TEXTS, WINDOWS, st.randoms(use_true_random=False))
def test_any_order_of_the_input_ends_in_the_table_of_the_definition(
    records: list[Record], texts: list[str], window: tuple[int, int] | None, random: Any
) -> None:
    _any_order(records, texts, window, random.shuffle)


@fuzzing.cases(50)
@given(RECORDS, TEXTS, WINDOWS, st.lists(st.integers(0, 2), min_size=25, max_size=25))
def test_records_may_come_one_by_one_or_folded_by_batches(
    records: list[Record], texts: list[str], window: tuple[int, int] | None, batches: list[int]
) -> None:
    alone, merged, reader = _made(texts, window), _made(texts, window), Reader()
    parts = [_made(texts, window, combiner=True) for _ in range(2)]
    folded: list[list[Row]] = [[], []]
    for (t, row), batch in zip(records, batches, strict=False):
        alone.record(t, row)
        if batch == 2:
            reader.read(merged.record(t, row))
        else:
            folded[batch].append((7, 0, t, *row))
    for part, rows in zip(parts, folded, strict=True):
        part.fold(rows, lambda error, *_: pytest.fail(str(error)))
    for part in parts:
        for partial in part.partials():
            reader.read(merged.merge(*partial))

    width = 1 if window is None else 3
    assert reader.by_key(width) == {row[:width]: row for row in alone.scan(1000)}


# A table of rows by id, whose rows move between groups.
CHANGES = st.lists(st.tuples(st.integers(0, 4), st.none() | ROWS), max_size=25)


BACK = st.sampled_from([text for text, (name, _) in VALUES.items() if name in ("count", "sum", "avg")])


@fuzzing.cases(80)
@given(CHANGES, st.lists(BACK, min_size=1, max_size=4), st.sampled_from([None, (10, 10), (7, 5)]))
def test_of_a_table_the_aggregate_is_that_of_its_rows_as_they_are(
    changes: list[tuple[int, Row | None]], texts: list[str], window: tuple[int, int] | None
) -> None:
    columns = f"{COLUMNS}, id int, window_start timestamp"
    table, reader = _made(texts, window, columns=columns, key=("id", "window_start")), Reader()
    rows: dict[int, Row] = {}
    for i, (key, row) in enumerate(changes):
        old = rows.pop(key, None)
        new = None if row is None else (*row, key, key * 4 * MS)
        if new is not None:
            rows[key] = new
        if old is not None or new is not None:
            reader.read(table.update(i, old, new))

        now = [(row[5], row) for row in rows.values()]
        assert reader.by_key(1 if window is None else 3) == _expected(now, texts, window)

    assert len(table.stores[0]) == len(reader.rows)


COUNTED: Any = [("count", lambda row: 1)]


def _chain(records: Sequence[Record]) -> list[Reader]:
    """Counts by windows of 5; how many groups had such a window, by windows of 10; those of all groups together."""
    spans = ("window_start", "window_end")
    first = _made(["count(*)"], (5, 5))
    middle = _made(
        ["count(*)"], (10, 5), columns="k string, window_start timestamp, window_end timestamp", key=("k", *spans)
    )
    columns = "k string, window_start timestamp, window_end timestamp, v0 bigint"
    last = _made(["sum(v0)"], by=["window_start"], columns=columns, key=("k", *spans))
    readers = [Reader() for _ in range(3)]
    for record in records:
        ones = first.record(*record)
        twos = [two for t, old, new in ones for two in middle.update(t, old and old[:3], new and new[:3])]
        threes = [three for two in twos for three in last.update(*two)]
        for reader, updates in zip(readers, (ones, twos, threes), strict=True):
            reader.read(updates)
    return readers


@fuzzing.cases(50)
@given(RECORDS, st.randoms(use_true_random=False))
def test_an_aggregate_of_an_aggregate_of_an_aggregate_is_that_of_its_rows(records: list[Record], random: Any) -> None:
    first = reference.aggregated(records, lambda row: row[:1], COUNTED, (5 * MS, 5 * MS))
    middle = reference.aggregated(
        [(row[1], row) for row in first.values()], lambda row: row[:1], COUNTED, (10 * MS, 5 * MS)
    )
    last = reference.aggregated([(0, row) for row in middle.values()], lambda r: r[1:2], [("sum", lambda r: r[3])])
    for _ in range(2):
        readers = _chain(records)

        assert [reader.by_key(width) for reader, width in zip(readers, (3, 3, 1), strict=True)] == [first, middle, last]
        random.shuffle(records)


# Retention

DELAYS = st.lists(st.integers(0, 900), min_size=25, max_size=25)  # milliseconds
# Some three seconds: with a retention of one, some records are late, and some rows go.
SPREAD = RECORDS.map(lambda records: [(t * 50, row) for t, row in records])


@fuzzing.cases(60)
@given(SPREAD)
def test_readers_have_just_the_groups_that_the_table_still_has(records: list[Record]) -> None:
    table, reader, newest = _made(["count(*)", "sum(n)"], retention="1s"), Reader(), -(10**12)
    for t, row in records:
        late, newest = t < newest - 1000 * MS, max(newest, t)
        before = table.late
        reader.read(table.record(t, row))

        assert (table.late > before) == late
        assert reader.rows == dict.fromkeys(table.scan(100), 1)
        kept = {row[0]: u for u, row in records if u >= newest - 1000 * MS}
        assert {row[0] for row in reader.rows} <= set(kept)


@fuzzing.cases(60)
@given(
    RECORDS, st.sampled_from([(10, 10), (7, 5), (300, 100)]), st.lists(st.integers(0, 900), min_size=25, max_size=25)
)
def test_a_retention_changes_no_window_of_records_that_are_in_time_and_bounds_what_is_kept(
    records: list[Record], window: tuple[int, int], delays: list[int]
) -> None:
    spread = [("", t // MS + i * 100, row) for i, (t, row) in enumerate(records)]
    arrived = [(t * MS, row) for _, t, row in reference.delayed(spread, delays)]
    table, newest = _made(["count(*)", "min(n)"], window, retention="1s"), max((t for t, _ in arrived), default=0)

    assert _run(table, arrived).by_key(3) == _expected(arrived, ["count(*)", "min(n)"], window)
    assert table.late == 0
    assert all(row[2] > newest - 1000 * MS for row in table.scan(1000))


# Crashes


def _survives(
    records: Sequence[Record], window: tuple[int, int] | None, retention: str | None, cuts: Sequence[int], chosen: int
) -> None:
    """Write changes at the cuts, crash after some of them, and restore what was committed last."""

    def new() -> Aggregation:
        return _made(["count(*)", "sum(d)", "max(x)", "collect_set(n)"], window, retention=retention)

    table, log = new(), list[reference.Change]()
    commits = [(0, 0, reference.content(table.stores))]
    for i, record in enumerate(records, 1):
        table.record(*record)
        if i in cuts:
            log += reference.written(table.stores)
            commits.append((len(log), i, reference.content(table.stores)))
    end, done, expected = commits[chosen % len(commits)]
    for compacted_to in {0, end // 2, end}:
        again, whole = new(), new()
        reference.restore(again.stores, [*reference.compacted(log[:compacted_to]), *log[compacted_to:end]])
        assert reference.content(again.stores) == expected

        for record in records[:done]:
            whole.record(*record)
        for record in records[done:]:
            assert again.record(*record) == whole.record(*record)
        assert reference.content(again.stores) == reference.content(whole.stores)


@fuzzing.cases(60)
@given(SPREAD, WINDOWS, st.sampled_from([None, "1s"]), st.sets(st.integers(0, 25), max_size=4), st.integers(0, 4))
def test_after_a_crash_the_state_is_that_of_a_commit_however_far_the_log_was_compacted(
    records: list[Record], window: tuple[int, int] | None, retention: str | None, cuts: set[int], chosen: int
) -> None:
    _survives(records, window, retention, sorted(cuts), chosen)


@fuzzing.cases(40)
@given(CHANGES, st.sampled_from([None, (10, 10)]), st.integers(1, 300), st.integers(0, 25))
def test_an_aggregate_of_a_table_survives_a_crash(
    changes: list[tuple[int, Row | None]], window: tuple[int, int] | None, slow: int, cut: int
) -> None:
    columns = f"{COLUMNS}, id int, window_start timestamp"

    def made() -> Aggregation:
        return _made(["sum(d)", "count(n)"], window, columns=columns, key=("id", "window_start"), retention="1s")

    one, whole = made(), made()
    rows: dict[int, Row] = {}
    reader = Reader()
    for i, (key, row) in enumerate(changes):
        if i == cut:
            log = reference.written(one.stores)
            one = made()
            reference.restore(one.stores, log)
        old, new = rows.get(key), None if row is None else (*row, key, i * slow * MS)
        if new is None:
            rows.pop(key, None)
        else:
            rows[key] = new
        if (old, new) != (None, None):
            updates = one.update(i * slow * MS, old, new)
            assert updates == whole.update(i * slow * MS, old, new)
            reader.read(updates)

    assert reference.content(one.stores) == reference.content(whole.stores)


ABC: list[Record] = [(t * MS, (k, t, Decimal(t).scaleb(-2), 0.25)) for t, k in enumerate("abcabcab")]


def test_a_store_that_forgets_to_write_a_key_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Store.changes
    _survives(ABC, None, None, [4, 8], 2)

    monkeypatch.setattr(Store, "changes", lambda store: honest(store)[:-1])

    with pytest.raises(AssertionError):
        _survives(ABC, None, None, [4, 8], 2)


def test_compaction_that_keeps_the_first_of_a_key_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        reference, "compacted", lambda log: [*{key: (key, value) for key, value in reversed(log)}.values()]
    )

    with pytest.raises(AssertionError):
        _survives(ABC, None, None, [4, 8], 2)


def test_a_result_that_depends_on_the_order_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    _any_order(ABC, ["sum(n)"], None, list.reverse)
    steps, wrong = aggregates.steps, aggregates.Steps([0, 0], lambda _, v: [v or 0, 1], max, lambda s: s[0])
    monkeypatch.setattr(aggregates, "steps", lambda a: wrong if a.function == "sum" else steps(a))
    monkeypatch.setattr(folding, "_whole", lambda called: called)

    with pytest.raises(AssertionError):
        _any_order(ABC, ["sum(n)"], None, list.reverse)


def test_an_old_row_that_no_reader_has_would_be_noticed() -> None:
    reader = Reader()
    reader.read([(0, None, ("a", 1))])

    with pytest.raises(AssertionError, match="never there"):
        reader.read([(1, ("a", 2), ("a", 3))])


# The steps as source


BIG = st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 1, 2**62])
DOUBLES = st.floats() | st.sampled_from([0.0, -0.0, math.nan, math.inf])
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-3, 3),
    "bigint": BIG,
    "double": DOUBLES,
    "decimal(38,2)": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-2")),
    "string": st.text(max_size=2),
    "binary": st.binary(max_size=2),
}
FUNCTIONS = {"count": [*KINDS], "count_if": ["boolean"], "sum": ["int", "bigint", "double", "decimal(38,2)"],
             "avg": ["int", "bigint", "double", "decimal(38,2)"], "min": [*KINDS], "max": [*KINDS],
             "any_value": [*KINDS], "collect_set": ["int", "string"], "approx_count_distinct": ["string"]}  # fmt: skip


@st.composite
def aggregates_and_values(draw: st.DrawFn) -> tuple[str, str, list[tuple[bool, Any]]]:
    function = draw(st.sampled_from([*FUNCTIONS]))
    kind = draw(st.sampled_from(FUNCTIONS[function]))
    values = draw(st.lists(st.tuples(st.booleans(), st.none() | KINDS[kind]), max_size=12))
    return function, kind, values


@fuzzing.cases(200)
@given(aggregates_and_values())
def test_the_steps_as_source_do_what_the_steps_do(drawn: tuple[str, str, list[tuple[bool, Any]]]) -> None:
    function, kind, values = drawn
    schema = types.parse_schema(f"v {kind}")
    aggregate = expressions.check_aggregate(f"{function}(v) as it", schema)
    scope = source.Scope()
    fold = folding.folding(aggregate, scope)
    steps = fold.steps
    add, finish = (_compiled(f"lambda s, v: {text}", scope) for text in (fold.add("s", ["v"]), fold.finish("s")))
    subtract = _compiled(f"lambda s, v: {fold.subtract('s', ['v'])}", scope) if steps.subtract else None
    one = other = steps.zero
    for back, value in values:
        if back and subtract and steps.subtract:
            one, other = subtract(one, value), steps.subtract(other, value)
        else:
            one, other = add(one, value), steps.add(other, value)

        assert repr(one) == repr(other)
        assert repr(_outcome(finish, one, None)) == repr(_outcome(steps.finish, other))


def _compiled(text: str, scope: source.Scope) -> Any:
    return eval(text, {**scope.namespace()})  # noqa: S307 - what is tested is source


def _outcome(call: Callable[..., Any], *values: Any) -> Any:
    with contextlib.suppress(*expressions.ROW_ERRORS):
        return call(*values)
    return "raises"
