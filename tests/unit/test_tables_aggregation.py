"""Aggregates as tables: the examples of the thesis, windows, retention, what raises, and tables of tables."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import table_reference as reference
from spillway import expressions
from spillway.runtime.tables import aggregation
from spillway.runtime.tables.aggregation import Aggregation
from table_reference import MS, Reader, Update

CLICKS = "country string, amount bigint"
MAX = 2**63 - 1


def _table(
    values: str,
    *,
    by: tuple[str, ...] = ("country",),
    window: tuple[int, int] | None = None,
    retention: str | None = None,
    columns: str = CLICKS,
    key: tuple[str, ...] = (),
    updates: bool | None = None,
) -> Aggregation:
    """A table of these values (divided by semicolons); size and slide of windows in milliseconds."""
    parts: dict[str, Any] = {"by": by, "values": values.split("; ")}
    if window:
        parts["window"] = {"size": f"{window[0]}ms", "slide": f"{window[1]}ms"}
    it = reference.operator(retention, aggregate=parts)
    given = reference.relation(columns, *key)
    return Aggregation(it, given, reference.result(it, given), updates=updates)


def _run(table: Aggregation, *records: tuple[int, str | None, int | None]) -> list[Update]:
    return [update for t, *row in records for update in table.record(t, tuple(row))]


def _rows(table: Aggregation) -> set[Any]:
    return set(table.scan(1000))


# The thesis


def test_example_15_clicks_are_counted_by_country() -> None:
    table = _table("count(*) as clicks")

    updates = _run(table, (0, "GER", 1), (1, "GER", 1), (1, "US", 1), (2, "US", 1))

    assert updates == [
        (0, None, ("GER", 1)),
        (1, ("GER", 1), ("GER", 2)),
        (1, None, ("US", 1)),
        (2, ("US", 1), ("US", 2)),
    ]


def test_example_16_hopping_windows_of_10_every_3() -> None:
    held = {}
    for t in range(13):
        table = _table("count(*) as n", by=(), window=(10, 3))
        table.record(t * MS, ("GER", 1))
        held[t] = [start // MS for start, _, _ in table.scan(10) if start >= 0]

    assert {t: len(starts) for t, starts in held.items() if t >= 9} == {9: 4, 10: 3, 11: 3, 12: 4}
    for start in (0, 3):  # both bounds of the book's list are inclusive
        assert [t for t in held if start in held[t]] == [*range(start, start + 10)]
    assert held[12] == [3, 6, 9, 12]


def test_example_17_clicks_by_country_and_window() -> None:
    table = _table("count(*) as clicks", window=(2, 2))

    _run(table, (0, "GER", 1), (1 * MS, "GER", 1), (1 * MS, "US", 1), (2 * MS, "US", 1))

    assert _rows(table) == {("GER", 0, 2 * MS, 2), ("US", 0, 2 * MS, 1), ("US", 2 * MS, 4 * MS, 1)}


def test_example_18_a_late_record_ends_in_the_same_table_and_time_of_the_row() -> None:
    ordered, unordered = _table("count(*) as clicks"), _table("count(*) as clicks")

    _run(ordered, (0, "GER", 1), (1, "GER", 1), (1, "US", 1), (2, "US", 1))
    updates = _run(unordered, (0, "GER", 1), (1, "GER", 1), (2, "US", 1), (1, "US", 1))

    assert reference.content(ordered.stores) == reference.content(unordered.stores)
    assert updates[-1] == (2, ("US", 1), ("US", 2))  # Definition 64: the largest time in the group


# Windows


@pytest.mark.parametrize(("t", "start"), [(-1, -10), (-10, -10), (-11, -20), (0, 0), (9, 0), (10, 10)])
def test_windows_before_1970_are_cut_as_all_others(t: int, start: int) -> None:
    table = _table("count(*) as n", window=(10, 10))

    table.record(t * MS, ("GER", 1))

    assert _rows(table) == {("GER", start * MS, (start + 10) * MS, 1)}


def test_the_last_microsecond_of_a_window_is_in_it_and_the_end_is_not() -> None:
    table = _table("count(*) as n", window=(10, 10))

    _run(table, (10 * MS - 1, "GER", 1), (10 * MS, "GER", 1))

    assert _rows(table) == {("GER", 0, 10 * MS, 1), ("GER", 10 * MS, 20 * MS, 1)}


# Groups and rows


def test_null_is_a_group_and_groups_are_expressions_too() -> None:
    table = _table("sum(amount) as total", by=("upper(country) as land", "amount > 5 as big"))

    _run(table, (0, "ger", 6), (0, "GER", 7), (0, None, 1), (0, "us", None))

    assert _rows(table) == {("GER", True, 13), (None, False, 1), ("US", None, None)}


def test_without_groups_there_is_one_row() -> None:
    table = _table("count(*) as n; max(amount) as most", by=())

    _run(table, (0, "GER", 3), (0, "US", 2))

    assert table.get(()) == (2, 3)
    assert len(table.stores[0]) == 1


def test_an_update_that_nobody_could_see_is_not_emitted() -> None:
    table = _table("max(amount) as most")

    assert _run(table, (0, "GER", 3), (1, "GER", 2)) == [(0, None, ("GER", 3))]
    assert _run(table, (2, "GER", 4)) == [(2, ("GER", 3), ("GER", 4))]


def test_rows_are_found_by_their_key() -> None:
    table = _table("count(*) as n", window=(10, 10))
    _run(table, (0, "GER", 1))

    assert table.get(("GER", 0, 10 * MS)) == ("GER", 0, 10 * MS, 1)
    assert table.get(("US", 0, 10 * MS)) is None


# Retention


def test_a_window_goes_once_time_has_passed_its_end_by_the_retention_and_what_comes_later_is_counted() -> None:
    table = _table("count(*) as n", window=(10, 10), retention="1s")

    _run(table, (9 * MS, "GER", 1), (1009 * MS, "US", 1), (0, "GER", 1))
    assert table.get(("GER", 0, 10 * MS)) == ("GER", 0, 10 * MS, 2)
    assert (_run(table, (1010 * MS, "US", 1), (9 * MS, "GER", 1)), table.late) == (
        [(1010 * MS, None, ("US", 1010 * MS, 1020 * MS, 1))],
        1,
    )

    assert table.get(("GER", 0, 10 * MS)) is None


def test_of_overlapping_windows_those_that_are_still_kept_take_a_late_record() -> None:
    table = _table("count(*) as n", window=(1000, 500), retention="1s")
    _run(table, (2600 * MS, "GER", 1))

    updates = _run(table, (1000 * MS, "GER", 1))

    assert [new and new[1] // MS for _, _, new in updates] == [1000]  # [500, 1500) has been gone since 2500
    assert table.late == 1


def test_a_group_goes_with_its_last_event_and_its_readers_hear_of_it() -> None:
    table, reader = _table("count(*) as n", retention="1s"), Reader()
    reader.read(_run(table, (0, "GER", 1), (0, "US", 1), (500 * MS, "US", 1), (100 * MS, "GER", 1)))

    updates = _run(table, (1100 * MS + 1, "FR", 1))
    reader.read(updates)
    again = _run(table, (2000 * MS, "GER", 1))
    reader.read(again)

    assert updates == [(1100 * MS + 1, ("GER", 2), None), (1100 * MS + 1, None, ("FR", 1))]
    assert again == [(2000 * MS, ("US", 2), None), (2000 * MS, None, ("GER", 1))]
    assert set(reader.rows) == _rows(table)


def test_the_record_that_ends_a_group_may_be_the_first_of_it_again() -> None:
    table = _table("count(*) as n", retention="1s")

    updates = _run(table, (0, "GER", 1), (2000 * MS, "GER", 1))

    assert updates[1:] == [(2000 * MS, ("GER", 1), None), (2000 * MS, None, ("GER", 1))]
    assert table.record(0, ("GER", 1)) == []
    assert table.late == 1


def test_without_retention_nothing_is_dropped() -> None:
    table = _table("count(*) as n", window=(10, 10))

    _run(table, (0, "GER", 1), (10**15, "GER", 1), (0, "GER", 1))

    assert table.get(("GER", 0, 10 * MS)) == ("GER", 0, 10 * MS, 2)
    assert table.late == 0


def test_what_is_as_old_as_the_retention_is_still_kept() -> None:
    groups, windows = _table("count(*) as n", retention="1s"), _table("count(*) as n", window=(10, 10), retention="1s")
    _run(groups, (0, "GER", 1), (1000 * MS, "US", 1))
    _run(windows, (0, "GER", 1), (1010 * MS - 1, "US", 1))

    assert _run(groups, (0, "GER", 1)) == [(0, ("GER", 1), ("GER", 2))]
    assert _run(groups, (1000 * MS, "GER", 1)) == [(1000 * MS, ("GER", 2), ("GER", 3))]
    assert _run(windows, (0, "GER", 1)) == [(0, ("GER", 0, 10 * MS, 1), ("GER", 0, 10 * MS, 2))]
    assert (groups.late, windows.late) == (0, 0)


def test_rows_of_windows_stay_with_the_readers_of_a_table_of_a_table_too() -> None:
    columns = "country string, window_start timestamp, window_end timestamp"
    table = _table(
        "count(*) as n", window=(10, 10), retention="1s", columns=columns, key=("country", "window_start", "window_end")
    )
    table.update(0, None, ("GER", 0, 5 * MS))

    updates = table.update(2000 * MS, None, ("US", 2000 * MS, 2005 * MS))

    assert updates == [(2000 * MS, None, ("US", 2000 * MS, 2010 * MS, 1))]
    assert len(table.stores[0]) == 1


def test_an_update_whose_own_time_ends_its_window_is_late() -> None:
    table = _table("count(*) as n", window=(10, 10), retention="1s")

    assert table.merge(("GER", 0, 10 * MS), [3], 5000 * MS) == []
    assert (table.late, len(table.stores[0])) == (1, 0)


def test_what_is_dropped_is_a_tombstone_and_lateness_survives_a_restart() -> None:
    table, again = (_table("count(*) as n", window=(10, 10), retention="1s") for _ in range(2))
    _run(table, (0, "GER", 1))
    log = reference.written(table.stores)
    _run(table, (2000 * MS, "US", 1))
    log += reference.written(table.stores)

    reference.restore(again.stores, reference.compacted(log))

    assert _rows(again) == _rows(table) == {("US", 2000 * MS, 2010 * MS, 1)}
    assert _run(again, (0, "GER", 1)) == []
    assert again.late == 1
    assert _run(again, (4000 * MS, "FR", 1)) != []
    assert again.get(("US", 2000 * MS, 2010 * MS)) is None


# What raises


def test_a_record_on_which_an_expression_raises_leaves_no_trace() -> None:
    table = _table("count(*) as n; sum(100 / amount) as shares")
    _run(table, (0, "GER", 10))
    before = reference.content(table.stores)

    with pytest.raises(expressions.ROW_ERRORS):
        table.record(1, ("GER", 0))

    assert reference.content(table.stores) == before


def test_a_total_that_does_not_fit_leaves_no_trace_in_any_window() -> None:
    table = _table("sum(amount) as total", window=(10, 5))
    _run(table, (5 * MS, "GER", MAX))
    before, written = reference.content(table.stores), table.stores[0].changes()
    assert written

    with pytest.raises(expressions.EvaluationError):
        table.record(4 * MS, ("GER", 1))

    assert reference.content(table.stores) == before
    assert table.stores[0].changes() == []


def test_of_an_update_that_raises_the_old_row_is_taken_back_all_the_same() -> None:
    table, reader = (
        _table("count(*) as n; sum(100 / amount) as shares", columns=f"id int, {CLICKS}", key=("id",)),
        Reader(),
    )
    reader.read(table.update(0, None, (1, "GER", 10)))
    reader.read(table.update(0, None, (2, "GER", 20)))

    with pytest.raises(expressions.ROW_ERRORS):
        table.update(1, (1, "GER", 10), (1, "GER", 0))
    reader.read(table.update(2, (1, "GER", 0), (1, "GER", 50)))  # the row with 0 was never in it

    assert set(reader.rows) == _rows(table) == {("GER", 2, 7.0)}


def test_readers_keep_the_row_of_a_total_that_does_not_fit_until_it_fits_again_also_after_a_restart() -> None:
    columns = f"id int, {CLICKS}"
    table, again = (_table("sum(amount) as total", columns=columns, key=("id",)) for _ in range(2))
    reader = Reader()
    reader.read(table.update(0, None, (1, "GER", MAX)))
    with pytest.raises(expressions.EvaluationError):
        table.update(0, None, (2, "GER", 1))

    reference.restore(again.stores, reference.written(table.stores))
    reader.read(again.update(1, (1, "GER", MAX), (1, "GER", 5)))

    assert set(reader.rows) == {("GER", 6)}


# Tables of tables


def test_a_row_that_moves_to_another_group_leaves_the_old_one_and_an_empty_group_leaves_the_table() -> None:
    table = _table("count(*) as n; sum(amount) as total", columns=f"id int, {CLICKS}", key=("id",))
    table.update(0, None, (1, "GER", 5))
    table.update(0, None, (2, "US", 7))

    updates = table.update(3, (1, "GER", 5), (1, "US", 6))

    assert updates == [(3, ("GER", 1, 5), None), (3, ("US", 1, 7), ("US", 2, 13))]
    assert _rows(table) == {("US", 2, 13)}


def test_of_a_windowed_table_the_time_of_a_row_is_its_window_start() -> None:
    columns = "country string, window_start timestamp, window_end timestamp, n bigint"
    table = _table("sum(n) as n", window=(4, 2), columns=columns, key=("country", "window_start", "window_end"))

    updates = table.update(99 * MS, None, ("GER", 6 * MS, 7 * MS, 3))

    assert updates == [
        (99 * MS, None, ("GER", 4 * MS, 8 * MS, 3)),
        (99 * MS, None, ("GER", 6 * MS, 10 * MS, 3)),
    ]


def test_what_cannot_be_taken_back_is_refused_where_rows_come_and_go() -> None:
    with pytest.raises(ValueError, match="max"):
        _table("max(amount) as most", updates=True)


# Partial states


def test_states_of_a_batch_are_merged_as_if_their_records_had_come() -> None:
    it = reference.operator(aggregate={"by": ["country"], "values": ["count(*) as n", "avg(price) as price"]})
    given = reference.relation("country string, price decimal(10,2)")
    out = reference.result(it, given)
    batch, table, alone = aggregation.combiner(it, given, out), Aggregation(it, given, out), Aggregation(it, given, out)
    records = [(t, ("GER" if t % 2 else None, Decimal(t).scaleb(-2))) for t in range(9)]
    for t, row in records:
        alone.record(t, row)
        (batch if t < 6 else table).record(t, row)

    partials = batch.partials()
    as_frames_have_them = [(key, [count, [str(total[0]), total[1]]], t) for key, (count, total), t in partials]
    updates = [update for partial in as_frames_have_them for update in table.merge(*partial)]

    assert [key for key, _, _ in partials] == [("GER",), (None,)]  # in the order of their bytes
    assert reference.content(table.stores) == reference.content(alone.stores)
    assert [(t, new and new[1]) for t, _, new in updates] == [(7, 4), (8, 5)]


def test_merged_states_are_late_as_records_are() -> None:
    table = _table("count(*) as n", window=(10, 10), retention="1s")
    _run(table, (2000 * MS, "GER", 1))

    assert table.merge(("GER", 0, 10 * MS), [5], 3 * MS) == []
    assert table.merge(("GER", 2000 * MS, 2010 * MS), [5], 2003 * MS) != []
    assert table.late == 1


# The code


def test_a_traceback_shows_the_generated_line() -> None:
    table = _table("sum(100 / amount) as shares")

    with pytest.raises(expressions.ROW_ERRORS) as caught:
        table.record(0, ("GER", 0))

    assert any("c_amount" in str(entry.statement) for entry in caught.traceback)
