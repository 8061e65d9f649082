"""How soon a burst is found, and how often there is none: `python -m spillway.bench.bursts`.

Arrivals of one operator, counted in ticks of 200 ms, from a seed:

- `poisson`: independent records;
- `on-off`: 20 sources that each send at twice their mean for 1 s on average, and nothing for 1 s on average;
- `pareto`: a tenth as many requests as records, with Pareto sizes (shape 1.5, so the variance is infinite).

Each is watched without a burst, to count alarms that are false, and those of them that could lead to a switch because
the rate is taken to be beyond the capacity; and with steps of the rate at random times, to measure
how long after the step the alarm comes. The delay runs from the step to the end of the tick that raised the alarm.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence

from spillway.controllers.switching import bursts

TICK = 0.2
SPAN = datetime.timedelta(seconds=TICK)
SOURCES = 20
ALPHA = 1.5
# Seconds. A step that isn't found within this counts as missed; the queue tells by then.
PATIENCE = 5.0
# Of the steady rate: with `policy.headroom` at 20 % the job has at least that. Only an alarm beyond it can switch.
CAPACITY = 1.25

# A rate in records per second for the time since the start, and randomness, give counts per tick, without end.
Rate = Callable[[float], float]
Arrivals = Callable[[Rate, random.Random], Iterator[int]]


def count(mean: float, rng: random.Random) -> int:
    """A Poisson number; from 100 on by the normal approximation, which is right to less than a tenth of s."""
    if mean >= 100:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    limit, product, n = math.exp(-mean), rng.random(), 0
    while product > limit:
        product *= rng.random()
        n += 1
    return n


def poisson(rate: Rate, rng: random.Random) -> Iterator[int]:
    """Independent records."""
    tick = 0
    while True:
        yield count(rate(tick * TICK) * TICK, rng)
        tick += 1


def on_off(rate: Rate, rng: random.Random) -> Iterator[int]:
    """Sources that are on or off for exponential times of 1 s on average, at twice their mean while they are on."""
    on = [rng.random() < 0.5 for _ in range(SOURCES)]
    left = [rng.expovariate(1.0) for _ in range(SOURCES)]
    tick = 0
    while True:
        active = 0.0
        for i in range(SOURCES):
            rest = TICK
            while rest > 0:
                part = min(rest, left[i])
                active += part if on[i] else 0.0
                rest -= part
                left[i] -= part
                if left[i] <= 0:
                    on[i], left[i] = not on[i], rng.expovariate(1.0)
        yield count(rate(tick * TICK) * 2 * active / SOURCES, rng)
        tick += 1


def pareto(rate: Rate, rng: random.Random) -> Iterator[int]:
    """Requests with Pareto sizes of 10 records on average."""
    least = 10 * (ALPHA - 1) / ALPHA
    tick = 0
    while True:
        requests = count(rate(tick * TICK) * TICK / 10, rng)
        yield round(sum(least * rng.paretovariate(ALPHA) for _ in range(requests)))
        tick += 1


KINDS: dict[str, Arrivals] = {"poisson": poisson, "on-off": on_off, "pareto": pareto}


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """What was measured for one kind of arrivals, one rate and one step (1.0: no step)."""

    kind: str
    rate: float
    step: float
    trials: int
    missed: int
    delays: tuple[float, ...]
    alarms: int
    beyond: int
    hours: float

    @property
    def within(self) -> float:
        """The share of the steps found within a tick of 250 ms."""
        return sum(delay <= 0.25 for delay in self.delays) / self.trials if self.trials else 0.0

    def __str__(self) -> str:
        head = f"{self.kind:8} {self.rate:8.0f}"
        if self.step == 1:
            false, beyond = self.alarms / self.hours, self.beyond / self.hours
            return f"{head}   none   false alarms per hour: {false:5.1f}; beyond capacity {beyond:5.1f}"
        ordered = sorted(self.delays) or [math.nan]
        p95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
        found = (
            f"{statistics.median(ordered):5.2f} s {p95:5.2f} s  {self.within:4.0%}  {self.missed / self.trials:4.0%}"
        )
        return f"{head}  x{self.step:<4.1f}  {found}"


def false_alarms(kind: str, rate: float, hours: float, seed: int) -> Row:
    """Watch arrivals of a steady rate."""
    rng = random.Random(f"{kind} {rate} {seed}")  # noqa: S311 - a simulation, not a secret
    state, alarms, beyond = bursts.Burst(), 0, 0
    counts = KINDS[kind](lambda _: rate, rng)
    for _ in range(round(hours * 3600 / TICK)):
        state = bursts.observe(state, next(counts) / TICK, SPAN)
        alarms += state.raised
        beyond += state.raised and state.rate > CAPACITY * rate
    return Row(kind, rate, 1.0, 0, 0, (), alarms, beyond, hours)


def delays(kind: str, rate: float, step: float, trials: int, seed: int) -> Row:
    """Watch steps: each after 40 to 60 s of calm, at a tick's start."""
    rng = random.Random(f"{kind} {rate} {step} {seed}")  # noqa: S311 - a simulation, not a secret
    found = []
    for _ in range(trials):
        begins = rng.randint(200, 300)
        counts = KINDS[kind](lambda t, at=begins * TICK - TICK / 2: rate * (step if t >= at else 1), rng)  # type: ignore[misc]
        state = bursts.Burst()
        for tick in range(begins + round(PATIENCE / TICK)):
            state = bursts.observe(state, next(counts) / TICK, SPAN)
            if tick >= begins and state.raised:
                found.append((tick - begins + 1) * TICK)
                break
    return Row(kind, rate, step, trials, trials - len(found), tuple(found), 0, 0, 0.0)


def table(
    hours: float,
    trials: int,
    seed: int,
    rates: Sequence[float] = (100, 1000, 10000),
    steps: Sequence[float] = (1.5, 2, 3, 5),
) -> Iterator[Row]:
    """All rows, as they are measured."""
    for kind in KINDS:
        for rate in rates:
            yield false_alarms(kind, rate, hours, seed)
            for step in steps:
                yield delays(kind, rate, step, trials, seed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=2.0, help="of calm arrivals per row (simulated)")
    parser.add_argument("--trials", type=int, default=100, help="steps per row")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    sys.stdout.write("arrivals    per s   step   median    95 %  in 250 ms  missed\n")
    for row in table(given.hours, given.trials, given.seed):
        sys.stdout.write(f"{row}\n")


if __name__ == "__main__":
    main()
