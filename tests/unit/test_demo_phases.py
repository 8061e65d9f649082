"""Rates of a demonstration follow from what was measured."""

from __future__ import annotations

import math

import pytest

from spillway.cli.story import phases
from spillway.cli.story.phases import Capacity, Load, Name


@pytest.mark.parametrize("name", [Name.BURST, Name.HIGHER])
def test_a_burst_is_more_than_record_by_record_can_do_and_less_than_batches_can(name: Name) -> None:
    rate = phases.rate(name, Capacity(5_000, 15_000))

    assert 5_000 < rate < 15_000


def test_the_second_burst_is_the_higher_one() -> None:
    known = Capacity(5_000, 15_000)

    assert phases.rate(Name.HIGHER, known) > phases.rate(Name.BURST, known)


def test_a_burst_leaves_batches_room_where_they_are_little_faster() -> None:
    known = Capacity(5_000, 7_500)

    assert phases.rate(Name.BURST, known) == pytest.approx(5_250, rel=0.05)
    assert phases.rate(Name.HIGHER, known) == pytest.approx(6_375, rel=0.05)


@pytest.mark.parametrize("batch", [None, 0.0, 4_000.0, 5_900.0])
def test_where_batches_do_not_win_a_burst_is_one_that_more_slots_can_do(batch: float | None) -> None:
    known = Capacity(5_000, batch)

    assert not known.batches_win
    assert 0.5 * 5_000 < phases.rate(Name.BURST, known) < phases.rate(Name.HIGHER, known) < 5_000


@pytest.mark.parametrize("name", [Name.LOW, Name.BETWEEN, Name.LAST])
def test_low_phases_are_low_whatever_batches_do(name: Name) -> None:
    assert phases.rate(name, Capacity(5_000, None)) == phases.rate(name, Capacity(5_000, 50_000)) == 500


def test_no_rate_is_so_low_that_it_shows_nothing() -> None:
    assert phases.rate(Name.LOW, Capacity(0.001, None)) == phases.LEAST_RATE


def test_rates_have_two_digits() -> None:
    assert phases.rounded(12_345) == 12_000
    assert phases.rounded(987) == 990


@pytest.mark.parametrize(
    "load",
    [
        Load(None, 0, 0.5, 0.5, 1),
        Load(100.0, 0, None, None, 1),
        Load(0.0, 0, 0.5, 0.5, 1),
        Load(100.0, 0, 0.0, 0.0, 1),
        Load(math.nan, 0, 0.5, 0.5, 1),
        Load(100.0, 0, math.inf, 0.5, 1),
        Load(-1.0, 0, 0.5, 0.5, 1),
        Load(100.0, 0, 0.5, 0.5, 0),
    ],
)
def test_nothing_is_known_of_a_capacity_that_was_not_measured(load: Load) -> None:
    assert phases.record_capacity(load, 2) is None


def test_the_capacity_is_what_all_slots_do_when_they_are_busy() -> None:
    assert phases.record_capacity(Load(1_000, 0, 0.5, 0.4, 1), 2) == 4_000


def test_what_clients_take_beside_the_loop_counts() -> None:
    assert phases.record_capacity(Load(1_000, 0, 0.2, 0.4, 1), 2) == 5_000


def test_whoever_falls_behind_does_no_more_than_it_does() -> None:
    assert phases.record_capacity(Load(1_000, 5_000, 0.2, 0.4, 1), 2) == 2_000


@pytest.mark.parametrize("seconds", [30.0, 75.0, 600.0])
def test_all_that_is_left_is_shared_out(seconds: float) -> None:
    lengths = phases.lengths(seconds)

    assert sum(lengths.values()) == pytest.approx(seconds, abs=0.2)
    assert lengths[Name.LAST] == max(lengths.values())


def test_what_was_seen_at_the_highest_rates_says_most() -> None:
    assert phases.likely([(100, 900), (1_000, 4_000), (950, 4_200), (900, 4_100)]) == 4_100


def test_nobody_knows_what_was_not_seen() -> None:
    assert phases.likely([]) is None
