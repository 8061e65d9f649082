"""Results of windows: how long after its end (LAT 3.3).

L = U + F: until the last records of the window have come from all m = S·M who send (U), and then until it is the turn
of this key among k (F). Records' latencies are taken as independent Gaussians with μ and σ², so

    U = max(L_1 … L_m):   E(U) = μ + a·σ,   Var(U) = (a'·σ)²
    F = i·(t2-t1)/k with i = 1 … k alike:   E(F) = (1+1/k)(t2-t1)/2,   Var(F) = (1-1/k²)(t2-t1)²/12

The paper takes a and a' from an asymptotic theorem; the density m·φ(x)·Φ(x)^(m-1) of the largest of m is so smooth
that the trapezoidal rule gives them to more digits than anybody needs.
"""
# ruff: noqa: RUF002 - sigma and rho are the symbols of the paper, and no o or p

from __future__ import annotations

import dataclasses
import functools
import math

from spillway.controllers.latency.moments import Moments

# The largest of m standard Gaussians is within this, but for 10^-17 of all cases, for every m up to 10^9.
_LOW, _HIGH = -9.0, 12.0
_STEPS = 840  # of 1/40; the rule is exact to 12 digits from 1/8 on, as always for what is smooth and ends in zeros


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """What a segment does when a window ends.

    Attributes:
        groups: k, how many keys one slot has a result for.
        cost: s_k, seconds for the result of one key.
        senders: S·M, who send it the last records; None for all slots of the segments that it reads.
    """

    groups: int
    cost: float = 0.0
    senders: int | None = None

    def __post_init__(self) -> None:
        if self.groups < 1 or not 0 <= self.cost < math.inf:
            message = f"a window has {self.groups} groups of {self.cost} s each; it needs 1 group or more, 0 s or more"
            raise ValueError(message)
        if self.senders is not None and self.senders < 1:
            message = f"a window waits for {self.senders} senders; it needs 1 or more"
            raise ValueError(message)


def turn(groups: int, duration: float) -> Moments:
    """F, for k = `groups` and t2 - t1 = `duration`."""
    share = 1 / groups
    return Moments((1 + share) * duration / 2, (1 - share**2) * duration**2 / 12)


@functools.lru_cache(maxsize=256)
def largest(count: int) -> tuple[float, float]:
    """Mean a and variance a'² of the largest of `count` standard Gaussians."""
    if not 1 <= count <= 10**9:
        message = f"the largest of {count} was asked for; it must be between 1 and 10^9"
        raise ValueError(message)
    if count == 1:
        return 0.0, 1.0
    step = (_HIGH - _LOW) / _STEPS
    points = [_LOW + i * step for i in range(_STEPS + 1)]
    weights = [step * _density(x, count) for x in points]
    a = math.fsum(w * x for w, x in zip(weights, points, strict=True))
    return a, math.fsum(w * (x - a) ** 2 for w, x in zip(weights, points, strict=True))


def _density(x: float, m: int) -> float:
    """m·φ(x)·Φ(x)^(m-1), in logarithms, so that neither factor gets lost."""
    below = math.erfc(-x / math.sqrt(2)) / 2
    above = math.erfc(x / math.sqrt(2)) / 2
    log_below = math.log1p(-above) if x > 0 else math.log(below)
    return math.exp(math.log(m) - x * x / 2 + (m - 1) * log_below) / math.sqrt(2 * math.pi)
