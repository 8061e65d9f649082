"""Writes and reads whole topics, in a few lines, for tests that only want to know what is in them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import timedelta

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

Settings = dict[str, str | int | bool]

PATIENCE = timedelta(seconds=20)


class NotTakenError(Exception):
    """The broker did not take a record."""


def client(bootstrap: str, **settings: str | int | bool) -> Settings:
    """Settings of a client that is quiet about a broker that a test has killed."""
    return {"bootstrap.servers": bootstrap, "log_level": 0, **settings}


def produce(bootstrap: str, topic: str, values: Iterable[str], partition: int = 0) -> None:
    """Write records and return when the broker has all of them."""
    refused: list[KafkaError] = []
    settings = client(bootstrap, **{"message.timeout.ms": 10_000, "topic.metadata.propagation.max.ms": 1_000})
    producer = Producer(settings)
    for value in values:
        producer.produce(topic, value, partition=partition, on_delivery=lambda error, _: refused.append(error))
    left = producer.flush(PATIENCE.total_seconds())
    for error in filter(None, refused):
        raise NotTakenError(error.str())
    assert not left


def consume(bootstrap: str, topic: str, count: int, partition: int = 0, isolation: str = "read_committed") -> list[str]:
    """The first `count` records of a partition; fewer when no more come in time."""
    # Without commits no group is needed, for which a new broker would first make its topic of offsets: a second or two.
    settings: Settings = {"group.id": "unused", "enable.auto.commit": False, "isolation.level": isolation}
    consumer = Consumer(client(bootstrap, **settings))
    consumer.assign([TopicPartition(topic, partition, 0)])
    deadline = time.monotonic() + PATIENCE.total_seconds()
    values: list[str] = []
    try:
        while len(values) < count and time.monotonic() < deadline:
            for message in consumer.consume(count - len(values), 0.2):
                if message.error():
                    raise KafkaException(message.error())
                values.append(message.value().decode())
    finally:
        consumer.close()
    return values
