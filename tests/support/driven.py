"""Drivers as threads of a test, on a real broker, for a word count on topics of its own."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from programs import EXAMPLES
from spillway.controllers.topics import Names, Topic
from spillway.local.broker import Broker
from spillway.model import kafka, observation
from spillway.model.observation import Observation
from spillway.runtime import admin, clients
from spillway.runtime.clients import Access
from spillway.runtime.driver.driver import Batches, Files
from spillway.runtime.driver.main import Process
from standin import StandIn

WITHIN = 20.0  # seconds; a slot is there after two, and on a busy machine after ten
LINES, WIDTH = 2, 4
PARTITIONS = LINES + WIDTH
_numbers = itertools.count()


def until(holds: Callable[[], Any], within: float = WITHIN) -> None:
    """Wait until it holds; then all is well."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, "it never held"
        time.sleep(0.05)


class Running:
    """A driver in a thread."""

    def __init__(self, file: Path, batches: Batches | None = None) -> None:
        self._ended = threading.Event()
        self.process = Process(Files(file), "127.0.0.1", 0, self._ended.is_set, batches)
        self.problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.process.run()
        except BaseException as problem:
            self.problem = problem

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self.process.server.address, timeout=5)
        with contextlib.closing(connection):
            connection.request(method, path, body)
            answer = connection.getresponse()
            text = answer.read()
        return answer.status, json.loads(text) if "json" in answer.headers["Content-Type"] else text.decode()

    @property
    def told(self) -> Observation:
        status, found = self.ask("GET", "/v1/observation")
        assert status == 200
        return observation.observation(json.dumps(found).encode())

    @property
    def wrong(self) -> list[str]:
        return [f"{one.type}: {one.message}" for one in self.told.conditions if not one.status]

    def condition(self, kind: str) -> observation.Condition:
        return next(one for one in self.told.conditions if one.type == kind)

    def grant(self, workers: int, executors: int | None = None) -> None:
        asked = json.dumps({"version": 1, "workers": workers, "executors": executors})
        assert self.ask("PUT", "/v1/grant", asked)[0] == 200

    def end(self) -> None:
        self._ended.set()
        self._thread.join(10)
        assert not self._thread.is_alive()
        if self.problem is not None:
            raise self.problem


class Job:
    """Word count on topics of its own."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        number = next(_numbers)
        self.broker, self.prefix = broker, f"driven{number}."
        self.file = folder / f"job-{number}.yaml"
        text = (EXAMPLES / "word-count.yaml").read_text()
        self.document = yaml.safe_load(text)
        self.document["metadata"]["name"] = f"driven-{number}"
        spec = self.document["spec"]
        spec["kafka"]["bootstrapServers"] = [broker.bootstrap]
        spec["streams"][0]["topic"] = f"{self.prefix}lines"
        spec["outputs"][0]["topic"] = f"{self.prefix}counts"
        self.write()
        self.access = Access(kafka.Kafka(bootstrap_servers=(broker.bootstrap,)))
        self.names = Names(f"default.driven-{number}.")
        self.started: list[Any] = []

    def write(self) -> None:
        self.file.write_text(yaml.safe_dump(self.document))

    def topics(self) -> None:
        self.broker.create_topic(f"{self.prefix}lines", LINES)
        self.broker.create_topic(f"{self.prefix}counts", 1)

    def grow(self, name: str, partitions: int) -> None:
        admin.grow(clients.admin(self.access), [Topic(f"{self.prefix}{name}", partitions)])

    def made_anew(self, name: str) -> None:
        client, topic = clients.admin(self.access), f"{self.prefix}{name}"
        for answer in client.delete_topics([topic]).values():
            answer.result()
        until(lambda: topic not in client.list_topics(timeout=5).topics)
        self.broker.create_topic(topic, LINES + 1)

    def drive(self, batches: Batches | None = None) -> Running:
        driver = Running(self.file, batches)
        self.started.append(driver)
        until(lambda: driver.told.leader)
        return driver

    def slot(self, name: str) -> StandIn:
        slot = StandIn(self.access, self.names, name)
        self.started.append(slot)
        return slot
