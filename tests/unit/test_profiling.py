"""Profiling as a whole: what it does on platforms whose arithmetic fits in a head, and what it says about it."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest

from profiled import LINE, SETTINGS, SPANS, Broken, Exact, finished, profiled
from spillway.controllers import explain
from spillway.controllers.profiling import capability, machine
from spillway.controllers.profiling.application import Application, Operator
from spillway.controllers.profiling.machine import Deploy, Finished, Measure
from spillway.controllers.profiling.measurement import Deployment, Measurement, Reading
from spillway.controllers.profiling.rounds import Change, Reason, Round, Settings, State, Step


def _kept(state: State) -> list[dict[str, int]]:
    return [dict(done.move.deployment.tasks) for done in state.rounds if done.kept]


def test_it_begins_with_a_light_load_on_one_task_each() -> None:
    first = machine.next_step(machine.begin(LINE, SETTINGS))

    assert first == Deploy(Deployment({"in": 1, "work": 1, "out": 1}, rate=10.0))


def test_it_asks_for_the_same_until_it_is_told_that_it_is_done() -> None:
    state = machine.begin(LINE, SETTINGS)

    assert machine.next_step(state) == machine.next_step(state)
    assert machine.next_step(machine.deployed(state)) == Measure(60.0)
    assert isinstance(machine.next_step(machine.lost(machine.deployed(state))), Deploy)


def test_a_platform_with_room_is_used_up_to_the_tasks_that_are_allowed() -> None:
    end = finished(profiled(Exact(), settings=dataclasses.replace(SETTINGS, tasks=14)))

    # 1, 4 and 2 ms: seven tasks do 1000 records/s, fourteen 2000.
    assert end.deployment == Deployment({"in": 2, "work": 8, "out": 4})
    assert end.throughput == pytest.approx(2000)


def test_a_platform_that_gives_no_more_is_left_at_what_it_gives() -> None:
    end = finished(profiled(Exact(ceiling=3000)))

    assert end.throughput >= 0.95 * 3000
    assert end.deployment is not None
    assert end.deployment.total <= 28


def test_the_first_deployment_has_the_ratio_of_step_one() -> None:
    state = profiled(Exact(ceiling=3000))
    start = next(done for done in state.rounds if done.move.change is Change.START)

    # Loads of work and out are 4 to 2 ms: ⌈1/0.3⌉ to ⌈0.5/0.3⌉ is 4 to 2.
    assert start.move.deployment.tasks == {"in": 1, "work": 2, "out": 1}


def test_a_change_that_does_not_pay_is_taken_back() -> None:
    state = profiled(Exact(ceiling=3000))
    lost = [done for done in state.rounds if done.reason in (Reason.FLAT, Reason.FELL)]

    assert lost
    assert finished(state).deployment == state.rounds[state.best - 1].move.deployment
    assert all(not done.kept for done in lost)


def test_sources_are_throttled_until_the_bound_is_kept() -> None:
    end = finished(profiled(Exact(ceiling=3000, latency=5.0)))

    assert end.deployment is not None
    assert end.deployment.rate == pytest.approx(
        0.98 * max(done.measurement.rate for done in end.rounds if done.kept and done.measurement)
    )
    assert end.reason is Reason.THROTTLED
    assert end.latency <= SETTINGS.bound


def test_a_bound_that_cannot_be_kept_is_said_to_be_so() -> None:
    slow = Exact(spans={"in": 0.001, "work": 2.0, "out": 0.002}, ceiling=1, latency=5.0)
    end = finished(profiled(slow))

    assert end.reason is Reason.TOO_SLOW
    throttles = [done for done in end.rounds if done.move.change is Change.THROTTLE]
    assert len(throttles) == len(capability.THROTTLES)
    assert [done.move.aim for done in throttles] == sorted((done.move.aim for done in throttles), reverse=True)


def test_a_load_that_is_not_light_is_lowered() -> None:
    state = profiled(Exact(ceiling=3000), settings=dataclasses.replace(SETTINGS, light=200.0))
    first, second = state.rounds[:2]

    # 200 records/s keep the task of work busy for 80 %; a tenth of its time are 25.
    assert first.reason is Reason.TOO_HEAVY
    assert second.reason is Reason.LEARNT
    assert second.move.deployment.rate == pytest.approx(25, rel=0.01)


def test_operators_that_must_stay_alone_stay_alone() -> None:
    line = Application.of([Operator("in"), Operator("work", ("in",)), Operator("out", ("work",), parallel=False)])
    end = finished(profiled(Exact(line), line))

    assert end.deployment is not None
    assert end.deployment.tasks["out"] == 1
    assert end.throughput == pytest.approx(500, rel=0.01)


def test_an_operator_has_no_more_tasks_than_its_input_has_partitions() -> None:
    line = Application.of([Operator("in"), Operator("work", ("in",), most=3), Operator("out", ("work",))])
    end = finished(profiled(Exact(line), line))

    assert end.deployment is not None
    assert end.deployment.tasks["work"] == 3
    assert end.throughput == pytest.approx(750, rel=0.01)


def test_a_platform_that_breaks_down_under_a_deployment_gets_the_one_before() -> None:
    def spoil(_: int, measured: Measurement | None) -> Measurement | None:
        if measured is None or measured.rate <= 1600:
            return measured
        return Measurement(60.0, (0.0, 0.0), (60.0, 60.0), dict.fromkeys(SPANS, Reading(0.0, 0.0, 0.0)))

    end = finished(profiled(Broken(spoil=spoil)))

    assert end.deployment is not None
    assert 500 <= end.throughput <= 1600
    assert any(done.reason is Reason.FELL and "-100%" in done.sentence for done in end.rounds)


NAN = math.nan
READINGS = dict.fromkeys(SPANS, Reading(100.0, 100.0, 0.001))
SENSELESS: dict[str, Measurement | None] = {
    "nothing": None,
    "a throughput that is no number": Measurement(60.0, (NAN, 1.0), (0.1, 0.1), READINGS),
    "a negative latency": Measurement(60.0, (1.0, 1.0), (0.1, -0.1), READINGS),
    "a single sample": Measurement(60.0, (1.0,), (0.1, 0.1), READINGS),
    "no samples": Measurement(60.0, (), (), READINGS),
    "an operator missing": Measurement(60.0, (1.0, 1.0), (0.1, 0.1), {"in": READINGS["in"]}),
    "an infinite rate": Measurement(60.0, (1.0, 1.0), (0.1, 0.1), {**READINGS, "in": Reading(math.inf, 1.0, 0.001)}),
    "no time for a record": Measurement(60.0, (1.0, 1.0), (0.1, 0.1), {**READINGS, "in": Reading(1.0, 1.0, 0.0)}),
    "more than all of the time": Measurement(60.0, (1.0, 1.0), (0.1, 0.1), {**READINGS, "in": Reading(9.0, 1.0, 1.0)}),
    "nothing came through": Measurement(60.0, (0.0, 0.0), (0.1, 0.1), READINGS),
    "sums beyond all numbers": Measurement(60.0, (1e308, 1e308), (0.1, 0.1), READINGS),
}


@pytest.mark.parametrize("senseless", SENSELESS.values(), ids=SENSELESS.keys())
def test_what_makes_no_sense_is_measured_again_and_then_profiling_stops(senseless: Measurement | None) -> None:
    end = finished(profiled(Broken(spoil=lambda _, measured: senseless)))

    assert end.reason is Reason.NO_DATA
    assert [done.reason for done in end.rounds] == [Reason.UNREADABLE] * 3
    assert end.deployment is None


@pytest.mark.parametrize("senseless", SENSELESS.values(), ids=SENSELESS.keys())
def test_a_single_senseless_measurement_changes_nothing(senseless: Measurement | None) -> None:
    clean = finished(profiled(Exact(ceiling=3000)))
    dirty = finished(profiled(Broken(ceiling=3000, spoil=lambda i, measured: measured if i else senseless)))

    assert (dirty.deployment, dirty.reason) == (clean.deployment, clean.reason)


def test_when_nothing_can_be_measured_any_more_the_best_so_far_is_the_result() -> None:
    end = finished(profiled(Broken(spoil=lambda i, measured: measured if i < 3 else None)))

    assert end.reason is Reason.NO_DATA
    assert end.deployment is not None


def test_there_are_no_more_rounds_than_allowed() -> None:
    end = finished(profiled(Exact(), settings=dataclasses.replace(SETTINGS, rounds=2)))

    assert end.reason is Reason.NO_ROUNDS
    assert sum(done.stressed for done in end.rounds) == 2
    assert end.deployment is not None


INVALID: dict[str, tuple[Application, Settings]] = {
    "no tasks for all": (LINE, dataclasses.replace(SETTINGS, tasks=2)),
    "a bound of nothing": (LINE, dataclasses.replace(SETTINGS, bound=0.0)),
    "a bound that is no number": (LINE, dataclasses.replace(SETTINGS, bound=NAN)),
    "no rounds": (LINE, dataclasses.replace(SETTINGS, rounds=0)),
    "frames of nothing": (LINE, dataclasses.replace(SETTINGS, frames=(1, 0))),
    "an operator without tasks": (Application((Operator("in", most=0),)), SETTINGS),
    "no operators": (Application(()), SETTINGS),
}


@pytest.mark.parametrize(("application", "settings"), INVALID.values(), ids=INVALID.keys())
def test_what_cannot_be_profiled_is_refused_before_anything_is_deployed(
    application: Application, settings: Settings
) -> None:
    end = machine.next_step(machine.begin(application, settings))

    assert isinstance(end, Finished)
    assert end.reason is Reason.INVALID
    assert end.sentence


def test_a_measurement_after_the_end_changes_nothing() -> None:
    state = profiled(Exact(ceiling=3000))

    assert machine.observe(state, None) == state


def test_rounds_are_told_as_they_happen() -> None:
    told: list[Round] = []
    state = machine.run(Exact(ceiling=3000), machine.begin(LINE, SETTINGS), told.append)

    assert tuple(told) == state.rounds
    assert [done.number for done in told] == list(range(1, len(told) + 1))


def test_every_round_says_why_with_its_numbers() -> None:
    for done in profiled(Exact(ceiling=3000)).rounds:
        why = explain.data(done)
        assert why["reason"] in {str(reason) for reason in Reason}
        assert "records/s" in why["inputs"]["throughput"]
        assert "work" in why["inputs"]["busy"]
        assert done.sentence.endswith(".")
    state = profiled(Exact(ceiling=3000))
    assert any(done.alternatives for done in state.rounds)
    assert all(alternative.why_not for done in state.rounds for alternative in done.alternatives)


def test_the_steps_come_in_their_order() -> None:
    steps = [done.move.step for done in profiled(Exact(ceiling=3000)).rounds]

    assert steps[0] is Step.FEATURES
    assert steps[1] is Step.CAPABILITY
    assert Step.FEATURES not in steps[1:]


def test_the_tasks_that_were_kept_only_ever_do_more_or_cost_less() -> None:
    state = profiled(Exact(ceiling=3000))
    kept = [done for done in state.rounds if done.kept and done.measurement]
    for one, other in itertools.pairwise(kept):
        assert one.measurement is not None
        assert other.measurement is not None
        assert other.measurement.rate > one.measurement.rate or other.reason is Reason.LEANER
