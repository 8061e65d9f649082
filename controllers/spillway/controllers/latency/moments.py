"""Mean and variance of a time, and the quantiles that follow from them (LAT 3.2, 3.4).

Phases follow one another and are taken to be independent, so both add up: E(L) = Σ E(L_i), Var(L) = Σ Var(L_i).
"""
# ruff: noqa: RUF002 - sigma and rho are the symbols of the paper, and no o or p

from __future__ import annotations

import dataclasses
import math
import statistics

_STANDARD = statistics.NormalDist()


@dataclasses.dataclass(frozen=True, slots=True)
class Moments:
    """μ in seconds and σ² in seconds²; both are infinite for what never happens."""

    mean: float
    variance: float = 0.0

    def __post_init__(self) -> None:
        if not (self.mean >= 0 and self.variance >= 0):  # also refuses NaN
            message = f"mean is {self.mean} and variance {self.variance}; a time needs both to be 0 or more"
            raise ValueError(message)
        if math.isinf(self.mean) or math.isinf(self.variance):
            object.__setattr__(self, "mean", math.inf)
            object.__setattr__(self, "variance", math.inf)

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.mean + other.mean, self.variance + other.variance)

    @property
    def deviation(self) -> float:
        """σ."""
        return math.sqrt(self.variance)

    @property
    def finite(self) -> bool:
        """Whether it happens at all."""
        return math.isfinite(self.mean)

    def quantile(self, x: float, *, observed: bool) -> float:
        """Q(x) with Pr(L ≤ Q(x)) = x (Eq. 3): `normal` where the distribution is observed, else `cantelli`."""
        return normal(self, x) if observed else cantelli(self, x)


ZERO = Moments(0.0)
NEVER = Moments(math.inf, math.inf)


def uniform(low: float, high: float) -> Moments:
    """Anywhere between two times: (low + high)/2 and (high - low)²/12."""
    return Moments((low + high) / 2, (high - low) ** 2 / 12)


def normal(moments: Moments, x: float) -> float:
    """μ + σ·Φ⁻¹(x) (LAT 3.4), but never less than 0, which no latency is."""
    check_share(x)
    if not moments.finite:
        return math.inf
    return max(0.0, moments.mean + moments.deviation * _STANDARD.inv_cdf(x))


def cantelli(moments: Moments, x: float) -> float:
    """μ + √(x/(1-x))·σ, which holds for every distribution: Pr(L ≤ that) ≥ x (Eq. 4)."""
    check_share(x)
    if not moments.finite:
        return math.inf
    return moments.mean + math.sqrt(x / (1 - x)) * moments.deviation


def check_share(x: float) -> None:
    """Refuse what is no share of all records: the slowest and the fastest of all are not bounded by two moments."""
    if not 0 < x < 1:
        message = f"a quantile is asked for at {x}; it must be between 0 and 1, both excluded"
        raise ValueError(message)
