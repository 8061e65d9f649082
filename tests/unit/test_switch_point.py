"""The formulas of the switch point, with numbers that were worked out by hand."""

from __future__ import annotations

import pytest

from bursting import costs
from spillway.controllers.switching import point


def test_the_switch_point_and_its_thresholds_are_those_of_equations_6_and_7() -> None:
    found = point.switch_point(2000, 1000, 4000, costs(interval=1, schedule=0.1, batch=0.05, record=0.01), 0.2)

    # K = 1000/4000; C = 0.5 + 0.1 + 0.05 - 0.01 = 0.64; 0.25·2000·1 + 0.64·1000 = 1140
    assert found.switch == pytest.approx(1140)
    assert found.up == pytest.approx(1368)
    assert found.down == pytest.approx(912)


def test_at_the_switch_point_both_paradigms_are_equally_fast() -> None:
    c = costs(interval=0.7, schedule=0.03, batch=0.01, record=0.02)
    queue = point.switch_point(1234, 777, 2345, c, 0.3).switch

    assert point.latency_record(queue, 777, c) == pytest.approx(point.latency_batch(0, 1234, 2345, c))


def test_without_a_batch_capacity_the_point_is_lower_than_with_any() -> None:
    unknown = point.switch_point(2000, 1000, None, costs(), 0.2)
    assert unknown.switch < point.switch_point(2000, 1000, 1e9, costs(), 0.2).switch
    assert unknown.switch == pytest.approx((0.25 + 0.1 + 0.02 - 0.005) * 1000)


def test_the_upper_threshold_stays_the_upper_one_when_transmission_alone_costs_more_than_a_batch() -> None:
    found = point.switch_point(10, 1000, 4000, costs(interval=0.1, schedule=0, batch=0, record=2), 0.2)
    assert found.down < found.switch < found.up < 0


def test_what_gathers_for_the_next_batch_is_no_backlog() -> None:
    assert point.waiting(400, 800, 4000, costs(interval=0.5, schedule=0.1)) == 0
    assert point.waiting(500, 800, 4000, costs(interval=0.5, schedule=0.1)) == pytest.approx(100)
    # A batch takes 0.9 + 400/4000 = 1 s, so 800 gather.
    assert point.waiting(900, 800, 4000, costs(interval=0.5, schedule=0.9)) == pytest.approx(100)
