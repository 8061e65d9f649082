"""Figure D4: where the time of a record goes, component by component, and that nothing of it is left over.

The measurement is that of `record.latency`, two segments at 1000 records a second, once for a job that may only run
record by record, and once for one that may do both, with a warm Spark beside it. Wanted: components that add up to 95
to 105 % of the total.

A topic has one time for a message: when it was sent, or when it was appended. So a component may be of two runs, and
where the machine was another one meanwhile, it is less than nothing. The sum hides that, for what is missing in one
component is too much in the next; so then there is no figure.
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
NOTHING = -0.5  # ms: times are cut off to whole ones


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
    note = ""
    if less := [one.name for one in components if one.value < NOTHING]:
        verdict, note = figures.Verdict.VOID, f"{len(less)} components less than nothing: their runs can't be compared"
    wanted = f"{LEAST:g} to {MOST:g}"
    name = f"D4 {name}: components together"
    return [*components, total, Figure(name, share, share, share, "of the total", wanted, verdict, note)]
