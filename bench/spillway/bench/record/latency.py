"""How old records are when they leave: of a job of two segments, at a moderate rate.

`latency`: 1000 records a second, p50 ≤ 10 ms and p99 ≤ 50 ms (figure D1 on a quiet machine), and where the time goes.
`deadline` (figure T4): the same with frames of 10 000 rows, which at this rate would take ten seconds to fill: the
deadline of an edge sends them earlier, p95 ≤ 50 ms.
`stall` (figure S5): the slot is stopped for five seconds; the largest latency that is reported has to be that stall.

Latency is the time at which the broker appended the output, less the time at which its event was due: nobody asks the
system under test for a time, and who stalls can't hide it. Brokers count milliseconds, cut off; an output is taken to
have come at the end of its millisecond, so a figure is up to one millisecond too high, and never too low.

Components, by the mean over all records: until the source has an event, as its broker says; then what slots themselves
report of each phase (`slots.times`). Nothing makes them add up to the total but that they are right.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import math
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from spillway.bench.record import drains, figures, jobs, logs, systems
from spillway.bench.record.deployed import Deployed
from spillway.bench.record.figures import Figure
from spillway.bench.record.logs import Record
from spillway.bench.record.schedule import LATEST, Lateness, Schedule
from spillway.bench.record.systems import System
from spillway.model.operators import Paradigm
from spillway.runtime import telemetry
from spillway.runtime.telemetry import Report

# About a thousand a second, but none: all events would be due at the same place in a millisecond, and what brokers cut
# off of their times would be the same of each, up to a whole one.
RATE = 997.0
P50, P95, P99 = 10.0, 50.0, 50.0  # ms
LARGE = 10_000  # rows of a frame
DEADLINE = 0.01  # seconds that a row waits for others: a fifth of the 50 ms, the rest is for two hops
STALL, WITHIN = 5.0, 0.02
TRIES = 3
BEFORE = 1.0  # seconds from the start of the generator's process until the first event is due
WARM = 2.0  # seconds of events that don't count: programs are compiled, clients find their partitions
SOURCE = "source: due to appended"
END = 2.0  # seconds after the last event in which its output has to come


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """What one run has shown.

    Attributes:
        latencies: of each event, in milliseconds, but for those of the warm-up.
        parts: milliseconds in the mean of each component, by name.
        total: milliseconds in the mean, of all.
        lateness: of the generator.
        missing: events without an output.
        cpu: seconds of processor time of the slot for each second.
    """

    latencies: Sequence[float]
    parts: Mapping[str, float]
    total: float
    lateness: Lateness
    missing: int
    cpu: float

    @property
    def share(self) -> float:
        """What all components together are of the total."""
        return math.fsum(self.parts.values()) / self.total

    @property
    def is_void(self) -> bool:
        """Whether it doesn't count: the generator was late, or outputs are missing."""
        return self.lateness.is_void or self.missing > 0 or not self.latencies


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """Figure D1's absolute part, with the split by component."""
    each = seconds / rounds
    runs = counted(lambda bootstrap: run(bootstrap, each), rounds, done)
    return [
        *quantiles("latency", runs, {0.5: P50, 0.99: P99}),
        *components(runs),
        figures.of("latency, processor time of the slot", [run.cpu for run in runs], "cores"),
        lateness(runs),
    ]


def deadline(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """Figure T4."""
    each = seconds / rounds
    runs = counted(lambda bootstrap: run(bootstrap, each, frame=LARGE, deadline=DEADLINE), rounds, done)
    named = f"T4 frames of {LARGE}, deadline {DEADLINE * 1000:.0f} ms"
    return [*quantiles(named, runs, {0.95: P95}), lateness(runs)]


def stall(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """Figure S5: is a stall in the figures, as long as it was?"""
    each = max(STALL * 2, seconds / rounds)
    runs = counted(lambda bootstrap: run(bootstrap, each, frame=1, stop=STALL), rounds, done)
    most = [max(found.latencies, default=float("nan")) / 1000 for found in runs]
    off = [abs(value / STALL - 1) for value in most]
    void = any(found.is_void for found in runs)
    return [
        figures.of(f"S5 largest latency, slot stopped for {STALL:.0f} s", most, "s", void=void),
        figures.of("S5 which is off by", off, "of it", most=WITHIN, void=void),
        lateness(runs),
    ]


def counted(make: Callable[[str], Run], rounds: int, done: Callable[[str], None]) -> list[Run]:
    """So many runs that count, on one broker; of `TRIES` for each of them, if some are void.

    The first run warms the broker, which compiles itself as it goes, and never counts. What makes a run void is asked
    of the generator, and of what is missing, not of latencies: so nobody chooses. If too few count, void ones are among
    those that are given, and no figure of them counts.
    """
    good: list[Run] = []
    void: list[Run] = []
    with systems.broker() as bootstrap:
        done(f"a run for the broker to get warm: {told(make(bootstrap))}")
        while len(good) < rounds and len(good) + len(void) < rounds * TRIES:
            found = make(bootstrap)
            (void if found.is_void else good).append(found)
            done(f"run {len(good) + len(void)}, {rounds} have to count: {told(found)}")
    return [*good, *void][:rounds]


def run(
    bootstrap: str,
    seconds: float,
    *,
    frame: int = 0,
    deadline: float = 0.0,
    stop: float = 0.0,
    paradigm: Paradigm = Paradigm.RECORD,
) -> Run:
    """One run with a broker of its own; the slot is stopped for so long in the middle.

    With frames of a size, slots alone; without, a job as it is deployed, with the frames that its driver plans.
    """
    source = systems.created_one(bootstrap)
    count = int(RATE * (WARM + seconds))
    context = multiprocessing.get_context("spawn")
    with (
        (
            System(jobs.SUMS, bootstrap, source, frame=frame, deadline=deadline)
            if frame
            else Deployed(jobs.SUMS, bootstrap, source, paradigm=paradigm)
        ) as system,
        concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as others,
    ):
        system.settle()
        schedule = Schedule(time.time() + BEFORE, RATE, count)
        until = schedule.due(count) + END
        pacing = others.submit(logs.pace, bootstrap, source, "orders", schedule)
        cpu = system.cpu()
        stopped = stop == 0.0
        while time.time() < until or not pacing.done():
            system.look()
            time.sleep(0.05)
            # A quarter into what counts, so that all that waited is in it.
            if not stopped and time.time() > schedule.due(int(RATE * (WARM + seconds / 4))):
                with drains.stopped(system.processes):
                    time.sleep(stop)
                stopped = True
        cpu = (system.cpu() - cpu) / (until - schedule.start)
        came, ends = dues(logs.read(bootstrap, source)), dues(logs.read(bootstrap, system.output))
        told = [telemetry.decode(record.value or b"") for record in logs.read(bootstrap, system.names.telemetry, 1)]
        late = pacing.result()
    parts = phases(told, schedule.due(_first(schedule)), tuple(jobs.SUMS.segments))
    return judged(schedule, came, ends, parts, late, cpu)


def judged(
    schedule: Schedule,
    came: Mapping[int, int],
    ends: Mapping[int, int],
    parts: Mapping[str, float],
    late: Lateness,
    cpu: float,
) -> Run:
    """Latencies of all events of a schedule whose warm-up is over: when each came and ended, by when it was due."""
    wanted = [int(schedule.due(event) * 1_000_000) for event in range(_first(schedule), schedule.count)]
    latencies = [ends[due] + 1 - due / 1000 for due in wanted if due in ends]
    parts = {SOURCE: _mean(came, wanted), **parts}
    return Run(latencies, parts, _mean(ends, wanted), late, len(wanted) - len(latencies), cpu)


def _first(schedule: Schedule) -> int:
    """The first event that counts."""
    return int(WARM * schedule.rate)


def phases(told: Iterable[Report], since: float, segments: Sequence[str]) -> dict[str, float]:
    """Milliseconds of a record in each phase of each segment, in the mean over what was told since then."""
    pairs = [(next((one for one in reversed(life) if one.at <= since), None), life[-1]) for life in _lives(told)]
    found = telemetry.phases(pairs)
    return {f"{segment}: {phase}": ms for segment in segments for phase, ms in found.get(segment, {}).items()}


def _lives(told: Iterable[Report]) -> Iterable[list[Report]]:
    lives: dict[tuple[str, int, str], list[Report]] = {}
    for report in told:
        lives.setdefault((report.slot, report.incarnation, report.process), []).append(report)
    return lives.values()


def _mean(known: Mapping[int, int], wanted: Iterable[int]) -> float:
    """From due to then; half a millisecond is what cutting off took, in the mean."""
    return statistics.fmean([known[due] + 0.5 - due / 1000 for due in wanted if due in known] or [float("nan")])


def dues(records: Iterable[Record]) -> dict[int, int]:
    """When each event, known by its due time, was appended, from messages that hold it as JSON."""
    decode = msgspec.json.Decoder(msgspec.defstruct("Due", [("due", int)])).decode
    return {decode(record.value or b"").due: record.at for record in reversed(list(records))}  # type: ignore[attr-defined]


def quantiles(name: str, runs: Sequence[Run], bounds: Mapping[float, float]) -> list[Figure]:
    """Quantiles over the runs; of those that are asked for, whether they are reached."""
    void = any(run.is_void for run in runs)
    return [
        figures.of(
            f"{name}, p{share * 100:g}",
            [figures.quantile(run.latencies, share) for run in runs],
            "ms",
            most=bounds.get(share),
            void=void,
        )
        for share in sorted({0.5, 0.95, 0.99, 0.999, *bounds})
    ] + [figures.of(f"{name}, most", [max(run.latencies, default=float("nan")) for run in runs], "ms", void=void)]


def components(runs: Sequence[Run]) -> list[Figure]:
    """Where the time goes, in the mean, and the mean of all of it, which is measured apart from them."""
    names = dict.fromkeys(name for run in runs for name in run.parts)
    return [
        *(figures.of(f"latency, mean of {name}", [run.parts.get(name, 0.0) for run in runs], "ms") for name in names),
        figures.of("latency, mean of the total", [run.total for run in runs], "ms"),
        figures.of("latency, all components of the total", [run.share for run in runs], "of it"),
    ]


def lateness(runs: Sequence[Run]) -> Figure:
    """Of the generator: beyond its bound nothing counts."""
    values = [run.lateness.p999 * 1000 for run in runs]
    return figures.of("lateness of the generator, p99.9", values, "ms", most=LATEST * 1000)


def told(run: Run) -> str:
    """One line on a run."""
    values = ", ".join(f"p{share * 100:g} {figures.quantile(run.latencies, share):.1f}" for share in (0.5, 0.95, 0.99))
    void = ", void" if run.is_void else ""
    late = f"generator late by {run.lateness.p999 * 1000:.2f} ms at p99.9"
    return f"{values} ms of {len(run.latencies)} events, {run.missing} missing, {late}{void}"
