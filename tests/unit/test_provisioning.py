"""When a job is planned anew: for more load, less load, a backlog, a switch, old costs; never without telemetry."""

from __future__ import annotations

import dataclasses
import datetime
import math

import pytest

from spillway.controllers import provisioning, trends
from spillway.controllers.costmodel.flow import Costs, Flow, Node
from spillway.controllers.latency.moments import Moments
from spillway.controllers.planning.problem import Problem, Promise, Room, Traits
from spillway.controllers.provisioning import Arrivals, Backlog, History, Provision, Reason, Running
from spillway.model.execution import Policy
from spillway.model.operators import Paradigm

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
TICK = datetime.timedelta(milliseconds=200)
POLICY = Policy()
NOTHING, STAYS = History(), Running()
BOUND = 0.5


def _problem(slots: int = 40) -> Problem:
    nodes = [
        Node.operator("events", (), Costs(1e-6, 0, 3e-6, 1, 100)),
        Node.operator("views", ("events",), Costs(8e-6, 7e-6, 3e-6, 0.5, 50)),
        Node.operator("counts", ("views",), Costs(4e-6, 7e-6, 0, 1, 50)),
    ]
    return Problem(
        Flow(nodes),
        {"events": 0.0},
        Promise(BOUND, 0.99),
        Room(slots, 8),
        traits={"counts": Traits(keyed=True, batchable=False)},
        headroom=POLICY.headroom,
        hop=Moments(0.001, 1e-6),
        schedule=Moments(0.05, 1e-4),
    )


def _tick(
    rate: float | None,
    history: History,
    at: float = 0.0,
    *,
    queue: float = 0.0,
    running: Running = STAYS,
    problem: Problem | None = None,
) -> Provision:
    now = NOON + datetime.timedelta(seconds=at)
    arrivals = None if rate is None else Arrivals(now, TICK, rate)
    backlogs = [Backlog("views", queue)]
    return provisioning.decide(problem or _problem(), {"events": arrivals}, backlogs, running, POLICY, history, now)


def _after(rate: float, seconds: float, history: History = NOTHING, start: float = 0.0) -> Provision:
    """What holds after a while at one rate."""
    made = _tick(rate, history, start)
    for n in range(1, round(seconds / 0.2)):
        made = _tick(rate, made.history, start + n * 0.2)
    return made


FIRST = _tick(100_000, History())


def test_the_first_plan_is_for_what_comes_with_headroom() -> None:
    assert FIRST.reason is Reason.FIRST
    assert FIRST.plan is not None
    assert FIRST.slots == FIRST.plan.slots
    # 100 000/s · (8 + 0.5·3/b + …) µs and 50 000/s · 4 µs are about 1.0 of slots at the least, before headroom
    assert FIRST.slots >= math.ceil(1.0 / 0.8)


def test_the_same_load_keeps_the_plan() -> None:
    made = _tick(101_000, FIRST.history, 0.2)

    assert made.reason is Reason.STEADY
    assert made.plan is FIRST.plan
    assert (made.slots, made.cores) == (FIRST.slots, FIRST.cores)


def test_more_load_is_planned_for_as_soon_as_half_of_the_headroom_is_used() -> None:
    calm = _after(100_000, 6)
    risen = _after(115_000, 4, calm.history, 6)
    reasons = _reasons(115_000, 4, calm.history, 6)

    assert Reason.LOAD_ROSE in reasons
    assert risen.history.workload["events"] == pytest.approx(115_000, rel=0.06)


def test_a_little_more_is_within_the_headroom() -> None:
    calm = _after(100_000, 6)

    assert Reason.LOAD_ROSE not in _reasons(105_000, 4, calm.history, 6)


def test_less_load_is_planned_for_beyond_the_hysteresis() -> None:
    calm = _after(100_000, 6)

    assert Reason.LOAD_FELL in _reasons(60_000, 4, calm.history, 6)
    assert Reason.LOAD_FELL not in _reasons(90_000, 4, calm.history, 6)


def test_a_burst_is_answered_in_one_step_of_the_right_size() -> None:
    calm = _after(100_000, 6)
    made = [_tick(400_000, calm.history, 6)]
    while made[-1].reason is Reason.LOOKING:
        made.append(_tick(400_000, made[-1].history, 6 + 0.2 * len(made)))
    burst = made[-1]

    assert len(made) == 1 + provisioning.LOOK / TICK
    assert burst.reason is Reason.LOAD_ROSE
    assert burst.history.workload["events"] == pytest.approx(400_000, rel=0.01)
    assert (burst.slots or 0) >= 2.5 * (calm.slots or 0)


def test_a_ramp_is_planned_for_where_it_will_be_when_pods_have_started() -> None:
    made = _after(100_000, 6)
    reasons, at = [], 6.0
    while Reason.LOAD_ROSE not in reasons:
        at += 0.2
        made = _tick(100_000 + 60_000 * (at - 6), made.history, at)
        reasons.append(made.reason)
    planned = made.history.workload["events"]

    assert at - 6 < 4
    assert planned == pytest.approx(100_000 + 60_000 * (at - 6 + trends.AHEAD), rel=0.15)


def test_a_moment_that_is_over_at_once_asks_for_nothing() -> None:
    made = _after(100_000, 6)
    reasons = []
    for n, rate in enumerate([500_000, 500_000, *[100_000] * 40]):
        made = _tick(rate, made.history, 6 + 0.2 * n)
        reasons.append(made.reason)

    assert Reason.LOOKING in reasons
    assert Reason.LOAD_ROSE not in reasons


def test_a_backlog_is_to_be_gone_within_half_a_minute() -> None:
    calm = _after(100_000, 6)
    late = _tick(100_000, calm.history, 6, queue=100_000 * (BOUND + 15))
    assert late.reason is Reason.LOOKING
    late = _tick(100_000, late.history, 6 + provisioning.LOOK.total_seconds(), queue=100_000 * (BOUND + 15))

    assert late.reason is Reason.LOAD_ROSE
    assert late.history.workload["events"] == pytest.approx(100_000 * (1 + 15 / provisioning.DRAIN), rel=0.01)


def test_what_waits_within_the_promise_is_no_backlog() -> None:
    calm = _after(100_000, 6)

    assert _tick(100_000, calm.history, 6, queue=100_000 * BOUND * 0.9).reason is Reason.STEADY


def test_costs_are_looked_at_again_after_a_while() -> None:
    calm = _after(100_000, provisioning.REVIEW.total_seconds())
    made = _tick(100_000, calm.history, provisioning.REVIEW.total_seconds() + 0.2)

    assert made.reason is Reason.REVIEW
    assert [s.name for s in made.plan.segments] == [s.name for s in FIRST.plan.segments]  # type: ignore[union-attr]


def test_a_switch_begins_segments_elsewhere_and_keeps_the_slots_for_the_way_back() -> None:
    calm = _after(300_000, 4)
    there = Running(frozenset({"views"}), frozenset({"views"}), NOON + datetime.timedelta(seconds=5))
    made = _tick(300_000, calm.history, 6, running=there)
    back = _tick(300_000, made.history, 8, running=Running(switched=NOON + datetime.timedelta(seconds=7)))

    assert made.reason is Reason.SWITCHED
    assert made.plan is not None
    assert made.plan["views"].paradigm is Paradigm.BATCH
    assert (made.cores or 0) >= 1
    assert made.slots == calm.slots
    assert back.reason is Reason.SWITCHED
    assert back.plan is not None
    assert {segment.paradigm for segment in back.plan.segments} == {Paradigm.RECORD}


def test_where_batches_can_not_keep_up_slots_are_asked_for_to_come_back() -> None:
    calm = _after(100_000, 4)
    there = Running(frozenset({"views"}), frozenset({"views"}), NOON + datetime.timedelta(seconds=5))
    slow = dataclasses.replace(_problem(), room=Room(40, 1))
    made = _tick(400_000, calm.history, 6, running=there, problem=slow)
    by_record = _tick(400_000, NOTHING, problem=slow)

    assert made.planned is not None
    assert not made.planned.feasible
    assert (made.slots or 0) >= (by_record.slots or 0) > (calm.slots or 0)


@pytest.mark.parametrize(
    ("arrivals", "told"),
    [
        (None, "no telemetry from `events` yet"),
        (Arrivals(NOON - datetime.timedelta(seconds=4), TICK, 1.0), "no telemetry from `events` for 4 s"),
        (Arrivals(NOON, TICK, math.nan), "the arrival rate of `events` is nan over 0.2 s"),
        (Arrivals(NOON, TICK, -5.0), "the arrival rate of `events` is -5.0 over 0.2 s"),
        (Arrivals(NOON, 0 * TICK, 5.0), "the arrival rate of `events` is 5.0 over 0.0 s"),
        (Arrivals(NOON.replace(tzinfo=None), TICK, 5.0), "the telemetry from `events` has a time without a zone"),
    ],
)
def test_without_telemetry_the_plan_is_kept_and_nothing_is_asked_for(arrivals: Arrivals | None, told: str) -> None:
    made = provisioning.decide(_problem(), {"events": arrivals}, [], Running(), POLICY, FIRST.history, NOON)

    assert made.reason is Reason.NO_TELEMETRY
    assert made.sentence == f"hold: {told}"
    assert (made.slots, made.cores) == (None, None)
    assert made.plan is FIRST.plan


def test_a_queue_that_is_no_number_is_no_backlog() -> None:
    assert _tick(100_000, FIRST.history, 0.2, queue=math.nan).reason is Reason.STEADY
    assert _tick(100_000, FIRST.history, 0.2, queue=math.inf).reason is Reason.STEADY


def test_too_little_room_gives_the_plan_that_gets_the_most_through_and_says_what_limits() -> None:
    made = _tick(1_000_000, History(), problem=_problem(slots=2))

    assert made.planned is not None
    assert not made.planned.feasible
    assert made.slots == 2
    assert "workers.max" in made.sentence


def test_nothing_that_comes_needs_the_least() -> None:
    made = _tick(0, History())

    assert made.planned is not None
    assert made.planned.feasible
    assert made.slots == 1


def test_a_source_more_is_planned_for_at_once() -> None:
    other = dataclasses.replace(_problem(), flow=Flow([*_problem().flow.nodes, Node.operator("more", (), Costs())]))
    arrivals = {name: Arrivals(NOON, TICK, 10.0) for name in ("events", "more")}
    made = provisioning.decide(other, arrivals, [], Running(), POLICY, FIRST.history, NOON)

    assert made.reason is Reason.FIRST


def _reasons(rate: float, seconds: float, history: History, start: float) -> set[Reason]:
    found = set()
    for n in range(round(seconds / 0.2)):
        made = _tick(rate, history, start + n * 0.2)
        history = made.history
        found.add(made.reason)
    return found
