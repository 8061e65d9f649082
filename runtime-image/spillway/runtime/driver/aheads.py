"""What slots have processed ahead of the positions of partitions that the batch engine has: it leaves that out.

Nobody but the owner commits, so it is asked for once, when a partition comes; from then on the engine knows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from spillway.controllers import ahead
from spillway.controllers.ahead import Stretch
from spillway.controllers.protocol.values import Partition
from spillway.runtime.driver.hands import Hands

Done = tuple[Stretch, ...]
# Asks brokers for several partitions of one segment.
Ask = Callable[[tuple[Partition, ...]], Mapping[Partition, Done]]


class Aheads:
    """Of all partitions of one engine. The driver's loop calls it."""

    def __init__(self, hands: Hands, ask: Ask) -> None:
        self._hands, self._ask = hands, ask
        self._beginning: dict[Partition, int] = {}  # by partition, under which epoch
        self._known: dict[Partition, tuple[int, Done]] = {}
        self._new: list[Partition] = []

    @property
    def busy(self) -> bool:
        """Whether an answer is awaited."""
        return bool(self._beginning)

    def begin(self, partition: Partition, epoch: int) -> None:
        """It is ours under this epoch. What is known under it already stays: nobody else has had it meanwhile."""
        if not self.has(partition, epoch) and self._beginning.get(partition) != epoch:
            self._known.pop(partition, None)
            self._beginning[partition] = epoch
            self._new.append(partition)

    def drop(self, partition: Partition) -> None:
        """Somebody else has it now."""
        self._known.pop(partition, None)
        self._beginning.pop(partition, None)

    def has(self, partition: Partition, epoch: int) -> bool:
        """Whether it is known what is done of a partition that is ours."""
        known = self._known.get(partition)
        return known is not None and known[0] == epoch

    def within(self, partition: Partition, start: int, stop: int) -> Done:
        """What of a range is done."""
        _, done = self._known.get(partition, (0, ()))
        return tuple((max(start, low), min(stop, high)) for low, high in done if low < stop and high > start)

    def note(self, partition: Partition, position: int) -> str:
        """What is to be committed with a position."""
        _, done = self._known.get(partition, (0, ()))
        return ahead.write(position, done)

    def look(self) -> None:
        """Ask for what is new, in one request for each segment."""
        new, self._new = self._new, []
        for segment in sorted({partition.segment for partition in new}):
            epochs = {p: self._beginning[p] for p in new if p.segment == segment and p in self._beginning}
            asked = tuple(sorted(epochs))
            self._hands.do(functools.partial(self._ask, asked), functools.partial(self._answer, epochs))

    def _answer(self, epochs: Mapping[Partition, int], found: Mapping[Partition, Done]) -> None:
        for partition, epoch in epochs.items():
            if self._beginning.get(partition) == epoch:
                del self._beginning[partition]
                self._known[partition] = epoch, found.get(partition, ())
