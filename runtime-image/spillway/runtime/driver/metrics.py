"""What a driver tells Prometheus: what is known of a job as a whole. What it decides is told by `/v1/decisions`.

Labels are bounded: segments and outputs are those of the manifest. Records are counted by the workers, who have the
exact numbers.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import registry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from spillway.controllers.switching import verdicts
from spillway.model.observation import MoveKind, Observation, Segment, StandbyState
from spillway.model.operators import Paradigm
from spillway.runtime.driver import switches
from spillway.runtime.driver.journal import PAUSES
from spillway.runtime.driver.reporting import Board
from spillway.runtime.worker import metrics as of_workers
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
PARADIGM = Family("spillway_segment_paradigm", ("segment", "paradigm"), "1 where most of it runs so now, else 0.")
FRAME = Family("spillway_segment_frame_records", ("segment",), "Records in a frame of its edges, as planned.")
PLANNED = Family("spillway_segment_planned_slots", ("segment",), "Slots that it was planned for.")
BATCH_SECONDS = Family("spillway_batch_seconds", ("segment",), "What its last batch took, until all of it was stored.")
BATCH_RECORDS = Family("spillway_batch_records", ("segment",), "Records of its last batch.")
BATCH_INTERVAL = Family("spillway_batch_interval_seconds", ("segment",), "From one batch to the next, as it is now.")
BATCH_CAPACITY = Family("spillway_batch_capacity", ("segment",), "Records per second that batches of it do.")
STANDBY = Family("spillway_standby", ("state",), "1 for what the Spark that waits for bursts is, and 0 for the others.")
NEEDED_EXECUTORS = Family("spillway_recommended_executors", (), "Spark executors that the load needs.")
EXECUTORS = Family("spillway_executors", (), "Spark executors that are there, where Spark has some of its own.")
MOVES = Family("spillway_moves", ("kind",), "Partitions that changed hands since this driver began.")
SWITCHES = Family("spillway_switch_decisions", ("to", "reason"), "Decisions to switch, since this driver began.")
PAUSE = Family("spillway_move_pause_seconds", ("kind",), "How long nobody had a partition that changed hands.")

_OF_SEGMENTS: Mapping[Family, Callable[[Segment], float | None]] = {
    PARTITIONS: lambda segment: segment.partitions,
    WORKING: lambda segment: segment.working,
    MOVING: lambda segment: segment.moving,
    LAG: lambda segment: segment.lag,
    BUSY: lambda segment: segment.busy,
    BATCH_SECONDS: lambda segment: segment.batch.seconds if segment.batch else None,
    BATCH_RECORDS: lambda segment: segment.batch.records if segment.batch else None,
    BATCH_INTERVAL: lambda segment: segment.batch.interval_ms / 1e3 if segment.batch else None,
    BATCH_CAPACITY: lambda segment: segment.batch.capacity if segment.batch else None,
}
_OF_JOB: Mapping[Family, Callable[[Observation], float | None]] = {
    LEADS: lambda told: told.leader > 0,
    READY: lambda told: told.ready,
    NEEDED_SLOTS: lambda told: told.recommended.slots,
    NEEDED_WORKERS: lambda told: told.recommended.workers,
    NEEDED_EXECUTORS: lambda told: told.recommended.executors,
    EXECUTORS: lambda told: told.executors,
    GRANTED: lambda told: told.granted,
    RATE: lambda told: told.rate_in,
    BOUND: lambda told: told.latency.bound_ms / 1e3,
    QUANTILE: lambda told: told.latency.quantile,
}
# Both are also told by workers, of what they write; these are of what batches write.
KEPT = dataclasses.replace(of_workers.WITHIN, says="Records that left batches within the promised bound.")
LATENCY = dataclasses.replace(of_workers.LATENCY, says="Age of records when they left batches towards an output.")
COUNTERS = (MOVES, SWITCHES, KEPT)
# Told as 0 before there was one: else Prometheus would take the first switch for where counting began.
_SWITCHES = (
    (Paradigm.BATCH, verdicts.Reason.QUEUE_BEYOND_POINT),
    (Paradigm.BATCH, verdicts.Reason.BURST),
    (Paradigm.RECORD, verdicts.Reason.BURST_PASSED),
    (Paradigm.BATCH, switches.Reason.ORDERED),
    (Paradigm.RECORD, switches.Reason.ORDERED),
    (Paradigm.RECORD, switches.Reason.SPARK_GONE),
    (Paradigm.BATCH, switches.Reason.SPARK_BACK),
)
_NEVER = (0,) * (len(PAUSES) + 1)
GAUGES = (*_OF_JOB, WITHIN, SLOTS, STANDBY, CONDITIONS, *_OF_SEGMENTS, PARADIGM, FRAME, PLANNED)


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
        yield _gauge(STANDBY, (((state,), state is told.standby.state) for state in StandbyState))
        ways = ((segment, way) for segment in told.segments for way in Paradigm if way is not Paradigm.AUTO)
        yield _gauge(PARADIGM, (((segment.name, str(way)), segment.paradigm is way) for segment, way in ways))
        planned = told.plan.segments if told.plan else ()
        yield _gauge(FRAME, (((segment.name,), segment.frame) for segment in planned))
        yield _gauge(PLANNED, (((segment.name,), segment.parallelism) for segment in planned))
        yield _counter(MOVES, (((str(kind),), view.moves.get(kind, 0)) for kind in MoveKind))
        switched = {(str(to), str(reason)): 0 for to, reason in _SWITCHES} | {**view.switches}
        yield _counter(SWITCHES, switched.items())
        pauses = HistogramMetricFamily(PAUSE.name, PAUSE.says, labels=PAUSE.labels)
        for kind in MoveKind:
            buckets, total = view.pauses.get(kind, (_NEVER, 0.0))
            bounds = (*(f"{bound:g}" for bound in PAUSES), "+Inf")
            pauses.add_metric((str(kind),), [*zip(bounds, itertools.accumulate(buckets), strict=True)], total)
        yield pauses
        yield _counter(KEPT, (((name,), of.within) for name, of in view.latency.items()))
        yield of_workers.latencies({name: (of.buckets, of.total / 1000) for name, of in view.latency.items()})


def _counter(family: Family, samples: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    metric = CounterMetricFamily(family.name, family.says, labels=family.labels)
    for labels, value in samples:
        metric.add_metric(labels, value)
    return metric


def _gauge(family: Family, samples: Iterable[Sample]) -> Metric:
    metric = GaugeMetricFamily(family.name, family.says, labels=family.labels)
    for labels, value in samples:
        if value is not None:
            metric.add_metric(labels, float(value))
    return metric
