"""What the batch engine knows of what slots have done ahead, and which partitions it takes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spillway.controllers import ahead
from spillway.controllers.protocol.owner import Work
from spillway.controllers.protocol.values import Partition
from spillway.runtime.driver.aheads import Aheads, Done
from spillway.runtime.driver.turns import Turns

A, B, C = Partition("words", 0), Partition("words", 1), Partition("other", 0)


class _Hands:
    """Does nothing before it is told to."""

    def __init__(self) -> None:
        self.given: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def do(self, what: Callable[[], Any], then: Callable[[Any], None]) -> None:
        self.given.append((what, then))

    def work(self) -> None:
        for what, then in self.given:
            then(what())
        self.given.clear()


class _Broker:
    """What is committed."""

    def __init__(self, **_: object) -> None:
        self.asked: list[tuple[Partition, ...]] = []
        self.has: dict[Partition, Done] = {A: ((20, 30), (40, 50))}

    def ask(self, places: tuple[Partition, ...]) -> dict[Partition, Done]:
        self.asked.append(places)
        return self.has


def _aheads() -> tuple[Aheads, _Hands, _Broker]:
    hands, broker = _Hands(), _Broker()
    return Aheads(hands, broker.ask), hands, broker  # type: ignore[arg-type]


def test_it_asks_once_for_all_new_partitions_of_a_segment() -> None:
    aheads, hands, broker = _aheads()
    for place in (A, B, C, A):
        aheads.begin(place, 7)
    aheads.look()
    assert aheads.busy
    assert not aheads.has(A, 7)
    hands.work()

    assert sorted(broker.asked) == [(C,), (A, B)]
    assert not aheads.busy
    assert aheads.has(A, 7)
    assert aheads.has(B, 7)
    aheads.begin(A, 7)
    aheads.look()
    assert not hands.given


def test_of_a_range_it_leaves_out_what_is_done_and_commits_the_rest_of_it() -> None:
    aheads, hands, _ = _aheads()
    aheads.begin(A, 7)
    aheads.look()
    hands.work()

    assert aheads.within(A, 10, 25) == ((20, 25),)
    assert aheads.within(A, 45, 60) == ((45, 50),)
    assert aheads.within(B, 0, 99) == ()
    assert ahead.read(25, aheads.note(A, 25)) == ((25, 30), (40, 50))  # the range ended within what is done
    assert aheads.note(A, 50) == ""


def test_an_answer_for_an_epoch_that_is_over_counts_for_nothing() -> None:
    aheads, hands, broker = _aheads()
    aheads.begin(A, 7)
    aheads.look()
    aheads.drop(A)
    aheads.begin(A, 9)
    hands.work()
    assert not aheads.has(A, 9)

    broker.has = {A: ((1, 2),)}
    aheads.look()
    hands.work()
    assert aheads.has(A, 9)
    assert aheads.within(A, 0, 9) == ((1, 2),)


def test_one_that_has_to_be_released_waits_for_nobody() -> None:
    turns = Turns(None)  # type: ignore[arg-type]
    works = {A: Work(A, 1, "p", 10, 10, 10), B: Work(B, 1, "p", 10, 10, 10, leaving=3), C: Work(C, 1, "p", 10, 10, 10)}

    assert turns.first(works, {A: 20, B: 20, C: 20}, {A: True, B: False, C: False}) == {A, B}
    assert turns.heads(works.values(), [(A, "t"), (B, "t")]) == {}  # in order, so nobody is asked
