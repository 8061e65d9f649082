"""What holds of predicted latencies for any graph, costs, rates and frames."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillway.controllers.costmodel import bottlenecks
from spillway.controllers.costmodel.flow import CORE, Costs, Flow, Node, Setting, Slot
from spillway.controllers.latency import batches, filling, moments, paths, queueing, segments, windows
from spillway.controllers.latency.batches import Engine
from spillway.controllers.latency.moments import ZERO, Moments
from spillway.controllers.latency.prediction import Prediction, predict
from spillway.controllers.latency.queueing import Variability
from spillway.controllers.latency.windows import Window
from spillway.model.operators import Paradigm

ROUNDING = 1e-9  # relative, of sums of floats
SOME = hypothesis.settings(max_examples=30, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
SECONDS = st.sampled_from([0.0, 0.001, 0.01]) | st.floats(0, 0.02)
SELECTIVITIES = st.sampled_from([0.0, 0.5, 1.0, 2.0]) | st.floats(0, 2)
RATES = st.sampled_from([0.0, 1.0, 100.0]) | st.floats(0, 300)
TIMES = st.sampled_from([0.0, 0.001, 1.0, math.inf]) | st.floats(0, 10)
SCVS = st.sampled_from([0.0, 0.5, 1.0, 4.0]) | st.floats(0, 10)
LOADS = st.floats(0.001, 0.999)
HIGH = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999]) | st.floats(0.5, 0.9999)
FRAMES = st.sampled_from([1, 2, 10, 1000]) | st.integers(1, 100_000)


@dataclasses.dataclass(frozen=True)
class Case:
    """All that `predict` is asked with."""

    nodes: tuple[Node, ...]
    settings: dict[str, Setting]
    workload: dict[str, float]
    other: dict[str, Any]

    @property
    def flow(self) -> Flow:
        return Flow(self.nodes)

    def predict(self, **changed: Any) -> Prediction:
        return predict(self.flow, self.settings, self.workload, **{**self.other, **changed})


@st.composite
def cases(draw: st.DrawFn, *, windowed: bool = True) -> Case:
    """Up to six nodes; each reads any earlier ones, or is a source; some in batches, some with windows."""
    nodes: list[Node] = []
    for i in range(draw(st.integers(1, 6))):
        inputs = draw(st.lists(st.integers(0, i - 1), max_size=3)) if i else []
        costs = Costs(draw(SECONDS), draw(SECONDS), draw(SECONDS), draw(SELECTIVITIES), draw(st.sampled_from([0, 100])))
        nodes.append(Node.operator(f"n{i}", [f"n{j}" for j in inputs], costs))
    names = [node.name for node in nodes]
    frames = st.builds(Setting, st.integers(1, 4), st.sampled_from([1, 2, 10, 100]))
    paradigms = st.dictionaries(st.sampled_from(names), st.sampled_from([Paradigm.RECORD, Paradigm.BATCH]))
    asked = st.dictionaries(st.sampled_from(names), st.builds(Window, st.integers(1, 50), SECONDS))
    return Case(
        tuple(nodes),
        {name: draw(frames) for name in names},
        {node.name: draw(RATES) for node in nodes if node.is_source},
        {
            "deadlines": draw(st.dictionaries(st.sampled_from(names), TIMES)),
            "paradigms": draw(paradigms),
            "windows": draw(asked) if windowed else {},
            "variability": draw(st.dictionaries(st.sampled_from(names), st.builds(Variability, SCVS, SCVS))),
            "slot": draw(st.sampled_from([CORE, Slot(speed=2.0), Slot(network=1e6, sharing=3)])),
            "cores": draw(st.sampled_from([None, 1, 2])),
            "hop": draw(st.sampled_from([ZERO, Moments(0.002, 1e-6)])),
            "engines": {name: Engine(0.5, Moments(0.05, 0.001), 2.0) for name in names},
            "observed": draw(st.booleans()),
        },
    )


def at_most(less: float, more: float) -> bool:
    return less <= more * (1 + ROUNDING) + 1e-12


# The whole


@SOME
@given(cases(), HIGH)
def test_a_latency_is_never_negative_and_never_no_number(case: Case, x: float) -> None:
    found = case.predict()
    numbers = [found.mean, found.variance, found.quantile(x)]
    numbers += [m.mean for part in found.segments.values() for m in part.phases.values()]

    assert all(number >= 0 for number in numbers)  # false for NaN too


@SOME
@given(cases())
def test_phases_and_segments_add_up_to_the_whole(case: Case) -> None:
    found = case.predict()
    total = sum((part.moments for part in found.segments.values()), ZERO)

    for whole in (found.phases.moments, total):
        assert whole.mean == pytest.approx(found.mean, rel=ROUNDING)
        assert whole.variance == pytest.approx(found.variance, rel=ROUNDING, abs=1e-15)
    assert tuple(found.segments) == found.path


@SOME
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_what_is_asked_does_not_matter(case: Case, chance: random.Random) -> None:
    def shuffled(mapping: dict[str, Any]) -> dict[str, Any]:
        return dict(chance.sample(sorted(mapping.items()), len(mapping)))

    nodes = [dataclasses.replace(n, inputs=tuple(chance.sample(n.inputs, len(n.inputs)))) for n in case.nodes]
    chance.shuffle(nodes)
    other: dict[str, Any] = {k: shuffled(v) if isinstance(v, dict) else v for k, v in case.other.items()}

    assert predict(Flow(nodes), shuffled(case.settings), shuffled(case.workload), **other) == case.predict()


def every_way(flow: Flow, found: segments.Segments, node: Node) -> Iterator[tuple[tuple[str, ...], Moments]]:
    """By hand: all ways to a node, however many."""
    if node.is_source:
        yield (node.name,), found.stays[node.name].moments
    for name in set(node.inputs):
        for path, so_far in every_way(flow, found, flow.owners[name]):
            trip = found.trips[name, node.name].moments
            yield (*path, node.name), so_far + trip + found.stays[node.name].moments


@SOME
@given(cases(windowed=False), HIGH)
def test_no_way_is_worse_than_the_prediction(case: Case, x: float) -> None:
    flow, seen = case.flow, case.predict(at=x)
    batches = {n: e for n, e in case.other["engines"].items() if case.other["paradigms"].get(n) is Paradigm.BATCH}
    around = segments.Circumstances(
        settings=case.settings,
        engines=batches,
        partitions={},
        shared={},
        cores=case.other["cores"] or int(case.other["slot"].sharing),
        **{name: case.other[name] for name in ("deadlines", "variability", "slot", "hop")},
    )
    found = segments.of(flow, case.workload, around)
    ways = [way for node in flow.nodes if not flow.is_read(node) for way in every_way(flow, found, node)]
    worst = max(way.quantile(x, observed=seen.observed) for _, way in ways)

    assert seen.quantile(x) == pytest.approx(worst, rel=ROUNDING)
    assert seen.path in [path for path, _ in ways]


@SOME
@given(cases(), HIGH)
def test_cantelli_is_no_less_than_normal_and_normal_no_less_than_the_mean(case: Case, x: float) -> None:
    observed, unobserved = case.predict(observed=True), case.predict(observed=False)

    assert at_most(observed.quantile(x), unobserved.quantile(x))
    assert at_most(observed.mean, observed.quantile(x))
    assert at_most(observed.p95, observed.p99)


@SOME
@given(cases(windowed=False))
def test_what_has_more_than_it_can_do_takes_for_ever_and_nothing_else_does(case: Case) -> None:
    settings = {name: Setting(setting.parallelism, 1) for name, setting in case.settings.items()}
    case = dataclasses.replace(case, settings=settings)
    found = case.predict(paradigms={}, cores=3)  # a core for each slot, and frames of one, which do not wait
    works = bottlenecks.follow(case.flow, settings, case.workload, case.other["slot"], limited=False)

    assert (found.mean == math.inf) == any(work.demand.most >= work.slots for work in works)


@SOME
@given(cases(), st.floats(1, 4))
def test_a_longer_hop_is_never_faster(case: Case, factor: float) -> None:
    hop = Moments(0.002, 1e-6)
    longer = Moments(hop.mean * factor, hop.variance * factor)

    assert at_most(case.predict(hop=hop).p99, case.predict(hop=longer).p99)


@SOME
@given(cases(), st.floats(1, 4))
def test_more_load_is_never_faster_when_frames_do_not_wait(case: Case, factor: float) -> None:
    settings = {name: Setting(setting.parallelism, 1) for name, setting in case.settings.items()}
    random_arrivals = {name: Variability(1.0, 1.0) for name in settings}
    before = dataclasses.replace(case, settings=settings)
    after = dataclasses.replace(before, workload={name: rate * factor for name, rate in case.workload.items()})
    without_network = {"slot": CORE, "variability": random_arrivals}
    busy = {name for name, rate in case.workload.items() if rate}
    hypothesis.assume(busy == set(case.workload))  # what is idle is priced as if the dearest came

    assert at_most(before.predict(**without_network).p99, after.predict(**without_network).p99)


def test_a_ladder_of_diamonds_has_an_answer() -> None:
    nodes = [Node.operator("n0", [], Costs(cpu=0.001))]
    for i in range(40):  # 2^40 ways
        nodes += [Node.operator(f"{side}{i}", [f"n{i}"], Costs(cpu=0.001 * (1 + k))) for k, side in enumerate("ab")]
        nodes.append(Node.operator(f"n{i + 1}", [f"a{i}", f"b{i}"], Costs(cpu=0.0001, selectivity=0.5)))
    found = predict(Flow(nodes), {node.name: Setting(1, 1) for node in nodes}, {"n0": 100.0})

    assert found.path == tuple(itertools.chain(["n0"], *((f"b{i}", f"n{i + 1}") for i in range(40))))
    assert len(found.ways) <= paths.MOST_WAYS


# The parts


@SOME
@given(FRAMES, st.floats(0, 1e6), TIMES, st.floats(0, 1))
def test_a_shorter_deadline_never_makes_a_record_wait_longer(b: int, r: float, d: float, share: float) -> None:
    hypothesis.assume(d < math.inf)
    longer, shorter = filling.fill(b, r, d), filling.fill(b, r, d * share)

    assert shorter.wait.mean <= longer.wait.mean * 1.002 + 1e-12  # 0.2 % where the approximation begins
    assert shorter.records <= longer.records * 1.002
    assert longer.wait.mean <= d * (1 + ROUNDING)


@SOME
@given(FRAMES, st.floats(0, 1e6), TIMES)
def test_a_frame_has_between_one_and_b_records_and_nobody_waits_longer_than_its_time(
    b: int, r: float, d: float
) -> None:
    found = filling.fill(b, r, d)
    hypothesis.assume(found.wait.finite)

    assert 1 <= found.records <= b * (1 + ROUNDING)
    assert 0 <= found.rhythm <= 1
    assert found.wait.mean <= min(d, (b - 1) / 2 / r if r else math.inf) * (1 + 1e-3) or found.wait.mean <= d
    assert found.wait.variance <= d * d / 4 * (1 + ROUNDING) or d == math.inf  # Popoviciu, for what is within (0, D)


@SOME
@given(LOADS, LOADS, SCVS, SCVS)
def test_a_busier_queue_never_waits_less(one: float, other: float, ca: float, cs: float) -> None:
    less, more = sorted((one, other))

    assert at_most(queueing.wait(less, 1.0, ca, cs).mean, queueing.wait(more, 1.0, ca, cs).mean)


@SOME
@given(LOADS, SCVS, SCVS, st.floats(0.001, 1000))
def test_a_queue_does_not_depend_on_the_unit_of_time(load: float, ca: float, cs: float, unit: float) -> None:
    one, scaled = queueing.wait(load, 1.0, ca, cs), queueing.wait(load / unit, unit, ca, cs)

    assert scaled.mean == pytest.approx(one.mean * unit, rel=1e-6)
    assert scaled.deviation == pytest.approx(one.deviation * unit, rel=1e-6)


@SOME
@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_the_largest_of_more_is_larger_and_varies_less(one: int, other: int) -> None:
    fewer, more = sorted((one, other))
    (a, squared), (more_a, more_squared) = windows.largest(fewer), windows.largest(more)

    assert a <= more_a + ROUNDING
    assert more_squared <= squared + ROUNDING


@SOME
@given(st.floats(0.01, 10), st.floats(0, 1000), st.floats(0, 1000), st.floats(1, 1000))
def test_a_larger_batch_takes_longer(interval: float, one: float, other: float, capacity: float) -> None:
    engine = batches.Engine(interval)
    less, more = (engine.phases(rate, capacity) for rate in sorted((one, other)))

    assert all(less[phase].mean <= more[phase].mean for phase in less)


@SOME
@given(st.floats(0, 1e3), st.floats(0, 1e6), HIGH)
def test_bounds_are_in_order(mean: float, variance: float, x: float) -> None:
    time = Moments(mean, variance)

    assert time.mean <= moments.normal(time, x) <= moments.cantelli(time, x)
