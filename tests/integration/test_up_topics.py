"""The user's topics: made on a broker of our own, only named on somebody's; written and read with our own commands."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

import kafka_records
from spillway.cli import jobs
from spillway.controllers import acceptance
from spillway.local.broker import Broker
from spillway.local.events import Event, Kind
from spillway.local.kafka import Kafka, Where
from spillway.local.state import State
from spillway.model.streamjob import StreamJob

SPILLWAY = str(Path(sys.executable).with_name("spillway"))
YSB = Path(__file__).parents[2] / "examples" / "ysb.yaml"


def named(test: str, tmp_path: Path) -> Path:
    """The example with topics of this test alone."""
    text = YSB.read_text()
    for topic in ("ad-events", "ad-campaigns", "campaign-views"):
        text = text.replace(f"topic: {topic}", f"topic: {test}-{topic}")
    (tmp_path / "job.yaml").write_text(text)
    return tmp_path / "job.yaml"


def placed(kafka: Kafka, file: Path) -> StreamJob:
    job = acceptance.accept(kafka.placed(jobs.read(str(file)).document)).job
    assert job is not None
    return job


def test_on_somebody_s_kafka_missing_topics_are_named_and_made_only_when_asked(broker: Broker, tmp_path: Path) -> None:
    told: list[Event] = []
    where = Where((broker.bootstrap,), None, False, None, 2)
    kafka = Kafka(where, State(tmp_path), told.append)
    job = placed(kafka, named("foreign", tmp_path))

    wrong = kafka.fit(job)

    assert job.spec.kafka.bootstrap_servers == (broker.bootstrap,)
    assert len(wrong) == 3
    assert "topic 'foreign-ad-events' of stream 'events' is not there: create it, or let --create-topics do it" in wrong
    assert told == []

    asked = Kafka(dataclasses.replace(where, create=True), State(tmp_path), told.append)
    assert asked.fit(job) == ()
    assert asked.fit(job) == ()

    (event,) = told
    assert event.kind is Kind.TOPICS
    assert sorted(event.data["topics"]) == ["foreign-ad-campaigns", "foreign-ad-events", "foreign-campaign-views"]
    client = AdminClient(kafka_records.client(broker.bootstrap))
    topics = client.list_topics(timeout=10).topics
    assert {len(topics[name].partitions) for name in event.data["topics"]} == {8}
    table = ConfigResource(ResourceType.TOPIC, "foreign-ad-campaigns")
    assert client.describe_configs([table])[table].result()["cleanup.policy"].value == "compact"


def test_what_is_produced_is_consumed(broker: Broker) -> None:
    broker.create_topic("own-commands", partitions=2)
    records = '{"word": "to", "n": 1}\n{"word": "be", "n": 2}\n{"word": "to", "n": 3}\n'

    def run(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
        arguments = [SPILLWAY, *command, "-b", broker.bootstrap]
        return subprocess.run(arguments, input=text, capture_output=True, text=True, check=False, timeout=60)

    written = run("produce", "own-commands", "--key", "word", text=records)
    read = run("consume", "own-commands", "--keys", "--end")
    first = run("consume", "own-commands", "-n", "1")

    assert (written.returncode, written.stderr) == (0, "3 records written to own-commands\n")
    assert read.returncode == first.returncode == 0
    lines = read.stdout.splitlines()
    assert sorted(lines) == ['be\t{"word": "be", "n": 2}', 'to\t{"word": "to", "n": 1}', 'to\t{"word": "to", "n": 3}']
    assert lines.index('to\t{"word": "to", "n": 1}') < lines.index('to\t{"word": "to", "n": 3}')  # of one key, in order
    assert len(first.stdout.splitlines()) == 1


@pytest.mark.parametrize("command", ["produce", "consume"])
def test_a_topic_that_is_not_there_is_named(broker: Broker, command: str) -> None:
    done = subprocess.run(
        [SPILLWAY, command, "nowhere", "-b", broker.bootstrap],
        input="", capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.startswith(f"topic 'nowhere' at {broker.bootstrap}: ")
