"""What is done ahead of a position, and how that is written beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillway.controllers import ahead
from spillway.controllers.ahead import Ahead


def test_a_range_that_is_done_is_left_out_and_what_touches_is_one() -> None:
    found = Ahead(10)
    found.passed(20, 30)
    found.passed(40, 50)
    found.passed(30, 40)

    assert found.done == ((20, 50),)
    assert (found.position, found.top, found.count) == (10, 50, 30)
    assert [found.has(offset) for offset in (9, 10, 19, 20, 49, 50)] == [True, False, False, True, True, False]


def test_the_position_jumps_over_what_is_done_once_the_gap_before_it_is() -> None:
    found = Ahead(10, [(20, 30), (40, 50)])
    assert found.gap(60) == (10, 20)

    found.passed(10, 20)

    assert (found.position, found.done, found.gap(60), found.gap(30)) == (30, ((40, 50),), (30, 40), None)


def test_who_says_where_to_go_on_leaves_out_all_below() -> None:
    found = Ahead(10, [(20, 30), (40, 50)])
    found.jump(45)

    assert (found.position, found.done) == (50, ())


def test_a_note_says_by_turns_how_much_was_set_aside_and_how_much_is_done() -> None:
    assert Ahead(100, [(120, 150), (151, 160)]).note() == "done ahead:20 30 1 9"
    assert Ahead(100).note() == ""


@pytest.mark.parametrize("note", [None, "", "by somebody else", "done ahead:", "done ahead:1", "done ahead:1 x"])
def test_of_a_note_that_is_not_ours_nothing_is_done_so_that_nothing_is_left_out(note: str | None) -> None:
    assert ahead.read(100, note) == ()


def test_no_gap_is_begun_for_which_a_broker_would_have_no_room() -> None:
    found, at = Ahead(10**9), 10**9
    while not found.full:
        at += 10**6
        found.passed(at, at + 10**6)
        at += 10**6

    assert len(found.note()) < 4096 - 2 * len(str(10**15))
    assert len(found.done) > 200


@given(st.integers(0, 120))
def test_a_note_says_the_same_from_any_position_on_also_within_what_is_done(position: int) -> None:
    done = ((20, 30), (40, 50), (90, 100))
    known = ahead.read(position, ahead.write(position, done))

    left = [n for n in range(120) if not Ahead(position, known).has(n)]
    assert left == [n for n in range(position, 120) if not Ahead(0, done).has(n)]


STRETCHES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda s: (s[0], s[0] + s[1])), max_size=30)


@given(st.integers(0, 30), STRETCHES)
def test_it_is_a_set_of_offsets(position: int, stretches: list[tuple[int, int]]) -> None:
    found, right = Ahead(position), set(range(position))
    for start, stop in stretches:
        found.passed(start, stop)
        right |= set(range(start, stop)) if start > found.position else set(range(stop))
        assert {offset for offset in range(100) if found.has(offset)} == right
        assert found.position == min(set(range(101)) - right)
        assert list(found.done) == sorted(found.done)
        assert ahead.read(found.position, found.note()) == found.done
