"""Figure P1: what the latency model says, and what records take.

Jobs of one or two segments on slots of their own, with functions that wait as long as each record says (a fixed time,
or one of an exponential distribution), at several shares of what they can do, with records that come by a clock or at
random, and frames that fill or leave by their deadline. Events carry the time at which they were due, so nobody can
hide a wait; their outputs carry the time at which the broker appended them.

What a slot takes for a record is what it reports. What the log takes is measured once, on the same jobs without any
wait, and nearly without load: from an event to its output with one segment, and what a second segment adds. All else
is the model's: queues, frames, and records that wait in them.

Wanted: the mean within 10 % in 95 % of the cases, p99 (`moments.likely`) within 15 % in 90 %, and no bound (Cantelli's,
of p99) below what 99 % of the records took.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import math
import multiprocessing
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from spillway.bench.record import figures, latency, logs, schedule, systems
from spillway.bench.record.figures import Figure
from spillway.bench.record.jobs import Case
from spillway.bench.record.schedule import Lateness
from spillway.bench.record.systems import System
from spillway.controllers.costmodel.flow import Flow, Node, Output, Setting
from spillway.controllers.latency import moments, prediction
from spillway.controllers.latency.moments import Moments
from spillway.controllers.latency.queueing import Variability

MEAN, P99 = 0.10, 0.15
MEANS, P99S, BOUNDS = 0.95, 0.90, 1.0  # of the cases
SLOTS = 4  # of each segment: each is a queue of its own, so there are four times as many records to tell a quantile by
WARM, END = 2.0, 3.0  # seconds that don't count, and that the last outputs get
BEFORE = 1.0
QUIET_RATE = 40.0  # records per second where only the log is measured
SEED = 7

_STREAM = """
streams:
  - {name: events, topic: in, columns: "due bigint, first double, second double"}
operators:
  - name: head
    input: events
    python: {function: "waits:first", as: map, returns: "due bigint, first double, second double"}
"""
ONE = Case(
    f"{_STREAM}outputs:\n  - {{name: result, input: head, topic: out}}\n", "orders", {"head": ("head",)}, workers=2
)
TWO = Case(
    f"""{_STREAM}  - name: tail
    input: head
    python: {{function: "waits:second", as: map, returns: "due bigint, first double, second double"}}
outputs:
  - {{name: result, input: tail, topic: out}}
""",
    "orders",
    {"head": ("head",), "tail": ("tail",)},
    workers=2,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Setup:
    """One case.

    Attributes:
        waits: milliseconds that each segment takes for a record, in the mean.
        share: of what the busiest segment can do.
        random: whether waits are of an exponential distribution.
        clock: whether records come by a clock, each to the next slot.
        frame: records in a frame.
        deadline: milliseconds after which it leaves anyway.
    """

    waits: tuple[float, ...]
    share: float
    random: bool = False
    clock: bool = False
    frame: int = 1
    deadline: float = 0.0

    def __str__(self) -> str:
        waits = "+".join(f"{wait:g}" for wait in self.waits)
        frames = f", frames of {self.frame} in {self.deadline:g} ms" if self.frame > 1 else ""
        how = "random" if self.random else "fixed"
        return f"{waits} ms {how} at {self.share:.0%}, {'clock' if self.clock else 'random'} arrivals{frames}"

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.share * SLOTS * 1000 / max(self.waits)


# From 11 ms on, a slot takes one message at a time, as a queue does; with less it takes several, up to 10 ms of work,
# and what they give leaves together.
CASES = (
    *(Setup((12,), share) for share in (0.2, 0.4, 0.6, 0.75)),
    *(Setup((12,), share, random=True) for share in (0.2, 0.4, 0.6, 0.75)),
    *(Setup((12,), share, clock=True) for share in (0.3, 0.7)),
    *(Setup((12,), share, random=True, clock=True) for share in (0.3, 0.6)),
    *(Setup((12, 12), share) for share in (0.3, 0.6)),
    *(Setup((12, 12), share, random=True) for share in (0.3, 0.6)),
    *(Setup((12, 2), share, frame=4, deadline=40.0) for share in (0.3, 0.6)),
    *(Setup((12, 2), share, frame=20, deadline=60.0) for share in (0.3, 0.6)),
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """What one run has shown: latencies in seconds, and what each segment takes for a record."""

    latencies: Sequence[float]
    spans: Mapping[str, float]
    missing: int
    lateness: Lateness

    @property
    def is_void(self) -> bool:
        """Whether it doesn't count."""
        return self.missing > 0 or self.lateness.is_void or not self.latencies

    @property
    def mean(self) -> float:
        """Of all latencies."""
        return statistics.fmean(self.latencies)

    @property
    def p99(self) -> float:
        """Of all latencies."""
        return figures.quantile(self.latencies, 0.99)

    @property
    def moments(self) -> Moments:
        """Of all latencies."""
        mean = self.mean
        third = statistics.fmean((one - mean) ** 3 for one in self.latencies)
        return Moments(mean, statistics.pvariance(self.latencies, mean), third)


@dataclasses.dataclass(frozen=True, slots=True)
class Log:
    """What the log takes: from an event to its output with one segment that takes no time, and for one edge more."""

    ends: Moments
    edge: Moments


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """All cases, in turn."""
    with systems.broker() as bootstrap:
        one = _counted(bootstrap, Setup((0.0,), 0.0), seconds, done)
        two = _counted(bootstrap, Setup((0.0, 0.0), 0.0), seconds, done)
        log = _log(one, two)
        done(f"the log: {1e3 * log.ends.mean:.2f} ms from event to output, {1e3 * log.edge.mean:.2f} ms for an edge")
        runs: dict[Setup, list[Measured]] = {case: [] for case in CASES}
        for _, case in figures.in_turn(CASES, rounds):
            runs[case].append(_counted(bootstrap, case, seconds, done))
            done(told(case, runs[case][-1], log))
    return shown(runs, log)


def _counted(bootstrap: str, case: Setup, seconds: float, done: Callable[[str], None]) -> Measured:
    """A run that counts, or the last of three: asked of the generator and of what is missing, not of latencies."""
    for _ in range(latency.TRIES):
        found = run(bootstrap, case, seconds)
        if not found.is_void:
            break
        done(f"{case}: void: {found.missing} missing, generator late by {1e3 * found.lateness.p999:.1f} ms")
    return found


def _log(one: Measured, two: Measured) -> Log:
    """What the log takes, of runs without any wait."""
    first, second = one.moments, two.moments
    ends = Moments(max(0.0, first.mean - one.spans["head"]), first.variance, first.third)
    edge = second.mean - first.mean - two.spans["tail"]
    variance = max(0.0, second.variance - first.variance)
    return Log(ends, Moments(max(0.0, edge), variance, second.third - first.third))


def predicted(case: Setup, spans: Mapping[str, float], log: Log) -> Moments:
    """The model's answer: segments that take so long, and the log as it was measured."""
    names = ("head", "tail")[: len(case.waits)]
    nodes = [Node("events", (), 0.0, 0.0, (Output("events", framed=False),))]
    for before, name in zip(("events", *names), names, strict=False):
        nodes.append(Node(name, (before,), spans[name], 0.0, (Output(name),), keyed=False))
    flow = Flow(nodes)
    settings = {"events": Setting(SLOTS, 1)} | {name: Setting(SLOTS) for name in names}
    settings |= {name: Setting(SLOTS, case.frame) for name in names if flow.readers[name]}
    varies = {name: Variability(service=1.0 if case.random else 0.0) for name in names}
    if case.clock:
        varies["head"] = dataclasses.replace(varies["head"], arrival=0.0)
    found = prediction.predict(
        flow,
        settings,
        {"events": case.rate},
        deadlines=dict.fromkeys(names, case.deadline / 1000),
        partitions=dict.fromkeys(("events", *names), SLOTS),
        variability=varies,
    )
    edges = log.edge if len(names) > 1 else moments.ZERO
    return found.ways[0].moments + log.ends + edges


def shown(runs: Mapping[Setup, Sequence[Measured]], log: Log) -> list[Figure]:
    """The figures: how far off each case was, and how many were near enough."""
    found, means, p99s, kept, normal = [], list[bool](), list[bool](), list[bool](), list[bool]()
    void = any(one.is_void for some in runs.values() for one in some)
    for case, some in runs.items():
        good = [one for one in some if not one.is_void]
        off_mean, off_p99 = [], []
        for one in good:
            says = predicted(case, one.spans, log)
            off_mean.append(says.mean / one.mean - 1)
            off_p99.append(moments.likely(says, 0.99) / one.p99 - 1)
            normal.append(abs(moments.normal(says, 0.99) / one.p99 - 1) <= P99)
            kept.append(moments.cantelli(says, 0.99) >= one.p99)
        found.append(figures.of(f"P1 {case}: mean off by", [100 * one for one in off_mean], "%"))
        found.append(figures.of(f"P1 {case}: p99 off by", [100 * one for one in off_p99], "%"))
        means.append(bool(off_mean) and abs(statistics.median(off_mean)) <= MEAN)
        p99s.append(bool(off_p99) and abs(statistics.median(off_p99)) <= P99)
    return [
        *found,
        figures.of(f"P1 cases with the mean within {MEAN:.0%}", [_share(means)], "of all", least=MEANS, void=void),
        figures.of(f"P1 cases with p99 within {P99:.0%}", [_share(p99s)], "of all", least=P99S, void=void),
        figures.of(f"P1 runs with p99 within {P99:.0%}, were it normal", [_share(normal)], "of all", void=void),
        figures.of("P1 bounds that are not below the truth", [_share(kept)], "of all", least=BOUNDS, void=void),
    ]


def told(case: Setup, one: Measured, log: Log) -> str:
    """One line on a run."""
    says = predicted(case, one.spans, log)
    spans = ", ".join(f"{1e3 * span:.2f}" for span in one.spans.values())
    return (
        f"{case} ({len(one.latencies)} records, {spans} ms each):"
        f" mean {1e3 * one.mean:.1f} ms, {100 * (says.mean / one.mean - 1):+.0f} %;"
        f" p99 {1e3 * one.p99:.1f} ms, {100 * (moments.likely(says, 0.99) / one.p99 - 1):+.0f} %;"
        f" bound {1e3 * moments.cantelli(says, 0.99):.1f} ms"
    )


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else math.nan


def run(bootstrap: str, case: Setup, seconds: float) -> Measured:
    """One run, in processes of its own."""
    source = f"in.{systems.run_name()}"
    systems.created(bootstrap, source)
    segments = len(case.waits)
    system = System(
        ONE if segments == 1 else TWO, bootstrap, source, slots=SLOTS * segments,
        frame=case.frame, deadline=case.deadline / 1000, apart=True, bound="1s",
    )  # fmt: skip
    context = multiprocessing.get_context("spawn")
    with system, concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as others:
        system.settle()
        rate = case.rate if any(case.waits) else QUIET_RATE
        plan = planned(case, rate, seconds)
        start = time.time() + BEFORE
        pacing = others.submit(pace, bootstrap, source, plan, start)
        until = start + plan[-1].at + END
        while not pacing.done() or time.time() < until:
            system.look()
            time.sleep(0.05)
        late = pacing.result()
        ends = latency.dues(logs.read(bootstrap, system.output))
        spans = _spans(system)
    counted = [one for one in plan if one.at >= WARM]
    dues = [round((start + one.at) * 1_000_000) for one in counted]
    # Brokers count milliseconds, cut off: an output came half a millisecond later than it says, in the mean.
    found = [ends[due] / 1000 + 0.0005 - due / 1_000_000 for due in dues if due in ends]
    return Measured(found, spans, len(dues) - len(found), late)


def _spans(system: System) -> dict[str, float]:
    """Seconds of a slot for a record, by segment, as slots report them: all that a turn of the loop takes."""
    busy: dict[str, float] = {}
    came: dict[str, float] = {}
    for report in system.reports.values():
        for name, flows in report.flows.items():
            busy[name] = busy.get(name, 0.0) + report.busy
            came[name] = came.get(name, 0.0) + next(iter(flows.values())).came
    return {name: busy[name] / came[name] for name in busy if came[name]}


@dataclasses.dataclass(frozen=True, slots=True)
class Due:
    """An event: seconds after the start, partition, and what it takes."""

    at: float
    partition: int
    waits: tuple[float, float]


def planned(case: Setup, rate: float, seconds: float) -> list[Due]:
    """All events of a case; the same each time."""
    draw = random.Random(SEED)  # noqa: S311 - a load, no secret
    waits = (*case.waits, 0.0)[:2]
    found, at, number = list[Due](), 0.0, 0
    while at < WARM + seconds:
        at += 1 / rate if case.clock else draw.expovariate(rate)
        partition = number % logs.PARTITIONS if case.clock else draw.randrange(logs.PARTITIONS)
        each = tuple((draw.expovariate(1.0) if case.random else 1.0) * wait / 1000 for wait in waits)
        found.append(Due(at, partition, (each[0], each[1])))
        number += 1
    return found


def pace(bootstrap: str, topic: str, plan: Sequence[Due], start: float) -> Lateness:
    """Send each event as it is due; how late that was."""
    client = logs.producer(bootstrap, {"linger.ms": 0})
    client.list_topics(topic, timeout=logs.PATIENCE)
    late = []
    clock = time.monotonic() + start - time.time()
    for one in plan:
        due = clock + one.at
        while (left := due - time.monotonic()) > 0:
            time.sleep(left)
        late.append(time.monotonic() - due)
        row = {"due": round((start + one.at) * 1_000_000), "first": one.waits[0], "second": one.waits[1]}
        client.produce(topic, json.dumps(row).encode(), partition=one.partition)
        client.poll(0)
    client.flush(logs.PATIENCE)
    return schedule.lateness(late)
