"""How much a slot takes at once."""

from __future__ import annotations

from collections.abc import Callable

from spillway.runtime.slots import pace
from spillway.runtime.slots.pace import STEP, Pace

SOME = 1_000  # turns, enough for everything to settle


def _settled(found: Pace, size: int, each: Callable[[int], tuple[float, float]]) -> int:
    """The most that the last of many turns take, of messages of a size; `each` says what so many of them cost."""
    taken = []
    for _ in range(SOME):
        count = max(1, min(found.most, -(-found.room // size)))
        found.took(count, count * size, *each(count))
        taken.append(count)
    return max(taken[-10:])


def test_a_turn_of_small_records_is_as_long_as_it_may_be() -> None:
    count = _settled(Pace(), 200, lambda count: (count * 5e-6, count * 5e-6))
    assert STEP / 2 <= count * 5e-6 <= 2 * STEP


def test_a_message_that_takes_longer_than_a_turn_is_taken_alone() -> None:
    assert _settled(Pace(), 200, lambda count: (count * 1.0, count * 1.0)) == 1


def test_frames_that_come_after_records_are_no_longer_turn_because_their_bytes_count() -> None:
    found = Pace()
    _settled(found, 300, lambda count: (count * 80e-6, count * 80e-6))  # lines of 35 words
    frames = max(1, found.room // 12_000)
    assert frames * 1e-3 <= 4 * STEP  # of 300 rows
    assert found.most > 10 * frames  # by messages alone it would have been so many


def test_a_busy_machine_makes_turns_no_shorter_and_waiting_for_a_service_does() -> None:
    starved = _settled(Pace(), 200, lambda count: (count * 15e-6, count * 5e-6))
    assert starved * 5e-6 >= STEP / 2
    waiting = _settled(Pace(), 200, lambda count: (count * 0.002, count * 5e-6))
    assert waiting * 0.002 <= 2 * STEP / pace.WAITING


def test_nothing_grows_beyond_what_a_client_has_at_hand() -> None:
    found = Pace()
    _settled(found, 100_000, lambda _: (0.0, 0.0))
    _settled(found, 1, lambda _: (0.0, 0.0))
    assert (found.most, found.room) == (pace.MOST, pace.MOST_ROOM)
