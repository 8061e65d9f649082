"""The tree T of LAT 4.2: what waits, by deadline, with the sums that tell at once what can't all be on time.

A treap of the distinct deadlines. A node i with deadline d_i and the entries Γ_i keeps, for the subtree under it
(L and R are its children; Γ_i.c_Σ and Γ_i.c_max are of its own entries alone):

    c_Σ   = L.c_Σ + Γ_i.c_Σ + R.c_Σ                                                      `total`
    c_max = max(L.c_max, Γ_i.c_max, R.c_max)                                             `most`
    φ     = min(L.φ, d_i - L.c_Σ - Γ_i.c_Σ, R.φ - L.c_Σ - Γ_i.c_Σ)                       `latest`

φ is the latest time to start at which everything in the subtree is still done by its deadline, in the order of
deadlines. With g distinct deadlines and m entries, every operation takes O(log g + log m) (LAT Table 3).

All numbers are whole (nanoseconds), so that sums don't depend on the order of insertions and removals. Priorities are
a hash of deadline and seed: the same entries make the same tree, whatever happened before.
"""

from __future__ import annotations

import heapq
from typing import Generic, TypeVar

T = TypeVar("T")
_MASK = 2**64 - 1


class Entry(Generic[T]):
    """Something that waits. `order` is unique and rises with arrival; `where` is the node that it is in."""

    __slots__ = ("cost", "due", "order", "value", "where")

    def __init__(self, value: T, order: int, due: int, cost: int) -> None:
        self.value = value
        self.order = order
        self.due = due
        self.cost = cost
        self.where: _Node[T] | None = None


class _Node(Generic[T]):
    """A deadline, its entries Γ_i in two heaps (taken out of one, an entry is stale in the other), and the sums."""

    __slots__ = (
        "costliest",
        "due",
        "latest",
        "left",
        "most",
        "oldest",
        "own",
        "own_most",
        "priority",
        "right",
        "total",
    )

    def __init__(self, due: int, priority: int) -> None:
        self.due = due
        self.priority = priority
        self.left: _Node[T] | None = None
        self.right: _Node[T] | None = None
        self.oldest: list[tuple[int, Entry[T]]] = []
        self.costliest: list[tuple[int, int, Entry[T]]] = []
        self.own = self.own_most = self.total = self.most = self.latest = 0

    def add(self, entry: Entry[T]) -> None:
        entry.where = self
        heapq.heappush(self.oldest, (entry.order, entry))
        heapq.heappush(self.costliest, (-entry.cost, -entry.order, entry))
        self.own += entry.cost
        self.own_most = -self.costliest[0][0]

    def drop(self, entry: Entry[T]) -> bool:
        """Take the entry out; whether any are left."""
        entry.where = None
        self.own -= entry.cost
        while self.oldest and self.oldest[0][1].where is not self:
            heapq.heappop(self.oldest)
        while self.costliest and self.costliest[0][2].where is not self:
            heapq.heappop(self.costliest)
        if self.costliest:
            self.own_most = -self.costliest[0][0]
        return bool(self.costliest)

    def pull(self) -> None:
        """Compute c_Σ, c_max and φ from the children and the own entries."""
        left, right = self.left, self.right
        done, most = self.own, self.own_most
        if left is not None:
            done += left.total
            most = max(most, left.most)
        latest, total = self.due - done, done
        if left is not None:
            latest = min(latest, left.latest)
        if right is not None:
            total += right.total
            most = max(most, right.most)
            latest = min(latest, right.latest - done)
        self.total, self.most, self.latest = total, most, latest


class DeadlineTree(Generic[T]):
    """Entries by deadline."""

    def __init__(self, seed: int = 0) -> None:
        self._root: _Node[T] | None = None
        self._seed = seed
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def schedulable(self, now: int) -> bool:
        """Whether everything can be on time from now on: now ≤ φ of the root. O(1)."""
        return self._root is None or now <= self._root.latest

    def insert(self, entry: Entry[T]) -> None:
        """Add an entry."""
        path, node = self._find(entry.due)
        if node is None:
            node = self._grow(entry.due, path)
        node.add(entry)
        self._size += 1
        _pull(node, path)

    def remove(self, entry: Entry[T]) -> None:
        """Take out an entry that is in the tree."""
        path, node = self._find(entry.due)
        if node is None or entry.where is not node:
            message = f"no entry {entry.order} with deadline {entry.due} waits here"
            raise KeyError(message)
        self._drop(entry, node, path)

    def pop(self) -> Entry[T] | None:
        """Take out the entry with the earliest deadline, of several the oldest; None when nothing waits."""
        path, node = [], self._root
        if node is None:
            return None
        while node.left is not None:
            path.append(node)
            node = node.left
        entry = node.oldest[0][1]
        self._drop(entry, node, path)
        return entry

    def overloaded(self, now: int) -> int | None:
        """The least d_i such that now + the cost of Γ_1 … Γ_i is beyond d_i; None when all can be on time."""
        node = self._root
        while node is not None and node.latest < now:
            left = node.left
            if left is not None and left.latest < now:
                node = left
                continue
            now += node.own + (left.total if left is not None else 0)
            if now > node.due:
                return node.due
            node = node.right
        return None

    def costliest(self, until: int) -> Entry[T] | None:
        """The entry of the highest cost in Γ_1 … Γ_i for d_i ≤ until.

        1. The highest cost.
        2. Then the latest deadline: it has the most time to become useful without us.
        3. Then the newest, so that older ones of the same kind are not overtaken.
        """
        best: _Node[T] | None = None
        most, inside, node = -1, False, self._root
        while node is not None:
            if node.due > until:
                node = node.left
                continue
            if node.left is not None and node.left.most >= most:
                best, most, inside = node.left, node.left.most, True
            if node.own_most >= most:
                best, most, inside = node, node.own_most, False
            node = node.right
        while best is not None and inside:
            if best.right is not None and best.right.most == most:
                best = best.right
            elif best.own_most == most:
                inside = False
            else:
                best = best.left
        return None if best is None else best.costliest[0][2]

    def _find(self, due: int) -> tuple[list[_Node[T]], _Node[T] | None]:
        path: list[_Node[T]] = []
        node = self._root
        while node is not None and node.due != due:
            path.append(node)
            node = node.left if due < node.due else node.right
        return path, node

    def _grow(self, due: int, path: list[_Node[T]]) -> _Node[T]:
        """A new node: hung below the path, and rotated up past parents of lower priority, which leave the path."""
        node = _Node[T](due, _hash(due, self._seed))
        while path and path[-1].priority < node.priority:
            parent = path.pop()
            if due < parent.due:
                parent.left, node.right = node.right, parent
            else:
                parent.right, node.left = node.left, parent
            parent.pull()
        self._hang(node, due, path)
        return node

    def _drop(self, entry: Entry[T], node: _Node[T], path: list[_Node[T]]) -> None:
        self._size -= 1
        if node.drop(entry):
            _pull(node, path)
            return
        self._hang(_merge(node.left, node.right), node.due, path)
        _pull(None, path)

    def _hang(self, node: _Node[T] | None, due: int, path: list[_Node[T]]) -> None:
        if not path:
            self._root = node
        elif due < path[-1].due:
            path[-1].left = node
        else:
            path[-1].right = node


def _merge(low: _Node[T] | None, high: _Node[T] | None) -> _Node[T] | None:
    """One tree of two, all deadlines of the first before all of the second."""
    if low is None or high is None:
        return high if low is None else low
    if low.priority > high.priority:
        low.right = _merge(low.right, high)
        low.pull()
        return low
    high.left = _merge(low, high.left)
    high.pull()
    return high


def _pull(node: _Node[T] | None, path: list[_Node[T]]) -> None:
    if node is not None:
        node.pull()
    for above in reversed(path):
        above.pull()


def _hash(due: int, seed: int) -> int:
    """The finisher of SplitMix64: neighbouring deadlines get unrelated priorities, or the tree would be a list."""
    z = (due * 0x9E3779B97F4A7C15 + seed) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)
