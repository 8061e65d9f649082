"""A job as it is deployed: a driver with Spark and a worker, each a process, on a real broker."""

from __future__ import annotations

import collections
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from confluent_kafka import Producer

import kafka_records
from spillway.controllers.topics import Names, Topic
from spillway.local import ports
from spillway.local.broker import Broker
from spillway.local.driver import Driver
from spillway.local.process import Process
from spillway.model import kafka
from spillway.model.observation import Observation, Segment, SwitchAnswer
from spillway.runtime import admin, clients, scans
from spillway.runtime.clients import Access


class Deployed:
    """The processes. `log` says what they had to say, where something is wrong."""

    def __init__(self, broker: Broker, document: Mapping[str, Any], folder: Path, partitions: int = 4) -> None:
        self.broker, self._folder = broker, folder
        self.file = folder / "job.json"
        document = json.loads(json.dumps(document))
        document["spec"]["kafka"] = {"bootstrapServers": [broker.bootstrap]}
        self.file.write_text(json.dumps(document))
        spec = document["spec"]
        self.access = access = Access(kafka.Kafka(bootstrap_servers=(broker.bootstrap,)))
        names = [one["topic"] for part in ("streams", "tables", "outputs") for one in spec.get(part, [])]
        admin.create(clients.admin(access), [Topic(name, partitions) for name in names])
        self.names = Names(f"{document['metadata'].get('namespace', 'default')}.{document['metadata']['name']}.")
        self._port = ports.free(1)[0]
        self.client = Driver(f"{ports.LOOPBACK}:{self._port}")
        self.processes: dict[str, Process] = {}
        self._producer = Producer(kafka_records.client(broker.bootstrap, **{"linger.ms": 5}))

    def start(self, what: str, *options: str, script: str = "", environment: Mapping[str, str] | None = None) -> None:
        """`driver`, or `worker`; or what a script of a test makes of it."""
        given = ["--job", str(self.file), "--port", str(self._port) if what == "driver" else "0", *options]
        how = [str(Path(__file__).with_name(script))] if script else ["-P", "-m", f"spillway.runtime.{what}"]
        command = [sys.executable, *how, *given]
        log = self._folder / f"{what}.log"
        self.processes[what] = Process(command, log, folder=self._folder, environment=environment)

    def kill(self, what: str) -> None:
        """End a process as a crash would."""
        self.processes.pop(what).kill()

    def log(self) -> str:
        """The last lines of all logs."""
        return "\n".join(f"{one.name}:\n{one.read_text()[-3000:]}" for one in sorted(self._folder.glob("*.log")))

    def until(self, holds: Callable[[], Any], seconds: float = 60.0) -> Any:
        """Wait until it holds; what it gives."""
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(Exception):
                if found := holds():
                    return found
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    @property
    def told(self) -> Observation:
        """What the driver tells."""
        return self.client.observation()

    def segment(self, name: str) -> Segment:
        """What the driver tells of a segment."""
        return next(one for one in self.told.segments if one.name == name)

    def switch(self, operator: str, to: Literal["batch", "record"]) -> SwitchAnswer:
        """Ask for a switch of the whole segment that begins with an operator, and wait until it is there."""
        plan = self.told.plan
        assert plan is not None
        segment = next(one for one in plan.segments if one.name == operator)
        found = self.client.switch(segment.operators, to)
        assert found.done, found.sentence
        self.until(lambda: str(self.segment(operator).paradigm) == to)
        return found

    def feed(self, topic: str, values: list[str], keys: list[str] | None = None) -> None:
        """Records; without keys spread over the partitions."""
        for number, value in enumerate(values):
            self._producer.produce(topic, value, keys[number] if keys else None)
        assert self._producer.flush(30) == 0

    def last(self, topic: str, key: str, column: str) -> dict[Any, Any]:
        """By key, the last row that came out."""
        return {row[key]: row[column] for row in self._rows(topic)}

    def column(self, topic: str, column: str) -> list[Any]:
        """What all rows that came out have in a column."""
        return [row[column] for row in self._rows(topic)]

    def _rows(self, topic: str) -> Iterator[dict[str, Any]]:
        reader = clients.restorer(self.access, "test")
        try:
            count = len(reader.list_topics(topic, timeout=10).topics[topic].partitions)
            for _, messages, _ in scans.whole(reader, [(topic, number) for number in range(count)]):
                yield from (json.loads(message.value()) for message in messages)
        finally:
            reader.close()

    def close(self) -> None:
        """End everything."""
        for process in self.processes.values():
            process.kill()


@contextlib.contextmanager
def deployed(broker: Broker, document: Mapping[str, Any], folder: Path, **more: Any) -> Iterator[Deployed]:
    """One that ends with the block."""
    found = Deployed(broker, document, folder, **more)
    try:
        yield found
    finally:
        found.close()


def counted(lines: list[str]) -> dict[str, int]:
    """How often each word is there."""
    return dict(collections.Counter(word for line in lines for word in line.split(" ") if word))
