"""Any part of any segment can be split off for batches, and what was split is again exactly what it was."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import programs
import topologies
from fuzzing import cases
from rolling import World
from spillway.controllers import rollout
from spillway.controllers.protocol import messages, wire
from spillway.controllers.topics import Names
from spillway.model.operators import Paradigm
from spillway.model.streamjob import Spec
from spillway.runtime.driver import shapes, splitting
from spillway.runtime.driver.cuts import Cuts
from spillway.runtime.programs import cutting

NAMES = Names("default.job.")
WIDTH = 8
seeds = st.integers(0, 2**32)


def planned(spec: Spec, segments: cutting.Segments) -> messages.Plan:
    """A plan in which nothing is split, with frames and deadlines of its own for each segment."""
    digests = {one.python.function: "1" for one in spec.operators if one.python is not None}
    made = []
    for number, program in enumerate(cutting.cut(spec, segments, digests)):
        steps = tuple(step.name for step in program.steps)
        made.append(
            messages.Segment(
                program.name,
                steps if program.name in steps else (program.name, *steps),
                program.id,
                Paradigm.RECORD,
                3 + number,
                1,
                10 + number,
                ((program.name, 0.5),),
            )
        )
    return messages.Plan(
        1, 1, spec.model_dump_json(by_alias=True, exclude_none=True), WIDTH, tuple(made), tuple(digests.items())
    )


def drawn(dice: random.Random, size: int) -> messages.Plan:
    made = topologies.topology(dice, size)
    spec = programs.spec(made.parts)
    cut = topologies.segments(dice, made.operators) if dice.random() < 0.3 else programs.together(spec)
    return planned(spec, cut)


def parts(dice: random.Random, plan: messages.Plan) -> dict[str, frozenset[str]]:
    """Of each segment some of its operators; often none."""
    known = {operator.name for operator in Spec.model_validate_json(plan.spec).operators}
    found = {}
    for one in plan.segments:
        inner = [name for name in one.operators if name in known]
        many = dice.randint(0, len(inner)) if dice.random() < 0.8 else 0
        found[one.name] = frozenset(dice.sample(inner, many))
    return found


def checked(plan: messages.Plan, chosen: dict[str, frozenset[str]]) -> messages.Plan:
    """The plan split so, if it is right."""
    found = splitting.split(plan, chosen)
    wire.decode(wire.encode(found))
    assert {name: one.id for name, one in splitting.programs(found).items()} == {
        s.name: s.program for s in found.segments
    }
    operators = [name for one in plan.segments for name in one.operators]
    assert sorted(name for one in found.segments for name in one.operators) == sorted(operators)
    known = {operator.name for operator in Spec.model_validate_json(plan.spec).operators}
    batched = {o for one in found.segments if one.paradigm is Paradigm.BATCH for o in one.operators}
    assert batched & known == {o for some in chosen.values() for o in some}
    for one in found.segments:
        before = next((s for s in plan.segments if s.name == one.name), None)
        if before is not None:  # it has positions in its input, which stay as they are
            assert one.partitions == before.partitions
        else:
            assert one.partitions == WIDTH
            assert one.whole
    return found


@cases(40)
@given(seeds, st.integers(1, 9))
def test_what_was_split_is_again_what_it_was(seed: int, size: int) -> None:
    dice = programs.seeded(seed)
    plan = drawn(dice, size)
    found = checked(plan, parts(dice, plan))

    back = splitting.whole(found)
    again = {one.name: one for one in back.segments}
    for one in plan.segments:
        split = any(splitting.home(piece) == one.name and piece.whole for piece in found.segments)
        paradigm = one.paradigm if split else next(s.paradigm for s in found.segments if s.name == one.name)
        assert again.pop(one.name) == msgspec.structs.replace(one, paradigm=paradigm)
    assert not again
    assert splitting.whole(back) is back


@cases(25)
@given(seeds, st.integers(1, 9), st.integers(0, 30))
def test_no_program_meets_rows_that_it_cant_read(seed: int, size: int, between: int) -> None:
    dice = programs.seeded(seed)
    plan = drawn(dice, size)
    world = World.of(_shapes(plan))
    for _ in range(20):
        world.step(dice)
    for _ in range(3):
        after = splitting.whole(plan) if splitting.pieces(plan) else checked(plan, parts(dice, plan))
        assert not rollout.refused(world.shapes.values(), _shapes(after).values())
        world.replan(_shapes(after))
        for _ in range(between):
            world.step(dice)
        if dice.random() < 0.3:  # a move fails, and all goes back, wherever it is
            world.replan(_shapes(plan))
        else:
            plan = after
        assert not world.settle(dice)
        assert rollout.done(world.state, world.shapes)


def _shapes(plan: messages.Plan) -> dict[str, rollout.Shape]:
    return shapes.of(tuple(splitting.programs(plan).values()), NAMES)


@cases(40)
@given(seeds, st.integers(1, 9))
def test_what_is_planned_is_planned_once(seed: int, size: int) -> None:
    dice = programs.seeded(seed)
    plan = drawn(dice, size)
    cuts = Cuts(lambda program, _: "it keeps tables" if program.states else "")
    cuts.look(plan, Spec.model_validate_json(plan.spec))
    wanted = {one.name: dice.choice(list(Paradigm)[1:]) for one in plan.segments}
    decided = {name: operators for name, some in parts(dice, plan).items() if (operators := cuts.judged(name, some)[1])}
    for paradigms in (wanted, {}, dict.fromkeys(wanted, Paradigm.RECORD)):
        found = splitting.planned(plan, paradigms, decided, cuts.possible)
        assert found is None or splitting.planned(found, paradigms, decided, cuts.possible) is None
        plan = found or plan
    assert not splitting.pieces(plan)
    assert {one.paradigm for one in plan.segments} == {Paradigm.RECORD}


@cases(25)
@given(seeds, st.integers(2, 9))
def test_the_longest_part_can_and_no_longer_one_can(seed: int, size: int) -> None:
    dice = programs.seeded(seed)
    plan = drawn(dice, size)
    spec = Spec.model_validate_json(plan.spec)
    pinned = {one.name for one in spec.operators if dice.random() < 0.3}
    operators = [
        one.model_copy(update={"paradigm": Paradigm.RECORD if one.name in pinned else None}) for one in spec.operators
    ]
    spec = spec.model_copy(update={"operators": operators})

    def can(program: object, _: Spec) -> str:
        return "it keeps tables" if any(not state.broadcast for state in program.states) else ""  # type: ignore[attr-defined]

    cuts = Cuts(can)
    cuts.look(plan, spec)
    for one in plan.segments:
        known = [name for name in one.operators if name in {operator.name for operator in operators}]
        part = cuts.possible.get(one.name)
        if part is None:
            first = cuts.part(one.name, known[:1]) if known else None
            if first is not None:  # all of it can, or it begins with a stream of which several branches are read
                assert cuts.part(one.name, known) is not None or known[0] != one.name
            continue
        assert not pinned & set(part.operators)
        assert part.rest
        assert part.why
        for name in part.rest:
            if cuts.part(one.name, [*part.operators, name]) is not None:
                # It would begin anew behind what can't.
                above = next(operator.input for operator in operators if operator.name == name)
                assert above in part.rest


def test_a_plan_with_the_wrong_programs_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = programs.spec(topologies.topology(programs.seeded(5), 6).parts)
    plan = planned(spec, programs.together(spec))
    one = max(plan.segments, key=lambda segment: len(segment.operators))
    assert len(one.operators) > 1
    chosen = {one.name: frozenset(one.operators[:1])} | {s.name: frozenset() for s in plan.segments if s is not one}
    checked(plan, chosen)
    original = splitting._cut  # noqa: SLF001 - what is broken
    monkeypatch.setattr(splitting, "_cut", lambda plan, ones, _: original(plan, ones, ()))
    with pytest.raises(AssertionError):
        checked(plan, chosen)
