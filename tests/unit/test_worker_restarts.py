"""When a slot is started again, and which messages its next process is careful with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spillway.runtime.slots.settings import Suspect
from spillway.runtime.worker import restarts, suspects
from spillway.runtime.worker.restarts import Restarts
from spillway.runtime.worker.suspects import Suspects


def test_pauses_double_up_to_a_bound() -> None:
    after = Restarts()

    assert [after.pause(ran=1) for _ in range(8)] == [0, 1, 2, 4, 8, 10, 10, 10]


def test_after_a_minute_of_work_the_next_start_is_at_once_again() -> None:
    after = Restarts()
    for _ in range(5):
        after.pause(ran=1)

    assert after.pause(ran=restarts.STABLE) == 0
    assert after.pause(ran=1) == 1


def test_a_year_of_crashes_is_no_problem() -> None:
    after = Restarts()
    after._row = 10**6  # noqa: SLF001

    assert after.pause(ran=0) == restarts.LONGEST


def kept(*notes: tuple[int, int]) -> list[tuple[int, int]]:
    """Of notes of one partition, as start and stop."""
    known = Suspects()
    for start, stop in notes:
        known.add(Suspect("counts", 3, start, stop))
    return [(suspect.start, suspect.stop) for suspect in known.all]


def test_a_range_is_kept_as_it_is() -> None:
    assert kept((10, 20)) == [(10, 20)]


def test_a_single_message_is_the_culprit_only_the_second_time() -> None:
    assert kept((14, 15)) == [(14, 16)]
    assert kept((14, 15), (14, 15)) == [(14, 16), (14, 15)]
    assert kept((10, 20), (14, 15)) == [(10, 20), (14, 15)]


def test_a_single_message_beside_a_range_is_no_culprit_yet() -> None:
    assert kept((10, 20), (20, 21)) == [(10, 20), (20, 22)]


def test_the_same_message_of_another_partition_is_no_culprit() -> None:
    known = Suspects()
    known.add(Suspect("counts", 3, 14, 15))
    known.add(Suspect("counts", 4, 14, 15))
    known.add(Suspect("views", 3, 14, 15))

    assert all(suspect.stop == 16 for suspect in known.all)


def test_what_is_found_again_is_kept_once_as_the_newest() -> None:
    assert kept((10, 20), (30, 40), (10, 20)) == [(30, 40), (10, 20)]


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 5)), max_size=300))
def test_the_newest_are_kept_and_never_too_many(notes: list[tuple[int, int]]) -> None:
    ranges = [(start, start + length) for start, length in notes]

    found = kept(*ranges)

    assert len(found) <= suspects.MOST
    assert len(set(found)) == len(found)
    if ranges:
        start, stop = ranges[-1]
        assert found[-1] in {(start, stop), (start, stop + 1)}


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 3)), max_size=30))
def test_no_single_message_is_kept_that_no_earlier_note_had(notes: list[tuple[int, int]]) -> None:
    ranges = [(start, start + length) for start, length in notes]

    for start, stop in kept(*ranges):
        if stop - start == 1:
            assert sum(first <= start < last for first, last in ranges) > 1
