"""What a worker tells Prometheus: the last report of each slot, and the counts of all lives since the worker started.

Labels are bounded: segments, operators and outputs are those of the manifest, slots those of the worker. What is known
of a job as a whole (its promise, what waits in its topics, what moves) the driver tells.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client import registry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from spillway.runtime.telemetry import BUCKETS, Place
from spillway.runtime.worker import readiness
from spillway.runtime.worker.supervisor import End, Seat, Supervisor
from spillway.runtime.worker.totals import Key, Totals


@dataclasses.dataclass(frozen=True, slots=True)
class Family:
    """A metric, as the reference has it.

    Attributes:
        name: without the `_total` that counters end with.
        labels: their names.
        says: what it is.
        count: for a counter, what `totals` calls it.
    """

    name: str
    labels: tuple[str, ...]
    says: str
    count: str = ""


WITHIN = Family("spillway_within_bound", ("output",), "Records that left within the promised bound.", "within")
COUNTERS = (
    Family("spillway_records_in", ("segment", "operator"), "Records, or updates, that came in.", "came"),
    Family("spillway_records_out", ("segment", "operator"), "Records, or updates, that went out.", "went"),
    Family("spillway_record_errors", ("segment", "operator"), "Records on which it raised.", "errors"),
    Family("spillway_timed_records", ("segment", "operator"), "Records of which the time was taken, 1 in 64.", "timed"),
    Family("spillway_timed_seconds", ("segment", "operator"), "How long those took.", "seconds"),
    Family("spillway_phase_records", ("segment", "phase"), "Records that went through a phase.", "passed"),
    Family("spillway_phase_seconds", ("segment", "phase"), "How long those were in it, all together.", "spent"),
    Family("spillway_segment_busy_seconds", ("segment",), "Time of the slots that the segment took.", "worked"),
    Family("spillway_late_records", ("segment",), "Records too late for their window or retention; ignored.", "late"),
    Family("spillway_dropped_records", ("segment",), "Late records that were left out, by policy.drop.", "dropped"),
    WITHIN,
    Family("spillway_dead_letters", (), "Records that were written to the topic of dead letters.", "letters"),
    Family("spillway_slot_busy_seconds", ("slot",), "Time in which the loop of the slot had work.", "busy"),
    Family("spillway_slot_cpu_seconds", ("slot",), "Processor time of the slot's process.", "cpu"),
)
ENDS = Family(
    "spillway_slot_ends",
    ("slot", "how"),
    "Processes of the slot that ended by themselves: by an exit, by a signal, or killed because they hung.",
)
LATENCY = Family(
    "spillway_latency_seconds",
    ("output",),
    "Age of records when they left: since they came into the first topic of the job.",
)
READY = Family("spillway_slot_ready", ("slot",), "1 if it has joined and works on all partitions that it has.")
TOLD = Family("spillway_slot_report_age_seconds", ("slot",), "Time since its last report, or its start.")
MEMORY = Family("spillway_slot_memory_bytes", ("slot",), "Resident memory of the slot's process.")
HELD = Family("spillway_partitions", ("segment",), "Partitions in the hands of this worker.")
WORKING = Family("spillway_partitions_working", ("segment",), "Those on which it works.")
ROWS = Family("spillway_table_rows", ("segment",), "Entries in their tables.")
SIZE = Family("spillway_table_bytes", ("segment",), "Estimated size of those.")
SUSPECTS = Family("spillway_suspects", (), "Ranges of messages that slots are careful with: processes ended at them.")
GAUGES = (READY, TOLD, MEMORY, HELD, WORKING, ROWS, SIZE, SUSPECTS)

_OF_PLACES: Mapping[Family, Callable[[Place], float]] = {
    HELD: lambda place: 1,
    WORKING: lambda place: place.working,
    ROWS: lambda place: place.rows,
    SIZE: lambda place: place.size,
}


class Collector(registry.Collector):
    """Collects everything anew whenever somebody asks."""

    def __init__(self, supervisor: Supervisor, totals: Totals) -> None:
        self._supervisor, self._totals = supervisor, totals

    def collect(self) -> Iterator[Metric]:
        """Each metric with its samples."""
        counts = self._totals.read()
        for family in COUNTERS:
            yield _counter(family, ((key[1:], count) for key, count in counts.items() if key[0] == family.count))
        seats = self._supervisor.seats
        yield _counter(ENDS, (((seat.name, how), seat.ends[how]) for seat in seats for how in End))
        yield _histogram(counts)
        yield _gauge(SUSPECTS, [((), len(self._supervisor.suspects.all))])
        yield from _of_slots(seats, time.monotonic())
        yield from _of_segments(seats)


def _of_slots(seats: Sequence[Seat], now: float) -> Iterator[Metric]:
    yield _gauge(READY, (((seat.name,), not readiness.missing([seat], now)) for seat in seats))
    lives = [life for seat in seats if (life := seat.life) is not None]
    yield _gauge(TOLD, (((life.slot,), now - life.told) for life in lives))
    yield _gauge(MEMORY, (((life.slot,), life.report.memory) for life in lives if life.report is not None))


def _of_segments(seats: Iterable[Seat]) -> Iterator[Metric]:
    reports = [life.report for seat in seats if (life := seat.life) is not None]
    places = [place for report in reports if report is not None for place in report.places]
    for family, value in _OF_PLACES.items():
        sums: dict[tuple[str, ...], float] = {}
        for place in places:
            sums[place.segment,] = sums.get((place.segment,), 0) + value(place)
        yield _gauge(family, sums.items())


def _counter(family: Family, samples: Iterable[tuple[Sequence[str], float]]) -> Metric:
    metric = CounterMetricFamily(family.name, family.says, labels=family.labels)
    for labels, value in samples:
        metric.add_metric(labels, value)
    return metric


def _gauge(family: Family, samples: Iterable[tuple[Sequence[str], float]]) -> Metric:
    metric = GaugeMetricFamily(family.name, family.says, labels=family.labels)
    for labels, value in samples:
        metric.add_metric(labels, value)
    return metric


def _histogram(counts: Mapping[Key, float]) -> Metric:
    found = {}
    for name, output in sorted(key for key in counts if key[0] == "age"):
        buckets = [counts.get(("bucket", output, str(number)), 0) for number in range(len(BUCKETS) + 1)]
        found[output] = buckets, counts[name, output]
    return latencies(found)


def latencies(found: Mapping[str, tuple[Sequence[float], float]]) -> Metric:
    """By output, how many fell into each bucket, and the sum of all in seconds.

    Prometheus wants for each bucket all that fell into it or into one before, and bounds in seconds.
    """
    metric = HistogramMetricFamily(LATENCY.name, LATENCY.says, labels=LATENCY.labels)
    bounds = (*(f"{bound / 1000:.9g}" for bound in BUCKETS), "+Inf")
    for output, (buckets, total) in found.items():
        metric.add_metric([output], [*zip(bounds, itertools.accumulate(buckets), strict=True)], total)
    return metric
