"""What there is of topics, and what we make and set right: the I/O around `controllers.topics`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from spillway.controllers.topics import Topic
from spillway.model.errors import SpillwayError

# Seconds. A controller that is alone answers in milliseconds; one that is being elected needs seconds.
PATIENCE = 20.0
# Seconds beyond that in which the client itself says that nobody has answered, which names the broker.
SLACK = 5.0
BROKERS_DEFAULT = -1  # how often to replicate


class TopicError(SpillwayError):
    """A topic could not be looked at, made or changed; the message says which, and what Kafka says."""


def present(client: AdminClient, names: Iterable[str]) -> dict[str, Topic]:
    """Those of the topics that are there, with all their settings, also those that brokers take for all."""
    asked = list(dict.fromkeys(names))
    told = client.describe_topics(TopicCollection(asked), request_timeout=PATIENCE) if asked else {}
    known: dict[str, Any] = {}
    for name, answer in told.items():
        try:
            known[name] = answer.result(timeout=PATIENCE + SLACK)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                continue
            message = f"Kafka does not answer: {_told(error)}; check the address, the network and the credentials"
            raise TopicError(message) from None
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in known]
    answers = client.describe_configs(resources, request_timeout=PATIENCE) if resources else {}
    settings = {resource.name: _settings(resource.name, answer) for resource, answer in answers.items()}
    return {
        name: Topic(name, len(topic.partitions), settings[name], str(topic.topic_id)) for name, topic in known.items()
    }


def identities(client: AdminClient, names: Iterable[str]) -> dict[str, str]:
    """What Kafka calls those of the topics that are there; one request, without their settings."""
    told = client.describe_topics(TopicCollection(list(names)), request_timeout=PATIENCE)
    found = {}
    for name, answer in told.items():
        try:
            found[name] = str(answer.result(timeout=PATIENCE + SLACK).topic_id)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                message = f"topic {name!r} could not be looked at: {_told(error)}"
                raise TopicError(message) from None
    return found


def create(client: AdminClient, wanted: Iterable[Topic]) -> None:
    """Make topics, replicated as brokers do by default; one that is there already stays as it is."""
    new = [NewTopic(topic.name, topic.partitions, BROKERS_DEFAULT, config=dict(topic.settings)) for topic in wanted]
    answers = client.create_topics(new, operation_timeout=PATIENCE, request_timeout=PATIENCE) if new else {}
    for name, answer in answers.items():
        _wait(f"topic {name!r} could not be made", answer, KafkaError.TOPIC_ALREADY_EXISTS)
    _until_there(client, [topic.topic for topic in new])


def _until_there(client: AdminClient, names: list[str]) -> None:
    """The controller has made them; brokers hear of that some milliseconds later."""
    deadline = time.monotonic() + PATIENCE
    while missing := _missing(client, names):
        if time.monotonic() > deadline:
            message = f"topics {', '.join(missing)} were made, and no broker has them after {PATIENCE:.0f} s"
            raise TopicError(message)
        time.sleep(0.02)


def _missing(client: AdminClient, names: list[str]) -> list[str]:
    """Those that are not there yet, or have partitions that nobody leads."""
    there = client.list_topics(timeout=PATIENCE).topics
    return [
        name
        for name in names
        if name not in there or any(partition.leader < 0 for partition in there[name].partitions.values())
    ]


def change(client: AdminClient, wanted: Iterable[Topic]) -> None:
    """Set settings right, and leave all others."""
    resources = [
        ConfigResource(
            ResourceType.TOPIC,
            topic.name,
            incremental_configs=[
                ConfigEntry(name, value, ConfigSource.DYNAMIC_TOPIC_CONFIG, incremental_operation=AlterConfigOpType.SET)
                for name, value in topic.settings.items()
            ],
        )
        for topic in wanted
    ]
    answers = client.incremental_alter_configs(resources, request_timeout=PATIENCE) if resources else {}
    for resource, answer in answers.items():
        _wait(f"settings of topic {resource.name!r} could not be changed", answer)


def grow(client: AdminClient, wanted: Iterable[Topic]) -> None:
    """Give topics more partitions."""
    more = [NewPartitions(topic.name, topic.partitions) for topic in wanted]
    answers = client.create_partitions(more, operation_timeout=PATIENCE, request_timeout=PATIENCE) if more else {}
    for name, answer in answers.items():
        _wait(f"topic {name!r} could not get more partitions", answer)


def trim(client: AdminClient, before: dict[tuple[str, int], int]) -> None:
    """Delete the records before an offset, by topic and partition: readers have them, and nobody needs them again."""
    request = [TopicPartition(topic, partition, offset) for (topic, partition), offset in before.items()]
    answers = client.delete_records(request, request_timeout=PATIENCE) if request else {}
    for where, answer in answers.items():
        _wait(f"topic {where.topic!r}, partition {where.partition}, could not be trimmed", answer)


def _settings(name: str, answer: Future[Any]) -> dict[str, str]:
    entries = _wait(f"topic {name!r} could not be looked at", answer)
    return {entry.name: entry.value for entry in entries.values() if entry.value is not None}


def _wait(what: str, answer: Future[Any], *fine: int) -> Any:
    try:
        return answer.result(timeout=PATIENCE + SLACK)
    except KafkaException as error:
        if error.args[0].code() in fine:
            return None
        message = f"{what}: {_told(error)}"
        raise TopicError(message) from None
    except TimeoutError:
        message = f"{what}: Kafka does not answer within {PATIENCE:.0f} s"
        raise TopicError(message) from None


def _told(error: KafkaException) -> str:
    return str(error.args[0].str())
