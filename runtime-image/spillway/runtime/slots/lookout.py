"""Looks, beside the loop, after what would let partitions go on that have halted, and after topics that were deleted.

A client does not notice that a topic was deleted, and made anew under the same name: it waits, or goes on at an offset
that now belongs to another record. Kafka gives each topic an identity, and that is looked at once a second.
"""

from __future__ import annotations

import queue
import threading
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.model.errors import SpillwayError
from spillway.runtime import admin, clients, commits
from spillway.runtime.clients import Access

# Seconds between two looks: one small request for all topics, and one for each partition that has halted. What is read
# of another topic meanwhile is known to be wrong only then.
EVERY = 1.0
ANEW = "was deleted and made anew: positions in it mean nothing any more"
MISSING = "does not exist any more"


class Stand(NamedTuple):
    """Where a partition has halted: the next message of its input."""

    partition: Partition
    topic: str
    next: int


class Moved(NamedTuple):
    """Somebody has committed a position beyond that."""

    partition: Partition
    offset: int


class Replaced(NamedTuple):
    """A topic is not what it was; `why` says what happened."""

    topic: str
    why: str


class Lookout:
    """The thread that looks. `results` has what it found."""

    def __init__(self, access: Access, names: Names) -> None:
        self._access, self._names = access, names
        self._stands: dict[Partition, Stand] = {}
        self._topics: dict[str, str] = {}  # their identities; empty where none is known
        self._gone: set[str] = set()
        self._lock = threading.Lock()
        self.results: queue.SimpleQueue[Moved | Replaced] = queue.SimpleQueue()
        self._readers: dict[str, Consumer] = {}
        self._admin: AdminClient | None = None
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lookout", daemon=True)
        self._thread.start()

    def follow(self, topic: str, identity: str = "") -> None:
        """This topic is read, and should be that one; without a name, the one that is there at the next look."""
        with self._lock:
            self._topics.setdefault(topic, identity)

    def accept(self, topic: str) -> None:
        """Somebody has said where to go on in a topic, so he means the one that is there."""
        with self._lock:
            if topic in self._topics:
                self._topics[topic] = ""
            self._gone.discard(topic)

    def watch(self, stand: Stand) -> None:
        """Look after a partition that has halted."""
        with self._lock:
            self._stands[stand.partition] = stand

    def leave(self, partition: Partition) -> None:
        """It goes on, or is somebody else's."""
        with self._lock:
            self._stands.pop(partition, None)

    def close(self) -> None:
        """End the thread."""
        self._ends.set()

    def _run(self) -> None:
        while not self._ends.wait(EVERY):
            try:
                self._look_at_topics()
                for stand in self._copy():
                    self._look_at_position(stand)
            except (KafkaException, SpillwayError):
                continue  # a broker is away: the next look will tell
        for reader in self._readers.values():
            reader.close()

    def _copy(self) -> tuple[Stand, ...]:
        with self._lock:
            return tuple(self._stands.values())

    def _look_at_topics(self) -> None:
        with self._lock:
            names = [topic for topic in self._topics if topic not in self._gone]
        if not names:
            return
        self._admin = self._admin or clients.admin(self._access)
        found = admin.identities(self._admin, names)
        for topic in names:
            with self._lock:
                now, known = found.get(topic, ""), self._topics[topic]
                if now and now == (known or now):
                    self._topics[topic] = now
                    continue
                self._gone.add(topic)
            self.results.put(Replaced(topic, ANEW if now else MISSING))

    def _look_at_position(self, stand: Stand) -> None:
        segment, number = stand.partition
        if segment not in self._readers:
            self._readers[segment] = clients.reader(self._access, self._names.group(segment))
        where = (stand.topic, number)
        offset = commits.committed(self._readers[segment], [where]).get(where, 0)
        if offset > stand.next:
            self.results.put(Moved(stand.partition, offset))
