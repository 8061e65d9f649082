"""Joins, against their definitions over the whole input: any input, in any order, with crashes in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
import table_reference as reference
from spillway.runtime.tables import buffers
from spillway.runtime.tables.aggregation import Aggregation
from spillway.runtime.tables.lookup_join import LookupJoin
from spillway.runtime.tables.source_table import SourceTable
from spillway.runtime.tables.stream_join import StreamJoin
from spillway.runtime.tables.table_join import TableJoin
from table_reference import MS, Reader, Row, Update

KEYS = st.sampled_from(["a", "b", None])
KINDS = st.sampled_from(["inner", "left", "right", "full"])
SHUFFLES = st.randoms(use_true_random=False)
# Input and time in milliseconds, key; a number tells records apart, except where two are to be the same.
REST = (st.integers(-12, 12), KEYS, st.integers(0, 2))
EVENTS = st.lists(st.tuples(st.sampled_from(["left", "right"]), *REST), max_size=16)
DELAYS = st.lists(st.integers(0, 900), min_size=16, max_size=16)
Event = tuple[str, int, str | None, int]


RESULTS = "k string, t bigint, n int, u bigint, m int"


def _paired(left: Row | None, right: Row | None) -> Row:
    """Columns k, t, n of the left, and u, m of the right."""
    if left is None:
        assert right is not None
        return (right[0], None, None, *right[1:])
    return (*left, *((None, None) if right is None else right[1:]))


# Two streams


def _streams(kind: str, retention: str | None = None, *, apart: bool = True) -> StreamJoin:
    it = reference.operator(retention, join={"stream": "right", "by": ["k"], "type": kind, "within": "5ms"})
    left, right = reference.relation("k string, t bigint, n int"), reference.relation("k string, u bigint, m int")
    return StreamJoin(it, left, right, reference.result(it, left, right), apart=apart)


def _of(join: Any, event: Event) -> list[Update]:
    side, t, key, number = event
    found: list[Update] = getattr(join, side)(t * MS, (key, t, number))
    return found


def _pairs(events: Sequence[Event], kind: str) -> Any:
    sides = [[(t * MS, (key, t, n)) for side, t, key, n in events if side == name] for name in ("left", "right")]
    return reference.stream_joined(sides[0], sides[1], 5 * MS, kind, _paired)


def _time(row: Row) -> int:
    """Of a result: the larger one of its records."""
    times: list[int] = [time for time in (row[1], row[3]) if time is not None]
    return MS * max(times)


def _streams_in_any_order(events: Sequence[Event], kind: str, shuffle: Callable[[list[Event]], None]) -> None:
    """Run them as they are and shuffled; the results are those of the definition, with their times."""
    events, expected = list(events), _pairs(events, kind)
    for _ in range(2):
        join, reader = _streams(kind), Reader()
        for event in events:
            updates = _of(join, event)
            assert join.corrects or all(old is None for _, old, _ in updates)
            assert all(t == _time(row) for t, *rows in updates for row in rows if row is not None)
            reader.read(updates)

        assert reader.rows == sum_of(expected)
        shuffle(events)


def sum_of(timed: Any) -> dict[Row, int]:
    """The rows without their times."""
    found: dict[Row, int] = {}
    for (_, row), count in timed.items():
        found[row] = found.get(row, 0) + count
    return found


@fuzzing.cases(120)
@given(EVENTS, KINDS, SHUFFLES)
def test_any_order_of_two_streams_ends_in_the_pairs_of_the_definition(
    events: list[Event], kind: str, random: Any
) -> None:
    _streams_in_any_order(events, kind, random.shuffle)


ABC: list[Event] = [
    ("left", 1, "a", 0),
    ("right", 2, "a", 1),
    ("right", 9, "a", 2),
    ("left", 3, "a", 3),
    ("right", 4, "a", 4),
]


def test_a_partner_that_is_not_asked_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    _streams_in_any_order(ABC, "full", list.reverse)
    honest = buffers.Buffer.between
    monkeypatch.setattr(buffers.Buffer, "between", lambda *asked: honest(*asked)[:1])

    with pytest.raises(AssertionError):
        _streams_in_any_order(ABC, "full", list.reverse)


@fuzzing.cases(60)
@given(EVENTS, KINDS, DELAYS)
def test_a_retention_changes_no_result_of_records_that_are_in_time_and_bounds_what_is_kept(
    events: list[Event], kind: str, delays: list[int]
) -> None:
    """Records arrive at most 900 ms after their time, over some seconds; the retention is one second."""
    spread = [(side, t * 4 + i * 100, key, n) for i, (side, t, key, n) in enumerate(events)]
    arrived = [
        event for _, event in sorted(zip([e[1] + d for e, d in zip(spread, delays, strict=False)], spread, strict=True))
    ]
    join, reader = _streams(kind, "1s"), Reader()
    for event in arrived:
        reader.read(_of(join, event))

        newest = join.stores[0].time
        assert all(entry[0] >= newest - 1005 * MS for store in join.stores for entry in store.rows.values())
    assert join.late == 0
    assert reader.rows == sum_of(_pairs(arrived, kind))


@fuzzing.cases(50)
@given(EVENTS, KINDS, SHUFFLES)
def test_an_outer_join_may_be_aggregated_although_its_results_change(
    events: list[Event], kind: str, random: Any
) -> None:
    it = reference.operator(aggregate={"by": ["k"], "values": ["count(*) as c", "count(n) as ns", "sum(m) as ms"]})
    given_ = reference.relation(RESULTS)
    values: Any = [("count", lambda row: 1), ("count", lambda row: row[2]), ("sum", lambda row: row[4])]
    for _ in range(2):
        join, table = _streams(kind), Aggregation(it, given_, reference.result(it, given_), updates=True)
        reader = Reader()
        for event in events:
            for update in _of(join, event):
                reader.read(table.update(*update))

        results = [(0, row) for row, count in sum_of(_pairs(events, kind)).items() for _ in range(count)]
        assert reader.by_key(1) == reference.aggregated(results, lambda row: row[:1], values)
        random.shuffle(events)


@fuzzing.cases(50)
@given(EVENTS, KINDS, SHUFFLES)
def test_an_outer_join_may_be_aggregated_by_windows_if_its_updates_come_apart(
    events: list[Event], kind: str, random: Any
) -> None:
    window = {"size": "6ms", "slide": "3ms"}
    it = reference.operator(aggregate={"by": ["k"], "values": ["count(*) as c"], "window": window})
    given_ = reference.relation(RESULTS)
    count: Any = [("count", lambda row: 1)]
    for _ in range(2):
        join = _streams(kind)
        table, reader = Aggregation(it, given_, reference.result(it, given_), updates=True), Reader()
        for event in events:
            for update in _of(join, event):
                reader.read(table.update(*update))

        results = [timed for timed, times in _pairs(events, kind).items() for _ in range(times)]
        assert reader.by_key(3) == reference.aggregated(results, lambda row: row[:1], count, (6 * MS, 3 * MS))
        random.shuffle(events)


# The third stream has other names for its columns.
THIRD = st.lists(st.tuples(st.sampled_from(["left", "right", "third"]), *REST), max_size=12)


@fuzzing.cases(80)
@given(THIRD, KINDS, KINDS, st.booleans(), SHUFFLES)
def test_a_join_of_a_join_ends_in_the_pairs_of_its_results(
    events: list[Event], kind: str, outer: str, first: bool, random: Any
) -> None:
    it = reference.operator(join={"stream": "right", "by": ["k"], "type": outer, "within": "4ms"})
    inner, third = (
        reference.relation(RESULTS),
        reference.relation("k string, o int"),
    )
    sides = (inner, third) if first else (third, inner)

    def joined(left: Row | None, right: Row | None) -> Row:
        width = [5, 2] if first else [2, 5]
        ends = [
            (None,) * (width[0] - 1) if left is None else left[1:],
            (None,) * (width[1] - 1) if right is None else right[1:],
        ]
        return ((left or right or ())[0], *ends[0], *ends[1])

    for _ in range(2):
        join, after, reader = _streams(kind), StreamJoin(it, *sides, reference.result(it, *sides)), Reader()
        inner_side, third_side = (after.left_update, after.right) if first else (after.right_update, after.left)
        for side, t, key, n in events:
            if side == "third":
                reader.read(third_side(t * MS, (key, n)))
            else:
                for update in _of(join, (side, t, key, n)):
                    reader.read(inner_side(*update))

        results = [timed for timed, times in _pairs(events, kind).items() for _ in range(times)]
        thirds = [(t * MS, (key, n)) for side, t, key, n in events if side == "third"]
        lefts, rights = (results, thirds) if first else (thirds, results)
        assert reader.rows == sum_of(reference.stream_joined(lefts, rights, 4 * MS, outer, joined))
        random.shuffle(events)


@fuzzing.cases(60)
@given(THIRD, KINDS, SHUFFLES)
def test_results_of_an_outer_join_look_up_the_rows_of_their_times(events: list[Event], kind: str, random: Any) -> None:
    it = reference.operator("1s", join={"table": "right", "by": ["k"], "type": "left"})
    inner, table = (
        reference.relation(RESULTS),
        reference.relation("k string, o int", "k"),
    )
    for _ in range(2):
        join, look, reader = _streams(kind), LookupJoin(it, inner, table, reference.result(it, inner, table)), Reader()
        for side, t, key, n in events:
            if side == "third":
                reader.read(look.table(t * MS, None, (key, n)))
            else:
                for update in _of(join, (side, t, key, n)):
                    reader.read(look.update(*update))

        versions = [(t * MS, (key,), (key, n)) for side, t, key, n in events if side == "third"]
        expected: dict[Row, int] = {}
        for (t, row), times in _pairs(events, kind).items():
            found = None if row[0] is None else reference.version(versions, row[:1], t)
            looked = (*row, None if found is None else found[1])
            expected[looked] = expected.get(looked, 0) + times
        assert reader.rows == expected
        random.shuffle(events)


# A stream and a table

# Table updates as well: a row or its deletion.
LOOKUPS = st.lists(st.tuples(st.sampled_from(["left", "table", "delete"]), *REST), max_size=16)


def _lookup(kind: str, retention: str | None, as_of: str = "timestamp") -> LookupJoin:
    it = reference.operator(retention, join={"table": "right", "by": ["k"], "type": kind, "asOf": as_of})
    left, right = reference.relation("k string, t bigint, n int"), reference.relation("k string, u bigint, m int", "k")
    return LookupJoin(it, left, right, reference.result(it, left, right))


def _ask(join: LookupJoin, event: Event) -> list[Update]:
    """What comes out, as updates."""
    what, t, key, number = event
    if what == "left":
        return [(time, None, row) for time, row in join.record(t * MS, (key, t, number))]
    return join.table(t * MS, (key, None, None), (key, t, number) if what == "table" else None)


def _looked_up(events: Sequence[Event], kind: str, *, at: Callable[[int], int] = lambda t: t) -> dict[Row, int]:
    updates = [(t, (key,), (key, t, n) if what == "table" else None) for what, t, key, n in events if what != "left"]
    found: dict[Row, int] = {}
    for what, t, key, n in events:
        if what == "left":
            row = None if key is None else reference.version(updates, (key,), at(t))
            if row is not None or kind == "left":
                joined = _paired((key, t, n), row)
                found[joined] = found.get(joined, 0) + 1
    return found


@fuzzing.cases(120)
@given(LOOKUPS, st.sampled_from(["inner", "left"]), SHUFFLES)
def test_with_a_retention_any_order_of_stream_and_table_ends_in_the_rows_of_the_time(
    events: list[Event], kind: str, random: Any
) -> None:
    for _ in range(2):
        join, reader = _lookup(kind, "1s"), Reader()
        for event in events:
            reader.read(_ask(join, event))

        assert reader.rows == _looked_up(events, kind)
        random.shuffle(events)


@fuzzing.cases(60)
@given(LOOKUPS, st.sampled_from(["inner", "left"]), st.sampled_from(["timestamp", "latest"]), SHUFFLES)
def test_without_one_records_meet_what_the_table_has_when_they_come(
    events: list[Event], kind: str, as_of: str, random: Any
) -> None:
    at = (lambda t: t) if as_of == "timestamp" else (lambda t: 99)
    for _ in range(2):
        join = _lookup(kind, None, as_of)
        expected: list[Row] = []
        for i, event in enumerate(events):
            assert join.corrects is False
            found = [new for _, _, new in _ask(join, event)]
            tables = [e for e in events[:i] if e[0] != "left"]
            expected = [*_looked_up([*tables, event], kind, at=at)] if event[0] == "left" else []
            assert found == expected
        random.shuffle(events)


@fuzzing.cases(60)
@given(LOOKUPS, DELAYS)
def test_versions_are_kept_for_all_that_is_in_time_and_not_much_longer(events: list[Event], delays: list[int]) -> None:
    spread = [(what, t * 4 + i * 100, key, n) for i, (what, t, key, n) in enumerate(events)]
    arrived = [
        event for _, event in sorted(zip([e[1] + d for e, d in zip(spread, delays, strict=False)], spread, strict=True))
    ]
    join, reader = _lookup("left", "1s"), Reader()
    for event in arrived:
        reader.read(_ask(join, event))

    join.record(10**9, (None, 0, 0))
    assert join.late == 0
    reader.rows.pop((None, 0, 0, None, None), None)
    expected = _looked_up(arrived, "left")
    expected.pop((None, 0, 0, None, None), None)
    assert reader.rows == expected
    newest = {
        key: max((e for e in arrived if e[0] != "left" and e[2] == key), key=lambda e: e[1], default=None)
        for key in "ab"
    }
    assert len(join.stores[0]) <= sum(event is not None for event in newest.values())
    assert len(join.stores[1]) == 0


@fuzzing.cases(50)
@given(LOOKUPS, SHUFFLES)
def test_corrected_results_may_be_aggregated(events: list[Event], random: Any) -> None:
    it = reference.operator(aggregate={"by": ["m"], "values": ["count(*) as c", "sum(n) as ns"]})
    given_ = reference.relation(RESULTS)
    values: Any = [("count", lambda row: 1), ("sum", lambda row: row[2])]
    for _ in range(2):
        join, table = _lookup("left", "1s"), Aggregation(it, given_, reference.result(it, given_), updates=True)
        reader = Reader()
        for event in events:
            for update in _ask(join, event):
                reader.read(table.update(*update))

        results = [(0, row) for row, count in _looked_up(events, "left").items() for _ in range(count)]
        assert reader.by_key(1) == reference.aggregated(results, lambda row: row[4:5], values)
        random.shuffle(events)


# Two tables

CHANGES = st.lists(st.tuples(st.sampled_from(["left", "right"]), KEYS, st.none() | st.integers(0, 2)), max_size=20)


def _tables(kind: str, retention: str | None = None) -> TableJoin:
    it = reference.operator(retention, join={"table": "right", "by": ["k"], "type": kind})
    left, right = reference.relation("k string, a int", "k"), reference.relation("k string, b int", "k")
    return TableJoin(it, left, right, reference.result(it, left, right))


@fuzzing.cases(120)
@given(CHANGES, KINDS)
def test_two_tables_are_joined_as_they_are_after_every_change(changes: list[tuple[str, Any, Any]], kind: str) -> None:
    join, reader = _tables(kind), Reader()
    rows: dict[str, dict[Any, Row]] = {"left": {}, "right": {}}

    def joined(left: Row | None, right: Row | None) -> Row:
        return ((left or right or ())[0], left and left[1], right and right[1])

    for t, (side, key, value) in enumerate(changes):
        old, new = rows[side].pop((key,), None), None if value is None else (key, value)
        if new is not None:
            rows[side][key,] = new
        if old != new:
            reader.read(getattr(join, side)(t, old, new))

        expected = reference.table_joined(rows["left"], rows["right"], kind, joined)
        if kind == "full" and (None,) in rows["left"]:
            expected.pop((None, None, rows["right"].get((None,), (0, 0))[1]), None)  # one row for a key: the left one
        assert reader.rows == expected
        assert set(join.scan(100)) == set(expected)
        assert all(join.get(row[:1]) == row for row in expected)


@fuzzing.cases(60)
@given(EVENTS, KINDS, SHUFFLES)
def test_two_aggregates_are_joined_whatever_the_order_of_their_streams(
    events: list[Event], kind: str, random: Any
) -> None:
    events = [event for event in events if event[2] is not None]
    key = ("k", "window_start", "window_end")
    it = reference.operator(
        aggregate={"by": ["k"], "values": ["count(*) as c"], "window": {"size": "8ms", "slide": "4ms"}}
    )
    given_ = reference.relation("k string, t bigint, n int")
    table = reference.result(it, given_)
    joins = reference.operator(join={"table": "right", "by": key, "type": kind})
    renamed = reference.relation("k string, window_start timestamp, window_end timestamp, d bigint", *key)
    counts = [
        reference.aggregated(
            [(t * MS, (k,)) for of, t, k, _ in events if of == side],
            lambda row: row,
            [("count", lambda row: 1)],
            (8 * MS, 4 * MS),
        )
        for side in ("left", "right")
    ]

    def joined(left: Row | None, right: Row | None) -> Row:
        return (*(left or right or ())[:3], left and left[3], right and right[3])

    for _ in range(2):
        sides = {side: Aggregation(it, given_, table) for side in ("left", "right")}
        join, reader = TableJoin(joins, table, renamed, reference.result(joins, table, renamed)), Reader()
        for side, t, k, n in events:
            for update in sides[side].record(t * MS, (k, t, n)):
                reader.read(getattr(join, side)(*update))

        assert reader.rows == reference.table_joined(counts[0], counts[1], kind, joined)
        random.shuffle(events)


@fuzzing.cases(60)
@given(st.lists(st.tuples(st.integers(-9, 9), KEYS, st.none() | st.integers(0, 2)), max_size=16))
def test_a_table_of_a_topic_has_the_newest_row_of_each_key(messages: list[tuple[int, Any, Any]]) -> None:
    table, reader = SourceTable(reference.relation("k string, v int", "k")), Reader()
    for t, key, value in messages:
        reader.read(table.update(t, (key, None), None if value is None else (key, value)))

    updates = [(t, (key,), None if value is None else (key, value)) for t, key, value in messages]
    newest = {key: reference.version(updates, (key,), 99) for _, key, _ in messages}
    assert reader.by_key(1) == {(key,): row for key, row in newest.items() if row is not None}


# Crashes


def _survives(
    new: Callable[[], Any], step: Callable[[Any, Any], Any], events: Sequence[Any], cuts: Sequence[int]
) -> None:
    """Write changes at the cuts, and go on from each with what the log has, compacted up to there or not."""
    table, log = new(), list[reference.Change]()
    for i, event in enumerate(events, 1):
        step(table, event)
        if i not in cuts:
            continue
        log += reference.written(table.stores)
        expected = reference.content(table.stores)
        half = len(log) // 2
        for kept in (log, reference.compacted(log), [*reference.compacted(log[:half]), *log[half:]]):
            again, whole = new(), new()
            reference.restore(again.stores, kept)
            assert reference.content(again.stores) == expected
            for before in events[:i]:
                step(whole, before)
            for after in events[i:]:
                assert step(again, after) == step(whole, after)
            assert reference.content(again.stores) == reference.content(whole.stores)


CUTS = st.sets(st.integers(1, 16), max_size=3).map(sorted)
SLOW = st.integers(1, 60)  # how many milliseconds one of the small times is: from no retention at all to most are late


@fuzzing.cases(40)
@given(EVENTS, KINDS, st.sampled_from([None, "1s"]), SLOW, CUTS)
def test_two_streams_survive_a_crash(
    events: list[Event], kind: str, retention: str | None, slow: int, cuts: list[int]
) -> None:
    events = [(side, t * slow, key, n) for side, t, key, n in events]
    _survives(lambda: _streams(kind, retention), _of, events, cuts)


@fuzzing.cases(40)
@given(LOOKUPS, st.sampled_from(["timestamp", "latest"]), st.sampled_from([None, "1s"]), SLOW, CUTS)
def test_a_stream_and_a_table_survive_a_crash(
    events: list[Event], as_of: str, retention: str | None, slow: int, cuts: list[int]
) -> None:
    events = [(side, t * slow, key, n) for side, t, key, n in events]
    _survives(lambda: _lookup("left", retention, as_of), _ask, events, cuts)


@fuzzing.cases(40)
@given(CHANGES, KINDS, st.sampled_from([None, "1s"]), st.integers(1, 400), CUTS)
def test_two_tables_survive_a_crash(
    changes: list[tuple[str, Any, Any]], kind: str, retention: str | None, slow: int, cuts: list[int]
) -> None:
    timed = [(t * slow * MS, *change) for t, change in enumerate(changes)]

    def step(join: TableJoin, event: Any) -> Any:
        t, side, key, value = event
        new = None if value is None else (key, value)
        return getattr(join, side)(t, (key, None), new)

    _survives(lambda: _tables(kind, retention), step, timed, cuts)


def test_a_buffer_that_forgets_who_was_alone_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    _survives(lambda: _streams("full"), _of, ABC, [1, 2, 3])
    honest = buffers.Buffer.mark

    def forgetful(buffer: buffers.Buffer, number: int, *, alone: bool) -> None:
        honest(buffer, number, alone=alone)
        del buffer.store.dirty[number]

    monkeypatch.setattr(buffers.Buffer, "mark", forgetful)

    with pytest.raises(AssertionError):
        _survives(lambda: _streams("full"), _of, ABC, [1, 2, 3])
