"""Deletes frames of an edge that nobody needs again.

A frame can go when its reader has stored what it made of it, and when the owner of the input that it was made from has
committed that input: until then an heir may have to read back how far its predecessors have emitted. What a reader
knows of its origins says how far each of them had come at the reader's own commit, so both are known to the reader.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from spillway.controllers.protocol.reader import Seen
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.model.errors import SpillwayError
from spillway.runtime import admin, clients, failpoints, letters, task
from spillway.runtime.clients import Access

# Seconds between two looks at one partition. Each costs a request for each segment that writes to the edge; meanwhile
# frames take disk.
EVERY = 5.0
PATIENCE = 10.0

Positions = Mapping[tuple[str, int], int]


class Read(NamedTuple):
    """What the reader of an edge partition has stored.

    Attributes:
        topic, number: of the edge.
        upto: everything below is stored.
        seen: how far each origin had come then.
    """

    topic: str
    number: int
    upto: int
    seen: Mapping[Partition, Seen]


def free(read: Read, committed: Mapping[str, Positions]) -> bool:
    """Whether everything that a reader has stored may go; `committed` has the positions of each segment."""
    for origin, seen in read.seen.items():
        if origin.segment == letters.ORIGIN:
            continue  # replays of dead letters have no heir
        segment, topic = task.segment_of(origin.segment)
        if seen.upto.offset >= committed.get(segment, {}).get((topic, origin.number), 0) and seen.upto.record >= 0:
            return False
    return True


class Trimmer:
    """The thread that deletes. What goes wrong is tried again with what is told next."""

    def __init__(self, access: Access, names: Names) -> None:
        self._names = names
        self._client = clients.admin(access)
        self._told: queue.SimpleQueue[list[Read] | None] = queue.SimpleQueue()
        self._done: dict[tuple[str, int], int] = {}
        self._thread = threading.Thread(target=self._run, name="trim", daemon=True)
        self._thread.start()

    def tell(self, reads: list[Read]) -> None:
        """What is stored by now."""
        self._told.put(reads)

    def close(self) -> None:
        """End the thread."""
        self._told.put(None)

    def _run(self) -> None:
        while (reads := self._told.get()) is not None:
            try:
                self._trim(reads)
            except (KafkaException, SpillwayError):
                continue  # a broker is away, or a topic: others notice that, and this can wait

    def _trim(self, reads: list[Read]) -> None:
        new = [read for read in reads if read.upto > self._done.get((read.topic, read.number), 0)]
        segments = {task.segment_of(origin.segment)[0] for read in new for origin in read.seen}
        committed = {segment: self._committed(segment) for segment in sorted(segments)}
        before = {(read.topic, read.number): read.upto for read in new if free(read, committed)}
        if before:
            failpoints.reached("trimming")
            admin.trim(self._client, before)
            failpoints.reached("trimmed")
            self._done |= before

    def _committed(self, segment: str) -> Positions:
        asked = [ConsumerGroupTopicPartitions(self._names.group(segment))]
        answers = self._client.list_consumer_group_offsets(asked, request_timeout=PATIENCE)
        found: list[TopicPartition] = next(iter(answers.values())).result(timeout=PATIENCE).topic_partitions
        return {(at.topic, at.partition): at.offset for at in found if at.offset >= 0}
