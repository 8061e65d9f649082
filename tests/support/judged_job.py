"""A merged job at work on a real broker: fed while its partitions move and a slot dies, and each part judged alone."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition

import kafka_records
import merged
from merged import Part
from running_job import RunningJob
from spillway.bench.inputs import LEAD, Message
from spillway.bench.verifier import judging
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.relations import Assumptions
from spillway.bench.verifier.verdict import Verdict
from spillway.runtime import clients

# Seconds for all partitions of a large job to be where they are wanted, on a machine that does ten other things.
PATIENCE = 120.0


def code_of(job: str, parts: Sequence[Part], into: Path) -> Path:
    """One folder with the functions of all parts of a job."""
    for folder in {part.code for part in parts if part.code is not None}:
        for file in folder.glob("*.py"):
            shutil.copy(file, into / merged.module(job, file.name))
    return into


class Feeder:
    """Sends the messages of all parts in the order of their times."""

    def __init__(self, job: RunningJob, parts: Sequence[Part]) -> None:
        name = job.job.metadata.name
        found = [(message, merged.topic(name, part, message.topic)) for part in parts for message in part.messages]
        self._rest = iter(sorted(found, key=_time))
        self.count = len(found)
        self._producer = Producer(kafka_records.client(job.bootstrap, **{"linger.ms": 5}))
        self._job = job
        self._wrong: list[str] = []

    def tables(self, parts: Sequence[Part]) -> None:
        """What stands there from the beginning."""
        first = min(message.time for part in parts for message in part.messages)
        before = sum(message.time < first + LEAD / 2 for part in parts for message in part.messages)
        self.some(before)

    def some(self, count: int) -> None:
        """So many more, while the driver does its work."""
        for number, (message, topic) in enumerate(_first(self._rest, count)):
            self._producer.produce(
                topic, message.value, message.key, message.partition, self._heard, timestamp=message.time
            )
            self.count -= 1
            if not number % 100:
                self._producer.poll(0)
                self._job.driver.step()
        left = self._producer.flush(20)
        assert not left
        assert self._wrong == []

    def rest(self) -> None:
        """All that is left."""
        self.some(self.count)

    def _heard(self, error: Any, message: Any) -> None:
        if error is not None:
            self._wrong.append(f"{message.topic()}[{message.partition()}]: {error.str()}")


def _time(pair: tuple[Message, str]) -> int:
    return pair[0].time


def _first(rest: Iterator[Any], count: int) -> Iterator[Any]:
    for _ in range(count):
        found = next(rest, None)
        if found is None:
            return
        yield found


def read(job: RunningJob, topic: str) -> list[Record]:
    """All committed records of a topic."""
    reader = clients.restorer(job.access, "judge")
    count = len(reader.list_topics(topic, timeout=10).topics[topic].partitions)
    reader.assign([TopicPartition(topic, number, 0) for number in range(count)])
    found: list[Record] = []
    ends = 0
    while ends < count:
        for message in reader.consume(1000, 0.2):
            if message.error():
                ends += 1
            else:
                time = message.timestamp()[1]
                found.append(Record(message.partition(), message.offset(), message.key(), message.value(), time))
    reader.close()
    return found


def verdict(job: RunningJob, part: Part, code: Path) -> Verdict:
    """Whether the outputs of a part are what they should be."""
    execution = job.job.spec.execution.model_dump(by_alias=True, exclude_unset=True)
    spec = merged.alone(job.job.metadata.name, job.bootstrap, part, execution=execution)
    topics = [*(stream.topic for stream in spec.streams), *(table.topic for table in spec.tables)]
    sources = {topic: read(job, topic) for topic in topics}
    outputs = {output.topic: read(job, output.topic) for output in spec.outputs}
    return judging.judge(spec, sources, outputs, Assumptions(none_late=True), code)


def told(found: Verdict) -> str:
    """What is wrong, for the message of a test."""
    lines = [f"void: {found.void}"] if found.void else []
    for output in found.outputs:
        if output.open or output.lost or output.duplicated or output.reordered or output.wrong:
            lines.append(str(dataclasses.replace(output, examples=())))
            lines += [f"    {example}" for example in output.examples]
    return "\n".join(lines)


def troubled(job: RunningJob, feeder: Feeder) -> None:
    """Feed while partitions move and a slot dies; there is one slot, and then there are two."""
    share = feeder.count // 5
    job.spread("w0.0")
    feeder.some(share)
    job.start("w1.0")
    for names in (["w0.0", "w1.0"], ["w1.0", "w0.0"]):
        job.driver.want(*names)
        feeder.some(share)
        job.driver.until(job.driver.settled, PATIENCE)
    feeder.some(share // 2)
    job.kill("w0.0")
    job.lose("w0.0")
    job.driver.want("w1.0")
    feeder.some(share)
    job.start("w0.0")
    job.driver.until(job.driver.settled, PATIENCE)
    job.spread("w0.0", "w1.0", seconds=PATIENCE)
    feeder.rest()
    job.finish(PATIENCE)


def rows(job: RunningJob, part: Part) -> dict[str, list[str]]:
    """What readers of the outputs of a part end with, in no order."""
    spec = merged.alone(job.job.metadata.name, job.bootstrap, part)
    found = {}
    for output, given in zip(spec.outputs, part.spec["outputs"], strict=True):
        records = read(job, output.topic)
        keyed = {record.key: record.value for record in records if record.key is not None}
        left = keyed.values() if keyed else [record.value for record in records]
        found[given["name"]] = sorted(value.decode() for value in left if value is not None)
    return found
