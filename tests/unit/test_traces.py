"""Traces are read with the line of what is wrong, and say how many records come."""

from __future__ import annotations

import math

import pytest

from spillway.simulation import shapes, traces
from spillway.simulation.traces import Shape, Trace

LINES = Trace((0.0, 10.0, 30.0), {"a": (0.0, 100.0, 50.0), "b": (7.0, 7.0, 7.0)})
STEPS = Trace((0.0, 10.0, 30.0), {"a": (5.0, 100.0, 50.0)}, Shape.STEPS)


@pytest.mark.parametrize(
    ("trace", "at", "rate"),
    [
        (LINES, 0.0, 0.0),
        (LINES, 5.0, 50.0),
        (LINES, 10.0, 100.0),
        (LINES, 20.0, 75.0),
        (LINES, 99.0, 50.0),
        (STEPS, 9.999, 5.0),
        (STEPS, 10.0, 100.0),
        (STEPS, 29.0, 100.0),
        (STEPS, 30.0, 50.0),
    ],
)
def test_between_two_points_is_a_line_or_a_step(trace: Trace, at: float, rate: float) -> None:
    assert trace.rate(at, "a") == pytest.approx(rate)


def test_the_rate_of_all_sources_is_their_sum_and_so_is_the_peak() -> None:
    assert LINES.rate(5.0) == pytest.approx(57.0)
    assert LINES.peak == pytest.approx(107.0)


@pytest.mark.parametrize(
    ("trace", "until", "records"),
    [(LINES, 0.0, 0.0), (LINES, 10.0, 500.0), (LINES, 20.0, 1375.0), (LINES, 40.0, 2500.0), (STEPS, 11.0, 150.0)],
)
def test_records_are_the_area_under_the_rate(trace: Trace, until: float, records: float) -> None:
    assert trace.records("a", until) == pytest.approx(records)


def test_what_was_written_is_read_again() -> None:
    assert traces.read(traces.write(LINES)) == LINES


def test_written_steps_are_steps_that_take_a_moment() -> None:
    again = traces.read(traces.write(STEPS))

    for at in (0.0, 5.0, 9.9, 10.0, 29.9, 30.0):
        assert again.rate(at) == pytest.approx(STEPS.rate(at))
    assert again.records("a", 40.0) == pytest.approx(STEPS.records("a", 40.0), rel=1e-3)


def test_a_file_without_names_has_one_source() -> None:
    assert traces.read("# by hand\n0,10\n\n5,20\n").rates == {"rate": (10.0, 20.0)}


def test_a_file_with_names_has_a_source_for_each() -> None:
    assert traces.read("seconds,views, clicks\n0,10,1\n5,20,2").rates == {"views": (10.0, 20.0), "clicks": (1.0, 2.0)}


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "nothing": ("", "the trace is empty"),
        "only a comment": ("# nothing\n", "the trace is empty"),
        "one column": ("5\n", "line 1: '5' has one column"),
        "no name for the second rate": ("0,1,2\n", "line 1: 2 rates"),
        "the same name twice": ("seconds,a,a\n", "line 1: every column needs a name of its own"),
        "no name": ("seconds,a,\n", "line 1: every column needs a name of its own"),
        "a missing cell": ("seconds,a,b\n0,1\n", "line 2: 2 columns, and there should be 3: seconds, a, b"),
        "a word": ("0,1\n1,many\n", "line 2: rate is 'many'"),
        "a negative rate": ("0,1\n1,-1\n", "line 2: rate is '-1'"),
        "a negative time": ("-1,1\n", "line 1: seconds is '-1'"),
        "an infinite rate": ("0,inf\n", "line 1: rate is 'inf'"),
        "no number": ("0,nan\n", "line 1: rate is 'nan'"),
        "a time that is none": ("0,1\nnan,1\n", "line 2: seconds is 'nan'"),
        "too much": ("0,1e13\n", "line 1: rate is '1e13'"),
        "the same time twice": ("0,1\n5,2\n5,3\n", "line 3: 5 s is not after 5 s"),
        "back in time": ("0,1\n5,2\n4,3\n", "line 3: 4 s is not after 5 s"),
    }.values(),
)
def test_a_mistake_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        traces.read(text)


def test_a_trace_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "MOST_POINTS", 3)

    assert len(traces.read("0,1\n1,1\n2,1\n").times) == 3
    with pytest.raises(ValueError, match="line 4: a trace has at most 3 points"):
        traces.read("0,1\n1,1\n2,1\n3,1\n")


@pytest.mark.parametrize(
    ("times", "rates"),
    [
        ((), {"a": ()}),
        ((0.0,), {}),
        ((0.0, 1.0), {"a": (1.0,)}),
        ((1.0, 1.0), {"a": (1.0, 1.0)}),
        ((0.0, math.inf), {"a": (1.0, 1.0)}),
        ((0.0,), {"a": (math.nan,)}),
    ],
)
def test_what_is_no_trace_is_refused(times: tuple[float, ...], rates: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(ValueError, match=r"time|rate"):
        Trace(times, rates)


def test_one_source_can_be_renamed_and_two_can_not() -> None:
    assert STEPS.to("events").rate(12.0, "events") == 100.0
    with pytest.raises(ValueError, match="only one with a single source"):
        LINES.to("events")


@pytest.mark.parametrize("name", shapes.BUILT_IN)
def test_a_built_in_trace_lasts_as_long_as_it_should_and_stays_within_its_rates(name: str) -> None:
    trace = shapes.BUILT_IN[name](1000.0, 5000.0, 600.0, 3)

    assert trace.length == 600.0
    assert min(trace.rates["rate"]) >= 900.0
    assert 2000.0 < trace.peak <= 5600.0


@pytest.mark.parametrize("name", sorted(set(shapes.BUILT_IN) - {"steps"}))
def test_what_is_random_depends_on_the_seed_alone(name: str) -> None:
    first, again, other = (shapes.BUILT_IN[name](1000.0, 5000.0, 600.0, seed) for seed in (3, 3, 4))

    assert first == again
    assert first != other


def test_a_flash_crowd_comes_within_seconds_and_goes_slowly() -> None:
    trace = shapes.flash(1000.0, 10000.0, 3600.0)

    assert trace.rate(710.0) < 1100
    assert trace.rate(740.0) > 8500
    assert trace.rate(1500.0) > 2500
