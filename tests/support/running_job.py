"""A job at work on a real broker: slots as processes of their own, led by the small driver, fed and judged by tests."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

import kafka_records
import programs
from small_driver import SmallDriver
from small_driver import programs as programs_of
from spillway.controllers import acceptance, topics
from spillway.controllers.topics import Topic
from spillway.model.streamjob import StreamJob
from spillway.runtime import admin, clients, commits, task
from spillway.runtime.clients import Access
from spillway.runtime.slots import process
from spillway.runtime.slots.messages import Answer, Ask, Stop, Told
from spillway.runtime.slots.settings import Settings
from spillway.runtime.telemetry import Report

Run = Callable[[Settings, Connection], None]

# A worker spawns its slots, which takes a second of a processor for importing what they need. Here they are forked off
# a process that has imported it, and has no threads or clients.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["spillway.runtime.slots.process"])


def manifest(example: str, bootstrap: str, name: str) -> dict[str, Any]:
    """An example, as a job of this name with topics of its own."""
    found = yaml.safe_load((programs.EXAMPLES / f"{example}.yaml").read_text())
    found["metadata"] = {"name": name, "namespace": "test"}
    found["spec"]["kafka"] = {"bootstrapServers": [bootstrap]}
    for kind in ("streams", "tables", "outputs"):
        for part in found["spec"].get(kind, ()):
            part["topic"] = f"{name}.{part['topic']}"
    return dict(found)


def accepted(document: Mapping[str, Any]) -> StreamJob:
    """The job that a manifest is."""
    verdict = acceptance.accept(document)
    assert verdict.job is not None, verdict.message
    return verdict.job


class RunningJob:
    """Slots of a job. They end with it, however it ends."""

    def __init__(
        self, document: Mapping[str, Any], *, partitions: int = 2, frame: int = 1, code: Path | None = None
    ) -> None:
        self.job = accepted(document)
        self.code = code
        self.access = Access(self.job.spec.kafka)
        self.bootstrap = self.job.spec.kafka.bootstrap_servers[0]
        spec = self.job.spec
        client = clients.admin(self.access)
        admin.create(client, [Topic(name, partitions) for name in topics.of_user(self.job)])
        self.driver = SmallDriver(self.access, self.job, programs_of(self.job, programs.together(spec), code), frame)
        self.reports: dict[str, Report] = {}
        self.slots: dict[str, tuple[BaseProcess, Connection]] = {}
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._producer = Producer(kafka_records.client(self.bootstrap, **{"linger.ms": 5}))

    def start(self, name: str, run: Run = process.run, **more: Any) -> None:
        """A process for a slot; returns when it has joined."""
        before = self.driver.me.log.living(name)
        self.launch(name, run, **more)
        self.driver.until(lambda: self.driver.me.log.living(name) not in (None, before))

    def launch(self, name: str, run: Run = process.run, **more: Any) -> None:
        """A process for a slot, without waiting for it."""
        ours, theirs = CONTEXT.Pipe()
        made = CONTEXT.Process(target=run, args=(Settings(self.job, name, code=self.code, **more), theirs), daemon=True)
        made.start()
        theirs.close()
        self.slots[name] = made, ours
        threading.Thread(target=self._listen, args=(ours,), daemon=True).start()

    def _listen(self, pipe: Connection) -> None:
        """As a worker does: a slot whose pipe is full would wait."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                match pipe.recv():
                    case Answer() as answer:
                        self._answers.put(answer)
                    case Told(report):
                        self.reports[report.slot] = report

    def spread(self, *names: str, seconds: float = 30.0) -> None:
        """Have all partitions with these slots."""
        self.driver.want(*names)
        self.driver.until(self.driver.settled, seconds)

    def kill(self, name: str) -> None:
        """End a slot as a crash would; the driver does not hear of it."""
        made, _ = self.slots.pop(name)
        made.kill()
        made.join()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a slot."""
        os.kill(self.slots[name][0].pid or 0, number)

    def lose(self, name: str) -> None:
        """The driver has not heard of a slot for too long."""
        owner = self.driver.me.log.living(name)
        assert owner is not None
        self.driver.silent(owner)

    def stop(self, name: str) -> int | None:
        """End a slot in order; its exit code."""
        made, pipe = self.slots.pop(name)
        pipe.send(Stop(10))
        while made.exitcode is None:
            self.driver.step(0.02)
        return made.exitcode

    def ask(self, name: str, operator: str, key: Mapping[str, Any]) -> Answer:
        """What a slot has of a key."""
        self.slots[name][1].send(Ask(1, operator, dict(key)))
        return self._answers.get(timeout=10)

    def feed(self, topic: str, values: list[bytes], partition: int = 0, keys: list[bytes] | None = None) -> None:
        """Records for one partition of a topic of the user."""
        for number, value in enumerate(values):
            self._producer.produce(topic, value, keys[number] if keys else None, partition=partition)
            self.tick()
        assert self._producer.flush(20) == 0

    def tick(self) -> None:
        """What goes on beside the feeding."""
        self._producer.poll(0)

    def done(self) -> bool:
        """Whether everything that was fed, and all that came of it, is processed and committed."""
        return all(position == end for position, end in self.progress().values())

    def progress(self) -> dict[tuple[str, int], tuple[int, int]]:
        """By segment and partition, what is committed and where the input ends."""
        found = {}
        for name, program in self.driver.programs.items():
            topic = task.input_of(program, self.driver.names)
            reader = clients.reader(self.access, self.driver.names.group(name))
            places = [(topic, number) for number in range(self.driver.partitions[name])]
            known = commits.committed(reader, places)
            for place in places:
                found[name, place[1]] = known.get(place, 0), _end(reader, place)
            reader.close()
        return found

    def finish(self, seconds: float = 60.0) -> None:
        """Wait until everything is done."""
        deadline = time.monotonic() + seconds
        while not self.done():
            assert time.monotonic() < deadline, {k: v for k, v in self.progress().items() if v[0] != v[1]}
            for _ in range(10):
                self.driver.step(0.02)

    def output(self, name: str) -> list[tuple[bytes | None, bytes | None]]:
        """Everything in the topic of an output: partition after partition, keys and values."""
        topic = next(output.topic for output in self.job.spec.outputs if output.name == name)
        return self.records(topic)

    def records(self, topic: str) -> list[tuple[bytes | None, bytes | None]]:
        """All committed records of a topic; those of one partition in their order."""
        reader = clients.restorer(self.access, "test")
        count = len(reader.list_topics(topic, timeout=10).topics[topic].partitions)
        reader.assign([TopicPartition(topic, number, 0) for number in range(count)])
        found, ends = [], 0
        while ends < count:
            for message in reader.consume(1000, 0.2):
                if message.error() is None:
                    found.append((message.key(), message.value()))
                elif message.error().code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - so it is called
                    ends += 1
        reader.close()
        return found

    def close(self) -> None:
        """End everything."""
        for made, _ in self.slots.values():
            made.kill()
            made.join()
        self.slots.clear()


def _end(reader: Consumer, place: tuple[str, int]) -> int:
    """Where a partition ends; a broker that was away, or has just begun, looks for leaders first."""
    deadline = time.monotonic() + 20
    while True:
        try:
            ends = reader.get_watermark_offsets(TopicPartition(*place), timeout=10)
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return ends[1] if ends else 0


@contextlib.contextmanager
def running(document: Mapping[str, Any], **more: Any) -> Iterator[RunningJob]:
    """A job whose slots end with the block."""
    job = RunningJob(document, **more)
    try:
        yield job
    finally:
        job.close()
