"""Whatever the loads and owners: nothing is lost, nothing moves without need, and the order of input is no input."""

from __future__ import annotations

import math
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from spillway.controllers import assignment
from spillway.controllers.assignment import MoveReason, Owner, Reason
from spillway.controllers.balancing import Slot
from spillway.controllers.protocol.values import Partition

LOADS = st.one_of(st.none(), st.floats(0, 1e6), st.just(math.nan), st.just(-1.0))
SLOTS = st.builds(Slot, st.integers(0, 4), st.integers(0, 1))
OWNERS = st.builds(Owner, SLOTS, st.sampled_from([1.0, 1.0, 0.5, 2.0, 0.0]), st.booleans())
PARTITIONS = st.builds(Partition, st.sampled_from(["ads", "views"]), st.integers(0, 20))
MARGINS = st.floats(0, 1)
Case = tuple[dict[Partition, float | None], list[Owner], dict[Partition, Slot], float]


@st.composite
def cases(
    draw: st.DrawFn,
) -> Case:
    loads = draw(st.dictionaries(PARTITIONS, LOADS, max_size=25))
    return (
        loads,
        draw(st.lists(OWNERS, max_size=8)),
        draw(st.dictionaries(PARTITIONS, SLOTS, max_size=25)),
        draw(MARGINS),
    )


@given(cases())
def test_every_partition_has_exactly_one_owner_or_is_told_to_have_none(
    case: Case,
) -> None:
    loads, owners, current, margin = case

    found = assignment.decide(loads, owners, current, margin)

    assert sorted([*found.owners, *found.unowned]) == sorted(loads)
    assert bool(found.unowned) <= (found.reason is Reason.NO_OWNERS)


@given(cases())
def test_the_moves_lead_from_the_old_assignment_to_the_new_one(
    case: Case,
) -> None:
    loads, owners, current, margin = case

    found = assignment.decide(loads, owners, current, margin)

    moved = {move.partition: move for move in found.moves}
    assert len(moved) == len(found.moves)
    for partition, slot in found.owners.items():
        move = moved.get(partition)
        assert slot == (move.target if move else current[partition])
        assert move is None or (move.source == current.get(partition) != move.target)


@given(cases())
def test_draining_owners_give_everything_away_and_only_usable_ones_take(
    case: Case,
) -> None:
    loads, owners, current, margin = case
    unfit = {owner.slot for owner in owners if owner.draining or not owner.capacity}
    takers = {owner.slot for owner in owners} - unfit

    found = assignment.decide(loads, owners, current, margin)

    assert not takers or set(found.owners.values()) <= takers
    assert takers or not found.moves


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(case: Case, shuffle: random.Random) -> None:
    loads, owners, current, margin = case
    items, others, pairs = list(loads.items()), list(owners), list(current.items())
    for order in (items, others, pairs):
        shuffle.shuffle(order)

    found = assignment.decide(dict(items), others, dict(pairs), margin)

    assert str(found) == str(assignment.decide(loads, owners, current, margin))
    assert found.moves == assignment.decide(loads, owners, current, margin).moves


@given(cases())
def test_deciding_again_moves_nothing(
    case: Case,
) -> None:
    loads, owners, current, margin = case

    once = assignment.decide(loads, owners, current, margin)

    assert not assignment.decide(loads, owners, once.owners, margin).moves


@given(cases())
def test_what_has_to_move_moves_and_what_has_no_load_moves_for_no_other_reason(
    case: Case,
) -> None:
    loads, owners, current, margin = case
    unfit = {owner.slot for owner in owners if owner.draining or not owner.capacity}
    takers = {owner.slot for owner in owners} - unfit

    found = assignment.decide(loads, owners, current, margin)

    forced = {move.partition for move in found.moves if move.reason is not MoveReason.BALANCE}
    assert not takers or forced == {p for p in loads if current.get(p) not in takers}
    for move in found.moves:
        load = loads[move.partition]
        assert move.reason is not MoveReason.BALANCE or (load is not None and 0 <= load < math.inf)


@settings(max_examples=60)
@given(
    st.lists(st.floats(0.001, 100), min_size=1, max_size=40),
    st.integers(1, 6),
    st.integers(0, 6),
    st.randoms(use_true_random=False),
)
def test_no_owner_carries_more_than_a_fair_share_the_margin_and_the_largest_load(
    loads: list[float], owners: int, gone: int, choose: random.Random
) -> None:
    parts = {Partition("ads", i): load for i, load in enumerate(loads)}
    current = {p: Slot(choose.randrange(owners + gone), 0) for p in parts}

    found = assignment.decide(parts, assignment.slots(owners, 1), current)

    fair = sum(loads) / owners
    # Idle costs add at most 1 % of the mean to each load.
    assert found.fullest_after <= 1 + assignment.MARGIN + (1 + assignment.IDLE) * max(loads) / fair + 1e-6
