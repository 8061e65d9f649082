"""What is planned: the thesis's own numbers, what is fused, shared, put into batches, and limited by topics."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

import flows
from spillway.controllers.costmodel.flow import Costs, Flow, Node
from spillway.controllers.explain import told
from spillway.controllers.latency.moments import Moments
from spillway.controllers.planning import planner
from spillway.controllers.planning.plan import Plan, Planned, Reason
from spillway.controllers.planning.problem import Chaining, Problem, Promise, Room, Traits
from spillway.controllers.planning.shapes import Operators
from spillway.model.operators import Paradigm

BATCH, RECORD = Paradigm.BATCH, Paradigm.RECORD
KEYED = Traits(keyed=True)
US = 1e-6


def pipe(*names: str, rate: float = 1000.0, cpu: float = 10 * US, **other: object) -> Problem:
    """A topic `t`, and operators that read one another; each record costs each of them `cpu`."""
    nodes = [Node.operator("t", [], Costs(record_size=100))]
    for before, name in zip(("t", *names), names, strict=False):
        nodes.append(Node.operator(name, [before], Costs(cpu, 7.4 * US, 2.6 * US, record_size=100)))
    problem = Problem(Flow(nodes), {"t": rate}, Promise(0.5, 0.99), Room(8, 0), frozenset({"t"}), headroom=0.2)
    return dataclasses.replace(problem, **other)  # type: ignore[arg-type]


def plan_of(decision: Planned) -> Plan:
    assert decision.feasible, decision.sentence
    assert decision.plan is not None
    return decision.plan


def groups(plan: Plan) -> list[tuple[str, ...]]:
    return [segment.operators for segment in plan.segments]


def traits(**of: Traits) -> Mapping[str, Traits]:
    return of


def linear_road(**other: object) -> Problem:
    problem = Problem(flows.linear_road(), {"spout": 500_000}, Promise(0.5, 0.99), Room(8, 0))
    return dataclasses.replace(problem, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", [0.5, 1.0, 10.0])
def test_without_chaining_and_headroom_it_is_table_4_3_of_the_thesis(bound: float) -> None:
    problem = linear_road(chaining=Chaining.NEVER, promise=Promise(bound, 0.99))
    plan = plan_of(planner.plan(problem))

    sizes = {segment.name: (segment.parallelism, segment.frame) for segment in plan.segments}
    assert sizes == {
        "spout": (1, 15), "parse": (2, 387), "agg": (2, 1), "block": (1, None), "mv": (1, 1), "toll": (1, None),
    }  # fmt: skip
    assert plan.slots == 8
    assert plan.shared == ()


def test_a_bound_that_the_frames_of_the_thesis_break_gets_others_on_as_many_slots() -> None:
    plan = plan_of(planner.plan(linear_road(chaining=Chaining.NEVER, promise=Promise(0.009, 0.99), headroom=0.01)))

    assert plan.slots <= 9
    assert plan["parse"].frame != 387


def test_fusing_costs_less_than_separate_slots() -> None:
    plan = plan_of(planner.plan(linear_road(headroom=0.2)))

    assert groups(plan) == [("spout",), ("parse", "agg", "block", "mv", "toll")]
    assert plan.slots == 5


def test_every_framed_edge_has_a_deadline_within_the_bound() -> None:
    for chaining in Chaining:
        problem = pipe("a", "b", "c", rate=50_000.0, chaining=chaining, traits=traits(b=KEYED, c=KEYED))
        plan = plan_of(planner.plan(problem))
        read = {output for output, readers in plan.flow.readers.items() if readers} - {"t"}

        assert set(plan.deadlines) == read
        assert all(0 < deadline < problem.promise.bound for deadline in plan.deadlines.values())


def test_a_keyed_operator_begins_a_segment() -> None:
    assert groups(plan_of(planner.plan(pipe("a", "b", "c")))) == [("a", "b", "c")]
    assert groups(plan_of(planner.plan(pipe("a", "b", "c", traits=traits(b=KEYED))))) == [("a",), ("b", "c")]


def test_a_reader_of_a_source_with_costs_begins_a_segment_and_a_topic_is_in_none() -> None:
    spout = dataclasses.replace(pipe("a", "b"), topics=frozenset())

    assert groups(plan_of(planner.plan(spout))) == [("t",), ("a", "b")]
    assert groups(plan_of(planner.plan(pipe("a", "b")))) == [("a", "b")]
    assert "t" in {node.name for node in plan_of(planner.plan(pipe("a", "b"))).flow.nodes}


def test_ten_keyed_operators_with_little_to_do_share_one_slot() -> None:
    names = [f"k{i}" for i in range(10)]
    problem = pipe(*names, rate=100.0, traits=dict.fromkeys(names, KEYED))
    plan = plan_of(planner.plan(problem))

    assert plan.slots == 1
    assert plan.shared == (tuple(names),)
    assert all(segment.shares for segment in plan.segments)
    never = planner.plan(dataclasses.replace(problem, chaining=Chaining.NEVER))
    assert never.reason is Reason.NEEDS_SLOTS


def test_what_shares_a_slot_fits_on_it_with_headroom() -> None:
    names = [f"k{i}" for i in range(6)]
    plan = plan_of(planner.plan(pipe(*names, rate=30_000.0, traits=dict.fromkeys(names, KEYED))))

    assert plan.shared
    for group in plan.shared:
        assert sum(plan[name].load.utilisation for name in group) <= 0.8


def batches(**other: object) -> Problem:
    problem = pipe(
        "a", "b", rate=200_000.0, promise=Promise(5.0, 0.99), room=Room(16, 4), schedule=Moments(0.03, 1e-4),
        traits=traits(a=Traits(speedup=4.0), b=Traits(speedup=4.0)),
    )  # fmt: skip
    return dataclasses.replace(problem, **other)  # type: ignore[arg-type]


def test_batches_where_they_are_cheaper_and_soon_enough() -> None:
    plan = plan_of(planner.plan(batches()))

    assert plan.paradigms == {"a": BATCH}
    assert (plan.slots, plan.cores) == (0, 2)
    assert plan["a"].interval is not None
    assert plan.engines["a"].interval == plan["a"].interval


@pytest.mark.parametrize(
    "other",
    [
        {"promise": Promise(0.05, 0.99)},
        {"schedule": None},
        {"traits": {"a": Traits(speedup=0.5), "b": Traits(speedup=0.5)}},
        {"traits": {"a": Traits(speedup=4.0, batchable=False), "b": Traits(speedup=4.0, batchable=False)}},
        {"traits": {"a": Traits(speedup=4.0, pinned=RECORD), "b": Traits(speedup=4.0, pinned=RECORD)}},
        {"room": Room(16, 0)},
    ],
    ids=["too late", "no engine", "slower", "not batchable", "pinned", "no cores"],
)
def test_no_batches_where(other: dict[str, object]) -> None:
    assert plan_of(planner.plan(batches(**other))).paradigms == {"a": RECORD}


def test_what_is_pinned_to_batches_runs_in_batches() -> None:
    pinned = batches(workload={"t": 10.0}, traits=traits(b=Traits(pinned=BATCH)))

    assert plan_of(planner.plan(pinned)).paradigms == {"a": BATCH}  # both, on the core that b needs anyway


def test_pinned_to_what_is_not_possible_is_a_decision() -> None:
    for other in ({"schedule": None}, {}):
        problem = batches(traits=traits(b=Traits(pinned=BATCH, batchable=not other)), **other)
        decision = planner.plan(dataclasses.replace(problem, schedule=None))

        assert decision.reason is Reason.NO_BATCHES
        assert "`b`" in decision.sentence


def test_a_topic_is_read_by_no_more_slots_than_it_has_partitions() -> None:
    # a and b need 2.5 slots together; with two partitions only a reads the topic, and b has slots of its own.
    plan = plan_of(planner.plan(pipe("a", "b", rate=100_000.0, partitions={"t": 2})))

    assert groups(plan) == [("a",), ("b",)]
    assert plan["a"].parallelism == 2


def test_without_a_key_nobody_downstream_has_more_slots_than_the_topic_has_partitions() -> None:
    # b alone needs 4 slots; what comes from a topic of 2 partitions lies in 2 of its own, unless it goes by a key.
    def asked(**of: Traits) -> Problem:
        given = pipe("a", rate=100_000.0, partitions={"t": 2}, traits=traits(**of))
        dear = Node.operator("b", ["a"], Costs(30 * US, 7.4 * US, 2.6 * US, record_size=100))
        return dataclasses.replace(given, flow=Flow([*given.flow.nodes, dear]))

    assert planner.plan(asked()).reason is Reason.NEEDS_PARTITIONS
    plan = plan_of(planner.plan(asked(b=KEYED)))
    assert (plan["a"].parallelism, plan["b"].parallelism) == (2, 4)


@pytest.mark.timeout(20)
def test_ways_that_part_and_meet_again_and_again_are_looked_at_once() -> None:
    # 2^40 ways from the topic to the end.
    nodes, last = [Node.operator("t", [], Costs(record_size=100))], "t"
    for level in range(40):
        nodes += [Node.operator(f"{side}{level}", [last], Costs(US)) for side in "ab"]
        nodes.append(Node.operator(f"z{level}", [f"a{level}", f"b{level}"], Costs(US, selectivity=0.5)))
        last = f"z{level}"
    problem = dataclasses.replace(pipe("a"), flow=Flow(nodes), partitions={"t": 3})

    assert Operators(problem).limit(last) == 3


def test_too_few_partitions_are_named() -> None:
    decision = planner.plan(pipe("a", rate=400_000.0, partitions={"t": 2}))

    assert decision.reason is Reason.NEEDS_PARTITIONS
    assert "`a` needs" in decision.sentence
    assert "2 partitions" in decision.sentence
    assert decision.up_to == pytest.approx(0.4, rel=0.03)


def test_two_topics_read_as_one_stream_have_their_partitions_side_by_side() -> None:
    nodes = [flows.free("t"), flows.free("u"), Node.operator("a", ["t", "u"], Costs(cpu=20 * US))]
    problem = dataclasses.replace(
        pipe("a"), flow=Flow(nodes), workload={"t": 50_000.0, "u": 50_000.0}, topics=frozenset({"t", "u"}),
        partitions={"t": 2, "u": 1},
    )  # fmt: skip

    assert plan_of(planner.plan(problem)).slots == 3
    by_key = dataclasses.replace(problem, traits={"a": KEYED})
    assert planner.plan(by_key).reason is Reason.NEEDS_PARTITIONS


# A resize


def test_a_resize_keeps_segments_and_paradigms() -> None:
    first = plan_of(planner.plan(pipe("a", "b", "c", rate=10_000.0, traits=traits(c=KEYED))))
    more = pipe("a", "b", "c", rate=180_000.0, traits=traits(c=KEYED))
    kept = plan_of(planner.plan(more, keep=first))

    assert groups(kept) == groups(first)
    assert kept.paradigms == first.paradigms
    assert kept.slots == plan_of(planner.plan(more)).slots > first.slots


def test_a_resize_that_is_not_possible_says_so() -> None:
    apart = plan_of(planner.plan(pipe("a", "b", rate=1000.0, chaining=Chaining.NEVER)))
    kept = planner.plan(pipe("a", "b", rate=1e6), keep=apart)

    assert not kept.feasible
    assert kept.plan is not None
    assert "plan again without" in kept.sentence
    assert planner.plan(pipe("a", "b"), keep=plan_of(planner.plan(pipe("x")))).reason is Reason.INVALID


# What it says


def test_too_little_room_is_told_with_names_and_numbers() -> None:
    decision = planner.plan(pipe("a", "b", rate=500_000.0))

    assert decision.reason is Reason.NEEDS_SLOTS
    assert decision.sentence.startswith("infeasible: `a` needs 12.5 slots at 500 000/s")
    assert "workers.slots allow 8; with 8 the bound holds up to 3" in decision.sentence
    assert decision.plan is not None
    assert decision.plan.slots == 8
    assert decision.up_to == pytest.approx(0.64, rel=0.03)


def test_a_bound_below_what_a_record_costs_is_too_tight() -> None:
    decision = planner.plan(pipe("a", rate=10.0, cpu=0.1, promise=Promise(0.2, 0.99)))

    assert decision.reason is Reason.BOUND_TOO_TIGHT
    assert decision.up_to == 0
    assert "raise the bound" in decision.sentence


def test_how_far_it_goes_is_where_it_ends() -> None:
    problem = pipe("a", "b", rate=100_000.0, traits=traits(b=KEYED))
    decision = planner.plan(problem)
    assert decision.up_to is not None

    below = dataclasses.replace(problem, workload={"t": 100_000.0 * decision.up_to * 0.999})
    beyond = dataclasses.replace(problem, workload={"t": 100_000.0 * decision.up_to * 1.1})
    assert planner.plan(below).feasible
    assert not planner.plan(beyond).feasible


def test_alternatives_say_what_came_out_of_them() -> None:
    text = told(planner.plan(batches(room=Room(16, 0))))

    assert "not 4 slots for `a`: it would be" in text
    assert "`a` and `b` apart" in text
    assert "`a` in batches" in text
    assert "executors.cores allow 0" in text


def test_headroom_is_kept_free() -> None:
    slots = [plan_of(planner.plan(pipe("a", rate=190_000.0, headroom=share))).slots for share in (0.0, 0.3, 0.6)]

    assert slots == [2, 3, 5]


# What makes no sense


NONSENSE: dict[str, dict[str, Any]] = {
    "a rate is no number": {"workload": {"t": float("nan")}},
    "a rate is negative": {"workload": {"t": -1.0}},
    "a rate is infinite": {"workload": {"t": float("inf")}},
    "a rate is missing": {"workload": {}},
    "a rate is beyond counting": {"workload": {"t": 1e300}},
    "a rate is of nothing": {"workload": {"t": 1.0, "x": 1.0}},
    "the bound is nothing": {"promise": Promise(0.0, 0.99)},
    "the bound is no number": {"promise": Promise(float("nan"), 0.99)},
    "all records are promised": {"promise": Promise(1.0, 1.0)},
    "hardly any records are promised": {"promise": Promise(1.0, 0.2)},
    "all is headroom": {"headroom": 1.0},
    "the headroom is no number": {"headroom": float("nan")},
    "less than nothing may be had": {"room": Room(-1, 0)},
    "a topic is no source": {"topics": frozenset({"a"})},
    "a topic has no partitions": {"partitions": {"t": 0}},
    "traits of nobody": {"traits": {"x": KEYED}},
    "a speedup is nothing": {"traits": {"a": Traits(speedup=0.0)}},
    "a schedule never ends": {"schedule": Moments(float("inf"))},
}


@pytest.mark.parametrize("other", NONSENSE.values(), ids=NONSENSE)
def test_nothing_is_planned_when(other: dict[str, Any]) -> None:
    decision = planner.plan(pipe("a", **other))

    assert decision.reason is Reason.INVALID
    assert decision.plan is None
    assert not decision.feasible
    assert decision.sentence.startswith("nothing is planned: ")


@pytest.mark.parametrize("rate", [0.0, 1e-9, 0.5])
def test_hardly_any_load_has_a_minimal_plan(rate: float) -> None:
    assert plan_of(planner.plan(pipe("a", "b", rate=rate, traits=traits(b=KEYED)))).slots == 1


def test_nothing_to_have_is_a_decision() -> None:
    decision = planner.plan(pipe("a", room=Room(0, 0)))

    assert decision.reason is Reason.NEEDS_SLOTS
    assert decision.up_to == 0
