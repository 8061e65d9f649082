"""A ramp has a slope; a step, a spike, noise and a fall have none, or the plan would be for ten times too much."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from spillway.controllers import trends

SPAN = 0.2
RAMP: list[float] = [100_000 + 12_000 * n for n in range(trends.TICKS)]
NONE: dict[str, Sequence[float]] = {
    "a level": [100_000] * 10,
    "too few ticks": RAMP[:-1],
    "a fall": RAMP[::-1],
    "a spike": [100_000] * 4 + [900_000] + [100_000] * 5,
    "two steps": [100_000] * 3 + [200_000] * 4 + [400_000] * 3,
    "a rise that headroom takes": [100_000 + 400 * n for n in range(10)],
    "nothing that comes": [0.0] * 10,
    **{f"a step after {k}": [100_000] * k + [500_000] * (10 - k) for k in range(1, 10)},
}


def test_a_ramp_has_its_slope() -> None:
    assert trends.slope(RAMP, SPAN) == pytest.approx(60_000)


def test_a_ramp_from_nothing_is_one() -> None:
    assert trends.slope([1_000.0 * n for n in range(10)], SPAN) == pytest.approx(5_000)


@pytest.mark.parametrize("what", NONE)
def test_what_is_no_ramp_has_none(what: str) -> None:
    assert trends.slope(NONE[what], SPAN) == 0


def test_noise_is_hardly_ever_taken_for_a_ramp_and_a_noisy_ramp_nearly_always_is() -> None:
    dice = random.Random(1)  # noqa: S311 - a load, no secret
    level = [trends.slope([100_000 * dice.gauss(1, 0.05) for _ in range(10)], SPAN) for _ in range(5_000)]
    ramps = [trends.slope([rate * dice.gauss(1, 0.02) for rate in RAMP], SPAN) for _ in range(1_000)]

    assert sum(map(bool, level)) <= 5
    assert sum(map(bool, ramps)) >= 980
    assert sum(ramps) / sum(map(bool, ramps)) == pytest.approx(60_000, rel=0.05)
