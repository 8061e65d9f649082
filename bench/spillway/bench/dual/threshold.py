"""Figure D7: a rate around what record by record can do, 5 % below and 5 % above in turn: a job must not go to and fro.

The rate changes every few seconds, so that each time there is time enough to switch. A switch to batches is right, for
half of the time more comes than can be done; more than one is a job that can't make up its mind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from spillway.bench.dual import capacity, throughput, turns
from spillway.bench.dual.courses import Run
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.loads import Phase
from spillway.bench.engines import D, Maker, R
from spillway.bench.engines.switches import Switch
from spillway.bench.record import figures, systems
from spillway.bench.record.figures import Figure
from spillway.bench.workloads import words
from spillway.bench.workloads.work import Work

AROUND = 0.05
EACH = 5.0  # seconds at one rate
MOST = 1


def main(
    seconds: float, rounds: int, done: Callable[[str], None], keeper: Keeper, some: Sequence[Work] = ()
) -> list[Figure]:
    """Word count; so many seconds of load in each run."""
    found = []
    for work in some or (words.WORDS,):
        with systems.broker() as bootstrap:
            able = capacity.measured(Maker(R, work), bootstrap, done)
        found += shown(work, able, measured(work, able, seconds, rounds, done, keeper))
    return found


def phases(rate: float, seconds: float) -> list[Phase]:
    """Below and above in turn."""
    count = max(2, round(seconds / EACH))
    return [Phase(f"{n}", rate * (1 + (AROUND if n % 2 else -AROUND)), EACH) for n in range(count)]


def measured(
    work: Work, rate: float, seconds: float, rounds: int, done: Callable[[str], None], keeper: Keeper
) -> list[Run]:
    """So many runs of D."""
    load = phases(rate, seconds)
    return turns.paced("threshold", f"D7 {work.title}", [Maker(D, work)], load, rounds, done, keeper)[D]


def shown(work: Work, rate: float, runs: Sequence[Run]) -> list[Figure]:
    """How often each has switched."""
    void, note = any(run.problem for run in runs), throughput.problems(runs)
    title = f"D7 {work.title} at {rate:,.0f}/s ± {AROUND * 100:.0f} %: switches"
    values = [float(len(_switches(run))) for run in runs]
    return [figures.of(title, values, "", most=MOST, note=note, void=void)]


def _switches(run: Run) -> list[Switch]:
    """Those while the load lasted: that a job comes back when nothing comes any more is as it should be."""
    end = run.load.end if run.load is not None else math.inf
    return [one for one in run.heard.switches(run.begin) if one.at <= end]
