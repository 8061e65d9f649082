"""What the batch engine knows of who writes to its edges belongs to an epoch, and grows with what was stored alone."""

from __future__ import annotations

import queue

import msgspec
import pytest

from spillway.controllers.protocol import reader
from spillway.controllers.protocol.values import Partition
from spillway.runtime.commits import Change
from spillway.runtime.driver.origins import Ahead, Asked, Origins, Restored
from spillway.runtime.task import ORIGINS

P, Q = Partition("words", 0), Partition("words", 1)
LEFT, RIGHT = Partition("short<lines", 0), Partition("long<lines", 3)


class Answers:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.results: queue.SimpleQueue[Ahead | Restored | BaseException] = queue.SimpleQueue()
        self.asked: list[Asked] = []

    def ask(self, asked: Asked) -> None:
        self.asked.append(asked)

    def close(self) -> None:
        pass


def row(origin: Partition, upto: int, side: int = 0) -> tuple[bytes, bytes]:
    seen = reader.Seen(1, "p", reader.Position(upto, 0))
    return ORIGINS + msgspec.msgpack.encode((side, origin)), msgspec.msgpack.encode(seen)


def begun() -> tuple[Origins, Answers]:
    answers = Answers()
    origins = Origins(answers)
    origins.begin(P, 5)
    return origins, answers


def test_nothing_is_known_before_it_is_restored_and_only_under_the_epoch_that_it_was_restored_for() -> None:
    origins, answers = begun()
    assert not origins.has(P, 5)
    answers.results.put(Restored(P, 5, dict([row(LEFT, 7)])))
    assert origins.ahead() == []
    assert origins.has(P, 5)
    assert origins.of(P) == (row(LEFT, 7),)
    assert not origins.has(P, 6)
    assert not origins.has(Q, 5)


def test_an_answer_for_an_older_epoch_comes_too_late() -> None:
    origins, answers = begun()
    origins.begin(P, 7)
    answers.results.put(Restored(P, 5, dict([row(LEFT, 7)])))
    origins.ahead()
    assert not origins.has(P, 5)
    assert not origins.has(P, 7)


def test_who_goes_on_under_the_same_epoch_reads_nothing_again() -> None:
    origins, answers = begun()
    origins.begin(P, 5)
    answers.results.put(Restored(P, 5, {}))
    origins.ahead()
    origins.begin(P, 5)
    assert answers.asked == [Asked("begin", P, 5)]
    origins.begin(P, 6)
    assert answers.asked[1:] == [Asked("begin", P, 6)]
    assert not origins.has(P, 5)
    assert origins.of(P) == ()


def test_what_was_stored_is_known_from_then_on() -> None:
    origins, answers = begun()
    answers.results.put(Restored(P, 5, dict([row(LEFT, 7), row(RIGHT, 1)])))
    origins.ahead()
    origins.stored("words", [Change("state.words", 0, *row(LEFT, 9)), Change("state.words", 1, *row(RIGHT, 8))])
    assert dict(origins.of(P)) == dict([row(LEFT, 9), row(RIGHT, 1)])


def test_what_somebody_else_has_now_is_forgotten_also_while_it_is_read() -> None:
    origins, answers = begun()
    origins.drop(P)
    assert answers.asked[1:] == [Asked("forget", P, 5)]
    answers.results.put(Restored(P, 5, {}))
    origins.ahead()
    assert not origins.has(P, 5)
    assert origins.of(P) == ()


def test_what_was_read_ahead_is_told_once_and_what_cannot_be_read_is_raised() -> None:
    origins, answers = begun()
    answers.results.put(Ahead(Q, 4))
    assert origins.ahead() == [Ahead(Q, 4)]
    assert origins.ahead() == []
    answers.results.put(RuntimeError("gone"))
    with pytest.raises(RuntimeError, match="gone"):
        origins.ahead()


def test_of_both_sides_the_least_says_what_may_be_trimmed() -> None:
    origins, answers = begun()
    answers.results.put(Restored(P, 5, dict([row(LEFT, 7), row(LEFT, 3, side=1)])))
    origins.ahead()
    assert {origin: seen.upto.offset for origin, seen in origins.seen(P).items()} == {LEFT: 3}
    assert origins.seen(Q) == {}
