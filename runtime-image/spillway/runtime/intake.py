"""What a slot reads: partitions that it was given, each from an exact position, and never a silent jump.

`poll` first waits for one message, then takes what is there already: at low rates no record waits for others, at high
rates many come at once. (To wait for many at once costs the whole time that was given, at any rate below that.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, Message, TopicPartition

from spillway.model.errors import SpillwayError
from spillway.runtime import clients
from spillway.runtime.clients import Access

_OUT_OF_RANGE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)  # noqa: SLF001 - so they are called
_DELETED = "does not exist any more"
_GONE = {
    **dict.fromkeys(_OUT_OF_RANGE, ""),
    KafkaError.UNKNOWN_TOPIC_OR_PART: _DELETED,
    KafkaError._UNKNOWN_TOPIC: _DELETED,  # noqa: SLF001
    KafkaError._UNKNOWN_PARTITION: _DELETED,  # noqa: SLF001
    KafkaError.UNKNOWN_TOPIC_ID: "was deleted and made anew",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "may not be read",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "may not be read in this consumer group",
}
# Seconds to ask a broker for the ends of a partition; only for messages to people.
ENDS = 5.0
# Bytes that a message counts for beside its value: an empty one is work, too.
EACH = 100
# Messages that are taken with one call of the client, which is 1.5 µs, at most; fewer, if by those before them there is
# no room for so many. Before they are there, nobody knows how large they are: with 256, a turn that had begun with
# records of 270 bytes ended with 3 MB of frames.
FEW = 32
# Messages of a partition that are read ahead. All that was read stands in one queue: with 5000, rows of an edge came
# 200 ms after there were any, behind 12 000 lines of a stream.
AHEAD = 1_000


class PositionLostError(SpillwayError):
    """Nothing can be read any more."""


class Intake:
    """A consumer that reads just what it is told to."""

    def __init__(self, access: Access, group: str) -> None:
        self._consumer = clients.reader(access, group, self._heard, {"queued.min.messages": AHEAD})
        self._at: dict[tuple[str, int], int] = {}  # the next offset of each partition
        self._stale: dict[tuple[str, int], int] = {}  # ends from before they were taken
        self._known: set[str] = set()
        self._held: set[tuple[str, int]] = set()
        self._wrong: PositionLostError | None = None
        self.weight = 0
        """Bytes of what was taken last, with `EACH` for each message."""
        self.emptied = True
        """Whether nothing was left to be taken then."""
        self.lost: dict[tuple[str, int], str] = {}
        """Partitions that are read no more, and why: what was to come next is not there, or may not be read.

        Who sees to them takes them out. A topic that was deleted and made anew before the client has asked for it is
        nothing that it notices; `controllers.topics` does.
        """

    def take(self, topic: str, partition: int, offset: int) -> None:
        """Read a partition from here on; where it is read already, again from here, if that is before."""
        at = self._at.get((topic, partition))
        if at is not None and at <= offset:
            return
        if at is not None:
            self.go_on([(topic, partition)])
            self._consumer.incremental_unassign([TopicPartition(topic, partition)])
        if (high := self._high(topic, partition)) not in (None, offset):
            self._stale[topic, partition] = high
        if topic not in self._known:
            self._known.add(topic)
            clients.know(self._consumer, topic)
        self._consumer.incremental_assign([TopicPartition(topic, partition, offset)])
        self._at[topic, partition] = offset

    def drop(self, topic: str, partition: int) -> int | None:
        """Read a partition no more; the offset of the first message that was not handed out, unless it was lost."""
        at = self._at.pop((topic, partition), None)
        self._stale.pop((topic, partition), None)
        if at is not None:
            self.go_on([(topic, partition)])
            self._consumer.incremental_unassign([TopicPartition(topic, partition)])
        return at

    def reads(self, topic: str, partition: int) -> bool:
        """Whether it reads a partition."""
        return (topic, partition) in self._at

    def hold(self, wanted: Iterable[tuple[str, int]]) -> None:
        """Take nothing of these partitions for now."""
        fresh = [where for where in wanted if where in self._at and where not in self._held]
        if fresh:
            self._consumer.pause([TopicPartition(*where) for where in fresh])
            self._held |= set(fresh)

    def go_on(self, wanted: Iterable[tuple[str, int]]) -> None:
        """Take what comes of these partitions again."""
        held = [where for where in wanted if where in self._held]
        if held:
            self._consumer.resume([TopicPartition(*where) for where in held])
            self._held -= set(held)

    @property
    def held(self) -> frozenset[tuple[str, int]]:
        """Partitions of which nothing is taken for now."""
        return frozenset(self._held)

    def poll(self, seconds: float, most: int, room: float = math.inf) -> dict[tuple[str, int], list[Message]]:
        """What has come, by topic and partition, in order; nothing after `seconds` without any.

        At most so many messages, and no more once they have so many bytes: a frame may hold as much as a thousand
        records.
        """
        first = self._consumer.poll(seconds)
        if self._wrong is not None:
            raise self._wrong
        self.weight, self.emptied = 0, True
        if first is None:
            return {}
        found: dict[tuple[str, int], list[Message]] = {}
        some, taken = [first], 0
        while some:
            self._sort(some, found)
            taken += len(some)
            self.weight += EACH * len(some) + sum(map(len, some))
            self.emptied = False
            if taken >= most or self.weight >= room:
                break
            fits = (room - self.weight) / self.weight * taken
            asked = int(max(1, min(FEW, most - taken, fits)))
            some = self._consumer.consume(asked, 0)
            self.emptied = len(some) < asked
        return {where: kept for where, some in found.items() if (kept := self._next(where, some))}

    def _sort(self, some: list[Message], found: dict[tuple[str, int], list[Message]]) -> None:
        for message in some:
            where = (message.topic(), message.partition())
            if message.error() is not None:
                self._judge(message.error(), *where)
            elif where in found:
                found[where].append(message)
            else:
                found[where] = [message]

    def positions(self) -> dict[tuple[str, int], int]:
        """The next offset of each partition."""
        return dict(self._at)

    def end(self, topic: str, partition: int) -> int | None:
        """Where the log ends, as far as the last answer told; None before there was one since it was taken.

        The client remembers what it was told before that, when it may have been somebody else's for long.
        """
        high = self._high(topic, partition)
        return None if high == self._stale.get((topic, partition)) else high

    def _high(self, topic: str, partition: int) -> int | None:
        try:
            _, high = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
        except KafkaException:
            return None
        return None if high == OFFSET_INVALID else high

    def close(self) -> None:
        """Read nothing any more."""
        self._consumer.close()

    def _next(self, where: tuple[str, int], some: list[Message]) -> list[Message]:
        """What to hand out of one partition: nothing that was fetched before it was dropped, or read anew."""
        at = self._at.get(where)
        if at is None:
            return []
        if (some[0].offset() or 0) < at:
            some = [message for message in some if (message.offset() or 0) >= at]
        if some:
            self._at[where] = (some[-1].offset() or 0) + 1
            self._stale.pop(where, None)
        return some

    def _judge(self, error: KafkaError, topic: str, partition: int) -> None:
        """What can't get better by itself is lost; all else the client tries again."""
        at = self._at.get((topic, partition))
        why = _GONE.get(error.code())
        if at is None or why is None:
            return
        where = f"topic {topic!r}, partition {partition},"
        if error.code() in _OUT_OF_RANGE:
            told = f"{where} has no offset {at} any more; {self._ends(topic, partition)}"
        else:
            told = f"{where} {why}; the next offset was {at}"
        self.drop(topic, partition)
        self.lost[topic, partition] = told

    def _ends(self, topic: str, partition: int) -> str:
        try:
            ends = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=ENDS)
        except KafkaException:
            ends = None
        return f"it has {ends[0]} to {ends[1] - 1}" if ends else "what it has can't be told"

    def _heard(self, error: KafkaError) -> None:
        """What the client tells; all but the end of it is tried again by itself."""
        if error.fatal() and self._wrong is None:
            self._wrong = PositionLostError(f"nothing can be read any more: {error.str()}")
