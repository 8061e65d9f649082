"""Moves are told together, each once."""

from __future__ import annotations

import observations
from spillway.local.moves import LONGEST, QUIET, Moves
from spillway.model.observation import MoveKind


def test_moves_of_one_reason_are_one_event_once_no_more_come() -> None:
    moves = Moves()
    told = [observations.move(number, at=float(number)) for number in range(3)]
    moves.heard(told[:2], 0.0)
    moves.heard(told, 0.5)

    assert moves.due(0.5 + QUIET - 0.01) == []
    (event,) = moves.due(0.5 + QUIET)

    assert event.text == "resize: 3 partitions of words from w0.0 to w1.0, longest pause 14 ms: w1.0 has nothing to do"
    assert event.data["partitions"] == ["words/0", "words/1", "words/2"]
    assert moves.due(100.0) == []


def test_what_was_told_before_is_not_told_again_though_older_ones_fall_out() -> None:
    moves = Moves()
    told = [observations.move(number, at=float(number)) for number in range(5)]
    moves.heard(told[:3], 0.0)
    moves.due(QUIET)
    moves.heard(told[1:4], QUIET)
    moves.heard(told[2:], QUIET)

    (event,) = moves.due(3 * QUIET)

    assert event.data["partitions"] == ["words/3", "words/4"]


def test_long_rows_of_moves_are_told_in_parts() -> None:
    moves = Moves()
    for number in range(20):
        moves.heard([observations.move(number, at=float(number))], number * QUIET / 2)
        if moves.due(number * QUIET / 2):
            break

    assert number * QUIET / 2 == LONGEST


def test_different_reasons_are_different_events() -> None:
    moves = Moves()
    moves.heard([observations.move(0), observations.move(1, kind=MoveKind.TAKEOVER, reason="w0.0 is silent")], 0.0)

    resize, takeover = moves.due(QUIET)

    assert resize.text.startswith("resize: words/0 from w0.0 to w1.0, pause 12 ms")
    assert takeover.text.startswith("takeover: words/1 ")


def test_at_the_end_everything_is_told_at_once() -> None:
    moves = Moves()
    moves.heard([observations.move()], 0.0)

    assert len(moves.due(0.0, all_of_them=True)) == 1
