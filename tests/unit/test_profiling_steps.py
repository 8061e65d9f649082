"""Steps 2 and 3 of profiling, rule by rule: how many tasks more, for whom, and when no more."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from profiled import LINE, SETTINGS, SPANS
from spillway.controllers.profiling import capability, capacity, features, judgement, machine
from spillway.controllers.profiling.measurement import Deployment, Measurement, Reading
from spillway.controllers.profiling.rounds import Change, End, Move, Reason, Round, State, Step

TASKS = {"in": 1, "work": 4, "out": 2}
SAMPLES = (0.999, 1.0, 1.001)


def _measured(
    rate: float, busy: Mapping[str, float], slowed: float = 1.0, latency: float = 0.1, queued: float = 9.0
) -> Measurement:
    """A measurement in which operators have these capacities, and take `slowed` times as long as undisturbed."""
    readings = {
        name: Reading(
            share * TASKS[name] / (SPANS[name] * slowed), 1.0, SPANS[name] * slowed, sojourn=queued * SPANS[name]
        )
        for name, share in busy.items()
    }
    return Measurement(60.0, tuple(rate * s for s in SAMPLES), (latency,) * 3, readings)


def _state(measured: Measurement, *, tasks: int | None = None, change: Change = Change.START) -> State:
    """A state in which this was measured of TASKS, and is the best."""
    found = features.find(LINE, SPANS, dict.fromkeys(SPANS, 10.0), SETTINGS.slice)
    move = Move(Step.CAPABILITY, change, Deployment(TASKS))
    done = Round(1, move, measured, True, Reason.FIRST, "", (), ())
    settings = dataclasses.replace(SETTINGS, tasks=tasks)
    return State(LINE, settings, move, True, rounds=(done,), features=found, best=1)


def _then(state: State, measured: Measurement, move: Move, reason: Reason) -> State:
    """The state after one round more."""
    kept = reason in judgement.KEPT
    number = len(state.rounds) + 1
    done = Round(number, move, measured, kept, reason, "", (), ())
    return dataclasses.replace(state, move=move, rounds=(*state.rounds, done), best=number if kept else state.best)


ALL_BUSY = {"in": 1.0, "work": 1.0, "out": 1.0}


@pytest.mark.parametrize("allowed", range(8, 22))
def test_where_tasks_are_limited_they_go_to_all_who_need_them_and_all_are_used(allowed: int) -> None:
    """Cut operator by operator, the narrowest would stay as narrow as it was, and nothing would be gained at all."""
    measured = _measured(1000, ALL_BUSY)
    move = capability.enhanced(_state(measured, tasks=allowed), measured, TASKS, 3.0)
    reachable = max(
        min(a, work / 4, out / 2)
        for a in range(1, 4)
        for work in range(4, 13)
        for out in range(2, 7)
        if a + work + out <= allowed
    )
    if move is None:
        assert reachable == 1
        return
    found = move.deployment.tasks
    assert move.deployment.total <= allowed
    assert min(found["in"], found["work"] / 4, found["out"] / 2) == pytest.approx(reachable, rel=0.03)


def test_a_limit_that_is_not_met_changes_nothing() -> None:
    measured = _measured(1000, ALL_BUSY)
    some = capability.enhanced(_state(measured, tasks=21), measured, TASKS, 3.0)
    assert some == capability.enhanced(_state(measured), measured, TASKS, 3.0)


STRIDES = {
    "undisturbed, it triples": (1.0, {"in": 3, "work": 12, "out": 6}),
    "a little disturbed, half as many more": (1.2, {"in": 2, "work": 6, "out": 3}),
    "near the limit, a fifth more": (1.7, {"in": 2, "work": 5, "out": 3}),
}


@pytest.mark.parametrize(("slowed", "tasks"), STRIDES.values(), ids=STRIDES.keys())
def test_the_step_is_shorter_where_it_gets_tight(slowed: float, tasks: dict[str, int]) -> None:
    measured = _measured(1000, ALL_BUSY, slowed)
    state = _state(measured)
    move = capability.onward(state, measured, state.move)

    assert move is not None
    assert move.deployment.tasks == tasks
    assert move.change is Change.BOTH


def test_beyond_k_times_the_least_latency_nothing_is_added() -> None:
    measured = _measured(1000, ALL_BUSY, 2.1)
    state = _state(measured)

    assert capability.onward(state, measured, state.move) is None


def test_only_the_side_that_cannot_reach_the_aim_is_enhanced() -> None:
    sinks = _measured(1000, {"in": 0.3, "work": 1.0, "out": 1.0})
    sources = _measured(1000, {"in": 1.0, "work": 0.3, "out": 0.3})
    more_sinks = capability.onward(_state(sinks), sinks, _state(sinks).move)
    more_sources = capability.onward(_state(sources), sources, _state(sources).move)

    assert more_sinks is not None
    assert more_sinks.change is Change.SINKS
    assert more_sinks.deployment.tasks == {"in": 1, "work": 12, "out": 6}
    assert [lost.what for lost in more_sinks.lost] == ["more in"]
    assert more_sources is not None
    assert more_sources.change is Change.SOURCES
    assert more_sources.deployment.tasks == {"in": 3, "work": 4, "out": 2}


def test_after_an_aim_that_was_missed_by_much_idle_tasks_are_given_back() -> None:
    measured = _measured(1000, {"in": 1.0, "work": 0.25, "out": 1.0}, 1.5)
    state = _state(measured)
    missed = dataclasses.replace(state.move, aim=3000.0)
    move = capability.onward(state, measured, missed)

    assert move is not None
    assert move.deployment.tasks == {"in": 2, "work": 2, "out": 3}


def test_a_long_step_that_did_not_pay_is_halved_and_a_short_one_is_not() -> None:
    measured = _measured(1000, ALL_BUSY)
    state = _state(measured)
    half = capability.halved(state, measured, TASKS, 3000.0)

    assert half is not None
    assert half.change is Change.HALF
    assert half.aim == pytest.approx(1000 * 3**0.5)
    assert half.deployment.tasks == {"in": 2, "work": 7, "out": 4}
    assert capability.halved(state, measured, TASKS, 1200.0) is None


def test_nothing_is_tried_twice() -> None:
    measured = _measured(1000, ALL_BUSY)
    state = _state(measured)
    move = capability.onward(state, measured, state.move)
    assert move is not None
    again = _then(state, _measured(500, ALL_BUSY), move, Reason.FELL)

    assert capability.onward(again, measured, state.move) is None


def test_after_a_short_step_without_effect_it_is_the_others_turn_and_only_once() -> None:
    short = Move(Step.CAPABILITY, Change.SINKS, Deployment(TASKS), 1200.0, 1.2, ("work",))
    measured = _measured(1000, {"in": 1.0, "work": 0.7, "out": 1.0}, 1.5)
    turn = capability.turned(_state(measured), measured, short)

    assert turn is not None
    assert turn.change is Change.TURN
    assert turn.enhanced == ("in", "out")
    assert turn.deployment.tasks["work"] == 4
    assert capability.turned(_state(measured), measured, dataclasses.replace(short, change=Change.TURN)) is None


TURNS = {"nothing changed": (1000.0, True), "a little less": (905.0, True), "less than alpha allows": (895.0, False)}


@pytest.mark.parametrize(("rate", "turn"), TURNS.values(), ids=TURNS.keys())
def test_the_others_have_their_turn_when(rate: float, turn: bool) -> None:
    state = _state(_measured(1000, ALL_BUSY, 1.5))
    short = Move(Step.CAPABILITY, Change.SINKS, Deployment({**TASKS, "work": 5}), 1200.0, 1.2, ("work",))
    after = _measured(rate, {"in": 1.0, "work": 0.7, "out": 1.0}, 1.5)
    state = _then(state, after, short, Reason.FELL)

    follows = judgement.follows(state, state.rounds[-1])

    assert (isinstance(follows, Move) and follows.change is Change.TURN) is turn


def test_there_is_no_turn_for_those_that_had_it() -> None:
    short = Move(Step.CAPABILITY, Change.SINKS, Deployment(TASKS), 1200.0, 1.2, ("work", "out"))
    measured = _measured(1000, {"in": 0.3, "work": 1.0, "out": 1.0}, 1.5)

    assert capability.turned(_state(measured), measured, short) is None


def test_what_is_allowed_in_all_is_shared_in_proportion() -> None:
    measured = _measured(1000, ALL_BUSY)
    move = capability.onward(_state(measured, tasks=14), measured, _state(measured).move)

    assert move is not None
    assert move.deployment.total <= 14
    assert move.deployment.tasks == {"in": 2, "work": 8, "out": 4}


def test_the_narrowest_operator_is_brought_down_to_the_next_one() -> None:
    measured = _measured(1000, {"in": 0.4, "work": 1.0, "out": 0.5})
    move, lost = capacity.narrowest(_state(measured), measured, TASKS)

    assert lost is None
    assert move is not None
    assert move.enhanced == ("work",)
    assert move.deployment.tasks == {"in": 1, "work": 8, "out": 2}
    assert move.aim == pytest.approx(2000)


def test_operators_that_are_equally_busy_are_enhanced_together() -> None:
    measured = _measured(1000, {"in": 0.5, "work": 1.0, "out": 0.99})
    move, _ = capacity.narrowest(_state(measured), measured, TASKS)

    assert move is not None
    assert move.deployment.tasks == {"in": 1, "work": 8, "out": 4}


def test_at_most_four_times_as_many() -> None:
    measured = _measured(1000, {"in": 0.01, "work": 0.01, "out": 1.0})
    move, _ = capacity.narrowest(_state(measured), measured, TASKS)

    assert move is not None
    assert move.deployment.tasks["out"] == 8


REFUSED: dict[str, tuple[Measurement, int | None, str]] = {
    "nobody is busy": (_measured(1000, {"in": 0.5, "work": 0.7, "out": 0.5}), None, "busy 70%"),
    "tasks wait for cores": (_measured(1000, {"in": 0.4, "work": 1.0, "out": 0.5}, 2.5), None, "wait for cores"),
    "no more are allowed": (_measured(1000, {"in": 0.4, "work": 1.0, "out": 0.5}), 7, "all tasks that are allowed"),
}


@pytest.mark.parametrize(("measured", "tasks", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_more_of_one_operator_is_refused_when(measured: Measurement, tasks: int | None, why: str) -> None:
    move, lost = capacity.narrowest(_state(measured, tasks=tasks), measured, TASKS)

    assert move is None
    assert lost is not None
    assert why in lost.why_not


def test_an_operator_that_was_taken_back_is_left_alone() -> None:
    measured = _measured(1000, {"in": 0.4, "work": 1.0, "out": 0.5})
    state = _state(measured)
    move, _ = capacity.narrowest(state, measured, TASKS)
    assert move is not None
    back = _then(state, _measured(900, {"in": 0.4, "work": 0.5, "out": 0.5}), move, Reason.FELL)

    again, lost = capacity.narrowest(back, measured, TASKS)

    assert again is None
    assert lost is not None
    assert "taken back" in lost.why_not


def test_two_changes_in_a_row_that_are_taken_back_end_it() -> None:
    measured = _measured(1000, {"in": 0.4, "work": 1.0, "out": 0.5})
    state = _state(measured)
    for name in ("in", "out"):
        move = Move(Step.CAPACITY, Change.OPERATOR, Deployment({**TASKS, name: 9}), 1100.0, 1.1, (name,))
        state = _then(state, measured, move, Reason.FLAT)

    end = judgement.follows(state, state.rounds[-1])

    assert isinstance(end, End)
    assert end.reason is Reason.REVOKED


def test_latencies_within_k_times_the_least_end_it() -> None:
    measured = _measured(1000, {"in": 0.5, "work": 1.0, "out": 0.5}, 2.0, queued=1.9)
    state = _state(measured, change=Change.HALF)

    end = judgement.follows(state, state.rounds[-1])

    assert isinstance(end, End)
    assert end.reason is Reason.SCALED


def test_they_do_not_while_a_source_is_all_that_they_wait_for() -> None:
    measured = _measured(1000, {"in": 1.0, "work": 0.5, "out": 0.5}, 2.0, queued=1.9)
    state = _state(measured, change=Change.HALF)

    after = judgement.follows(state, state.rounds[-1])

    assert isinstance(after, Move)
    assert after.enhanced == ("in",)


FIRST = _measured(1000, ALL_BUSY)
JUDGED: dict[str, tuple[float, int, Reason]] = {
    "much more": (1100, 9, Reason.GREW),
    "much less": (900, 9, Reason.FELL),
    "a little more is noise": (1020, 9, Reason.FLAT),
    "the same with fewer tasks": (1000, 3, Reason.LEANER),
    "a little less with fewer tasks": (980, 3, Reason.LEANER),
    "much less with fewer tasks": (900, 3, Reason.FELL),
}


@pytest.mark.parametrize(("rate", "work", "reason"), JUDGED.values(), ids=JUDGED.keys())
def test_throughput_is_judged(rate: float, work: int, reason: Reason) -> None:
    move = Move(Step.CAPABILITY, Change.SINKS, Deployment({**TASKS, "work": work}))
    state = dataclasses.replace(_state(FIRST), move=move)

    assert judgement.judged(state, _measured(rate, ALL_BUSY))[0] is reason


def test_a_deployment_that_does_the_same_with_fewer_tasks_is_the_best_one_now() -> None:
    move = Move(Step.CAPABILITY, Change.SETTLED, Deployment({**TASKS, "work": 3}))
    same = _measured(1000, {"in": 0.5, "work": 0.7, "out": 0.5})
    state = machine.observe(dataclasses.replace(_state(FIRST), move=move), same)

    assert state.rounds[-1].reason is Reason.LEANER
    assert state.best == 2


def test_a_difference_that_chance_explains_is_none_however_large() -> None:
    wild = dataclasses.replace(FIRST, throughput=(400.0, 1100.0, 1900.0))
    move = Move(Step.CAPABILITY, Change.SINKS, Deployment({**TASKS, "work": 9}))

    assert judgement.judged(dataclasses.replace(_state(FIRST), move=move), wild)[0] is Reason.FLAT
