"""Figure P2: what a plan is worth against rules of thumb: the highest rate at which 99 % keep the bound.

The rules are those of the paper on planning under a latency bound (LAT, section 5.1): every segment on as many slots as
there are cores, and frames that leave every 10, 100 or 1000 ms, however full they are; and one more, that nothing ever
waits for a frame. Nobody leads such a job, which leaves it the processor time that a driver takes. What is planned is
the job as it is deployed, record by record alone, with the driver that decides by itself.

The load climbs by a tenth, from a quarter of what record by record can do, until twice in a row 99 % did not keep the
bound; before each step all of the one before is done. Latencies are those from outside, and every result is judged.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from spillway.bench.dual import capacity, courses, judging, loads
from spillway.bench.dual.feeding import Feeder
from spillway.bench.dual.judging import Judged
from spillway.bench.dual.tails import Tail
from spillway.bench.engines import CORES, Engine, Maker, R
from spillway.bench.engines.ours import Hosted
from spillway.bench.record import figures, systems
from spillway.bench.record.figures import Figure
from spillway.bench.record.systems import System
from spillway.bench.workloads import ads, sessions, words
from spillway.bench.workloads.work import Floats, Work

WORKS: tuple[Work, ...] = (words.WORDS, ads.YSB, sessions.AVERAGES)
BOUND, QUANTILE = 0.5, 0.99
FIRST, UP = 0.25, 1.1  # of what record by record can do; and from one step to the next
TRIES = 2  # of a step that does not keep the bound: something else may have been busy
SETTLED = 0.4  # of a step: until then the driver may plan anew
BEFORE = 0.5  # seconds until the first message of a step is due
PATIENCE = 20.0  # seconds for the last result of a step
FULL = 10_000  # records: frames that leave by their deadline alone
GAIN = 1.25

PLANNED = "planned"
# Records in a frame, and seconds after which it leaves.
RULES: Mapping[str, tuple[int, float]] = {
    "each record": (1, 0.0),
    "10 ms": (FULL, 0.01),
    "100 ms": (FULL, 0.1),
    "1 s": (FULL, 1.0),
}

Say = Callable[[str], None]


class Ruled(Hosted):
    """A job whose slots, frames and deadlines somebody has chosen once and for all."""

    def __init__(self, work: Work, bootstrap: str, source: str, sources: Sequence[str], rule: str) -> None:
        frame, deadline = RULES[rule]
        self._rules = System(work.case, bootstrap, source, slots=CORES, frame=frame, deadline=deadline)
        super().__init__(self._rules, sources)

    @property
    def parts(self) -> Mapping[str, int]:
        """Its slots."""
        return {f"slot {number}": pid for number, pid in enumerate(self._rules.processes)}


@dataclasses.dataclass(frozen=True, slots=True)
class Rule(Maker):
    """Starts a job by a rule; its name is that of the rule."""

    def made(self, bootstrap: str, source: str, sources: Sequence[str]) -> Engine:
        """On these topics."""
        return Ruled(self.work, bootstrap, source, sources, self.name)


@dataclasses.dataclass(frozen=True, slots=True)
class Climb:
    """How high a load could be.

    Attributes:
        rate: of the highest step that kept the bound, in records per second; 0 where not even the first did.
        problem: why it does not count; empty if it does.
    """

    rate: float
    problem: str = ""


def main(seconds: float, rounds: int, done: Say) -> list[Figure]:
    """All workloads, in steps of so many seconds."""
    found, kept = list[Figure](), list[bool]()
    for work in WORKS:
        with systems.broker() as bootstrap:
            able = capacity.measured(Maker(R, work), bootstrap, done)
            climbs: dict[str, list[Climb]] = {name: [] for name in (PLANNED, *RULES)}
            for _, name in figures.in_turn(list(climbs), rounds):
                maker = Maker(R, work) if name == PLANNED else Rule(name, work)
                climbs[name].append(climbed(maker, bootstrap, able, seconds, _titled(done, f"{work.name}, {name}")))
        found += shown(work.title, climbs)
        kept.append(all(climb.rate > 0 for climb in climbs[PLANNED]))
    share = sum(kept) / len(kept)
    return [*found, figures.of("P2 workloads in which what is planned keeps the bound", [share], "of all", least=1.0)]


def shown(title: str, climbs: Mapping[str, Sequence[Climb]]) -> list[Figure]:
    """The figures of one workload; a rule that keeps the bound at no rate is no rival."""
    title = f"P2 {title}"
    said = f"99 % within {1000 * BOUND:.0f} ms up to"
    found = []
    for name, some in climbs.items():
        note = "; ".join(sorted({climb.problem for climb in some if climb.problem}))
        rates = [climb.rate for climb in some]
        found.append(figures.of(f"{title}: {name}, {said}", rates, "records/s", note=note, void=bool(note)))
    void = any(climb.problem for some in climbs.values() for climb in some)
    by_round = list(zip(*([climb.rate for climb in climbs[name]] for name in RULES), strict=True))
    planned = [climb.rate for climb in climbs[PLANNED]]
    best = _against(planned, map(max, by_round))
    middle = _against(planned, map(statistics.median, by_round))
    return [
        *found,
        figures.of(f"{title}: planned against the best rule", best, "times", least=GAIN, void=void),
        figures.of(f"{title}: against the rule in the middle", middle, "times", void=void),
    ]


def _against(planned: Sequence[float], rivals: Iterable[float]) -> list[float]:
    """How many times as much, of the rounds in which there was a rival."""
    return [ours / theirs for ours, theirs in zip(planned, rivals, strict=True) if theirs]


def _titled(done: Say, title: str) -> Say:
    return lambda line: done(f"{title}: {line}")


def stairs(able: float) -> Iterator[float]:
    """Rates that climb, without end."""
    return (FIRST * able * UP**number for number in itertools.count())


def climbed(maker: Maker, bootstrap: str, able: float, seconds: float, say: Say) -> Climb:
    """Up to the first rate at which the bound is not kept."""
    with maker.started(bootstrap) as subject, Feeder() as feeder:
        dues = courses.warmed(subject, bootstrap, maker.work, feeder).dues()
        with contextlib.closing(Tail(bootstrap, subject.output, maker.work)) as tail:
            steps = _Steps(subject, feeder, bootstrap, maker.work, tail, dues)
            return highest(stairs(able), lambda rate: steps.step(rate, seconds), say)


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """What 99 % of the records of a step took, how late 99.9 % were sent at most (seconds), and what was wrong."""

    p99: float
    late: float = 0.0
    problem: str = ""

    @property
    def kept(self) -> bool:
        """Whether the bound was."""
        return self.p99 <= BOUND

    @property
    def doubtful(self) -> bool:
        """Whether it would have been, had the generator been in time: how late that is, latencies have in them."""
        return not self.kept and self.p99 - self.late <= BOUND


def highest(rates: Iterator[float], step: Callable[[float], Step], say: Say) -> Climb:
    """The last of these rates before one that is tried in vain."""
    best = 0.0
    for rate in rates:
        for _ in range(TRIES):
            found = step(rate)
            if found.problem:
                return Climb(best, found.problem)
            say(f"{rate:,.0f}/s: 99 % within {1000 * found.p99:.0f} ms, generator late by {1000 * found.late:.1f} ms")
            if found.kept:
                break
        else:
            return Climb(best, "the generator was late" if found.doubtful else "")
        best = rate
    return Climb(best)


class _Steps:
    """Loads, one after the other, on a job that runs."""

    def __init__(self, subject: Engine, feeder: Feeder, bootstrap: str, work: Work, tail: Tail, dues: Floats) -> None:
        self._subject, self._feeder, self._bootstrap = subject, feeder, bootstrap
        self._work, self._tail, self._dues = work, tail, dues

    def step(self, rate: float, seconds: float) -> Step:
        """One of them, until all of it is done."""
        load = loads.at_rate(time.time() + BEFORE, rate, seconds, len(self._dues))
        pacing = self._feeder.pace(self._bootstrap, self._subject.sources, self._work, load)
        late = courses.watched(self._subject, pacing).late.p999
        self._dues = np.concatenate([self._dues, load.dues()])
        found = self._judged()
        if found.wrong:
            return Step(math.inf, late, found.problem)
        if found.lost:  # not yet there: far beyond the bound
            return Step(math.inf, late)
        some = found.within(load.start + SETTLED * seconds, load.end)
        return Step(figures.quantile(some.tolist(), QUANTILE) / 1000, late)

    def _judged(self) -> Judged:
        """All that has come so far, once nothing is missing any more, or the patience is over."""
        expected = self._work.expected(self._dues)
        wanted, deadline = sum(map(len, expected.values())), time.monotonic() + PATIENCE
        while True:
            self._subject.look()
            self._tail.read()
            if self._tail.done() >= wanted or time.monotonic() > deadline:
                break
            time.sleep(courses.LOOK)
        return judging.judged(
            self._tail.results(), expected, self._dues, lambda numbers: self._work.amount(numbers, self._dues)
        )
