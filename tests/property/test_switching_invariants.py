"""Whatever is measured, switching answers; and what it decides is within its own rules."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import math

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bursting import NOON, TICK, Fluid
from spillway.controllers.switching import bursts, point, ranges, rules
from spillway.controllers.switching.bursts import Burst
from spillway.controllers.switching.decision import decide
from spillway.controllers.switching.measurements import Costs, Measurement, Node, Observation
from spillway.controllers.switching.verdicts import Action, History, Reason
from spillway.model.execution import Mode, Policy
from spillway.model.operators import Paradigm

ANY = st.one_of(st.floats(), st.integers(-(10**20), 10**20))
TIMES = st.sampled_from([-1, 0, 0.001, 0.1, 1, 1e6]).map(lambda s: datetime.timedelta(seconds=s))
NAIVE = NOON.replace(tzinfo=None)
WHENEVER = st.sampled_from([NOON, NOON - TICK, NOON - 20 * TICK, NOON + 60 * TICK, NAIVE])
ODD = st.builds(
    Measurement,
    WHENEVER,
    TIMES,
    ANY,
    ANY,
    ANY,
    st.builds(Costs, TIMES, TIMES, TIMES, TIMES),
    st.none() | ANY,
)
RATES = st.floats(0, 1e7)
CAPACITIES = st.floats(1, 1e7)
SPANS = st.floats(0.001, 5).map(lambda s: datetime.timedelta(seconds=s))
SANE = st.builds(
    Measurement,
    st.just(NOON),
    st.just(TICK),
    RATES,
    RATES,
    CAPACITIES,
    st.builds(Costs, SPANS, SPANS, SPANS, SPANS),
    st.none() | CAPACITIES,
)
DELTAS = st.floats(0.01, 0.9)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Node, ...]:
    """Operators that read some of those before them, some fused into a segment with the first that they read."""
    nodes: list[Node] = []
    for i in range(draw(st.integers(1, 7))):
        reads = tuple(draw(st.lists(st.sampled_from([n.name for n in nodes]), max_size=3))) if nodes else ()
        fused = next((n.head or n.name for n in nodes if reads and n.name == reads[0]), None)
        nodes.append(
            Node(
                f"o{i}",
                reads or ("stream",),
                fused if len(set(reads)) == 1 and draw(st.booleans()) else None,
                draw(st.sampled_from([Paradigm.RECORD, Paradigm.BATCH])),
                draw(st.sampled_from([Paradigm.AUTO, Paradigm.AUTO, Paradigm.RECORD, Paradigm.BATCH])),
                draw(st.sampled_from([True, True, True, False])),
                draw(st.none() | ANY | st.floats(0, 4)),
            )
        )
    return tuple(nodes)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    graphs(),
    st.lists(st.lists(st.none() | ODD, min_size=7, max_size=7), min_size=1, max_size=3),
    WHENEVER,
    st.booleans(),
)
def test_it_never_raises_and_always_says_why(
    nodes: tuple[Node, ...], ticks: list[list[Measurement | None]], now: datetime.datetime, advise: bool
) -> None:
    history, policy = History(), Policy(mode=Mode.ADVISE if advise else Mode.APPLY)
    for measured in ticks:
        observation = Observation(nodes, {n.name: m for n, m in zip(nodes, measured, strict=False) if m})
        found = decide(observation, policy, history, now)
        assert found.sentence
        assert (found.to is not None) == bool(found.operators)
        assert (found.to is not None) == (found.action in (Action.TO_BATCH, Action.TO_RECORD, Action.ADVISE))
        assert found.reason in {verdict.reason for verdict in found.verdicts} | {
            Reason.IN_PROGRESS,
            Reason.NO_OPERATORS,
        }
        assert found == decide(observation, policy, history, now)
        history = found.history


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs(), st.lists(st.none() | SANE, min_size=7, max_size=7), DELTAS)
def test_what_goes_to_batches_may_and_is_measured_to_be_faster(
    nodes: tuple[Node, ...], measured: list[Measurement | None], delta: float
) -> None:
    observation = Observation(nodes, {n.name: m for n, m in zip(nodes, measured, strict=False) if m})
    found = decide(observation, Policy(hysteresis=delta), History(), NOON)
    if found.action is Action.TO_BATCH:
        assert found.point is not None
        m = observation.measured[found.point]
        assert m.batch_capacity is not None
        assert m.batch_capacity > m.rate
        assert m.batch_capacity > m.record_capacity
        by_batch = point.latency_batch(0, m.rate, m.batch_capacity, m.costs)
        assert point.latency_record(m.queue, m.record_capacity, m.costs) > by_batch
        assert all(observation[name].may_batch for name in found.operators)
        assert found.point in found.operators
    assert found.action is not Action.TO_RECORD, "nothing has been calm for any time yet"


@given(RATES, CAPACITIES, CAPACITIES, st.builds(Costs, SPANS, SPANS, SPANS, SPANS), DELTAS)
def test_the_point_is_where_both_latencies_meet_and_lies_between_its_thresholds(
    v: float, p_d: float, p_o: float, costs: Costs, delta: float
) -> None:
    found = point.switch_point(v, p_d, p_o, costs, delta)
    assert found.down <= found.switch <= found.up
    by_record, by_batch = point.latency_record(found.switch, p_d, costs), point.latency_batch(0, v, p_o, costs)
    assert math.isclose(by_record, by_batch, rel_tol=1e-9, abs_tol=1e-6)


@given(st.lists(st.sampled_from([0, 0.1, 0.5, 0.625, 1, 2, 8]), min_size=2, max_size=8), st.data())
@example([8, 0.625, 1, 0.1, 1], None)
def test_on_every_chain_the_range_is_that_of_equation_8(selectivities: list[float], data: st.DataObject | None) -> None:
    p = data.draw(st.integers(2, len(selectivities))) if data else 2
    nodes = [Node(str(i), (str(i - 1),), selectivity=s) for i, s in enumerate(selectivities, 1)]
    products = list(itertools.accumulate(selectivities[p - 2 :], lambda a, b: a * b))[1:]
    first = next((i for i, product in enumerate(products) if product < 1), len(products) - 1)

    assert ranges.switch_range(Observation(tuple(nodes), {}), str(p)) == tuple(str(p + i) for i in range(first + 1))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs())
def test_a_range_hangs_together_starts_at_a_head_and_holds_only_what_may_run_in_batches(
    nodes: tuple[Node, ...],
) -> None:
    observation = Observation(nodes, {})
    for node in nodes:
        found = ranges.switch_range(observation, node.name)
        if not found:
            continue
        assert node.name in found
        assert (node.head or node.name) in found
        assert all(observation[name].may_batch for name in found)
        for name in found:
            assert name == (node.head or node.name) or set(observation[name].reads) & set(found)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(RATES, st.floats(0.05, 1)), max_size=60))
def test_a_detector_stays_finite_and_its_rate_within_what_it_saw(ticks: list[tuple[float, float]]) -> None:
    state, seen = Burst(), [0.0]
    for rate, span in ticks:
        state = bursts.observe(state, rate, datetime.timedelta(seconds=span))
        seen.append(rate)
        assert all(math.isfinite(value) for value in (state.mean, state.variance, state.peak, state.up, state.down))
        assert -1e-6 <= state.rate <= max(seen) * (1 + 1e-9)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.floats(10, 1e5), st.floats(0, 0.1), st.integers(0, 2**31))
def test_even_arrivals_are_never_a_burst(rate: float, wander: float, seed: int) -> None:
    state = Burst()
    for i in range(120):
        share = ((seed * 31 + i * 7919) % 1000) / 1000 - 0.5
        state = bursts.observe(state, rate * (1 + wander * share), TICK)
        assert not state.raised


LEVELS = st.lists(st.tuples(st.floats(0, 3500), st.integers(1, 100)), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LEVELS, DELTAS)
def test_under_any_load_a_range_stays_in_batches_for_the_pause_and_comes_back_to_room(
    levels: list[tuple[float, int]], delta: float
) -> None:
    job = Fluid(Policy(hysteresis=delta))
    ends = list(itertools.accumulate(ticks for _, ticks in levels))

    def rate(t: float) -> float:
        return next((level for (level, _), end in zip(levels, ends, strict=True) if t < end * 0.2), levels[-1][0])

    job.run(rate, ends[-1] * 0.2)
    assert all(a[1].to is not b[1].to for a, b in itertools.pairwise(job.switches))
    for (up, first), (down, second) in itertools.pairwise(job.switches):
        if first.to is Paradigm.BATCH:
            assert down - up >= rules.CALM.total_seconds()
            assert float(dict(second.inputs)["V"].removesuffix("/s")) <= (1 - max(delta, rules.ROOM)) * job.p_d + 1


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.floats(0.95, 1.05), st.floats(0.95, 1.05), st.floats(0.4, 120), DELTAS)
def test_a_rate_that_stays_within_5_percent_of_the_threshold_switches_at_most_once(
    low: float, high: float, period: float, delta: float
) -> None:
    job = Fluid(Policy(hysteresis=delta))
    job.run(lambda t: job.p_d * (high if t % period < period / 2 else low), 120)
    assert len(job.switches) <= 1


@given(SANE)
def test_order_and_age_of_an_unrelated_operator_change_nothing(m: Measurement) -> None:
    views, silent = Node("views", ("s",), selectivity=1), Node("silent", ("s",))
    alone = decide(Observation((views,), {"views": m}), Policy(), History(), NOON)
    beside = decide(Observation((silent, views), {"views": m}), Policy(), History(), NOON)
    if alone.action is not Action.HOLD:
        assert dataclasses.replace(beside, verdicts=(), history=History()) == dataclasses.replace(
            alone, verdicts=(), history=History()
        )
