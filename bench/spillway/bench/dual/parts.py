"""Figure D4: where the time of a record goes, component by component, and that nothing of it is left over.

The measurement is that of `record.latency`, two segments at 1000 records a second, once for a job that may only run
record by record, and once for one that may do both, with a warm Spark beside it. Components are differences of times
of the same records, so they have to add up to the total: wanted are 95 to 105 % of it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

from spillway.bench.dual.keeping import Keeper
from spillway.bench.engines import PARADIGMS, D, R
from spillway.bench.record import figures, latency
from spillway.bench.record.figures import Figure
from spillway.bench.workloads.work import Work

LEAST, MOST = 0.95, 1.05


def main(seconds: float, rounds: int, done: Callable[[str], None], _: Keeper, __: Sequence[Work] = ()) -> list[Figure]:
    """R and D, on a job of its own; so many seconds of load in each run."""
    found = []
    for name in (R, D):
        make = functools.partial(latency.run, seconds=seconds, paradigm=PARADIGMS[name])
        appended = latency.counted(make, rounds, done)
        sent = latency.counted(functools.partial(make, appended=False), rounds, done)
        found += shown(name, latency.components(appended, sent))
    return found


def shown(name: str, parts: Sequence[Figure]) -> list[Figure]:
    """The components, what they are together, and the total."""
    *components, total = [dataclasses.replace(one, name=f"D4 {name}: {one.name}") for one in parts]
    share = math.fsum(one.value for one in components) / total.value
    kept = LEAST <= share <= MOST
    verdict = figures.Verdict.REACHED if kept else figures.Verdict.MISSED
    wanted = f"{LEAST:g} to {MOST:g}"
    name = f"D4 {name}: components together"
    return [*components, total, Figure(name, share, share, share, "of the total", wanted, verdict)]
