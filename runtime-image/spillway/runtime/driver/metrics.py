"""What a driver tells Prometheus: what is known of a job as a whole. What it decides is told by `/v1/decisions`.

Labels are bounded: segments and outputs are those of the manifest. Records are counted by the workers, who have the
exact numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import registry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from spillway.model.observation import MoveKind, Observation, Segment
from spillway.runtime.driver.reporting import Board
from spillway.runtime.worker.metrics import Family

Sample = tuple[tuple[str, ...], float | None]

LEADS = Family("spillway_driver_leads", (), "1 while this driver leads.")
READY = Family("spillway_job_ready", (), "1 while every partition that shall is worked on, and all topics are there.")
CONDITIONS = Family("spillway_condition", ("type", "reason"), "1 where a condition holds, and 0 where it doesn't.")
SLOTS = Family("spillway_slots", ("state",), "Slots that have joined: heard of lately, or silent.")
NEEDED_SLOTS = Family("spillway_recommended_slots", (), "Slots that the load needs.")
NEEDED_WORKERS = Family("spillway_recommended_workers", (), "Workers that the load needs.")
GRANTED = Family("spillway_granted_workers", (), "Workers that may own partitions.")
RATE = Family("spillway_arrival_rate", (), "Records per second that come in, over all sources.")
BOUND = Family("spillway_latency_bound_seconds", (), "The promise: this bound …")
QUANTILE = Family("spillway_latency_quantile", (), "… for this share of the records.")
WITHIN = Family("spillway_within_bound_ratio", ("output",), "Share of the records of the last 10 s within the bound.")
PARTITIONS = Family("spillway_segment_partitions", ("segment",), "Partitions of its input.")
WORKING = Family("spillway_segment_partitions_working", ("segment",), "Those that somebody works on.")
MOVING = Family("spillway_segment_partitions_moving", ("segment",), "Those that are on the move.")
LAG = Family("spillway_lag_messages", ("segment",), "Messages of its input that wait.")
BUSY = Family("spillway_segment_busy_slots", ("segment",), "Slots that it keeps busy.")
MOVES = Family("spillway_moves", ("kind",), "Partitions that changed hands since this driver began.")

_OF_SEGMENTS: Mapping[Family, Callable[[Segment], float | None]] = {
    PARTITIONS: lambda segment: segment.partitions,
    WORKING: lambda segment: segment.working,
    MOVING: lambda segment: segment.moving,
    LAG: lambda segment: segment.lag,
    BUSY: lambda segment: segment.busy,
}
_OF_JOB: Mapping[Family, Callable[[Observation], float | None]] = {
    LEADS: lambda told: told.leader > 0,
    READY: lambda told: told.ready,
    NEEDED_SLOTS: lambda told: told.recommended.slots,
    NEEDED_WORKERS: lambda told: told.recommended.workers,
    GRANTED: lambda told: told.granted,
    RATE: lambda told: told.rate_in,
    BOUND: lambda told: told.latency.bound_ms / 1e3,
    QUANTILE: lambda told: told.latency.quantile,
}
GAUGES = (*_OF_JOB, WITHIN, SLOTS, CONDITIONS, *_OF_SEGMENTS)


class Collector(registry.Collector):
    """Collects everything anew whenever somebody asks. What nobody knows has no sample."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def collect(self) -> Iterator[Metric]:
        """Each metric with its samples."""
        view = self._board.view
        told = view.observation
        for family, of_job in _OF_JOB.items():
            yield _gauge(family, [((), of_job(told))])
        for family, of_segment in _OF_SEGMENTS.items():
            yield _gauge(family, (((segment.name,), of_segment(segment)) for segment in told.segments))
        yield _gauge(WITHIN, (((name,), output.within) for name, output in told.latency.outputs.items()))
        silent = sum(slot.silent for slot in told.slots)
        yield _gauge(SLOTS, [(("heard",), len(told.slots) - silent), (("silent",), silent)])
        yield _gauge(CONDITIONS, (((one.type, one.reason), one.status) for one in told.conditions))
        moves = CounterMetricFamily(MOVES.name, MOVES.says, labels=MOVES.labels)
        for kind in MoveKind:
            moves.add_metric((str(kind),), view.moves.get(kind, 0))
        yield moves


def _gauge(family: Family, samples: Iterable[Sample]) -> Metric:
    metric = GaugeMetricFamily(family.name, family.says, labels=family.labels)
    for labels, value in samples:
        if value is not None:
            metric.add_metric(labels, float(value))
    return metric
