"""Figure D4: where the time of a record goes, component by component, and that nothing of it is left over.

The measurement is that of `record.latency`, two segments at 1000 records a second, once for a job that may only run
record by record, and once for one that may do both, with a warm Spark beside it. Wanted: components that add up to 95
to 105 % of the total.

Slots report how long records were in each phase, and the broker when it had the first result of each: nobody takes one
of them for the difference of others.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

from spillway.bench.dual.keeping import Keeper
from spillway.bench.engines import PARADIGMS, D, R
from spillway.bench.record import figures, latency
from spillway.bench.record.figures import Figure
from spillway.bench.record.latency import Run
from spillway.bench.workloads.work import Work

LEAST, MOST = 0.95, 1.05


def main(seconds: float, rounds: int, done: Callable[[str], None], _: Keeper, __: Sequence[Work] = ()) -> list[Figure]:
    """R and D, on a job of its own; so many seconds of load in each run."""
    found = []
    for name in (R, D):
        make = functools.partial(latency.run, seconds=seconds, paradigm=PARADIGMS[name])
        found += shown(name, latency.counted(make, rounds, done))
    return found


def shown(name: str, runs: Sequence[Run]) -> list[Figure]:
    """The components, the total, and what the components are of it."""
    *parts, share = latency.components(runs)
    void = any(run.is_void for run in runs)
    judged = figures.of(share.name, [run.share for run in runs], share.unit, least=LEAST, most=MOST, void=void)
    return [dataclasses.replace(one, name=f"D4 {name}: {one.name}") for one in (*parts, judged)]
