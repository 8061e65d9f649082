"""When single records come: the same rates, more or less regular."""

from __future__ import annotations

import enum
import random
from collections.abc import Iterator

from spillway.simulation.traces import Trace

_ON = 0.25  # seconds on, and as many off, on average: long for queues of milliseconds, short enough to average out
# Shape of the Pareto distribution. Its variance is 1/(2.2·0.2) = 2.3 times the squared mean; from 2 down it would be
# infinite, and no run long enough to have the rate of its trace.
_TAIL = 2.2


class Kind(enum.StrEnum):
    """How records come.

    poisson: independently of one another.
    bursty: on and off for a quarter of a second on average, at twice the rate while on.
    heavy: with pauses that have a Pareto distribution, most of them short and some very long.
    """

    POISSON = "poisson"
    BURSTY = "bursty"
    HEAVY = "heavy"


def times(trace: Trace, source: str, kind: Kind, dice: random.Random) -> Iterator[float]:
    """The times of all records of a source, rising, until the end of the trace."""
    if kind is Kind.HEAVY:
        return _heavy(trace, source, dice)
    return _bursty(trace, source, dice) if kind is Kind.BURSTY else _poisson(trace, source, dice, 1.0)


def _poisson(trace: Trace, source: str, dice: random.Random, factor: float) -> Iterator[float]:
    """By thinning: as many as at the peak, and of these each with the share that its moment has."""
    peak, at = max(trace.rates[source]) * factor, 0.0
    while peak > 0:
        at += dice.expovariate(peak)
        if at >= trace.length:
            return
        if dice.random() * peak < trace.rate(at, source) * factor:
            yield at


def _bursty(trace: Trace, source: str, dice: random.Random) -> Iterator[float]:
    on, until = dice.random() < 0.5, dice.expovariate(1 / _ON)
    for at in _poisson(trace, source, dice, 2.0):
        while at >= until:
            on, until = not on, until + dice.expovariate(1 / _ON)
        if on:
            yield at


def _heavy(trace: Trace, source: str, dice: random.Random) -> Iterator[float]:
    """Pauses of the length 1/rate on average; where nothing comes, on to where something does."""
    at = 0.0
    while at < trace.length:
        rate = trace.rate(at, source)
        if rate <= 0:
            at += 0.1
            continue
        at += dice.paretovariate(_TAIL) * (_TAIL - 1) / _TAIL / rate
        if at < trace.length:
            yield at
