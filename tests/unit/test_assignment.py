"""Partitions are assigned by load, stay where they are when they can, and bad input is told, not believed."""

from __future__ import annotations

import collections
import itertools
import math
import random
from collections.abc import Mapping

import pytest

from spillway.controllers import assignment
from spillway.controllers.assignment import Assignment, MoveReason, Owner, Reason
from spillway.controllers.balancing import Slot
from spillway.controllers.protocol.values import Partition


def _parts(count: int, segment: str = "ads") -> list[Partition]:
    return [Partition(segment, i) for i in range(count)]


def _alike(count: int, segment: str = "ads") -> dict[Partition, float | None]:
    return dict.fromkeys(_parts(count, segment), 1.0)


def _counts(found: Assignment) -> dict[Slot, int]:
    return dict(collections.Counter(found.owners.values()))


def _of(found: Assignment, reason: MoveReason) -> list[Partition]:
    return [move.partition for move in found.moves if move.reason is reason]


def test_a_first_assignment_gives_everybody_the_same() -> None:
    found = assignment.decide(_alike(12), assignment.slots(2, 2), {})

    assert found.reason is Reason.MEMBERS_CHANGED
    assert set(_counts(found).values()) == {3}
    assert _of(found, MoveReason.UNOWNED) == _parts(12)


def test_few_partitions_go_to_different_pods_before_two_slots_of_one() -> None:
    found = assignment.decide(_alike(3), assignment.slots(3, 4), {})

    assert {slot.worker for slot in found.owners.values()} == {0, 1, 2}


def test_of_two_empty_slots_the_one_in_the_emptier_pod_is_taken() -> None:
    busy, light, new = _parts(3)
    loads = {busy: 5.0, light: 4.5, new: 1.0}

    found = assignment.decide(loads, assignment.slots(2, 2), {busy: Slot(0, 0), light: Slot(1, 0)})

    assert found.owners[new] == Slot(1, 1)


def test_a_heavy_partition_weighs_as_much_as_many_light_ones() -> None:
    heavy, *light = _parts(5)
    loads: dict[Partition, float | None] = {heavy: 4.0, **dict.fromkeys(light, 1.0)}

    found = assignment.decide(loads, assignment.slots(2, 1), {})

    assert {p for p in loads if found.owners[p] == found.owners[heavy]} == {heavy}


def test_segments_are_balanced_together() -> None:
    loads = {**dict.fromkeys(_parts(2, "joined"), 3.0), **dict.fromkeys(_parts(6, "views"), 1.0)}

    found = assignment.decide(loads, assignment.slots(3, 1), {})

    sums = collections.Counter[Slot]()
    for partition, slot in found.owners.items():
        sums[slot] += round(loads[partition])
    assert sorted(sums.values()) == [4, 4, 4]


def test_an_owner_with_twice_the_capacity_gets_twice_as_much() -> None:
    owners = [Owner(Slot(0, 0), 2.0), Owner(Slot(1, 0), 1.0)]

    assert _counts(assignment.decide(_alike(9), owners, {})) == {Slot(0, 0): 6, Slot(1, 0): 3}


def test_nothing_moves_for_less_than_the_margin_and_the_decision_says_steady() -> None:
    a, b = _parts(20)[:10], _parts(20)[10:]
    current = {**dict.fromkeys(a, Slot(0, 0)), **dict.fromkeys(b, Slot(1, 0))}
    loads = {**dict.fromkeys(a, 1.04), **dict.fromkeys(b, 0.96)}

    found = assignment.decide(loads, assignment.slots(2, 1), current)

    assert (found.reason, found.moves, found.owners) == (Reason.STEADY, (), current)


def test_beyond_the_margin_load_goes_from_the_fullest_to_the_emptiest_until_half_of_it_is_left() -> None:
    a, b = _parts(200)[:120], _parts(200)[120:]
    current = {**dict.fromkeys(a, Slot(0, 0)), **dict.fromkeys(b, Slot(1, 0))}

    found = assignment.decide(_alike(200), assignment.slots(2, 1), current)

    assert found.reason is Reason.BALANCED
    assert {(move.source, move.target) for move in found.moves} == {(Slot(0, 0), Slot(1, 0))}
    gap = (_counts(found)[Slot(0, 0)] - _counts(found)[Slot(1, 0)]) / 100
    assert 0.03 < gap <= assignment.MARGIN / 2


def test_a_new_worker_gets_its_share_although_nobody_was_much_above_theirs() -> None:
    before = assignment.decide(_alike(400), assignment.slots(20, 1), {})

    found = assignment.decide(_alike(400), assignment.slots(21, 1), before.owners)

    assert _counts(found)[Slot(20, 0)] >= 18
    assert {move.target for move in found.moves} == {Slot(20, 0)}


def test_a_lump_stays_where_it_is_and_its_crumbs_with_it() -> None:
    lump, *rest = _parts(102)
    crumbs, others = rest[:100], rest[100:]
    loads = {lump: 2.0, **dict.fromkeys(crumbs, 0.0001), **dict.fromkeys(others, 1.0)}
    current = {lump: Slot(0, 0), **dict.fromkeys(crumbs, Slot(0, 0)), others[0]: Slot(1, 0)}

    found = assignment.decide(loads, assignment.slots(2, 1), current)

    assert not found.moves
    assert [alternative.what for alternative in found.alternatives] == [
        "taking load from worker 0 slot 0 (1.34 fair shares)"
    ]


def test_a_lump_is_not_passed_on_for_less_than_the_margin() -> None:
    lump, crumb, other = _parts(3)
    loads: dict[Partition, float | None] = {lump: 10.0, crumb: 0.2, other: 0.0}
    current = {lump: Slot(0, 0), crumb: Slot(0, 0), other: Slot(1, 0)}

    found = assignment.decide(loads, assignment.slots(2, 1), current)

    assert not found.moves


def test_two_partitions_are_exchanged_when_no_single_move_helps() -> None:
    five, four, three, two = _parts(4)
    loads: dict[Partition, float | None] = {five: 5.0, four: 4.0, three: 3.0, two: 2.0}
    current = {five: Slot(0, 0), four: Slot(0, 0), three: Slot(1, 0), two: Slot(1, 0)}

    found = assignment.decide(loads, assignment.slots(2, 1), current)

    assert len(found.moves) == 2
    assert found.fullest_after == pytest.approx(1.0, abs=0.01)


def test_a_shrinking_job_empties_the_highest_worker_and_touches_nothing_else() -> None:
    before = assignment.decide(_alike(12), assignment.slots(4, 1), {})

    found = assignment.decide(_alike(12), assignment.slots(4, 1, wanted=3), before.owners)

    assert {move.source for move in found.moves} == {Slot(3, 0)}
    assert len(found.moves) == len(_of(found, MoveReason.DRAINING)) == 3
    assert _counts(found) == {Slot(0, 0): 4, Slot(1, 0): 4, Slot(2, 0): 4}


def test_partitions_of_a_dead_worker_are_taken_over_first() -> None:
    before = assignment.decide(_alike(12), assignment.slots(4, 1), {})
    survivors = [owner for owner in assignment.slots(4, 1, wanted=3) if owner.slot.worker != 1]

    found = assignment.decide(_alike(13), survivors, before.owners)

    reasons = [move.reason for move in found.moves]
    assert reasons == [MoveReason.OWNER_GONE] * 3 + [MoveReason.UNOWNED] + [MoveReason.DRAINING] * 3
    assert set(found.owners.values()) == {Slot(0, 0), Slot(2, 0)}


def test_of_several_draining_workers_the_highest_is_emptied_first() -> None:
    before = assignment.decide(_alike(8), assignment.slots(4, 1), {})

    found = assignment.decide(_alike(8), assignment.slots(4, 1, wanted=2), before.owners)

    assert [move.source.worker for move in found.moves if move.source] == [3, 3, 2, 2]


def test_a_partition_that_is_no_longer_there_is_forgotten() -> None:
    found = assignment.decide(_alike(2), assignment.slots(1, 1), dict.fromkeys(_parts(3), Slot(0, 0)))

    assert list(found.owners) == _parts(2)
    assert not found.moves


@pytest.mark.parametrize(
    ("owners", "kept"),
    {
        "nobody is there": ((), {}),
        "all drain": (assignment.slots(2, 1, wanted=0), {Partition("ads", 0): Slot(0, 0)}),
        "the only capacity is no number": ((Owner(Slot(0, 0), math.nan),), {Partition("ads", 0): Slot(0, 0)}),
    }.values(),
)
def test_without_an_owner_who_can_take_anything_nothing_is_taken_from_those_who_have_it(
    owners: tuple[Owner, ...], kept: Mapping[Partition, Slot]
) -> None:
    current = {Partition("ads", 0): Slot(0, 0), Partition("ads", 1): Slot(7, 0)}

    found = assignment.decide(_alike(2), owners, current)

    assert found.reason is Reason.NO_OWNERS
    assert found.owners == kept
    assert {*found.owners, *found.unowned} == set(_parts(2))
    assert not found.moves


def test_without_partitions_there_is_nothing_to_assign() -> None:
    found = assignment.decide({}, assignment.slots(1, 1), {})

    assert (found.reason, dict(found.owners), found.moves) == (Reason.NO_PARTITIONS, {}, ())


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -1.0])
def test_a_load_that_is_none_is_told_and_counts_as_the_mean_of_its_segment(bad: float) -> None:
    known, wrong, new = _parts(3)
    current = {known: Slot(0, 0), wrong: Slot(1, 0)}

    found = assignment.decide({known: 2.0, wrong: bad, new: None}, assignment.slots(3, 1), current)

    assert found.ignored == (f"load of {wrong}: {bad} is no load",)
    assert found.owners == {**current, new: Slot(2, 0)}


def test_a_partition_without_a_load_moves_only_if_it_has_to() -> None:
    current = dict.fromkeys(_parts(10), Slot(0, 0))
    unknown: dict[Partition, float | None] = dict.fromkeys(_parts(10))

    found = assignment.decide(unknown, assignment.slots(2, 1), current)
    measured = assignment.decide(_alike(10), assignment.slots(2, 1), current)
    emptied = assignment.decide(unknown, assignment.slots(3, 1)[1:], current)

    assert (found.reason, found.moves) == (Reason.UNMEASURED, ())
    assert len(measured.moves) == 5
    assert set(_counts(emptied).values()) == {5}


def test_idle_partitions_are_spread_as_well() -> None:
    found = assignment.decide(dict.fromkeys(_parts(8), 0.0), assignment.slots(4, 1), {})

    assert set(_counts(found).values()) == {2}


def test_an_owner_with_no_usable_capacity_drains_and_is_told() -> None:
    twice = [Owner(Slot(2, 0)), Owner(Slot(2, 0), draining=True)]
    owners = [Owner(Slot(0, 0)), Owner(Slot(1, 0), 0.0), *twice]

    found = assignment.decide(_alike(2), owners, {_parts(2)[0]: Slot(1, 0)})

    assert set(found.owners.values()) == {Slot(0, 0)}
    assert found.ignored == (
        "capacity of worker 1 slot 0: 0.0 is no capacity; it drains",
        "worker 2 slot 0 is named twice",
    )


@pytest.mark.parametrize("margin", [math.nan, -0.1, math.inf])
def test_a_margin_that_is_none_is_told_and_the_usual_one_is_used(margin: float) -> None:
    current = {**dict.fromkeys(_parts(6), Slot(0, 0)), **dict.fromkeys(_parts(8)[6:], Slot(1, 0))}

    found = assignment.decide(_alike(8), assignment.slots(2, 1), current, margin)

    assert found.ignored == (f"margin {margin}: not a share; 0.1 is used",)
    assert found.moves == assignment.decide(_alike(8), assignment.slots(2, 1), current).moves


def test_sentences_name_the_things() -> None:
    found = assignment.decide(_alike(2), assignment.slots(2, 1), dict.fromkeys(_parts(2), Slot(0, 0)))
    assert str(found.moves[0]).startswith("ads/0 moves from worker 0 slot 0 to worker 1 slot 0. Its owner has more")
    assert str(found).startswith("1 move, the fullest owner goes from 2.00 to 1.00 fair shares: Loads had drifted")


def _all_assignments(
    loads: Mapping[Partition, float], owners: int, current: Mapping[Partition, Slot]
) -> list[tuple[float, float, int]]:
    """(load of the fullest, fullest minus emptiest, moves) of each way to assign the partitions."""
    found = []
    for chosen in itertools.product(range(owners), repeat=len(loads)):
        sums = [0.0] * owners
        for load, owner in zip(loads.values(), chosen, strict=True):
            sums[owner] += load
        moves = sum(current.get(p) != Slot(o, 0) for p, o in zip(loads, chosen, strict=True))
        found.append((max(sums), max(sums) - min(sums), moves))
    return found


def _random_case(draw: random.Random, most: int) -> tuple[dict[Partition, float], int, dict[Partition, Slot]]:
    owners = draw.randint(1, 3)
    loads = {p: float(draw.randint(1, most)) for p in _parts(draw.randint(1, 6))}
    current = {p: Slot(draw.randint(0, owners), 0) for p in loads if draw.random() < 0.8}
    return loads, owners, current


def _sums(found: Assignment, loads: Mapping[Partition, float], owners: int) -> list[float]:
    return [sum(loads[p] for p, slot in found.owners.items() if slot.worker == o) for o in range(owners)]


def test_equal_loads_end_as_even_as_can_be_with_the_fewest_moves_of_all_assignments() -> None:
    draw = random.Random(5)  # noqa: S311 - the same cases every time
    for _ in range(250):
        loads, owners, current = _random_case(draw, most=1)

        found = assignment.decide(loads, assignment.slots(owners, 1), current, margin=0.0)

        sums, ways = _sums(found, loads, owners), _all_assignments(loads, owners, current)
        least = min(apart for _, apart, _ in ways)
        assert max(sums) - min(sums) == least
        assert len(found.moves) == min(moves for _, apart, moves in ways if apart == least)


def test_arbitrary_loads_nearly_always_end_with_the_lowest_peak_and_the_fewest_moves_to_it() -> None:
    draw, cases = random.Random(6), 250  # noqa: S311 - the same cases every time
    best = fewest = 0
    for _ in range(cases):
        loads, owners, current = _random_case(draw, most=6)

        found = assignment.decide(loads, assignment.slots(owners, 1), current, margin=0.0)

        peak, ways = max(_sums(found, loads, owners)), _all_assignments(loads, owners, current)
        best += peak == min(way for way, _, _ in ways)
        fewest += len(found.moves) <= min(moves for way, _, moves in ways if way <= peak)
    assert best >= 0.99 * cases
    assert fewest >= 0.9 * cases
