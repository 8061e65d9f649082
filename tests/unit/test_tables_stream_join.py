"""Two streams joined within a span of time: the examples of the thesis, duplicates, nulls, retention, restarts."""

from __future__ import annotations

from typing import Any

import pytest

import table_reference as reference
from spillway.runtime.tables.stream_join import StreamJoin
from table_reference import MS, Reader, Update

LEFT, RIGHT = "k string, a int", "k string, b int"

# Figure 5.4: value and place in its stream, by time. The window is 6.
S = {1: ("A", 1), 2: ("A", 2), 4: ("C", 3), 5: ("E", 4), 9: ("B", 5)}
T = {2: ("B", 1), 3: ("D", 2), 6: ("E", 3), 7: ("E", 4), 8: ("A", 5)}

INNER = {(6, "E", 4, 3), (7, "E", 4, 4), (8, "A", 2, 5)}
LEFT_ALONE = {(1, "A", 1, None), (4, "C", 3, None), (9, "B", 5, None)}
RIGHT_ALONE = {(2, "B", None, 1), (3, "D", None, 2)}
EXAMPLE_19: dict[str, set[Any]] = {
    "inner": INNER,
    "left": INNER | LEFT_ALONE,
    "right": INNER | RIGHT_ALONE,
    "full": INNER | LEFT_ALONE | RIGHT_ALONE,
}


def _join(
    kind: str = "inner", *, within: str = "6ms", retention: str | None = None, by: tuple[str, ...] = ("k",)
) -> StreamJoin:
    it = reference.operator(retention, join={"stream": "right", "by": by, "type": kind, "within": within})
    left, right = reference.relation(LEFT), reference.relation(RIGHT)
    return StreamJoin(it, left, right, reference.result(it, left, right), apart=False)


def _run(join: StreamJoin, *records: tuple[str, int, tuple[Any, ...]]) -> list[Update]:
    return [update for side, t, row in records for update in getattr(join, side)(t * MS, row)]


def _final(updates: list[Update]) -> set[Any]:
    reader = Reader()
    reader.read(updates)
    found = {(t // MS, *row) for (t, row) in reader.timed if reader.rows[row]}
    assert len(found) == reader.rows.total()
    return found


IN_ORDER = sorted(
    [("left", t, row) for t, row in S.items()] + [("right", t, row) for t, row in T.items()], key=lambda r: r[1]
)


@pytest.mark.parametrize("kind", EXAMPLE_19)
def test_example_19_results_of_ordered_streams(kind: str) -> None:
    assert _final(_run(_join(kind), *IN_ORDER)) == EXAMPLE_19[kind]


def test_example_21_left_results_go_out_alone_and_are_updated_later() -> None:
    updates = _run(_join("left"), *IN_ORDER)

    assert [(t // MS, old, new) for t, old, new in updates] == [
        (1, None, ("A", 1, None)),
        (2, None, ("A", 2, None)),
        (4, None, ("C", 3, None)),
        (5, None, ("E", 4, None)),
        (6, ("E", 4, None), ("E", 4, 3)),  # the key <3, null> again
        (7, None, ("E", 4, 4)),  # a key of its own: <3, 3>
        (8, ("A", 2, None), ("A", 2, 5)),
        (9, None, ("B", 5, None)),
    ]


def test_example_21_right_results_need_no_update_here() -> None:
    updates = _run(_join("right"), *IN_ORDER)

    assert [old for _, old, _ in updates] == [None] * 5
    assert {(t // MS, *(new or ())) for t, _, new in updates} == EXAMPLE_19["right"]


def test_apart_a_result_is_taken_back_at_its_own_time() -> None:
    it = reference.operator(join={"stream": "right", "by": ["k"], "type": "left", "within": "6ms"})
    left, right = reference.relation(LEFT), reference.relation(RIGHT)
    join = StreamJoin(it, left, right, reference.result(it, left, right))
    _run(join, ("left", 5, ("E", 4)), ("left", 5, ("F", 4)))

    assert _run(join, ("right", 6, ("E", 3)), ("right", 4, ("F", 3))) == [
        (5 * MS, ("E", 4, None), None),
        (6 * MS, None, ("E", 4, 3)),
        (5 * MS, ("F", 4, None), ("F", 4, 3)),
    ]


# E4 of the left comes last of its stream, D2 of the right after E3 and E4.
UNORDERED = [
    ("left", 1, S[1]), ("right", 2, T[2]), ("left", 2, S[2]), ("left", 4, S[4]), ("right", 6, T[6]), ("right", 7, T[7]),
    ("right", 3, T[3]), ("right", 8, T[8]), ("left", 9, S[9]), ("left", 5, S[5]),
]  # fmt: skip


@pytest.mark.parametrize("kind", EXAMPLE_19)
def test_example_22_unordered_streams_end_in_the_same(kind: str) -> None:
    assert _final(_run(_join(kind), *UNORDERED)) == EXAMPLE_19[kind]


def test_example_22_a_late_record_updates_the_results_of_both_that_waited_for_it() -> None:
    updates = _run(_join("full"), *UNORDERED)

    assert [(t // MS, old, new) for t, old, new in updates[-2:]] == [
        (6, ("E", None, 3), ("E", 4, 3)),
        (7, ("E", None, 4), ("E", 4, 4)),
    ]


def test_equal_records_are_records_of_their_own() -> None:
    updates = _run(_join("left"), *[("left", 1, ("A", 1))] * 2, *[("right", 2, ("A", 7))] * 2)

    reader = Reader()
    reader.read(updates)
    assert reader.rows == {("A", 1, 7): 4}
    assert [old for _, old, _ in updates] == [None, None, ("A", 1, None), ("A", 1, None), None, None]


def test_both_ends_of_the_span_match_and_a_microsecond_more_does_not() -> None:
    join = _join()
    join.left(10 * MS, ("A", 1))

    found = [bool(join.right(t, ("A", 1))) for t in (4 * MS - 1, 4 * MS, 16 * MS, 16 * MS + 1)]

    assert found == [False, True, True, False]


def test_null_matches_nothing_not_even_null() -> None:
    records = [("left", 1, (None, 1)), ("right", 1, (None, 2))]

    assert _run(_join("inner"), *records) == []
    assert _final(_run(_join("full"), *records)) == {(1, None, 1, None), (1, None, None, 2)}
    assert [len(store) for store in _join("full").stores] == [0, 0]


def test_a_retention_bounds_the_buffers_and_what_comes_later_is_counted() -> None:
    join = _join("left", retention="1s")
    for t in range(0, 5000, 10):
        _run(join, ("left", t, ("A", t)), ("right", t, ("B", t)))

    assert [len(store) for store in join.stores] == [101, 101]  # 1000 ms and what 6 ms reach: 3990 is needed no more
    assert _run(join, ("right", 3989, ("A", 1))) == []
    assert join.late == 1
    assert len(_run(join, ("right", 3990, ("A", 1)))) == 1


def test_who_is_in_time_finds_partners_that_were_in_time() -> None:
    join = _join(within="100ms", retention="1s")
    _run(join, ("left", 0, ("A", 1)), ("left", 1100, ("B", 1)))

    assert _run(join, ("right", 100, ("A", 2))) == [(100 * MS, None, ("A", 1, 2))]


def test_a_record_that_is_taken_back_takes_its_results_with_it_and_leaves_partners_alone() -> None:
    join = _join("full")
    _run(join, ("left", 1, ("A", 1)), ("left", 2, ("A", 2)), ("right", 3, ("A", 7)))

    first = join.left_update(1 * MS, ("A", 1), None)
    second = join.left_update(2 * MS, ("A", 2), ("B", 2))

    assert first == [(3 * MS, ("A", 1, 7), None)]
    assert second == [(3 * MS, ("A", 2, 7), None), (3 * MS, None, ("A", None, 7)), (2 * MS, None, ("B", 2, None))]
    assert _run(join, ("left", 4, ("A", 4))) == [(4 * MS, ("A", None, 7), ("A", 4, 7))]
    assert join.left_update(1 * MS, ("A", 1), None) == []
    assert join.left_update(1 * MS, (None, 1), None) == [(1 * MS, (None, 1, None), None)]


def test_after_a_restart_it_goes_on_as_if_nothing_had_been() -> None:
    for cut in range(len(UNORDERED)):
        one, other = _join("full", retention="1s"), _join("full", retention="1s")
        updates = _run(one, *UNORDERED[:cut])
        reference.restore(other.stores, reference.written(one.stores))

        updates += _run(other, *UNORDERED[cut:])

        assert updates == _run(_join("full", retention="1s"), *UNORDERED)


def test_the_key_of_a_row_without_a_left_side_is_that_of_the_right() -> None:
    it = reference.operator(join={"stream": "r", "by": ["x", "y"], "type": "full", "within": "1s"})
    left, right = reference.relation("a int, y int, x string"), reference.relation("x string, b int, y int, c int")
    join = StreamJoin(it, left, right, reference.result(it, left, right))

    assert join.right(0, ("k", 1, 2, 3)) == [(0, None, (None, 2, "k", 1, 3))]
    assert join.left(0, (5, 2, "k")) == [(0, (None, 2, "k", 1, 3), (5, 2, "k", 1, 3))]
    assert join.left(0, (6, None, "k")) == [(0, None, (6, None, "k", None, None))]
