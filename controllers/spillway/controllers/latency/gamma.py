"""The gamma distribution: its quantiles, by bisection of its regularised incomplete integral.

P(k, t) = 1/Γ(k) · ∫_0^t u^(k-1)·e^-u du
        = t^k·e^-t/Γ(k+1) · (1 + t/(k+1) + t²/((k+1)(k+2)) + …)               for t < k+1
        = 1 - t^k·e^-t/Γ(k) · 1/(t+1-k - 1·(1-k)/(t+3-k - 2·(2-k)/(t+5-k - …)))  beyond (Lentz's way of summing it)
"""

from __future__ import annotations

import functools
import math

_TERMS = 1000  # both converge within some √k terms
_EPSILON = 1e-14
_TINY = 1e-300
# Of k, up to which both are right to nine digits; beyond, it is a normal distribution with a hint of a tail.
MOST = 1e4


@functools.lru_cache(maxsize=4096)
def quantile(shape: float, x: float) -> float:
    """The t with P(k, t) = x, for k = `shape`, at most `MOST`."""
    low, high = 0.0, shape + 1.0
    while below(shape, high) < x:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if below(shape, middle) < x else (low, middle)
        if high - low <= _EPSILON * high:
            break
    return (low + high) / 2


def below(shape: float, t: float) -> float:
    """P(k, t)."""
    if t <= 0:
        return 0.0
    front = math.exp(shape * math.log(t) - t - math.lgamma(shape))
    return front * _series(shape, t) if t < shape + 1 else 1 - front * _fraction(shape, t)


def _series(shape: float, t: float) -> float:
    term = total = 1 / shape
    for n in range(1, _TERMS):
        term *= t / (shape + n)
        total += term
        if term < total * _EPSILON:
            break
    return total


def _fraction(shape: float, t: float) -> float:
    b = t + 1 - shape
    c, d = 1 / _TINY, 1 / b
    value = d
    for n in range(1, _TERMS):
        a = -n * (n - shape)
        b += 2
        d = 1 / _kept(a * d + b)
        c = _kept(b + a / c)
        value *= c * d
        if abs(c * d - 1) < _EPSILON:
            break
    return value


def _kept(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
