"""How many executors the load needs, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillway.model.execution import Executors
from spillway.runtime.driver import executors
from spillway.runtime.driver.executors import Load, needed

SIZE = Executors(min=1, max=4)


def load(rate: float | None, *, queue: int = 0, capacity: float | None = 10_000, partitions: int = 16) -> Load:
    return Load("words", partitions, rate, queue, capacity)


@pytest.mark.parametrize(
    ("loads", "there", "count", "why"),
    [
        ([], 1, 1, "1 executor: nothing runs in batches; executors.min is 1"),
        ([load(1_000)], 1, 1, "batches of words take 10% of the time of 1"),
        ([load(12_000)], 1, 2, "batches of words take 120% of the time of 1"),
        ([load(12_000)], 2, 3, "batches of words take 120% of the time of 2"),
        ([load(2_000, queue=300_000)], 1, 2, "batches of words take 120% of the time of 1"),
        ([load(9_000), Load("others", 16, 9_000, 0, 9_000)], 1, 3, "batches of words, others take 190% of the time"),
        ([load(90_000)], 1, 4, "12 would be, and executors.max is 4"),
        ([load(90_000, partitions=2)], 1, 2, "more cores than partitions would have nothing to do"),
        ([load(9_000, capacity=None)], 3, 3, "nobody has measured yet what batches of words take"),
        ([load(None)], 0, 1, "nobody has measured yet what batches of words take"),
    ],
)
def test_it_follows_from_the_time_that_batches_take(loads: list[Load], there: int, count: int, why: str) -> None:
    found = needed(SIZE, 0.2, loads, there)
    assert found.executors == count
    assert why in found.sentence


def test_a_job_without_executors_needs_none() -> None:
    assert needed(Executors(min=0, max=0), 0.2, [load(9_000)], 0) == executors.Need(
        0, "no executors: executors.max is 0"
    )


def test_one_that_keeps_none_warm_needs_one_as_soon_as_something_shall_run_in_batches() -> None:
    size = Executors(min=0, max=4)
    assert needed(size, 0.2, [], 0).executors == 0
    assert needed(size, 0.2, [load(None, capacity=None)], 0).executors == 1


@given(
    st.lists(
        st.builds(
            Load,
            st.just("s"),
            st.integers(1, 64),
            st.none() | st.floats(0, 1e9),
            st.none() | st.integers(0, 10**9),
            st.none() | st.floats(1, 1e9),
        ),
        max_size=4,
    ),
    st.integers(0, 100),
    st.floats(0, 0.9),
    st.integers(0, 10),
    st.integers(0, 10),
)
def test_it_is_always_within_what_the_job_allows(
    loads: list[Load], there: int, headroom: float, least: int, more: int
) -> None:
    size = Executors(min=least, max=least + more)
    assert size.min <= needed(size, headroom, loads, there).executors <= size.max
