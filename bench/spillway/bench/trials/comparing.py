"""Systems against one another: in turn, in fresh processes, after an A/A run that finds one as good as itself.

What is compared is either throughput and processor time from full topics, or latency and processor time under a load.
The first system is the one that the others are compared with. Before all else it runs against itself, in the same way:
where the ratio is not 1.00 ± 0.05, this machine can't tell two systems apart by that quantity today, and no ratio of it
counts.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

from spillway.bench.dual import courses, machine, pictures, throughput, turns
from spillway.bench.dual.courses import Run
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.turns import Runs
from spillway.bench.engines import Maker
from spillway.bench.record import figures
from spillway.bench.record.figures import Figure, Verdict
from spillway.bench.trials.traces import Given
from spillway.bench.workloads.work import Work

LEAST, MOST = 0.95, 1.05  # of one system against itself
SETTLE = 0.2  # of a load, that does not count
SHARES = {"p50": 0.5, "p99": 0.99}


@dataclasses.dataclass(frozen=True, slots=True)
class Quantity:
    """Something that is compared.

    Attributes:
        name, unit: of it.
        of: its value in a run.
    """

    name: str
    unit: str
    of: Callable[[Run], float]


def per_million(run: Run) -> float:
    """Seconds of processor time of the system for a million records."""
    return run.cpu / run.records * 1e6 if run.records else math.nan


def _quantile(share: float) -> Callable[[Run], float]:
    return lambda run: figures.quantile(run.late.tolist(), share)


CPU = Quantity("processor time", "CPU-s/million", per_million)
DRAINED = (Quantity("throughput", "records/s", lambda run: run.rate), CPU)
PACED = (*(Quantity(name, "ms", _quantile(share)) for name, share in SHARES.items()), CPU)


def compared(
    work: Work,
    names: Sequence[str],
    given: Given | None,
    seconds: float,
    rounds: int,
    say: Callable[[str], None],
    keeper: Keeper,
) -> list[Figure]:
    """All figures; under a load, or, without one, from full topics that take about so many seconds."""
    quantities = DRAINED if given is None else PACED
    phases = () if given is None else given.phases

    def course(maker: Maker, bootstrap: str) -> Run:
        if given is None:
            return courses.drained(maker, bootstrap, seconds)
        return courses.paced(maker, bootstrap, phases, settle=SETTLE * given.seconds)

    first = names[0]
    say(f"A/A: {first} against itself, {rounds} rounds")
    both = {name: Maker(first, work) for name in (first, f"{first} again")}
    same = same_as_itself(turns.measured("a-a", both, course, phases, rounds, say, keeper), quantities)
    for figure in same:
        say(f"{figure.name}: {figure.value:.3f} ({figure.low:.3f} to {figure.high:.3f}): {figure.verdict}")
    makers = {name: Maker(name, work) for name in names}
    runs = turns.measured("compare", makers, course, phases, rounds, say, keeper)
    said = "from full topics" if given is None else f"at {given.name}"
    pictures.draw(keeper, f"{work.title} {said}", [some[0] for some in runs.values()])
    title = f"{work.title} {said}"
    return [*machine.looked(), *same, *shown(title, runs, quantities, void_by(same))]


def same_as_itself(runs: Runs, quantities: Sequence[Quantity]) -> list[Figure]:
    """The A/A run: what one system is against itself."""
    one, other = runs.values()
    name = next(iter(runs))
    void = any(run.problem for run in (*one, *other))
    return [
        figures.of(
            f"A/A {name}: {quantity.name}",
            figures.ratios([quantity.of(run) for run in other], [quantity.of(run) for run in one]),
            "times",
            least=LEAST,
            most=MOST,
            void=void,
        )
        for quantity in quantities
    ]


def void_by(same: Sequence[Figure]) -> Mapping[str, bool]:
    """By quantity, whether ratios of it count for nothing."""
    return {figure.name.partition(": ")[2]: figure.verdict is not Verdict.REACHED for figure in same}


def shown(title: str, runs: Runs, quantities: Sequence[Quantity], void: Mapping[str, bool]) -> list[Figure]:
    """What each has done, and the first one against each of the others."""
    found, (first, *others) = [], list(runs)
    for quantity in quantities:
        values = {name: [quantity.of(run) for run in some] for name, some in runs.items()}
        bad = {name: any(run.problem for run in some) for name, some in runs.items()}
        for name, some in runs.items():
            note = throughput.problems(some)
            what = f"{title}: {name}, {quantity.name}"
            found.append(figures.of(what, values[name], quantity.unit, note=note, void=bad[name]))
        for name in others:
            ratios = figures.ratios(values[first], values[name])
            note = "A/A was not 1.00 ± 0.05" if void[quantity.name] else ""
            what = f"{title}: {first} / {name}, {quantity.name}"
            none = void[quantity.name] or bad[first] or bad[name]
            found.append(figures.of(what, ratios, "times", note=note, void=none))
    return found
