"""One run of one system under a load, and what it says."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from spillway.bench.dual import courses, pictures
from spillway.bench.dual.courses import Run
from spillway.bench.dual.histograms import Histogram
from spillway.bench.dual.keeping import Keeper
from spillway.bench.engines import Maker
from spillway.bench.record import figures
from spillway.bench.record.figures import Figure
from spillway.bench.record.schedule import LATEST
from spillway.bench.trials.traces import Given
from spillway.local import broker as local

SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def measured(maker: Maker, given: Given, settle: float, say: Callable[[str], None], keeper: Keeper) -> Run:
    """A run in fresh processes, with a broker of its own; tried again where the generator was late."""
    with local.Broker() as broker:
        beside = {"broker": broker.pid or 0}
        course = functools.partial(courses.paced, maker, broker.bootstrap, given.phases, settle=settle, beside=beside)
        run = courses.counted(course, maker, given.phases, say)
    keeper.keep("run", run)
    pictures.draw(keeper, f"{maker.work.title} {maker.name} {given.name}", [run])
    return run


def shown(run: Run, given: Given) -> list[Figure]:
    """What it says, as figures: rates, latencies, processor time, the generator, and whether it was right."""
    void, note = bool(run.problem), run.problem
    title = f"{run.work}, {run.system}, {given.name}"
    ages, late, after = Histogram.of(run.ages), Histogram.of(run.late), Histogram.of(run.after)
    millions = run.records / 1e6
    found = [
        figures.of(f"{title}: records came", [run.records / given.seconds], "1/s"),
        figures.of(f"{title}: records were done", [rate(run)], "1/s", void=void, note=note),
        *_latencies(f"{title}: latency of records", late, void=void),
        *_latencies(f"{title}: event-time latency of results", ages, void=void),
        *(_latencies(f"{title}: last result after its window", after, void=void) if after.count else ()),
        *(
            figures.of(f"{title}: processor time, {name}", [seconds / millions], "CPU-s/million")
            for name, seconds in run.used.items()
            if millions
        ),
    ]
    if run.lateness is not None:
        late_by = [run.lateness.p999 * 1000]
        found.append(figures.of(f"{title}: generator late, p99.9", late_by, "ms", most=LATEST * 1000))
    nothing = bool(run.failure)
    for name, count in (("lost", run.judged.lost), ("wrong", run.judged.wrong)):
        found.append(figures.of(f"{title}: {name}", [float(count)], "", most=0, void=nothing))
    found.append(figures.of(f"{title}: duplicated", [float(run.judged.duplicated)], "", void=nothing))
    return found


def rate(run: Run) -> float:
    """Records per second that were done from the first one's due time to the last result."""
    return run.rate if run.records and len(run.judged.dues) else float("nan")


def _latencies(title: str, found: Histogram, *, void: bool) -> Sequence[Figure]:
    return [
        figures.of(f"{title}, {name}", [found.quantile(share)] if found.count else [], "ms", void=void)
        for name, share in SHARES.items()
    ]
