"""The t-test: its values are those of printed tables, and it is right as often as it says."""

from __future__ import annotations

import random
import statistics

import pytest

from spillway.controllers.profiling import significance

# Two-sided 5 % points of Student's t, as every table has them.
POINTS = {1: 12.7062, 2: 4.30265, 5: 2.57058, 10: 2.22814, 38: 2.02439, 120: 1.97993}


@pytest.mark.parametrize(("freedom", "t"), POINTS.items())
def test_five_percent_lie_beyond_the_points_of_the_table(freedom: int, t: float) -> None:
    assert significance.incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) == pytest.approx(0.05, abs=2e-6)


def test_the_beta_function_knows_its_simple_cases() -> None:
    assert significance.incomplete_beta(1, 1, 0.3) == pytest.approx(0.3)
    assert significance.incomplete_beta(2, 3, 0.5) == pytest.approx(11 / 16)
    assert significance.incomplete_beta(4, 2, 0.0) == 0
    assert significance.incomplete_beta(4, 2, 1.0) == 1


def test_a_worked_example() -> None:
    one, other = [1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0]

    # t = -2.5/√(5/12 + 5/3) = -1.7321, df = 4.4118
    assert significance.p_value(one, other) == pytest.approx(0.1512, abs=1e-3)
    assert significance.p_value(one, other) == significance.p_value(other, one)


def test_equal_samples_do_not_differ_and_constant_ones_do() -> None:
    assert significance.p_value([3.0, 3.0], [3.0, 3.0]) == 1
    assert significance.p_value([3.0, 3.0], [4.0, 4.0]) == 0


def test_one_value_tells_nothing() -> None:
    assert significance.p_value([1.0], [100.0, 101.0]) == 1


def test_it_calls_five_in_a_hundred_equal_pairs_different() -> None:
    rng = random.Random(7)  # noqa: S311 - a sample, not a secret
    pairs = [([rng.gauss(100, 2) for _ in range(6)], [rng.gauss(100, 2) for _ in range(6)]) for _ in range(2000)]
    called = statistics.fmean(significance.p_value(one, other) < 0.05 for one, other in pairs)

    assert 0.035 < called < 0.065


def test_it_finds_a_difference_of_two_deviations_nearly_always() -> None:
    rng = random.Random(7)  # noqa: S311 - a sample, not a secret
    pairs = [([rng.gauss(100, 2) for _ in range(20)], [rng.gauss(104, 2) for _ in range(20)]) for _ in range(200)]

    assert all(significance.p_value(one, other) < 0.05 for one, other in pairs)
