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
from spillway.runtime.driver.standby import Runner, Standby


class Fake:
    """There can only be one at a time."""

    alive = 0
    usage = Usage(2, 10**6, 1.5)

    def __init__(self) -> None:
        assert not Fake.alive
        Fake.alive = 1

    def run(self, _: Order, __: Sequence[Range]) -> list[Result]:
        return []

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

    def start() -> Runner:
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
