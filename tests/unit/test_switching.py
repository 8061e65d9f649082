"""When a job goes to batches and comes back: single decisions, and runs of a simulated job."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from bursting import NOON, TICK, Fluid, costs, measurement, seconds
from spillway.bench import bursts as bench
from spillway.controllers.switching import bursts, decision, rules
from spillway.controllers.switching.bursts import Burst
from spillway.controllers.switching.decision import decide
from spillway.controllers.switching.measurements import Measurement, Node, Observation
from spillway.controllers.switching.verdicts import Action, Decision, History, Instead, Pause, Reason
from spillway.model.execution import Mode, Policy
from spillway.model.operators import Paradigm

POLICY = Policy()
RECORD, BATCH = Paradigm.RECORD, Paradigm.BATCH
LONG = measurement(rate=2000, queue=5000)
EARLIER = {"views": NOON - TICK}


def node(paradigm: Paradigm = RECORD, **rest: Any) -> Node:
    return dataclasses.replace(Node("views", ("events",), paradigm=paradigm, selectivity=1.0), **rest)


def made(m: Measurement | None, policy: Policy = POLICY, now: datetime.datetime = NOON, **of_node: Any) -> Decision:
    observation = Observation((node(**of_node),), {"views": m} if m else {})
    return decide(observation, policy, History(), now)


def watched(*rates: float) -> Burst:
    return functools.reduce(lambda state, rate: bursts.observe(state, rate, TICK), rates, Burst())


# One decision


def test_a_queue_beyond_the_upper_threshold_goes_to_batches() -> None:
    found = made(LONG)

    assert (found.action, found.reason, found.to) == (Action.TO_BATCH, Reason.QUEUE_BEYOND_POINT, BATCH)
    assert found.operators == ("views",)
    assert found.history.last is not None
    assert dict(found.inputs)["L"] == "5000"
    assert {alternative.what for alternative in found.alternatives} == {"record by record", "only scaling out"}
    assert "5000 records wait in front of `views`" in str(found)


def test_a_short_queue_holds_and_says_what_batches_would_take() -> None:
    found = made(measurement(queue=10))
    assert (found.action, found.reason) == (Action.HOLD, Reason.BELOW_POINT)
    assert str(found).endswith("Rejected: not batches: 435 ms instead of 15 ms.")


def test_the_thresholds_are_exact() -> None:
    # L_switch = 0.25·1000·0.5 + 0.365·1000 = 490; δ = 0.2
    assert made(measurement(rate=1000, queue=587.9)).action is Action.HOLD
    assert made(measurement(rate=1000, queue=588.1)).action is Action.TO_BATCH


def test_a_queue_that_is_gone_before_a_first_batch_stays_record_by_record() -> None:
    found = made(measurement(rate=500, queue=520))
    assert (found.action, found.reason) == (Action.HOLD, Reason.DRAINING)
    assert made(measurement(rate=999, queue=600)).action is Action.TO_BATCH


def test_a_high_rate_alone_is_no_burst_until_a_step_was_seen() -> None:
    fast = measurement(rate=2500, queue=100)
    calm = {"views": watched(*[1000.0, 1040.0, 960.0] * 20)}
    stepped = decide(Observation((node(),), {"views": fast}), POLICY, History(bursts=calm, seen=EARLIER), NOON)

    assert made(fast).reason is Reason.BELOW_POINT
    assert (stepped.action, stepped.reason) == (Action.TO_BATCH, Reason.BURST)


REFUSALS = {
    "batches were never measured": (measurement(2000, 5000, p_o=None), {}, Reason.BATCHES_UNMEASURED),
    "batches are as fast": (measurement(2000, 5000, p_o=1000), {}, Reason.BATCHES_NO_FASTER),
    "batches are faster by less than the error": (measurement(900, 5000, p_o=1200), {}, Reason.BATCHES_NO_FASTER),
    "batches do nothing": (measurement(2000, 5000, p_o=0), {}, Reason.BATCHES_NO_FASTER),
    "batches can't keep up either": (measurement(4000, 9000, p_o=4000), {}, Reason.BATCHES_TOO_SLOW),
    "its state forbids them": (LONG, {"batchable": False}, Reason.BATCHES_FORBIDDEN),
    "it is pinned": (LONG, {"pinned": RECORD}, Reason.BATCHES_FORBIDDEN),
}


@pytest.mark.parametrize(("m", "of_node", "reason"), REFUSALS.values(), ids=REFUSALS)
def test_batches_that_would_not_help_are_refused(m: Measurement, of_node: dict[str, Any], reason: Reason) -> None:
    found = made(m, **of_node)

    assert (found.action, found.reason, found.to, found.operators) == (Action.REFUSE, reason, None, ())
    assert found.instead is Instead.SCALE_OUT
    assert "scale out to" in found.sentence
    assert found.history.last is None


def test_without_room_to_grow_batches_that_fall_behind_less_are_better_than_none() -> None:
    slow = {"views": measurement(4000, 9000, p_o=4000)}
    assert decide(Observation((node(),), slow, can_grow=True), POLICY, History(), NOON).action is Action.REFUSE
    found = decide(Observation((node(),), slow, can_grow=False), POLICY, History(), NOON)
    assert found.action is Action.TO_BATCH
    assert "not only scaling out: no more workers may be had" in str(found)


def test_without_room_to_grow_a_refusal_names_shedding() -> None:
    slow = measurement(4000, 9000, p_o=1000)
    found = decide(Observation((node(),), {"views": slow}, can_grow=False), POLICY, History(), NOON)
    assert found.instead is Instead.SHED
    assert "shed, or raise workers.max" in found.sentence


def test_what_would_be_refused_is_no_refusal_as_long_as_the_queue_is_short() -> None:
    assert made(measurement(p_o=None)).reason is Reason.BELOW_POINT


NONSENSE = {
    "a rate that is no number": (dataclasses.replace(LONG, rate=math.nan), "the arrival rate of `views` is nan"),
    "a negative rate": (dataclasses.replace(LONG, rate=-1), "the arrival rate of `views` is -1"),
    "an infinite queue": (dataclasses.replace(LONG, queue=math.inf), "the queue of `views` is inf"),
    "a capacity of zero": (dataclasses.replace(LONG, record_capacity=0), "the record capacity of `views` is 0"),
    "a batch capacity that is no number": (
        dataclasses.replace(LONG, batch_capacity=math.nan),
        "the batch capacity of `views` is nan",
    ),
    "an interval of zero": (dataclasses.replace(LONG, costs=costs(interval=0)), "batch interval of `views`"),
    "a span of zero": (dataclasses.replace(LONG, span=seconds(0)), "the span"),
    "a negative schedule time": (dataclasses.replace(LONG, costs=costs(schedule=-1)), "of `views` is negative"),
    "a time without a zone": (dataclasses.replace(LONG, at=datetime.datetime(2026, 3, 1)), "without a zone"),  # noqa: DTZ001
    "a time ahead": (dataclasses.replace(LONG, at=NOON + seconds(9)), "from `views` is 9 s ahead of the clock here"),
}


@pytest.mark.parametrize(("m", "told"), NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("paradigm", [RECORD, BATCH])
def test_what_makes_no_sense_holds_and_says_what_it_is(m: Measurement, told: str, paradigm: Paradigm) -> None:
    found = made(m, paradigm=paradigm)
    assert (found.action, found.reason) == (Action.HOLD, Reason.INVALID)
    assert found.sentence.startswith("hold: ")
    assert told in found.sentence
    assert not found.history.bursts


@pytest.mark.parametrize("paradigm", [RECORD, BATCH])
def test_missing_and_stale_telemetry_holds(paradigm: Paradigm) -> None:
    missing, stale = made(None, paradigm=paradigm), made(LONG, now=NOON + seconds(4), paradigm=paradigm)
    assert missing.reason is stale.reason is Reason.NO_TELEMETRY
    assert missing.sentence == "hold: no telemetry from `views` yet"
    assert stale.sentence == "hold: no telemetry from `views` for 4 s"


def test_an_operator_without_telemetry_keeps_no_other_from_switching() -> None:
    observation = Observation((Node("silent"), node()), {"views": LONG})
    found = decide(observation, POLICY, History(), NOON)
    assert found.point == "views"
    assert [verdict.reason for verdict in found.verdicts] == [Reason.NO_TELEMETRY, Reason.QUEUE_BEYOND_POINT]


def test_a_paused_job_and_an_empty_one_hold() -> None:
    assert made(LONG, Policy(paused=True)).reason is Reason.PAUSED
    assert decide(Observation((), {}), POLICY, History(), NOON).reason is Reason.NO_OPERATORS


def test_advice_says_what_it_would_do_and_notes_nothing() -> None:
    found = made(LONG, Policy(mode=Mode.ADVISE))
    assert (found.action, found.to, found.operators) == (Action.ADVISE, BATCH, ("views",))
    assert (found.switches, made(LONG).switches) == (False, True)
    assert found.history.last is None


def test_a_switch_under_way_is_not_decided_twice_but_again_when_it_is_stuck() -> None:
    history, observation = made(LONG).history, Observation((node(),), {"views": LONG})
    soon = NOON + seconds(1)
    assert decide(observation, POLICY, history, soon).reason is Reason.IN_PROGRESS

    late = NOON + decision.PATIENCE
    fresh = Observation((node(),), {"views": dataclasses.replace(LONG, at=late)})
    assert decide(fresh, POLICY, history, late).action is Action.TO_BATCH


def test_a_measurement_that_comes_twice_counts_once() -> None:
    observation = Observation((node(),), {"views": measurement()})
    once = decide(observation, POLICY, History(), NOON).history
    assert decide(observation, POLICY, once, NOON + TICK).history.bursts == once.bursts


# The way back


def come_back(m: Measurement, after: float) -> Decision:
    """What is decided in batches after so many seconds of the same measurement."""
    history, now = History(), NOON
    while True:
        observation = Observation((node(BATCH),), {"views": dataclasses.replace(m, at=now)})
        found = decide(observation, POLICY, history, now)
        if now >= NOON + seconds(after):
            return found
        history, now = found.history, now + TICK


def test_a_range_comes_back_when_it_has_been_calm_for_the_whole_pause() -> None:
    calm, pause = measurement(rate=500), rules.CALM.total_seconds()
    before, after = come_back(calm, pause - 0.2), come_back(calm, pause)

    assert (before.action, before.reason, before.again) == (Action.HOLD, Reason.CALMING, TICK)
    assert (after.action, after.reason, after.to) == (Action.TO_RECORD, Reason.BURST_PASSED, RECORD)
    assert after.alternatives[0].what == "batches"
    assert after.alternatives[0].why_not == "432 ms instead of 5 ms"


def test_it_does_not_come_back_while_the_rate_has_no_room_or_a_backlog_is_left() -> None:
    assert come_back(measurement(rate=801), 30).reason is Reason.BUSY
    assert come_back(measurement(rate=500, queue=900), 30).reason is Reason.BATCHES_FASTER


def test_the_backlog_that_may_be_left_is_that_below_the_lower_threshold() -> None:
    # L_switch = 427.5, L_down = 342, and 250 gather for the next batch.
    assert come_back(measurement(queue=250 + 341), 30).reason is not Reason.BATCHES_FASTER
    assert come_back(measurement(queue=250 + 343), 30).reason is Reason.BATCHES_FASTER


def test_a_backlog_is_no_reason_to_stay_in_batches_that_are_slower() -> None:
    slower = dataclasses.replace(measurement(rate=500, queue=90_000), batch_capacity=900.0)
    assert slower.record_capacity == 1000
    assert come_back(slower, 30).action is Action.TO_RECORD
    assert come_back(dataclasses.replace(slower, batch_capacity=1001.0), 30).reason is Reason.BATCHES_FASTER


def test_a_way_back_that_is_stuck_waits_for_another_whole_pause() -> None:
    stuck = come_back(measurement(), rules.CALM.total_seconds())
    assert stuck.action is Action.TO_RECORD
    now = NOON + rules.CALM + decision.PATIENCE
    observation = Observation((node(BATCH),), {"views": dataclasses.replace(measurement(), at=now)})
    assert decide(observation, POLICY, stuck.history, now).reason is Reason.CALMING


def test_the_longest_pause_of_a_range_counts() -> None:
    nodes = (node(BATCH), Node("counts", ("views",), "views", BATCH))
    now = NOON + rules.CALM
    measured = {"views": dataclasses.replace(measurement(), at=now)}
    pauses = {"views": Pause(rules.CALM), "counts": Pause(2 * rules.CALM)}
    history = History(calm={"views": NOON}, pauses=pauses)
    found = decide(Observation(nodes, measured), POLICY, history, now)
    assert (found.reason, found.again) == (Reason.CALMING, rules.CALM)


def test_a_gap_in_the_telemetry_starts_the_pause_anew() -> None:
    history, now = History(), NOON
    for tick in range(60):
        now = NOON + tick * TICK
        measured = {} if tick == 40 else {"views": dataclasses.replace(measurement(), at=now)}
        found = decide(Observation((node(BATCH),), measured), POLICY, history, now)
        history = found.history
        assert found.action is Action.HOLD
    assert now - NOON > rules.CALM


def test_a_range_comes_back_only_when_all_of_its_queues_are_calm() -> None:
    nodes = (node(BATCH), Node("counts", ("views",), paradigm=BATCH))
    history = History(calm={"views": NOON, "counts": NOON})
    now = NOON + rules.CALM
    fine, busy = (dataclasses.replace(measurement(rate), at=now) for rate in (500, 900))

    one = decide(Observation(nodes, {"views": fine, "counts": busy}), POLICY, history, now)
    both = decide(Observation(nodes, {"views": fine, "counts": fine}), POLICY, history, now)
    assert (one.action, one.point) == (Action.HOLD, "counts")
    assert both.operators == ("views", "counts")


def test_what_is_pinned_to_batches_stays_there() -> None:
    assert made(measurement(), paradigm=BATCH, pinned=BATCH).reason is Reason.NO_OPERATORS


# Runs


def noisy(rate: Callable[[float], float], share: float = 0.03, seed: int = 1) -> Callable[[float], float]:
    rng = random.Random(seed)  # noqa: S311 - a simulation, not a secret
    return lambda t: rate(t) * (1 + rng.uniform(-share, share))


def steps(*levels: tuple[float, float]) -> Callable[[float], float]:
    """Levels with the time from which they hold, the last one first to ask."""
    return lambda t: next(level for start, level in reversed(levels) if t >= start)


def test_low_high_low_higher_low_switches_once_per_edge() -> None:
    job = Fluid(POLICY)
    job.run(noisy(steps((0, 400), (60, 1800), (120, 400), (180, 3000), (240, 400))), 300)

    assert [found.to for _, found in job.switches] == [BATCH, RECORD, BATCH, RECORD]
    ups = [at for at, found in job.switches if found.to is BATCH]
    assert 60 < ups[0] <= 61.2
    assert 180 < ups[1] <= 180.4


def test_a_large_step_is_answered_before_the_queue_is_beyond_the_point() -> None:
    job = Fluid(POLICY)
    job.run(noisy(steps((0, 400), (60, 2800))), 70)
    (at, found), *rest = job.switches

    assert not rest
    assert found.reason is Reason.BURST
    assert at == pytest.approx(60.2)
    assert float(dict(found.inputs)["L"]) < float(dict(found.inputs)["L_up"])


WANDERING: dict[str, Callable[[float], float]] = {
    "a slow wave": lambda t: 1000 * (1 + 0.05 * math.sin(t / 20)),
    "a fast wave": lambda t: 1000 * (1 + 0.05 * math.sin(t * 2)),
    "a square wave": lambda t: 1000 * (1.05 if int(t / 15) % 2 else 0.95),
    "noise": noisy(lambda t: 1000, 0.05),
}


@pytest.mark.parametrize("rate", WANDERING.values(), ids=WANDERING)
@pytest.mark.parametrize("hysteresis", [0.01, 0.2, 0.9])
def test_a_rate_around_the_threshold_switches_at_most_once_in_ten_minutes(
    rate: Callable[[float], float], hysteresis: float
) -> None:
    job = Fluid(Policy(hysteresis=hysteresis))
    job.run(rate, 600)
    assert len(job.switches) <= 1


def test_without_the_room_for_the_rate_the_same_load_would_flap(monkeypatch: pytest.MonkeyPatch) -> None:
    # The negative control: the paper's rule alone, without a pause, comes back as soon as a batch empties the queue.
    monkeypatch.setattr(rules, "ROOM", -1.0)
    monkeypatch.setattr(rules, "CALM", seconds(0))
    job = Fluid(Policy(hysteresis=0.01))
    job.run(WANDERING["a slow wave"], 600)
    assert len(job.switches) > 4


@pytest.mark.parametrize(("kind", "most"), [("poisson", 0), ("on-off", 2), ("pareto", 8)])
def test_steady_arrivals_at_80_percent_of_the_capacity_do_not_flap_however_bursty_they_are(
    kind: str, most: int
) -> None:
    counts = bench.KINDS[kind](lambda _: 1000, random.Random(5))  # noqa: S311 - a simulation, not a secret
    job = Fluid(POLICY, p_d=1250, p_o=5000)
    job.run(lambda _: next(counts) / bench.TICK, 600)
    assert len(job.switches) <= most


def test_batches_that_are_no_faster_are_refused_all_the_way() -> None:
    job = Fluid(POLICY, p_o=900)
    job.run(steps((0, 400), (10, 1500)), 60)
    assert not job.switches


def spikes(every: float) -> Callable[[float], float]:
    return lambda t: 8000 if t % every < 0.4 else 300


def test_bursts_that_follow_every_return_switch_less_and_less() -> None:
    job = Fluid(POLICY)
    job.run(spikes(13), 900)
    ups = [at for at, found in job.switches if found.to is BATCH]
    assert 1 < len(ups) <= 5


def test_the_pause_is_forgotten_when_there_was_no_relapse() -> None:
    job = Fluid(POLICY)
    job.run(spikes(100), 500)
    returns = [at % 100 for at, found in job.switches if found.to is RECORD]
    assert len(returns) == 5
    assert max(returns) < 15
