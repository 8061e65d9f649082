"""Record by record: queueing theory, the latency model and the fluid say the same; nothing is lost or repeated."""

from __future__ import annotations

import dataclasses
import random

import pytest

import simulated
from spillway.controllers.costmodel.flow import Flow, Node, Output
from spillway.controllers.latency import prediction
from spillway.controllers.latency.moments import Moments
from spillway.controllers.latency.queueing import Variability
from spillway.model.operators import Paradigm
from spillway.simulation import arrivals, events, fluid
from spillway.simulation.jobs import Death, Job, Platform, Start
from spillway.simulation.logs import Change, Outcome, Partition, Resize, Switch
from spillway.simulation.policies import Static
from spillway.simulation.traces import Trace


def _flat(rate: float, seconds: float) -> Trace:
    return simulated.steps((0, rate), (seconds, rate))


def framed() -> Job:
    """Two segments with frames that cost something, deadlines, hops, and four partitions each."""
    first = Node("s0", ("events",), 1e-4, 0.0, (Output("s0", emit=2e-4),))
    second = Node("s1", ("s0",), 2e-4, 1e-4, (Output("s1"),))
    return Job(
        Flow([simulated.topic(), first, second]),
        simulated.HALF_A_SECOND,
        frames={"s0": 8},
        deadlines={"s0": 0.02},
        partitions={"s0": 4, "s1": 4},
        batchable=frozenset({"s0", "s1"}),
        speedup={"s0": 3.0, "s1": 3.0},
        hop=Moments(0.002, 0.001**2),
    )


BOTH = {"s0": Start(2), "s1": Start(2)}


@pytest.mark.parametrize("scv", [0.0, 1.0])
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_a_single_slot_waits_as_pollaczek_and_khinchin_say(load: float, scv: float) -> None:
    job = dataclasses.replace(simulated.single(), variability={"work": Variability(service=scv)})
    outcome = events.run(job, _flat(1000 * load, 30), {"work": Start(1)})

    assert outcome.mean == pytest.approx(1e-3 * (1 + load / (1 - load) * (1 + scv) / 2), rel=0.1)


@pytest.mark.parametrize("rate", [400, 2000, 4500])
def test_the_latency_model_is_within_what_is_promised_of_it(rate: float) -> None:
    job = framed()
    outcome = events.run(job, _flat(rate, 8), BOTH, seed=1)
    predicted = prediction.predict(
        job.flow,
        job.settings({"s0": 2, "s1": 2}),
        {"events": rate},
        deadlines=job.deadlines,
        partitions=job.partitions,
        hop=job.hop,
    )

    assert predicted.mean == pytest.approx(outcome.mean, rel=0.15)
    exact = predicted.ways[0].moments.quantile(0.99, observed=True)
    assert exact == pytest.approx(outcome.quantile(0.99), rel=0.2) or predicted.p99 > outcome.quantile(0.99)
    assert predicted.p99 > outcome.quantile(0.99)  # a bound is never below


@pytest.mark.parametrize("rate", [400, 2000])
def test_the_fluid_is_never_much_better_and_not_far_worse_where_nothing_queues_for_long(rate: float) -> None:
    outcome = events.run(framed(), _flat(rate, 8), BOTH, seed=2)
    run = fluid.run(framed(), _flat(rate, 8), Static(), BOTH, every=2.0)

    assert 0.95 * outcome.quantile(0.99) < run.rows[2].latency < 1.6 * outcome.quantile(0.99)


def test_the_fluid_has_the_same_burst() -> None:
    trace = simulated.steps((0, 500), (3, 2000), (6, 500), (20, 500))
    outcome = events.run(simulated.single(), trace, {"work": Start(1)})
    run = fluid.run(simulated.single(), trace, Static(), {"work": Start(1)})

    within = sum(latency <= 0.5 for latency in outcome.latencies) / len(outcome.latencies)
    assert run.totals.within == pytest.approx(within, abs=0.03)
    assert run.totals.worst == pytest.approx(max(outcome.latencies), rel=0.05)


def test_the_fluid_has_the_same_batches() -> None:
    job = simulated.single(batchable=frozenset({"work"}), speedup={"work": 4.0}, partitions={"work": 2})
    start = {"work": Start(1, Paradigm.BATCH, 1)}
    platform = Platform(cores=1, cores_most=1, interval=0.4, schedule=0.05)
    outcome = events.run(job, _flat(1000, 20), start, platform)
    run = fluid.run(job, _flat(1000, 20), Static(), start, platform, every=2.0)

    assert outcome.mean == pytest.approx(0.2 + 0.05 + 0.1, rel=0.05)
    assert run.rows[2].latency == pytest.approx(outcome.quantile(0.99), rel=0.15)


@pytest.mark.parametrize("kind", arrivals.Kind)
def test_arrivals_have_the_rate_of_the_trace_however_they_come(kind: arrivals.Kind) -> None:
    trace = simulated.steps((0, 1000), (60, 0), (70, 500), (120, 500))
    times = list(arrivals.times(trace, "events", kind, random.Random(4)))  # noqa: S311 - a load, no secret

    assert times == sorted(times)
    assert sum(at < 60 for at in times) == pytest.approx(60_000, rel=0.15)
    assert sum(at >= 70 for at in times) == pytest.approx(25_000, rel=0.25)
    assert sum(60.5 < at < 70 for at in times) == 0


def test_less_regular_arrivals_wait_longer() -> None:
    job, trace = simulated.single(), _flat(700, 15)
    calm, bursty = (events.run(job, trace, {"work": Start(1)}, kind=k) for k in list(arrivals.Kind)[:2])

    assert bursty.mean > 5 * calm.mean


def _sound(outcome: Outcome) -> None:
    assert outcome.lost == 0
    assert outcome.repeated == 0


def test_nothing_is_lost_or_repeated_over_resizes_and_switches() -> None:
    changes: list[Change] = [
        Resize(1.0, "s0", 4),
        Resize(2.0, "s1", 1),
        Switch(3.0, "s0", Paradigm.BATCH),
        Switch(3.1, "s1", Paradigm.BATCH),
        Switch(5.0, "s0", Paradigm.RECORD),
        Switch(5.5, "s1", Paradigm.RECORD),
    ]
    outcome = events.run(framed(), _flat(2000, 8), BOTH, Platform(pause=0.1), changes=changes)

    _sound(outcome)
    assert outcome.delivered_again == 0
    assert len(outcome.latencies) == pytest.approx(16_000, rel=0.05)


def test_when_an_inner_slot_dies_its_readers_skip_what_comes_twice() -> None:
    outcome = events.run(framed(), _flat(2000, 8), BOTH, changes=[Death(3.2, "s0")])

    _sound(outcome)
    assert outcome.skipped > 50  # a slot of 1000/s had worked for up to half a second since its commit
    assert outcome.delivered_again == 0


def test_when_a_slot_at_the_end_dies_results_are_delivered_again_at_most_since_the_last_commit() -> None:
    outcome = events.run(framed(), _flat(2000, 8), BOTH, changes=[Death(3.2, "s1")])

    _sound(outcome)
    assert 0 < outcome.delivered_again <= 1000 * 0.5 * 1.2


def test_a_reader_that_skips_nothing_repeats_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spillway.simulation.logs.Partition.is_new", lambda *_: True)
    outcome = events.run(framed(), _flat(2000, 8), BOTH, changes=[Death(3.2, "s0")])

    assert outcome.repeated > 50


def test_a_commit_before_everything_has_left_loses_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(self: events.Events, partition: Partition) -> None:
        self.effects[partition.name].update(partition.store())

    monkeypatch.setattr(events.Events, "_commit", hasty)
    outcome = events.run(framed(), _flat(2000, 8), BOTH, changes=[Death(at, "s0") for at in (3.001, 6.501)])

    assert outcome.lost + len(set(outcome.latencies)) < 16_500
    assert len(outcome.latencies) < len(events.run(framed(), _flat(2000, 8), BOTH).latencies)


def test_the_same_seed_gives_the_same_records() -> None:
    first, again, other = (events.run(framed(), _flat(500, 2), BOTH, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first != other
