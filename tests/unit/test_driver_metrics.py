"""What a driver tells Prometheus is what it knows of its job, bounded, and what the reference says."""

from __future__ import annotations

import re

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

import observations
from spillway.controllers import explain
from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.messages import Assign, Join, Lead, Prepare, Prepared, Release, Released
from spillway.controllers.protocol.values import Owner, Partition
from spillway.controllers.topics import Names
from spillway.model.observation import Batch, MoveKind, Standby, StandbyState
from spillway.model.operators import Paradigm
from spillway.runtime.driver import metrics, switches
from spillway.runtime.driver.journal import PAUSES, Journal
from spillway.runtime.driver.metrics import Collector
from spillway.runtime.driver.recording import Recorder
from spillway.runtime.driver.reporting import Board, View
from spillway.runtime.driver.switches import Switched
from spillway.runtime.telemetry import Ages
from spillway.runtime.worker import metrics as worker_metrics

P = Partition("counts", 3)
A, B = Owner("w0.0", 1), Owner("w1.0", 1)
MOVED = (
    Lead(1, "d"), Join("w0.0", "a"), Join("w1.0", "b"), Assign(1, P, 1, A, "x", 0, takeover=True),
    Prepare(1, P, 2, B, "x"), Prepared(P, 2, B), Release(1, P, 2), Released(P, 2, A, 9),
    Assign(1, P, 2, B, "x", 9, takeover=False),
)  # fmt: skip


def _journal(step: float, said: tuple[messages.Any, ...] = MOVED) -> Journal:
    """After a move that paused for two steps."""
    journal, state = Journal(), log.State()
    for number, message in enumerate(said):
        before = state
        state, _ = log.read(state, message)
        journal.read(before, message, number * step)
    return journal


@pytest.fixture
def told() -> dict[str, Metric]:
    """A burst: the words are in batches, the counts record by record; one partition has moved."""
    seen = observations.word_count()
    batch = Batch(observations.NOON, 20_000, 0.4, 250.0, 60_000.0)
    words = msgspec.structs.replace(seen.segments[0], paradigm=Paradigm.BATCH, batch=batch)
    seen = msgspec.structs.replace(
        seen, segments=(words, *seen.segments[1:]), standby=Standby(StandbyState.WARM), executors=2
    )
    recorder = Recorder(Names("default.word-count"), lambda *_: None)
    for number, to in enumerate((Paradigm.BATCH, Paradigm.RECORD, Paradigm.BATCH)):
        switched = Switched(switches.Reason.ORDERED, "asked for", ("words",), to)
        recorder.record("switching", switched, 0.0, (str(number),), switched.more)
    journal = _journal(0.01)
    latency = Ages(500.0)
    latency.add(100.0, 8)
    latency.add(900.0, 2)
    view = View(
        seen, log.State(), {}, {}, journal.counts, 0.0, recorder.switches, journal.pauses, {"result": latency.read()}
    )
    registry = CollectorRegistry()
    registry.register(Collector(Board(view)))
    return {family.name: family for family in text_string_to_metric_families(generate_latest(registry).decode())}


def _samples(metric: Metric, name: str = "") -> dict[tuple[str, ...], float]:
    return {tuple(sample.labels.values()): sample.value for sample in metric.samples if sample.name.endswith(name)}


def test_each_segment_says_in_which_paradigm_it_runs(told: dict[str, Metric]) -> None:
    assert _samples(told["spillway_segment_paradigm"]) == {
        ("record", "words"): 0, ("batch", "words"): 1, ("record", "counts"): 1, ("batch", "counts"): 0,
    }  # fmt: skip


def test_what_never_ran_in_batches_says_nothing_of_them(told: dict[str, Metric]) -> None:
    assert _samples(told["spillway_batch_seconds"]) == {("words",): 0.4}
    assert _samples(told["spillway_batch_interval_seconds"]) == {("words",): 0.25}
    assert _samples(told["spillway_batch_capacity"]) == {("words",): 60_000}


def test_what_a_job_costs_can_be_added_up(told: dict[str, Metric]) -> None:
    assert _samples(told["spillway_slots"]) == {("heard",): 1, ("silent",): 0}
    assert _samples(told["spillway_executors"]) == {(): 2}
    assert not told["spillway_recommended_executors"].samples  # nobody knows yet


def test_only_one_state_of_spark_is_so(told: dict[str, Metric]) -> None:
    states = _samples(told["spillway_standby"])
    assert states == {(state,): float(state is StandbyState.WARM) for state in StandbyState}


def test_decisions_to_switch_are_counted_by_paradigm_and_reason(told: dict[str, Metric]) -> None:
    counts = _samples(told["spillway_switch_decisions"], "_total")
    assert {key: count for key, count in counts.items() if count} == {("Ordered", "batch"): 2, ("Ordered", "record"): 1}
    assert counts["Burst", "batch"] == 0  # so that the first one is seen to be one more


def test_a_decision_that_is_no_switch_is_not_counted() -> None:
    recorder = Recorder(Names("default.word-count"), lambda *_: None)
    decided = Switched(switches.Reason.ORDERED, "asked for", ("words",), Paradigm.BATCH)
    assert isinstance(decided.reason, explain.Reasons)
    recorder.record("rollout", decided, 0.0)
    assert not recorder.switches


def test_pauses_of_moves_are_a_histogram_in_seconds(told: dict[str, Metric]) -> None:
    pauses = told["spillway_move_pause_seconds"]
    resizes = [one for one in pauses.samples if one.labels["kind"] == "resize" and one.name.endswith("_bucket")]
    buckets = {float(one.labels["le"]): one.value for one in resizes}

    assert _samples(pauses, "_sum")["resize",] == pytest.approx(0.02)
    assert _samples(pauses, "_sum")["switch",] == 0
    assert [*buckets] == [*PAUSES, float("inf")]
    assert (buckets[0.01], buckets[0.05], buckets[float("inf")]) == (0, 1, 1)
    assert _samples(told["spillway_moves"], "_total")["resize",] == 1


def test_what_batches_write_counts_for_the_promise_under_the_names_that_workers_use(told: dict[str, Metric]) -> None:
    names = {family.name for family in (worker_metrics.LATENCY, worker_metrics.WITHIN)}
    assert names <= told.keys()
    assert _samples(told["spillway_within_bound"], "_total") == {("result",): 8}
    assert _samples(told["spillway_latency_seconds"], "_count") == {("result",): 10}
    assert _samples(told["spillway_latency_seconds"], "_sum") == {("result",): pytest.approx(2.6)}


def test_a_pause_beyond_the_last_bucket_is_counted_too() -> None:
    counts, total = _journal(20.0).pauses[MoveKind.RESIZE]
    assert (counts[-1], sum(counts), total) == (1, 1, 40.0)


def test_only_the_metrics_of_the_reference_are_told_with_their_labels(told: dict[str, Metric]) -> None:
    families = {family.name: family for family in (*metrics.COUNTERS, metrics.PAUSE, metrics.LATENCY, *metrics.GAUGES)}

    assert told.keys() == families.keys()
    for name, family in families.items():
        assert re.fullmatch(r"spillway_[a-z_]+", name)
        labels = {label for sample in told[name].samples for label in sample.labels} - {"le"}
        assert labels in (set(family.labels), set())
