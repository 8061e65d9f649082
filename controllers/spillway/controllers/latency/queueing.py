"""How long a frame waits for its slot: G/G/1, from rate, service time and how much both vary (LAT 3.2).

With λ frames per second, a mean service time S, ρ = λ·S and the squared coefficients of variation (scv) c_a² of the
times between arrivals and c_s² of the service times, the mean is Kingman's, corrected by Krämer and Langenbach-Belz
for arrivals that are more regular than random ones, and by Marchal for those that are less (there the correction of
the former is made for another distribution, and was 30 % too low in our simulations):

    E(W) = S·ρ/(1-ρ) · (c_a² + c_s²)/2 · g
    g = exp( -2(1-ρ)/(3ρ) · (1-c_a²)²/(c_a²+c_s²) )                       for c_a² < 1
    g = (1+c_s²)/(1+ρ²·c_s²) · (c_a²+ρ²·c_s²)/(c_a²+c_s²)                 for c_a² ≥ 1

and the variance that of Whitt's queueing network analyser, from the probability to wait at all, σ = Pr(W > 0), and
the scv c_D² of the wait of those who do:

    Var(W) = E(W)² · (c_D² + 1 - σ)/σ
    c_D² = 2ρ - 1 + 4(1-ρ)·d/(3·(c_s²+1)²)
    d    = E(S³)/S³, taken as 3·c_s²(1+c_s²) for c_s² ≥ 1, and (2·c_s²+1)(c_s²+1) below
    σ    = ρ + (c_a²-1)·ρ(1-ρ)·h
    h    = (1+c_a²+ρ·c_s²)/(1+ρ(c_s²-1)+ρ²(4c_a²+c_s²))  for c_a² ≤ 1
    h    = 4ρ/(c_a²+ρ²(4c_a²+c_s²))                       for c_a² ≥ 1

With c_a² = 1 the mean is the one of Pollaczek and Khinchin, and the variance is that of an M/G/1 queue whose third
moment is d·S³; both are exact for M/M/1 (c_s² = 1): E(W) = S·ρ/(1-ρ), Var(W) = S²·ρ(2-ρ)/(1-ρ)², and for M/D/1.
LAT leaves open which approximation it takes; these two need no third moments, which nobody measures.
"""
# ruff: noqa: RUF002 - sigma and rho are the symbols of the paper, and no o or p

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

from spillway.controllers.latency import moments
from spillway.controllers.latency.moments import NEVER, ZERO, Moments


@dataclasses.dataclass(frozen=True, slots=True)
class Variability:
    """How much the times vary, as squared coefficients of variation (scv): variance/mean².

    Attributes:
        arrival: c_a² of the times between frames, or between the records of a source. None, if not measured: then it
            follows from how frames are filled and how many buffers they come from; and it is 1 for a source, which
            many send to, each on its own, so that a Poisson stream is what comes. 0 would be a clock; bursts have more.
        service: of what one record costs. 1 by default, an exponential distribution: of all with a given mean, the one
            that assumes the least. A frame of b records that cost independently has 1/b of it.
    """

    arrival: float | None = None
    service: float = 1.0

    def __post_init__(self) -> None:
        for name in ("arrival", "service"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                message = f"the variability of {name} is {value}; it must be a finite number that is 0 or more"
                raise ValueError(message)


class Stream(NamedTuple):
    """Frames that come to a slot: `sources` buffers, each with `rate` and c_a² = `scv`, independent of one another."""

    rate: float
    scv: float
    sources: float


def merged(streams: Sequence[Stream], service: float) -> float:
    """c_a² of several streams together, by Whitt: many regular streams are as irregular as a Poisson stream.

    c_a² = w·Σ (λ_i/λ)·c_i² + 1 - w,   w = 1/(1 + 4(1-ρ)²(v-1)),   v = 1/Σ (λ_i/λ)²,   ρ = λ·S below 1
    """
    rate = math.fsum(stream.rate * stream.sources for stream in streams)
    if not rate:
        return 1.0
    own = math.fsum(s.sources * s.rate / rate * s.scv for s in streams)
    v = 1 / math.fsum(s.sources * (s.rate / rate) ** 2 for s in streams)
    w = 1 / (1 + 4 * max(0.0, 1 - rate * service) ** 2 * max(0.0, v - 1))
    return w * own + 1 - w


def wait(rate: float, service: float, arrival_scv: float, service_scv: float) -> Moments:
    """W of the docstring above for λ = `rate` and S = `service`: never, from ρ = 1 on."""
    load = rate * service if rate and service else 0.0  # what nothing comes for, or takes no time, is not jammed by ∞
    if load >= 1:
        return NEVER
    varies = arrival_scv + service_scv
    if load == 0 or varies == 0:
        return ZERO
    mean = service * load / (1 - load) * varies / 2 * _correction(load, arrival_scv, service_scv)
    delayed = min(1.0, max(0.0, _delayed(load, arrival_scv, service_scv)))
    if mean == 0 or delayed == 0:
        return Moments(mean)
    skew = 3 * service_scv * (1 + service_scv) if service_scv >= 1 else (2 * service_scv + 1) * (service_scv + 1)
    of_delayed = 2 * load - 1 + 4 * (1 - load) * skew / (3 * (service_scv + 1) ** 2)
    variance = mean * mean * (of_delayed + 1 - delayed) / delayed
    return moments.mixed(delayed, Moments(mean, variance), of_delayed)


def bulk(share: float, work: float) -> Moments:
    """What comes all at once, for `work` seconds of a slot, and keeps it busy for this share of the time.

    A record waits for those before it, so for anything between 0 and ρ·T: ρT/2 and (ρT)²/12.
    """
    if share >= 1:
        return NEVER
    return Moments(work / 2, work**2 / 12)


def _correction(load: float, ca: float, cs: float) -> float:
    """Kingman's formula is right for ρ near 1; g is what it lacks below."""
    if ca < 1:
        return math.exp(-2 * (1 - load) / (3 * load) * (1 - ca) ** 2 / (ca + cs))
    return (1 + cs) / (1 + load**2 * cs) * (ca + load**2 * cs) / (ca + cs)


def _delayed(load: float, ca: float, cs: float) -> float:
    """Whitt's σ = Pr(W > 0)."""
    if ca <= 1:
        h = (1 + ca + load * cs) / (1 + load * (cs - 1) + load**2 * (4 * ca + cs))
    else:
        h = 4 * load / (ca + load**2 * (4 * ca + cs))
    return load + (ca - 1) * load * (1 - load) * h
