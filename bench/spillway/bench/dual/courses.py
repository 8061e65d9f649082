"""One run of one system, in fresh processes: from a full topic, or on an open loop; judged, and looked at meanwhile.

Both begin with some messages that don't count: programs are compiled, clients know their partitions, Java has warmed
up, and it is known how fast batches are. What is written of a run is enough to compute everything again.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from spillway.bench import engines
from spillway.bench.dual import judging, loads
from spillway.bench.dual.feeding import Feeder
from spillway.bench.dual.histograms import Histogram
from spillway.bench.dual.judging import Judged
from spillway.bench.dual.loads import Load, Phase
from spillway.bench.dual.tails import Tail
from spillway.bench.engines import Engine, Maker
from spillway.bench.engines.port import used
from spillway.bench.engines.switches import Heard
from spillway.bench.record import figures, logs
from spillway.bench.record.schedule import Lateness
from spillway.bench.record.systems import EndedError
from spillway.bench.workloads.work import Floats, Work
from spillway.model.errors import SpillwayError
from spillway.model.operators import Paradigm

T = TypeVar("T")

WARM_RATE, WARM = 400.0, 5.0  # messages per second, and seconds: some shadow batches need that many to be tried on
FILLED = 20_000  # messages of a full topic at least: twice what one batch of the first ones takes
# All that a system has in a run, of which it never gets more than half of what is left. Each message is of another
# millisecond, and brokers refuse what is of more than an hour ahead.
MOST = 3_400_000
FASTER = 1.25  # times as many a second: by so much a system can still be better than it was, before it counts
LOOK = 0.2  # seconds between two looks
QUIET = 1.0  # seconds without a new result, after which it is worth to read what there is
PATIENCE = 180.0  # seconds for the last result
START = 2.0  # seconds until the first message of a load is due
TRIES = 3
NOBODY: Mapping[str, int] = MappingProxyType({})


@dataclasses.dataclass(frozen=True, slots=True)
class Look:
    """What was seen from outside at one moment.

    Attributes:
        at: seconds since 1970.
        out: messages of the output.
        cpu: seconds of processor time so far.
        batch: whether the head ran in batches; None where nobody tells.
        lag: messages that waited in front of the head, as the driver tells; None where nobody does.
    """

    at: float
    out: int
    cpu: float
    batch: bool | None = None
    lag: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One run of one system.

    Attributes:
        system, work: which.
        judged: what came out.
        looks: from its beginning to its end.
        load: what was sent; None where a full topic was worked off.
        begin: when that could be read, or was due, in seconds since 1970.
        records: messages that count.
        lateness: of the generator; None where there was none.
        heard: what the driver has told; empty for others.
        failure: why it came to nothing; empty if it didn't.
        used: seconds of processor time by who had it, over the run: parts of the system, generator, broker.
        settled: from when on latencies count, in seconds since 1970.
    """

    system: str
    work: str
    judged: Judged
    looks: Sequence[Look]
    load: Load | None
    begin: float
    records: int
    lateness: Lateness | None
    heard: Heard
    failure: str = ""
    used: Mapping[str, float] = dataclasses.field(default_factory=dict)
    settled: float = 0.0

    @property
    def problem(self) -> str:
        """Why it has no figure; empty if it has."""
        late = self.lateness is not None and self.lateness.is_void
        return self.failure or "; ".join(filter(None, [self.judged.problem, "generator late" if late else ""]))

    @property
    def wall(self) -> float:
        """Seconds until the last result."""
        return float(self.judged.done()[-1]) - self.begin if len(self.judged.dues) else math.nan

    @property
    def rate(self) -> float:
        """Messages per second."""
        return self.records / self.wall

    @property
    def cpu(self) -> float:
        """Seconds of processor time from the beginning to the last result."""
        return _ended(self.looks).cpu - self.looks[0].cpu if self.looks else math.nan

    @property
    def late(self) -> Floats:
        """Latencies of all that counts, in milliseconds."""
        return self.judged.within(max(self.settled, self.begin), math.inf)

    @property
    def ages(self) -> Floats:
        """Ages of the results of that."""
        return self.judged.aged(max(self.settled, self.begin), math.inf)

    @property
    def after(self) -> Floats:
        """How long after the end of each window that ended meanwhile its last result came, in milliseconds."""
        end = self.load.end if self.load is not None else math.inf
        since, until = np.searchsorted(self.judged.closed, [max(self.settled, self.begin), end])
        found: Floats = self.judged.after[since:until]
        return found

    def seconds(self) -> list[tuple[float, int, float, float, float]]:
        """By second in which messages were due: when it begins, how many, mean, half and 99 % of latencies (ms)."""
        if self.load is None:
            return []
        found = []
        for second in np.arange(self.load.start, self.load.end):
            some = self.judged.within(second, second + 1)
            if len(some):
                half, most = np.quantile(some, [0.5, 0.99])
                found.append((float(second), len(some), float(some.mean()), float(half), float(most)))
        return found

    def told(self) -> dict[str, Any]:
        """As it is kept."""
        late = self.lateness
        return {
            "system": self.system,
            "work": self.work,
            "problem": self.problem,
            "begin": self.begin,
            "records": self.records,
            "wall": self.wall,
            "cpu": self.cpu,
            "lost": self.judged.lost,
            "wrong": self.judged.wrong,
            "duplicated": self.judged.duplicated,
            "results": self.judged.messages,
            "used": dict(self.used),
            "latencies": Histogram.of(self.late).told(),
            "ages": Histogram.of(self.ages).told(),
            "phases": [] if self.load is None else [dataclasses.asdict(phase) for phase in self.load.phases],
            "lateness": None if late is None else dataclasses.asdict(late),
            "latency": self.seconds(),
            "looks": [dataclasses.astuple(look) for look in self.looks],
            "switches": [dataclasses.asdict(one) for one in self.heard.switches()],
            "pauses": self.heard.pauses(),
        }


def drained(maker: Maker, bootstrap: str, seconds: float, beside: Mapping[str, int] = NOBODY) -> Run:
    """Work for about so many seconds through topics that are full; `beside` are processes whose cpu is told too.

    How much each system gets is what it can do in that time, as it has shown before: the same for all would be a second
    and a half for one, and three minutes for another.
    """
    work = maker.work
    with maker.started(bootstrap) as subject, Feeder() as feeder:
        warm = warmed(subject, bootstrap, work, feeder)
        tail = Tail(bootstrap, subject.output, work)
        full = _Full(subject, bootstrap, work, feeder, tail, warm.dues())
        # As what follows: what is compiled or loaded only when much waits is there then. Again, with as much as it has
        # shown to be able to do, until it is no faster than the last time.
        rate = _rate(FILLED, *full.worked(FILLED))
        while True:
            full.rest()
            before, known = used({**subject.parts, **beside}), len(full.times)
            records = max(FILLED, min((MOST - known) // 2, round(rate * seconds)))
            begin, looks = full.worked(records)
            took = _since(before, {**subject.parts, **beside})
            rate, last = _rate(records, begin, looks), rate
            if rate <= FASTER * last:
                break
        # What was there before was told before; all of the rest was there at once.
        dues = np.concatenate([np.full(known, 0.0), np.full(records, begin)])
        judged = _judged(tail, work, full.times, dues, begin)
        return Run(maker.name, work.name, judged, looks, None, begin, records, None, subject.news(), used=took)


class _Full:
    """A system that works through what is in its topics already, again and again."""

    def __init__(self, subject: Engine, bootstrap: str, work: Work, feeder: Feeder, tail: Tail, times: Floats) -> None:
        """`times` of the messages that it has had."""
        self._subject, self._bootstrap, self._work = subject, bootstrap, work
        self._feeder, self._tail = feeder, tail
        self.times = times
        self._next = float(math.ceil(times[-1]))  # before that they would be late, where a table forgets

    def worked(self, records: int) -> tuple[float, list[Look]]:
        """Fill in so many, and wait until all is told: when they could be read, and what was seen from then on."""
        begin = _filled(
            self._subject, self._bootstrap, self._feeder, self._work, (len(self.times), records, self._next)
        )
        looks = [_looked(self._subject, self._tail, begin)]
        self.times = np.concatenate([self.times, self._next + np.arange(records) / 1000])
        self._next += records / 1000
        _until(self._subject, self._tail, _total(self._work, self.times), looks)
        return begin, looks

    def rest(self) -> None:
        """Wait until it is as it was before."""
        engines.until_prepared(self._subject)
        _calm(self._subject)


def paced(
    maker: Maker,
    bootstrap: str,
    phases: Sequence[Phase],
    patience: float = PATIENCE,
    *,
    settle: float = 0.0,
    beside: Mapping[str, int] = NOBODY,
) -> Run:
    """An open loop; results that have not come so many seconds after its end are lost.

    Latencies of the first `settle` seconds don't count; what comes out of them has to be right all the same.
    """
    work = maker.work
    with maker.started(bootstrap) as subject, Feeder() as feeder:
        warm = warmed(subject, bootstrap, work, feeder)
        tail = Tail(bootstrap, subject.output, work)
        _until(subject, tail, _total(work, warm.dues()), [])
        engines.until_prepared(subject)
        load = Load(time.time() + START, tuple(phases), warm.count)
        dues = np.concatenate([warm.dues(), load.dues()])
        before = used({**subject.parts, **beside})
        pacing = feeder.pace(bootstrap, subject.sources, work, load)
        looks = [_looked(subject, tail, time.time())]
        while not pacing.done():
            time.sleep(LOOK)
            looks.append(_looked(subject, tail, time.time()))
        sent = pacing.result()
        _until(subject, tail, _total(work, dues), looks, patience)
        took = {**_since(before, {**subject.parts, **beside}), "generator": sent.cpu}
        judged = _judged(tail, work, dues, dues, load.start)
        news, settled = subject.news(), load.start + settle
        return Run(
            maker.name, work.name, judged, looks, load, load.start, load.count, sent.late, news, "", took, settled
        )


def counted(make: Callable[[], Run], maker: Maker, phases: Sequence[Phase], done: Callable[[str], None]) -> Run:
    """A run that counts, or the last of `TRIES`.

    It is tried again where the generator was late, or something ended that should not: never for what came out.
    """
    for _ in range(TRIES):
        try:
            run = make()
        except (SpillwayError, EndedError, logs.NotTakenError) as error:
            run = failed(maker, phases, str(error))
        done(said(run))
        if not run.failure and (run.lateness is None or not run.lateness.is_void):
            break
    return run


def failed(maker: Maker, phases: Sequence[Phase], why: str) -> Run:
    """A run that came to nothing; it has no figure."""
    none, now = np.zeros(0), time.time()
    judged = Judged(0, 0, 0, 0, 0, none, none)
    load = Load(now, tuple(phases)) if phases else None
    return Run(maker.name, maker.work.name, judged, (), load, now, 0, None, Heard(), why)


def said(run: Run) -> str:
    """One line on a run."""
    found = run.judged
    if run.failure:
        return f"{run.work}, {run.system}: no figure: {run.failure}"
    problem = f", no figure: {run.problem}" if run.problem else ""
    if run.load is None:
        what = f"{run.rate:,.0f} records/s, {run.records / run.cpu:,.0f} per CPU-second, {run.wall:.1f} s"
    else:
        some = run.late
        p50, p99 = (figures.quantile(some.tolist(), share) for share in (0.5, 0.99))
        late = f"generator late by {run.lateness.p999 * 1000:.1f} ms" if run.lateness else ""
        what = f"p50 {p50:.0f}, p99 {p99:.0f} ms; {late}"
    repeated = f", {found.duplicated} duplicated" if found.duplicated else ""
    return f"{run.work}, {run.system}: {what}, {len(run.heard.switches(run.begin))} switches{repeated}{problem}"


def warmed(subject: Engine, bootstrap: str, work: Work, feeder: Feeder) -> Load:
    """Some messages, evenly, so that everything has run once."""
    load = loads.at_rate(time.time() + START, WARM_RATE, WARM)
    watched(subject, feeder.pace(bootstrap, subject.sources, work, load))
    return load


def watched(subject: Engine, feeding: Future[T]) -> T:
    """What a feeder tells in the end; meanwhile look whether the system is still there."""
    while not feeding.done():
        subject.look()
        time.sleep(LOOK)
    return feeding.result()


def _filled(subject: Engine, bootstrap: str, feeder: Feeder, work: Work, what: tuple[int, int, float]) -> float:
    """Fill the topics: from which message on, how many, of which time; when they could be read."""
    return watched(subject, feeder.fill(bootstrap, subject.sources, work, *what))


def _since(before: Mapping[str, float], parts: Mapping[str, int]) -> dict[str, float]:
    """Processor time since then, by part."""
    return {name: seconds - before[name] for name, seconds in used(parts).items()}


def _ended(looks: Sequence[Look]) -> Look:
    """The first look at all that has come out."""
    return max(looks, key=lambda look: look.out)


def _rate(records: int, begin: float, looks: Sequence[Look]) -> float:
    """How many of so many it did in a second; none if nothing came out."""
    took = _ended(looks).at - begin
    return records / took if took > 0 else 0.0


def _calm(subject: Engine) -> None:
    """Wait until a system that has switched is back: it begins record by record."""
    patience = time.monotonic() + engines.MEASURED
    while subject.switches and time.monotonic() < patience:
        seen = subject.heard()
        if seen is not None and not any(one.paradigm is Paradigm.BATCH or one.moving for one in seen.segments):
            return
        subject.look()
        time.sleep(LOOK)


def _looked(subject: Engine, tail: Tail, at: float) -> Look:
    subject.look()
    out, cpu, seen = sum(tail.ends()), subject.cpu(), subject.heard()
    head = seen.segments[0] if seen is not None and seen.segments else None
    if head is None:
        return Look(at, out, cpu)
    return Look(at, out, cpu, head.paradigm is Paradigm.BATCH, head.lag)


def _until(subject: Engine, tail: Tail, wanted: int, looks: list[Look], patience: float = PATIENCE) -> None:
    """Wait until results tell of so many; what is missing after a while is found by whoever judges."""
    deadline, last, since = time.monotonic() + patience, -1, time.monotonic()
    read = -1
    while time.monotonic() < deadline:
        looks.append(_looked(subject, tail, time.time()))
        out, now = looks[-1].out, time.monotonic()
        if out != last:
            last, since = out, now
        elif now - since > QUIET and out != read:
            tail.read()
            read = out
            if tail.done() >= wanted:
                return
        time.sleep(LOOK)
    tail.read()


def _total(work: Work, times: Floats) -> int:
    return sum(map(len, work.expected(times).values()))


def _judged(tail: Tail, work: Work, times: Floats, dues: Floats, begin: float) -> Judged:
    """Of all messages; latencies only of those that were due from `begin` on."""
    tail.read()
    expected = work.expected(times)
    found = judging.judged(tail.results(), expected, dues, lambda numbers: work.amount(numbers, times), work.closes)
    tail.close()
    return found.since(begin)
