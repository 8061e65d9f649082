"""Reading partitions once, from one offset to another or to the end: for whoever looks at a log, and owns nothing."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from spillway.model.errors import RetryError, TerminalError
from spillway.runtime import clients

# Seconds without any message, though the log has more: a broker that is away for so long is not coming back soon.
PATIENCE = 20.0
AT_ONCE = 500
LOOK = 0.2  # seconds to wait for a message before it is asked how long that has been
ABSENT = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
)


Place = tuple[str, int]  # a topic and the number of a partition


class AbsentError(TerminalError):
    """The topic is not there."""


class Piece(NamedTuple):
    """What has come of a partition.

    Attributes:
        place: the partition.
        messages: in their order; there may be none where it ends.
        next: the offset that is read next.
    """

    place: Place
    messages: list[Message]
    next: int


def ends(consumer: Consumer, topic: str, partition: int = 0) -> tuple[int, int]:
    """The first offset of a partition, and the next one that will be written."""
    try:
        found = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=PATIENCE)
    except KafkaException as error:
        if error.args[0].code() in ABSENT:
            message = f"topic {topic!r} does not exist"
            raise AbsentError(message) from None
        message = f"Kafka does not answer: {error.args[0].str()}; check the address, the network and the credentials"
        raise RetryError(message) from None
    if found is None:
        message = f"no broker tells what topic {topic!r} has; check the address, the network and the credentials"
        raise RetryError(message)
    low, high = found
    return low, high


def partitions(consumer: Consumer, topic: str) -> int:
    """How many partitions a topic has."""
    told = consumer.list_topics(topic, timeout=PATIENCE).topics[topic]
    return len(told.partitions)


def between(consumer: Consumer, topic: str, partition: int, start: int, stop: int) -> Iterator[Message]:
    """The messages from offset `start` up to, without, `stop`; by a `clients.restorer`, which hears of ends."""
    if start >= stop:
        return
    clients.know(consumer, topic)
    consumer.assign([TopicPartition(topic, partition, start)])
    deadline = time.monotonic() + PATIENCE
    while True:
        found = clients.arrived(consumer, AT_ONCE, LOOK)
        for message in found:
            error, offset = message.error(), message.offset() or 0
            if error is None and start <= offset < stop:
                yield message
            # The last offsets may be those of markers of transactions, which are no messages; then comes the end.
            if (error is None and offset >= stop - 1) or (error is not None and clients.is_end(error)):
                return
            if error is not None and not error.retriable():
                problem = f"topic {topic!r}, partition {partition}, can't be read: {error.str()}"
                raise TerminalError(problem)
        if found:
            deadline = time.monotonic() + PATIENCE
        elif time.monotonic() > deadline:
            problem = f"topic {topic!r} has messages up to {stop}, and none came for {PATIENCE:.0f} s"
            raise RetryError(problem)


def whole(consumer: Consumer, places: Collection[Place]) -> Iterator[Piece]:
    """All of some partitions, until the end of each was seen; by a `clients.restorer` that knows the topics.

    It takes as long as it takes: a broker that is away is waited for.
    """
    consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in places])
    missing = set(places)
    while missing:
        found: dict[Place, Piece] = {}
        for message in clients.arrived(consumer, AT_ONCE, LOOK):
            place, error, offset = (message.topic(), message.partition()), message.error(), message.offset() or 0
            messages = found[place].messages if place in found else []
            if error is None:
                messages.append(message)
                found[place] = Piece(place, messages, offset + 1)
            elif clients.is_end(error):
                missing.discard(place)
                found[place] = Piece(place, messages, offset)
            elif not error.retriable():
                problem = f"topic {place[0]!r}, partition {place[1]}, can't be read: {error.str()}"
                raise RetryError(problem)
        yield from found.values()
