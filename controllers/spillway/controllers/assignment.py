"""Which slot owns which partition: balanced by measured load, sticky, the same for every order of the input.

Words: the *load* of a partition is the share of a slot that it keeps busy; the *utilisation* of an owner is the sum
of its loads through its capacity; a *fair share* is the utilisation that all owners would have in perfect balance,
Σ load / Σ capacity over the owners that stay.

What moves, in this order:

1. What has to: partitions without an owner, of an owner that is gone, of an owner that drains. Largest first, each
   to where it ends with the lowest utilisation (`balancing.Table.place`). That many moves are unavoidable.
2. What improves the balance by more than the margin (`balancing.Table.level`): when the fullest and the emptiest
   owner are further apart than the margin, partitions go from the one to the other until half of that is left, so
   that noise of the measurement doesn't start the next round. A step has to lower the fuller of the two.
3. Nothing else. A partition whose load is not known moves only if it has to: missing telemetry is no news.

Of equal partitions the lower (segment, number) goes first; what the tables compare is numbered there.

What holds for the result: it has every partition once; deciding again on it moves nothing; without a gap beyond the
margin only rule 1 moves; with equal loads, equal owners and margin 0 it is as even as can be, with the fewest moves of
all. Among equal owners and measured loads none carries more than a fair share, the margin and the largest load
together. Fewest moves for arbitrary loads are NP-hard (bin packing); the tests hold the outcome against all
assignments of small cases, where it has the lowest peak in 99 of 100, and the fewest moves to it in 90 of 100.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from spillway.controllers import balancing, explain
from spillway.controllers.balancing import Slot
from spillway.controllers.explain import Alternative
from spillway.controllers.protocol.values import Partition

# In fair shares. Loads come from timing 1 record in 64 over some seconds and wander by about 5 %, so the difference of
# two owners by less than 10 % is no difference. Smaller: partitions wander with the noise, and each move pauses one
# for milliseconds and restores its state. Larger: the fullest owner eats what `policy.headroom` keeps free (20 %).
MARGIN = 0.1
NEVER = 1e9  # as a margin: nothing is moved only for the balance
# Of the mean load, for a partition that has none now: polling and committing cost a little, and idle partitions that
# sit together would wake up together. 1 % is too little to outweigh anything measured.
IDLE = 0.01
# Capacities are relative, so around 1; what is this far off is a mistake, and would spoil the sums.
_CAPACITIES = (1e-6, 1e6)
# Loads are counted in whole billionths of the largest, so that sums don't depend on their order.
_WHOLE = 10**9


class Reason(explain.Reasons):
    """Why the assignment is what it is."""

    STEADY = (
        "Steady",
        "All have owners that stay, and no move would improve the balance by more than the margin.",
    )
    BALANCED = "Balanced", "Loads had drifted apart by more than the margin; partitions move to even them out."
    MEMBERS_CHANGED = (
        "MembersChanged",
        "Some had no owner, or one that is gone or drains; others may move for balance.",
    )
    UNMEASURED = "Unmeasured", "Nothing has to move, and without any measured load nothing is moved for the balance."
    NO_OWNERS = (
        "NoOwners",
        "No owner can take anything; all stay with owners that are still there, draining or not.",
    )
    NO_PARTITIONS = "NoPartitions", "There is nothing to assign."


class MoveReason(explain.Reasons):
    """Why one partition moves, in the order in which moves should be started."""

    OWNER_GONE = "OwnerGone", "Its owner is gone: nobody processes it."
    UNOWNED = "Unowned", "It is new: nobody processes it yet."
    DRAINING = "Draining", "Its owner gives everything away."
    BALANCE = "Balance", "Its owner has more than a fair share, and the new owner less."


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """A slot that can own partitions. Capacity is relative: 1 where all slots are alike."""

    slot: Slot
    capacity: float = 1.0
    draining: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """One partition changes hands."""

    partition: Partition
    source: Slot | None
    target: Slot
    reason: MoveReason

    def __str__(self) -> str:
        source = f"from {self.source} " if self.source else ""
        return f"{self.partition} moves {source}to {self.target}. {self.reason.meaning}"


@dataclasses.dataclass(frozen=True, slots=True)
class Assignment:
    """The decision. `fullest_before` and `fullest_after` are in fair shares; 1.0 is perfect balance."""

    reason: Reason
    owners: Mapping[Partition, Slot]
    moves: tuple[Move, ...]
    unowned: tuple[Partition, ...]
    fullest_before: float
    fullest_after: float
    alternatives: tuple[Alternative, ...]
    ignored: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Why, with the numbers of this case."""
        moves = f"{len(self.moves)} {'move' if len(self.moves) == 1 else 'moves'}" if self.moves else "no moves"
        fullest = f"the fullest owner goes from {self.fullest_before:.2f} to {self.fullest_after:.2f} fair shares"
        return f"{moves}, {fullest}: {self.reason.meaning}"

    @property
    def inputs(self) -> explain.Inputs:
        """What it looked at."""
        ignored = (("ignored", "; ".join(self.ignored)),) if self.ignored else ()
        return (("partitions", f"{len(self.owners) + len(self.unowned)}"), *ignored)

    def __str__(self) -> str:
        return explain.told(self)


def slots(workers: int, each: int, wanted: int | None = None, capacity: float = 1.0) -> tuple[Owner, ...]:
    """The owners of `workers` pods with `each` slots; the pods beyond `wanted`, the highest, drain."""
    keep = workers if wanted is None else wanted
    return tuple(Owner(Slot(w, s), capacity, draining=w >= keep) for w in range(workers) for s in range(each))


def decide(
    loads: Mapping[Partition, float | None],
    owners: Iterable[Owner],
    current: Mapping[Partition, Slot],
    margin: float = MARGIN,
) -> Assignment:
    """Assign the partitions of `loads` (all segments together) to owners, given who has them now.

    A load that is missing, negative or no number counts as the mean of its segment. An owner whose capacity is not a
    positive number of usual size drains; one that is named twice drains if either does. `ignored` tells all of that.
    """
    present, ignored = _present(owners)
    if not 0 <= margin < math.inf:
        ignored += (f"margin {margin}: not a share; {MARGIN} is used",)
        margin = MARGIN
    partitions = sorted(loads)
    known = {p: load for p in partitions if (load := loads[p]) is not None and 0 <= load < math.inf}
    ignored += tuple(
        f"load of {p}: {loads[p]} is no load" for p in partitions if p not in known and loads[p] is not None
    )
    takers = {slot: owner.capacity for slot, owner in present.items() if not owner.draining}
    before = {p: slot for p in partitions if (slot := current.get(p)) in present}
    if not partitions or not takers:
        reason = Reason.NO_OWNERS if partitions else Reason.NO_PARTITIONS
        unowned = tuple(p for p in partitions if p not in before)
        return Assignment(reason, MappingProxyType(before), (), unowned, 0.0, 0.0, (), ignored)
    return _assign(_whole(partitions, known), frozenset(known), takers, (before, current), margin, ignored)


def _assign(
    whole: Mapping[Partition, int],
    known: frozenset[Partition],
    takers: Mapping[Slot, float],
    were: tuple[Mapping[Partition, Slot], Mapping[Partition, Slot]],
    margin: float,
    ignored: tuple[str, ...],
) -> Assignment:
    """Place what has to move, level the rest, and say what happened."""
    before, current = were
    table = balancing.Table(takers, sum(whole.values()))
    homes = {p: home for p in whole if (home := before.get(p)) in takers}
    table.settle((home, (whole[p], p), p in known) for p, home in homes.items() if home is not None)
    fullest_before = table.fullest_share()
    table.place((load, p) for p, load in whole.items() if p not in homes)
    stuck = table.level(margin)
    after = table.owners()
    moves = sorted(
        (
            Move(p, current.get(p), after[p], _why(p, before, current, takers))
            for p in whole
            if current.get(p) != after[p]
        ),
        key=_start_order,
    )
    if len(homes) < len(whole):
        reason = Reason.MEMBERS_CHANGED
    elif moves:
        reason = Reason.BALANCED
    else:
        reason = Reason.STEADY if known else Reason.UNMEASURED
    fullest = table.fullest_share()
    ordered = MappingProxyType({p: after[p] for p in whole})
    return Assignment(reason, ordered, tuple(moves), (), fullest_before, fullest, _alternatives(stuck, margin), ignored)


def _present(owners: Iterable[Owner]) -> tuple[dict[Slot, Owner], tuple[str, ...]]:
    """Owners by slot, and what was wrong with some; one that can't be used drains rather than being gone."""
    found: dict[Slot, Owner] = {}
    ignored = []
    for owner in sorted(owners, key=lambda o: (o.slot, o.draining, str(o.capacity))):
        usable = _CAPACITIES[0] <= owner.capacity <= _CAPACITIES[1]
        if not usable:
            ignored.append(f"capacity of {owner.slot}: {owner.capacity} is no capacity; it drains")
        drains = owner.draining or not usable
        if owner.slot in found:
            ignored.append(f"{owner.slot} is named twice")
            drains |= found[owner.slot].draining
        found[owner.slot] = Owner(owner.slot, owner.capacity if usable else 1.0, drains)
    return found, tuple(ignored)


def _whole(partitions: list[Partition], known: Mapping[Partition, float]) -> dict[Partition, int]:
    """Loads as whole numbers; unknown ones are estimated by the mean of their segment, else of all, else alike."""
    largest = max(known.values(), default=0.0) or 1.0
    scaled = {p: round(load / largest * _WHOLE) for p, load in known.items()}
    by_segment: dict[str, list[int]] = {}
    for p, load in scaled.items():
        by_segment.setdefault(p.segment, []).append(load)
    mean = sum(scaled.values()) // len(scaled) if scaled else _WHOLE
    means = {segment: sum(of) // len(of) for segment, of in by_segment.items()}
    idle = max(1, round((mean or _WHOLE) * IDLE))
    return {p: idle + scaled.get(p, means.get(p.segment, mean)) for p in partitions}


def _why(
    p: Partition, before: Mapping[Partition, Slot], current: Mapping[Partition, Slot], takers: Mapping[Slot, float]
) -> MoveReason:
    if p not in current:
        return MoveReason.UNOWNED
    if p not in before:
        return MoveReason.OWNER_GONE
    return MoveReason.BALANCE if before[p] in takers else MoveReason.DRAINING


def _start_order(move: Move) -> tuple[object, ...]:
    """The order in which moves should be started.

    1. By reason, in the order of `MoveReason`: what nobody processes first, what nobody waits for last.
    2. The highest worker first: it is the one that goes when the job shrinks.
    3. By partition.
    """
    return list(MoveReason).index(move.reason), -move.source.worker if move.source else 0, move.partition


def _alternatives(stuck: Iterable[tuple[Slot, float]], margin: float) -> tuple[Alternative, ...]:
    """Owners that stay above a fair share by more than the margin, and why nothing was taken from them."""
    why = "no single move or exchange would lower it by more than the margin"
    return tuple(
        Alternative(f"taking load from {slot} ({share:.2f} fair shares)", why)
        for slot, share in stuck
        if share > 1 + margin
    )
