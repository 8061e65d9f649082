"""The batch engine restores what is known of origins as slots do: all that was committed, and nothing before it is."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec
import pytest
from confluent_kafka import Producer

from spillway.controllers.protocol import reader
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names, Topic
from spillway.local.broker import Broker
from spillway.model import kafka
from spillway.runtime import admin, clients
from spillway.runtime.clients import Access
from spillway.runtime.driver.origins import Ahead, Changelogs, Origins
from spillway.runtime.task import ORIGINS

NAMES = Names("test.origins.")
TOPIC = NAMES.state("words")


def row(number: int) -> tuple[bytes, bytes]:
    """The key and the value of one that has come to position `number` of its input."""
    key = ORIGINS + msgspec.msgpack.encode((0, Partition("short<lines", 0)))
    return key, msgspec.msgpack.encode(reader.Seen(1, "p", reader.Position(number, 0)))


def put(producer: Producer, partition: int, number: int, *, committed: bool = True) -> None:
    producer.begin_transaction()
    key, value = row(number)
    producer.produce(TOPIC, value, key, partition)
    assert producer.flush(20) == 0
    producer.commit_transaction(20) if committed else producer.abort_transaction(20)


@pytest.fixture(scope="module")
def access(broker: Broker) -> Access:
    found = Access(kafka.Kafka(bootstrap_servers=(broker.bootstrap,)))
    admin.create(clients.admin(found), [Topic(TOPIC, 4)])
    return found


@pytest.fixture
def origins(access: Access) -> Iterator[Origins]:
    found = Origins(Changelogs(access, NAMES))
    yield found
    found.close()


def committer(access: Access, name: str) -> Producer:
    found = clients.committer(access, f"origins.{name}")
    found.init_transactions(20)
    return found


def until(origins: Origins, partition: int, epoch: int, seconds: float = 20.0) -> tuple[tuple[bytes, bytes], ...]:
    deadline = time.monotonic() + seconds
    while not origins.has(Partition("words", partition), epoch):
        assert time.monotonic() < deadline
        origins.ahead()
        time.sleep(0.005)
    return origins.of(Partition("words", partition))


def test_what_was_aborted_does_not_count_and_a_partition_without_rows_has_none(
    access: Access, origins: Origins
) -> None:
    slot = committer(access, "first")
    put(slot, 0, 4)
    put(slot, 0, 9, committed=False)
    for number in (0, 1):
        origins.begin(Partition("words", number), 3)
    assert until(origins, 0, 3) == (row(4),)
    assert until(origins, 1, 3) == ()


def test_what_is_committed_and_cannot_be_seen_yet_is_waited_for(access: Access, origins: Origins) -> None:
    """A transaction that is left open stands for one whose markers are still under way."""
    put(committer(access, "before"), 2, 4)
    slow = committer(access, "slow")
    slow.begin_transaction()
    slow.produce(TOPIC, row(11)[1], row(11)[0], 2)
    assert slow.flush(20) == 0

    place = Partition("words", 2)
    origins.warm(place, 3)
    deadline = time.monotonic() + 20
    while not (told := origins.ahead()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert told == [Ahead(place, 3)]
    origins.begin(place, 3)
    time.sleep(0.5)
    origins.ahead()
    assert not origins.has(place, 3)
    slow.commit_transaction(20)
    assert until(origins, 2, 3) == (row(11),)


def test_a_partition_that_comes_back_is_read_again(access: Access, origins: Origins) -> None:
    slot = committer(access, "again")
    put(slot, 3, 4)
    place = Partition("words", 3)
    origins.warm(place, 3)
    origins.begin(place, 3)
    assert until(origins, 3, 3) == (row(4),)
    origins.drop(place)
    put(slot, 3, 6)
    origins.warm(place, 5)
    origins.forget(place, 5)
    origins.begin(place, 6)
    assert until(origins, 3, 6) == (row(6),)
