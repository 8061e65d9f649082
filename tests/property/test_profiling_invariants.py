"""Whatever the platform does, profiling ends, can be stopped and resumed anywhere, and stays within what is allowed."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import cases
from profiled import LINE, SETTINGS, Exact, clusters, finished, profiled
from spillway.bench.clusters import Cluster, Simulated
from spillway.bench.topologies import diamond, linear, sentiment, star, word_count
from spillway.controllers.profiling import capability, features, machine, prices, stored
from spillway.controllers.profiling.application import Application, Operator
from spillway.controllers.profiling.measurement import Measurement, Reading
from spillway.controllers.profiling.rounds import Change, Reason, Settings, State

CLUSTERS: dict[str, Cluster] = {
    "linear": linear(),
    "star": star(),
    "diamond": diamond(),
    "word count": word_count(),
    "synthetic word count": word_count(synthetic=True),
    "sentiment": sentiment(),
}


SETTINGS_OF_ANY = st.builds(
    Settings,
    bound=st.floats(0.001, 10),
    tasks=st.none() | st.integers(6, 60),
    slice=st.sampled_from([0.1, 0.3, 0.5, 1.0]),
    nearness=st.floats(1.0, 4.0),
    frames=st.sampled_from([(), (1, 10, 100), (5,)]),
    rounds=st.integers(1, 15),
)
NOISES = st.sampled_from([0.0, 0.02, 0.3])


@cases(150)
@given(clusters(), SETTINGS_OF_ANY, NOISES, st.integers(0, 3))
def test_it_ends_within_its_rounds_and_what_it_is_allowed(
    cluster: Cluster, settings: Settings, noise: float, seed: int
) -> None:
    platform = Simulated(cluster, seed, noise)
    state = profiled(platform, cluster.application, settings)

    assert state.stressed <= settings.rounds
    assert len(state.rounds) <= settings.attempts * (settings.rounds + 4 + 3)
    limits = {operator.name: operator.limit for operator in cluster.application.operators}
    for done in state.rounds:
        tasks = done.move.deployment.tasks
        assert all(1 <= tasks[name] <= limits[name] for name in limits)
        assert done.move.deployment.total <= (settings.tasks or math.inf)


@cases(80)
@given(clusters(), SETTINGS_OF_ANY, NOISES, st.data())
def test_stopped_after_any_step_and_resumed_it_comes_to_the_same(
    cluster: Cluster, settings: Settings, noise: float, data: st.DataObject
) -> None:
    through = profiled(Simulated(cluster, 1, noise), cluster.application, settings)
    platform = Simulated(cluster, 1, noise)
    state = machine.begin(cluster.application, settings)
    while not isinstance(step := machine.next_step(state), machine.Finished):
        if data.draw(st.booleans()):
            state = stored.from_data(json.loads(json.dumps(stored.as_data(state))))
            assert machine.next_step(state) == step
        if isinstance(step, machine.Deploy):
            platform.deploy(step.deployment)
            state = machine.deployed(state)
        else:
            state = machine.observe(state, platform.measure(step.seconds))

    assert state == through


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS.keys())
def test_the_same_measurements_give_the_same_profile(cluster: Cluster) -> None:
    one, other = (profiled(Simulated(cluster, 5), cluster.application) for _ in range(2))

    assert one == other
    assert stored.as_data(one) == stored.as_data(other)


@cases(80)
@given(clusters(), SETTINGS_OF_ANY, NOISES)
def test_what_is_taken_back_is_taken_back_to_the_very_counts(
    cluster: Cluster, settings: Settings, noise: float
) -> None:
    state = profiled(Simulated(cluster, 2, noise), cluster.application, settings)
    end = finished(state)
    kept = [done for done in state.rounds if done.kept]
    if not kept:
        assert end.deployment is None
        return
    assert end.deployment is not None
    assert end.deployment.tasks == kept[-1].move.deployment.tasks
    for done in state.rounds[kept[-1].number :]:
        if done.move.change is Change.THROTTLE:
            assert done.move.deployment.tasks == kept[-1].move.deployment.tasks


@cases(80)
@given(clusters(), SETTINGS_OF_ANY, NOISES)
def test_every_round_has_its_reason_sentence_and_inputs(cluster: Cluster, settings: Settings, noise: float) -> None:
    state = profiled(Simulated(cluster, 3, noise), cluster.application, settings)

    assert finished(state).sentence
    for done in state.rounds:
        assert isinstance(done.reason, Reason)
        assert done.sentence
        assert dict(done.inputs)["deployed"] == str(done.move.deployment)
    for price in prices.find(state):
        price.costs()


ANY = st.one_of(st.floats(), st.sampled_from([0.0, 1.0, -1.0, 1e308]))
READINGS = st.builds(Reading, ANY, ANY, ANY, ANY, ANY, ANY, st.none() | ANY, st.none() | ANY, ANY)
ODD = st.none() | st.builds(
    Measurement,
    ANY,
    st.lists(ANY, max_size=3).map(tuple),
    st.lists(ANY, max_size=3).map(tuple),
    st.dictionaries(st.sampled_from(["in", "work", "out"]), READINGS),
)


@cases(80)
@given(st.lists(ODD, max_size=12))
def test_whatever_is_measured_it_neither_raises_nor_goes_on_for_ever(odd: list[Measurement | None]) -> None:
    state = machine.begin(LINE, dataclasses.replace(SETTINGS, tasks=50))
    platform = Exact(ceiling=1000)
    for step in range(200):
        asked = machine.next_step(state)
        if isinstance(asked, machine.Finished):
            break
        if isinstance(asked, machine.Deploy):
            platform.deploy(asked.deployment)
            state = machine.deployed(state)
        else:
            state = machine.observe(state, odd[step % len(odd)] if odd and step % 3 else platform.measure(60.0))

    assert isinstance(machine.next_step(state), machine.Finished)


@cases(60)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 40), min_size=1),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 40)),
    st.integers(6, 80),
)
def test_what_is_allowed_is_never_exceeded_and_nobody_is_left_without(
    wanted: dict[str, int], now: dict[str, int], most: int
) -> None:
    names = sorted(wanted)
    application = Application.of([Operator(name, tuple(names[:i][-1:])) for i, name in enumerate(names)])
    present = {name: min(now.get(name, 1), max(1, most // len(names))) for name in names}
    state = machine.begin(application, dataclasses.replace(SETTINGS, tasks=most))
    found = capability.within(state, wanted, present)

    assert sum(found.values()) <= most
    assert all(1 <= found[name] <= wanted[name] for name in names)


@cases(60)
@given(clusters(), st.floats(0.05, 1.0), st.data())
def test_ratios_keep_the_order_of_the_loads(cluster: Cluster, unit: float, data: st.DataObject) -> None:
    application = cluster.application
    spans = {operator.name: data.draw(st.floats(1e-6, 1)) for operator in application.operators}
    sent = {operator.name: data.draw(st.floats(0, 1e6)) for operator in application.operators}
    found = features.find(application, spans, sent, unit)
    loads = features.task_loads(application, spans, sent)

    assert set(found.ratio) | set(found.degree) == {sink.name for sink in application.sinks}
    assert min([*found.ratio.values(), *found.degree.values()], default=1) >= 1
    for one in found.ratio:
        for other in found.ratio:
            assert loads[one] < loads[other] or found.ratio[one] >= found.ratio[other]
    assert max(found.ratio.values(), default=1) <= math.ceil(1 / unit) + 1


@pytest.mark.parametrize("data", [{}, {"version": 2}, {"version": 1}, {"version": 1, "state": {"rounds": 3}}])
def test_what_is_no_stored_profile_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="profile"):
        stored.from_data(data)


def test_a_state_is_what_it_was_and_a_changed_one_is_not() -> None:
    state: State = profiled(Exact(ceiling=3000))
    data = json.loads(json.dumps(stored.as_data(state)))

    assert stored.from_data(data) == state
    data["state"]["best"] += 1
    assert stored.from_data(data) != state


def test_a_state_of_another_version_is_refused_however_much_it_looks_like_one() -> None:
    data = stored.as_data(machine.begin(LINE, SETTINGS)) | {"version": 2}

    with pytest.raises(ValueError, match="version 2, and version 1 is read"):
        stored.from_data(data)
