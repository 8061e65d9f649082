"""The record paradigm against other systems that run Python functions: bytewax and Quix Streams.

The same topics, the same bytes, the same results, one process that works each, on the same broker, in turn. What is
compared is processor time for each record, from a topic that is full, and latency at a moderate rate on an open loop.
An output that isn't right has no figure. How each system is set is said in `engines.adapters`.

They are optional, and live in an environment of their own: docs/how-to/benchmark.md says how it is made.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from spillway.bench.engines import others
from spillway.bench.record import drains, events, figures, jobs, logs, systems, verify
from spillway.bench.record.drains import Subject
from spillway.bench.record.figures import Figure
from spillway.bench.record.jobs import Case
from spillway.bench.record.latency import TRIES
from spillway.bench.record.schedule import Lateness, Schedule

OURS, PEERS = "spillway", (others.BYTEWAX, others.QUIX)
TIMES = {others.BYTEWAX: 3.0, others.QUIX: 5.0}  # so many times as much has a peer to take
FRAME, DEADLINE = 1_000, 0.005
PACED, SETTLE = 6.0, 3.0  # seconds: of events, and before the first of them
PACED_ROUNDS = 3  # at most: latencies are no ratio, and most of the time goes into waiting for events that are due


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """One comparison.

    Attributes:
        name: of what is done, for the adapters.
        case: our job.
        records: for each second that a comparison may take.
        rate: that is moderate for all, in records a second.
        unit: of due times, in a second.
    """

    name: str
    case: Case
    records: int
    rate: float
    unit: int


WORKS = (
    Work("words", jobs.WORDS, 250, 500.0, 1_000_000),
    Work("ads", jobs.YSB, 2_000, 3_000.0, 1_000),
    Work("orders", jobs.CHAIN, 4_000, 1_000.0, 1_000_000),
)


class MissingError(Exception):
    """The peers are not installed."""


class Peer(others.Program):
    """Another system at work, as a drain wants it."""

    @property
    def source(self) -> str:
        """The topic that it reads."""
        return self.sources[0]

    @property
    def processes(self) -> tuple[int, ...]:
        """Its process."""
        return tuple(self.parts.values())


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """All comparisons: processor time and latency, each system in turn."""
    if why := next(filter(None, (others.PORTS[name].problem() for name in PEERS)), ""):
        raise MissingError(why)
    found: list[Figure] = []
    for work in WORKS:
        micros: dict[str, list[float]] = {name: [] for name in (OURS, *PEERS)}
        tails: dict[str, list[float]] = {name: [] for name in (OURS, *PEERS)}
        late: list[float] = []
        with systems.broker() as bootstrap:
            # Never counts: a broker that compiles itself made the first one five times as late.
            _paced(OURS, work, bootstrap)
            for number, name in figures.in_turn((OURS, *PEERS), rounds):
                micros[name].append(_drained(name, work, bootstrap, int(work.records * seconds)))
                done(f"round {number + 1} of {rounds}: {work.name}, {name}: {micros[name][-1]:.2f} µs")
                if number >= PACED_ROUNDS:
                    continue
                tail, lateness = _tail(name, work, bootstrap, done)
                late.append(lateness.p999 * 1000)
                tails[name].append(tail)
        found += _figures(work, micros, tails, late)
    return found


def _tail(name: str, work: Work, bootstrap: str, done: Callable[[str], None]) -> tuple[float, Lateness]:
    """The 99th percentile of latencies; tried again while the generator is late, a few times."""
    for _ in range(TRIES):
        latencies, lateness = _paced(name, work, bootstrap)
        tail = figures.quantile(latencies, 0.99)
        done(f"  p99 {tail:.1f} ms{', void' if lateness.is_void else ''}")
        if not lateness.is_void:
            break
    return tail, lateness


def _figures(
    work: Work, micros: dict[str, list[float]], tails: dict[str, list[float]], late: list[float]
) -> list[Figure]:
    void = any(value > 5 for value in late)
    return [
        *(figures.of(f"{work.name}: {name}", values, "µs/record") for name, values in micros.items()),
        *(
            figures.of(
                f"{work.name}: {name} / {OURS}", figures.ratios(micros[name], micros[OURS]), "times", least=TIMES[name]
            )
            for name in PEERS
        ),
        *(
            figures.of(f"{work.name}: {name}, p99 at {work.rate:.0f}/s", values, "ms", void=void)
            for name, values in tails.items()
        ),
        figures.of(f"{work.name}: lateness of the generator, p99.9", late, "ms", most=5.0),
    ]


@contextmanager
def _started(name: str, work: Work, bootstrap: str) -> Iterator[Subject]:
    source = systems.created_one(bootstrap)
    if name == OURS:
        with systems.System(work.case, bootstrap, source, frame=FRAME, deadline=DEADLINE) as system:
            yield system
    else:
        with Peer(name, work.name, bootstrap, [source]) as peer:
            yield peer


def _drained(name: str, work: Work, bootstrap: str, records: int) -> float:
    """Processor time for each record; raises unless the output is right."""
    workload = work.case.workload
    with _started(name, work, bootstrap) as subject:
        micros = drains.drained(subject, bootstrap, workload, records, verify.outputs(workload)).micros
        times = range(events.START_MS, events.START_MS + drains.WARM + records)
        verify.check(workload, logs.read(bootstrap, subject.output), times)
    return micros


def _paced(name: str, work: Work, bootstrap: str) -> tuple[list[float], Lateness]:
    """Latencies of all outputs, but for those of the first third; raises unless the output is right."""
    workload, context = work.case.workload, multiprocessing.get_context("spawn")
    with (
        _started(name, work, bootstrap) as subject,
        concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as others,
    ):
        others.submit(os.getpid).result()
        plan = Schedule(time.time() + SETTLE, work.rate, int(work.rate * PACED))
        pacing = others.submit(logs.pace, bootstrap, subject.source, workload, plan, unit=work.unit)
        watch, wanted = logs.Watch(bootstrap, subject.output), verify.outputs(workload)(plan.count)
        patience = plan.due(plan.count) + drains.PATIENCE
        while not pacing.done() or (watch.count() < wanted and time.time() < patience):
            subject.look()
            time.sleep(0.1)
        watch.close()
        records = logs.read(bootstrap, subject.output)
        dues = [int(plan.due(number) * work.unit) for number in range(plan.count)]
        verify.check(workload, records, [due * 1000 // work.unit for due in dues])
    first = plan.due(plan.count // 3) * 1000
    found = [(record.at + 1, verify.due(record, work.unit)) for record in records]
    return [at - due for at, due in found if due >= first], pacing.result()
