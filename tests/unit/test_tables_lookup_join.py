"""A stream that looks up rows of a table: the examples of the thesis, late rows, replicas, retention."""

from __future__ import annotations

from typing import Any

import pytest

import table_reference as reference
from spillway.runtime.tables.lookup_join import LookupJoin, Replica
from spillway.runtime.tables.versions import Versions
from table_reference import MS

# Example 14: time, key, row; None deletes.
EXAMPLE_14 = [(1, "A", 7.2), (3, "A", 8.9), (4, "B", 4.7), (2, "C", 3.3), (3, "A", None), (0, "B", 9.9), (1, "A", 2.8)]
GENERATIONS: dict[int, dict[int, dict[str, float]]] = {
    1: {0: {}, 1: {"A": 7.2}},
    2: {0: {}, 1: {"A": 7.2}, 2: {"A": 7.2}, 3: {"A": 8.9}},
    3: {2: {"A": 7.2}, 3: {"A": 8.9}, 4: {"A": 8.9, "B": 4.7}},
    4: {1: {"A": 7.2}, 2: {"A": 7.2, "C": 3.3}, 3: {"A": 8.9, "C": 3.3}, 4: {"A": 8.9, "B": 4.7, "C": 3.3}},
    5: {2: {"A": 7.2, "C": 3.3}, 3: {"C": 3.3}, 4: {"B": 4.7, "C": 3.3}},
    6: {0: {"B": 9.9}, 1: {"A": 7.2, "B": 9.9}, 3: {"B": 9.9, "C": 3.3}, 4: {"B": 4.7, "C": 3.3}},
    7: {
        0: {"B": 9.9},
        1: {"A": 2.8, "B": 9.9},
        2: {"A": 2.8, "B": 9.9, "C": 3.3},
        3: {"B": 9.9, "C": 3.3},
        4: {"B": 4.7, "C": 3.3},
    },
}

LEFT, RIGHT = "n int, k string", "k string, v int"


def _joined(
    kind: str = "inner", *, as_of: str | None = None, retention: str | None = None, **shared: Any
) -> LookupJoin:
    it, left, right = _parts(kind, as_of, retention)
    return LookupJoin(it, left, right, reference.result(it, left, right), **shared)


def _parts(kind: str, as_of: str | None = None, retention: str | None = None) -> Any:
    join = {"table": "right", "by": ["k"], "type": kind, **({} if as_of is None else {"asOf": as_of})}
    return reference.operator(retention, join=join), reference.relation(LEFT), reference.relation(RIGHT, "k")


@pytest.mark.parametrize("generation", GENERATIONS)
def test_example_14_a_table_evolves(generation: int) -> None:
    relation = reference.relation("k string, v double", "k")
    table = Versions(relation.schema, [relation.schema.columns[0].type])
    for t, key, value in EXAMPLE_14[:generation]:
        table.update(key, t, None if value is None else (key, value))

    found = {
        t: {key: row[1] for key in "ABC" if (row := table.at(key, t)) is not None} for t in GENERATIONS[generation]
    }

    assert found == GENERATIONS[generation]


EXAMPLE_20 = [(2, "A", 1), (3, "B", 2), (4, "B", 3), (6, "A", None)]
RECORDS = [(1, "A"), (3, "B"), (4, "A"), (5, "B"), (6, "A")]


def _table(join: LookupJoin, *updates: tuple[int, str, int | None]) -> list[Any]:
    found = []
    for t, key, value in updates:
        found += join.table(t * MS, (key, None), None if value is None else (key, value))
    return [(t // MS, old, new) for t, old, new in found]


def _stream(join: LookupJoin, *records: tuple[int, str | None]) -> list[Any]:
    return [(t // MS, *row) for at, key in records for t, row in join.record(at * MS, (at, key))]


EXPECTED: dict[str, list[Any]] = {
    "inner": [(3, 3, "B", 2), (4, 4, "A", 1), (5, 5, "B", 3)],
    "left": [(1, 1, "A", None), (3, 3, "B", 2), (4, 4, "A", 1), (5, 5, "B", 3), (6, 6, "A", None)],
}


@pytest.mark.parametrize("kind", EXPECTED)
def test_example_20_each_record_meets_the_version_of_its_time(kind: str) -> None:
    join = _joined(kind)
    found = []
    for t in range(1, 7):  # of equal times the table comes first
        _table(join, *[update for update in EXAMPLE_20 if update[0] == t])
        found += _stream(join, *[record for record in RECORDS if record[0] == t])

    assert found == EXPECTED[kind]


@pytest.mark.parametrize("kind", EXPECTED)
def test_late_records_and_late_rows_find_their_place(kind: str) -> None:
    join = _joined(kind)
    _table(join, *reversed(EXAMPLE_20))

    assert sorted(_stream(join, *reversed(RECORDS))) == EXPECTED[kind]


def test_a_record_before_its_row_goes_out_at_once_and_without_retention_stays_as_it_is() -> None:
    join = _joined("left")

    assert _stream(join, (5, "A")) == [(5, 5, "A", None)]
    assert _table(join, (4, "A", 1)) == []
    assert not join.corrects


def test_with_retention_a_late_row_updates_the_results_that_it_would_have_changed() -> None:
    join = _joined("left", retention="1s")
    assert join.corrects
    _table(join, (3, "B", 2))
    _stream(join, (3, "B"), (4, "B"), (5, "B"), (5, "A"))

    assert _table(join, (4, "B", 3)) == [(4, (4, "B", 2), (4, "B", 3)), (5, (5, "B", 2), (5, "B", 3))]
    assert _table(join, (1, "A", 9), (4, "A", None)) == [
        (5, (5, "A", None), (5, "A", 9)),
        (5, (5, "A", 9), (5, "A", None)),
    ]
    assert _table(join, (4, "B", 3), (6, "B", 8)) == []


def test_a_late_row_changes_nothing_from_the_next_version_on() -> None:
    join = _joined("left", retention="1s")
    _table(join, (5, "A", 5))
    _stream(join, (3, "A"), (4, "A"), (5, "A"))

    assert _table(join, (4, "A", 4)) == [(4, (4, "A", None), (4, "A", 4))]


def test_of_an_inner_join_late_rows_insert_and_delete_results() -> None:
    join = _joined("inner", retention="1s")
    assert _stream(join, (5, "A")) == []

    assert _table(join, (4, "A", 1)) == [(5, None, (5, "A", 1))]
    assert _table(join, (5, "A", None)) == [(5, (5, "A", 1), None)]


def test_the_newest_row_is_that_of_the_largest_time_whenever_it_came() -> None:
    join = _joined("left", as_of="latest")
    _table(join, (5, "A", 5), (3, "A", 3))
    assert _stream(join, (1, "A")) == [(1, 1, "A", 5)]

    _table(join, (5, "A", 6))
    assert _stream(join, (1, "A")) == [(1, 1, "A", 6)]

    _table(join, (7, "A", None), (6, "A", 9))
    assert _stream(join, (9, "A")) == [(9, 9, "A", None)]


def test_null_finds_nothing() -> None:
    join = _joined("left", retention="1s")
    join.table(0, None, (None, 1))

    assert _stream(join, (1, None)) == [(1, 1, None, None)]
    assert [len(store) for store in join.stores] == [0, 0]


def test_a_retention_keeps_the_versions_that_can_still_be_asked_for() -> None:
    join = _joined("left", retention="1s")
    _table(join, (1, "A", 1), (100, "A", 2), (200, "A", None), (1, "B", 1), (1, "C", 1), (1100, "C", 2))

    _stream(join, (1150, "B"))
    assert _stream(join, (150, "A"), (150, "B"), (149, "A")) == [(150, 150, "A", 2), (150, 150, "B", 1)]
    assert join.late == 1
    assert len(join.stores[0]) == 5  # of A: 2, and that it was deleted; of B: 1; of C: both

    _stream(join, (1250, "B"))
    assert len(join.stores[0]) == 3  # nothing of A
    assert _stream(join, (1250, "A"), (300, "C"), (1250, "C")) == [
        (1250, 1250, "A", None),
        (300, 300, "C", 1),
        (1250, 1250, "C", 2),
    ]
    assert len(join.stores[1]) == 5  # records since 250


def test_a_deleted_row_is_remembered_by_the_newest_as_long_as_retention_says() -> None:
    join = _joined("left", as_of="latest", retention="1s")
    _table(join, (5, "A", 5), (6, "A", None))
    assert len(join.stores[0]) == 1

    _stream(join, (1007, "A"))

    assert len(join.stores[0]) == 0
    assert reference.compacted(reference.written(join.stores))[0][1] is None


@pytest.mark.parametrize("as_of", ["timestamp", "latest"])
def test_after_a_restart_it_goes_on_as_if_nothing_had_been(as_of: str) -> None:
    one, other = (_joined("left", as_of=as_of, retention="1s") for _ in range(2))
    for join in (one,):
        _table(join, *EXAMPLE_20)
        _stream(join, *RECORDS)
    reference.restore(other.stores, reference.written(one.stores))

    for join in (one, other):
        join.late = 0
    more = [_stream(join, (3, "B"), (900, "B"), (1004, "B"), (3, "B")) for join in (one, other)]
    late = [_table(join, (4, "B", 7), (5, "A", 8)) for join in (one, other)]

    assert more[0] == more[1]
    assert late[0] == late[1]
    assert reference.content(one.stores) == reference.content(other.stores)
    assert one.late == other.late == 1


@pytest.mark.parametrize("as_of", ["timestamp", "latest"])
def test_rows_of_an_operator_are_in_the_order_in_which_they_come(as_of: str) -> None:
    join = _joined("left", as_of=as_of, derived=True)
    join.table(5 * MS, None, ("A", 1))
    join.table(9 * MS, ("A", 1), None)
    join.table(7 * MS, None, ("A", 2))  # the group is there again, by a late record

    assert _stream(join, (9, "A")) == [(9, 9, "A", 2)]


def test_joins_of_several_partitions_share_a_replica() -> None:
    it, left, right = _parts("inner", retention="1s")
    replica = Replica(it, left, right)
    joins = [_joined("inner", retention="1s", replica=replica) for _ in range(2)]
    replica.update(0, None, ("A", 1))
    replica.update(500 * MS, None, ("A", 2))

    assert _stream(joins[0], (100, "A"), (600, "A")) == [(100, 100, "A", 1), (600, 600, "A", 2)]
    assert _stream(joins[1], (400, "A")) == [(400, 400, "A", 1)]
    assert (joins[0].stores, joins[0].corrects) == ((), False)


def test_a_replica_keeps_what_the_slowest_of_its_joins_may_ask_for() -> None:
    it, left, right = _parts("inner", retention="1s")
    replica = Replica(it, left, right)
    fast, slow = (_joined("inner", retention="1s", replica=replica) for _ in range(2))
    _stream(slow, (100, "A"))
    for t in (0, 500, 5000):
        replica.update(t * MS, None, ("A", t))
    _stream(fast, (9000, "A"))
    assert _stream(slow, (200, "A")) == [(200, 200, "A", 0)]

    slow.close()
    _stream(fast, (9001, "A"))

    assert len(replica.store) == 1


def test_a_partition_that_begins_with_records_older_than_the_replica_counts_them_as_late() -> None:
    it, left, right = _parts("inner", retention="1s")
    replica = Replica(it, left, right)
    fast, slow = (_joined("inner", retention="1s", replica=replica) for _ in range(2))
    for t in (0, 500):
        replica.update(t * MS, None, ("A", t))
    _stream(fast, (9000, "A"))

    assert (_stream(slow, (200, "A")), slow.late) == ([], 1)
    assert _stream(slow, (8500, "A")) == [(8500, 8500, "A", 500)]
