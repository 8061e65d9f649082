"""Where topics end that are not read for now: a burst is found out by that, and who does not read is not told.

A client of its own asks, beside the loop.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import Future

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

from spillway.runtime import clients
from spillway.runtime.clients import Access

# Seconds from one question to the next: with each report of a slot, the ends are new. One request for all.
EVERY = 0.2
# Seconds for an answer.
PATIENCE = 5.0

Where = tuple[str, int]


class Ends:
    """Asks a broker; never waits."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._admin: AdminClient | None = None
        self._asked: dict[Where, Future[ListOffsetsResultInfo]] = {}
        self._due = 0.0
        self._known: dict[Where, int] = {}

    def look(self, wanted: Iterable[Where]) -> None:
        """Hear what was answered, and ask again when it is time."""
        for where in [where for where, answer in self._asked.items() if answer.done()]:
            try:
                self._known[where] = self._asked.pop(where).result().offset
            except KafkaException:
                continue  # a broker is away: the next answer will tell
        now = time.monotonic()
        if now < self._due or self._asked:
            return
        self._due = now + EVERY
        asked = {TopicPartition(*where): OffsetSpec.latest() for where in wanted}
        if asked:
            self._admin = self._admin or clients.admin(self._access)
            answers = self._admin.list_offsets(asked, request_timeout=PATIENCE)
            self._asked = {(at.topic, at.partition): answer for at, answer in answers.items()}

    def end(self, where: Where) -> int | None:
        """As far as the last answer told."""
        return self._known.get(where)

    def forget(self, where: Where) -> None:
        """Nobody here reads that any more."""
        self._known.pop(where, None)
        self._asked.pop(where, None)
