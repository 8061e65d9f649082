"""`Released` waits until all that a partition has done is stored, also what it has done ahead of its position.

The protocol knows positions: it asks to say `Released` when the position is committed. What was processed ahead of it
since is in no position, and would be repeated by the next owner. Should the move be cancelled meanwhile, what is said
late names a try that is over, and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spillway.controllers.protocol import messages
from spillway.controllers.protocol.values import Partition
from spillway.runtime import failpoints
from spillway.runtime.slots.place import Place


class Parting:
    """What is to be said, by partition."""

    def __init__(self, append: Callable[[messages.Any], None]) -> None:
        """`append` writes to the control log."""
        self._append = append
        self._waiting: dict[Partition, messages.Released] = {}

    def say(self, message: messages.Released) -> None:
        """As soon as that is true."""
        self._waiting[message.partition] = message

    def look(self, places: Mapping[Partition, Place], stores: Callable[[Partition], bool]) -> dict[Place, None]:
        """Say what is true by now; the places of which something is to be stored first.

        `stores`: whether something of a partition is on its way to be stored.
        """
        changed: dict[Place, None] = {}
        for partition, message in tuple(self._waiting.items()):
            place = places.get(partition)
            if place is not None and place.changed:
                changed[place] = None
            elif not stores(partition):
                del self._waiting[partition]
                self._append(message)
                failpoints.reached("released")
        return changed
