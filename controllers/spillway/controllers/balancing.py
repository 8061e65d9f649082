"""The table on which `assignment` shifts partitions until owners are even. Mutable, and lives for one decision.

Loads are whole numbers, so that sums are exact. u(o) = Σ load / capacity is the utilisation of an owner o, and
f = Σ load / Σ capacity the fair share. Moving a load p from o to r leaves u(o) - p/c(o) and u(r) + p/c(r); the two
are even at

    p* = (u(o) - u(r)) / (1/c(o) + 1/c(r))

so the best partition to move is one next to p*, below or above. Loads of an owner are kept sorted: finding one takes
a bisection, and a step O(log n) comparisons.
"""

from __future__ import annotations

import bisect
import heapq
import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from spillway.controllers.protocol.values import Partition

# A round of levelling that the margin started goes on until this part of the margin is left.
SETTLED = 0.5
# Owners are looked up by class of capacity, eight to a doubling: within 9 % they count as alike for that, and exactly
# for everything else. Measured capacities all differ, and 200 classes of one would be searched for each partition.
CLASSES = 8
_NAMED = re.compile(r"w([0-9]{1,6})\.([0-9]{1,6})")


class Slot(NamedTuple):
    """A process of a worker."""

    worker: int
    slot: int

    @classmethod
    def named(cls, name: str) -> Slot | None:
        """The slot of a name, as `name` gives it; None for anything else."""
        found = _NAMED.fullmatch(name)
        return cls(int(found[1]), int(found[2])) if found else None

    @property
    def name(self) -> str:
        """A short name for logs, topics and identities."""
        return f"w{self.worker}.{self.slot}"

    def __str__(self) -> str:
        return f"worker {self.worker} slot {self.slot}"


Load = tuple[int, Partition]
_Rank = tuple[float, int, int, int]


class _Seat:
    """An owner at the table: what it has, sorted by load."""

    __slots__ = ("capacity", "guests", "pinned", "residents", "slot", "total", "use")

    def __init__(self, slot: Slot, capacity: float) -> None:
        self.slot = slot
        self.capacity = capacity
        self.total = 0
        self.use = 0.0
        self.residents: list[Load] = []  # they were here before: moving one is a move
        self.guests: list[Load] = []  # they move anyway: sending one elsewhere costs nothing
        self.pinned: list[Load] = []  # nobody knows their load: they stay

    def add(self, load: int) -> None:
        self.total += load
        self.use = self.total / self.capacity


class _Step(NamedTuple):
    """What the pair gains, who gives to whom, and what; `back` makes it an exchange."""

    gain: float
    giver: _Seat
    taker: _Seat
    load: Load
    back: Load | None = None


class _Worth(NamedTuple):
    """What a step has to exceed: the gain of a lump alone, or the crumbs that would fit in sum."""

    alone: float
    crumbs: float


class Table:
    """Owners and what they have. Used in this order: settle, place, level."""

    def __init__(self, takers: Mapping[Slot, float], total: int) -> None:
        self._seats = {slot: _Seat(slot, takers[slot]) for slot in sorted(takers)}
        self._fair = total / sum(takers.values())
        self._pods = dict.fromkeys((slot.worker for slot in takers), 0)
        # By class of capacity, the emptiest first. An entry whose seat has changed is put right when it is met.
        self._emptiest: dict[int, list[_Rank]] = {}
        self._fullest: list[tuple[float, Slot]] = []

    def settle(self, staying: Iterable[tuple[Slot, Load, bool]]) -> None:
        """Leave partitions where they are; those that are not movable for good."""
        for slot, load, movable in staying:
            seat = self._seats[slot]
            (seat.residents if movable else seat.pinned).append(load)
            seat.add(load[0])
            self._pods[slot.worker] += load[0]
        for seat in self._seats.values():
            seat.residents.sort()
            self._emptiest.setdefault(_class(seat.capacity), []).append(self._rank(seat))
        for ranks in self._emptiest.values():
            heapq.heapify(ranks)

    def place(self, homeless: Iterable[Load]) -> None:
        """Give partitions that have to move to owners, the largest first, each to who then carries least.

        1. Lowest utilisation with the partition on it.
        2. Lowest load of the whole pod, so that slots of one pod fill up last.
        3. Lowest slot of its pod, then lowest worker.
        """
        classes = list(self._emptiest.values())
        for load in sorted(homeless, key=lambda load: (-load[0], load[1])):
            seat = self._head(classes[0])
            use = (seat.total + load[0]) / seat.capacity
            for ranks in classes[1:]:
                other = self._head(ranks)
                its = (other.total + load[0]) / other.capacity
                if its < use or (its == use and self._rank(other) < self._rank(seat)):
                    seat, use = other, its
            seat.guests.append(load)
            self._add(seat, load[0])
        for seat in self._seats.values():
            seat.guests.sort()

    def level(self, margin: float) -> list[tuple[Slot, float]]:
        """Even out what is further apart than the margin; the owners from which nothing can be taken, in fair shares.

        Each step strictly lowers the fuller of a pair, so this ends. A giver that has nothing to give is set aside;
        rounds repeat until one changes nothing, because a later step may have made room.
        """
        apart = margin * self._fair
        while True:
            stepped, aside = False, []
            self._fullest = [(-seat.use, seat.slot) for seat in self._seats.values()]
            heapq.heapify(self._fullest)
            while giver := self._next_giver():
                takers = [self._head(ranks) for ranks in self._emptiest.values()]
                if giver.use - min(taker.use for taker in takers) <= apart:
                    break
                step = self._single(giver, takers, apart, margin) or self._exchange(giver, margin)
                if step is None:
                    aside.append(giver)
                    continue
                self._carry_out(step)
                stepped, apart = True, margin * self._fair * SETTLED
            if not stepped:
                return [(seat.slot, seat.use / self._fair) for seat in aside]

    def owners(self) -> dict[Partition, Slot]:
        """Who has what."""
        return {
            partition: slot
            for slot, seat in self._seats.items()
            for _, partition in (*seat.residents, *seat.guests, *seat.pinned)
        }

    def fullest_share(self) -> float:
        """The utilisation of the fullest owner, in fair shares."""
        return max(seat.use for seat in self._seats.values()) / self._fair

    def _next_giver(self) -> _Seat | None:
        """The fullest owner that was not tried yet at its utilisation; every change of an owner enters it again."""
        while self._fullest:
            use, slot = heapq.heappop(self._fullest)
            seat = self._seats[slot]
            if -use == seat.use:
                return seat
        return None

    def _single(self, giver: _Seat, takers: list[_Seat], apart: float, margin: float) -> _Step | None:
        """The best single move to the emptiest of a class: a guest rather than a resident."""
        best: _Step | None = None
        for taker in takers:
            gap = giver.use - taker.use
            if gap <= apart or taker is giver:
                continue
            even = gap / (1 / giver.capacity + 1 / taker.capacity)
            step = _nearest(giver, taker, giver.guests, even, _Worth(0, 0)) or _nearest(
                giver, taker, giver.residents, even, _Worth(margin * self._fair, apart * SETTLED * giver.capacity)
            )
            if step and (best is None or step.gain > best.gain):
                best = step
        return best

    def _exchange(self, giver: _Seat, margin: float) -> _Step | None:
        """A pair of partitions whose exchange gains more than the margin, with the emptiest owner that has one.

        Two moves for one gain, so only when no single move helps.
        """
        least = margin * self._fair
        mine = sorted(giver.residents + giver.guests)
        # What is smaller gains too little, whatever comes back.
        mine = mine[bisect.bisect_right(mine, least * giver.capacity, key=_size) :]
        for taker in sorted(self._seats.values(), key=self._rank) if mine else ():
            if giver.use - taker.use <= least:
                break
            if step := _best_exchange(giver, taker, mine, least):
                return step
        return None

    def _carry_out(self, step: _Step) -> None:
        self._hand_over(step.giver, step.taker, step.load)
        if step.back:
            self._hand_over(step.taker, step.giver, step.back)
        for seat in (step.giver, step.taker):
            heapq.heappush(self._fullest, (-seat.use, seat.slot))

    def _hand_over(self, giver: _Seat, taker: _Seat, load: Load) -> None:
        kept = giver.guests if _has(giver.guests, load) else giver.residents
        del kept[bisect.bisect_left(kept, load)]
        bisect.insort(taker.guests, load)
        self._add(giver, -load[0])
        self._add(taker, load[0])
        heapq.heappush(self._emptiest[_class(giver.capacity)], self._rank(giver))

    def _add(self, seat: _Seat, load: int) -> None:
        seat.add(load)
        self._pods[seat.slot.worker] += load

    def _rank(self, seat: _Seat) -> _Rank:
        return seat.use, self._pods[seat.slot.worker], seat.slot.slot, seat.slot.worker

    def _head(self, ranks: list[_Rank]) -> _Seat:
        """The emptiest seat. Growing seats leave entries that are too low; shrinking ones enter themselves again."""
        while True:
            use, of_pod, slot, worker = ranks[0]
            seat = self._seats[Slot(worker, slot)]
            if use == seat.use and of_pod == self._pods[worker]:
                return seat
            heapq.heapreplace(ranks, self._rank(seat))


def _class(capacity: float) -> int:
    return round(math.log2(capacity) * CLASSES)


def _gain(giver: _Seat, taker: _Seat, load: float) -> float:
    """By how much the fuller of the two falls when so much goes over; negative when it rises."""
    return giver.use - max((giver.total - load) / giver.capacity, (taker.total + load) / taker.capacity)


def _nearest(giver: _Seat, taker: _Seat, loads: list[Load], even: float, worth: _Worth) -> _Step | None:
    """The partition next to p* that gains most.

    1. Up to p*, the pair gains all that is moved, if what fits is worth it in sum.
    2. Above p* the pair changes roles, and the gain has to be worth it alone.
    3. Of equal gains the smaller load, then the lower partition.
    """
    above = bisect.bisect_right(loads, even, key=_size)
    steps = []
    if above and _exceeds(loads, above, worth.crumbs):
        below = bisect.bisect_left(loads, loads[above - 1][0], key=_size)
        steps.append(_Step(_gain(giver, taker, loads[below][0]), giver, taker, loads[below]))
    if above < len(loads) and (gain := _gain(giver, taker, loads[above][0])) > worth.alone:
        steps.append(_Step(gain, giver, taker, loads[above]))
    return max((step for step in steps if step.gain > 0), key=lambda step: step.gain, default=None)


def _exceeds(loads: list[Load], end: int, amount: float) -> bool:
    """Whether the first loads exceed the amount; from the largest down, because that is mostly decided soon."""
    total = 0
    for i in range(end - 1, -1, -1):
        total += loads[i][0]
        if total > amount:
            return True
    return False


def _best_exchange(giver: _Seat, taker: _Seat, mine: list[Load], least: float) -> _Step | None:
    """The exchange next to p* that gains most; of equal ones, the one that takes back least."""
    theirs = sorted(taker.residents + taker.guests)
    gap = giver.use - taker.use
    # What is larger fills the taker above the giver, whatever comes back.
    end = bisect.bisect_left(mine, gap * taker.capacity + (theirs[-1][0] if theirs else 0), key=_size)
    even = gap / (1 / giver.capacity + 1 / taker.capacity)
    best: _Step | None = None
    for back in theirs if end else ():
        at = bisect.bisect_left(mine, back[0] + even, hi=end, key=_size)
        for load in mine[max(at - 1, 0) : at + 1]:
            gain = _gain(giver, taker, load[0] - back[0])
            if gain > least and (best is None or gain > best.gain):
                best = _Step(gain, giver, taker, load, back)
    return best


def _size(load: Load) -> int:
    return load[0]


def _has(loads: list[Load], load: Load) -> bool:
    at = bisect.bisect_left(loads, load)
    return at < len(loads) and loads[at] == load
