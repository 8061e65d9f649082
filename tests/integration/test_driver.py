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
from spillway.controllers.topics import Names, Topic
from spillway.local.broker import Broker
from spillway.model import kafka
from spillway.runtime import admin, clients
from spillway.runtime.clients import Access
from spillway.runtime.driver import driver as driver_module
from spillway.runtime.driver import liveness, observation, supply
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

    def grow(self, name: str, partitions: int) -> None:
        admin.grow(clients.admin(self.access), [Topic(f"{self.prefix}{name}", partitions)])

    def made_anew(self, name: str) -> None:
        client, topic = clients.admin(self.access), f"{self.prefix}{name}"
        for answer in client.delete_topics([topic]).values():
            answer.result()
        _until(lambda: topic not in client.list_topics(timeout=5).topics)
        self.broker.create_topic(topic, LINES + 1)

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
    monkeypatch.setattr(liveness, "SILENT", 1.0)  # stand-ins report every 100 ms
    monkeypatch.setattr(liveness, "DEAF", 0.7)
    monkeypatch.setattr(supply, "EVERY", 0.3)
    monkeypatch.setattr(driver_module, "LOOK", 0.1)
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


def _moves(driver: Running, kind: MoveKind) -> list[observation.Move]:
    return [move for move in driver.told.moves if move.kind is kind]


def _is_ready(driver: Running) -> bool:
    return driver.ask("GET", "/readyz")[0] == 200


def test_partitions_are_spread_over_slots_and_follow_the_grant(job: Job) -> None:
    job.topics()
    driver, one, two = job.drive(), job.slot("w0.0"), job.slot("w1.0")
    _until(lambda: _is_ready(driver))
    assert {len(one.works), len(two.works)} == {PARTITIONS // 2}
    assert {move.kind for move in driver.told.moves} == {MoveKind.START}
    driver.grant(1)
    _until(lambda: len(one.works) == PARTITIONS and not two.works)
    _until(lambda: len(_moves(driver, MoveKind.RESIZE)) == PARTITIONS // 2)
    moved = _moves(driver, MoveKind.RESIZE)
    assert {(move.source, move.target) for move in moved} == {("w1.0", "w0.0")}
    assert all(move.pause_ms is not None and move.pause_ms < 1000 for move in moved)
    two.leaving = one.leaving = True  # the last ones have nobody to give anything to
    time.sleep(0.5)
    assert len(one.works) == PARTITIONS


def test_a_silent_slot_is_taken_over_and_fenced(job: Job) -> None:
    job.topics()
    driver, one, two = job.drive(), job.slot("w0.0"), job.slot("w1.0")
    _until(lambda: _is_ready(driver))
    one.mute = True
    _until(lambda: len(two.works) == PARTITIONS)
    _until(lambda: not one.works)  # it reads that it is fenced
    _until(lambda: len(_moves(driver, MoveKind.TAKEOVER)) == PARTITIONS // 2)
    assert {move.target for move in _moves(driver, MoveKind.TAKEOVER)} == {"w1.0"}
    two.end()
    three = job.slot("w1.0")  # nobody has to wait for silence: its process has begun anew
    _until(lambda: len(three.works) == PARTITIONS, 0.9)


def test_partitions_come_to_rest_and_another_driver_wakes_them_up(job: Job) -> None:
    job.topics()
    driver, slot = job.drive(), job.slot("w0.0")
    _until(lambda: _is_ready(driver))
    driver.grant(0)
    _until(lambda: not any(one.partitions for one in driver.told.slots))
    assert driver.condition("Paused").reason == "NoWorkers"
    assert _is_ready(driver)  # for all rest as they shall
    driver.end()
    another = job.drive()
    _until(lambda: another.told.ready and another.told.slots[0].partitions == PARTITIONS)
    assert another.told.leader == 2
    assert all(work.epoch == 2 for work in (slot.slot.works.values() if slot.slot else ()))


def test_of_two_drivers_the_later_one_leads_and_nothing_moves(job: Job) -> None:
    job.topics()
    driver, slot = job.drive(), job.slot("w0.0")
    _until(lambda: _is_ready(driver))
    before = dict(slot.slot.works) if slot.slot else {}
    another = job.drive()
    with pytest.raises(DeposedError, match="another driver leads now"):
        driver.end()
    _until(lambda: _is_ready(another))
    assert slot.slot is not None
    assert dict(slot.slot.works) == before


def test_programs_change_where_they_can_and_go_back_where_slots_cant_run_them(job: Job) -> None:
    job.topics()
    driver, slot = job.drive(), job.slot("w0.0")
    _until(lambda: _is_ready(driver))
    first, operators = dict(slot.works), job.document["spec"]["operators"]

    operators[1]["filter"] = "word <> 'the'"  # the rows of its edge stay what they are
    job.write()
    _until(lambda: {p for p in first if slot.works.get(p) != first[p]} == {p for p in first if p.segment == "words"})
    _until(lambda: driver.condition("RollOut").status)
    assert {move.partition for move in _moves(driver, MoveKind.PROGRAM)} == {"words/0", "words/1"}

    second = dict(slot.works)
    operators[2]["aggregate"]["values"] = ["max(word) as last"]  # what is stored could not be read
    job.write()
    _until(lambda: driver.condition("Accepted").reason == "NotCompatible")
    assert "give the operator another name" in driver.condition("Accepted").message

    operators[2]["name"] = job.document["spec"]["outputs"][0]["input"] = "lasts"  # an edge goes, another one comes
    job.write()
    _until(
        lambda: {p.segment for p, w in slot.slot.works.items() if w.processes} == {"words", "lasts"} if slot.slot else 0
    )
    _until(lambda: driver.condition("RollOut").status and driver.condition("Accepted").reason == "Valid")
    assert slot.works != second

    third = {p: w.program for p, w in slot.slot.works.items() if w.processes} if slot.slot else {}
    operators[1]["filter"] = "word <> 'and'"
    slot.cannot = Everything(third.values())
    job.write()
    _until(lambda: driver.condition("Accepted").reason == "RolledBack")
    assert "w0.0 can't run it" in driver.condition("Accepted").message
    _until(lambda: driver.condition("RollOut").status)
    assert {p: slot.works[p] for p in third} == third


class Everything(frozenset[str]):
    """All but these."""

    def __contains__(self, program: object) -> bool:
        return not super().__contains__(program)


def test_topics_of_the_user_are_watched(job: Job) -> None:
    driver, slot = job.drive(), job.slot("w0.0")
    _until(lambda: driver.condition("Topics").reason == "TopicMissing")
    assert (
        f"topic '{job.prefix}lines' of stream 'lines' does not exist; create it" in driver.condition("Topics").message
    )
    assert not _is_ready(driver)
    job.topics()
    _until(lambda: _is_ready(driver))
    job.grow("lines", LINES + 1)
    _until(lambda: len(slot.works) == PARTITIONS + 1)
    _until(lambda: _is_ready(driver))
    job.made_anew("lines")
    _until(lambda: driver.condition("Topics").reason == "TopicMadeAnew")
    _until(lambda: driver.told.slots[0].partitions == WIDTH)  # those of the edge go on
    driver.end()
    another = job.drive()
    _until(lambda: another.condition("Topics").reason == "TopicMadeAnew")  # it stands in the plan
    assert not _is_ready(another)


def test_what_a_driver_answers(job: Job) -> None:
    job.topics()
    driver, _ = job.drive(), job.slot("w0.0")
    _until(lambda: _is_ready(driver))
    assert driver.ask("GET", "/healthz") == (200, {"healthy": True})
    status, text = driver.ask("GET", "/metrics")
    assert status == 200
    assert 'spillway_segment_working{segment="counts"} 4.0' in text
    status, found = driver.ask("GET", "/v1/decisions")
    assert {"provisioning", "switching", "assignment", "rollout"} >= {one["part"] for one in found["decisions"]}
    assert all(one["sentence"] for one in found["decisions"])
    for body in ("{}", '{"version": 2, "workers": 1}', '{"version": 1, "workers": 1, "more": 1}', "x" * 20_000):
        assert driver.ask("PUT", "/v1/grant", body)[0] in (400, 413)
    assert driver.ask("GET", "/v1/tables/words?key=a")[0] == 404
    assert driver.ask("GET", "/v1/tables/counts?key=a")[0] == 503  # a stand-in has no worker that could be asked
    assert driver.ask("GET", "/v1/tables/counts")[0] == 400
    assert driver.ask("GET", "/v1/nothing")[0] == 404
