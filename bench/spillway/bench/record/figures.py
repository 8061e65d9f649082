"""Figures: quantiles, medians with their intervals, ratios of things that were measured in turn.

- A quantile is a value that was measured: the nearest rank, rounded up, so that a p99 is never between two samples.
- An interval is the 95 % bootstrap interval of the median: medians of resamples, with a seed, so that a table that is
  computed again is the same. With fewer than five values it is their range: nothing better is known.
- What is compared is run in turn, forwards and backwards (A B, B A, A B …), so that a machine that slows down slows
  down both; a ratio is taken within each round, and its median over the rounds.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

ROUNDS = 5  # the least for a ratio: with fewer, one disturbed round moves the median by more than a neighbour
RESAMPLES = 2_000
SEED = 1


class Verdict(enum.StrEnum):
    """What became of a figure."""

    REACHED = "reached"
    MISSED = "missed"
    SHOWN = "shown"  # nothing was asked of it
    VOID = "void"  # the run doesn't count


@dataclasses.dataclass(frozen=True, slots=True)
class Spread:
    """A median, and where it may lie as well."""

    median: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """One line of a report.

    Attributes:
        name: what was measured.
        value: its median.
        low, high: the interval; both the value itself where there was one measurement.
        unit: of all three.
        wanted: what it should be, for people; empty if nothing is asked.
        verdict: what became of it.
        note: what has to be known to read it.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str
    wanted: str = ""
    verdict: Verdict = Verdict.SHOWN
    note: str = ""


def quantile(values: Sequence[float], share: float) -> float:
    """The least value that so many are not above; NaN of none."""
    if not values:
        return math.nan
    # 0.07 * 100 is 7.000000000000001: what is that near to a rank is that rank.
    rank = math.ceil(round(share * len(values), 9))
    return sorted(values)[max(1, min(len(values), rank)) - 1]


def spread(values: Sequence[float], seed: int = SEED) -> Spread:
    """The median of some values and its interval."""
    if not values:
        return Spread(math.nan, math.nan, math.nan)
    median = statistics.median(values)
    if len(values) < ROUNDS:
        return Spread(median, min(values), max(values))
    draw = random.Random(seed)  # noqa: S311 - resampling, no secret
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return Spread(median, quantile(medians, 0.025), quantile(medians, 0.975))


def in_turn(names: Sequence[T], rounds: int) -> Iterator[tuple[int, T]]:
    """Every name once a round, forwards and backwards in turn: of two A, B, B, A, A, B and so on."""
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            yield number, name


def ratios(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """How many times as much, round by round."""
    return [a / b for a, b in zip(above, below, strict=True)]


def of(
    name: str,
    values: Sequence[float],
    unit: str,
    *,
    most: float | None = None,
    least: float | None = None,
    note: str = "",
    void: bool = False,
) -> Figure:
    """A figure of measured values; reached if its median keeps the bound that it should keep."""
    found = spread(values)
    wanted = f"≤ {most:g}" if most is not None else f"≥ {least:g}" if least is not None else ""
    if most is not None and least is not None:
        wanted = f"{least:g} to {most:g}"
    kept = (most is None or found.median <= most) and (least is None or found.median >= least)
    verdict = Verdict.SHOWN if not wanted else Verdict.REACHED if kept else Verdict.MISSED
    return Figure(
        name, found.median, found.low, found.high, unit, wanted, Verdict.VOID if void or not values else verdict, note
    )


def measured(
    cases: Mapping[str, Callable[[], float]], rounds: int, done: Callable[[str], None]
) -> dict[str, list[float]]:
    """Every case once a round, in turn; `done` is told what came out, because that can take minutes."""
    found: dict[str, list[float]] = {name: [] for name in cases}
    for number, name in in_turn(list(cases), rounds):
        value = cases[name]()
        found[name].append(value)
        done(f"round {number + 1} of {rounds}: {name} {value:.3f}")
    return found
