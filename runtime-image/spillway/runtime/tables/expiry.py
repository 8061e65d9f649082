"""What a retention drops, and when: entries by the last instant that they are about.

Event time advances to the largest time seen. An entry that is due at d goes once d < time - retention, and whatever
comes for it later is late. An entry whose due time moved on in between (a group that got another record) is looked
at when its old one passes, and put back: an entry stands here once, however often it is written.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

from spillway.model.operators import Operator

Key = Any

MICROSECOND = 1_000  # nanoseconds, in which durations count


def retention_of(operator: Operator) -> int | None:
    """The retention of an operator in microseconds; None: for ever."""
    return None if operator.retention is None else operator.retention.amount // MICROSECOND


class Expiry:
    """A heap of entries by due time.

    Attributes:
        span: the retention, in microseconds.
        next: beyond this event time there is something to drop.
    """

    def __init__(self, span: int) -> None:
        self.span = span
        self.next: float = math.inf
        self._heap: list[tuple[int, int, Key]] = []
        self._number = 0  # decides between equal times: keys need not be comparable

    def watch(self, due: int, key: Key) -> None:
        """An entry came to be."""
        self._number += 1
        heapq.heappush(self._heap, (due, self._number, key))
        if due + self.span < self.next:
            self.next = due + self.span

    def passed(self, time: int, due_of: Callable[[Key], int | None]) -> list[tuple[int, Key]]:
        """What to drop now that event time is `time`, with due times; `due_of` has the present ones, None if gone."""
        heap, horizon = self._heap, time - self.span
        found: dict[Key, int] = {}  # an entry that went and came back stands here twice
        while heap and heap[0][0] < horizon:
            _, number, key = heap[0]
            due = due_of(key)
            if due is not None and due >= horizon:
                heapq.heapreplace(heap, (due, number, key))
                continue
            heapq.heappop(heap)
            if due is not None:
                found[key] = due
        self.next = heap[0][0] + self.span if heap else math.inf
        return [(due, key) for key, due in found.items()]

    def clear(self) -> None:
        """Forget everything, before a restore fills it again."""
        self._heap.clear()
        self.next = math.inf
