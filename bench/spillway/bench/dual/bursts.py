"""Figure D3: low, a burst, low, a higher burst, low: what a switch costs, and whether anything is lost in it.

    low = 0.1 R      burst = 1.3 R, at most 0.7 B      higher = 2 R, at most 0.85 B

where R and B are what these can do. Wanted of D: a second from the decision to the first result of a batch, 300 ms for
which a partition has no owner (99 %), three seconds after a burst until it is back to normal, nothing lost or wrong,
and no more than one switch for each edge of the load.

A burst is found out when the driver decides to switch. Normal is what keeps the promise, in every half second of the
three that follow; how long it takes until latencies are those of record by record again (twice the 99 % of the first
phase) is shown beside it, because a range stays in batches for ten calm seconds on purpose.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from spillway.bench.dual import high, throughput, turns
from spillway.bench.dual.courses import Run
from spillway.bench.dual.judging import Judged
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.loads import Load, Phase
from spillway.bench.engines import D, Maker, switches
from spillway.bench.record import figures
from spillway.bench.record.figures import Figure
from spillway.bench.workloads import ads, words
from spillway.bench.workloads.work import Work
from spillway.model.operators import Paradigm

LOW, BURST, HIGHER = 0.1, 1.3, 2.0  # of R
OF_BATCHES, HIGHER_OF_BATCHES = 0.7, 0.85  # of B
GAIN = 1.2  # below, batches don't win, and no burst asks for them
# Of the time. A range comes back after ten calm seconds, and after twenty when it went twice within a minute.
LENGTHS = {"low": 0.11, "burst": 0.2, "low again": 0.22, "higher burst": 0.17, "low at last": 0.3}
BOUND, QUANTILE = 500.0, 0.99  # the promise of the job, ms
FIRST, PAUSE, NORMAL = 1.0, 300.0, 3.0  # s, ms, s
BIN, STAYS = 0.5, 3.0  # seconds: of one look at latencies, and for which normal has to last
TIMES = 2.0  # of the 99 % of the first phase


@dataclasses.dataclass(frozen=True, slots=True)
class Episode:
    """What one run has shown.

    Attributes:
        first: seconds from each decision for batches to their first result.
        pauses: milliseconds, of each partition that changed its paradigm.
        kept: seconds after each burst until the promise is kept again; NaN if it never was.
        back: until latencies are those of record by record again.
        edges: switches after each edge of the load; those before the first edge come first.
    """

    first: Sequence[float]
    pauses: Sequence[float]
    kept: Sequence[float]
    back: Sequence[float]
    edges: Sequence[int]


def main(
    seconds: float, rounds: int, done: Callable[[str], None], keeper: Keeper, some: Sequence[Work] = ()
) -> list[Figure]:
    """All workloads in which batches win; so many seconds of load in each run."""
    found = []
    for work in some or (words.WORDS, ads.YSB):
        record, batch = high.capacities(work, done)
        found += high.able(work, record, batch)
        if batch >= GAIN * record:
            found += shown(work, measured(work, phases(record, batch, seconds), rounds, done, keeper))
    return found


def phases(record: float, batch: float, seconds: float) -> list[Phase]:
    """The load."""
    burst = min(BURST * record, OF_BATCHES * batch)
    higher = min(HIGHER * record, HIGHER_OF_BATCHES * batch)
    rates = {"burst": burst, "higher burst": higher}
    return [Phase(name, rates.get(name, LOW * record), seconds * share) for name, share in LENGTHS.items()]


def measured(
    work: Work,
    load: Sequence[Phase],
    rounds: int,
    done: Callable[[str], None],
    keeper: Keeper,
) -> list[Run]:
    """So many runs of D."""
    runs = turns.paced("bursts", f"D3 {work.title}", [Maker(D, work)], load, rounds, done, keeper, bound=BOUND)
    return runs[D]


def shown(work: Work, some: Sequence[Run]) -> list[Figure]:
    """All that is asked of a switch."""
    title = f"D3 {work.title}"
    void, note = any(run.problem for run in some), throughput.problems(some)
    seen = [episode(run) for run in some]
    never = "" if all(one.first for one in seen) else "nothing was switched"
    pauses = [figures.quantile(list(one.pauses), QUANTILE) for one in seen if one.pauses]
    count = " + ".join(str(len(one.pauses)) for one in seen)
    nothing = any(run.failure for run in some)  # then nothing was lost, either
    return [
        figures.of(f"{title}: messages lost", [float(run.judged.lost) for run in some], "", most=0, void=nothing),
        figures.of(f"{title}: results wrong", [float(run.judged.wrong) for run in some], "", most=0, void=nothing),
        figures.of(f"{title}: results duplicated", [float(run.judged.duplicated) for run in some], "", note=note),
        figures.of(
            f"{title}: decision to first batch done",
            [value for one in seen for value in one.first],
            "s",
            most=FIRST,
            void=void,
            note=never,
        ),
        figures.of(f"{title}: pause of a partition, p99", pauses, "ms", most=PAUSE, void=void, note=f"{count} pauses"),
        figures.of(
            f"{title}: promise kept after a burst in",
            [value for one in seen for value in one.kept],
            "s",
            most=NORMAL,
            void=void,
        ),
        figures.of(f"{title}: as before a burst in", [value for one in seen for value in one.back], "s", void=void),
        figures.of(
            f"{title}: switches for an edge, most",
            [float(max(one.edges)) for one in seen],
            "",
            most=1,
            void=void,
            note="; ".join(", ".join(map(str, one.edges)) for one in seen),
        ),
        *(
            figures.of(f"{title}: {name}, p99", [_p99(run.judged, *_span(run, name)) for run in some], "ms", void=void)
            for name in LENGTHS
        ),
    ]


def episode(run: Run) -> Episode:
    """What a run has shown."""
    assert run.load is not None  # noqa: S101 - it was paced
    load, judged = run.load, run.judged
    found = run.heard.switches(load.start)
    ends = [end for name, (_, end) in load.spans().items() if "burst" in name]
    normal = TIMES * _p99(judged, *_span(run, "low"))
    return Episode(
        [one.first for one in found if one.to is Paradigm.BATCH and one.first is not None],
        run.heard.pauses(load.start),
        [settled(judged, end, BOUND, load) for end in ends],
        [settled(judged, end, normal, load) for end in ends],
        switches.by_edge(found, edges(load)),
    )


def edges(load: Load) -> list[float]:
    """When the rate changes."""
    return [begin for begin, _ in load.spans().values()][1:]


def settled(judged: Judged, after: float, limit: float, load: Load) -> float:
    """Seconds after a moment until 99 % of what is due in each half second is within a limit (ms), for a while."""
    at = after
    while at + STAYS <= load.end:
        bins = [_p99(judged, t, t + BIN) for t in np.arange(at, at + STAYS, BIN)]
        over = [number for number, value in enumerate(bins) if not (np.isnan(value) or value <= limit)]
        if not over:
            return float(at - after)
        at += (over[-1] + 1) * BIN
    return float("nan")


def _span(run: Run, phase: str) -> tuple[float, float]:
    assert run.load is not None  # noqa: S101 - it was paced
    return run.load.spans()[phase]


def _p99(judged: Judged, begin: float, end: float) -> float:
    some = judged.within(begin, end)
    return float(np.quantile(some, QUANTILE)) if len(some) else float("nan")
