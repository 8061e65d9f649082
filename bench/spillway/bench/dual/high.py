"""Figure D2: at 1.3 times what record by record can do, and within what batches can.

R falls behind, for as long as the load lasts: that is shown by how fast its latency grows. B and D don't. Wanted of D
against B, once the load has been there for a while: half the mean, 0.6 times the 99 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spillway.bench.dual import capacity, throughput, turns
from spillway.bench.dual.courses import Run
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.loads import Phase
from spillway.bench.dual.turns import Runs
from spillway.bench.engines import B, D, Maker, R
from spillway.bench.record import figures, systems
from spillway.bench.record.figures import Figure
from spillway.bench.workloads import ads, words
from spillway.bench.workloads.work import Floats, Work

SYSTEMS = (R, B, D)
BEYOND, WITHIN = 1.3, 0.75  # of what R, and of what B can do
GAIN = 1.1  # B has to do so many times as much as comes beyond R, or there is no such load
SETTLED = 0.4  # of the load: until then D has found it out, and worked off what waited meanwhile
MEAN, P99 = 0.5, 0.6


def main(
    seconds: float, rounds: int, done: Callable[[str], None], keeper: Keeper, some: Sequence[Work] = ()
) -> list[Figure]:
    """All workloads in which batches do enough more; so many seconds of load in each run."""
    found = []
    for work in some or (words.WORDS, words.GREP, ads.YSB):
        record, batch = capacities(work, done)
        found += able(work, record, batch)
        rate = chosen(record, batch)
        if rate is not None:
            found += shown(work, rate, measured(work, rate, seconds, rounds, done, keeper))
    return found


def capacities(work: Work, done: Callable[[str], None]) -> tuple[float, float]:
    """What R and B can do."""
    with systems.broker() as bootstrap:
        one, other = (capacity.measured(Maker(name, work), bootstrap, done) for name in (R, B))
    return one, other


def able(work: Work, record: float, batch: float) -> list[Figure]:
    """The same as figures."""
    title = f"{work.title}, what can be done on an open loop"
    return [figures.of(f"{title}: {name}", [value], "records/s") for name, value in ((R, record), (B, batch))]


def chosen(record: float, batch: float) -> float | None:
    """The load; None where what batches can do leaves no room for one that record by record can't."""
    rate = min(BEYOND * record, WITHIN * batch)
    return rate if rate >= GAIN * record else None


def measured(
    work: Work,
    rate: float,
    seconds: float,
    rounds: int,
    done: Callable[[str], None],
    keeper: Keeper,
) -> Runs:
    """Every system, so many times, at this rate."""
    title, makers = f"D2 {work.title} at {rate:,.0f} a second", [Maker(name, work) for name in SYSTEMS]
    return turns.paced("high", title, makers, [Phase("high", rate, seconds)], rounds, done, keeper)


def shown(work: Work, rate: float, runs: Runs) -> list[Figure]:
    """How fast the latency of each grows, and what it is in the end."""
    title = f"D2 {work.title} at {rate:,.0f}/s"
    found = []
    for name, some in runs.items():
        void, note = any(run.problem for run in some), throughput.problems(some)
        growth = [slope(run) for run in some]
        found.append(figures.of(f"{title}: {name}, latency grows by", growth, "s/s", note=note, void=void))
        settled = [late(run) for run in some]
        found.append(figures.of(f"{title}: {name}, mean", [float(one.mean()) for one in settled], "ms", void=void))
        p99 = [float(np.quantile(one, 0.99)) for one in settled]
        found.append(figures.of(f"{title}: {name}, p99", p99, "ms", void=void))
    void = any(run.problem for name in (B, D) for run in runs[name])
    ours, theirs = ([late(run) for run in runs[name]] for name in (D, B))
    means = figures.ratios([float(one.mean()) for one in ours], [float(one.mean()) for one in theirs])
    p99s = figures.ratios([float(np.quantile(x, 0.99)) for x in ours], [float(np.quantile(x, 0.99)) for x in theirs])
    found.append(figures.of(f"{title}: D / B, mean", means, "times", most=MEAN, void=void))
    found.append(figures.of(f"{title}: D / B, p99", p99s, "times", most=P99, void=void))
    return found


def late(run: Run) -> Floats:
    """Latencies of what was due once the load had been there for a while."""
    assert run.load is not None  # noqa: S101 - it was paced
    begin, end = run.load.start, run.load.end
    some = run.judged.within(begin + SETTLED * (end - begin), end)
    return some if len(some) else np.array([np.nan])


def slope(run: Run) -> float:
    """By how many seconds latencies grow in a second of the load: a line through the means of seconds."""
    assert run.load is not None  # noqa: S101 - it was paced
    begin, end = run.load.start, run.load.end
    at = np.arange(begin, end - 0.5, 1.0)
    means = np.array([some.mean() if len(some := run.judged.within(t, t + 1)) else np.nan for t in at])
    known = ~np.isnan(means)
    return float(np.polyfit(at[known] - begin, means[known] / 1000, 1)[0]) if known.sum() > 1 else float("nan")
