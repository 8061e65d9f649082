"""What goes into a job from outside, what comes out, and the independent judgement of both."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import yaml
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from cluster import broker
from jobs import Job
from spillway.local.process import Process

AHEAD = 1.5  # seconds that a feeder gets to start, and to render its lines
ENDS = timedelta(seconds=10)
PATIENCE = 90  # seconds for the last results
JUDGED = 300.0
NO_CODE: Mapping[str, str] = {}


class Feeder:
    """Lines for a job, phase by phase; one process for each, so that none of them slows a test down."""

    def __init__(self, job: Job) -> None:
        self._job, self._folder = job, Path(tempfile.mkdtemp(prefix="spillway-e2e-feed-"))
        self._running: tuple[Process, Path] | None = None
        self._first = self._phase = 0
        self.sent = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever became of the test, nothing is fed any more."""
        if self._running is not None:
            self._running[0].kill()
            self._running = None

    def pour(self, rate: float, seconds: float = 3600.0) -> float:
        """Send at this rate from now on, for so long or until the next phase; what ran before ends.

        Returns when the first line is due, in seconds since 1970.
        """
        self.stop()
        start = time.time() + AHEAD
        self._phase += 1
        report = self._folder / f"{self._phase}.json"
        command = [sys.executable, "-P", "-m", "spillway.bench.lines", "--bootstrap", broker.OUTSIDE]
        command += ["--topic", self._job.source, "--rate", f"{rate:.3f}", "--seconds", f"{seconds:.3f}"]
        command += ["--start", f"{start:.3f}", "--first", str(self._first), "--report", str(report)]
        self._running = Process(command, report.with_suffix(".log"), folder=self._folder), report
        self._first += round(rate * min(seconds, 600))
        return start

    def stop(self) -> int:
        """End the phase; how many lines were sent so far."""
        if self._running is not None:
            process, report = self._running
            process.stop(ENDS)
            assert report.is_file(), f"the feeder told nothing: {process.log_tail(5)}"
            told = json.loads(report.read_text("utf-8"))
            assert not told["problem"], told["problem"]
            self.sent += int(told["sent"])
            self._running = None
        return self.sent


def send(topic: str, *lines: str) -> float:
    """Send some lines now; when Kafka has them all, in seconds since 1970."""
    producer = Producer({"bootstrap.servers": broker.OUTSIDE, "log_level": 0})
    for line in lines:
        producer.produce(topic, line.encode())
    assert producer.flush(20) == 0
    return time.time()


class Results:
    """What comes out of a job, from its beginning on."""

    def __init__(self, topic: str) -> None:
        # Assigned, not subscribed: no group has to be joined, so the first record is seen when it is there.
        self._consumer = Consumer(
            {"bootstrap.servers": broker.OUTSIDE, "group.id": "results", "enable.auto.commit": False, "log_level": 0}
        )
        known = self._consumer.list_topics(topic, timeout=20).topics[topic].partitions
        self._partitions = [TopicPartition(topic, number, 0) for number in known]
        self._consumer.assign(self._partitions)
        self.latest: dict[Any, Any] = {}
        """By key, the last row."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, seconds: float = 0.2) -> list[Message]:
        """What is there and was not read yet."""
        messages = [one for one in self._consumer.consume(10_000, seconds) if one.error() is None]
        for message in messages:
            self.latest[message.key()] = json.loads(message.value()) if message.value() else None
        return messages

    def until_any(self, seconds: float) -> float:
        """Wait until something has come out since the beginning; the time at which it was seen."""
        return self._until(lambda message: True, seconds)

    def until_more(self, seconds: float) -> float:
        """Wait for something that is not in the topic yet; the time at which it was seen."""
        ends = {one.partition: self._consumer.get_watermark_offsets(one, 10)[1] for one in self._partitions}
        return self._until(lambda message: message.offset() >= ends[message.partition()], seconds)

    def rest(self) -> dict[Any, Any]:
        """By key, the last row, when nothing more has come for a second."""
        while self.read(1.0):
            pass
        return self.latest

    def _until(self, fits: Callable[[Message], bool], seconds: float) -> float:
        deadline = time.monotonic() + seconds
        while not any(fits(message) for message in self.read()):
            assert time.monotonic() < deadline, f"nothing came out within {seconds:.0f} s"
        return time.time()

    def close(self) -> None:
        """Leave Kafka."""
        self._consumer.close()


def judge(job: Job, records: int, code: Mapping[str, str] = NO_CODE) -> dict[str, Any]:
    """The verdict of `spillway.bench.verifier`, when so many records have their results; `code`: its functions."""
    with tempfile.TemporaryDirectory(prefix="spillway-e2e-judge-") as scratch:
        manifest, report = Path(scratch, "job.yaml"), Path(scratch, "verdict.json")
        manifest.write_text(yaml.safe_dump(job.document))
        for name, text in code.items():
            Path(scratch, name).write_text(text)
        command = [sys.executable, "-P", "-m", "spillway.bench.verifier", "--job", str(manifest), "-q"]
        given = ["--bootstrap", broker.OUTSIDE, "--report", str(report)]
        ends = ["--records", str(records), "--patience", str(PATIENCE), "--timeout", str(JUDGED - 60)]
        done = subprocess.run(
            [*command, *given, *ends], capture_output=True, text=True, check=False, timeout=JUDGED, cwd=scratch
        )
        assert report.is_file(), f"the verifier told nothing: {done.stdout}{done.stderr}"
        return dict(json.loads(report.read_text("utf-8")))


def assert_right(verdict: dict[str, Any], records: int) -> None:
    """Nothing is lost, wrong or out of order, and it was really judged."""
    told = {name: verdict[name] for name in ("verdict", "void", "records_in", "lost", "wrong", "reordered", "complete")}
    examples = [example for output in verdict["outputs"] for example in output["examples"]]
    assert verdict["records_in"] == records, told
    assert verdict["verdict"] == "right", (told, examples)
    assert verdict["complete"], told
