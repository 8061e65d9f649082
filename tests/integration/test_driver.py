"""A driver on a real broker, with slots that process nothing: who owns what, whatever happens to a job."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from programs import EXAMPLES
from spillway.controllers.topics import Names
from spillway.local.broker import Broker
from spillway.model import kafka
from spillway.runtime.clients import Access
from spillway.runtime.driver import observation
from spillway.runtime.driver.driver import DeposedError, Files
from spillway.runtime.driver.main import Process
from spillway.runtime.driver.observation import MoveKind, Observation
from standin import StandIn

WITHIN = 10.0
LINES, WIDTH = 2, 4
PARTITIONS = LINES + WIDTH
_numbers = itertools.count()


class Running:
    """A driver in a thread."""

    def __init__(self, file: Path) -> None:
        self._ended = threading.Event()
        self.process = Process(Files(file), "127.0.0.1", 0, self._ended.is_set)
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

    def grant(self, workers: int) -> None:
        assert self.ask("PUT", "/v1/grant", json.dumps({"version": 1, "workers": workers}))[0] == 200

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

    def drive(self) -> Running:
        driver = Running(self.file)
        self.started.append(driver)
        _until(lambda: driver.told.leader)
        return driver

    def slot(self, name: str) -> StandIn:
        slot = StandIn(self.access, self.names, name)
        self.started.append(slot)
        return slot


@pytest.fixture
def job(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    monkeypatch.setattr("spillway.controllers.topics.width", lambda _: WIDTH)
    made = Job(broker, tmp_path)
    yield made
    for started in reversed(made.started):
        with contextlib.suppress(DeposedError):
            started.end()


def _until(holds: Callable[[], Any], within: float = WITHIN) -> None:
    """Wait until it holds; then all is well."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, "it never held"
        time.sleep(0.05)


def test_partitions_are_spread_over_slots_and_follow_the_grant(job: Job) -> None:
    job.topics()
    driver, one, two = job.drive(), job.slot("w0.0"), job.slot("w1.0")
    _until(lambda: driver.ask("GET", "/readyz")[0] == 200)
    assert len(one.works) + len(two.works) == PARTITIONS
    assert {len(one.works), len(two.works)} == {PARTITIONS // 2}
    assert {move.kind for move in driver.told.moves} == {MoveKind.START}
    driver.grant(1)
    _until(lambda: len(one.works) == PARTITIONS and not two.works)
    moved = [move for move in driver.told.moves if move.kind is MoveKind.RESIZE]
    assert {(move.source, move.target) for move in moved} == {("w1.0", "w0.0")}
    assert all(move.pause_ms is not None and move.pause_ms < 1000 for move in moved)
