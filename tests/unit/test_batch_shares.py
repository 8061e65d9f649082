"""Ranges are shared out to as many tasks as can run at once, and none of them has much more than another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import fuzzing
from spillway.runtime.batch.ranges import Range
from spillway.runtime.batch.spark import shared

SIZES = st.lists(st.integers(0, 10_000), min_size=1, max_size=20)


@fuzzing.cases(100)
@given(SIZES, st.integers(1, 8))
def test_each_range_is_in_one_share_and_shares_differ_by_one_range_at_most(sizes: list[int], tasks: int) -> None:
    ranges = [Range(number, 100, 100 + size, 1) for number, size in enumerate(sizes)]
    found = shared(ranges, tasks)

    assert len(found) == min(tasks, len(ranges))
    assert all(found)
    assert sorted((one for share in found for one in share), key=lambda one: one.number) == ranges
    work = [sum(one.stop - one.start + 1 for one in share) for share in found]
    assert max(work) - min(work) <= max(sizes) + 1


def test_the_same_ranges_are_shared_out_alike() -> None:
    ranges = [Range(number, 0, 5, 1) for number in range(7)]

    assert shared(ranges, 3) == shared(ranges[::-1], 3)
