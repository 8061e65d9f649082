"""Figure T1: records of 100 bytes from a source to a sink, through an internal edge, by the size of its frames.

The source is a program on messages that are there already, and everything from there on to the broker: rows, frames,
the sender. The sink is the reader, and everything from there on into a program that keeps nothing. Each runs in a
process of its own, one after the other, so what they take is told apart: microseconds of processor time for each
record, the C library's threads included; one core then does so many records a second as fit into it.

Wanted: at least 20 times as many with frames of 1000 as with frames of 1, and a million a second on one core, for
source and sink together.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from spillway.bench.record import figures, jobs, logs, processes, programs, systems
from spillway.bench.record.figures import Figure
from spillway.bench.record.meter import Meter, access
from spillway.model.streamjob import StreamJob
from spillway.runtime.emitter import Emitter
from spillway.runtime.intake import Intake
from spillway.runtime.task import Filling

# By size of a frame, records for each second that the whole measurement may take.
RECORDS = {1: 1_000, 10: 5_000, 100: 15_000, 1_000: 25_000, 10_000: 25_000}
SIZES = tuple(RECORDS)
LARGE = 1_000  # that frames of this size are compared with frames of 1
TIMES, RATE = 20.0, 1_000_000.0
POLL, ROWS = 500, 5_000  # at a time: messages, as a slot takes them, and rows, so that there are many times
WAIT = 60.0  # seconds that a frame may wait: here only its size counts
PATIENCE = 20.0  # seconds until the next frame


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """Every size, source and sink, in turn."""
    by_size = {size: whole(seconds * RECORDS[size], size) for size in SIZES}
    sent: dict[int, list[float]] = {size: [] for size in SIZES}
    received: dict[int, list[float]] = {size: [] for size in SIZES}
    with systems.broker() as bootstrap:
        for number, size in figures.in_turn(SIZES, rounds):
            edge, count = systems.created_one(bootstrap), by_size[size]
            sent[size].append(processes.fresh(source, bootstrap, edge, size, count))
            received[size].append(processes.fresh(sink, bootstrap, edge, size, count))
            done(
                f"round {number + 1} of {rounds}: frames of {size}:"
                f" source {sent[size][-1]:.3f}, sink {received[size][-1]:.3f} µs"
            )
    both = {size: [a + b for a, b in zip(sent[size], received[size], strict=True)] for size in SIZES}
    return [
        *(figures.of(f"T1 frames of {size}: source", sent[size], "µs/record") for size in SIZES),
        *(figures.of(f"T1 frames of {size}: sink", received[size], "µs/record") for size in SIZES),
        *(
            figures.of(
                f"T1 frames of {size}: both on one core",
                [1e6 / micros for micros in both[size]],
                "records/s",
                least=RATE if size == LARGE else None,
            )
            for size in SIZES
        ),
        figures.of(
            f"T1 frames of {LARGE} against frames of 1", figures.ratios(both[1], both[LARGE]), "times", least=TIMES
        ),
    ]


def whole(records: float, size: int) -> int:
    """So many that all frames are full: what is left over would wait in the source for its deadline, and never come."""
    return max(1, int(records) // size) * size


def _job(bootstrap: str) -> StreamJob:
    return jobs.job(jobs.TRANSFER, bootstrap, "transfer", "records")


def source(bootstrap: str, edge: str, size: int, count: int) -> float:
    """Frames of so many records into a topic."""
    gc.disable()
    job = _job(bootstrap)
    task = programs.task(programs.loops(job, jobs.TRANSFER)["head"], job)
    task.fill(Filling(size, {"head": WAIT}))
    emitter, meter = Emitter(access(bootstrap)), Meter(count)
    found = programs.messages("payloads", count)
    for number, batch in enumerate([found[at : at + size] for at in range(0, count, size)]):
        task.take(batch)
        for _, _, key, value in task.frames(time.monotonic()):
            emitter.send(edge, 0, key, value)
        task.looked()
        if not number % POLL:
            emitter.serve()
        if not meter.add(len(batch)):
            break
    emitter.flush(60)
    return meter.micros()


def sink(bootstrap: str, edge: str, size: int, count: int) -> float:
    """The same frames into a program."""
    gc.disable()
    job = _job(bootstrap)
    task = programs.task(programs.loops(job, jobs.TRANSFER)["sink"], job)
    intake, meter = Intake(access(bootstrap), "bench"), Meter(count)
    intake.take(edge, 0, 0)
    going, before, most = True, 0, max(1, min(POLL, ROWS // size))
    while going:
        found = intake.poll(PATIENCE, most)
        if not found:
            message = f"after {before} of {count} records nothing came within {PATIENCE:.0f} s"
            raise logs.NotTakenError(message)
        for some in found.values():
            task.take(some)
            now = task.counts()["sink"].records_in
            going, before = meter.add(now - before), now
    return meter.micros()
