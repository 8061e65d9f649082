"""Figure D6: how many records each system gets through, from a full topic; in a second, and in a second of a processor.

The systems come in turn, forwards and backwards, each in fresh processes on a topic of its own, with one broker for all
of a workload, which is counted apart from all of them. Processor time is that of all processes of a system: slots,
driver, Java, Python workers.

Wanted of D: 1.1 times the better one of R and B on word count, 1.3 times Structured Streaming where both call the same
Python function and 0.95 times where all is SQL, and three times bytewax.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from spillway.bench.dual import contestants, courses, works
from spillway.bench.dual.contestants import BYTEWAX, FASTEST, B, D, Maker, R
from spillway.bench.dual.courses import Run
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.works import TITLES, Work
from spillway.bench.record import figures, systems
from spillway.bench.record.figures import Figure

SYSTEMS = (R, B, D, FASTEST, BYTEWAX)
# Messages for each second that a run shall take about, record by record on two cores.
EACH: Mapping[str, int] = {"lines": 6_000, "split": 5_000, "grep": 60_000, "ads": 30_000}
LEAST = {FASTEST: {"lines": 0.95, "split": 1.3, "grep": 0.95, "ads": 0.95}, BYTEWAX: dict.fromkeys(EACH, 3.0)}
GAIN = 1.1  # D against the better paradigm, where that is asked for

Runs = Mapping[str, list[Run]]


def main(
    seconds: float, rounds: int, done: Callable[[str], None], keeper: Keeper, some: Sequence[Work] = ()
) -> list[Figure]:
    """All workloads, each system once a round; so many seconds of work in each run."""
    found = []
    for work in some or (works.WORDS, works.SPLIT, works.GREP, works.YSB):
        runs = measured(work, seconds, rounds, done, keeper)
        found += shown(work, runs)
    return found


def measured(
    work: Work,
    seconds: float,
    rounds: int,
    done: Callable[[str], None],
    keeper: Keeper,
) -> Runs:
    """Every system that there is, so many times."""
    names = contestants.there(SYSTEMS, done)
    runs: dict[str, list[Run]] = {name: [] for name in names}
    records = int(EACH[work.name] * seconds)
    with systems.broker() as bootstrap:
        for _, name in figures.in_turn(names, rounds):
            maker = Maker(name, work)
            run = courses.counted(functools.partial(courses.drained, maker, bootstrap, records), maker, (), done)
            keeper.keep("throughput", run)
            runs[name].append(run)
    return runs


def shown(work: Work, runs: Runs) -> list[Figure]:
    """Rates of all, and how much more D does than each."""
    title = TITLES[work.name]
    found = []
    for name, some in runs.items():
        note = problems(some)
        rates, per_cpu = [run.rate for run in some], [run.records / run.cpu for run in some]
        void = any(run.problem for run in some)
        found.append(figures.of(f"D6 {title}: {name}", rates, "records/s", note=note, void=void))
        found.append(figures.of(f"D6 {title}: {name}", per_cpu, "records/CPU-s", void=void))
    if D not in runs:
        return found
    ours, void = [run.rate for run in runs[D]], any(run.problem for some in runs.values() for run in some)
    if R in runs and B in runs:
        better = [max(one.rate, other.rate) for one, other in zip(runs[R], runs[B], strict=True)]
        least = GAIN if work.name == works.WORDS.name else None
        ratios = figures.ratios(ours, better)
        found.append(figures.of(f"D6 {title}: D / the better of R and B", ratios, "times", least=least, void=void))
    for name in (FASTEST, BYTEWAX):
        if name in runs:
            ratios = figures.ratios(ours, [run.rate for run in runs[name]])
            least = LEAST[name][work.name]
            found.append(figures.of(f"D6 {title}: D / {name}", ratios, "times", least=least, void=void))
    return found


def problems(runs: Sequence[Run]) -> str:
    """What has to be known of some runs."""
    repeated = sum(run.judged.duplicated for run in runs)
    said = dict.fromkeys(run.problem for run in runs if run.problem)
    return "; ".join([*said, *([f"{repeated} duplicated"] if repeated else [])])
