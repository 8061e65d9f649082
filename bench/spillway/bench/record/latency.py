"""How old records are when they leave: of a job of two segments, at a moderate rate.

`latency`: 1000 records a second, p50 ≤ 10 ms and p99 ≤ 50 ms (figure D1 on a quiet machine), and where the time goes.
`deadline` (figure T4): the same with frames of 10 000 rows, which at this rate would take ten seconds to fill: the
deadline of an edge sends them earlier, p95 ≤ 50 ms.
`stall` (figure S5): the slot is stopped for five seconds; the largest latency that is reported has to be that stall.

Latency is the time at which the broker appended the output, less the time at which its event was due: nobody asks the
system under test for a time, and who stalls can't hide it. Brokers count milliseconds, cut off; an output is taken to
have come at the end of its millisecond, so a figure is up to one millisecond too high, and never too low.

Components, by the mean over all records, because differences of times that are cut off are right in the mean only:

    due → source: appended → edge: appended → output: appended

and, from runs in which messages carry the time at which a client was given them, edge and output: sent. The first has
half a millisecond too little and the rest add up to the mean of the total exactly.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
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
from spillway.runtime import frames

RATE = 1000.0
P50, P95, P99 = 10.0, 50.0, 50.0  # ms
LARGE = 10_000  # rows of a frame
DEADLINE = 0.01  # seconds that a row waits for others: a fifth of the 50 ms, the rest is for two hops
STALL, WITHIN = 5.0, 0.02
TRIES = 3
BEFORE = 1.0  # seconds from the start of the generator's process until the first event is due
WARM = 2.0  # seconds of events that don't count: programs are compiled, clients find their partitions
END = 2.0  # seconds after the last event in which its output has to come


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """What one run has shown.

    Attributes:
        latencies: of each event, in milliseconds, but for those of the warm-up.
        steps: milliseconds since 1970 at which each event was appended, by topic: source, edge, output.
        lateness: of the generator.
        missing: events without an output.
        cpu: seconds of processor time of the slot for each second.
    """

    latencies: Sequence[float]
    steps: Mapping[str, Mapping[int, int]]
    lateness: Lateness
    missing: int
    cpu: float

    @property
    def is_void(self) -> bool:
        """Whether it doesn't count: the generator was late, or outputs are missing."""
        return self.lateness.is_void or self.missing > 0 or not self.latencies


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """Figure D1's absolute part, with the split by component."""
    each = seconds / rounds / 2
    runs = counted(lambda bootstrap: run(bootstrap, each), rounds, done)
    sent = counted(lambda bootstrap: run(bootstrap, each, appended=False), rounds, done)
    return [
        *quantiles("latency", runs, {0.5: P50, 0.99: P99}),
        *components(runs, sent),
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
    appended: bool = True,
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
            System(jobs.SUMS, bootstrap, source, frame=frame, deadline=deadline, appended=appended)
            if frame
            else Deployed(jobs.SUMS, bootstrap, source, appended=appended, paradigm=paradigm)
        ) as system,
        concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as others,
    ):
        system.settle()
        edge = system.names.edge("sums")
        schedule = Schedule(time.time() + BEFORE, RATE, count)
        until = schedule.due(count) + END
        followed = others.submit(logs.follow, bootstrap, edge, until, system.width)
        pacing = others.submit(logs.pace, bootstrap, source, "orders", schedule)
        cpu = system.cpu()
        stopped = stop == 0.0
        while not (followed.done() and pacing.done()):
            system.look()
            time.sleep(0.05)
            # A quarter into what counts, so that all that waited is in it.
            if not stopped and time.time() > schedule.due(int(RATE * (WARM + seconds / 4))):
                with drains.stopped(system.processes):
                    time.sleep(stop)
                stopped = True
        cpu = (system.cpu() - cpu) / (until - schedule.start)
        read = {
            "source": dues(logs.read(bootstrap, source)),
            "edge": in_frames(followed.result(), system.column("sums", "due")),
            "output": dues(logs.read(bootstrap, system.output)),
        }
        late = pacing.result()
    return judged(schedule, read, late, cpu)


def judged(schedule: Schedule, steps: Mapping[str, Mapping[int, int]], late: Lateness, cpu: float) -> Run:
    """Latencies of all events of a schedule whose warm-up is over."""
    first = int(WARM * schedule.rate)
    wanted = [int(schedule.due(event) * 1_000_000) for event in range(first, schedule.count)]
    ends = steps["output"]
    latencies = [ends[due] + 1 - due / 1000 for due in wanted if due in ends]
    return Run(latencies, steps, late, len(wanted) - len(latencies), cpu)


def dues(records: Iterable[Record]) -> dict[int, int]:
    """When each event, known by its due time, was appended, from messages that hold it as JSON."""
    decode = msgspec.json.Decoder(msgspec.defstruct("Due", [("due", int)])).decode
    return {decode(record.value or b"").due: record.at for record in reversed(list(records))}  # type: ignore[attr-defined]


def in_frames(records: Iterable[Record], column: int) -> dict[int, int]:
    """The same from frames whose rows hold it in this column, behind their position and time."""
    found: dict[int, int] = {}
    for record in records:
        for row in msgspec.msgpack.decode(frames.read(record.value or b"").rows):
            found.setdefault(row[3 + column], record.at)
    return found


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


def components(appended: Sequence[Run], sent: Sequence[Run]) -> list[Figure]:
    """Where the time goes, in the mean, and that nothing is left over."""
    at = {name: [_mean_of(run, name) for run in appended] for name in ("source", "edge", "output")}
    given = {name: [_mean_of(run, name) for run in sent] for name in ("edge", "output")}
    named = [
        ("source: due to appended", at["source"], None),
        ("first segment: appended to frame sent", given["edge"], at["source"]),
        ("edge: frame sent to appended", at["edge"], given["edge"]),
        ("second segment: appended to output sent", given["output"], at["edge"]),
        ("output: sent to appended", at["output"], given["output"]),
    ]
    return [
        figures.of(
            f"latency, mean of {name}", [b - a for a, b in zip(before or [0.0] * len(after), after, strict=True)], "ms"
        )
        for name, after, before in named
    ] + [figures.of("latency, mean of the total", at["output"], "ms")]


def _mean_of(run: Run, step: str) -> float:
    """From due to this step; half a millisecond is what cutting off took, in the mean."""
    known = run.steps[step]
    dues_of_all = sorted(run.steps["output"])[int(WARM * RATE) :]
    return statistics.fmean([known[due] + 0.5 - due / 1000 for due in dues_of_all if due in known] or [float("nan")])


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
