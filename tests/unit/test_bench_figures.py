"""Figures of the bench: quantiles of known data, intervals, things measured in turn."""

from __future__ import annotations

import math

import pytest

import programs
from spillway.bench.record import figures
from spillway.bench.record.figures import Verdict


@pytest.mark.parametrize(
    ("values", "share", "wanted"),
    [
        (range(1, 101), 0.5, 50),
        (range(1, 101), 0.99, 99),
        (range(1, 101), 0.07, 7),  # 0.07 * 100 is a little more than 7
        (range(1, 101), 1.0, 100),
        (range(1, 1001), 0.999, 999),
        ([3, 1, 2], 0.5, 2),
        ([5], 0.999, 5),
        ([1, 1000], 0.5, 1),
    ],
)
def test_a_quantile_is_the_least_value_that_so_many_are_not_above(
    values: list[float], share: float, wanted: float
) -> None:
    draw = programs.seeded(1)
    shuffled = draw.sample(list(values), len(values))

    assert figures.quantile(shuffled, share) == wanted


def test_the_quantile_of_nothing_is_no_number() -> None:
    assert math.isnan(figures.quantile([], 0.5))


def test_two_are_measured_a_b_b_a() -> None:
    assert [name for _, name in figures.in_turn(["A", "B"], 4)] == list("ABBAABBA")


def test_each_of_three_is_measured_once_a_round() -> None:
    found = list(figures.in_turn(["A", "B", "C"], 5))

    assert [name for _, name in found] == list("ABCCBAABCCBAABC")
    assert all(sorted(name for n, name in found if n == number) == ["A", "B", "C"] for number in range(5))


def test_a_drift_of_the_machine_leaves_ratios_as_they_are() -> None:
    speeds = iter(1 + 0.1 * step for step in range(100))
    cases = {"A": lambda: 3 * next(speeds), "B": lambda: 2 * next(speeds)}

    found = figures.measured(cases, 6, lambda _: None)

    assert figures.spread(figures.ratios(found["A"], found["B"])).median == pytest.approx(1.5, rel=0.02)


def test_measured_one_after_the_other_the_same_drift_is_in_the_ratio() -> None:
    speeds = [1 + 0.1 * step for step in range(12)]
    one, other = [3 * speed for speed in speeds[:6]], [2 * speed for speed in speeds[6:]]

    assert figures.spread(figures.ratios(one, other)).median < 1.2


def test_the_interval_holds_the_true_median_nineteen_times_in_twenty() -> None:
    draw, held = programs.seeded(7), 0
    for _ in range(100):
        found = figures.spread([draw.gauss(10, 2) for _ in range(15)])
        held += found.low <= 10 <= found.high

    assert held >= 88


def test_with_few_values_the_interval_is_their_range() -> None:
    assert figures.spread([3.0, 1.0, 2.0]) == figures.Spread(2.0, 1.0, 3.0)


@pytest.mark.parametrize(
    ("values", "bounds", "wanted"),
    [
        ([1, 2, 3], {"most": 2}, Verdict.REACHED),
        ([1, 2, 3], {"most": 1.9}, Verdict.MISSED),
        ([1, 2, 3], {"least": 2}, Verdict.REACHED),
        ([1, 2, 3], {"least": 2.1}, Verdict.MISSED),
        ([1, 2, 3], {}, Verdict.SHOWN),
        ([1, 2, 3], {"most": 2, "void": True}, Verdict.VOID),
        ([], {"most": 2}, Verdict.VOID),
        ([math.nan], {"most": 2}, Verdict.MISSED),
        ([math.nan], {"least": 2}, Verdict.MISSED),
    ],
)
def test_a_figure_is_reached_only_if_it_is_measured_and_within_its_bound(
    values: list[float], bounds: dict[str, float], wanted: Verdict
) -> None:
    assert figures.of("x", values, "ms", **bounds).verdict is wanted  # type: ignore[arg-type]
