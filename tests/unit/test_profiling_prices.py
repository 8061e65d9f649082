"""What a profile says that operators cost: told apart where that can be done, and said where it can't."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from profiled import LINE, SETTINGS, Exact, profiled
from spillway.controllers.costmodel import flow
from spillway.controllers.profiling import machine, prices
from spillway.controllers.profiling.application import Application, Operator
from spillway.controllers.profiling.measurement import Measurement
from spillway.controllers.profiling.prices import Profiled
from spillway.model.quantities import Duration

CPU, FETCH, EMIT, SELECTIVITY = 1e-6, 7.4e-6, 2.6e-6, 0.5
FRAMES = dataclasses.replace(SETTINGS, frames=(1, 10, 100), rounds=3)


@dataclasses.dataclass
class Framed(Exact):
    """Operators cost what the cost model says: c_cpu + c_fetch/b_in + s·c_emit/b_out, off by `off` in turn."""

    off: float = 0.0
    error: float = 0.01
    same: bool = False

    def measure(self, seconds: float) -> Measurement | None:
        measured = super().measure(seconds)
        if measured is None:
            return None
        frames: Mapping[str, int] = {} if self.same else self.deployments[-1].frames
        sign = 1 if len(self.deployments) % 2 else -1
        readings = {}
        for operator in self.application.operators:
            out = frames.get(operator.name, 10)
            into = frames.get(operator.inputs[0], 10) if operator.inputs else None
            span = CPU + (FETCH / into if into else 0) + SELECTIVITY * EMIT / out
            readings[operator.name] = dataclasses.replace(
                measured.operators[operator.name],
                processing=span * (1 + sign * self.off),
                processing_error=span * self.error,
                rate_out=measured.operators[operator.name].rate_in * SELECTIVITY,
                record_size=120.0,
                frame_in=None if into is None else float(into),
                frame_out=float(out),
            )
        return dataclasses.replace(measured, operators=readings)


def _found(platform: Framed, frames: tuple[int, ...] = (1, 10, 100)) -> dict[str, Profiled]:
    state = profiled(platform, LINE, dataclasses.replace(FRAMES, frames=frames))
    return {one.name: one for one in prices.find(state)}


def test_with_three_sizes_of_frames_three_costs_come_back() -> None:
    work = _found(Framed())["work"]

    assert work.cpu.value == pytest.approx(CPU)
    assert work.fetch.value == pytest.approx(FETCH)
    assert work.emit.value == pytest.approx(EMIT)
    assert work.note == ""


def test_there_is_one_light_round_for_each_size_and_every_operator_has_each() -> None:
    platform = Framed()
    profiled(platform, LINE, FRAMES)
    light = platform.deployments[:3]

    assert [deployment.rate for deployment in light] == [10.0] * 3
    for name in ("in", "work", "out"):
        assert sorted(deployment.frames[name] for deployment in light) == [1, 10, 100]
    assert all(deployment.frames["in"] != deployment.frames["work"] for deployment in light)


def test_errors_are_those_of_the_measurements() -> None:
    sure, unsure = _found(Framed(error=0.001))["work"], _found(Framed(error=0.1))["work"]

    assert sure.cpu.error is not None
    assert unsure.cpu.error is not None
    assert unsure.cpu.error == pytest.approx(100 * sure.cpu.error)


def test_what_is_off_by_one_percent_is_within_three_errors() -> None:
    work = _found(Framed(off=0.01))["work"]

    for price, true in ((work.cpu, CPU), (work.fetch, FETCH), (work.emit, EMIT)):
        assert price.error is not None
        assert abs(price.value - true) < 3 * price.error


def test_a_source_fetches_nothing() -> None:
    source = _found(Framed())["in"]

    assert source.fetch.value == 0
    assert source.cpu.value == pytest.approx(CPU)
    assert source.emit.value == pytest.approx(EMIT)


def test_with_one_size_of_frames_all_is_cpu_and_the_note_says_so() -> None:
    work = _found(Framed(same=True), frames=())["work"]

    assert work.cpu.value == pytest.approx(CPU + FETCH / 10 + SELECTIVITY * EMIT / 10)
    assert (work.fetch.value, work.emit.value) == (0, 0)
    assert "cpu is all three" in work.note


def test_frames_that_the_platform_did_not_change_are_found_out() -> None:
    assert "cpu is all three" in _found(Framed(same=True))["work"].note


def test_a_cost_of_nothing_is_not_negative() -> None:
    class Free(Framed):
        def measure(self, seconds: float) -> Measurement | None:
            measured = super().measure(seconds)
            assert measured is not None
            tilted = {
                name: dataclasses.replace(r, processing=CPU * (1 + 0.01 * (r.frame_out or 0) / 100))
                for name, r in measured.operators.items()
            }
            return dataclasses.replace(measured, operators=tilted)

    for one in _found(Free()).values():
        assert min(one.cpu.value, one.fetch.value, one.emit.value) >= 0


def test_the_planner_and_the_manifest_get_the_same_numbers() -> None:
    work = _found(Framed())["work"]
    declared = work.declared()

    assert declared.cpu == Duration(1000)
    assert declared.fetch == Duration(7400)
    assert declared.emit == Duration(2600)
    assert declared.selectivity == pytest.approx(0.5)
    assert declared.record_size == 120
    assert flow.Costs.declared(declared) == flow.Costs(1e-6, 7.4e-6, 2.6e-6, declared.selectivity or 0, 120.0)
    assert work.costs().selectivity == pytest.approx(0.5)


def test_before_step_one_is_done_nothing_is_known() -> None:
    assert prices.find(machine.begin(LINE, SETTINGS)) == ()


def test_an_operator_with_a_pace_of_its_own_is_said_to_be_one() -> None:
    line = Application.of([Operator("in"), Operator("work", ("in",), logic_dependent=True), Operator("out", ("work",))])
    state = profiled(Framed(line), line, FRAMES)
    work = next(one for one in prices.find(state) if one.name == "work")

    assert "pace of its own" in work.note
    assert work.selectivity.error is None
