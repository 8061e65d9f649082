"""Moves of partitions, told together."""

from __future__ import annotations

from spillway.cli.story import moves, narrator
from spillway.model.observation import Move, MoveKind


def move(at: float, partition: str, target: str = "batch", kind: MoveKind = MoveKind.SWITCH, reason: str = "b") -> Move:
    source = "w0.0" if target == "batch" else "batch"
    return Move(at, kind, partition, source, target, 10.0 * at, reason)


def test_partitions_of_one_switch_are_one_move_with_the_longest_pause() -> None:
    log = moves.Log()
    for _ in range(3):  # a driver tells them again and again
        log.heard([move(1.0, "words/0"), move(1.3, "words/1"), move(1.6, "words/2")])

    (group,) = log.groups()
    told = group.told({"words": ("words", "real-words")})

    assert told["partitions"] == 3
    assert (told["from"], told["to"], told["pause_ms_max"]) == ("record", "batch", 16.0)
    assert told["operators"] == ["words", "real-words"]


def test_there_and_back_are_two() -> None:
    found = moves.grouped([move(1.0, "words/0"), move(1.5, "words/0", "w0.0", reason="calm")])

    assert [group.ways for group in found] == [("record", "batch"), ("batch", "record")]


def test_the_same_again_later_is_another_one() -> None:
    assert len(moves.grouped([move(1.0, "words/0"), move(9.0, "words/0")])) == 2


def test_a_resize_in_between_does_not_part_a_switch() -> None:
    found = moves.grouped([move(1.0, "words/0"), move(1.1, "counts/0", "w1.0", MoveKind.RESIZE), move(1.2, "words/1")])

    assert [(group.kind, len(group.moves)) for group in found] == [(MoveKind.SWITCH, 2), (MoveKind.RESIZE, 1)]


def test_the_beginning_and_the_end_of_a_run_are_no_news() -> None:
    log = moves.Log()
    log.heard([move(1.0, "words/0", "w0.0", MoveKind.START), move(2.0, "words/0", "w0.0", MoveKind.REST)])

    assert log.groups() == []


def test_what_may_go_on_is_told_later() -> None:
    log = moves.Log()
    log.heard([move(1.0, "words/0")])

    assert log.groups(now=1.5) == []
    assert len(log.groups(now=10.0)) == 1


def test_a_switch_is_told_with_its_pause() -> None:
    (group,) = moves.grouped([move(1.0, "words/0"), move(1.3, "words/1")])

    assert narrator.moved(group) == ("switch to batches: 2 partitions of words, longest pause 13 ms", "cyan", "b")
