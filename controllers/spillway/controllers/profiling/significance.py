"""The two-sample t-test: whether two means differ by more than chance would make them.

Welch's, which doesn't take the variances to be equal: a deployment that is too large varies more than one that fits.
With means m, variances s² and counts n of the two samples

    t = (m_1 - m_2) / √(s_1²/n_1 + s_2²/n_2)
    df = (s_1²/n_1 + s_2²/n_2)² / ((s_1²/n_1)²/(n_1-1) + (s_2²/n_2)²/(n_2-1))
    p = I_x(df/2, 1/2),  x = df/(df + t²)

I is the regularised incomplete beta function, by its continued fraction (Lentz's way of summing it). A normal
distribution in place of t's would be simpler, and wrong by too much: with 5 samples on each side it calls 8 % of equal
pairs different where 5 % were asked for.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

_TERMS = 300  # of the fraction; it needs O(√max(a, b)), so this is enough for thousands of samples
_EPSILON = 1e-14
_TINY = 1e-300


def p_value(one: Sequence[float], other: Sequence[float]) -> float:
    """How likely samples of equal means differ as much as these; 1 where there is nothing to tell by."""
    if min(len(one), len(other)) < 2:
        return 1.0
    parts = [statistics.variance(sample) / len(sample) for sample in (one, other)]
    distance, spread = statistics.fmean(one) - statistics.fmean(other), sum(parts)
    if spread <= 0:
        return 1.0 if distance == 0 else 0.0
    freedom = spread * spread / sum(p * p / (len(s) - 1) for p, s in zip(parts, (one, other), strict=True))
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + distance * distance / spread))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), right to about 12 digits."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction 1/(1 + d_1/(1 + d_2/(1 + …)))."""
    c, d = 1.0, _kept(1 - (a + b) * x / (a + 1))
    d = 1 / d
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _kept(1 + term * d)
            c = _kept(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _EPSILON:
            break
    return value


def _kept(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
