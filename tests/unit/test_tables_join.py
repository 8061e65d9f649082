"""Two tables joined by their keys, tables that come from topics, and what a filter lets through of an update."""

from __future__ import annotations

from typing import Any

import pytest

import table_reference as reference
from spillway.runtime.tables.source_table import DAY, SourceTable
from spillway.runtime.tables.table_join import TableJoin
from spillway.runtime.tables.updates import passed
from table_reference import MS, Reader


def _join(kind: str = "inner", retention: str | None = None) -> TableJoin:
    it = reference.operator(retention, join={"table": "right", "by": ["k"], "type": kind})
    left, right = reference.relation("k string, a int", "k"), reference.relation("k string, b int", "k")
    return TableJoin(it, left, right, reference.result(it, left, right))


def test_example_23_each_version_of_either_side_makes_one_of_the_result() -> None:
    join = _join()
    updates = [
        *join.left(1, None, ("k", 1)),
        *join.right(2, None, ("k", 2)),
        *join.right(3, ("k", 2), ("k", 3)),
        *join.left(5, ("k", 1), ("k", 5)),
        *join.left(6, ("k", 5), ("k", 6)),
        *join.right(6, ("k", 3), ("k", 6)),
    ]

    assert updates == [
        (2, None, ("k", 1, 2)),
        (3, ("k", 1, 2), ("k", 1, 3)),
        (5, ("k", 1, 3), ("k", 5, 3)),
        (6, ("k", 5, 3), ("k", 6, 3)),
        (6, ("k", 6, 3), ("k", 6, 6)),
    ]
    assert join.get(("k",)) == ("k", 6, 6)


def test_the_time_of_a_result_does_not_go_back() -> None:
    join = _join("left")

    assert join.left(5, None, ("k", 1)) == [(5, None, ("k", 1, None))]
    assert join.left(3, ("k", 1), ("k", 2)) == [(5, ("k", 1, None), ("k", 2, None))]
    assert join.right(4, None, ("k", 7)) == [(5, ("k", 2, None), ("k", 2, 7))]


CASES: dict[str, list[Any]] = {
    "inner": [[], [("k", 1, 2)], []],
    "left": [[("k", 1, None)], [("k", 1, 2)], []],
    "right": [[], [("k", 1, 2)], [("k", None, 2)]],
    "full": [[("k", 1, None)], [("k", 1, 2)], [("k", None, 2)]],
}


@pytest.mark.parametrize("kind", CASES)
def test_rows_come_and_go_on_both_sides(kind: str) -> None:
    join, reader, found = _join(kind), Reader(), []
    steps: list[tuple[Any, ...]] = [
        (join.left, None, ("k", 1)),
        (join.right, None, ("k", 2)),
        (join.left, ("k", 1), None),
    ]
    for t, (side, old, new) in enumerate(steps):
        reader.read(side(t, old, new))
        found.append([*reader.rows])
        assert join.scan(10) == found[-1]

    assert found == CASES[kind]
    reader.read(join.right(4, ("k", 2), None))
    assert not reader.rows


def test_an_update_on_one_side_only_is_not_emitted_by_an_inner_join() -> None:
    join = _join()

    assert join.left(1, None, ("k", 1)) == []
    assert join.left(2, ("k", 1), ("k", 2)) == []
    assert join.right(1, None, ("k", 7)) == [(2, None, ("k", 2, 7))]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("inner", []), ("left", [(None, 1, None)]), ("right", [(None, None, 2)]), ("full", [(None, 1, None)])],
)
def test_null_matches_nothing_and_a_result_has_one_row_for_each_key(kind: str, expected: list[Any]) -> None:
    join, reader = _join(kind), Reader()
    reader.read(join.right(1, None, (None, 2)))
    reader.read(join.left(1, None, (None, 1)))

    assert [*reader.rows] == expected


def test_the_result_is_found_by_its_own_key_whatever_the_order_of_by() -> None:
    it = reference.operator(join={"table": "right", "by": ["y", "x"]})
    left, right = reference.relation("x int, y int", "x", "y"), reference.relation("x int, y int, b int", "y", "x")
    join = TableJoin(it, left, right, reference.result(it, left, right))
    join.left(0, None, (1, 2))
    join.right(0, None, (1, 2, 3))

    assert join.get((1, 2)) == (1, 2, 3)


def test_a_retention_drops_rows_by_their_last_update_and_tells_readers() -> None:
    join, reader = _join("left", "1s"), Reader()
    reader.read(join.left(0, None, ("k", 1)))
    reader.read(join.right(500 * MS, None, ("k", 2)))
    reader.read(join.left(1200 * MS, None, ("m", 3)))
    assert [*reader.rows] == [("m", 3, None)]

    assert (join.left(100 * MS, None, ("k", 7)), join.late) == ([], 1)
    reader.read(join.left(1300 * MS, None, ("k", 8)))

    assert set(reader.rows) == {("m", 3, None), ("k", 8, 2)}


def test_a_row_that_went_and_came_back_is_dropped_once() -> None:
    join = _join("left", "1s")
    for old, new in [(None, ("k", 1)), (("k", 1), None), (None, ("k", 2))]:
        join.left(0, old, new)

    updates = join.left(1200 * MS, None, ("m", 3))

    assert updates == [(1200 * MS, ("k", 2, None), None), (1200 * MS, None, ("m", 3, None))]


def test_rows_of_windows_go_with_their_window_and_stay_with_readers() -> None:
    columns = "k string, window_start timestamp, window_end timestamp"
    key = ("k", "window_start", "window_end")
    it = reference.operator("1s", join={"table": "right", "by": key, "type": "left"})
    left, right = reference.relation(f"{columns}, a int", *key), reference.relation(f"{columns}, b int", *key)
    join = TableJoin(it, left, right, reference.result(it, left, right))
    join.left(5, None, ("k", 0, 10 * MS, 1))
    join.right(6, None, ("k", 0, 10 * MS, 2))

    updates = join.left(1010 * MS, None, ("m", 1010 * MS, 1020 * MS, 1))

    assert [new and new[0] for _, _, new in updates] == ["m"]
    assert [len(store) for store in join.stores] == [1, 0]
    assert (join.right(7, None, ("k", 0, 10 * MS, 9)), join.late) == ([], 1)


def test_after_a_restart_a_join_goes_on_as_if_nothing_had_been() -> None:
    one, other = _join("full", "1s"), _join("full", "1s")
    one.left(0, None, ("k", 1))
    one.right(500 * MS, None, ("m", 2))
    reference.restore(other.stores, reference.written(one.stores))

    found = [join.left(1400 * MS, None, ("z", 3)) + join.right(1500 * MS, ("m", 2), ("m", 4)) for join in (one, other)]

    assert found[0] == found[1]
    assert reference.content(one.stores) == reference.content(other.stores)


# Tables from topics


def test_messages_become_updates_and_older_ones_change_nothing() -> None:
    table = SourceTable(reference.relation("k string, v int", "k"))

    assert table.update(5, ("k", 1), ("k", 1)) == [(5, None, ("k", 1))]
    assert table.update(4, ("k", 0), ("k", 0)) == []
    assert table.update(5, ("k", 2), ("k", 2)) == [(5, ("k", 1), ("k", 2))]
    assert table.update(6, ("k", 2), ("k", 2)) == []
    assert table.update(7, ("k", None), None) == [(7, ("k", 2), None)]
    assert table.update(6, ("k", 9), ("k", 9)) == []
    assert (table.late, table.get(("k",)), table.scan(9)) == (2, None, [])


def test_a_deletion_is_remembered_for_a_day() -> None:
    table = SourceTable(reference.relation("k string, v int", "k"))
    table.update(5, ("k", 1), None)
    assert len(table.stores[0]) == 1

    table.update(DAY + 6, ("m", 1), ("m", 1))

    assert len(table.stores[0]) == 1
    assert [value is None for _, value in reference.written(table.stores)[:2]] == [True, False]


# Filters and selects


def test_what_a_filter_lets_through_is_an_insert_an_update_or_a_delete() -> None:
    row, other = ("k", 1), ("k", 2)

    assert passed(0, row, other) == [(0, row, other)]
    assert passed(0, None, other) == [(0, None, other)]
    assert passed(0, row, None) == [(0, row, None)]
    assert passed(0, None, None) == []
    assert passed(0, row, row) == []
