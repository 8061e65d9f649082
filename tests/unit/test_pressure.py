"""What slots get done, beside what costs promise."""

from __future__ import annotations

import pytest

from spillway.controllers import pressure
from spillway.controllers.pressure import Done, Pressure

TICK = 0.2
COST = 1 / 16_000


def _after(
    before: Pressure,
    seconds: float,
    went: float,
    queue: float | None,
    *,
    slots: float = 1.0,
    grows: float = 1.0,
    slack: float = 0.0,
    wide: bool = True,
) -> Pressure:
    """So much is done for a while; what waits grows by so many times of that."""
    began = before.at + TICK if before.at is not None else 0.0
    for tick in range(round(seconds / TICK)):
        waits = None if queue is None else queue + grows * went * tick * TICK * (queue > 0)
        before = pressure.observe(before, Done(began + tick * TICK, went, slots, COST, waits, slack, wide))
    return before


def _capacity(found: Pressure, slots: float = 1.0) -> float:
    return found.capacity(slots, COST)


def test_where_nothing_was_seen_costs_are_believed() -> None:
    assert _capacity(Pressure()) == pytest.approx(16_000)


def test_what_slots_get_done_under_pressure_is_what_they_can_do() -> None:
    new = _after(Pressure(), 2.0, 500.0, 5_000.0)
    assert _capacity(new) == pytest.approx(16_000)  # a queue that has just come: rates are still those of before
    assert _capacity(_after(new, 8.0, 8_000.0, 5_000.0)) == pytest.approx(8_000, rel=0.01)


def test_a_slot_with_a_part_of_a_core_is_no_whole_one() -> None:
    throttled = _after(Pressure(), 10.0, 700.0, 3_000.0)
    assert _capacity(throttled) == pytest.approx(700, rel=0.02)


def test_a_queue_that_grows_by_little_says_it_too_after_a_while() -> None:
    found = _after(Pressure(), 60.0, 8_000.0, 100_000.0, grows=0.02)
    assert _capacity(found) == pytest.approx(8_000, rel=0.01)


def test_what_is_worked_off_speaks_for_its_slots_and_not_against_them() -> None:
    pressed = _after(Pressure(), 10.0, 4_000.0, 50_000.0)
    found = _after(pressed, 8.0, 8_000.0, 90_000.0, grows=-0.5)
    assert _capacity(found) == pytest.approx(8_000, rel=0.01)
    assert _capacity(_after(Pressure(), 8.0, 4_000.0, 90_000.0, grows=-0.5)) == pytest.approx(16_000)


def test_what_a_burst_leaves_behind_presses_nobody() -> None:
    burst = _after(Pressure(), 1.0, 12_000.0, 50_000.0)
    found = _after(burst, 30.0, 100.0, 300.0, grows=0.0)
    assert _capacity(found) == pytest.approx(16_000)


def test_a_queue_that_stands_still_waits_for_something_else() -> None:
    halted = _after(Pressure(), 600.0, 1_000.0, 5_000.0, grows=0.0)
    assert (halted.reached, halted.slowed) == (1.0, 1.0)


def test_ends_of_transactions_are_no_queue() -> None:
    found = Pressure()
    for tick in range(1000):
        found = pressure.observe(found, Done(TICK * tick, 2.0, 1.0, COST, float(tick * 7 % 64), slack=128.0))
    assert (found.reached, found.slowed) == (1.0, 1.0)


def test_more_slots_are_not_planned_for_a_load_that_is_on_one_partition() -> None:
    skewed = _after(Pressure(), 10.0, 4_000.0, 9_000.0, wide=False)
    assert _capacity(skewed) == pytest.approx(4_000, rel=0.01)
    assert skewed.slowed == 1.0
    assert _after(Pressure(), 10.0, 4_000.0, 9_000.0).slowed == pytest.approx(0.25, rel=0.01)


def test_calm_says_nothing_against_what_was_done_before() -> None:
    pressed = _after(Pressure(), 10.0, 8_000.0, 5_000.0)
    assert _capacity(_after(pressed, 6.0, 100.0, 3.0, grows=0.0)) == pytest.approx(8_000, rel=0.01)


def test_what_is_done_without_a_queue_can_be_done() -> None:
    stalled = _after(Pressure(), 20.0, 0.5, 3.0)
    assert _capacity(stalled) < 20.0
    assert _capacity(_after(stalled, TICK, 20.0, 0.0)) >= 20.0


def test_what_was_once_done_is_not_believed_against_a_queue_that_grows() -> None:
    quick = _after(Pressure(), 1.0, 12_000.0, 0.0)
    assert _capacity(_after(quick, 10.0, 3_000.0, 9_000.0)) == pytest.approx(3_000, rel=0.01)


def test_it_is_by_slot() -> None:
    four = _after(Pressure(), 10.0, 8_000.0, 9_000.0, slots=4.0)
    assert _capacity(four, 4.0) == pytest.approx(8_000, rel=0.01)
    assert _capacity(four, 2.0) == pytest.approx(4_000, rel=0.01)


def test_who_does_nothing_at_all_is_held_up_by_something_else() -> None:
    away = _after(Pressure(), 30.0, 0.0, 90_000.0)
    assert _capacity(away) == pytest.approx(16_000)
    assert _capacity(_after(away, 1.0, 9.0, 90_000.0)) == pytest.approx(16_000)  # and has just begun again


def test_a_neighbour_who_is_gone_is_forgotten_by_and_by() -> None:
    slowed = _after(Pressure(), 10.0, 8_000.0, 9_000.0)
    soon = pressure.observe(slowed, Done((slowed.at or 0.0) + 60.0, 10.0, 1.0, COST, 0.0))
    later = pressure.observe(slowed, Done((slowed.at or 0.0) + 6 * pressure.FORGET, 10.0, 1.0, COST, 0.0))
    assert _capacity(soon) == pytest.approx(8_000, rel=0.05)
    assert _capacity(later) == pytest.approx(16_000, rel=0.01)


def test_a_queue_that_nobody_knows_presses_nobody() -> None:
    assert _capacity(_after(Pressure(), 10.0, 100.0, None)) == pytest.approx(16_000)
