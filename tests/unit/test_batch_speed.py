"""What is known of batches from those that have run."""

from __future__ import annotations

import random

import pytest

from spillway.runtime.batch import speed
from spillway.runtime.batch.speed import Batch, Line, Speed, Weight


def learnt(fixed: float, capacity: float, sizes: list[int], noise: float = 0.0) -> Line:
    """What is known after batches of these sizes, each off by up to `noise` of its time."""
    dice, found = random.Random(7), Speed()  # noqa: S311 (reproducible, no secret)
    for size in sizes:
        found.learn(Batch(size, (fixed + size / capacity) * (1 + dice.uniform(-noise, noise))))
    assert found.line is not None
    return found.line


@pytest.mark.parametrize(("fixed", "capacity"), [(0.05, 100_000.0), (0.2, 5_000.0), (0.0, 1_000_000.0)])
def test_batches_of_different_sizes_tell_what_one_takes_and_how_fast_records_go_through(
    fixed: float, capacity: float
) -> None:
    line = learnt(fixed, capacity, [1_000, 10_000, 50_000, 1_000, 20_000])
    assert line.fixed == pytest.approx(fixed, abs=1e-9)
    assert line.capacity == pytest.approx(capacity)


def test_times_that_are_off_by_a_tenth_give_a_rate_that_is_off_by_no_more_than_a_fifth() -> None:
    line = learnt(0.05, 100_000.0, [1_000, 10_000, 50_000, 1_000, 20_000] * 4, noise=0.1)
    assert line.capacity == pytest.approx(100_000.0, rel=0.2)


def test_batches_that_are_all_alike_are_not_taken_for_faster_than_they_were() -> None:
    line = learnt(0.05, 100_000.0, [5_000] * 9)
    assert line.capacity <= 5_000 / (0.05 + 0.05) * 1.0001


def test_many_small_batches_after_a_burst_leave_what_large_ones_do_known() -> None:
    line = learnt(0.05, 100_000.0, [1_000, 50_000, 1_000, 50_000, *[300] * 500])
    assert line.capacity == pytest.approx(100_000.0)


def test_what_has_become_slower_is_noticed() -> None:
    found = Speed()
    for capacity in (100_000.0, 50_000.0):
        for size in [1_000, 50_000] * speed.KEPT:
            found.learn(Batch(size, 0.05 + size / capacity))
    assert found.line is not None
    assert found.line.capacity == pytest.approx(50_000.0)


def test_what_makes_no_sense_is_not_learnt() -> None:
    found = Speed()
    for batch in (Batch(0, 0.1), Batch(10, 0.0), Batch(10, float("nan")), Batch(10, float("inf"))):
        found.learn(batch)
    assert found.line is None


def test_the_interval_grows_with_the_load_and_ends_where_batches_cannot_keep_up() -> None:
    line = Line(0.05, 100_000.0)
    assert line.interval(0) == speed.SHORTEST
    assert line.interval(50_000) == pytest.approx(0.1)
    assert line.interval(100_000) == line.interval(10**9) == speed.LONGEST
    assert line.costs(50_000).interval.total_seconds() == pytest.approx(0.1)


def test_how_full_frames_are_goes_by_records_of_the_last_batches() -> None:
    weight = Weight()
    assert weight.each is None
    weight.learn(0, 0)
    weight.learn(7, 0)  # markers alone say nothing
    assert weight.each is None
    weight.learn(10, 100)
    assert weight.each == 10
    weight.learn(10, 10_000)  # who writes them works in batches by now
    weight.learn(1, 1)
    assert weight.each == pytest.approx(481, abs=1)
    for _ in range(speed.KEPT):
        weight.learn(5, 15)
    assert weight.each == 3


def test_with_more_executors_batches_are_taken_to_be_quicker_but_for_what_is_fixed() -> None:
    found = Speed()
    for size in (1_000, 10_000, 50_000):
        found.learn(Batch(size, 0.1 + size / 10_000))
    found.scale(4.0)
    assert found.line is not None
    assert found.line.fixed == pytest.approx(0.1)
    assert found.line.capacity == pytest.approx(40_000)
    for _ in range(speed.KEPT):  # what is measured then counts
        for size in (1_000, 10_000, 50_000):
            found.learn(Batch(size, 0.1 + size / 30_000))
    assert found.line.capacity == pytest.approx(30_000)
    Speed().scale(2.0)  # of what nobody has tried nothing is known
