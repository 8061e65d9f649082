"""What a slot reads and sends on a real broker: exact positions, no silent jumps, marks that mean what they say."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from types import SimpleNamespace

import pytest

import kafka_records
from spillway.controllers.topics import Topic
from spillway.local.broker import Broker
from spillway.local.installation import Installation
from spillway.model import kafka as model
from spillway.runtime import admin, clients
from spillway.runtime.clients import Access
from spillway.runtime.emitter import TO_ANY, Emitter, Mark, UndeliverableError
from spillway.runtime.intake import FEW, Intake
from spillway.runtime.slots.readers import Readers

_names = (f"inout{n}" for n in itertools.count())


@pytest.fixture
def access(broker: Broker) -> Access:
    return Access(model.Kafka(bootstrap_servers=(broker.bootstrap,)))


@pytest.fixture
def topic(access: Access) -> str:
    name = next(_names)
    admin.create(clients.admin(access), [Topic(name, 2)])
    return name


def _values(intake: Intake, count: int) -> list[str]:
    found: list[str] = []
    for _ in range(200):
        for messages in intake.poll(0.1, 100).values():
            found += [(message.value() or b"").decode() for message in messages]
        if len(found) >= count:
            break
    return found


def _write(broker: Broker, topic: str, start: int, count: int) -> None:
    kafka_records.produce(broker.bootstrap, topic, [f"{start + n}" for n in range(count)])


def test_a_partition_is_read_from_the_very_position(broker: Broker, access: Access, topic: str) -> None:
    _write(broker, topic, 0, 10)
    intake = Intake(access, topic)
    intake.take(topic, 0, 4)

    assert _values(intake, 6) == [f"{n}" for n in range(4, 10)]
    assert intake.positions() == {(topic, 0): 10}
    assert intake.end(topic, 0) == 10
    intake.close()


@pytest.mark.parametrize("left", [0, 5])
def test_where_a_partition_ended_before_others_read_it_is_not_told_as_its_end(
    broker: Broker, access: Access, topic: str, left: int
) -> None:
    """From that to its end is what came in all that time: taken for a moment's, 750 000 records a second."""
    _write(broker, topic, 0, 10)
    intake = Intake(access, topic)
    intake.take(topic, 0, 0)
    _values(intake, 10)
    intake.drop(topic, 0)
    _write(broker, topic, 10, 50)
    intake.take(topic, 0, 60 - left)

    told: list[int | None] = []
    while 60 not in told:
        told.append(intake.end(topic, 0))
        intake.poll(0.02, 100)
    assert set(told) <= {None, 60}
    intake.close()


def test_what_was_given_away_is_not_handed_out_and_comes_back_where_it_was(
    broker: Broker, access: Access, topic: str
) -> None:
    _write(broker, topic, 0, 500)
    intake = Intake(access, topic)
    intake.take(topic, 0, 0)
    first = intake.poll(10, 7)
    cut = intake.drop(topic, 0)
    assert cut == len(first[topic, 0])
    assert intake.poll(0.3, 100) == {}
    intake.take(topic, 0, cut)

    assert _values(intake, 500 - cut) == [f"{n}" for n in range(cut, 500)]
    intake.close()


def test_of_a_partition_that_is_held_nothing_comes_and_where_it_ends_is_known(
    broker: Broker, access: Access, topic: str
) -> None:
    where = topic, 0
    readers = Readers(access, topic)
    readers.add(SimpleNamespace(where=where, next=0, skips=False, read_from=lambda _: None))  # type: ignore[arg-type]
    _write(broker, topic, 0, 10)
    assert _values(readers.intake, 10) == [f"{n}" for n in range(10)]
    readers.hold([where])
    _write(broker, topic, 10, 50)

    deadline = time.monotonic() + 5
    while readers.end(where) != 60:
        assert time.monotonic() < deadline, readers.end(where)
        assert readers.intake.poll(0.02, 100) == {}
        readers.hold([where])
    readers.go_on()
    assert _values(readers.intake, 50) == [f"{n}" for n in range(10, 60)]
    readers.close()


def test_who_is_held_now_and_then_skips_nothing_and_gets_nothing_twice(
    broker: Broker, access: Access, topic: str
) -> None:
    _write(broker, topic, 0, 5_000)
    dice = random.Random(7)  # noqa: S311 - reproducible, no secret
    intake, found = Intake(access, topic), list[str]()
    intake.take(topic, 0, 0)
    while len(found) < 5_000:
        if dice.random() < 0.3:
            intake.hold([(topic, 0)])
            assert intake.poll(0.002, 1) == {}
        if dice.random() < 0.1:
            intake.take(topic, 0, intake.drop(topic, 0) or 0)  # as a place that leaves and comes back
        intake.go_on([(topic, 0)])
        for messages in intake.poll(0.05, dice.choice((1, 7, 500))).values():
            found += [(message.value() or b"").decode() for message in messages]

    assert found == [f"{n}" for n in range(5_000)]
    assert not intake.held
    intake.close()


def test_no_more_is_taken_than_there_is_room_for(broker: Broker, access: Access, topic: str) -> None:
    large = [f"{n}".rjust(10_000) for n in range(100)]
    kafka_records.produce(broker.bootstrap, topic, large)
    _write(broker, topic, 100, 200)
    intake = Intake(access, topic)
    intake.take(topic, 0, 0)
    counts: list[int] = []
    while sum(counts) < 300:
        if found := intake.poll(1, 1000, 100_000):
            counts.append(len(found[topic, 0]))

    assert counts[:9] == [10] * 9  # the last of which is beyond it
    assert max(counts) > FEW + 1
    assert intake.emptied
    intake.close()


def test_who_goes_back_in_a_partition_gets_it_again_from_there(broker: Broker, access: Access, topic: str) -> None:
    _write(broker, topic, 0, 50)
    intake = Intake(access, topic)
    intake.take(topic, 0, 30)
    assert _values(intake, 20) == [f"{n}" for n in range(30, 50)]
    intake.take(topic, 0, 40)  # somebody reads it from here: that is behind us already, and changes nothing
    intake.take(topic, 0, 10)

    assert _values(intake, 40) == [f"{n}" for n in range(10, 50)]
    intake.close()


def test_a_position_that_was_trimmed_is_lost_and_it_is_told_what_is_there(
    broker: Broker, access: Access, topic: str
) -> None:
    _write(broker, topic, 0, 10)
    admin.trim(clients.admin(access), {(topic, 0): 7})
    intake = Intake(access, topic)
    intake.take(topic, 0, 3)

    deadline = time.monotonic() + 10
    while not intake.lost and time.monotonic() < deadline:
        assert intake.poll(0.1, 10) == {}

    assert intake.lost == {(topic, 0): f"topic '{topic}', partition 0, has no offset 3 any more; it has 7 to 9"}
    assert intake.positions() == {}
    intake.close()


def test_a_mark_is_done_when_all_before_it_has_arrived_and_not_earlier(kafka: Installation) -> None:
    with Broker(using=kafka) as own:
        own.create_topic("marked")
        emitter = Emitter(Access(_servers(own.bootstrap)))
        emitter.send("marked", 0, None, b"before")
        assert emitter.flush(10)
        os.kill(own.pid or 0, signal.SIGSTOP)
        emitter.send("marked", 0, b"k", b"1")
        mark = emitter.mark()
        _serve(emitter, mark, 0.5)
        assert not mark.done
        os.kill(own.pid or 0, signal.SIGCONT)
        _serve(emitter, mark, 20)
        assert mark.done
        assert kafka_records.consume(own.bootstrap, "marked", 2) == ["before", "1"]


def test_a_mark_waits_for_the_marks_before_it(access: Access, topic: str) -> None:
    emitter = Emitter(access)
    emitter.send(topic, 0, None, b"1")
    first = emitter.mark()
    second = emitter.mark()
    assert not first.done
    assert not second.done
    assert emitter.flush(10)
    assert first.done
    assert second.done


def test_what_can_not_be_sent_is_an_error_that_names_the_topic(access: Access, topic: str) -> None:
    emitter = Emitter(access)
    with pytest.raises(UndeliverableError, match=f"topic '{topic}' does not take a message of 9000000 bytes"):
        emitter.send(topic, TO_ANY, None, b"x" * 9_000_000)
    emitter.send(topic, 17, None, b"to a partition that is not there")

    with pytest.raises(UndeliverableError, match=f"topic '{topic}', partition 17"):
        _serve(emitter, emitter.mark(), 30)


def _serve(emitter: Emitter, mark: Mark, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not mark.done and time.monotonic() < deadline:
        emitter.serve(0.05)


def _servers(bootstrap: str) -> model.Kafka:
    return model.Kafka(bootstrap_servers=(bootstrap,))
