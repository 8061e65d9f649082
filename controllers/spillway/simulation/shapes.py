"""Traces that are drawn: the shapes of load that a policy has to live with."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from types import MappingProxyType

from spillway.simulation.traces import ANY, Shape, Trace

HOUR = 3600.0
_EVERY = 5.0  # seconds between two points of a curve: an hour in 720 lines


def steps(low: float, high: float, length: float = HOUR, seed: int = 0) -> Trace:
    """Up in three steps and down in two, each for a sixth of the time; nothing is random."""
    shares = (0.0, 0.35, 1.0, 0.6, 0.15, 0.0)
    times = [length * i / len(shares) for i in range(len(shares) + 1)]
    return _trace(times, [low + (high - low) * share for share in (*shares, shares[-1])], Shape.STEPS)


def diurnal(low: float, high: float, length: float = HOUR, seed: int = 0) -> Trace:
    """A day in an hour: low at night, a first peak and a higher second one, with 2 % of noise."""
    dice = random.Random(f"diurnal {seed}")  # noqa: S311 - a load, no secret

    def at(x: float) -> float:
        day = (1 - math.cos(2 * math.pi * x)) / 2
        second = math.exp(-(((x - 0.72) / 0.09) ** 2))
        return low + (high - low) * min(1.0, 0.75 * day + 0.45 * second) * dice.gauss(1, 0.02)

    return _curve(at, length)


def bursts(low: float, high: float, length: float = HOUR, seed: int = 0) -> Trace:
    """On and off: calm for 150 s on average, then a burst of 30 s on average, anywhere from half to all of `high`."""
    dice = random.Random(f"bursts {seed}")  # noqa: S311
    times, rates, at = [0.0], [low], 0.0
    while True:
        at += 30 + dice.expovariate(1 / 120)
        end = at + 10 + dice.expovariate(1 / 20)
        if end >= length:
            break
        times += [at, end]
        rates += [high * dice.uniform(0.5, 1.0), low]
        at = end
    return _trace([*times, length], [*rates, low], Shape.STEPS)


def flash(low: float, high: float, length: float = HOUR, seed: int = 0) -> Trace:
    """A flash crowd after a fifth of the time: from low to high within 15 s, and back slowly, over half an hour."""
    dice = random.Random(f"flash {seed}")  # noqa: S311
    start, rise = length / 5, 15.0

    def at(x: float) -> float:
        since = x * length - start
        share = 0.0 if since < 0 else since / rise if since < rise else math.exp(-(since - rise) / (length / 6))
        return (low + (high - low) * share) * dice.gauss(1, 0.01)

    return _curve(at, length)


def noise(low: float, high: float, length: float = HOUR, seed: int = 0) -> Trace:
    """A random walk on a logarithmic scale around the geometric mean of low and high, and never outside them."""
    dice = random.Random(f"noise {seed}")  # noqa: S311
    middle, reach, value = math.log(low * high) / 2, math.log(high / low) / 2, 0.0

    def at(_: float) -> float:
        nonlocal value
        # An Ornstein-Uhlenbeck walk with a memory of 20 points (100 s) and a deviation of a third of the reach.
        value += -value / 20 + dice.gauss(0, 1 / 3) * math.sqrt(2 / 20)
        return math.exp(middle + reach * max(-1.0, min(1.0, value)))

    return _curve(at, length)


def flat(rate: float, length: float = HOUR) -> Trace:
    """The same rate for the whole time."""
    return _trace([0.0, length], [rate, rate], Shape.LINES)


BUILT_IN: Mapping[str, Callable[[float, float, float, int], Trace]] = MappingProxyType(
    {"steps": steps, "diurnal": diurnal, "bursts": bursts, "flash": flash, "noise": noise}
)


def _curve(at: Callable[[float], float], length: float) -> Trace:
    """Points of a function of the part of the time that has passed."""
    count = max(1, round(length / _EVERY))
    return _trace(
        [length * i / count for i in range(count + 1)], [at(i / count) for i in range(count + 1)], Shape.LINES
    )


def _trace(times: list[float], rates: list[float], shape: Shape) -> Trace:
    """Rates in whole records per second, as people write them into files."""
    return Trace(
        tuple(round(at, 3) for at in times), {ANY: tuple(float(round(max(0.0, rate))) for rate in rates)}, shape
    )
