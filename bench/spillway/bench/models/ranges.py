"""Figure D8: which operators go to batches together, by selectivity and rate, against all that could.

What is real: what a record and each row that comes of it cost a core of this machine, record by record and in batches
(`batch.paradigms`, on a broker; nothing is added up before it is sent: that is a matter of what reads it), and what a
batch takes beside its records (a real Spark). What is computed: chains of four such operators, each with a slot of its
own, and how long a record takes through them.

    record by record   M/M/1 on one slot, at what comes to it
    in batches         neighbours in batches are one batch; T = n·a/(1 - V·C), and T/2 + a + V·T·c of latency, with n
                       batches one after the other, a for what each takes beside its records, C for what one record
                       costs in all of them, and c in this one, on `CORES` of Spark: more operators get no more of them

Chains: the first operator makes λ of a record, from 0.01 to 20, and the others are (0.625, 1, 0.1) as in the paper's
Fig. 7, (1, 1, 1) or (0.1, 1, 1). Rates: 1.2, 2 and 4 times what would jam the narrowest operator. What jams first is
the switch point, and `controllers.switching.ranges` says what goes with it; it goes if that can do more than the point
does now, by as much as `switching.rules` want. Whatever jams after that is a switch point again, as the driver would
find it a moment later. All 16 sets of operators in batches are tried beside that. A case counts as found if the mean
latency is within 5 % of the best one; where nothing keeps up, if the rate that it could do is.

Beside it stands what Eq. 8 of the paper finds without knowing what operators can do, and what would be found if nothing
went but what jams.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from spillway.bench.batch import cases, latency, paradigms
from spillway.bench.batch.cases import Case
from spillway.bench.record import figures, processes, systems
from spillway.bench.record import jobs as record_jobs
from spillway.bench.record.figures import Figure
from spillway.controllers.latency import queueing
from spillway.controllers.switching import ranges, rules
from spillway.controllers.switching.measurements import Costs as BatchCosts
from spillway.controllers.switching.measurements import Measurement, Node, Observation
from spillway.model.operators import Paradigm

LAMBDAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.625, 0.8, 1.0, 1.25, 2.0, 4.0, 8.0, 12.0, 20.0)
TAILS = ((0.625, 1.0, 0.1), (1.0, 1.0, 1.0), (0.1, 1.0, 1.0))
LOADS = (1.2, 2.0, 4.0)  # of what jams the narrowest operator
WITHIN, CASES = 0.05, 0.95
WORDS = (1, 4, 16)  # of a line, in what is measured
COUNT = 60_000  # lines with one word, for each second
SHORTEST, LONGEST = 0.05, 1.0  # seconds from one batch to the next, as the driver has them
RECORDS = (1_000, 10_000, 50_000)  # of a batch, in Spark
CORES = 4  # of Spark: as many as the chain has slots, and as executors have by default
ONCE = 12
MICRO = 1e-6

Set = frozenset[int]
_NOW, _SPAN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(seconds=1)

_LINES = """
streams:
  - {name: lines, topic: in, format: raw, columns: "line string"}
operators:
  - {name: words, input: lines, explode: {array: "split(line, ' ')", as: word, keep: []}}
  - {name: kept, input: words, filter: "word <> ''"}
outputs:
  - {name: result, input: kept, topic: out}
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of a core: for a record that comes in, for a row that goes out, and for a batch whatever is in it."""

    record_in: float
    record_out: float
    batch_in: float
    batch_out: float
    fixed: float

    def record(self, gain: float) -> float:
        """For a record of which so many come."""
        return self.record_in + gain * self.record_out

    def batch(self, gain: float) -> float:
        """The same in a batch."""
        return self.batch_in + gain * self.batch_out


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """Measure what operators cost, then try all."""
    measured = [_measured(seconds, done) for _ in range(rounds)]
    return [*_told(measured), *itertools.chain.from_iterable(shown(measured))]


class _Lines(Case):
    """Lines of so many words, all alike but for the words."""

    def values(self) -> Iterator[bytes]:
        """The lines, without an end."""
        for number in itertools.count():
            yield b" ".join(b"w%d" % ((number * 7 + i) % 5000) for i in range(self.size))


def _case(words: int, count: int) -> Case:
    cut = {"words": ("words",), "kept": ("kept",)}
    return _Lines(f"{words} words", record_jobs.Case(_LINES, "", cut), "words", "kept", words, count)


def _measured(seconds: float, done: Callable[[str], None]) -> Costs:
    """On a broker, and on a Spark."""
    by_paradigm: dict[str, list[float]] = {"record": [], "batch": []}
    with systems.broker() as bootstrap:
        for words in WORDS:
            case = _case(words, max(5_000, int(COUNT * seconds / words)))
            first = cases.prepared(case, bootstrap)
            processes.fresh(cases.fill, first, case.count)
            for name, work in (("record", paradigms.record), ("batch", paradigms.batch)):
                micros = processes.fresh(work, cases.prepared(case, bootstrap, first.source))
                by_paradigm[name].append(micros)
                done(f"{words} words, {name}: {micros:.2f} µs a line")
        fixed = processes.fresh(_fixed, bootstrap)
        done(f"a batch takes {1e3 * fixed:.0f} ms beside its records")
    lines = {name: statistics.linear_regression(WORDS, micros) for name, micros in by_paradigm.items()}
    record, many = lines["record"], lines["batch"]
    return Costs(
        max(record.intercept, 0.01) * MICRO, max(record.slope, 0.01) * MICRO, max(many.intercept, 0.01) * MICRO,
        max(many.slope, 0.01) * MICRO, fixed,
    )  # fmt: skip


def _fixed(bootstrap: str) -> float:
    """What a batch takes whatever is in it: the intercept of a line through batches of some sizes."""
    from spillway.runtime.batch.executors import Local
    from spillway.runtime.batch.spark import Spark
    from spillway.runtime.batch.speed import Batch, Speed

    case = _case(1, max(RECORDS) * 2)
    run = cases.prepared(case, bootstrap)
    cases.fill(run, case.count)
    spark, speed = Spark(Local(f"local[{latency.PARTITIONS}]")), Speed()
    try:
        order: Any = run.order()
        latency._timed(spark, run.order(shadow=True), 100)  # noqa: SLF001 - a part of the same bench
        for size in RECORDS:
            latency._timed(spark, order, size)  # noqa: SLF001
            for _ in range(ONCE):
                speed.learn(Batch(size, latency._timed(spark, order, size)[1]))  # noqa: SLF001
    finally:
        spark.close()
    line = speed.line
    return line.fixed if line is not None else 0.05


def _told(measured: Sequence[Costs]) -> list[Figure]:
    """What was measured."""
    parts: tuple[tuple[str, str], ...] = (
        ("record by record, a record", "record_in"),
        ("record by record, a row out", "record_out"),
    )
    parts += (("in batches, a record", "batch_in"), ("in batches, a row out", "batch_out"))
    return [
        *(figures.of(f"D8 {what}", [getattr(one, field) / MICRO for one in measured], "µs") for what, field in parts),
        figures.of("D8 a batch, beside its records", [1e3 * one.fixed for one in measured], "ms"),
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """One case: the chain and its rate, what is chosen, and what is best."""

    gains: tuple[float, ...]
    rate: float
    chosen: Set
    best: Set
    first_is_near: bool
    is_near: bool
    paper_is_near: bool
    alone_is_near: bool


def shown(measured: Sequence[Costs]) -> Iterator[list[Figure]]:
    """How often the range was near the best."""
    found = [every(costs) for costs in measured]
    yield [
        figures.of("D8 cases", [float(len(some)) for some in found], "cases"),
        figures.of(
            "D8 the first range alone is within 5 % of the best",
            [_share([one.first_is_near for one in some]) for some in found],
            "of all",
        ),
        figures.of(
            "D8 what Eq. 8 alone says is within 5 % of the best",
            [_share([one.paper_is_near for one in some]) for some in found],
            "of all",
        ),
        figures.of(
            "D8 only what jams is within 5 % of the best",
            [_share([one.alone_is_near for one in some]) for some in found],
            "of all",
        ),
        figures.of(
            "D8 what is chosen is within 5 % of the best",
            [_share([one.is_near for one in some]) for some in found],
            "of all",
            least=CASES,
        ),
    ]


def every(costs: Costs) -> list[Found]:
    """All cases."""
    found = []
    for first, tail, load in itertools.product(LAMBDAS, TAILS, LOADS):
        gains = (first, *tail)
        rate = load * most(gains, frozenset(), costs)
        found.append(tried(gains, rate, costs))
    return found


def tried(gains: tuple[float, ...], rate: float, costs: Costs) -> Found:
    """One chain at one rate."""
    sets = [frozenset(some) for n in range(len(gains) + 1) for some in itertools.combinations(range(len(gains)), n)]
    best = min(sets, key=lambda some: (takes(gains, rate, some, costs), -most(gains, some, costs), len(some)))
    found = chosen(gains, rate, costs)
    others = [chosen(gains, rate, costs, **how) for how in ({"once": True}, {"knows": False}, {"alone": True})]
    first, paper, alone = (near(gains, rate, one, best, costs) for one in others)
    return Found(gains, rate, found, best, first, near(gains, rate, found, best, costs), paper, alone)


def near(gains: tuple[float, ...], rate: float, one: Set, best: Set, costs: Costs) -> bool:
    """Whether a set is within 5 % of the best: by latency, or by what it could do where nothing keeps up."""
    least = takes(gains, rate, best, costs)
    if math.isfinite(least):
        return takes(gains, rate, one, costs) <= least * (1 + WITHIN)
    return most(gains, one, costs) >= most(gains, best, costs) * (1 - WITHIN)


def chosen(
    gains: tuple[float, ...],
    rate: float,
    costs: Costs,
    *,
    once: bool = False,
    knows: bool = True,
    alone: bool = False,
) -> Set:
    """What is in batches once nothing jams any more, or all that jams is there; after the first switch with `once`.

    `knows` is whether it is known what operators can do; with `alone` nothing goes with what jams.
    """
    batches: Set = frozenset()
    refused: Set = frozenset()
    while (point := jammed(gains, rate, batches | refused, costs)) is not None:
        seen = observed(gains, rate, batches, costs)
        seen = seen if knows else Observation(seen.nodes, {})
        go = frozenset(int(name) for name in ranges.switch_range(seen, str(point)))
        go = frozenset({point}) if alone else go
        now = 1 / (volume(gains)[point] * costs.record(gains[point]))
        if go and able_in_batches(gains, batches | go, costs) >= rules.GAIN * now:
            batches |= go
        else:
            refused |= {point}
        if once:
            break
    return batches


def observed(gains: Sequence[float], rate: float, batches: Set, costs: Costs) -> Observation:
    """The chain as a driver would observe it, with what comes to each operator once nothing jams before it."""
    nodes = tuple(
        Node(
            str(i),
            (str(i - 1),) if i else ("stream",),
            selectivity=gain,
            paradigm=Paradigm.BATCH if i in batches else Paradigm.RECORD,
        )
        for i, gain in enumerate(gains)
    )
    spent = BatchCosts(datetime.timedelta(seconds=SHORTEST), datetime.timedelta(seconds=costs.fixed))
    measured = {
        str(i): Measurement(_NOW, _SPAN, rate * v, 0.0, 1 / costs.record(gains[i]), spent)
        for i, v in enumerate(volume(gains))
    }
    return Observation(nodes, measured)


def jammed(gains: Sequence[float], rate: float, batches: Set, costs: Costs) -> int | None:
    """The first operator that has more to do record by record than it can; None if there is none."""
    volumes = volume(gains)
    over = (i for i, v in enumerate(volumes) if i not in batches and rate * v * costs.record(gains[i]) >= 1)
    return next(over, None)


def volume(gains: Sequence[float]) -> list[float]:
    """Records that come to each operator, for one of the stream."""
    return [1.0, *itertools.accumulate(gains[:-1], lambda a, b: a * b)]


def groups(batches: Set) -> list[list[int]]:
    """Neighbours in batches, each of which is one batch."""
    found: list[list[int]] = []
    for i in sorted(batches):
        if found and found[-1][-1] == i - 1:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def takes(gains: Sequence[float], rate: float, batches: Set, costs: Costs) -> float:
    """Seconds of a record through the chain, in the mean; infinite where something can't keep up."""
    volumes = volume(gains)
    seconds = 0.0
    for i, v in enumerate(volumes):
        if i not in batches:
            each = costs.record(gains[i])
            seconds += each + queueing.wait(rate * v, each, 1.0, 1.0).mean
    some, work = groups(batches), rate * _each(gains, batches, costs)
    if work >= 1:
        return math.inf
    interval = min(LONGEST, max(SHORTEST, len(some) * costs.fixed / (1 - work)))
    if len(some) * costs.fixed + work * interval > interval * (1 + 1e-9):
        return math.inf
    return seconds + math.fsum(
        interval / 2 + costs.fixed + rate * interval * _each(gains, group, costs) for group in some
    )


def most(gains: Sequence[float], batches: Set, costs: Costs) -> float:
    """Records per second of the stream that such a chain could do."""
    volumes = volume(gains)
    able = [1 / (volumes[i] * costs.record(gains[i])) for i in range(len(gains)) if i not in batches]
    if batches:
        able.append(able_in_batches(gains, batches, costs))
    return min(able)


def able_in_batches(gains: Sequence[float], batches: Set, costs: Costs) -> float:
    """Records per second of the stream that batches of these operators could do."""
    return max(0.0, 1 - len(groups(batches)) * costs.fixed / LONGEST) / _each(gains, batches, costs)


def _each(gains: Sequence[float], batches: Iterable[int], costs: Costs) -> float:
    """C: seconds of all cores for one record of the stream."""
    volumes = volume(gains)
    return math.fsum(volumes[i] * costs.batch(gains[i]) for i in batches) / CORES


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)
