"""A job that is given more than its slot can do: records by number, each of which takes the same time."""

from __future__ import annotations

import collections
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import TIMESTAMP_CREATE_TIME, Consumer, TopicPartition

from running_job import RunningJob
from spillway.controllers.ahead import Ahead
from spillway.runtime import clients
from spillway.runtime.slots import process
from spillway.runtime.slots.settings import Settings

BOUND = 0.5  # seconds
CODE = Path(__file__).with_name("user_code")


def manifest(bootstrap: str, name: str, *, counted: bool = False, **spec: Any) -> dict[str, Any]:
    """Records go through the function and out; or, `counted`, are counted by key behind an edge."""
    slow = {"function": "slow:slow", "as": "map", "returns": "n bigint, k string"}
    operators: list[dict[str, Any]] = [{"name": "slowly", "input": "numbers", "python": slow}]
    if counted:
        values = ["count(*) as times", "max(n) as n"]
        operators.append({"name": "counts", "input": "slowly", "aggregate": {"by": ["k"], "values": values}})
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name, "namespace": "test"},
        "spec": {
            "kafka": {"bootstrapServers": [bootstrap]},
            "latency": {"bound": f"{BOUND * 1000:.0f}ms"},
            "streams": [{"name": "numbers", "topic": f"{name}.in", "columns": "n bigint, k string"}],
            "operators": operators,
            "outputs": [{"name": "result", "input": operators[-1]["name"], "topic": f"{name}.out"}],
            **spec,
        },
    }


def forgetful(settings: Settings, pipe: Connection) -> None:
    """A slot that commits positions alone."""
    Ahead.note = lambda _: ""  # type: ignore[assignment,method-assign]
    process.run(settings, pipe)


class Overloaded:
    """Feeds a job at a rate, and judges it."""

    def __init__(self, job: RunningJob, partitions: int) -> None:
        self._job, self._partitions = job, partitions
        self._topic = job.job.spec.streams[0].topic
        self._producer = clients.emitter(job.access)
        self.sent: dict[int, float] = {}
        self._end = 0.0

    def feed(self, rate: float, seconds: float) -> None:
        """So many records each second, over the partitions in turn; meanwhile the driver does its work."""
        start, first = time.time(), len(self.sent)
        count = int(rate * seconds)
        for number in range(count):
            while (left := start + number / rate - time.time()) > 0:
                self._job.driver.step(min(left, 0.01))
            n = first + number
            value = msgspec.json.encode({"n": n, "k": f"k{n % self._partitions}"})
            self.sent[n] = time.time()
            self._producer.produce(self._topic, value, None, n % self._partitions)
            self._producer.poll(0)
        self._end = time.time()
        assert self._producer.flush(10) == 0

    def came(self) -> dict[int, list[float]]:
        """By number, how long each output took since its record was sent, in their order."""
        found: dict[int, list[float]] = collections.defaultdict(list)
        for value, at in self._read():
            n = msgspec.json.decode(value)["n"]
            found[n].append(at - self.sent[n])
        return found

    def in_time(self) -> float:
        """The share of what came while it was fed that came within the bound."""
        end = self._end
        ages = [age for n, times in self.came().items() for age in times if self.sent[n] + age <= end]
        return sum(age <= BOUND for age in ages) / len(ages)

    def counted(self) -> dict[str, list[int]]:
        """By key, what was counted, in its order."""
        found: dict[str, list[int]] = collections.defaultdict(list)
        for value, _ in self._read():
            row = msgspec.json.decode(value)
            found[row["k"]].append(row["times"])
        return found

    def _read(self) -> list[tuple[bytes, float]]:
        topic = self._job.job.spec.outputs[0].topic
        reader = clients.restorer(self._job.access, "test")
        found, ends = [], 0
        places = _places(reader, topic)
        reader.assign(places)
        while ends < len(places):
            for message in reader.consume(1000, 0.2):
                if message.error() is not None:
                    ends += clients.is_end(message.error())
                    continue
                kind, at = message.timestamp()
                assert kind == TIMESTAMP_CREATE_TIME
                found.append((message.value() or b"", at / 1000))
        reader.close()
        return found


def _places(reader: Consumer, topic: str) -> list[TopicPartition]:
    return [
        TopicPartition(topic, number, 0) for number in reader.list_topics(topic, timeout=10).topics[topic].partitions
    ]
