"""Whatever is measured, a tick decides: it never raises, and without telemetry it changes nothing."""

from __future__ import annotations

import datetime
import math

from hypothesis import given
from hypothesis import strategies as st

import fuzzing
from spillway.controllers import assignment, explain, tick
from spillway.controllers.balancing import Slot
from spillway.controllers.costmodel.flow import Costs, Flow, Node
from spillway.controllers.planning.problem import Problem, Promise, Room
from spillway.controllers.protocol.values import Partition
from spillway.controllers.provisioning import Arrivals
from spillway.controllers.switching import measurements
from spillway.controllers.switching.measurements import Measurement
from spillway.controllers.tick import History, Observation
from spillway.model.execution import Policy
from spillway.model.operators import Paradigm

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
TICK = datetime.timedelta(milliseconds=200)
NAMES = ("events", "views", "counts")
PROBLEM = Problem(
    Flow(
        [
            Node.operator("events", (), Costs(1e-6, 0, 1e-6, 1, 100)),
            Node.operator("views", ("events",), Costs(5e-6, 7e-6, 3e-6, 0.5, 20)),
            Node.operator("counts", ("views",), Costs(3e-6, 7e-6, 0, 1, 20)),
        ]
    ),
    {"events": 0.0},
    Promise(0.5, 0.99),
    Room(8, 2),
    headroom=0.2,
)
numbers = st.one_of(st.sampled_from([0.0, -1.0, math.nan, math.inf, -math.inf, 1e300, 1e-300]), st.floats(0, 200_000))
times = st.sampled_from([NOON, NOON - TICK, NOON - 20 * TICK, NOON + 100 * TICK, NOON.replace(tzinfo=None)])
spans = st.sampled_from([TICK, 0 * TICK, -TICK])
costs = st.builds(measurements.Costs, spans, spans)
measured = st.builds(Measurement, times, spans, numbers, numbers, numbers, costs, st.none() | numbers)
arrivals = st.none() | st.builds(Arrivals, times, spans, numbers)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    nodes = tuple(
        measurements.Node(
            name,
            NAMES[max(0, i - 1) : i],
            paradigm=draw(st.sampled_from([Paradigm.RECORD, Paradigm.BATCH])),
            batchable=draw(st.booleans()),
            selectivity=draw(st.none() | numbers),
        )
        for i, name in enumerate(NAMES)
    )
    found = {name: m for name in NAMES if (m := draw(st.none() | measured)) is not None}
    partitions = [Partition("views", n) for n in range(4)]
    return Observation(
        measurements.Observation(nodes, found, draw(st.booleans())),
        {"events": draw(arrivals)},
        {p: draw(st.none() | numbers) for p in partitions},
        assignment.slots(draw(st.integers(0, 3)), 1),
        {p: Slot(draw(st.integers(0, 3)), 0) for p in partitions if draw(st.booleans())},
    )


@fuzzing.cases(60)
@given(st.lists(observations(), min_size=1, max_size=6))
def test_no_telemetry_makes_a_tick_raise(seen: list[Observation]) -> None:
    history = History()
    for n, observation in enumerate(seen):
        now = NOON + n * TICK
        found = tick.decide(observation, PROBLEM, Policy(), history, now)
        assert found == tick.decide(observation, PROBLEM, Policy(), history, now)
        assert all(explain.told(part) for part in found.parts)
        assert found.provision.slots is None or 1 <= found.provision.slots <= PROBLEM.room.slots
        assert found.provision.cores is None or 0 <= found.provision.cores <= PROBLEM.room.cores
        history = found.history


@fuzzing.cases(30)
@given(st.lists(observations(), min_size=1, max_size=4))
def test_without_a_source_nothing_is_planned(seen: list[Observation]) -> None:
    history = History()
    for n, observation in enumerate(seen):
        blind = Observation(observation.operators, {}, observation.loads, observation.owners, observation.current)
        found = tick.decide(blind, PROBLEM, Policy(), history, NOON + n * TICK)
        assert (found.provision.planned, found.provision.slots) == (None, None)
        history = found.history
