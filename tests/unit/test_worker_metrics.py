"""What a worker tells Prometheus is right, bounded, and what the reference says."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from spillway.runtime import telemetry
from spillway.runtime.slots.settings import Settings, Suspect
from spillway.runtime.telemetry import Ages, Flow, Place, Report, Spent
from spillway.runtime.worker import metrics
from spillway.runtime.worker.metrics import Collector
from spillway.runtime.worker.supervisor import End, Supervisor
from spillway.runtime.worker.totals import Totals

AGES = [0.5, 1.0, 3.0, 250.0, 251.0, 100_000.0]


def nothing(*_: Any) -> None:
    """No slot is started here."""


def report(slot: str) -> Report:
    ages = Ages(250.0)
    for age in AGES:
        ages.add(age, 2)
    return Report(
        telemetry.VERSION,
        slot,
        1,
        slot,
        0.0,
        10.0,
        busy=4.0,
        cpu=3.0,
        memory=1000,
        places=(
            Place("counts", 0, 1, "p", True, 10, 5, 15, 1.5, 7, 700, 3, dropped=4),
            Place("counts", 1, 1, "p", False, 10, 5, None, 0.5, 1, 100, 0),
        ),
        flows={"counts": {"counts": Flow(100, 90, 10, 2, 0.5)}, "views": {"events": Flow(100, 100)}},
        latency={"result": ages.read()},
        phases={"counts": {"queue": Spent(100, 2.5)}},
        letters=10,
    )


@pytest.fixture
def told() -> dict[str, Metric]:
    """Two slots with the same report; one has ended once, and a third one never came up."""
    supervisor = Supervisor(nothing, Settings(SimpleNamespace(), ""), ["w0.0", "w0.1", "w0.2"], nothing)  # type: ignore[arg-type]
    totals = Totals()
    for seat in supervisor.seats[:2]:
        life: Any = SimpleNamespace(slot=seat.name, report=report(seat.name), told=time.monotonic())
        totals.take(seat, life.report)
        seat.life = life
    supervisor.seats[1].ends[End.HANG] += 1
    supervisor.suspects.add(Suspect("counts", 0, 3, 9))
    registry = CollectorRegistry()
    registry.register(Collector(supervisor, totals))
    return {family.name: family for family in text_string_to_metric_families(generate_latest(registry).decode())}


def samples(metric: Metric, name: str = "") -> dict[tuple[str, ...], float]:
    return {tuple(sample.labels.values()): sample.value for sample in metric.samples if sample.name.endswith(name)}


def test_counts_of_all_slots_are_added_up(told: dict[str, Metric]) -> None:
    of = ("counts", "counts")
    assert samples(told["spillway_records_in"])[of] == 200
    assert samples(told["spillway_records_out"])[of] == 180
    assert samples(told["spillway_record_errors"])[of] == 20
    assert samples(told["spillway_timed_seconds"])[of] == 1
    assert samples(told["spillway_dead_letters"]) == {(): 20}
    assert samples(told["spillway_late_records"]) == {("counts",): 6}
    assert samples(told["spillway_dropped_records"]) == {("counts",): 8}
    assert samples(told["spillway_segment_busy_seconds"]) == {("counts",): 4}
    assert samples(told["spillway_slot_cpu_seconds"]) == {("w0.0",): 3, ("w0.1",): 3}


def test_latencies_are_a_histogram_in_seconds(told: dict[str, Metric]) -> None:
    latency = told["spillway_latency_seconds"]
    buckets = {sample.labels["le"]: sample.value for sample in latency.samples if sample.name.endswith("_bucket")}

    assert samples(latency, "_count") == {("result",): 24}
    assert samples(latency, "_sum")["result",] == pytest.approx(4 * sum(AGES) / 1000)
    assert [*map(float, buckets)] == [*(pytest.approx(bound / 1000) for bound in telemetry.BUCKETS), float("inf")]
    assert list(buckets.values()) == sorted(buckets.values())
    assert (buckets["0.001"], buckets["0.004"], buckets["0.256"], buckets["+Inf"]) == (8, 12, 20, 24)
    assert samples(told["spillway_within_bound"]) == {("result",): 16}


def test_partitions_are_added_up_by_segment(told: dict[str, Metric]) -> None:
    found = {name: samples(told[f"spillway_{name}"])["counts",] for name in ("partitions", "partitions_working")}

    assert found == {"partitions": 4, "partitions_working": 2}
    assert samples(told["spillway_table_rows"]) == {("counts",): 16}
    assert samples(told["spillway_table_bytes"]) == {("counts",): 1600}


def test_where_the_time_went_is_told_of_all_slots_together(told: dict[str, Metric]) -> None:
    assert samples(told["spillway_phase_records"]) == {("queue", "counts"): 200}
    assert samples(told["spillway_phase_seconds"]) == {("queue", "counts"): 5.0}


def test_each_slot_says_how_it_is(told: dict[str, Metric]) -> None:
    assert samples(told["spillway_slot_ready"]) == {("w0.0",): 0, ("w0.1",): 0, ("w0.2",): 0}
    assert samples(told["spillway_slot_memory_bytes"]) == {("w0.0",): 1000, ("w0.1",): 1000}
    assert samples(told["spillway_slot_ends"])["hang", "w0.1"] == 1
    assert samples(told["spillway_suspects"]) == {(): 1}


def test_only_the_metrics_of_the_reference_are_told_with_their_labels(told: dict[str, Metric]) -> None:
    families = (*metrics.COUNTERS, metrics.ENDS, metrics.LATENCY, *metrics.GAUGES)

    assert told.keys() == {family.name for family in families}
    for family in families:
        labels = {name for sample in told[family.name].samples for name in sample.labels} - {"le"}
        assert labels == set(family.labels)


def test_names_are_as_prometheus_wants_them() -> None:
    for family in (*metrics.COUNTERS, metrics.ENDS, metrics.LATENCY, *metrics.GAUGES):
        assert re.fullmatch(r"spillway_[a-z_]+", family.name)
        assert not family.name.endswith("_total")
        assert set(family.labels) <= {"segment", "operator", "output", "slot", "how", "phase"}
