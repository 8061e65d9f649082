"""What a driver tells of moves, which ones take too long, and when those that failed are tried again."""

from __future__ import annotations

from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.messages import Assign, Cancel, Join, Lead, Prepare, Prepared, Release, Released
from spillway.controllers.protocol.values import ENGINE, Owner, Partition
from spillway.model.observation import Move, MoveKind
from spillway.runtime.driver import retries, waits
from spillway.runtime.driver.journal import Journal
from spillway.runtime.driver.retries import Retries
from spillway.runtime.driver.waits import Waits

P = Partition("counts", 3)
A, B = Owner("w0.0", 1), Owner("w1.0", 1)
BEGUN = (Lead(1, "d"), Join("w0.0", "a"), Join("w1.0", "b"), Assign(1, P, 1, A, "x", 0, takeover=True))


def _told(*said: messages.Any) -> list[Move]:
    """The moves after all these, one second after the other."""
    journal, state = Journal(), log.State()
    for at, message in enumerate(said):
        before = state
        state, counts = log.read(state, message)
        if counts:
            journal.read(before, message, float(at), {P: "because of the load"}, {P.segment: "because of a burst"})
    return list(journal.moves)


def test_who_gets_what_nobody_had_starts_it() -> None:
    assert _told(*BEGUN) == [
        Move(3.0, MoveKind.START, "counts/3", None, "w0.0", None, "because of the load"),
    ]


def test_a_move_pauses_from_the_release_to_the_assignment() -> None:
    steps = (Prepare(1, P, 2, B, "x"), Prepared(P, 2, B), Release(1, P, 2), Released(P, 2, A, 9))
    move = _told(*BEGUN, *steps, Assign(1, P, 2, B, "x", 9, takeover=False))[-1]
    assert (move.kind, move.source, move.target, move.pause_ms) == (MoveKind.RESIZE, "w0.0", "w1.0", 2000.0)
    assert move.prepare_ms == 2000.0  # from `Prepare` to `Release`
    assert move.reason == "because of the load"


def test_a_move_to_batches_or_back_is_a_switch() -> None:
    engine = Owner(ENGINE, 1)
    there = (Prepare(1, P, 2, engine, "x"), Prepared(P, 2, engine), Release(1, P, 2), Released(P, 2, A, 9))
    back = (Prepare(1, P, 3, B, "x"), Prepared(P, 3, B), Release(1, P, 3), Released(P, 3, engine, 12))
    moves = _told(
        *BEGUN,
        *there,
        Assign(1, P, 2, engine, "x", 9, takeover=False),
        *back,
        Assign(1, P, 3, B, "x", 12, takeover=False),
    )
    assert [(move.kind, move.source, move.target) for move in moves[-2:]] == [
        (MoveKind.SWITCH, "w0.0", "batch"),
        (MoveKind.SWITCH, "batch", "w1.0"),
    ]
    assert {move.reason for move in moves[-2:]} == {"because of a burst"}  # not why it got its slot, long ago


def test_another_program_is_told_as_such_also_after_a_rest() -> None:
    rested = (Prepare(1, P, 2, None, "x"), Release(1, P, 2), Released(P, 2, A, 9))
    woken, again = (Assign(1, P, 2, B, program, 9, takeover=False) for program in ("x", "y"))
    assert [move.kind for move in _told(*BEGUN, *rested, woken)[-2:]] == [MoveKind.REST, MoveKind.START]
    changed = _told(*BEGUN, *rested, again)[-1]
    assert (changed.kind, changed.pause_ms) == (MoveKind.PROGRAM, 2000.0)


def test_a_takeover_pauses_from_when_the_owner_was_found_to_be_lost() -> None:
    journal, state = Journal(), log.folded(BEGUN)
    journal.lost(P, 10.0, silent=True)
    journal.lost(P, 11.0, silent=False)  # it is lost still, and for the reason for which it was given up
    journal.read(state, Assign(1, P, 2, B, "x", 0, takeover=True), 10.5)
    assert journal.moves[-1].kind is MoveKind.TAKEOVER
    assert journal.moves[-1].pause_ms == 500.0
    assert journal.moves[-1].reason == "its owner was lost: nothing was heard of it for 3 s"
    assert journal.counts == {MoveKind.TAKEOVER: 1}


def test_a_takeover_tells_why_the_owner_was_lost_where_it_said_so() -> None:
    heir = Owner(A.slot, 2)
    begun_anew = (Join(A.slot, "c", "a commit came to nothing"), Assign(1, P, 2, heir, "x", 0, takeover=True))
    assert _told(*BEGUN, *begun_anew)[-1].reason == "its owner was lost: a commit came to nothing"
    killed = (Join(A.slot, "d"), Assign(1, P, 3, Owner(A.slot, 3), "x", 0, takeover=True))
    assert _told(*BEGUN, *begun_anew, *killed)[-1].reason == "its owner was lost"


def test_why_an_owner_was_lost_is_told_of_that_takeover_and_of_no_later_one() -> None:
    journal, state = Journal(), log.folded(BEGUN)
    journal.lost(P, 10.0, silent=True)
    taken = Assign(1, P, 2, B, "x", 0, takeover=True)
    journal.read(state, taken, 10.5)
    state = log.folded([taken], state)
    journal.read(state, Join(B.slot, "c", "a commit came to nothing"), 11.0)
    journal.read(state, Assign(1, P, 3, Owner(B.slot, 2), "x", 0, takeover=True), 11.5)

    assert [move.reason for move in journal.moves] == [
        "its owner was lost: nothing was heard of it for 3 s",
        "its owner was lost: a commit came to nothing",
    ]


def test_a_release_that_was_taken_back_is_no_pause() -> None:
    steps = (Prepare(1, P, 2, B, "x"), Prepared(P, 2, B), Release(1, P, 2), Cancel(1, P, 2, "Unwanted"))
    move = _told(*BEGUN, *steps, Assign(1, P, 3, B, "x", 0, takeover=True))[-1]
    assert move.pause_ms is None
    assert move.prepare_ms is None


def test_an_heir_and_a_release_that_take_too_long_are_told() -> None:
    waiting, state = Waits(), log.folded((*BEGUN, Prepare(1, P, 2, B, "x")))
    assert not list(waiting.late(state, 0))
    assert not list(waiting.late(state, waits.HEIR_LATE - 1))
    assert list(waiting.late(state, waits.HEIR_LATE)) == [(P, 2)]
    state = log.folded((Prepared(P, 2, B), Release(1, P, 2)), state)
    assert not list(waiting.late(state, waits.HEIR_LATE))  # another step
    assert list(waiting.late(state, waits.HEIR_LATE + waits.RELEASE_LATE)) == [(P, 2)]
    state = log.folded((Released(P, 2, A, 9),), state)
    assert not list(waiting.late(state, 1000))  # the assignment is nobody's fault


def test_a_move_that_failed_is_left_alone_for_longer_each_time() -> None:
    failed, now = Retries(), 0.0
    assert not failed.waiting({P}, now)
    for times in range(6):
        failed.failed(P, "no module named x", now)
        pause = min(retries.LONGEST, retries.FIRST * 2**times)
        assert failed.waiting({P}, now + pause - 0.1) == {P}
        now += pause
        assert not failed.waiting({P}, now)
    assert failed.reasons() == {P: "no module named x"}
    failed.moved(P)
    assert not failed.reasons()
