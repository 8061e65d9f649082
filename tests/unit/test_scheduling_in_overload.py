"""In overload nearly as many records are on time as capacity allows; without it all are, and none is ever lost.

Bounded: `python -m spillway.bench.decisions` runs the same with more records, and prints the figures.
"""

from __future__ import annotations

import pytest

from spillway.bench.single_server import Arrival, Dover, EarliestDeadline, Fifo, Load, Spillway, on_time, shares
from spillway.controllers.scheduling import Grain, Item
from spillway.model.quantities import Duration

MICRO = 1_000
BOUND = Duration.parse("20ms")
EXACT, COARSE = Grain(), Grain.of_promise(BOUND)


def _even(offered: float, count: int = 12_000) -> Load:
    """Records of 50 µs each, at so many times the capacity."""
    return Load(count, 50 * MICRO / offered, BOUND.amount, 50 * MICRO, jitter=0.2)


@pytest.mark.parametrize("grain", [EXACT, COARSE])
@pytest.mark.parametrize("offered", [1.36, 1.8])
def test_in_overload_at_least_95_percent_of_what_capacity_allows_is_on_time(offered: float, grain: Grain) -> None:
    load = _even(offered)

    kept, done = on_time(load.arrivals(seed=1), Spillway(grain))

    assert kept / load.count >= 0.95 / offered
    assert done == load.count


@pytest.mark.parametrize("queue", [Fifo, EarliestDeadline])
def test_without_a_scheduler_the_same_overload_leaves_next_to_nothing_on_time(
    queue: type[Fifo | EarliestDeadline],
) -> None:
    load = _even(1.36)

    kept, done = on_time(load.arrivals(seed=1), queue())

    assert kept / load.count < 0.3
    assert done == load.count


@pytest.mark.parametrize("grain", [EXACT, COARSE])
def test_without_overload_everything_is_on_time_and_nothing_is_lost(grain: Grain) -> None:
    load = _even(0.7)

    assert on_time(load.arrivals(seed=1), Spillway(grain)) == (load.count, load.count)


@pytest.mark.parametrize("dear_cost", [10, 30, 100])
def test_where_costs_differ_more_is_on_time_than_with_dover(dear_cost: int) -> None:
    # LAT 5.2: 2 µs in memory, 10 to 100 µs on disk; a fifth of the records is on disk. The bound and the mini-batches
    # are a fifth of what the benchmark has, so that overload builds up within few records.
    bound = Duration.parse("4ms")
    load = Load(12_000, 2.5 * MICRO, bound.amount, 2 * MICRO, dear_cost * MICRO, dear=0.2, batch=1000 * MICRO)

    found = shares(load, seed=1, grain=Grain.of_promise(bound))

    assert found["spillway, coarse"] >= 1.1 * found["dover"]
    assert found["spillway, coarse"] >= 0.95 * load.fluid()


@pytest.mark.parametrize(
    ("arrivals", "kept"),
    {
        "one that fits is done": ([(0, 10, 5)], 1),
        "a more urgent one that leaves room for both preempts": ([(0, 100, 20), (5, 30, 10)], 2),
        "one that leaves no room waits, and is abandoned at its latest start": ([(0, 20, 20), (1, 12, 5)], 1),
        "one that waits is done when there is room": ([(0, 20, 20), (1, 40, 5)], 2),
        "of several that wait the earliest deadline is next": ([(0, 20, 20), (1, 50, 20), (2, 30, 5)], 2 + 1),
        "what comes too late is not begun": ([(0, 3, 5), (0, 10, 5)], 1),
    }.values(),
)
def test_the_dover_that_we_compare_with_does_what_its_authors_say(
    arrivals: list[tuple[int, int, int]], kept: int
) -> None:
    records = [Arrival(at, Item(due, cost, payload)) for payload, (at, due, cost) in enumerate(arrivals)]

    assert Dover().on_time(records) == kept
