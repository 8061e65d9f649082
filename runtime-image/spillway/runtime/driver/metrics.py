"""What a driver tells Prometheus. Labels are bounded: segments, operators and outputs are those of the manifest.

Counts of records are told by the workers, who have them exactly; here is what only the driver knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from spillway.runtime.driver.observation import MoveKind, Observation
from spillway.runtime.driver.reporting import Board


class Collector:
    """Collects everything anew whenever somebody asks."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def collect(self) -> Iterator[Metric]:
        """Each metric with its samples."""
        view = self._board.view
        told = view.observation
        yield from _of_driver(told)
        yield from _of_segments(told)
        yield from _of_promise(told)
        moves = CounterMetricFamily("spillway_moves", "Partitions that changed hands.", labels=("kind",))
        for kind in MoveKind:
            moves.add_metric((str(kind),), view.moves.get(kind, 0))
        yield moves
        says = "1 where a condition holds, 0 where it does not."
        yield _gauge("spillway_condition", says, ("type", "reason"), (
            ((one.type, one.reason), one.status) for one in told.conditions
        ))  # fmt: skip


def _of_driver(told: Observation) -> Iterator[Metric]:
    yield _gauge("spillway_driver_leads", "1 while this driver leads.", (), [((), told.leader > 0)])
    yield _gauge("spillway_driver_ready", "1 while all partitions are worked on.", (), [((), told.ready)])
    says = "Slots that have joined, by whether they were heard of lately."
    counts = {state: sum(slot.silent is silent for slot in told.slots) for state, silent in _STATES}
    yield _gauge("spillway_slots", says, ("state",), (((state,), count) for state, count in counts.items()))
    wanted = told.recommended
    yield _gauge("spillway_recommended_slots", "Slots that the load needs.", (), _known((), wanted.slots))
    yield _gauge("spillway_recommended_workers", "Workers that the load needs.", (), _known((), wanted.workers))
    yield _gauge("spillway_granted_workers", "Workers that may own partitions.", (), _known((), told.granted))
    yield _gauge("spillway_arrival_rate", "Records per second, over all sources.", (), _known((), told.rate_in))


_STATES = (("heard", False), ("silent", True))


def _of_segments(told: Observation) -> Iterator[Metric]:
    label = ("segment",)
    of = [((segment.name,), segment) for segment in told.segments]
    yield _gauge("spillway_segment_partitions", "Partitions of its input.", label, ((n, s.partitions) for n, s in of))
    yield _gauge("spillway_segment_working", "Partitions that are worked on.", label, ((n, s.working) for n, s in of))
    yield _gauge("spillway_segment_moving", "Partitions on the move.", label, ((n, s.moving) for n, s in of))
    says = "Messages of its input that wait."
    yield _gauge("spillway_segment_lag_messages", says, label, (one for n, s in of for one in _known(n, s.lag)))
    says = "Slots that it keeps busy."
    yield _gauge("spillway_segment_busy_slots", says, label, (one for n, s in of for one in _known(n, s.busy)))


def _of_promise(told: Observation) -> Iterator[Metric]:
    promise = told.latency
    yield _gauge("spillway_promised_bound_seconds", "The promise: this bound …", (), [((), promise.bound_ms / 1e3)])
    yield _gauge("spillway_promised_quantile", "… for this share of the records.", (), [((), promise.quantile)])
    says = "Share of the records of the last 10 s that left within the bound."
    within = [one for name, output in promise.outputs.items() for one in _known((name,), output.within)]
    yield _gauge("spillway_within_bound_ratio", says, ("output",), within)


def _known(labels: Sequence[str], value: float | None) -> list[tuple[Sequence[str], float]]:
    """A sample, or none where nobody knows."""
    return [] if value is None else [(labels, value)]


def _gauge(name: str, says: str, labels: Sequence[str], samples: Iterable[tuple[Sequence[str], float]]) -> Metric:
    metric = GaugeMetricFamily(name, says, labels=labels)
    for values, value in samples:
        metric.add_metric(values, float(value))
    return metric
