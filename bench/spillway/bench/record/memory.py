"""Memory and topics of a job that runs on and on: 1000 records a second, for half an hour unless told otherwise.

A slot may take what its tables need, and no more the longer it runs: the line through its memory over the second half
of the time, by least squares, has to be flat. Topics of the job that hold frames have to be trimmed behind their
readers: what they keep at the end, as a share of all that ever went through.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from confluent_kafka import TopicPartition

from spillway.bench.record import figures, jobs, logs, processes, systems
from spillway.bench.record.figures import Figure
from spillway.bench.record.schedule import Schedule
from spillway.bench.record.systems import System

RATE = 1000.0
EVERY = 1.0
# MB an hour: half an hour at this slope is a hundredth of what a slot takes; a leak of 100 bytes a record has 360.
SLOPE = 10.0
KEPT = 0.5  # of the messages of an edge
MB = 1e6


class Sample(NamedTuple):
    """One look: seconds since the start, bytes of the slot, messages that edges hold, and ever had."""

    at: float
    memory: int
    held: int
    ever: int


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """One long run: repetitions would only make it shorter."""
    del rounds
    samples = _watched(seconds, done)
    late = [sample for sample in samples if sample.at >= seconds / 2]
    steep = slope([sample.at / 3600 for sample in late], [sample.memory / MB for sample in late])
    kept = samples[-1].held / max(1, samples[-1].ever)
    note = "" if seconds >= 1800 else f"over {seconds:.0f} s; the figure asks for 1800"
    return [
        figures.of("memory of a slot", [sample.memory / MB for sample in late], "MB"),
        figures.of("memory of a slot, growth", [steep], "MB/hour", most=SLOPE, note=note),
        figures.of("edges: messages that are kept at the end", [kept], "of all", most=KEPT, note=note),
    ]


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """Of the line through points, by least squares."""
    middle, mean = sum(times) / len(times), sum(values) / len(values)
    spread = sum((at - middle) ** 2 for at in times)
    return sum((at - middle) * (value - mean) for at, value in zip(times, values, strict=True)) / spread


def _watched(seconds: float, done: Callable[[str], None]) -> list[Sample]:
    context = multiprocessing.get_context("spawn")
    samples: list[Sample] = []
    with systems.broker() as bootstrap:
        source = systems.created_one(bootstrap)
        with (
            System(jobs.SUMS, bootstrap, source) as system,
            concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as others,
        ):
            system.settle()
            plan = Schedule(time.time() + 1, RATE, int(RATE * seconds))
            pacing = others.submit(logs.pace, bootstrap, source, "orders", plan)
            edge, begun = system.names.edge("sums"), time.monotonic()
            while not pacing.done():
                time.sleep(EVERY)
                system.look()
                held, ever = _messages(bootstrap, edge, system.width)
                memory = int(processes.total(processes.memory, system.processes))
                samples.append(Sample(time.monotonic() - begun, memory, held, ever))
                if len(samples) % 30 == 1:
                    done(f"{samples[-1].at:.0f} s: {memory / MB:.1f} MB, edge holds {held} of {ever} messages")
    return samples


def _messages(bootstrap: str, topic: str, partitions: int) -> tuple[int, int]:
    consumer = logs.reader(bootstrap)
    ends = [
        consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=logs.PATIENCE) or (0, 0)
        for number in range(partitions)
    ]
    consumer.close()
    return sum(high - low for low, high in ends), sum(high for _, high in ends)
