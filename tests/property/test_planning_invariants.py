"""What holds of every plan, and that trying everything finds nothing cheaper."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
from spillway.bench import exhaustive, small_topologies
from spillway.controllers.costmodel.flow import CORE, Flow, Slot
from spillway.controllers.latency.moments import Moments
from spillway.controllers.planning import fitting, planner, shapes
from spillway.controllers.planning.plan import Planned, Reason
from spillway.controllers.planning.problem import Chaining, Problem, Promise, Room, Traits
from spillway.controllers.planning.shapes import Operators

SEEDS = st.integers(0, 10**9)
SMALL = 30  # topologies for which everything is tried: some 200 ms each


def cost(decision: Planned) -> float:
    """Infinite when nothing keeps the promise."""
    if not decision.feasible or decision.plan is None:
        return math.inf
    return decision.plan.slots + decision.plan.cores


def wrongs(count: int, *, dear: float = 1.0) -> Iterator[str]:
    """What trying everything finds cheaper, or wrong."""
    for i in range(count):
        problem = small_topologies.small(fuzzing.seed() + i, 3, dear=dear)
        decision = planner.plan(problem)
        best = None
        if decision.feasible and decision.plan is not None:
            if wrong := exhaustive.right(problem, decision.plan):
                yield f"{i}: {wrong}"
            best = round(cost(decision))
        cheaper = exhaustive.cheapest(problem, below=best, hints=decision.plan)
        if cheaper.cost is not None:
            yield f"{i}: {cheaper.cost} is enough, and {best} was said"


def test_trying_everything_finds_nothing_cheaper() -> None:
    count = SMALL * fuzzing.FACTOR
    found = list(wrongs(count))

    assert len(found) <= count // 100, found


def test_trying_everything_finds_what_a_planner_that_never_fuses_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes.Operators, "_may_fuse", lambda *_: False)

    assert next(wrongs(SMALL, dear=10.0), "")


def test_trying_everything_finds_what_a_planner_that_never_shares_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "_packed", lambda _: [])
    monkeypatch.setattr(fitting, "_together", lambda *_: lambda _: None)

    assert next(wrongs(SMALL), "")


@fuzzing.cases(15)
@given(SEEDS)
def test_a_plan_keeps_the_promise_within_the_room(seed: int) -> None:
    problem = small_topologies.small(seed)
    decision = planner.plan(problem)

    if decision.feasible:
        assert decision.plan is not None
        assert decision.reason is Reason.CHEAPEST
        assert exhaustive.right(problem, decision.plan) == ""
        assert decision.up_to is not None
        assert decision.up_to >= 1
    else:
        assert decision.reason is not Reason.CHEAPEST
        assert decision.limits
        assert decision.up_to is None or decision.up_to < 1


@fuzzing.cases(12)
@given(SEEDS)
def test_a_slot_less_anywhere_is_not_enough(seed: int) -> None:
    problem = small_topologies.small(seed)
    decision = planner.plan(problem)
    hypothesis.assume(decision.feasible)
    plan = decision.plan
    assert plan is not None

    for segment in plan.segments:
        if segment.parallelism > 1:
            fewer = dataclasses.replace(segment, parallelism=segment.parallelism - 1)
            segments = tuple(fewer if s is segment else s for s in plan.segments)
            assert exhaustive.right(problem, dataclasses.replace(plan, segments=segments)) != ""


@fuzzing.cases(12)
@given(SEEDS, st.floats(1.05, 5))
def test_more_load_never_needs_less(seed: int, factor: float) -> None:
    problem = small_topologies.small(seed)
    more = dataclasses.replace(problem, workload={name: rate * factor for name, rate in problem.workload.items()})

    assert cost(planner.plan(problem)) <= cost(planner.plan(more))


@fuzzing.cases(8)
@given(SEEDS, st.randoms(use_true_random=False))
def test_the_order_of_what_is_asked_does_not_matter(seed: int, chance: random.Random) -> None:
    problem = small_topologies.small(seed)

    def shuffled(mapping: Any) -> dict[str, Any]:
        return dict(chance.sample(sorted(mapping.items()), len(mapping)))

    nodes = list(problem.flow.nodes)
    chance.shuffle(nodes)
    other = dataclasses.replace(
        problem,
        flow=Flow(nodes),
        workload=shuffled(problem.workload),
        traits=shuffled(problem.traits),
        partitions=shuffled(problem.partitions),
    )

    assert planner.plan(other) == planner.plan(problem)


@fuzzing.cases(15)
@given(SEEDS, st.floats(0.2, 3))
def test_a_resize_keeps_segments_and_the_promise(seed: int, factor: float) -> None:
    problem = small_topologies.small(seed)
    first = planner.plan(problem)
    hypothesis.assume(first.feasible)
    assert first.plan is not None
    other = dataclasses.replace(problem, workload={name: rate * factor for name, rate in problem.workload.items()})
    kept = planner.plan(other, keep=first.plan)

    if kept.feasible:
        assert kept.plan is not None
        assert [s.operators for s in kept.plan.segments] == [s.operators for s in first.plan.segments]
        assert kept.plan.paradigms == first.plan.paradigms
        assert exhaustive.right(other, kept.plan) == ""


ANY = st.floats() | st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e-300, 1e300, 5e-324])


@fuzzing.cases(40)
@given(SEEDS, ANY, ANY, ANY, ANY, st.integers(-2, 10**6), st.floats(5e-324, 1e9), ANY)
def test_whatever_is_asked_there_is_an_answer(
    seed: int, rate: float, bound: float, quantile: float, headroom: float, slots: int, speed: float, speedup: float
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a test, no secret
    problem = small_topologies.small(seed % 1000, 3)
    strange: list[dict[str, Any]] = [
        {"workload": dict.fromkeys(problem.workload, rate)},
        {"promise": Promise(bound, 0.99)},
        {"promise": Promise(0.5, quantile)},
        {"headroom": headroom},
        {"room": Room(slots, slots)},
        {"slot": chance.choice([Slot(speed=speed), Slot(network=speed), CORE])},
        {"traits": {name: dataclasses.replace(t, speedup=speedup) for name, t in problem.traits.items()}},
    ]
    for other in chance.sample(strange, 2):
        problem = dataclasses.replace(problem, **other)
    decision = planner.plan(problem)

    assert decision.sentence
    assert decision.feasible == (decision.reason is Reason.CHEAPEST)


@pytest.mark.parametrize("kind", ["chain", "tree", "graph"])
def test_thirty_operators_have_a_plan(kind: str) -> None:
    problem = small_topologies.large(kind, 30)
    decision = planner.plan(problem)

    assert decision.feasible, decision.sentence
    assert decision.plan is not None
    assert sorted(name for s in decision.plan.segments for name in s.operators) == sorted(Operators(problem).names)


def test_a_million_ways_end() -> None:
    problem = small_topologies.large("graph", 22, rate=1e7)
    asked = dataclasses.replace(problem, promise=Promise(0.001, 0.999), schedule=Moments(0.5), room=Room(40, 40))

    assert not planner.plan(asked).feasible
    never: Problem = dataclasses.replace(asked, chaining=Chaining.NEVER, traits={"o001": Traits(keyed=True)})
    assert not planner.plan(never).feasible
