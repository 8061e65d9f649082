"""Figure D1: how old records are when the output tells of them, at a tenth of what record by record can do.

Wanted of D: at most 1.05 times R, at half and at 99 % of the records; a tenth of Structured Streaming as fast as it
can, and a fiftieth of it with a trigger of one second; 10 and 50 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from spillway.bench import engines
from spillway.bench.dual import capacity, throughput, turns
from spillway.bench.dual.courses import Run
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.loads import Phase
from spillway.bench.dual.turns import Runs
from spillway.bench.engines import FASTEST, SECOND, D, Maker, R
from spillway.bench.record import figures, systems
from spillway.bench.record.figures import Figure
from spillway.bench.workloads import ads, words
from spillway.bench.workloads.work import Work

SYSTEMS = (R, D, FASTEST, SECOND)
SHARE = 0.1  # of what R can do
BOUND = "50ms"
SHARES = (0.5, 0.99)
MOST = {R: 1.05, FASTEST: 1 / 10, SECOND: 1 / 50}
ABSOLUTE = {0.5: 10.0, 0.99: 50.0}  # ms


def main(
    seconds: float, rounds: int, done: Callable[[str], None], keeper: Keeper, some: Sequence[Work] = ()
) -> list[Figure]:
    """All workloads; so many seconds of load in each run."""
    found = []
    for work in some or (words.WORDS, words.GREP, ads.YSB):
        with systems.broker() as bootstrap:
            able = capacity.measured(Maker(R, work), bootstrap, done)
        runs = measured(work, SHARE * able, seconds, rounds, done, keeper)
        found += shown(work, SHARE * able, runs)
    return found


def measured(
    work: Work,
    rate: float,
    seconds: float,
    rounds: int,
    done: Callable[[str], None],
    keeper: Keeper,
) -> Runs:
    """Every system that there is, so many times, at this rate."""
    makers = [Maker(name, work, BOUND) for name in engines.there(SYSTEMS, work, done)]
    title = f"D1 {work.title} at {rate:,.0f} a second"
    return turns.paced("low", title, makers, [Phase("low", rate, seconds)], rounds, done, keeper)


def shown(work: Work, rate: float, runs: Runs) -> list[Figure]:
    """Quantiles of all, and D's against each."""
    title = f"D1 {work.title} at {rate:,.0f}/s"
    found = []
    for share in SHARES:
        of: Mapping[str, list[float]] = {name: [quantile(run, share) for run in some] for name, some in runs.items()}
        for name, values in of.items():
            most = ABSOLUTE[share] if name == D else None
            void, note = any(run.problem for run in runs[name]), throughput.problems(runs[name])
            found.append(
                figures.of(f"{title}: {name}, p{share * 100:g}", values, "ms", most=most, note=note, void=void)
            )
        void = any(run.problem for some in runs.values() for run in some)
        for name in runs:
            if name in MOST and D in runs:
                ratios = figures.ratios(of[D], of[name])
                what = f"{title}: D / {name}, p{share * 100:g}"
                found.append(figures.of(what, ratios, "times", most=MOST[name], void=void))
    return found


def quantile(run: Run, share: float) -> float:
    """Of the latencies of a run, in milliseconds."""
    some = run.judged.latencies
    return float(np.quantile(some, share, method="inverted_cdf")) if len(some) else float("nan")
