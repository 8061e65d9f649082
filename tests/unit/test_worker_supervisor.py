"""Slots are kept running, whatever ends them, and whoever comes next is told what its predecessor was at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acted_slots
import programs
from spillway.model.streamjob import Metadata, StreamJob
from spillway.runtime.slots.settings import Settings
from spillway.runtime.worker import readiness
from spillway.runtime.worker.supervisor import End, Supervisor
from spillway.runtime.worker.totals import Totals

Start = Callable[..., Supervisor]
SERVE = [["serve"]]


@pytest.fixture
def job() -> StreamJob:
    return StreamJob(
        api_version="spillway.dev/v1alpha1",
        kind="StreamJob",
        metadata=Metadata(name="grep"),
        spec=programs.example("grep"),
    )


@pytest.fixture
def begin(tmp_path: Path, job: StreamJob) -> Iterator[Start]:
    """A supervisor of slots that play these scripts."""
    made: list[Supervisor] = []

    def start(*scripts: list[list[list[Any]]], **limits: float) -> Supervisor:
        names = [f"w0.{number}" for number in range(len(scripts))]
        for name, script in zip(names, scripts, strict=True):
            acted_slots.write(tmp_path, name, *script)
        supervisor = Supervisor(acted_slots.run, Settings(job, "", tmp_path), names, Totals().take, **limits)
        made.append(supervisor)
        return supervisor

    yield start
    for supervisor in made:
        supervisor.stop(lambda: 2, 0)


def until(supervisor: Supervisor, done: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it took too long"
        supervisor.step()


def ready(supervisor: Supervisor) -> bool:
    return not readiness.missing(supervisor.seats, time.monotonic())


def test_a_slot_that_crashes_twice_in_a_row_waits(begin: Start) -> None:
    supervisor = begin([[["exit", 3]]])
    (seat,) = supervisor.seats

    until(supervisor, lambda: seat.ends[End.EXIT] == 2)

    assert seat.life is None
    assert seat.due > time.monotonic()


def test_a_slot_that_dies_is_started_again_and_told_what_the_last_process_was_at(begin: Start, tmp_path: Path) -> None:
    def dies(number: int, *last: list[Any]) -> list[list[list[Any]]]:
        return [[["join"], ["note", "counts", number, 10, 20], *last], SERVE]

    supervisor = begin(dies(0, ["fault"]), dies(1, ["exit", 0]), dies(2, ["clear"], ["kill"]), [SERVE])
    *dead, well = supervisor.seats

    until(supervisor, lambda: all(seat.ends for seat in dead) and ready(supervisor))

    assert [next(iter(seat.ends)) for seat in dead] == [End.SIGNAL, End.EXIT, End.SIGNAL]
    first, second = zip(*(acted_slots.lives(tmp_path, seat.name) for seat in dead), strict=True)
    assert [life["suspects"] for life in first] == [[]] * 3
    assert [["counts", i, 10, 20] in life["suspects"] for i, life in enumerate(second)] == [True, True, False]
    assert len(acted_slots.lives(tmp_path, well.name)) == 1  # it went on


def test_a_slot_that_hangs_says_where_it_is_and_is_killed(
    begin: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def hangs(number: int, *ways: list[Any]) -> list[list[list[Any]]]:
        return [[["note", "called", number, 0, 3], *ways], SERVE]

    scripts = hangs(0, ["backtrack"]), hangs(1, ["join"], ["half"]), hangs(2, ["join"], ["wait"])
    supervisor = begin(*scripts, held=1.2, silent=3)
    *hung, waiting = supervisor.seats

    until(supervisor, lambda: all(len(acted_slots.lives(tmp_path, seat.name)) > 1 for seat in hung))

    until(supervisor, lambda: bool(waiting.ends))

    assert all(seat.ends[End.HANG] for seat in supervisor.seats)
    assert all(["called", i, 0, 3] in acted_slots.lives(tmp_path, f"w0.{i}")[1]["suspects"] for i in range(2))
    said = {
        log.getMessage().split()[0]: log.getMessage() for log in caplog.records if "hangs: Stack" in log.getMessage()
    }
    assert all(f"in {where}" in said[f"w0.{i}"] for i, where in enumerate(("backtracks", "do_half", "do_wait")))
    assert "w0.2 tells nothing" in caplog.text


def test_a_slot_that_waits_before_it_has_joined_is_left_alone(begin: Start, caplog: pytest.LogCaptureFixture) -> None:
    supervisor = begin([[["wait"]]], held=1.2, silent=0.3)

    until(supervisor, lambda: "w0.0 has not joined yet" in caplog.text)
    for _ in range(8):
        supervisor.step()

    assert not supervisor.seats[0].ends


def test_slots_end_in_order_or_are_killed_after_the_grace_period(begin: Start) -> None:
    supervisor = begin([SERVE], [[["linger"]]])
    until(supervisor, lambda: ready(supervisor))
    lives = [seat.life for seat in supervisor.seats]
    started = time.monotonic()

    assert not supervisor.stop(lambda: 1, grace=2)

    assert [life and life.code for life in lives] == [0, -9]
    assert 2 <= time.monotonic() - started < 10


def test_no_slot_is_left_when_the_supervisor_itself_fails(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = begin([SERVE])
    supervisor.step()
    monkeypatch.setattr(supervisor, "step", lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        supervisor.run(lambda: 0, grace=10)

    life = supervisor.seats[0].life
    assert life is not None
    assert life.code == -9


def test_it_is_ready_once_every_slot_works_on_all_of_its_partitions(begin: Start) -> None:
    supervisor = begin([SERVE], [[["restore"], ["hang"]]])
    assert readiness.missing(supervisor.seats, time.monotonic()) == ["w0.0 is not running", "w0.1 is not running"]

    supervisor.step()
    joining = {"w0.0 has not joined yet", "w0.1 has not joined yet"}
    restoring = "w0.1 does not work on 2 of its 2 partitions yet"
    assert {restoring, *joining}.issuperset(readiness.missing(supervisor.seats, time.monotonic()))

    until(supervisor, lambda: all(seat.life and seat.life.report for seat in supervisor.seats))
    now = time.monotonic()
    assert readiness.missing(supervisor.seats, now) == ["w0.1 does not work on 2 of its 2 partitions yet"]
    assert "w0.0 has told nothing for 10 s" in readiness.missing(supervisor.seats, now + 10)
