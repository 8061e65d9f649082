"""Commits on a real broker: rows and positions together or not at all, and never by somebody who was fenced."""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TopicPartition

from spillway.controllers.topics import Topic
from spillway.local.broker import Broker
from spillway.model import kafka as model
from spillway.runtime import admin, clients, commits
from spillway.runtime.clients import Access
from spillway.runtime.commits import Change, Committer, GoneError, Position, Snapshot

if TYPE_CHECKING:
    from spillway.local.installation import Installation

_names = (f"commits{n}" for n in itertools.count())


@pytest.fixture
def access(broker: Broker) -> Access:
    return Access(model.Kafka(bootstrap_servers=(broker.bootstrap,)))


@pytest.fixture
def topic(access: Access) -> str:
    """A changelog of one partition, of the test's own."""
    name = next(_names)
    admin.create(clients.admin(access), [Topic(name, 1, {"cleanup.policy": "compact"}), Topic(f"{name}.input", 2)])
    return name


def _snapshot(topic: str, rows: dict[bytes, bytes | None], offset: int) -> Snapshot:
    changes = [Change(topic, 0, key, value) for key, value in rows.items()]
    return Snapshot(changes, [Position(topic, f"{topic}.input", 1, offset)])


def _stored(access: Access, topic: str) -> dict[bytes, bytes]:
    """What a restore would find: committed records, folded by key."""
    reader = clients.reader(access, f"{topic}.restore")
    _, end = reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) or (0, 0)
    reader.assign([TopicPartition(topic, 0, 0)])
    rows: dict[bytes, bytes | None] = {}
    while reader.position([TopicPartition(topic, 0)])[0].offset < end:
        for message in reader.consume(1000, 0.2):
            assert not message.error()
            rows[message.key()] = message.value()
    reader.close()
    return {key: value for key, value in rows.items() if value is not None}


def _position(access: Access, topic: str) -> dict[tuple[str, int], int]:
    reader = clients.reader(access, topic)
    found = commits.committed(reader, [(f"{topic}.input", 1)])
    reader.close()
    return found


def test_rows_and_position_are_there_together(access: Access, topic: str) -> None:
    committer = Committer(access, f"{topic}.0")
    assert _position(access, topic) == {}
    committer.commit(_snapshot(topic, {b"a": b"1", b"b": b"2"}, 17))
    committer.commit(_snapshot(topic, {b"a": b"3", b"b": None}, 21))

    assert _stored(access, topic) == {b"a": b"3"}
    assert _position(access, topic) == {(f"{topic}.input", 1): 21}


def test_more_rows_than_the_client_queues_are_committed_whole(access: Access, topic: str) -> None:
    rows = {f"key {n}".encode(): b"x" * 100 for n in range(120_000)}
    Committer(access, f"{topic}.0").commit(_snapshot(topic, dict(rows), 1))

    assert len(_stored(access, topic)) == len(rows)


def test_who_was_fenced_commits_nothing_any_more(access: Access, topic: str) -> None:
    victim = Committer(access, f"{topic}.0")
    victim.commit(_snapshot(topic, {b"a": b"1"}, 5))
    commits.fence(access, f"{topic}.0")

    with pytest.raises(GoneError, match=f"{topic}.0: .* came to nothing, or nobody knows"):
        victim.commit(_snapshot(topic, {b"a": b"2"}, 9))
    assert _stored(access, topic) == {b"a": b"1"}
    assert _position(access, topic) == {(f"{topic}.input", 1): 5}


def test_what_a_dead_one_left_open_is_never_seen(access: Access, topic: str) -> None:
    victim = Committer(access, f"{topic}.0")
    victim._producer.begin_transaction()  # noqa: SLF001 - it dies between two steps of a commit
    victim._send(_snapshot(topic, {b"a": b"2"}, 9))  # noqa: SLF001
    victim._producer.flush(10)  # noqa: SLF001
    commits.fence(access, f"{topic}.0")

    assert _position(access, topic) == {}
    assert _stored(access, topic) == {}


def test_the_next_incarnation_goes_on_where_the_last_one_committed(access: Access, topic: str) -> None:
    first = Committer(access, commits.identity("job.", "worker-0.0", 0))
    first.commit(_snapshot(topic, {b"a": b"1"}, 5))
    second = Committer(access, commits.identity("job.", "worker-0.0", 1))
    second.commit(_snapshot(topic, {b"a": b"2"}, 6))

    assert _stored(access, topic) == {b"a": b"2"}
    assert _position(access, topic) == {(f"{topic}.input", 1): 6}


def test_commits_go_on_after_the_only_broker_was_away(kafka: Installation) -> None:
    with Broker(using=kafka) as alone:
        access = Access(model.Kafka(bootstrap_servers=(alone.bootstrap,)))
        admin.create(clients.admin(access), [Topic("rows", 1), Topic("rows.input", 2)])
        committer = Committer(access, "rows.0")
        committer.commit(_snapshot("rows", {b"a": b"1"}, 1))
        alone.kill()
        time.sleep(1.0)  # until the client has noticed
        alone.start()

        commit = threading.Thread(target=committer.commit, args=[_snapshot("rows", {}, 2)], daemon=True)
        commit.start()
        commit.join(20)

        assert not commit.is_alive()
        assert _position(access, "rows") == {("rows.input", 1): 2}
