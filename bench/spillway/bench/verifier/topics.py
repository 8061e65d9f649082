"""The topics of a job, read by a client of its own: live as they grow, and whole at the end.

What was read live is kept, so a topic that is compacted or trimmed meanwhile is still known from its beginning. A
message that is another one at the end than it was live stands in a topic that was made anew: then nothing can be said.
"""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import OFFSET_BEGINNING as BEGINNING
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import OffsetSpec

from spillway.bench.verifier.records import Packed, Packs, Record, Topics
from spillway.runtime import clients
from spillway.runtime.clients import Access

Where = tuple[str, int]

# Seconds that a broker has for an answer, and for the next message of a topic that is known to have one.
PATIENCE = 20.0
# Seconds between two lines of progress.
TELLS_EVERY = 2.0
_AT_ONCE = 5_000  # messages taken from the client at once


class UnreadableError(Exception):
    """Topics that can't be read as a whole; the message says why."""


class Log:
    """What was read of some topics.

    Attributes:
        counts: how many messages, by topic.
    """

    def __init__(self) -> None:
        self._packs: dict[Where, Packed] = {}
        self.counts: collections.Counter[str] = collections.Counter()

    def add(self, message: Message) -> None:
        """One more; the same one again is fine."""
        topic, partition, offset = str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)
        pack = self._packs.setdefault((topic, partition), Packed(partition))
        time = int(message.timestamp()[1])
        if pack.is_next(offset):
            pack.add(offset, message.key(), message.value(), time)
            self.counts[topic] += 1
        elif pack.find(offset) != Record(partition, offset, message.key(), message.value(), time):
            reason = f"topic {topic!r} was made anew while it was read"
            raise UnreadableError(reason)

    def topics(self) -> Topics:
        """By topic; of each partition in the order of the offsets."""
        found: dict[str, list[Packed]] = {}
        for (topic, _), pack in sorted(self._packs.items(), key=lambda one: one[0]):
            found.setdefault(topic, []).append(pack)
        return {topic: Packs(parts) for topic, parts in found.items()}

    def first(self, where: Where) -> int | None:
        """The first offset that is known of a partition."""
        return self._packs[where].first if where in self._packs else None


class Reader:
    """Reads topics from their beginning."""

    def __init__(self, access: Access, topics: Iterable[str], log: Log) -> None:
        self._log = log
        self._consumer = Consumer(
            access.settings()
            | {
                "group.id": "unused",  # positions are never stored
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                # As readers of an exactly-once job do it; where nothing is transactional it changes nothing.
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        self._admin = clients.admin(access)
        self._topics = list(dict.fromkeys(topics))
        self._ended: set[Where] = set()
        self._assigned: set[Where] = set()
        self._taken = 0  # messages, known ones too

    def missing(self) -> list[str]:
        """Topics that are not there yet; those that are, with all their partitions, are read from now on."""
        known = self._consumer.list_topics(timeout=PATIENCE).topics
        there = [topic for topic in self._topics if topic in known and known[topic].error is None]
        fresh = [(topic, p) for topic in there for p in known[topic].partitions if (topic, p) not in self._assigned]
        if fresh:
            self._consumer.incremental_assign([TopicPartition(topic, p, BEGINNING) for topic, p in fresh])
            self._assigned |= set(fresh)
        return [topic for topic in self._topics if topic not in there]

    def poll(self, seconds: float) -> int:
        """Take what has come; how many messages that were not known."""
        before = self._log.counts.total()
        for message in self._consumer.consume(_AT_ONCE, seconds):
            error = message.error()
            where = (str(message.topic()), int(message.partition() or 0))
            if error is None:
                self._taken += 1
                self._ended.discard(where)
                self._log.add(message)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - so it is called
                self._ended.add(where)
            elif not error.retriable():
                raise KafkaException(error)
        return self._log.counts.total() - before

    def ends(self) -> Mapping[Where, tuple[int, int]]:
        """Of each partition the first offset, and the next one."""
        # Not asked of the consumer: its connection is busy waiting for messages, half a second for each partition.
        first, end = (self._offsets(spec) for spec in (OffsetSpec.earliest(), OffsetSpec.latest()))
        return {where: (first[where], end[where]) for where in self._assigned}

    def _offsets(self, spec: OffsetSpec) -> dict[Where, int]:
        asked = {TopicPartition(*where): spec for where in self._assigned}
        answers = self._admin.list_offsets(asked, request_timeout=PATIENCE) if asked else {}
        return {(where.topic, where.partition): int(answer.result().offset) for where, answer in answers.items()}

    def to_the_end(self, progress: Callable[[int], None]) -> None:
        """Read until the client has met the end of every partition; how many messages were read is told at times."""
        deadline = time.monotonic() + PATIENCE
        due = 0.0
        while self._ended != self._assigned:
            before = self._taken
            self.poll(0.2)
            if time.monotonic() >= due:
                progress(self._taken)
                due = time.monotonic() + TELLS_EVERY
            if self._taken > before:
                deadline = time.monotonic() + PATIENCE
            elif time.monotonic() > deadline:
                waiting = ", ".join(f"{topic}/{p}" for topic, p in sorted(self._assigned - self._ended))
                reason = f"nothing came of {waiting} for {PATIENCE:.0f} s, which are not at their ends"
                raise UnreadableError(reason)

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()


def _untold(line: str) -> None:
    pass


def whole(
    access: Access, sources: Iterable[str], outputs: Iterable[str], log: Log, tell: Callable[[str], None] = _untold
) -> str:
    """Read everything once more from the beginning into the log; why nothing can be said of it, if so.

    Sources are looked at before and after: results of what came in between can't be there yet.
    """
    reading = set(sources)
    reader = Reader(access, [*reading, *outputs], log)
    try:
        if absent := reader.missing():
            return f"there is no topic {', '.join(absent)}"
        before = reader.ends()
        there = sum(end - first for first, end in before.values())
        reader.to_the_end(lambda taken: tell(f"{taken} of {there} messages are read"))
        after = reader.ends()
    except UnreadableError as error:
        return str(error)
    finally:
        reader.close()
    for where, (first, end) in after.items():
        if where[0] in reading and before[where][1] != end:
            return f"source topic {where[0]!r} still grows"
        known = log.first(where)
        if first > 0 and (known is None or known > 0) and end > 0:
            return f"topic {where[0]!r} was trimmed: partition {where[1]} begins at offset {first}"
    return ""
