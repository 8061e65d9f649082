"""Figure D6: how many records each system gets through, from a full topic; in a second, and in a second of a processor.

The systems come in turn, forwards and backwards, each in fresh processes on a topic of its own, with one broker for all
of a workload, which is counted apart from all of them. Processor time is that of all processes of a system: slots,
driver, Java, Python workers.

Wanted of D: 1.1 times the better one of R and B on word count, 1.3 times Structured Streaming where both call the same
Python function and 0.95 times where all is SQL, and three times bytewax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spillway.bench import engines
from spillway.bench.dual import courses, turns
from spillway.bench.dual.courses import Run
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.turns import Runs
from spillway.bench.engines import BYTEWAX, FASTEST, B, D, Maker, R
from spillway.bench.record import figures
from spillway.bench.record.figures import Figure
from spillway.bench.workloads import ads, words
from spillway.bench.workloads.work import Work

SYSTEMS = (R, B, D, FASTEST, BYTEWAX)
# Of a rate; Structured Streaming where all is SQL, and where both call the same Python function.
SQL, PYTHON, LEAST_BYTEWAX = 0.95, 1.3, 3.0
GAIN = 1.1  # D against the better paradigm, where that is asked for


def main(
    seconds: float, rounds: int, done: Callable[[str], None], keeper: Keeper, some: Sequence[Work] = ()
) -> list[Figure]:
    """All workloads, each system once a round; so many seconds of work in each run."""
    found = []
    for work in some or (words.WORDS, words.SPLIT, words.GREP, ads.YSB):
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
    makers = {name: Maker(name, work) for name in engines.there(SYSTEMS, work, done)}

    def course(maker: Maker, bootstrap: str) -> Run:
        return courses.drained(maker, bootstrap, seconds)

    return turns.measured("throughput", makers, course, (), rounds, done, keeper)


def shown(work: Work, runs: Runs) -> list[Figure]:
    """Rates of all, and how much more D does than each."""
    title = work.title
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
        least = GAIN if work.name == words.WORDS.name else None
        ratios = figures.ratios(ours, better)
        found.append(figures.of(f"D6 {title}: D / the better of R and B", ratios, "times", least=least, void=void))
    for name in (FASTEST, BYTEWAX):
        if name in runs:
            ratios = figures.ratios(ours, [run.rate for run in runs[name]])
            least = LEAST_BYTEWAX if name == BYTEWAX else PYTHON if work.python else SQL
            found.append(figures.of(f"D6 {title}: D / {name}", ratios, "times", least=least, void=void))
    return found


def problems(runs: Sequence[Run]) -> str:
    """What has to be known of some runs."""
    repeated = sum(run.judged.duplicated for run in runs)
    said = dict.fromkeys(run.problem for run in runs if run.problem)
    return "; ".join([*said, *([f"{repeated} duplicated"] if repeated else [])])
