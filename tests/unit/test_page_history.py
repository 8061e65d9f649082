"""The past of a job, as a page has it when it is opened: a sample for each second, ten minutes of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import observations
from spillway.model.observation import Observation
from spillway.model.operators import Paradigm
from spillway.runtime.page import history
from spillway.runtime.page.history import History


def seen(at: float, **changes: Any) -> Observation:
    return observations.word_count(at=observations.NOON + at, **changes)


def kept(past: History) -> list[float]:
    return [sample.at - observations.NOON for sample in past.past.samples]


def test_there_is_one_sample_for_each_second() -> None:
    past = History()

    taken = [past.take(seen(at)) is not None for at in (0.0, 0.25, 0.75, 1.25, 1.5, 2.0)]

    assert taken == [True, False, False, True, False, True]
    assert kept(past) == [0.0, 1.25, 2.0]


def test_the_oldest_ones_go() -> None:
    past = History(seconds=3)

    for at in range(10):
        past.take(seen(at))

    assert kept(past) == [7, 8, 9]


def test_ten_minutes_are_kept() -> None:
    past = History()

    for at in range(700):
        past.take(seen(at))

    assert len(kept(past)) == history.SECONDS == 600


@pytest.mark.parametrize("back", [0.0, -5.0])
def test_what_is_no_newer_is_not_kept(back: float) -> None:
    past = History()
    past.take(seen(10))

    assert past.take(seen(10 + back)) is None


def test_a_sample_has_latency_rates_and_each_segment() -> None:
    segments = observations.word_count().segments
    batched = (msgspec.structs.replace(segments[0], paradigm=Paradigm.BATCH), segments[1])

    found = history.sample(seen(0, segments=batched))

    assert (found.within, found.p50_ms, found.p99_ms) == (0.9998, 8.0, 45.2)
    assert (found.rate_in, found.rate_out) == (1200.0, 9600.0)
    assert [(one.name, one.paradigm, one.rate_in, one.lag, one.busy) for one in found.segments] == [
        ("words", "batch", 1200.0, 0, 0.31),
        ("counts", "record", 9600.0, 312, 0.37),
    ]


def test_what_nobody_measured_stays_unknown() -> None:
    found = history.sample(observations.idle())

    assert (found.within, found.p50_ms, found.p99_ms) == (None, None, None)
