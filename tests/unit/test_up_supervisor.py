"""Driver and workers of a local run: kept running, sized as was decided, and brought to rest before they end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import fake_driver
import observations
from fake_driver import FakeDriver
from fake_processes import Clock, FakeParts
from spillway.local import supervisor
from spillway.local.driver import Driver, DriverError
from spillway.local.events import Event, Kind
from spillway.local.supervisor import StartError, Supervisor
from spillway.model.observation import Observation


class Case:
    """A supervisor of processes that do nothing, with a driver that answers."""

    def __init__(self, driver: FakeDriver, folder: Path) -> None:
        self.driver, self.clock = driver, Clock()
        self.parts = FakeParts(Driver(driver.address), self.clock, folder)
        self.told: list[Event] = []
        self.supervisor = Supervisor(self.parts, self.told.append)  # type: ignore[arg-type]

    def said(self, kind: Kind) -> list[str]:
        return [event.text for event in self.told if event.kind is kind]


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with fake_driver.answering(observations.word_count(granted=None)) as driver:
        yield Case(driver, tmp_path)


def held(seen: Observation, **partitions: int) -> Observation:
    slots = tuple(observations.slot(f"{name}.0", partitions=count) for name, count in partitions.items())
    return msgspec.structs.replace(seen, slots=slots)


def test_what_is_granted_is_granted_again_only_when_the_driver_has_another(case: Case) -> None:
    for workers in (2, 2, 2):
        assert case.supervisor.look(workers)
    case.driver.seen = msgspec.structs.replace(case.driver.seen, granted=None)  # it was started again, and forgot
    case.supervisor.look(2)

    assert case.driver.grants == [2, 2]


def test_it_says_once_that_all_is_ready_and_what_runs(case: Case) -> None:
    case.supervisor.start()
    case.supervisor.grow(1)
    for _ in range(3):
        case.supervisor.look(1)

    (ready,) = case.said(Kind.READY)
    assert ready.endswith(": 16 partitions work on 1 worker")
    assert case.said(Kind.PLAN) == ["plan 3: words + real-words (8 partitions, record); counts (8 partitions, record)"]


def test_a_driver_that_does_not_answer_is_no_error(tmp_path: Path) -> None:
    with fake_driver.answering(observations.word_count()) as driver:
        case = Case(driver, tmp_path)

    assert not case.supervisor.look(1)
    assert case.supervisor.seen is None


def test_a_driver_that_says_something_else_is_an_error_that_names_it(case: Case) -> None:
    case.driver.seen = None  # type: ignore[assignment]
    with pytest.raises(DriverError, match=r"the driver at 127.* answers in a way that can't be read here: Expected"):
        Driver(case.driver.address).observation()


def test_decisions_are_told_once_and_those_that_moves_tell_are_not(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "DECISIONS", 0.0)
    decision = {"at": 1.0, "part": "provisioning", "reason": "First", "sentence": "planned", "alternatives": []}
    moved = {"at": 2.0, "part": "assignment", "reason": "Levelled", "sentence": "words/0 moves"}
    case.driver.decisions = [decision, moved]
    case.supervisor.look(1)
    again = {**decision, "at": 3.0, "sentence": "planned anew"}
    nothing = {**decision, "at": 4.0, "part": "switching", "sentence": "hold: no burst"}
    case.driver.decisions = [decision, moved, again, nothing]
    case.supervisor.look(1)
    case.supervisor.look(1)

    assert case.said(Kind.DECISION) == ["provisioning: planned", "provisioning: planned anew"]
    assert case.supervisor.decided == ((3.0, "provisioning: planned anew"), (4.0, "switching: hold: no burst"))


def test_all_that_is_decided_in_one_tick_is_told(case: Case) -> None:
    planned = {"at": 1.0, "part": "provisioning", "reason": "LoadRose", "sentence": "9000/s to be done"}
    switched = {"at": 1.0, "part": "switching", "reason": "Burst", "sentence": "to batches: words"}
    case.driver.decisions = [planned, switched]
    case.supervisor.look(1)

    assert case.said(Kind.DECISION) == ["provisioning: 9000/s to be done", "switching: to batches: words"]


def test_a_worker_is_ended_only_once_it_has_nothing_and_gets_nothing(case: Case) -> None:
    case.supervisor.grow(2)
    case.driver.seen = held(case.driver.seen, w0=8, w1=8)
    case.supervisor.look(2)
    case.supervisor.look(2)
    case.supervisor.shrink(1)
    assert case.supervisor.there == 2  # two are granted still

    case.supervisor.look(1)
    case.supervisor.look(1)
    case.supervisor.shrink(1)
    assert case.supervisor.there == 2  # it has 8 partitions still

    case.driver.seen = held(case.driver.seen, w0=16, w1=0)
    case.supervisor.look(1)
    case.supervisor.shrink(1)

    assert case.supervisor.there == 1
    assert [number for number, process in case.parts.crew.all if process.asked] == [1]


def test_what_ends_by_itself_is_told_with_the_end_of_its_log_and_started_again(case: Case) -> None:
    case.supervisor.start()
    case.supervisor.grow(1)
    case.supervisor.look(1)
    case.parts.crew.last().end(137)
    case.parts.drivers.last().end(1)

    case.supervisor.keep()
    case.supervisor.keep()

    driver, worker = case.said(Kind.ENDED)
    assert driver.startswith("driver ended by itself with exit code 1; it is started again at once\n")
    assert driver.endswith("ValueError: wrong")
    assert worker.startswith(
        "worker 0 ended by itself with exit code 137; it is started again at once (somebody killed"
    )
    assert case.supervisor.there == 1
    assert len(case.parts.drivers.all) == 2


def test_what_never_starts_ends_the_run_with_the_end_of_its_log(case: Case) -> None:
    case.supervisor.start()
    for _ in range(supervisor.TRIES - 1):
        case.parts.drivers.last().end(1)
        case.supervisor.keep()
        case.clock.now += 5
        case.supervisor.keep()
    case.parts.drivers.last().end(1)

    with pytest.raises(StartError, match=r"driver does not start: it has ended 3 times.*\n.*driver.log:\nTraceback"):
        case.supervisor.keep()

    assert len(case.parts.drivers.all) == supervisor.TRIES


def test_all_partitions_come_to_rest_with_progress(case: Case) -> None:
    case.driver.seen = held(case.driver.seen, w0=16)
    case.supervisor.look(1)
    left = iter((16, 9, 9, 3, 0))
    phases: list[str] = []

    def meanwhile(phase: str) -> None:
        phases.append(phase)
        case.driver.seen = held(case.driver.seen, w0=next(left))

    assert case.supervisor.rest(meanwhile) == 0
    assert case.driver.grants == [1, 0]
    assert case.said(Kind.DRAINING) == [f"coming to rest: {n} of 16 partitions left" for n in (16, 9, 3)]
    assert phases[-1] == "3 of 16 partitions left"


def test_what_does_not_come_to_rest_is_counted(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "REST", 0.05)
    case.driver.seen = held(case.driver.seen, w0=5)
    case.supervisor.look(1)

    assert case.supervisor.rest(lambda _: None) == 5


def test_before_a_driver_has_told_anything_there_is_nothing_to_bring_to_rest(case: Case) -> None:
    assert case.supervisor.rest(lambda _: None) == 0
    assert case.driver.grants == []
