"""The topics that programs write: whether they are there, and how large a message of each may be.

Both are asked when a program is prepared, and once in a life of a slot. A topic that is deleted after that, or takes
less than before, ends the life, and the next one asks again.
"""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka.admin import AdminClient

from spillway.model.errors import NotReadyError
from spillway.runtime import admin, clients
from spillway.runtime.clients import Access
from spillway.runtime.programs.program import Program

# Bytes of a message that its topic counts beside key and value: 61 of the batch that it is in, up to 21 of the record.
# No broker allows less than one byte, and no job works with so little.
AROUND = 100


class OutputError(NotReadyError):
    """An output can't be written as it is now; the message names its topic, and what to do."""


class Outputs:
    """What is known of them. One thread asks."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._client: AdminClient | None = None
        self._most: dict[str, int] = {}

    def batch(self, topics: Iterable[str]) -> int:
        """How much may be sent at once, so that each of these topics takes it; those that are missing say nothing."""
        self._ask(topics)
        return max(1, min((clients.BATCH, *self._most.values())))

    def limits(self, program: Program) -> dict[str, int]:
        """By output, the bytes that key and value of a message may have; raises OutputError if a topic is missing."""
        self._ask(output.topic for output in program.outputs)
        missing = [output for output in program.outputs if output.topic not in self._most]
        if missing:
            output = missing[0]
            message = f"topic {output.topic!r} of output {output.name!r} does not exist; create it, and this goes on"
            raise OutputError(message)
        return {output.name: self._most[output.topic] for output in program.outputs}

    def _ask(self, topics: Iterable[str]) -> None:
        unknown = [topic for topic in topics if topic not in self._most]
        if unknown:
            self._client = self._client or clients.admin(self._access)
            for name, topic in admin.present(self._client, unknown).items():
                self._most[name] = int(topic.settings["max.message.bytes"]) - AROUND
