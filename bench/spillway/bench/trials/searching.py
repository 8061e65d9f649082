"""The sustainable throughput of a system: steps on one that runs, and a run in fresh processes that confirms it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence

from spillway.bench import engines
from spillway.bench.dual import courses, high, loads
from spillway.bench.dual.courses import Run
from spillway.bench.dual.feeding import Feeder
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.loads import Phase
from spillway.bench.dual.tails import Tail
from spillway.bench.engines import Maker
from spillway.bench.record import figures, systems
from spillway.bench.record.figures import Figure
from spillway.bench.trials import own, sustained, traces
from spillway.bench.trials.own import Asked
from spillway.bench.trials.sustained import Check, Limits, Reason, Search
from spillway.bench.trials.waiting import ByDriver, ByResults, Waiting
from spillway.bench.workloads.work import Messages

FIRST = 1_000.0  # records per second of the first step
BEFORE = 1.0  # seconds until the first message of a step is due
# Seconds in which a queue has to go after a step that was too much: after so long what a system does says little of it.
EMPTIED = 60.0
NEARLY = 0.1  # of c^a: a queue that is empty, as far as anybody can see
BACK = 0.9  # of a rate that was not confirmed, the next one that is tried
CONFIRMED = 3  # tries
TWICE = 2  # times a step is how long a confirming run takes
GROWS = 0.01  # seconds a second: latencies of a system that falls behind rise, for as long as it does
# Seconds between two batches, of systems whose batches come by the clock: below two of them a queue is no queue.
BATCHES: Mapping[str, float] = {engines.SECOND: 1.0}


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One rate.

    Attributes:
        rate: records per second.
        reason: what became of it.
        acceptable: c^a.
        queue: seconds since its beginning, with the records that waited.
        late: milliseconds that 99.9 % of the messages were sent late at most.
    """

    rate: float
    reason: Reason
    acceptable: float
    queue: Sequence[tuple[float, float]]
    late: float

    @property
    def sustained(self) -> bool:
        """Whether it was."""
        return self.reason is Reason.SUSTAINED


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What a search has found.

    Attributes:
        work, system: of what.
        rate: that is sustained, in records per second; 0 where none is.
        steps: that led there.
        confirmed: the run in fresh processes at this rate, whose output was right; None where none was.
        problem: why there is no figure; empty if there is one.
    """

    work: str
    system: str
    rate: float
    steps: Sequence[Step]
    confirmed: Run | None
    problem: str = ""

    def told(self) -> dict[str, object]:
        """As it is kept."""
        return {
            "work": self.work,
            "system": self.system,
            "rate": self.rate,
            "problem": self.problem,
            "steps": [dataclasses.asdict(step) for step in self.steps],
            "confirmed": None if self.confirmed is None else self.confirmed.told(),
        }


def measured(maker: Maker, seconds: float, first: float, say: Callable[[str], None], keeper: Keeper) -> Found:
    """Search with a workload, in steps of so many seconds; then confirm."""
    name, system = maker.work.name, maker.name
    with systems.broker() as bootstrap, maker.started(bootstrap) as subject, Feeder() as feeder:
        dues = courses.warmed(subject, bootstrap, maker.work, feeder).dues()
        engines.until_prepared(subject)
        with contextlib.closing(Tail(bootstrap, subject.output, maker.work)) as tail:
            waiting = ByResults(tail, maker.work, dues)
            under = Under(f"{name}, {system}", subject.look, feeder, bootstrap, subject.sources, maker.work, waiting)
            steps, rate = searched(under, seconds, first, BATCHES.get(system, 0.0), say)

    def confirming(rate: float) -> Run:
        phases, whole = [Phase("load", rate, TWICE * seconds)], TWICE * seconds
        with systems.broker() as bootstrap:
            course = functools.partial(courses.paced, maker, bootstrap, phases, settle=sustained.SETTLED * whole)
            return courses.counted(course, maker, phases, say)

    return confirmed(name, system, steps, rate, confirming, say, keeper)


def of_own(
    asked: Asked, system: str, seconds: float, first: float, say: Callable[[str], None], keeper: Keeper
) -> Found:
    """The same with a user's own job, whose driver tells what waits."""
    messages = asked.messages(traces.made("constant", [1.0], 1.0))
    name = asked.job.metadata.name
    with own.started(asked, system) as running, Feeder() as feeder:
        waiting, look = ByDriver(running.driver), running.launched.look
        under = Under(f"{name}, {system}", look, feeder, running.bootstrap, running.sources, messages, waiting)
        steps, rate = searched(under, seconds, first, 0.0, say)

    def confirming(rate: float) -> Run:
        # As many as the verifier holds, where that is less.
        whole = min(TWICE * seconds, own.MOST / rate)
        given = traces.made("constant", [rate], whole)
        return own.measured(asked, system, given, sustained.SETTLED * whole, say, keeper)

    return confirmed(name, system, steps, rate, confirming, say, keeper)


def confirmed(
    name: str,
    system: str,
    steps: Sequence[Step],
    rate: float,
    confirming: Callable[[float], Run],
    say: Callable[[str], None],
    keeper: Keeper,
) -> Found:
    """What was found, once fresh processes have shown it."""
    run, problem = None, "no rate was sustained"
    for _ in range(CONFIRMED):
        if not rate:
            break
        say(f"{name}, {system}: {rate:,.0f} records/s in fresh processes")
        run = confirming(rate)
        keeper.keep("search-runs", run)
        grows = high.slope(run)
        problem = run.problem or (f"latencies grow by {grows:.3f} s a second" if grows > GROWS else "")
        if not problem:
            break
        say(f"{name}, {system}: not confirmed: {problem}")
        rate *= BACK
    found = Found(name, system, 0.0 if problem else rate, steps, None if problem else run, problem)
    keeper.told("search", found.told())
    return found


# Steps.


@dataclasses.dataclass(frozen=True, slots=True)
class Under:
    """What steps are done with: a system that runs, who feeds it, and what is known of what waits."""

    name: str
    look: Callable[[], None]
    feeder: Feeder
    bootstrap: str
    sources: Sequence[str]
    messages: Messages
    waiting: Waiting


def searched(
    under: Under, seconds: float, first: float, batch: float, say: Callable[[str], None]
) -> tuple[list[Step], float]:
    """The steps, and the highest rate that was sustained in them."""
    steps, search = list[Step](), Search(first)
    while (rate := search.following()) is not None:
        limits = Limits.of(rate, batch)
        for _ in range(courses.TRIES):
            step = _stepped(under, rate, seconds, limits)
            steps.append(step)
            if step.reason is not Reason.LATE:
                break
            say(f"{under.name}: {rate:,.0f} records/s once more: the generator was late by {step.late:.1f} ms")
            _emptied(under, limits)
        search.told(rate, sustained=step.sustained)
        longest = max((queue for _, queue in step.queue), default=0.0)
        say(
            f"{under.name}: step {len(steps)}: {rate:,.0f} records/s: {step.reason}; "
            f"queue up to {longest:,.0f}, c_a {limits.acceptable:,.0f}; generator late by {step.late:.1f} ms"
        )
        if not _emptied(under, limits):
            say(f"{under.name}: the queue was still there after {EMPTIED:.0f} s: the search ends")
            break
    return steps, search.sustained


def _stepped(under: Under, rate: float, seconds: float, limits: Limits) -> Step:
    """One rate, until it is not sustained, or for so long."""
    load = loads.at_rate(time.time() + BEFORE, rate, seconds, under.waiting.sent())
    under.waiting.begin(load)
    pacing = under.feeder.pace(under.bootstrap, under.sources, under.messages, load)
    check, samples, reason = Check(limits), list[tuple[float, float]](), Reason.SUSTAINED
    every = limits.acceptable / rate
    following = load.start + every
    while not pacing.done() and reason is Reason.SUSTAINED:
        under.look()
        time.sleep(max(0.02, min(courses.LOOK, following - time.time())))
        if time.time() < following or following > load.end:
            continue
        following += every
        now = time.time()
        queue = max(0.0, under.waiting.length(now))
        samples.append((now - load.start, queue))
        reason = check.look(queue)
    if reason is not Reason.SUSTAINED:
        under.feeder.stop()
    sent = pacing.result()
    under.waiting.end(sent.count)
    if reason is Reason.SUSTAINED:
        reason = sustained.judged(rate, limits, samples)
    if sent.late.is_void:
        reason = Reason.LATE
    return Step(rate, reason, limits.acceptable, samples, sent.late.p999 * 1000)


def _emptied(under: Under, limits: Limits) -> bool:
    """Wait until nothing of before waits any more; whether that came."""
    deadline, before = time.monotonic() + EMPTIED, -1.0
    while time.monotonic() < deadline:
        under.look()
        queue = under.waiting.length(time.time())
        # The newest results tell about how far it is: where nothing more comes, that has to be enough.
        if queue < limits.acceptable * (1.0 if queue == before else NEARLY):
            return True
        before = queue
        time.sleep(0.5)
    return False


# By workload: the figure that asks how we stand against Structured Streaming, in throughput and in mean latency.
ASKED: Mapping[str, str] = {"averages": "S1", "pairs": "S2"}
LEAST, MOST = 1.0, 0.25


def shown(name: str, title: str, found: Sequence[Found]) -> list[Figure]:
    """What each sustains, and how old records are then; the first one against the others."""
    title = f"{ASKED.get(name, 'sustained')} {title}"
    figured = []
    for one in found:
        void, said = bool(one.problem), f"{title}: {one.system}"
        figured.append(
            figures.of(f"{said}, sustainable throughput", [one.rate], "records/s", note=one.problem, void=void)
        )
        if one.confirmed is not None:
            for what, some in (("latency", one.confirmed.late), ("event-time latency of results", one.confirmed.ages)):
                figured.append(figures.of(f"{said}, mean {what}", [float(some.mean())], "ms"))
                figured.append(figures.of(f"{said}, p99 {what}", [figures.quantile(some.tolist(), 0.99)], "ms"))
    first, *others = found
    for one in others:
        asked = name in ASKED and first.system == engines.D and one.system == engines.FASTEST
        void, said = bool(first.problem or one.problem), f"{title}: {first.system} / {one.system}"
        ratio = [first.rate / one.rate] if one.rate else []
        figured.append(
            figures.of(f"{said}, sustainable throughput", ratio, "times", least=LEAST if asked else None, void=void)
        )
        if first.confirmed is not None and one.confirmed is not None:
            means = [float(first.confirmed.late.mean()) / float(one.confirmed.late.mean())]
            figured.append(figures.of(f"{said}, mean latency", means, "times", most=MOST if asked else None, void=void))
    return figured
