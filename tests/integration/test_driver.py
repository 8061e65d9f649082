"""A driver on a real broker, with slots that process nothing: who owns what, whatever happens to a job."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from driven import LINES, PARTITIONS, WIDTH, Job, Running, until
from spillway.local.broker import Broker
from spillway.model import observation
from spillway.model.observation import MoveKind
from spillway.model.streamjob import StreamJob
from spillway.runtime.batch.jvm import Usage
from spillway.runtime.batch.ranges import Order, Range, Result
from spillway.runtime.driver import driver as driver_module
from spillway.runtime.driver import leading, liveness, supply
from spillway.runtime.driver.driver import Batches, DeposedError


@pytest.fixture
def job(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    monkeypatch.setattr("spillway.controllers.topics.width", lambda _: WIDTH)
    monkeypatch.setattr(liveness, "SILENT", 1.0)  # stand-ins report every 100 ms
    monkeypatch.setattr(liveness, "DEAF", 0.7)
    monkeypatch.setattr(supply, "EVERY", 0.3)
    monkeypatch.setattr(driver_module, "LOOK", 0.1)
    monkeypatch.setattr(leading, "SNAPSHOT", 20)  # so that whoever begins finds a log that was cut
    made = Job(broker, tmp_path)
    yield made
    for started in reversed(made.started):
        with contextlib.suppress(DeposedError):
            started.end()


def _moves(driver: Running, kind: MoveKind) -> list[observation.Move]:
    return [move for move in driver.told.moves if move.kind is kind]


def _moved(driver: Running, since: float) -> list[observation.Move]:
    return [move for move in _moves(driver, MoveKind.RESIZE) if move.at >= since]


def _is_ready(driver: Running) -> bool:
    return driver.ask("GET", "/readyz")[0] == 200


def _ask(driver: Running) -> None:
    """Everything that it answers."""
    assert driver.ask("GET", "/healthz") == (200, {"healthy": True})
    status, text = driver.ask("GET", "/metrics")
    assert status == 200
    assert 'spillway_segment_partitions_working{segment="counts"} 4.0' in text
    _, found = driver.ask("GET", "/v1/decisions")
    assert {one["part"] for one in found["decisions"]} <= {"provisioning", "switching", "assignment", "rollout"}
    assert all(one["sentence"] for one in found["decisions"])
    for body in ("{}", '{"version": 2, "workers": 1}', '{"version": 1, "workers": 1, "more": 1}', "x" * 20_000):
        assert driver.ask("PUT", "/v1/grant", body)[0] in (400, 413)
    assert driver.ask("GET", "/v1/tables/words?key=a")[0] == 404
    assert driver.ask("GET", "/v1/tables/counts?key=a")[0] == 503  # a stand-in has no worker that could be asked
    assert driver.ask("GET", "/v1/tables/counts")[0] == 400


def test_partitions_are_spread_over_slots_and_follow_the_grant(job: Job) -> None:
    job.topics()
    driver, one, two = job.drive(), job.slot("w0.0"), job.slot("w1.0")
    until(lambda: _is_ready(driver) and {len(one.works), len(two.works)} == {PARTITIONS // 2})
    assert {move.kind for move in driver.told.moves} <= {MoveKind.START, MoveKind.RESIZE}
    _ask(driver)
    granted = time.time()  # before that, a slot that was heard of a moment later got its half by a move as well
    driver.grant(1)
    until(lambda: len(one.works) == PARTITIONS and not two.works)
    until(lambda: len(_moved(driver, granted)) == PARTITIONS // 2)
    moved = _moved(driver, granted)
    assert {(move.source, move.target) for move in moved} == {("w1.0", "w0.0")}
    assert all(move.pause_ms is not None and move.pause_ms < 1000 for move in moved)
    two.leaving = one.leaving = True  # the last ones have nobody to give anything to
    time.sleep(0.5)
    assert len(one.works) == PARTITIONS


def test_a_silent_slot_is_taken_over_and_fenced(job: Job) -> None:
    job.topics()
    driver, one, two = job.drive(), job.slot("w0.0"), job.slot("w1.0")
    until(lambda: _is_ready(driver) and one.works)
    one.mute = True
    until(lambda: len(two.works) == PARTITIONS)
    until(lambda: not one.works)  # it reads that it is fenced
    until(lambda: _moves(driver, MoveKind.TAKEOVER))
    assert {move.target for move in _moves(driver, MoveKind.TAKEOVER)} == {"w1.0"}
    assert all("nothing was heard of it for" in move.reason for move in _moves(driver, MoveKind.TAKEOVER))
    two.end()
    three = job.slot("w1.0")  # nobody has to wait for silence: its process has begun anew
    until(lambda: len(three.works) == PARTITIONS, 0.9)


def test_other_drivers_go_on_where_the_last_one_was(job: Job) -> None:
    job.topics()
    driver, slot = job.drive(), job.slot("w0.0")
    until(lambda: _is_ready(driver))
    before = dict(slot.slot.works) if slot.slot else {}

    second = job.drive()
    with pytest.raises(DeposedError, match="another driver leads now"):
        driver.end()
    until(lambda: _is_ready(second))
    assert slot.slot is not None
    assert dict(slot.slot.works) == before  # nothing has moved

    second.grant(0)
    until(lambda: not any(one.partitions for one in second.told.slots))
    assert second.condition("Paused").reason == "NoWorkers"
    assert _is_ready(second)  # for all rest as they shall
    second.end()

    third = job.drive()
    until(lambda: third.told.ready and third.told.slots[0].partitions == PARTITIONS)
    assert third.told.leader == 3
    assert all(work.epoch > before[place].epoch for place, work in slot.slot.works.items())

    job.document["spec"]["policy"] = {"paused": True}
    job.write()
    until(lambda: not any(one.partitions for one in third.told.slots))
    assert third.condition("Paused").reason == "Paused"


def test_programs_change_where_they_can_and_go_back_where_slots_cant_run_them(job: Job) -> None:
    job.topics()
    driver, slot = job.drive(), job.slot("w0.0")
    until(lambda: _is_ready(driver))
    first, operators = dict(slot.works), job.document["spec"]["operators"]

    operators[1]["filter"] = "word <> 'the'"  # the rows of its edge stay what they are
    job.write()
    until(lambda: {p for p in first if slot.works.get(p) != first[p]} == {p for p in first if p.segment == "words"})
    until(lambda: driver.condition("RollOut").status)
    assert {move.partition for move in _moves(driver, MoveKind.PROGRAM)} == {"words/0", "words/1"}

    second = dict(slot.works)
    operators[2]["aggregate"]["values"] = ["max(word) as last"]  # what is stored could not be read
    job.write()
    until(lambda: driver.condition("Accepted").reason == "NotCompatible")
    assert "give the operator another name" in driver.condition("Accepted").message

    operators[2]["name"] = job.document["spec"]["outputs"][0]["input"] = "lasts"  # an edge goes, another one comes
    job.write()
    until(
        lambda: {p.segment for p, w in slot.slot.works.items() if w.processes} == {"words", "lasts"} if slot.slot else 0
    )
    until(lambda: driver.condition("RollOut").status and driver.condition("Accepted").reason == "Valid")
    assert slot.works != second

    third = {p: w.program for p, w in slot.slot.works.items() if w.processes} if slot.slot else {}
    operators[1]["filter"] = "word <> 'and'"
    slot.cannot = Everything(third.values())
    job.write()
    until(lambda: driver.condition("Accepted").reason == "RolledBack")
    assert "w0.0 can't run it" in driver.condition("Accepted").message
    until(lambda: driver.condition("RollOut").status)
    assert {p: slot.works[p] for p in third} == third


def test_it_says_which_generation_of_the_manifest_it_has_read_last_and_whether_it_is_accepted(job: Job) -> None:
    job.document["metadata"]["generation"] = 3
    job.write()
    job.topics()
    driver = job.drive()
    until(lambda: driver.told.plan and driver.told.generation == 3)

    job.document["metadata"]["generation"] = 4
    job.document["spec"]["operators"][2]["aggregate"]["values"] = ["max(word) as last"]
    job.write()
    until(lambda: driver.told.generation == 4)
    assert driver.condition("Accepted").reason == "NotCompatible"


class Far:
    """A Spark whose executors are there at once, and that gets nothing done."""

    usage = Usage(1, 1, 0.0)

    def __init__(self, asked: StreamJob, count: int) -> None:
        assert asked.spec.execution.executors.max == 4
        self.executors: int | None = count

    def run(self, _: Order, __: Sequence[Range]) -> list[Result]:
        return []

    def resize(self, count: int) -> None:
        self.executors = count

    def close(self) -> None:
        """There is nothing to end."""


def test_spark_has_as_many_executors_as_are_granted_and_the_driver_tells_how_many_are_needed(job: Job) -> None:
    job.document["spec"]["execution"] = {"executors": {"min": 1, "max": 4}}
    job.write()
    job.topics()
    driver = job.drive(Batches(Far, executors=True))
    assert driver.told.recommended.executors == 1
    assert "nothing runs in batches" in driver.told.recommended.sentence
    until(lambda: driver.told.executors == 1)
    driver.grant(1, 3)
    until(lambda: driver.told.executors == 3)
    driver.grant(2)  # of workers alone
    driver.grant(2, 0)
    until(lambda: driver.told.executors == 0 and "no executors are granted" in driver.told.standby.problem)
    assert driver.told.standby.state == "off"
    driver.grant(2, 2)
    until(lambda: driver.told.executors == 2)
    driver.end()
    without = job.drive()
    assert (without.told.executors, without.told.recommended.executors) == (None, None)


class Everything(frozenset[str]):
    """All but these."""

    def __contains__(self, program: object) -> bool:
        return not super().__contains__(program)


def test_topics_of_the_user_are_watched(job: Job) -> None:
    driver, slot = job.drive(), job.slot("w0.0")
    until(lambda: driver.condition("Topics").reason == "TopicMissing")
    assert (
        f"topic '{job.prefix}lines' of stream 'lines' does not exist; create it" in driver.condition("Topics").message
    )
    assert not _is_ready(driver)
    job.topics()
    until(lambda: _is_ready(driver))
    job.grow("lines", LINES + 1)
    until(lambda: len(slot.works) == PARTITIONS + 1)
    until(lambda: _is_ready(driver))
    job.made_anew("lines")
    until(lambda: driver.condition("Topics").reason == "TopicMadeAnew")
    until(lambda: driver.told.slots[0].partitions == WIDTH)  # those of the edge go on
    driver.end()
    another = job.drive()
    until(lambda: another.condition("Topics").reason == "TopicMadeAnew")  # it stands in the plan
    assert not _is_ready(another)
