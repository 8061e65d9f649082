"""Whatever the load, the wishes and the faults: no record is lost, and more slots are never worse."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
import simulated
from spillway.model.operators import Paradigm
from spillway.simulation import fluid, traces
from spillway.simulation.jobs import Blind, Death, Fault, Job, Mechanism, Platform, Slow, Start
from spillway.simulation.policies import SegmentWish, Static, Wish
from spillway.simulation.traces import Shape, Trace

LENGTH = 20.0
NAMES = ("s0", "s1", "s2")


@st.composite
def loads(draw: st.DrawFn, source: str = "events") -> Trace:
    times = sorted(draw(st.sets(st.integers(1, int(LENGTH) - 1), max_size=4)))
    rates = draw(st.lists(st.floats(0, 3000), min_size=len(times) + 2, max_size=len(times) + 2))
    return Trace((0.0, *map(float, times), LENGTH), {source: tuple(rates)}, draw(st.sampled_from(Shape)))


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    job = simulated.line(len(NAMES), cost=1e-3)
    batchable = frozenset(draw(st.sets(st.sampled_from(NAMES))))
    shares = frozenset(draw(st.sampled_from([(), (), NAMES[:2]])))
    return dataclasses.replace(
        job, batchable=batchable, speedup=dict.fromkeys(batchable, draw(st.floats(0.5, 5))), shares=shares
    )


PLATFORMS = st.builds(
    Platform,
    start=st.floats(0, 4),
    pause=st.floats(0.1, 0.5),
    mechanism=st.sampled_from(Mechanism),
    rebalance=st.floats(0, 3),
    restart=st.floats(0, 4),
    interval=st.floats(0.05, 0.5),
    schedule=st.floats(0, 0.1),
    core_start=st.floats(0, 3),
    cores=st.integers(0, 2),
    slots_most=st.integers(3, 12),
    cores_most=st.just(3),
)
WISHES = st.lists(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.builds(
            SegmentWish, st.integers(-1, 5), st.sampled_from([Paradigm.RECORD, Paradigm.BATCH]), st.integers(0, 3)
        ),
        max_size=3,
    ),
    min_size=1,
    max_size=6,
)
SEGMENT = st.sampled_from(NAMES)
FAULTS = st.lists(
    st.one_of(
        st.builds(Death, st.floats(0, LENGTH), SEGMENT),
        st.builds(Slow, st.floats(0, LENGTH), SEGMENT, st.floats(0, 10), st.floats(0, 1)),
        st.builds(Blind, st.floats(0, LENGTH), st.floats(0, 10), st.none()),
    ),
    max_size=4,
)


class Restless:
    """Wishes for something else each time."""

    def __init__(self, wishes: list[dict[str, SegmentWish]]) -> None:
        self._policy = simulated.Scripted(lambda at: Wish(wishes[round(at) % len(wishes)], shared=round(at) % 3))
        self.every, self.decide = self._policy.every, self._policy.decide


@given(jobs(), loads(), WISHES, PLATFORMS, FAULTS)
@fuzzing.cases(60)
def test_every_record_is_done_or_waits_whatever_is_wished_and_fails(
    job: Job, load: Trace, wishes: list[dict[str, SegmentWish]], platform: Platform, faults: list[Fault]
) -> None:
    start = {name: Start(1) for name in job.segments}
    run = fluid.run(job, load, Restless(wishes), start, platform, faults=faults, shared=1)

    assert run.totals.sent == pytest.approx(load.records("events", LENGTH))
    assert run.totals.done + run.totals.queued == pytest.approx(run.totals.sent, abs=1e-6)
    assert 0 <= run.totals.within <= 1 + 1e-9
    for row in run.rows:
        assert row.slots >= 0
        assert 0 <= row.cores <= 3
        assert all(segment.queue >= -1e-6 and segment.slots >= 0 for segment in row.segments.values())


@given(loads(), WISHES, PLATFORMS, FAULTS, st.integers(0, 3))
@fuzzing.cases(15)
def test_the_same_seed_gives_the_same_run(
    load: Trace, wishes: list[dict[str, SegmentWish]], platform: Platform, faults: list[Fault], seed: int
) -> None:
    job = simulated.line(3)
    start = {name: Start(1) for name in job.segments}

    first, again = (fluid.run(job, load, Restless(wishes), start, platform, faults=faults, seed=seed) for _ in range(2))

    assert first == again


@given(loads(), st.integers(1, 4), st.integers(0, 3), FAULTS)
@fuzzing.cases(30)
def test_more_slots_are_never_worse(load: Trace, slots: int, more: int, faults: list[Fault]) -> None:
    job = simulated.line(3)
    slower = [fault for fault in faults if not isinstance(fault, Death | Slow)]  # of fewer slots each is a larger part

    few, many = (
        fluid.run(job, load, Static(), dict.fromkeys(job.segments, Start(n)), faults=slower)
        for n in (slots, slots + more)
    )

    assert many.totals.within >= few.totals.within - 1e-3
    for before, after in zip(few.rows, many.rows, strict=True):
        assert after.queue <= before.queue + 1e-6
        assert after.latency <= before.latency + fluid.STEP


@given(loads(), st.integers(1, 3))
@fuzzing.cases(30)
def test_no_record_is_quicker_than_the_base(load: Trace, slots: int) -> None:
    job = simulated.line(3)
    run = fluid.run(job, load, Static(), dict.fromkeys(job.segments, Start(slots)))

    assert all(row.latency >= 3 * 1e-3 for row in run.rows if row.done > 0)  # three times the cost of a record


@given(st.one_of(loads(), loads("other")))
@fuzzing.cases(50)
def test_a_trace_that_was_written_is_read_again(load: Trace) -> None:
    again = traces.read(traces.write(load))

    (source,) = load.sources
    assert again.length == load.length
    for at in range(21):
        assert again.records(source, at) == pytest.approx(load.records(source, at), rel=1e-3, abs=10)
