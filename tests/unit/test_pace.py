"""As many messages at once as a slot is done with in ten milliseconds."""

from __future__ import annotations

import pytest

from spillway.runtime.slots import pace
from spillway.runtime.slots.pace import Pace


def turns(cost: float, count: int, *, there: int = 10**6) -> Pace:
    """What a slot takes at once after so many turns of messages that cost so many seconds each."""
    found = Pace()
    for _ in range(count):
        taken = min(found.most, there)
        found.took(taken, taken * cost)
    return found


@pytest.mark.parametrize("cost", [2e-6, 5e-6, 50e-6, 1e-3, 9e-3])
def test_turns_of_a_slot_with_much_to_do_come_to_take_about_ten_milliseconds(cost: float) -> None:
    found = turns(cost, 50)
    assert found.most == pace.MOST or pace.STEP / 2 <= found.most * cost <= 2 * pace.STEP


def test_messages_that_take_longer_than_a_turn_are_taken_one_by_one() -> None:
    assert turns(0.5, 5).most == 1


def test_one_turn_that_had_to_wait_for_a_core_changes_little() -> None:
    found = turns(2e-6, 20)
    found.took(3, 4.0)
    assert found.most == pace.MOST / 2


def test_few_messages_say_nothing_about_many() -> None:
    assert turns(2e-6, 50, there=3).most == pace.FIRST
