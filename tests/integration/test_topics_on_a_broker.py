"""Topics on a real broker: what is missing is made as it is needed, and what somebody changed is set right."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

import kafka_records
from spillway.controllers import topics
from spillway.controllers.topics import Reason, Topic
from spillway.local.broker import Broker
from spillway.model import kafka
from spillway.runtime import admin, clients
from spillway.runtime.admin import TopicError

EDGE = Topic("made.edge.counts", 3, {"cleanup.policy": "delete", "retention.ms": "-1"})
STATE = Topic("made.state.counts", 2, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.2"})


@pytest.fixture
def client(broker: Broker) -> AdminClient:
    return clients.admin(_access(broker.bootstrap))


def _access(bootstrap: str) -> clients.Access:
    return clients.Access(kafka.Kafka(bootstrap_servers=(bootstrap,)))


def test_what_is_made_is_there_as_it_was_needed(client: AdminClient) -> None:
    wanted = (EDGE, STATE)
    assert admin.present(client, [EDGE.name, "made.no-such-topic"]) == {}
    admin.create(client, wanted)
    there = admin.present(client, [topic.name for topic in wanted])

    assert {name: topic.partitions for name, topic in there.items()} == {EDGE.name: 3, STATE.name: 2}
    assert topics.judge(wanted, {}, there).reason is Reason.COMPLETE


def test_to_make_it_again_changes_nothing(client: AdminClient) -> None:
    again = Topic("made.again", 1)
    admin.create(client, [again])
    admin.create(client, [Topic(again.name, 5)])

    assert admin.present(client, [again.name])[again.name].partitions == 1


def test_a_setting_that_somebody_changed_is_set_right_and_others_are_left(client: AdminClient) -> None:
    wanted = Topic("made.changed", 1, {"retention.ms": "-1"})
    admin.create(client, [Topic(wanted.name, 1, {"retention.ms": "1000", "segment.bytes": "1048576"})])
    found = topics.judge([wanted], {}, admin.present(client, [wanted.name]))
    assert found.change == (wanted,)
    admin.change(client, found.change)
    # The controller has answered; brokers hear of it some milliseconds later.
    deadline = time.monotonic() + 10
    there = admin.present(client, [wanted.name])
    while there[wanted.name].settings["retention.ms"] == "1000" and time.monotonic() < deadline:
        there = admin.present(client, [wanted.name])

    assert topics.judge([wanted], {}, there).reason is Reason.COMPLETE
    assert there[wanted.name].settings["segment.bytes"] == "1048576"


def test_a_topic_that_kafka_refuses_is_an_error_that_names_it(client: AdminClient) -> None:
    with pytest.raises(TopicError, match="topic 'no/name' could not be made"):
        admin.create(client, [Topic("no/name", 1)])


def test_a_broker_that_is_not_there_is_an_error_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "PATIENCE", 1.0)

    with pytest.raises(TopicError, match=r"Kafka does not answer: .*; check the address"):
        admin.present(clients.admin(_access("127.0.0.1:9")), ["anything"])


def test_what_readers_have_is_deleted_and_what_they_do_not_have_stays(broker: Broker, client: AdminClient) -> None:
    admin.create(client, [Topic("made.trimmed", 1)])
    kafka_records.produce(broker.bootstrap, "made.trimmed", [f"record {n}" for n in range(10)])
    admin.trim(client, {("made.trimmed", 0): 7})
    reader = clients.reader(_access(broker.bootstrap), "trimmed")

    assert _watermarks(reader, "made.trimmed") == (7, 10)


def test_a_position_that_is_gone_is_an_error_and_no_jump(broker: Broker, client: AdminClient) -> None:
    from confluent_kafka import KafkaError, TopicPartition

    admin.create(client, [Topic("made.gone", 1)])
    kafka_records.produce(broker.bootstrap, "made.gone", [f"record {n}" for n in range(10)])
    admin.trim(client, {("made.gone", 0): 7})
    reader = clients.reader(_access(broker.bootstrap), "gone")
    reader.assign([TopicPartition("made.gone", 0, 3)])
    found = _first(lambda: reader.poll(0.5))
    reader.close()

    assert found.error() is not None
    assert found.error().code() == KafkaError._AUTO_OFFSET_RESET  # noqa: SLF001 - so it is called


def test_a_topic_that_is_deleted_and_made_anew_is_noticed(client: AdminClient) -> None:
    name = "made.anew"
    admin.create(client, [Topic(name, 1)])
    before = admin.present(client, [name])
    assert topics.judge([], {name: "stream 'x'"}, admin.present(client, [name]), before).reason is Reason.COMPLETE
    client.delete_topics([name])[name].result(10)
    gone = admin.present(client, [name])
    assert topics.judge([], {name: "stream 'x'"}, gone, before).reason is Reason.MISSING
    admin.create(client, [Topic(name, 1)])

    assert topics.judge([], {name: "stream 'x'"}, admin.present(client, [name]), before).reason is Reason.MADE_ANEW


def _watermarks(reader: object, topic: str) -> tuple[int, int]:
    from confluent_kafka import Consumer, TopicPartition

    assert isinstance(reader, Consumer)
    found = reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
    reader.close()
    low, high = found or (-1, -1)
    return low, high


def _first(ask: Callable[[], Any]) -> Any:
    for _ in range(40):
        if (answer := ask()) is not None:
            return answer
    pytest.fail("nothing came")
