"""Word count on a real broker, by slots that are killed: every word counts once."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import TopicPartition

import kafka_records
import lone_slot
from spillway.controllers.topics import Names, Topic
from spillway.local.broker import Broker
from spillway.model import kafka
from spillway.runtime import admin, clients, task
from spillway.runtime.clients import Access

SUPPORT = Path(lone_slot.__file__)
LINES, CHUNKS, EVERY = 60_000, 100, 0.1


@contextlib.contextmanager
def _started(bootstrap: str, prefix: str, life: int, end: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(SUPPORT), bootstrap, prefix, str(life), end]
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT.parent)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        try:
            assert line == "working\n", line + running.stdout.read()
            yield running
        finally:
            running.kill()


def _made(access: Access, prefix: str) -> None:
    readers, tables = task.topics_of(loop.program for loop in lone_slot.loops(prefix))
    names = Names(prefix)
    wanted = [Topic(names.edge(reader), lone_slot.WIDTH) for reader in readers]
    wanted += [Topic(names.state(name), lone_slot.WIDTH, {"cleanup.policy": "compact"}) for name in tables]
    wanted += [Topic(names.dead, 1), Topic(f"{prefix}lines", lone_slot.SOURCES)]
    wanted += [Topic(f"{prefix}counts", 2)]
    client = clients.admin(access)
    admin.create(client, wanted)


def _counted(bootstrap: str, prefix: str) -> dict[str, int]:
    """The largest count of each word in the output: what a reader of the upserts ends with."""
    reader = clients.reader(Access(kafka.Kafka(bootstrap_servers=(bootstrap,))), "verifier")
    found: dict[str, int] = {}
    for partition in range(2):
        at = TopicPartition(f"{prefix}counts", partition, 0)
        _, high = reader.get_watermark_offsets(at, timeout=10) or (0, 0)
        reader.assign([at])
        while reader.position([at])[0].offset < high:
            for message in reader.consume(1000, 0.2):
                row = msgspec.json.decode(message.value() or b"")
                found[row["word"]] = row["occurrences"]
    reader.close()
    return found


def _feed(bootstrap: str, topic: str, lines: list[str]) -> None:
    """Some lines at a time, to one partition and then the other, for longer than slots are killed."""
    each = len(lines) // CHUNKS
    for chunk in range(CHUNKS):
        kafka_records.produce(bootstrap, topic, lines[chunk * each : (chunk + 1) * each], partition=chunk % 2)
        time.sleep(EVERY)


def _killed_three_times(broker: Broker, prefix: str, end: str) -> tuple[dict[str, int], dict[str, int]]:
    """What a reader of the output has in the end, and what is right; void if the work was done before the kills."""
    _made(Access(kafka.Kafka(bootstrap_servers=(broker.bootstrap,))), prefix)
    dice = random.Random(7)  # noqa: S311 - a load, no secret
    lines = [" ".join(dice.choice("abcdefghij") for _ in range(4)) for _ in range(LINES)]
    feeding = threading.Thread(target=_feed, args=(broker.bootstrap, f"{prefix}lines", lines))
    feeding.start()
    for life in range(3):
        with _started(broker.bootstrap, prefix, life, "never") as running:
            time.sleep(dice.uniform(0.6, 1.4))
            assert running.poll() is None
    assert feeding.is_alive(), "all was written before the last kill: the run is void"
    with _started(broker.bootstrap, prefix, 3, end) as last:
        feeding.join()
        assert last.wait(60) == 0, last.stdout and last.stdout.read()
    right = collections.Counter(word for line in lines for word in line.split())
    return _counted(broker.bootstrap, prefix), dict(right)


@pytest.mark.timeout(120)
def test_every_word_counts_once_though_the_slot_is_killed_again_and_again(broker: Broker) -> None:
    counted, right = _killed_three_times(broker, "kills.words.", "idle")

    assert counted == right


@pytest.mark.timeout(120)
def test_an_heir_that_forgets_the_tables_counts_wrong(broker: Broker) -> None:
    counted, right = _killed_three_times(broker, "kills.forgotten.", "forgetful")

    assert counted != right
