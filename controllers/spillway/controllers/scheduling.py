"""Which record first, when not all can be on time: as many as possible within the promise (LAT 4).

*Tuple level* (4.2, `RecordScheduler`): what waits is kept a schedulable set Γ. When it can't all be on time, the
costliest record of the first overloaded deadlines is put off, again and again (Algorithm 1); what is left is a
largest schedulable subset (Proposition 4.1), and is served by deadline. *Batch level* (4.1, `BatchScheduler`): whole
batches by deadline, cheaper to run and blind to the cost of single records.

Where we differ from the paper: a record that is put off is late, not lost. Late ones are served, oldest first, when
nothing that can still be on time waits, and are given up only if the caller asks (`give_up`).

With key order, records of one key are served in their order of arrival, late or not: one that is due before an older
one of its key pulls that forward, one that is put off takes the younger ones of its key with it, and while a key has
late ones, new ones queue behind them. The subset is then schedulable, but no longer a largest one.

Coarse deadlines and cost groups (4.3, `Grain`) make it cheap: what shares a deadline is one node of the tree.

Time is in whole nanoseconds since any fixed point, because these run for every record.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import heapq
import itertools
import math
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from spillway.controllers import explain
from spillway.controllers.deadlines import DeadlineTree, Entry
from spillway.model.quantities import Duration

# Units of the deadline in one latency bound: LAT 4.3 gains most with a unit one order of magnitude below the bound.
# Finer units are more nodes and more work; coarser ones give away up to one unit of the bound.
UNITS_PER_BOUND = 10


class Item(NamedTuple):
    """What waits: due when (t_e + L), how long it takes (c_e), the caller's index of it, and its key if it has one.

    For the batch level the cost is that of one record of the batch.
    """

    deadline: int
    cost: int
    payload: int
    key: Hashable = None


class Reason(explain.Reasons):
    """Why this is next."""

    ON_TIME = "OnTime", "Of all that can still be on time together, it is due first."
    LATE = "Late", "It can't be on time, or only at the cost of more others; nothing that can be is waiting."
    IDLE = "Idle", "Nothing waits."


class Next(NamedTuple):
    """The decision. A tuple and not a dataclass: there is one for each record."""

    reason: Reason
    item: Item | None


_IDLE = Next(Reason.IDLE, None)


@dataclasses.dataclass(frozen=True, slots=True)
class CostGroups:
    """A few groups of similar costs; each cost counts as the mean of its group. `bounds` are the groups' upper ends."""

    bounds: tuple[int, ...]
    means: tuple[int, ...]

    @classmethod
    def of(cls, samples: Iterable[int], count: int) -> CostGroups:
        """Groups of equal ratio from the least to the largest sample: costs of memory and disk differ by factors."""
        costs = sorted(cost for cost in samples if cost > 0)
        if not costs or count < 1:
            return cls((), ())
        low, high = math.log(costs[0]), math.log(costs[-1])
        ends = [bisect.bisect_right(costs, math.exp(low + (high - low) * i / count)) for i in range(1, count)]
        cuts = sorted({0, *ends, len(costs)})
        groups = [costs[start:end] for start, end in itertools.pairwise(cuts)]
        return cls(tuple(g[-1] for g in groups), tuple(round(sum(g) / len(g)) for g in groups))

    def estimate(self, cost: int) -> int:
        """The mean of the group; beyond the last group a cost counts as what it is, and so it does without groups."""
        at = bisect.bisect_left(self.bounds, cost)
        return self.means[at] if at < len(self.bounds) else cost


@dataclasses.dataclass(frozen=True, slots=True)
class Grain:
    """How finely deadlines and costs are told apart; as given, unless said otherwise."""

    unit: int = 1
    groups: CostGroups = CostGroups((), ())

    @classmethod
    def of_promise(cls, bound: Duration, groups: CostGroups = CostGroups((), ())) -> Grain:
        """The unit of deadlines for a latency bound."""
        return cls(max(1, bound.amount // UNITS_PER_BOUND), groups)

    def due(self, deadline: int) -> int:
        """The deadline in coarse units: rounded down, so that what is on time by it is on time."""
        return deadline - deadline % self.unit

    def cost(self, cost: int) -> int:
        """The cost in coarse steps; a negative one, which only a mistake can be, counts as none."""
        return self.groups.estimate(max(0, cost))


class RecordScheduler:
    """The tuple-level scheduler of LAT, Algorithm 2, for one owner."""

    def __init__(self, grain: Grain = Grain(), *, key_order: bool = False, seed: int = 0) -> None:
        self._grain = grain
        self._key_order = key_order
        self._tree = DeadlineTree[Item](seed)
        self._late = _LateLane()
        self._arrivals = 0
        self._by_key: dict[Hashable, collections.deque[Entry[Item]]] = {}

    def __len__(self) -> int:
        return len(self._tree) + len(self._late)

    @property
    def late(self) -> int:
        """How many of those that wait were put off so far."""
        return len(self._late)

    def insert(self, item: Item) -> None:
        """Take an item in; `release` in the paper, which would put off at once.

        Here that waits until somebody asks: an item put off for one arrival could have been on time after the next,
        which puts off another in its place, and the subset would be the largest only for some orders of arrival.
        """
        self._arrivals += 1
        ordered = self._key_order and item.key is not None
        if ordered and self._late.has_key(item.key):
            self._late.put(self._arrivals, item, counted=True)
            return
        entry = Entry(item, self._arrivals, self._grain.due(item.deadline), self._grain.cost(item.cost))
        if ordered:
            self._queue_behind_its_key(entry)
        self._tree.insert(entry)

    def next(self, now: int) -> Next:
        """Take out what to serve now. `nextToProcess` in the paper."""
        self.put_off(now)
        entry = self._tree.pop()
        if entry is None:
            item = self._late.take()
            return Next(Reason.LATE, item) if item else _IDLE
        if self._key_order and entry.value.key is not None:
            self._forget(entry)
        return Next(Reason.ON_TIME, entry.value)

    def give_up(self, now: int) -> list[Item]:
        """Take out everything that is late by now, oldest first."""
        self.put_off(now)
        return self._late.clear()

    def clear(self) -> list[Item]:
        """Take out everything, oldest first: what a partition leaves behind when it moves."""
        entries = [(order, item) for order, item, _ in self._late.waiting]
        while entry := self._tree.pop():
            entries.append((entry.order, entry.value))
        self._late.clear()
        self._by_key.clear()
        return [item for _, item in sorted(entries, key=lambda one: one[0])]

    def put_off(self, now: int) -> Sequence[Item]:
        """Algorithm 1: until all can be on time, put off the costliest of the first overloaded deadlines.

        Returns what is late from now on. What is left is a largest subset that can be on time (Proposition 4.1).
        """
        put_off: list[Item] = []
        while not self._tree.schedulable(now):
            due = self._tree.overloaded(now)
            victim = None if due is None else self._tree.costliest(due)
            if victim is None:
                break
            for entry in self._with_younger_of_its_key(victim):
                self._tree.remove(entry)
                counted = self._key_order and entry.value.key is not None
                self._late.put(entry.order, entry.value, counted=counted)
                put_off.append(entry.value)
        return put_off

    def _queue_behind_its_key(self, entry: Entry[Item]) -> None:
        """Older ones of the key that are due later are due with this one: it has to wait for them."""
        waiting = self._by_key.setdefault(entry.value.key, collections.deque())
        for older in reversed(waiting):
            if older.due <= entry.due:
                break
            self._tree.remove(older)
            older.due = entry.due
            self._tree.insert(older)
        waiting.append(entry)

    def _with_younger_of_its_key(self, victim: Entry[Item]) -> list[Entry[Item]]:
        if not self._key_order or victim.value.key is None:
            return [victim]
        waiting = self._by_key[victim.value.key]
        found = [entry for entry in waiting if entry.order >= victim.order]
        for _ in found:
            waiting.pop()
        if not waiting:
            del self._by_key[victim.value.key]
        return found

    def _forget(self, first: Entry[Item]) -> None:
        waiting = self._by_key[first.value.key]
        waiting.popleft()
        if not waiting:
            del self._by_key[first.value.key]


class BatchScheduler:
    """The batch-level scheduler of LAT 4.1: earliest deadline first over whole batches.

    Batches have the same value per cost, and a part of one is worth its records, so earliest deadline first is
    optimal. A batch is late when not even its first record can be on time.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Item]] = []
        self._late = _LateLane()
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._late)

    def insert(self, item: Item) -> None:
        """Take a batch in."""
        self._arrivals += 1
        heapq.heappush(self._waiting, (item.deadline, self._arrivals, item))

    def next(self, now: int) -> Next:
        """Take out the batch to serve now."""
        while self._waiting:
            deadline, order, item = heapq.heappop(self._waiting)
            if now + item.cost <= deadline:
                return Next(Reason.ON_TIME, item)
            self._late.put(order, item, counted=False)
        late = self._late.take()
        return Next(Reason.LATE, late) if late else _IDLE

    def give_up(self) -> list[Item]:
        """Take out everything that is known to be late, oldest first."""
        return self._late.clear()


class _LateLane:
    """What is late, oldest first, and how many of which key."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, Item, bool]] = []
        self._keys = collections.Counter[Hashable]()

    def __len__(self) -> int:
        return len(self.waiting)

    def has_key(self, key: Hashable) -> bool:
        return key in self._keys

    def put(self, order: int, item: Item, *, counted: bool) -> None:
        heapq.heappush(self.waiting, (order, item, counted))
        if counted:
            self._keys[item.key] += 1

    def take(self) -> Item | None:
        if not self.waiting:
            return None
        _, item, counted = heapq.heappop(self.waiting)
        if counted:
            self._keys[item.key] -= 1
            if not self._keys[item.key]:
                del self._keys[item.key]
        return item

    def clear(self) -> list[Item]:
        items = [item for _, item, _ in sorted(self.waiting, key=lambda one: one[0])]
        self.waiting.clear()
        self._keys.clear()
        return items
