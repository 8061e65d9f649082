"""Loads over time by name, as phases at one rate each, and how keys are drawn in them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from spillway.bench.dual.loads import Phase
from spillway.bench.workloads.work import Keys
from spillway.simulation import shapes
from spillway.simulation.traces import Shape, Trace

PIECE = 0.5  # seconds at one rate, where a rate changes all the time
ON_OFF = 2.0  # seconds of each, so that thirty have several of both
BURST = (0.4, 0.2, 0.4)  # of the time: before, in it, and after


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """A load.

    Attributes:
        name: as it was asked for.
        phases: its rates.
        keys: how keys are drawn.
    """

    name: str
    phases: Sequence[Phase]
    keys: Keys = Keys.USUAL

    @property
    def seconds(self) -> float:
        """How long it is."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def rate(self) -> float:
        """Its mean rate."""
        return sum(phase.count for phase in self.phases) / self.seconds


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """What can be asked for: how many rates it takes, what it is, and its phases."""

    rates: int
    says: str
    phases: Callable[[Sequence[float], float], Sequence[Phase]]
    keys: Keys = Keys.USUAL


def made(name: str, rates: Sequence[float], seconds: float) -> Given:
    """The load of a name, with its rates, for so long; raises ValueError where they don't fit."""
    kind = KINDS.get(name)
    if kind is None:
        message = f"there is no trace {name!r}; there are {', '.join(KINDS)}, and files that end with .csv"
        raise ValueError(message)
    if len(rates) != kind.rates:
        example = f"{name}:{'1000-9000' if kind.rates == 2 else '5000'}"
        message = f"{name} takes {kind.rates} rate{'s' * (kind.rates > 1)}, as in {example}"
        raise ValueError(message)
    if not all(rate > 0 for rate in rates):
        message = f"a rate of {name} has to be above 0"
        raise ValueError(message)
    said = f"{name}:{'-'.join(f'{rate:g}' for rate in rates)}"
    return Given(said, kind.phases(rates, seconds), kind.keys)


def of_trace(name: str, trace: Trace, seconds: float) -> Given:
    """The load of a file: its first so many seconds."""
    return Given(name, pieces(trace, seconds))


def pieces(trace: Trace, seconds: float) -> list[Phase]:
    """A trace cut into phases, each with as many records as the trace has meanwhile."""
    inner = [at for at in trace.times if 0 < at < seconds]
    cuts = inner if trace.shape is Shape.STEPS else [PIECE * n for n in range(1, round(seconds / PIECE))]

    def records(until: float) -> float:
        return sum(trace.records(source, until) for source in trace.sources)

    found = []
    for number, (begin, end) in enumerate(itertools.pairwise([0.0, *cuts, seconds])):
        found.append(Phase(f"{number}", (records(end) - records(begin)) / (end - begin), end - begin))
    return found


def _constant(rates: Sequence[float], seconds: float) -> Sequence[Phase]:
    return (Phase("load", rates[0], seconds),)


def _burst(rates: Sequence[float], seconds: float) -> Sequence[Phase]:
    low, high = rates
    names = ("low", "burst", "low again")
    return [
        Phase(name, high if name == "burst" else low, part * seconds) for name, part in zip(names, BURST, strict=True)
    ]


def _on_off(rates: Sequence[float], seconds: float) -> Sequence[Phase]:
    count = max(2, round(seconds / ON_OFF))
    return [
        Phase(f"{'off' if n % 2 else 'on'} {n // 2}", rates[0] * (n % 2 == 0), seconds / count) for n in range(count)
    ]


def _step(rates: Sequence[float], seconds: float) -> Sequence[Phase]:
    return pieces(shapes.steps(rates[0], rates[1], seconds), seconds)


def _diurnal(rates: Sequence[float], seconds: float) -> Sequence[Phase]:
    return pieces(shapes.diurnal(rates[0], rates[1], seconds), seconds)


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "constant": Kind(1, "one rate", _constant),
        "step": Kind(2, "up in three steps and down in two", _step),
        "burst": Kind(2, "low, high for a fifth of the time, low", _burst),
        "on-off": Kind(1, f"for {ON_OFF:g} s, and nothing for as long, in turn", _on_off),
        "diurnal": Kind(2, "a day in the given time: a first peak, and a higher second one", _diurnal),
        "zipf": Kind(1, "one rate; keys by Zipf's law with exponent 1.2", _constant, Keys.ZIPF),
        "single-key": Kind(1, "one rate; all on one key", _constant, Keys.ONE),
    }
)
