"""Mean and variance of a time, and the quantiles that follow from them (LAT 3.2, 3.4).

Phases follow one another and are taken to be independent, so both add up: E(L) = Σ E(L_i), Var(L) = Σ Var(L_i); and so
do third moments around the mean, which the paper does without.

What records really take is not normal: a queue has a long tail, and of a time that is mostly constant, with a queue now
and then, two moments don't tell which of both it is. On single queues (20 to 75 % of a slot, fixed or exponential
service) the normal 0.99-quantile is 21 to 31 % too low, at any load. With the third moment

    Q(x) = μ - 2σ/γ + σ·γ/2·G(4/γ², x),   γ = E((L-μ)³)/σ³

the gamma distribution G, moved and stretched to these three, is within 10 % of all of them (`tests`).
"""
# ruff: noqa: RUF002 - sigma and rho are the symbols of the paper, and no o or p

from __future__ import annotations

import dataclasses
import math
import statistics

from spillway.controllers.latency import gamma

_STANDARD = statistics.NormalDist()


@dataclasses.dataclass(frozen=True, slots=True)
class Moments:
    """μ in seconds and σ² in seconds²; both are infinite for what never happens.

    `third` is E((L-μ)³) in seconds³; 0 for what lies evenly around its mean, or where nobody knows.
    """

    mean: float
    variance: float = 0.0
    third: float = 0.0

    def __post_init__(self) -> None:
        if not (self.mean >= 0 and self.variance >= 0):  # also refuses NaN
            message = f"mean is {self.mean} and variance {self.variance}; a time needs both to be 0 or more"
            raise ValueError(message)
        if math.isinf(self.mean) or math.isinf(self.variance):
            object.__setattr__(self, "mean", math.inf)
            object.__setattr__(self, "variance", math.inf)
        if not (math.isfinite(self.third) and math.isfinite(self.mean)):
            object.__setattr__(self, "third", 0.0)

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.mean + other.mean, self.variance + other.variance, self.third + other.third)

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


def likely(moments: Moments, x: float) -> float:
    """The quantile by three moments, as in the docstring of the module; the normal one without a tail to one side."""
    check_share(x)
    if not moments.finite or moments.variance == 0:
        return moments.mean
    deviation = moments.deviation
    skew = moments.third / deviation**3
    if skew <= 0:
        return normal(moments, x)
    shape = 4 / skew**2
    if shape > gamma.MOST:  # Cornish and Fisher's first term
        return normal(moments, x) + deviation * skew / 6 * (_STANDARD.inv_cdf(x) ** 2 - 1)
    return max(0.0, moments.mean - 2 * deviation / skew + deviation * skew / 2 * gamma.quantile(shape, x))


def mixed(share: float, moments: Moments, scv: float) -> Moments:
    """0, but for a share of all, which takes D > 0 with an scv c²; `moments` are mean and variance of all together.

    D is taken to be gamma-distributed: E(D²) = d²(1+c²), E(D³) = d³(1+c²)(1+2c²).
    """
    if not share or not moments.finite or scv < 0:
        return moments
    d = moments.mean / share
    second, cube = share * d**2 * (1 + scv), share * d**3 * (1 + scv) * (1 + 2 * scv)
    return Moments(moments.mean, moments.variance, cube - 3 * moments.mean * second + 2 * moments.mean**3)


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
