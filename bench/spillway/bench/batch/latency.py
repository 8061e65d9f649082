"""What a batch takes in a real Spark on this machine, and what that Spark takes while it works and while it waits.

One hop: a job with a task for each of two partitions, which reads its range, runs the program, adds up, and writes.
Each size is run `TIMES` times over the same records, after one run that is told apart.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Iterator

from spillway.bench.batch import cases
from spillway.bench.record import processes, systems
from spillway.bench.record.figures import quantile
from spillway.runtime.batch.executors import Local
from spillway.runtime.batch.ranges import Range
from spillway.runtime.batch.spark import Spark

SIZES = (0, 100, 1_000, 10_000, 100_000)
TIMES = 15
PARTITIONS = 2
IDLE = 20.0  # seconds


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """A figure with its unit."""

    name: str
    value: str


def main(seconds: float, done: Callable[[str], None]) -> Iterator[Line]:
    """All of it; `seconds` of watching how much an idle one takes."""
    case = cases.cases()[1]
    with systems.broker() as bootstrap:
        run = cases.prepared(case, bootstrap)
        processes.fresh(cases.fill, run, max(SIZES) * 2)
        done("records are there")
        began = time.perf_counter()
        spark = Spark(Local(f"local[{PARTITIONS}]"))
        try:
            yield Line("start", f"{time.perf_counter() - began:.1f} s")
            yield from _batches(spark, run)
            yield from _idle(spark, seconds)
        finally:
            spark.close()


def _batches(spark: Spark, run: cases.Run) -> Iterator[Line]:
    order, shadow = run.order(), run.order(shadow=True)
    _, took = _timed(spark, shadow, 100)
    yield Line("first of all, which gets workers ready (shadow of 100)", f"{took * 1000:.0f} ms")
    _, took = _timed(spark, order, 100)
    yield Line("first that sends", f"{took * 1000:.0f} ms")
    for size in SIZES:
        first = _timed(spark, order, size)[1]
        before = _driver(spark)
        found = [_timed(spark, order, size) for _ in range(TIMES)]
        cpu = (_driver(spark) - before) / TIMES
        times = [took * 1000 for _, took in found]
        work = statistics.median(longest for longest, _ in found) * 1000
        yield Line(
            f"batch of {size:7,} records",
            f"p50 {quantile(times, 0.5):5.0f}  p95 {quantile(times, 0.95):5.0f}  min {min(times):5.0f}  "
            f"first {first * 1000:5.0f} ms; longest task {work:5.0f} ms; processor {cpu * 1000:5.0f} ms",
        )


def _driver(spark: Spark) -> float:
    return spark.usage.cpu + processes.cpu(os.getpid())


def _timed(spark: Spark, order: object, size: int) -> tuple[float, float]:
    each = size // PARTITIONS
    given = [Range(number, 0, each, 1) for number in range(PARTITIONS)]
    began = time.perf_counter()
    results = spark.run(order, given)  # type: ignore[arg-type]
    took = time.perf_counter() - began
    return max(one.times.all for one in results), took


def _idle(spark: Spark, seconds: float) -> Iterator[Line]:
    usage = spark.usage
    yield Line("its processes", f"{usage.processes}, {usage.memory / 2**20:.0f} MiB (proportional share)")
    for process in processes.tree(spark.pid):
        yield Line(f"  process {process}", f"{processes.memory(process) / 2**20:.0f} MiB resident")
    time.sleep(seconds)
    later = spark.usage
    yield Line(f"idle for {seconds:.0f} s", f"{(later.cpu - usage.cpu) / seconds * 100:.1f} % of a core")
