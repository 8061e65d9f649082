"""The Spark that waits: started once, started again when it was lost, and not at once where it can't be."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

from spillway.model.errors import TerminalError
from spillway.model.observation import StandbyState
from spillway.runtime.batch.jvm import Usage
from spillway.runtime.batch.ranges import Order, Range, Result
from spillway.runtime.driver import standby as room
from spillway.runtime.driver.standby import NONE_GRANTED, Resizable, Runner, Standby


class Fake:
    """There can only be one at a time."""

    alive = 0
    usage = Usage(2, 10**6, 1.5)
    executors: int | None = None

    def __init__(self, count: int) -> None:
        self.sizes = [count]
        assert not Fake.alive
        Fake.alive = 1

    def run(self, _: Order, __: Sequence[Range]) -> list[Result]:
        return []

    def resize(self, count: int) -> None:
        self.sizes.append(count)

    def close(self) -> None:
        time.sleep(0.05)
        Fake.alive = 0


def _warm(standby: Standby) -> Runner:
    _until(lambda: standby.told.state is StandbyState.WARM)
    runner = standby.runner
    assert runner is not None
    return runner


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_it_is_started_when_it_is_wanted_and_only_once() -> None:
    standby = Standby(Fake)
    assert standby.told.state is StandbyState.OFF
    standby.want()
    standby.want()
    runner = _warm(standby)
    standby.want()
    assert standby.runner is runner
    standby.measure()
    assert standby.told.memory == 10**6
    standby.close()
    assert not Fake.alive


def test_one_that_was_lost_is_ended_before_another_one_starts() -> None:
    standby = Standby(Fake)
    standby.want()
    first = _warm(standby)
    standby.lost(first, "its Java process has ended")
    assert standby.runner is None
    assert standby.told.problem == "its Java process has ended"
    standby.want()
    second = _warm(standby)
    assert second is not first
    standby.lost(first, "told twice")  # by everybody who waited for it
    assert standby.runner is second
    standby.close()


def test_what_can_not_be_started_says_why_and_is_left_alone_for_a_while() -> None:
    tries = []

    def start(_: int) -> Resizable:
        tries.append(1)
        message = "no Java"
        raise TerminalError(message)

    standby = Standby(start)
    standby.want()
    _until(lambda: standby.told.state is StandbyState.FAILED)
    standby.want()
    assert (standby.told.problem, len(tries)) == ("no Java", 1)


def test_without_anything_to_start_there_is_none() -> None:
    standby = Standby(None)
    standby.want()
    assert standby.told.state is StandbyState.OFF
    standby.close()


def test_one_that_nobody_wants_any_more_is_ended_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    standby = Standby(Fake)
    standby.want()
    first = _warm(standby)
    standby.spare()
    assert standby.runner is first  # bursts come in groups
    monkeypatch.setattr(room, "SPARE", 0.0)
    standby.spare()
    assert standby.runner is None
    standby.want()  # while it is being ended: the next one waits for that
    _until(lambda: standby.told.state is StandbyState.OFF)
    standby.want()
    assert _warm(standby) is not first
    standby.close()


class Far(Fake):
    """Has executors, which are there at once."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.executors = count

    def resize(self, count: int) -> None:
        super().resize(count)
        self.executors = count


def _far(standby: Standby) -> Far:
    runner = _warm(standby)
    assert isinstance(runner, Far)
    return runner


def _measured(standby: Standby, executors: int) -> None:
    """Looked at until it has so many."""
    for _ in range(100):
        standby.measure()
        if standby.executors == executors:
            return
        time.sleep(0.05)
    pytest.fail(f"{standby.executors} executors, wanted were {executors}")


def test_it_begins_with_as_many_executors_as_are_granted_and_follows_the_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MEASURE", 0.0)
    standby = Standby(Far, executors=True)
    assert standby.executors == 0
    standby.grant(2)
    standby.want()
    runner = _far(standby)
    for count in (4, 1):
        standby.grant(count)
        _measured(standby, count)
    assert runner.sizes == [2, 4, 1]
    standby.close()


def test_as_long_as_nobody_has_granted_any_it_has_the_least_that_the_job_wants() -> None:
    standby = Standby(Far, executors=True)
    standby.want(3)
    assert _far(standby).sizes == [3]
    standby.close()


def test_without_a_granted_executor_there_is_none_and_it_says_so() -> None:
    standby = Standby(Far, executors=True)
    standby.grant(0)
    standby.want()
    assert (standby.told.state, standby.told.problem) == (StandbyState.OFF, NONE_GRANTED)
    standby.spare()  # a job that keeps none warm is not held up by that: it asks for one when it needs it
    assert standby.told.problem == ""

    standby.grant(1)
    standby.want()
    runner = _far(standby)
    standby.grant(0)
    standby.measure()
    assert (standby.runner, standby.told.problem) == (None, NONE_GRANTED)
    _until(lambda: standby.told.state is StandbyState.OFF)
    assert standby.executors == 0
    standby.grant(1)
    standby.want()
    assert _far(standby) is not runner
    standby.close()


def test_a_resize_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Far, __: int) -> None:
        message = "its Java process is busy"
        raise TerminalError(message)

    monkeypatch.setattr(room, "MEASURE", 0.0)
    standby = Standby(Far, executors=True)
    standby.want()
    runner = _far(standby)
    with monkeypatch.context() as broken:
        broken.setattr(Far, "resize", fails)
        standby.grant(5)
        standby.measure()
        time.sleep(0.05)
        assert standby.runner is runner
    _measured(standby, 5)
    standby.close()
