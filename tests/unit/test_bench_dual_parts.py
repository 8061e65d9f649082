"""Components of a latency: what they are, and when they are a figure."""

from __future__ import annotations

import pytest

from spillway.bench.dual import parts
from spillway.bench.record import latency
from spillway.bench.record.figures import Verdict
from spillway.bench.record.latency import Run
from spillway.bench.record.schedule import Lateness
from spillway.runtime.telemetry import VERSION, Report, Spent

GOOD = Lateness(0, 0, 0)


def _verdict(total: float, late: Lateness = GOOD) -> Verdict:
    run = Run([1.0], {"source": 1.0, "real: queue": 4.0, "sums: queue": 5.0}, total, late, 0, 0.0)
    return parts.shown("R", [run])[-1].verdict


def test_what_adds_up_is_reached() -> None:
    assert _verdict(10.3) is Verdict.REACHED


@pytest.mark.parametrize("total", [11.0, 9.0])
def test_what_is_left_over_or_counted_twice_is_missed(total: float) -> None:
    assert _verdict(total) is Verdict.MISSED


def test_a_run_whose_generator_was_late_is_void() -> None:
    assert _verdict(10.0, Lateness(0, 1.0, 1.0)) is Verdict.VOID


def _report(at: float, records: int, seconds: float, slot: str = "w0.0") -> Report:
    spent = {"real": {"queue": Spent(records, seconds)}}
    return Report(VERSION, slot, 1, f"{slot}#1", at, at, phases=spent)


def test_phases_are_what_came_after_the_warm_up_of_all_slots_together() -> None:
    told = [_report(1.0, 100, 50.0), _report(3.0, 300, 50.4), _report(3.0, 100, 0.6, "w0.1")]

    assert latency.phases(told, 2.0, ["real", "sums"]) == {"real: queue": pytest.approx(1000 * 1.0 / 300)}
