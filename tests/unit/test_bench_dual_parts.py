"""When components of a latency are a figure."""

from __future__ import annotations

import pytest

from spillway.bench.dual import parts
from spillway.bench.record import figures
from spillway.bench.record.figures import Verdict

NAMES = ("source", "first", "edge", "second", "output", "total")


def _verdict(*values: float) -> Verdict:
    told = parts.shown("R", [figures.of(name, [value], "ms") for name, value in zip(NAMES, values, strict=True)])
    return told[-1].verdict


def test_what_adds_up_is_reached() -> None:
    assert _verdict(1.0, 4.0, 1.0, 4.0, 1.0, 11.0) is Verdict.REACHED


def test_what_is_left_over_is_missed() -> None:
    assert _verdict(1.0, 4.0, 1.0, 4.0, 1.0, 12.0) is Verdict.MISSED


@pytest.mark.parametrize(("less", "verdict"), [(-0.4, Verdict.REACHED), (-6.0, Verdict.VOID)])
def test_a_component_that_is_less_than_nothing_makes_it_void(less: float, verdict: Verdict) -> None:
    assert _verdict(1.0, 5.0 - less, less, 4.0, 1.0, 11.0) is verdict
