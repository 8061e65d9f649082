"""A fluid does what can be worked out by hand: queues, waits, moves, batches, and what is paid."""

from __future__ import annotations

import dataclasses
import json

import pytest

import simulated
from spillway.controllers.latency.queueing import Variability
from spillway.model.operators import Paradigm
from spillway.simulation import fluid
from spillway.simulation.jobs import Blind, Death, Mechanism, Platform, Slow, Start
from spillway.simulation.policies import SegmentWish, Static, Wish
from spillway.simulation.runs import Kind, Run

BURST = simulated.steps((0, 500), (10, 2000), (20, 500), (60, 500))  # a slot does 1000/s


def _run(trace: object = BURST, slots: int = 1, policy: object = None, **more: object) -> Run:
    job = more.pop("job", None) or simulated.single()
    start = more.pop("start", None) or {name: Start(slots) for name in job.segments}  # type: ignore[attr-defined]
    return fluid.run(job, trace, policy or Static(), start, **more)  # type: ignore[arg-type]


def test_a_burst_makes_a_queue_that_drains_as_arithmetic_says() -> None:
    run = _run()
    queue = {row.at: row.queue for row in run.rows}

    assert queue[14.0] == pytest.approx(5000, rel=0.02)  # the row of 14 s ends at 15 s
    assert queue[19.0] == pytest.approx(10_000, rel=0.02)
    assert queue[29.0] == pytest.approx(5000, rel=0.03)
    assert queue[41.0] == 0
    assert run.totals.worst == pytest.approx(10.0, rel=0.02)  # 10 000 records at 1000/s


def test_records_count_as_late_by_their_number() -> None:
    run = _run()
    # In the burst the wait grows by 1 s per s, so for 0.5 s (1000 records) it is within the bound; after it, it falls
    # by 0.5 s per s, and is within the bound when 1 s of it is left (500 records).
    late = 20_000 - 1000 + 20 * 500 - 500

    assert run.totals.within == pytest.approx(1 - late / 45_000, abs=0.01)
    assert run.totals.recovery == pytest.approx(28.5, abs=1.5)


def test_what_is_late_at_the_end_and_still_waits_is_late() -> None:
    run = _run(simulated.steps((0, 2000), (20, 2000)))

    assert run.totals.done == pytest.approx(20_000, rel=0.01)
    assert run.totals.queued == pytest.approx(20_000, rel=0.01)
    assert run.totals.within == pytest.approx(1000 / 40_000, abs=0.01)


def test_an_overloaded_segment_does_not_hold_back_the_one_before_it() -> None:
    job = simulated.line(2)
    run = _run(simulated.steps((0, 1500), (20, 1500)), job=job, start={"s0": Start(2), "s1": Start(1)})

    assert run.rows[-1].segments["s0"].queue < 200
    assert run.rows[-1].segments["s1"].queue == pytest.approx(10_000, rel=0.03)


def test_selectivities_multiply_and_two_inputs_add_up() -> None:
    run = _run(simulated.steps((0, 100), (20, 100)), job=simulated.diamond())

    assert run.totals.done == pytest.approx(20 * 100 * 2 * 1.5, rel=0.01)


def test_a_slot_helps_once_it_has_started_and_its_partitions_have_moved() -> None:
    policy = simulated.Scripted(lambda at: Wish({"work": SegmentWish(3)}) if at > 10.5 else None)
    run = _run(policy=policy)

    assert run.rows[17].segments["work"].slots == 1
    assert run.rows[20].segments["work"].slots == 3
    assert run.totals.worst < 9.0
    assert [event.kind for event in run.events] == [Kind.RESIZE]
    assert run.events[0].before == {"work": "1"}
    assert run.events[0].after == {"work": "3"}


def test_a_slot_is_paid_for_from_when_it_is_asked_for_until_it_is_gone() -> None:
    def wish(at: float) -> Wish:
        return Wish({"work": SegmentWish(3 if 10 <= at < 30 else 1)})

    run = _run(simulated.steps((0, 100), (60, 100)), policy=simulated.Scripted(wish))

    # Two more for 20 s, one pause of 0.2 s each (one by one), and 1 s until they are gone.
    assert run.totals.slot_hours * 3600 == pytest.approx(60 + 2 * 20 + 0.2 + 0.4 + 2 * 1.0, abs=0.5)
    assert run.totals.resizes == 2


def test_a_slot_that_is_no_longer_wanted_before_it_has_started_is_gone_at_once() -> None:
    def wish(at: float) -> Wish:
        return Wish({"work": SegmentWish(3 if at < 5 else 1)})

    run = _run(simulated.steps((0, 100), (30, 100)), policy=simulated.Scripted(wish))

    assert all(row.segments["work"].slots == 1 for row in run.rows)
    assert run.totals.slot_hours * 3600 == pytest.approx(30 + 2 * 4, abs=0.5)


def test_no_more_slots_than_partitions_and_than_may_be_had() -> None:
    policy = simulated.Scripted(lambda at: Wish({"work": SegmentWish(50)}))
    calm = simulated.steps((0, 100), (30, 100))

    few = _run(calm, job=simulated.single(partitions={"work": 4}), policy=policy)
    small = _run(calm, policy=policy, platform=Platform(slots_most=3))

    assert few.rows[-1].segments["work"].slots == 4
    assert small.rows[-1].segments["work"].slots == 3


@pytest.mark.parametrize(
    ("mechanism", "pause"), [(Mechanism.MOVES, 0.2), (Mechanism.GROUP, 3.0), (Mechanism.RESTART, 30.0)]
)
def test_a_change_of_size_costs_what_the_mechanism_costs(mechanism: Mechanism, pause: float) -> None:
    policy = simulated.Scripted(lambda at: Wish({"work": SegmentWish(3)}))
    run = _run(simulated.steps((0, 800), (60, 800)), 2, policy, platform=Platform(mechanism=mechanism))

    assert pause * 0.7 < run.totals.worst < pause + 0.35
    assert run.rows[-1].segments["work"].slots == 3


def test_a_restart_stops_every_segment() -> None:
    policy = simulated.Scripted(lambda at: Wish({"s1": SegmentWish(2)}))
    run = _run(
        simulated.steps((0, 500), (60, 500)),
        job=simulated.line(2),
        policy=policy,
        platform=Platform(mechanism=Mechanism.RESTART),
    )

    assert max(row.segments["s0"].queue for row in run.rows) == pytest.approx(30 * 500, rel=0.03)


def _batching(at: float) -> Wish | None:
    return Wish({"work": SegmentWish(1, Paradigm.BATCH, 1)}) if at < 22 else Wish({"work": SegmentWish(1)})


def test_batches_do_what_their_speedup_says_and_wait_half_an_interval_plus_the_scheduling() -> None:
    job = simulated.single(batchable=frozenset({"work"}), speedup={"work": 4.0})
    platform = Platform(cores=1, cores_most=1, interval=0.4, schedule=0.05)
    run = _run(
        simulated.steps((0, 1000), (30, 1000)),
        job=job,
        start={"work": Start(1, Paradigm.BATCH, 1)},
        platform=platform,
        every=5.0,
    )

    assert all(row.queue < 600 for row in run.rows)
    # The slowest came right after a batch began: 0.4 s until the next, 0.05 s, and 400 records at 4000/s.
    assert run.rows[2].latency == pytest.approx(0.4 + 0.05 + 0.1, abs=0.06)
    assert run.totals.core_hours * 3600 == pytest.approx(30.0)


def test_a_burst_in_batches_is_over_sooner_and_the_way_back_loses_nothing() -> None:
    job = simulated.single(batchable=frozenset({"work"}), speedup={"work": 4.0})
    policy = simulated.Scripted(lambda at: _batching(at) if at > 10.5 else None, every=0.5)
    run = _run(job=job, policy=policy, platform=Platform(cores=1, cores_most=1))

    assert run.totals.worst < 2.0
    assert run.totals.switches == 2
    assert run.totals.done + run.totals.queued == pytest.approx(run.totals.sent)
    assert run.rows[-1].segments["work"].paradigm is Paradigm.RECORD
    assert run.rows[-1].latency < 0.1


def test_a_dead_slot_leaves_its_share_waiting_until_the_takeover() -> None:
    run = _run(simulated.steps((0, 1500), (60, 1500)), 4, faults=[Death(20.0, "work")])

    assert run.totals.worst == pytest.approx(3.2, abs=0.3)  # the takeover, and the pause
    assert run.rows[20].segments["work"].queue == pytest.approx(1500 / 4, rel=0.1)
    assert run.rows[-1].segments["work"].slots == 4
    assert run.totals.done + run.totals.queued == pytest.approx(run.totals.sent)


def test_a_slow_slot_keeps_its_share_waiting() -> None:
    run = _run(simulated.steps((0, 2000), (60, 2000)), 4, faults=[Slow(10.0, "work", 20.0, 0.25)])

    # Its 500/s meet 250/s for 20 s; afterwards its partitions are as quick as all others.
    assert max(row.queue for row in run.rows) == pytest.approx(5000, rel=0.05)
    assert run.rows[-1].queue < 300


def test_missing_metrics_are_none_and_not_zero() -> None:
    policy = simulated.Scripted(lambda at: None)
    _run(simulated.steps((0, 100), (30, 100)), policy=policy, faults=[Blind(10.0, 5.0), Blind(20.0, 5.0, "work")])

    assert [seen.segments["work"] is None for seen in policy.seen] == [
        10 < at <= 15 or 20 < at <= 25 for at in range(1, 31)
    ]
    assert policy.seen[11].sources == {"events": None}
    assert policy.seen[22].sources["events"] == pytest.approx(100, rel=0.1)


def test_what_is_seen_is_what_happens_with_errors_of_measuring() -> None:
    policy = simulated.Scripted(lambda at: None)
    _run(simulated.steps((0, 400), (30, 400)), 1, policy)
    seen = policy.seen[10].segments["work"]

    assert seen is not None
    assert seen.arrival == pytest.approx(400, rel=0.08)
    assert seen.arrival != 400
    assert seen.busy == pytest.approx(0.4, rel=0.08)
    assert seen.capacity == pytest.approx(1000, rel=0.12)


def test_the_base_is_the_latency_model_where_nothing_queues_for_long() -> None:
    job = dataclasses.replace(simulated.single(), variability={"work": Variability(service=1.0)})
    run = _run(simulated.steps((0, 500), (10, 500)), job=job)

    # M/M/1 at a load of one half: exponential with a mean of 2 ms, and 9.2 ms at 99 %.
    assert run.rows[5].latency == pytest.approx(0.0092, rel=0.1)


def test_segments_that_share_their_slots_take_what_each_needs() -> None:
    job = dataclasses.replace(simulated.line(2), shares=frozenset({"s0", "s1"}))
    keeps = fluid.run(job, simulated.steps((0, 450), (30, 450)), Static(), {}, shared=1)
    fails = fluid.run(job, simulated.steps((0, 750), (30, 750)), Static(), {}, shared=1)

    assert keeps.totals.queued < 100
    assert fails.totals.queued > 3000
    assert keeps.totals.slot_hours * 3600 == pytest.approx(30)


def test_dearer_records_are_done_more_slowly() -> None:
    run = _run(simulated.steps((0, 900), (30, 900)), job=simulated.single().dearer(2.0))

    assert run.totals.queued == pytest.approx(30 * 400, rel=0.03)


def test_a_run_is_the_same_for_the_same_seed_and_becomes_json() -> None:
    first, again, other = (
        _run(policy=simulated.Scripted(lambda at: None), seed=seed, faults=[Death(5.0, "work")]) for seed in (1, 1, 2)
    )

    assert first == again
    assert other.totals.sent == first.totals.sent
    assert json.loads(json.dumps(first.data(), allow_nan=False))["totals"]["sent"] == first.totals.sent


@pytest.mark.parametrize(
    ("trace", "start", "message"),
    [
        (simulated.steps((0, 1), (9, 1), source="other"), {"work": Start(1)}, "the sources of the job are"),
        (BURST, {}, "nothing is said about how work begin"),
    ],
)
def test_what_does_not_fit_together_is_refused(trace: object, start: dict[str, Start], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fluid.run(simulated.single(), trace, Static(), start)  # type: ignore[arg-type]
