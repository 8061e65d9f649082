"""The control log as a topic: read from its beginning, and then whatever comes.

Who writes appends with `record`, through a producer of its own, and learns what became of it by reading it back.
"""

from __future__ import annotations

import collections
import time
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from spillway.controllers.protocol import log, messages, wire
from spillway.controllers.topics import Names
from spillway.model.errors import RetryError, TerminalError
from spillway.runtime import clients
from spillway.runtime.clients import Access

# Seconds for the ends of the log, and then for each of its messages: a broker that says nothing for so long is away.
PATIENCE = 30.0
AT_ONCE = 500
GONE = (
    KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001 - so it is called
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
)


class ControlLostError(TerminalError):
    """The control log may not be read, or what we were to read next was deleted: who owns what can't be known."""


def record(names: Names, message: messages.Any) -> tuple[str, int, None, bytes]:
    """A message as it is sent: topic, partition, key, value."""
    return names.control, 0, None, wire.encode(message)


class ControlLog:
    """A reader of the control log."""

    def __init__(self, access: Access, names: Names) -> None:
        self._topic = names.control
        self._consumer: Consumer = clients.reader(access, f"{names.prefix}control")
        self._fetched: collections.deque[Message] = collections.deque()
        self.next = 0  # the offset of the next message

    def restored(self) -> log.State:
        """What the log says up to its present end; from here on `read` goes on."""
        low, high = self._ends()
        clients.know(self._consumer, self._topic)
        self._consumer.assign([TopicPartition(self._topic, 0, low)])
        self.next = low
        found: list[tuple[int, messages.Any]] = []
        deadline = time.monotonic() + PATIENCE
        while self.next < high:
            for told in self.read(0.2):
                found.append(told)
                deadline = time.monotonic() + PATIENCE
            if time.monotonic() > deadline:
                message = f"topic {self._topic!r} has messages up to {high}, and none came after {self.next}"
                raise RetryError(message)
        return log.restored(found)

    def read(self, seconds: float = 0.0) -> Iterator[tuple[int, messages.Any]]:
        """The next messages with their offsets; waits for the first one for so long.

        Who stops between two of them goes on there: the next call has the rest.
        """
        if not self._fetched:
            self._fetched += clients.arrived(self._consumer, AT_ONCE, seconds)
        while self._fetched:
            message = self._fetched.popleft()
            if self._is_new(message):
                offset = message.offset() or 0
                self.next = offset + 1
                yield offset, wire.decode(message.value() or b"")

    def close(self) -> None:
        """Read nothing any more."""
        self._consumer.close()

    def _ends(self) -> tuple[int, int]:
        """Where the log begins and ends; a topic that is new has no leader for some moments."""
        at, deadline = TopicPartition(self._topic, 0), time.monotonic() + PATIENCE
        while True:
            try:
                ends = self._consumer.get_watermark_offsets(at, timeout=PATIENCE)
            except KafkaException as error:
                ends, why = None, str(error.args[0].str())
            else:
                why = "no broker answers"
            if ends is not None:
                return int(ends[0]), int(ends[1])
            if time.monotonic() > deadline:
                message = f"what topic {self._topic!r} has can't be told: {why}; check that Kafka is there"
                raise RetryError(message)
            time.sleep(0.05)

    def _is_new(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return (message.offset() or 0) >= self.next
        if error.code() in GONE:
            text = f"topic {self._topic!r} can't be read from offset {self.next} on: {error.str()}"
            raise ControlLostError(text)
        return False  # the client tries again by itself
