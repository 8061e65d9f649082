"""Rates over time, of several sources: points that are joined by lines, or by steps."""

from __future__ import annotations

import bisect
import dataclasses
import enum
import io
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

# A point for each second of eleven days. More is a mistake (milliseconds, or records instead of rates), and would
# have to fit into memory.
MOST_POINTS = 1_000_000
MOST_RATE = 1e12  # records per second; no job has more, and a sum of a million of them is still exact enough
ANY = "rate"  # the source of a file with one column that does not say which it is


class Shape(enum.StrEnum):
    """What is between two points: a straight line, or the first of them until the second."""

    LINES = "lines"
    STEPS = "steps"


@dataclasses.dataclass(frozen=True)
class Trace:
    """Rates by source at rising times; before the first point and after the last one a rate is that of the point.

    Attributes:
        times: seconds since the start, rising.
        rates: by source, records per second at each of the times.
        shape: what is between two points.
    """

    times: tuple[float, ...]
    rates: Mapping[str, tuple[float, ...]]
    shape: Shape = Shape.LINES
    _sums: Mapping[str, tuple[float, ...]] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self.times, self.rates)
        sums = {source: tuple(self._summed(rates)) for source, rates in self.rates.items()}
        object.__setattr__(self, "_sums", MappingProxyType(sums))

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of its sources."""
        return tuple(self.rates)

    @property
    def length(self) -> float:
        """Seconds from the start to the last point."""
        return self.times[-1]

    @property
    def peak(self) -> float:
        """The highest rate of all sources together."""
        return max(math.fsum(rates) for rates in zip(*self.rates.values(), strict=True))

    def rate(self, at: float, source: str | None = None) -> float:
        """Records per second at a time, of one source or of all together."""
        if source is None:
            return math.fsum(self.rate(at, name) for name in self.rates)
        rates, times = self.rates[source], self.times
        i = bisect.bisect_right(times, at)
        if i == 0 or i == len(times):
            return rates[max(0, i - 1)]
        if self.shape is Shape.STEPS:
            return rates[i - 1]
        part = (at - times[i - 1]) / (times[i] - times[i - 1])
        return rates[i - 1] + (rates[i] - rates[i - 1]) * part

    def records(self, source: str, until: float) -> float:
        """How many records a source has sent from 0 until then: the integral of its rate, so that none gets lost."""
        times, rates, sums = self.times, self.rates[source], self._sums[source]
        i = bisect.bisect_right(times, until)
        if i == 0:
            return until * rates[0]
        since = until - times[i - 1]
        steady = i == len(times) or self.shape is Shape.STEPS
        mean = rates[i - 1] if steady else (rates[i - 1] + self.rate(until, source)) / 2
        return sums[i - 1] + since * mean

    def to(self, source: str) -> Trace:
        """The same for another name of its only source."""
        if len(self.rates) != 1:
            message = f"the trace has the sources {', '.join(self.rates)}; only one with a single source can be renamed"
            raise ValueError(message)
        (rates,) = self.rates.values()
        return Trace(self.times, {source: rates}, self.shape)

    def scaled(self, factor: float) -> Trace:
        """All rates multiplied."""
        rates = {source: tuple(rate * factor for rate in rates) for source, rates in self.rates.items()}
        return Trace(self.times, rates, self.shape)

    def _summed(self, rates: Sequence[float]) -> Iterator[float]:
        """Records until each point; what was before the first point came at its rate."""
        total = self.times[0] * rates[0]
        yield total
        for (start, low), (end, high) in itertools.pairwise(zip(self.times, rates, strict=True)):
            total += (end - start) * (low if self.shape is Shape.STEPS else (low + high) / 2)
            yield total


def read(text: str) -> Trace:
    """A trace from lines of `seconds,rate` or `seconds,<source>,<source>…`, joined by straight lines.

    A first line that has names instead of numbers names the sources; without one the only source is `rate`. A step is
    two points a moment apart. Empty lines and lines that begin with # count for nothing.
    """
    names: tuple[str, ...] | None = None
    times: list[float] = []
    rows: list[list[float]] = []
    for number, line in enumerate(io.StringIO(text), 1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        cells = [cell.strip() for cell in content.split(",")]
        if names is None:
            names = _header(cells, number)
            if not _numeric(cells[0]):
                continue
        if len(rows) == MOST_POINTS:
            message = f"line {number}: a trace has at most {MOST_POINTS} points; thin it out"
            raise ValueError(message)
        at, *rates = _row(cells, names, number)
        if times and at <= times[-1]:
            message = f"line {number}: {at:g} s is not after {times[-1]:g} s; times must rise"
            raise ValueError(message)
        times.append(at)
        rows.append(rates)
    if not rows or names is None:
        message = "the trace is empty; it needs lines such as `0,1000` (seconds, records per second)"
        raise ValueError(message)
    return Trace(tuple(times), dict(zip(names, zip(*rows, strict=True), strict=True)))


def write(trace: Trace) -> str:
    """The trace as `read` reads it; one of steps has a second point right before each change."""
    lines = [",".join(["seconds", *trace.sources])]
    for at, rates in _joined(trace):
        lines.append(",".join([f"{at:.12g}", *(f"{rate:.12g}" for rate in rates)]))
    return "\n".join(lines) + "\n"


def _joined(trace: Trace) -> Iterable[tuple[float, tuple[float, ...]]]:
    """The points of a trace joined by lines."""
    rows = list(zip(trace.times, zip(*trace.rates.values(), strict=True), strict=True))
    yield rows[0]
    for (start, before), (end, after) in itertools.pairwise(rows):
        if trace.shape is Shape.STEPS and before != after:
            yield end - min(1e-3, (end - start) / 2), before
        yield end, after


def _header(cells: Sequence[str], number: int) -> tuple[str, ...]:
    """The names of the sources."""
    if len(cells) < 2:
        message = f"line {number}: {','.join(cells)!r} has one column; it needs seconds and at least one rate"
        raise ValueError(message)
    if not _numeric(cells[0]):
        names = tuple(cells[1:])
        if len(set(names)) < len(names) or not all(names):
            message = f"line {number}: every column needs a name of its own, and they are {', '.join(names)}"
            raise ValueError(message)
        return names
    if len(cells) > 2:
        message = f"line {number}: {len(cells) - 1} rates, and no line before that names their sources"
        raise ValueError(message)
    return (ANY,)


def _row(cells: Sequence[str], names: Sequence[str], number: int) -> list[float]:
    if len(cells) != len(names) + 1:
        message = (
            f"line {number}: {len(cells)} columns, and there should be {len(names) + 1}: seconds, {', '.join(names)}"
        )
        raise ValueError(message)
    found = []
    for cell, name in zip(cells, ("seconds", *names), strict=True):
        value = float(cell) if _numeric(cell) else math.nan
        if not 0 <= value <= MOST_RATE:
            message = f"line {number}: {name} is {cell!r}; it must be a number from 0 to {MOST_RATE:g}"
            raise ValueError(message)
        found.append(value)
    return found


def _numeric(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _check(times: Sequence[float], rates: Mapping[str, Sequence[float]]) -> None:
    """Refuse what is no trace, whoever made it."""
    if not times or not rates or any(len(of_source) != len(times) for of_source in rates.values()):
        message = "a trace needs at least one time, and a rate of every source for each"
        raise ValueError(message)
    if not all(0 <= at < math.inf for at in times) or any(b <= a for a, b in itertools.pairwise(times)):
        message = "the times of a trace must be finite, 0 or more, and rise"
        raise ValueError(message)
    for source, of_source in rates.items():
        wrong = next((rate for rate in of_source if not 0 <= rate <= MOST_RATE), None)
        if wrong is not None:
            message = f"a rate of {source!r} is {wrong}; rates are numbers from 0 to {MOST_RATE:g}"
            raise ValueError(message)
