"""What a demonstration reports, and when it calls itself right."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from spillway.cli.story import report
from spillway.cli.story.meter import Ages
from spillway.cli.story.phases import Capacity, Name
from spillway.cli.story.report import Lived, Outcome
from spillway.model.observation import Standby, StandbyState

RIGHT = {
    "verdict": "right", "complete": True, "lost": 0, "duplicated": 0, "wrong": 0, "reordered": 0,
    "records_in": 1_000, "records_out": 24_000, "void": "",
}  # fmt: skip


def ages(within: float, *below: float) -> Ages:
    return Ages(within, tuple(zip((0.1, 0.5, float("inf")), below, strict=True)))


def lived(name: Name, of: Ages) -> Lived:
    return Lived(name, 1_000.0, 10.0, 500.0, 5_000, 12.0, of)


def switch(to: str = "batch", at: float = 1_020.0) -> dict[str, Any]:
    return {
        "at": at, "kind": "switch", "operators": ["words", "real-words"], "from": "record", "to": to,
        "partitions": 8, "pause_ms_max": 41.5, "reason": "a burst",
    }  # fmt: skip


def outcome(**changes: Any) -> Outcome:
    phases = [
        lived(Name.WARM_UP, ages(0, 0, 0, 1_000)),
        lived(Name.LOW, ages(990, 980, 990, 1_000)),
        lived(Name.BURST, ages(500, 0, 500, 1_000)),
    ]
    made = Outcome(
        RIGHT, "", 500.0, 0.99, phases, [switch()], Capacity(5_000, 15_000),
        Standby(StandbyState.WARM, seconds=4.2, memory=400 * 2**20, cpu=0.5), 0.01, 1_000.0, rested=True,
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


def test_what_is_right_is_right() -> None:
    assert outcome().is_right


@pytest.mark.parametrize(
    "spoiled",
    [
        {"verdict": {**RIGHT, "verdict": "not right", "complete": False, "lost": 1}},
        {"verdict": {**RIGHT, "lost": 1}},
        {"verdict": {**RIGHT, "duplicated": 1}},
        {"verdict": {**RIGHT, "wrong": 1}},
        {"verdict": {**RIGHT, "reordered": 1}},
        {"verdict": {**RIGHT, "verdict": "void", "void": "a topic was trimmed"}},
        {"verdict": {**RIGHT, "complete": False}},
        {"verdict": {}},
        {"rested": False},
        {"problem": "the feeder ended early"},
    ],
    ids=lambda spoiled: json.dumps(spoiled)[-40:],
)
def test_one_thing_that_is_not_well_is_enough(spoiled: dict[str, Any]) -> None:
    assert not outcome(**spoiled).is_right
    assert report.as_json(outcome(**spoiled))["right"] is False


def test_the_report_has_what_programs_read() -> None:
    found = json.loads(json.dumps(report.as_json(outcome())))

    assert {name: found[name] for name in ("records_in", "records_out", "lost", "duplicated", "wrong")} == {
        "records_in": 1_000, "records_out": 24_000, "lost": 0, "duplicated": 0, "wrong": 0,
    }  # fmt: skip
    assert found["latency"] == {
        "bound_ms": 500.0, "quantile": 0.99, "within": 0.745, "within_bursts": 0.5, "within_otherwise": 0.99,
    }  # fmt: skip
    assert [phase["name"] for phase in found["phases"]] == ["warm-up", "low", "burst"]
    assert found["phases"][1] | {"p50_ms": 100.0, "p99_ms": 500.0, "rate": 500.0} == found["phases"][1]
    assert found["moves"][0]["pause_ms_max"] == 41.5
    assert found["seconds_to_first_switch"] == 20.0
    assert found["standby"] | {"memory": 400 * 2**20, "cpu": 0.01} == found["standby"]


def test_results_out_of_order_are_wrong() -> None:
    assert outcome(verdict={**RIGHT, "wrong": 1, "reordered": 2}).mistakes["wrong"] == 3


def test_a_run_that_told_nothing_has_a_report_too() -> None:
    empty = outcome(verdict={}, lived=[], moves=[], capacity=None, standby=None, problem="nobody fed it")

    assert report.as_json(empty)["latency"]["within"] is None
    assert any("nobody fed it" in line for line in report.lines(empty))


def test_results_that_a_lost_owner_repeated_are_told_as_such() -> None:
    taken = switch() | {"kind": "takeover", "from": "w0.0", "to": "w1.0"}
    repeated = {**RIGHT, "verdict": "not right", "duplicated": 7}

    assert not outcome(moves=[taken], verdict=repeated).is_right
    assert "an owner was lost" in " ".join(report.lines(outcome(moves=[taken], verdict=repeated)))
    assert "an owner was lost" not in " ".join(report.lines(outcome(verdict=repeated)))
    assert "an owner was lost" not in " ".join(report.lines(outcome(moves=[taken])))


def test_it_fits_a_terminal_of_80_columns() -> None:
    taken = switch() | {"kind": "takeover", "from": "w0.0", "to": "w1.0"}
    moves, repeated = [switch(), switch("record", 1_040.0), taken], {**RIGHT, "duplicated": 6_811}
    assert max(map(len, report.lines(outcome(moves=moves, verdict=repeated)))) <= 80


@pytest.mark.parametrize(
    ("known", "says"),
    [(Capacity(5_000, None), "not measured"), (Capacity(5_000, 4_000), "not faster"), (Capacity(5_000, 9_000), "none")],
)
def test_that_nothing_switched_is_said_with_its_reason(known: Capacity, says: str) -> None:
    assert any(says in line for line in report.lines(outcome(moves=[], capacity=known)))
