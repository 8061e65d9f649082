"""Many messages at once are sent as one by one: in order, all of them, and a mark means what it says."""

from __future__ import annotations

import itertools
import time

import pytest

import kafka_records
from spillway.controllers.topics import Topic
from spillway.local.broker import Broker
from spillway.model import kafka as model
from spillway.runtime import admin, clients
from spillway.runtime.clients import Access
from spillway.runtime.emitter import TO_ANY, Emitter, UndeliverableError

_names = (f"many{n}" for n in itertools.count())
MORE_THAN_THE_QUEUE = 205_000


@pytest.fixture
def access(broker: Broker) -> Access:
    return Access(model.Kafka(bootstrap_servers=(broker.bootstrap,)))


@pytest.fixture
def topic(access: Access) -> str:
    name = next(_names)
    admin.create(clients.admin(access), [Topic(name, 2)])
    return name


def test_more_than_the_queue_takes_arrives_in_order_and_then_the_mark_is_done(
    broker: Broker, access: Access, topic: str
) -> None:
    emitter = Emitter(access)
    emitter.send_all((topic, number % 2, None, b"%d" % number) for number in range(MORE_THAN_THE_QUEUE))
    mark = emitter.mark()
    deadline = time.monotonic() + 30
    while not mark.done and time.monotonic() < deadline:
        emitter.serve(0.05)

    assert mark.done
    assert emitter.waiting == 0
    found = kafka_records.consume(broker.bootstrap, topic, MORE_THAN_THE_QUEUE // 2, partition=1)
    assert found == [f"{number}" for number in range(1, MORE_THAN_THE_QUEUE, 2)]


def test_a_mark_waits_for_all_of_them(access: Access, topic: str) -> None:
    emitter = Emitter(access)
    emitter.send_all([(topic, TO_ANY, b"k", b"1"), (topic, TO_ANY, b"k", b"2")])
    mark = emitter.mark()

    assert not mark.done
    assert emitter.flush(10)
    assert mark.done


def test_one_that_can_not_be_sent_is_an_error_that_names_the_topic(access: Access, topic: str) -> None:
    emitter = Emitter(access)

    with pytest.raises(UndeliverableError, match=f"topic '{topic}' does not take a message of 9000000 bytes"):
        emitter.send_all([(topic, TO_ANY, None, b"1"), (topic, TO_ANY, None, b"x" * 9_000_000)])
