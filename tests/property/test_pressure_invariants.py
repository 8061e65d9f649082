"""Whatever slots do: capacity is never below what they did without a queue that grows, nor above what costs promise."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from spillway.controllers import pressure
from spillway.controllers.pressure import Done, Pressure

COST = 1 / 1000
ANY = st.floats() | st.floats(0, 1e6)
RATES = st.floats(0, 5000)
MOMENTS = st.lists(st.tuples(RATES, st.floats(0, 1e5), st.floats(0.05, 5.0)), max_size=60)


def _played(moments: list[tuple[float, float, float]], found: Pressure) -> Pressure:
    at = found.at or 0.0
    for went, queue, seconds in moments:
        at += seconds
        found = pressure.observe(found, Done(at, went, 1.0, COST, queue))
    return found


@given(MOMENTS, RATES, st.lists(st.tuples(RATES, st.floats(0.05, 5.0)), max_size=30))
def test_capacity_is_never_below_what_was_done_while_nothing_waited(
    before: list[tuple[float, float, float]], done: float, calm: list[tuple[float, float]]
) -> None:
    found = _played([*before, (done, 0.0, 0.2)], Pressure())
    assert found.capacity(1.0, COST) >= done
    assert _played([(went, 0.0, seconds) for went, seconds in calm], found).capacity(1.0, COST) >= done


@given(MOMENTS, st.floats(1, 1000))
def test_while_a_queue_grows_capacity_becomes_what_is_done(
    before: list[tuple[float, float, float]], done: float
) -> None:
    found = _played(before, Pressure())
    found = _played([(done, 1e6 + 0.5 * done * tick, 0.2) for tick in range(120)], found)
    assert math.isclose(found.capacity(1.0, COST), done, rel_tol=0.01)


@given(MOMENTS)
def test_it_is_a_share_and_positive(moments: list[tuple[float, float, float]]) -> None:
    found = _played(moments, Pressure())
    assert pressure.LEAST <= found.reached <= 1
    assert pressure.LEAST <= found.slowed <= 1
    assert found.capacity(1.0, COST) <= max(1 / COST, *(went for went, _, _ in moments), 0.0)


@given(st.lists(st.builds(Done, ANY, ANY, ANY, ANY, st.none() | ANY), max_size=20))
def test_nothing_that_is_told_makes_it_fail_or_no_number(told: list[Done]) -> None:
    found = Pressure()
    for done in told:
        found = pressure.observe(found, done)
    assert 0 < found.reached <= 1
    assert math.isfinite(found.best)
