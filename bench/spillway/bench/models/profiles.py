"""Figures F1 and F2: stepwise profiling on running jobs.

Each deployment is a resize of a running job (`local.profiling`), of operators that wait (`topologies`), on as many
slots as there may be.

- F1: Linear, Star and Diamond against the best of all counts. Nobody can run all: what each operator takes is measured
  on this machine, with that every count of slots is computed, and the best of them are run. Rounds are those under full
  load, until one had 95 % of the best.
- F2: word count, synthetic word count and sentiment against threshold scaling and Stela (`rivals_of_profiling`), each
  with as many deployments as profiling used, on as many slots, and taken at the best that it had in them. All three
  are run again at the end, in turn, so that what is compared was measured side by side.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from spillway.bench import rivals_of_profiling as rivals
from spillway.bench.models import topologies
from spillway.bench.models.topologies import Topology
from spillway.bench.record import figures
from spillway.bench.record.figures import Figure
from spillway.controllers.profiling import machine
from spillway.controllers.profiling.application import Application
from spillway.controllers.profiling.measurement import Deployment, Measurement
from spillway.controllers.profiling.rounds import Settings, State

NEAR, GAIN = 0.95, 0.35
ROUNDS = {"linear": 4, "star": 6, "diamond": 6}  # that the paper's own profiler took
MOST_ROUNDS = 10
WORTH = 0.03
MACHINES = 2  # that Stela gives a slot each in a round: cores, here
CANDIDATES = 3  # of the computed counts that are run
TURNS = 2  # of each, when they are compared
BUSIEST = 40  # slots of one operator that are tried

Say = Callable[[str], None]


def nearness(seconds: float, rounds: int, done: Say) -> list[Figure]:
    """F1."""
    found: list[Figure] = []
    for topology in (topologies.linear(), topologies.star(), topologies.diamond()):
        shares: list[float] = []
        reached: list[float] = []
        for number in range(rounds):
            with topologies.running(topology, _hush) as platform:
                one = _near(topology, platform, seconds, _prefixed(done, f"{topology.name}, {number + 1}"))
            shares.append(one.share)
            reached.append(one.rounds)
        found += judged_near(topology.name, shares, reached)
    return found


def judged_near(name: str, shares: Sequence[float], reached: Sequence[float]) -> list[Figure]:
    """F1 of one topology."""
    return [
        figures.of(f"F1 {name}: of the best of all counts", shares, "share", least=NEAR),
        figures.of(f"F1 {name}: rounds until {NEAR:.0%} of it", reached, "rounds", most=ROUNDS[name]),
    ]


def comparison(seconds: float, rounds: int, done: Say) -> list[Figure]:
    """F2."""
    found: list[Figure] = []
    for topology in (topologies.word_count(), topologies.word_count(synthetic=True), topologies.sentiment()):
        rows = []
        for number in range(rounds):
            with topologies.running(topology, _hush) as platform:
                rows.append(_compared(topology, platform, seconds, _prefixed(done, f"{topology.name}, {number + 1}")))
        found += judged_gain(topology.name, rows)
    return found


def judged_gain(name: str, rows: Sequence[Mapping[str, float]]) -> list[Figure]:
    """F2 of one topology: records per second of each, by name."""
    gains = [100 * (row["profiled"] / max(row["threshold"], row["stela"]) - 1) for row in rows]
    return [
        *(figures.of(f"F2 {name}: {who}", [row[who] for row in rows], "records/s") for who in rows[0]),
        figures.of(f"F2 {name}: over the better rival", gains, "%", least=100 * GAIN),
    ]


def _hush(_: str) -> None:
    """What goes on between deployments is of no interest here."""


def _prefixed(done: Say, name: str) -> Say:
    return lambda line: done(f"{name}: {line}")


@dataclasses.dataclass(frozen=True, slots=True)
class Near:
    """How near a profile came to the best, and in how many rounds."""

    share: float
    rounds: float


def profiled(topology: Topology, platform: machine.Platform, seconds: float, say: Say) -> State:
    """One profile of a running job."""
    settings = Settings(
        topology.bound, topology.slots, seconds=seconds, rounds=MOST_ROUNDS, light=5.0, worth=WORTH, alpha=0.9
    )
    return machine.run(
        platform,
        machine.begin(topology.cluster.application, settings),
        lambda one: say(f"round {one.number}: {one.move.deployment}: {one.reason}: {one.sentence}"),
    )


def _near(topology: Topology, platform: machine.Platform, seconds: float, say: Say) -> Near:
    state = profiled(topology, platform, seconds, say)
    chosen = machine.result(state)
    if chosen is None or state.features is None:
        return Near(0.0, float(MOST_ROUNDS + 1))
    spans = state.features.latency
    say("each record takes " + ", ".join(f"{name} {1e3 * span:.2f} ms" for name, span in spans.items()))
    best = list(itertools.islice(ranked(topology, spans), CANDIDATES))
    tasks = dict(chosen.move.deployment.tasks)
    # What was profiled is often the best that was computed: then it is one of them, and measured as often as they are.
    others = [one for one, _ in best if one != tasks]
    measured = dict(zip(map(_key, (tasks, *others)), in_turn(platform, [tasks, *others], seconds), strict=True))
    for counts, computed in best:
        say(f"computed {computed:.4g}/s, measured {measured[_key(counts)]:.4g}/s: {Deployment(counts)}")
    mine, top = measured[_key(tasks)], max(measured.values())
    say(f"profiled: {mine:.4g}/s: {Deployment(tasks)}")
    return Near(mine / top, rounds_until(state, NEAR * top, measured))


Counts = frozenset[tuple[str, int]]


def _key(tasks: Mapping[str, int]) -> Counts:
    return frozenset(tasks.items())


def rounds_until(state: State, throughput: float, measured: Mapping[Counts, float]) -> float:
    """Rounds under full load until one had so much; one more than there were if none had.

    What was measured again at the end, beside what it is compared with, counts for what it was there.
    """
    full = [(one.move.deployment, one.measurement) for one in state.rounds if one.stressed and one.measurement]
    rates = (measured.get(_key(deployment.tasks), found.rate) for deployment, found in full)
    return float(next((number for number, rate in enumerate(rates, 1) if rate >= throughput), len(full) + 1))


def ranked(topology: Topology, spans: Mapping[str, float]) -> Iterator[tuple[dict[str, int], float]]:
    """Counts of slots by what they could do, the best first; of equals, those with the fewest slots.

    All counts are covered: for any throughput there is a least count of each operator, so only those matter that are
    the least for some throughput; and there are as many throughputs at which one of them changes as there are counts.
    """
    visits = topology.visits()
    costs = {name: visits[name] * span for name, span in spans.items() if visits[name] * span}
    steps = {topologies.held_by(topologies.PARTITIONS, count) / cost for cost in costs.values() for count in _counts()}
    found: dict[tuple[int, ...], tuple[dict[str, int], float]] = {}
    for rate in sorted(steps):
        tasks = {name: _least(rate * costs.get(name, 0.0)) for name in spans}
        if all(tasks.values()) and sum(tasks.values()) <= topology.slots:
            found[tuple(tasks.values())] = (tasks, topologies.able(topology, tasks, spans))
    yield from sorted(found.values(), key=lambda one: (-one[1], sum(one[0].values())))


def _counts() -> range:
    return range(1, BUSIEST + 1)


def _least(work: float) -> int:
    """The fewest slots that can share so much out; 0 where none can."""
    return next((n for n in _counts() if topologies.held_by(topologies.PARTITIONS, n) >= work * (1 - 1e-9)), 0)


def in_turn(platform: machine.Platform, tasks: Sequence[Mapping[str, int]], seconds: float) -> list[float]:
    """What each does at full load, each measured in turn, forwards and backwards; the median."""
    rates: list[list[float]] = [[] for _ in tasks]
    for _, which in figures.in_turn(range(len(tasks)), TURNS):
        platform.deploy(Deployment(dict(tasks[which])))
        measured = platform.measure(seconds)
        rates[which].append(measured.rate if measured is not None else 0.0)
    return [statistics.median(some) for some in rates]


@dataclasses.dataclass
class _Bounded:
    """A platform for rivals: measurements are as short as ours, and every deployment is noted."""

    platform: machine.Platform
    seconds: float
    course: list[tuple[dict[str, int], float]] = dataclasses.field(default_factory=list)

    def deploy(self, deployment: Deployment) -> None:
        """Run this."""
        self.course.append((dict(deployment.tasks), 0.0))
        self.platform.deploy(deployment)

    def measure(self, seconds: float) -> Measurement | None:
        """What it does, for as long as a round of ours."""
        del seconds
        measured = self.platform.measure(self.seconds)
        self.course[-1] = (self.course[-1][0], measured.rate if measured is not None else 0.0)
        return measured


def _compared(topology: Topology, platform: machine.Platform, seconds: float, say: Say) -> dict[str, float]:
    state = profiled(topology, platform, seconds, say)
    chosen, count = machine.result(state), len(state.rounds)
    if chosen is None:
        return {"profiled": 0.0, "threshold": 1.0, "stela": 1.0}
    best = {"profiled": dict(chosen.move.deployment.tasks)}
    for name, rival in (("threshold", rivals.threshold), ("stela", rivals.stela)):
        bounded = _Bounded(platform, seconds)
        rivals.scale(bounded, topology.cluster.application, _within(rival, topology.slots), count, MACHINES)
        best[name] = max(bounded.course, key=lambda one: one[1])[0]
        for tasks, rate in bounded.course:
            say(f"{name}: {rate:.4g}/s: {Deployment(tasks)}")
    rates = in_turn(platform, list(best.values()), seconds)
    found = dict(zip(best, rates, strict=True))
    say("; ".join(f"{name} {rate:.4g}/s ({Deployment(best[name])})" for name, rate in found.items()))
    return found


def _within(rival: rivals.Rival, slots: int) -> rivals.Rival:
    """A rival that has to do with as many slots: what would be more, it doesn't get."""

    def scaled(application: Application, measured: Measurement, tasks: dict[str, int], machines: int) -> dict[str, int]:
        return (
            rival(application, measured, tasks, min(machines, slots - sum(tasks.values())))
            if sum(tasks.values()) < slots
            else tasks
        )

    return scaled
