"""Where a slot says that the time of its records went."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillway.controllers.latency.phases import Phase
from spillway.runtime import task
from spillway.runtime.slots.place import Made
from spillway.runtime.slots.times import CUT, Times
from spillway.runtime.telemetry import Spent


class Clock:
    """A wall clock and a meter that go as they are told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def times(clock: Clock) -> Times:
    return Times(500.0, clock, clock)


def _seconds(times: Times) -> dict[str, tuple[int, Any]]:
    return {phase: (spent.records, spent.seconds) for phase, spent in times.phases()["real"].items()}


def _spent(records: int, stamp: float) -> task.Spent:
    found = task.Spent()
    found.came(records, stamp)
    return found


def test_records_queue_until_they_are_taken_and_are_worked_on_until_all_of_their_turn_are(
    times: Times, clock: Clock
) -> None:
    times.begin()
    clock.now += 0.004
    times.add("real", _spent(10, 999_950 - CUT))

    assert _seconds(times) == {Phase.QUEUE: (10, pytest.approx(10 * 0.050)), Phase.CPU: (10, pytest.approx(10 * 0.004))}


def test_clocks_of_others_that_are_ahead_take_no_time_away(times: Times) -> None:
    times.begin()
    times.add("real", _spent(10, 1_000_900))

    assert times.phases()["real"][Phase.QUEUE] == Spent(10, 0.0)


def test_an_output_that_nobody_has_timed_yet_is_in_no_phase(times: Times) -> None:
    made = Made("real", "result", 5, 999_000, 1_000_000)
    times.sent(made, None)
    assert not times.phases()

    times.sent(made, 0.002)
    assert _seconds(times) == {Phase.NETWORK: (5, pytest.approx(0.010))}


def test_an_output_of_a_transaction_has_left_when_that_is_committed(times: Times, clock: Clock) -> None:
    made = Made("real", "result", 5, 999_600, clock.now * 1000)
    clock.now += 0.2
    times.stored(made)

    assert _seconds(times) == {Phase.NETWORK: (5, pytest.approx(1.0))}
    found = times.latency()["result"]
    # 400 ms old when they were made, so within the bound; 600 ms when readers could see them, so beyond it.
    assert (found.count, found.within) == (5, 0)
    assert found.total == pytest.approx(3000)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.floats(0.0, 5.0)), max_size=30))
def test_no_time_that_rows_wait_is_lost_or_counted_twice(turns: list[tuple[int, int, float]]) -> None:
    waits = task.Waits()
    now, there, held, told = 0.0, 0, 0.0, 0.0
    for came, leaves, later in turns:
        there += came
        left = min(leaves, there)
        if there:
            told += waits.leave(left, there - left, now)
        there -= left
        held += there * later
        now += later
    if there:
        told += waits.leave(there, 0, now)

    assert told == pytest.approx(held, abs=1e-6)
