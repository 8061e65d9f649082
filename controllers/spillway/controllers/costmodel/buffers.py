"""Section 3.4: how many frames one slot of a producer fills at a time.

Three schemes for a producer whose consumers C have dop(C) slots each:

- one: records may go to any slot of a consumer, or go to all, so there is one buffer;
- distinct: by key, a pool of buffers for each consumer, one for each of its slots: Σ dop(C) buffers;
- shared: by key, one buffer for each combination of slots, sent to all consumers: Π dop(C) buffers.

A frame is full after b_out records times the buffers among which the records of one consumer are spread: 1, dop(C),
Π dop. This is what a frame of b_out records costs in latency.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Sequence


class Scheme(enum.StrEnum):
    """How records find their buffer."""

    ONE = "one"
    DISTINCT = "distinct"
    SHARED = "shared"


@dataclasses.dataclass(frozen=True, slots=True)
class Buffers:
    """Buffers of one slot of a producer, for consumers with so many slots each."""

    scheme: Scheme
    consumers: tuple[int, ...]

    @classmethod
    def of(cls, scheme: Scheme, consumers: Sequence[int]) -> Buffers:
        """Refuses consumers without slots."""
        if any(slots < 1 for slots in consumers):
            message = f"consumers have {list(consumers)} slots; each needs at least 1"
            raise ValueError(message)
        return cls(scheme, tuple(consumers))

    @property
    def count(self) -> int:
        """How many there are; none when nobody reads."""
        if not self.consumers:
            return 0
        sizes = {Scheme.ONE: 1, Scheme.DISTINCT: sum(self.consumers), Scheme.SHARED: math.prod(self.consumers)}
        return sizes[self.scheme]

    def records(self, frame: int) -> int:
        """How many records they hold at most: count · b_out."""
        return self.count * frame

    def filled_after(self, frame: int, consumer: int) -> int:
        """How many records the slot emits, on average, until a frame for this consumer (its index) is full."""
        spread = {
            Scheme.ONE: 1,
            Scheme.DISTINCT: self.consumers[consumer],
            Scheme.SHARED: math.prod(self.consumers),
        }
        return spread[self.scheme] * frame
