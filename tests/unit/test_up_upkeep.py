"""A process that ends by itself is started again, soon at first, and not for ever at once."""

from __future__ import annotations

from fake_processes import Clock, Started
from spillway.local.upkeep import Kept
from spillway.runtime.worker.restarts import LONGEST, STABLE


def kept() -> tuple[Kept, Started, Clock]:
    started, clock = Started(), Clock()
    process = Kept(started.one, clock)
    process.start()
    return process, started, clock


def test_one_that_runs_is_left_alone() -> None:
    process, started, _ = kept()

    assert process.look() is None
    assert len(started.all) == 1


def test_one_that_ended_is_told_once_and_started_at_the_next_look() -> None:
    process, started, _ = kept()
    started.last().end(3)

    ended = process.look()

    assert ended is not None
    assert (ended.code, ended.again, ended.row) == (3, 0.0, 1)
    assert "ValueError" in ended.tail
    assert process.look() is None
    assert (len(started.all), process.lives) == (2, 2)
    assert process.pid == started.last().pid


def test_pauses_grow_while_it_does_not_stay() -> None:
    process, started, clock = kept()
    pauses = []
    for _ in range(7):
        started.last().end(1)
        ended = process.look()
        assert ended is not None
        pauses.append(ended.again)
        clock.now += max(0.0, ended.again - 0.5)
        if ended.again:
            process.look()
            assert process.pid is None  # not yet
        clock.now += 0.6
        process.look()
        assert process.pid is not None

    assert pauses == [0.0, 1.0, 2.0, 4.0, 8.0, LONGEST, LONGEST]


def test_one_that_worked_for_long_is_started_at_once_again() -> None:
    process, started, clock = kept()
    for _ in range(3):
        started.last().end(1)
        process.look()
        clock.now += 10
        process.look()
    clock.now += STABLE
    started.last().end(1)

    ended = process.look()

    assert ended is not None
    assert (ended.again, ended.row) == (0.0, 1)


def test_one_that_was_asked_to_end_stays_ended() -> None:
    process, started, clock = kept()

    process.ask_to_end()
    clock.now += 100

    assert process.look() is None
    assert process.gone()
    assert len(started.all) == 1
