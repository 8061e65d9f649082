"""Whole topics: filled ahead of a run, paced during one, looked at from outside, read back afterwards.

Everything here runs in processes of its own, never in that of the system under test.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from spillway.bench.record import events, schedule
from spillway.bench.record.schedule import Lateness, Schedule

PARTITIONS = 4  # of the user's topics: enough for several slots, few enough that each has many records
PATIENCE = 60.0
AT_ONCE = 1_000

# By the name of a workload: its events.
EVENTS: Mapping[str, Callable[[], Iterator[events.Event]]] = {
    "orders": events.orders,
    "payloads": events.payloads,
    "zipf": lambda: events.orders(events.skewed("zipf")),
    "uniform": lambda: events.orders(events.skewed("uniform")),
    "one": lambda: events.orders(events.skewed("one")),
    "lines": events.lines,
    "ads": events.ads,
    "profiles": events.profiles,
    "visits": events.visits,
}

MOMENT = 0.02  # seconds of events that are written at once where nobody asks when each was
Settings = Mapping[str, str | float]
NONE: Settings = {}
# A broker that gets no processor for a while is not in charge of its partitions until its controller trusts it again.
_PASSING = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.REPLICA_NOT_AVAILABLE)


class Record(NamedTuple):
    """A message as it was found; `at` is its timestamp in milliseconds."""

    partition: int
    offset: int
    at: int
    key: bytes | None
    value: bytes | None


class NotTakenError(Exception):
    """The broker did not take what a run needs."""


def producer(bootstrap: str, settings: Settings = NONE) -> Producer:
    """A client that writes, in order and nothing twice."""
    return Producer({"bootstrap.servers": bootstrap, "log_level": 0, "enable.idempotence": True, **settings})


def fill(bootstrap: str, topic: str, workload: str, first: int, count: int, partitions: int = PARTITIONS) -> None:
    """Write events of a workload, evenly over the partitions, one for each millisecond of event time."""
    client = producer(bootstrap, {"linger.ms": 20, "compression.type": "lz4", "batch.size": 262_144})
    for number, event in enumerate(itertools.islice(EVENTS[workload](), first, first + count), first):
        _produce(client, topic, event.at(events.START_MS + number), number % partitions)
    _flushed(client)


def pour(bootstrap: str, topic: str, workload: str, rate: float, seconds: float, partitions: int = PARTITIONS) -> None:
    """Write events at a rate, those of a moment at once: for loads whose latencies nobody asks for."""
    client = producer(bootstrap, {"linger.ms": 20, "compression.type": "lz4", "batch.size": 262_144})
    event, start, sent = EVENTS[workload](), time.monotonic(), 0
    while (passed := time.monotonic() - start) < seconds:
        for number, one in enumerate(itertools.islice(event, int(rate * passed) - sent), sent):
            _produce(client, topic, one.at(events.START_MS + number), number % partitions)
        sent = int(rate * passed)
        client.poll(MOMENT)
    _flushed(client)


def write(bootstrap: str, topic: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
    """Write some rows with their keys."""
    client = producer(bootstrap)
    for key, value in rows:
        client.produce(topic, value, key)
    _flushed(client)


def pace(
    bootstrap: str, topic: str, workload: str, plan: Schedule, partitions: int = PARTITIONS, *, unit: int = 1_000_000
) -> Lateness:
    """Write events as they are due, each with its due time in so many units a second; how late that was."""
    client = producer(bootstrap, {"linger.ms": 0})
    client.list_topics(topic, timeout=PATIENCE)  # the first event must not wait for that
    pacer = schedule.Pacer(plan)
    with schedule.precedence():
        # The event first: the first one of a workload takes 15 ms to make, and by then it was late.
        for event, (number, due) in zip(EVENTS[workload](), pacer.events(), strict=False):
            _produce(client, topic, event.at(int(due * unit)), number % partitions)
            client.poll(0)
    _flushed(client)
    return schedule.lateness(pacer.late)


def _produce(client: Producer, topic: str, value: bytes, partition: int) -> None:
    while True:
        try:
            client.produce(topic, value, partition=partition)
        except BufferError:
            client.poll(0.1)
        else:
            return


def _flushed(client: Producer) -> None:
    if client.flush(PATIENCE):
        message = f"the broker did not take all events within {PATIENCE:.0f} s"
        raise NotTakenError(message)


class Watch:
    """Looks at the ends of a topic, from outside of what writes it."""

    def __init__(self, bootstrap: str, topic: str, partitions: int = PARTITIONS) -> None:
        self._parts = [TopicPartition(topic, number) for number in range(partitions)]
        self._consumer = reader(bootstrap)

    def count(self) -> int:
        """How many messages it has had so far; a topic without transactions has one for each offset."""
        return sum(self.ends())

    def ends(self) -> list[int]:
        """The offset behind the last message of each partition."""
        return [self._end(part) for part in self._parts]

    def _end(self, part: TopicPartition) -> int:
        """Of one partition; a broker that is not in charge for a while is asked again."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return (self._consumer.get_watermark_offsets(part, timeout=PATIENCE, cached=False) or (0, 0))[1]
            except KafkaException as error:
                if error.args[0].code() not in _PASSING or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def close(self) -> None:
        """Look no more."""
        self._consumer.close()


def reader(bootstrap: str, settings: Settings = NONE) -> Consumer:
    """A client that reads what it is told to, and commits nothing."""
    return Consumer(
        {"bootstrap.servers": bootstrap, "log_level": 0, "group.id": "bench", "enable.auto.commit": False, **settings}
    )


def read(bootstrap: str, topic: str, partitions: int = PARTITIONS) -> list[Record]:
    """Everything that a topic has now, partition by partition."""
    consumer = reader(bootstrap)
    found: list[Record] = []
    deadline = time.monotonic() + PATIENCE
    for number in range(partitions):
        at = TopicPartition(topic, number)
        at.offset, high = consumer.get_watermark_offsets(at, timeout=PATIENCE) or (0, 0)
        consumer.assign([at])
        upto = at.offset
        while upto < high:
            found += [record(message) for message in consumer.consume(AT_ONCE, 0.2)]
            upto = found[-1].offset + 1 if found and found[-1].partition == number else upto
            if time.monotonic() > deadline:
                message = f"topic {topic!r}, partition {number}, was not read to its end within {PATIENCE:.0f} s"
                raise NotTakenError(message)
    consumer.close()
    return found


def record(message: Message) -> Record:
    """What a message holds; raises what is wrong with it."""
    error = message.error()
    if error is not None:
        raise KafkaException(error)
    return Record(
        message.partition() or 0, message.offset() or 0, message.timestamp()[1], message.key(), message.value()
    )
