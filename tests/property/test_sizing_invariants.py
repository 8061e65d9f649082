"""Sizes stay within bounds and calm, whatever is recommended, for single decisions and over long runs."""

from __future__ import annotations

import dataclasses
import datetime
import itertools

from hypothesis import given
from hypothesis import strategies as st

from spillway.controllers import sizing
from spillway.controllers.sizes import Bounds, History, Limit, Present, Recommendation, SizePolicy
from spillway.controllers.sizing import Action, Reason
from spillway.model.execution import Mode

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
SECONDS = st.integers(0, 400).map(lambda s: datetime.timedelta(seconds=s))
POLICIES = st.builds(SizePolicy, cooldown=SECONDS, scale_down_delay=SECONDS)
SIZES = st.one_of(st.none(), st.floats(0, 15), st.integers(0, 15))


@st.composite
def bounds(draw: st.DrawFn) -> Bounds:
    least = draw(st.integers(0, 6))
    limits = draw(st.lists(st.builds(Limit, st.integers(0, 12), st.just("quota")), max_size=2))
    return Bounds(least, draw(st.integers(least, 12)), tuple(limits))


@dataclasses.dataclass(frozen=True)
class Step:
    """A tick: how long after the last one, what is recommended, how old that is, how far pods have got."""

    seconds: int
    size: float | None
    age: int
    ready: float


STEPS = st.lists(
    st.builds(Step, st.integers(1, 40), SIZES, st.sampled_from([0, 0, 0, 5, 90]), st.sampled_from([0.5, 1.0, 1.0])),
    max_size=60,
)


def _run(
    steps: list[Step], bounds: Bounds, policy: SizePolicy, asked: int
) -> list[tuple[datetime.datetime, int, sizing.Sizing]]:
    """Decide at each step and carry it out: (when, asked before, decision)."""
    history, now, found = History(), NOON, []
    for step in steps:
        now += datetime.timedelta(seconds=step.seconds)
        recommended = Recommendation(step.size, now - datetime.timedelta(seconds=step.age))
        present = Present(asked, round(asked * step.ready))
        decision = sizing.decide(recommended, present, bounds, policy, history, now)
        found.append((now, asked, decision))
        asked, history = decision.size, decision.history
    return found


@given(STEPS, bounds(), POLICIES, st.integers(0, 20))
def test_every_change_ends_within_the_bounds_and_the_limits_cut_growth_only(
    steps: list[Step], limits: Bounds, policy: SizePolicy, asked: int
) -> None:
    for _, before, decision in _run(steps, limits, policy, asked):
        if decision.action is not Action.HOLD:
            assert limits.min <= decision.size <= limits.max
        if decision.action is Action.GROW:
            assert all(decision.size <= max(limits.min, limit.size) for limit in limits.limits)
        assert (decision.action is Action.HOLD) == (decision.size == before)


@given(STEPS, bounds(), POLICIES, st.integers(0, 20))
def test_within_the_cooldown_of_a_change_there_is_only_growth_that_is_urgent(
    steps: list[Step], limits: Bounds, policy: SizePolicy, asked: int
) -> None:
    run = _run(steps, limits, policy, asked)
    changes = [(now, before, made) for now, before, made in run if made.action is not Action.HOLD]

    for (earlier, _, _), (later, before, made) in itertools.pairwise(changes):
        if later - earlier < policy.cooldown:
            assert made.action is Action.GROW
            assert made.need is not None
            assert made.need >= before * policy.urgent


@given(STEPS, bounds(), st.integers(0, 20))
def test_when_everything_is_calm_enough_two_changes_are_never_closer_than_the_cooldown(
    steps: list[Step], limits: Bounds, asked: int
) -> None:
    patient = SizePolicy(datetime.timedelta(seconds=60), datetime.timedelta(seconds=300), urgent=1e9)
    run = _run(steps, limits, patient, asked)
    changes = [now for now, before, made in run if made.action is not Action.HOLD and before]

    assert all(later - earlier >= patient.cooldown for earlier, later in itertools.pairwise(changes))


@given(STEPS, bounds(), POLICIES, st.integers(0, 12))
def test_it_never_shrinks_below_what_was_needed_within_the_delay_nor_before_the_delay_has_passed(
    steps: list[Step], limits: Bounds, policy: SizePolicy, asked: int
) -> None:
    run = _run(steps, limits, policy, asked)
    for i, (now, _, decision) in enumerate(run):
        if decision.action is Action.SHRINK and decision.reason is not Reason.OUT_OF_BOUNDS:
            recent = [d.need for at, _, d in run[: i + 1] if now - at <= policy.scale_down_delay and d.need is not None]
            assert decision.size == max(recent)
            assert now - run[0][0] >= policy.scale_down_delay


@given(STEPS, bounds(), POLICIES, st.integers(0, 20))
def test_without_fresh_data_only_the_bounds_change_anything(
    steps: list[Step], limits: Bounds, policy: SizePolicy, asked: int
) -> None:
    for _, _, decision in _run(steps, limits, policy, asked):
        if decision.need is None:
            assert decision.action is Action.HOLD or decision.reason is Reason.OUT_OF_BOUNDS


@given(STEPS, bounds(), POLICIES, st.integers(0, 12), SIZES)
def test_the_same_question_has_the_same_answer_and_once_carried_out_nothing_is_left_to_do(
    steps: list[Step], limits: Bounds, policy: SizePolicy, asked: int, size: float | None
) -> None:
    run = _run(steps, limits, policy, asked)
    history, asked = (run[-1][2].history, run[-1][2].size) if run else (History(), asked)
    now = (run[-1][0] if run else NOON) + datetime.timedelta(seconds=10)
    recommended, present = Recommendation(size, now), Present(asked, asked)

    first = sizing.decide(recommended, present, limits, policy, history, now)
    again = sizing.decide(recommended, present, limits, policy, history, now)
    settled = Present(first.size, first.size)
    after = sizing.decide(recommended, settled, limits, policy, first.history, now)

    assert first == again
    assert after.action is Action.HOLD


@given(STEPS, bounds(), POLICIES, st.integers(0, 12), st.floats(0, 15), st.floats(0, 15))
def test_who_needs_more_never_gets_less(
    steps: list[Step], limits: Bounds, policy: SizePolicy, asked: int, one: float, other: float
) -> None:
    run = _run(steps, limits, policy, asked)
    history, asked = (run[-1][2].history, run[-1][2].size) if run else (History(), asked)
    now = (run[-1][0] if run else NOON) + datetime.timedelta(seconds=10)
    less, more = (
        sizing.decide(Recommendation(size, now), Present(asked, asked), limits, policy, history, now).size
        for size in sorted((one, other))
    )

    assert less <= more


@given(STEPS, bounds(), POLICIES, st.integers(0, 12))
def test_advice_says_what_would_be_done_and_does_nothing(
    steps: list[Step], limits: Bounds, policy: SizePolicy, asked: int
) -> None:
    advise = dataclasses.replace(policy, mode=Mode.ADVISE)
    history, now = History(), NOON
    for step in steps:
        now += datetime.timedelta(seconds=step.seconds)
        recommended, present = Recommendation(step.size, now), Present(asked, asked)
        applied = sizing.decide(recommended, present, limits, policy, history, now)
        advised = sizing.decide(recommended, present, limits, advise, history, now)
        assert (advised.size, advised.reason) == (applied.size, applied.reason)
        assert advised.action in (Action.HOLD, Action.ADVISE)
        assert advised.history.changed is None
        history = advised.history


@given(STEPS, POLICIES)
def test_the_history_stays_small_and_falls_from_left_to_right(steps: list[Step], policy: SizePolicy) -> None:
    for _, _, decision in _run(steps, Bounds(1, 8), policy, 1):
        sizes = [need.size for need in decision.history.needs]
        assert sizes == sorted(set(sizes), reverse=True)
        assert len(sizes) <= 8
