"""Takes messages with a note of what is being processed, and with care those at which an earlier process has ended.

A record may end the process that it is processed in: by a fault in a library, by running out of memory. Messages that
are suspect are taken one at a time. If a process ended with a note of one message, that one is put aside as a dead
letter, and the rest of the job goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from spillway.controllers.protocol.values import Partition
from spillway.model.errors import SpillwayError
from spillway.runtime.slots.ledger import Ledger
from spillway.runtime.slots.settings import Suspect


class DeadlyError(SpillwayError):
    """A message at which processes ended."""


class Place(Protocol):
    """A partition at work, here or in a batch."""

    @property
    def partition(self) -> Partition:
        """Which."""

    def unseen(self, messages: list[Any]) -> list[Any]:
        """Those of some messages that are to be processed now."""

    def take(self, messages: list[Any]) -> None:
        """Process messages."""

    def put_aside(self, message: Any, error: Exception) -> None:
        """Make a dead letter of a message."""


class Caution:
    """How a slot takes messages."""

    def __init__(self, ledger: Ledger | None, suspects: Iterable[Suspect]) -> None:
        self._ledger = ledger
        self._suspects: dict[Partition, list[Suspect]] = {}
        for suspect in suspects:
            self._suspects.setdefault(Partition(suspect.segment, suspect.number), []).append(suspect)

    def take(self, place: Place, messages: list[Any]) -> None:
        """Process messages of one partition."""
        messages = place.unseen(messages)
        if not messages:
            return
        suspects = self._suspects.get(place.partition)
        if suspects is None:
            self._noted(place, messages)
            return
        for message in messages:
            among = [suspect for suspect in suspects if suspect.start <= message.offset() < suspect.stop]
            if any(suspect.stop - suspect.start == 1 for suspect in among):
                error = DeadlyError("the process that worked on it ended, so it was put aside")
                place.put_aside(message, error)
            else:
                self._noted(place, [message])

    def _noted(self, place: Place, messages: list[Any]) -> None:
        if self._ledger is None:
            place.take(messages)
            return
        segment, number = place.partition
        self._ledger.note(segment, number, messages[0].offset(), messages[-1].offset() + 1)
        try:
            place.take(messages)
        finally:
            self._ledger.clear()
