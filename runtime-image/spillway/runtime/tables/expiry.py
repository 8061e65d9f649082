"""What a retention drops, and when: entries by the last instant that they are about.

Event time advances to the largest time seen. An entry that is due at d goes once d < time - retention, and whatever
comes for it later is late. An entry whose due time moved on in between (a group that got another record) is looked
at when its old one passes, and put back: an entry stands here once, however often it is written.

Where rows are on disk, only those that are due next stand in the heap; all that are due at the `_border` or later stand
on disk too (`Later`). An entry takes 350 bytes here, so a heap of all would be as large as a table in memory.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any, Protocol

from spillway.model.operators import Operator

Key = Any

MICROSECOND = 1_000  # nanoseconds, in which durations count


# Entries in the heap before half of them go elsewhere: each time as many are sorted, and written or read.
NEAR = 20_000


class Later(Protocol):
    """Keeps entries by their due times elsewhere than in memory."""

    def add(self, due: int, key: Key) -> None:
        """Keep one."""

    def take(self, most: int) -> tuple[list[tuple[int, Key]], float]:
        """Take out so many of the earliest, in their order, and say when the next one is due; never if none is left."""

    def clear(self) -> None:
        """Forget all."""


def retention_of(operator: Operator) -> int | None:
    """The retention of an operator in microseconds; None: for ever."""
    return None if operator.retention is None else operator.retention.amount // MICROSECOND


class Expiry:
    """A heap of entries by due time.

    Attributes:
        span: the retention, in microseconds.
        next: beyond this event time there is something to drop.
    """

    def __init__(self, span: int, later: Later | None = None) -> None:
        """`later`: where entries are that are not due soon; without it, all are in memory."""
        self.span = span
        self.next: float = math.inf
        self._later = later
        self._border: float = math.inf  # what is due then or after that is not in the heap, but for equal times
        self._heap: list[tuple[int, int, Key]] = []
        self._number = 0  # decides between equal times: keys need not be comparable

    def watch(self, due: int, key: Key) -> None:
        """An entry came to be."""
        if self._later is not None and due >= self._border:
            self._later.add(due, key)
            return
        self._number += 1
        heapq.heappush(self._heap, (due, self._number, key))
        if due + self.span < self.next:
            self.next = due + self.span
        if self._later is not None and len(self._heap) > NEAR:
            self._spill(self._later)

    def passed(self, time: int, due_of: Callable[[Key], int | None]) -> list[tuple[int, Key]]:
        """What to drop now that event time is `time`, with due times; `due_of` has the present ones, None if gone."""
        horizon = time - self.span
        found: dict[Key, int] = {}  # an entry that went and came back stands here twice
        while (entry := self._due(horizon)) is not None:
            key = entry[2]
            due = due_of(key)
            if due is not None and due >= horizon:
                self.watch(due, key)
            elif due is not None:
                found[key] = due
        self.next = self._heap[0][0] + self.span if self._heap else self._border + self.span
        return [(due, key) for key, due in found.items()]

    def clear(self) -> None:
        """Forget everything, before a restore fills it again."""
        self._heap.clear()
        self.next = self._border = math.inf
        if self._later is not None:
            self._later.clear()

    def _due(self, horizon: int) -> tuple[int, int, Key] | None:
        """Take out the first entry that is due before then."""
        while not self._heap and self._later is not None and self._border < horizon:
            taken, self._border = self._later.take(NEAR // 2)
            self._heap = [(due, self._number + i, key) for i, (due, key) in enumerate(taken, 1)]  # in order: a heap
            self._number += len(taken)
        return heapq.heappop(self._heap) if self._heap and self._heap[0][0] < horizon else None

    def _spill(self, later: Later) -> None:
        """Keep the half that is due first."""
        self._heap.sort()
        half = len(self._heap) // 2
        for due, _, key in self._heap[half:]:
            later.add(due, key)
        self._border = self._heap[half][0]
        del self._heap[half:]
