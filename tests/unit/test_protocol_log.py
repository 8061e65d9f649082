"""What the control log says: which messages count, and what they change."""

from __future__ import annotations

import pytest

from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.messages import (
    Assign,
    Cancel,
    Done,
    Fenced,
    Intent,
    Join,
    Lead,
    Plan,
    Prepare,
    Prepared,
    Release,
    Released,
    Segment,
)
from spillway.controllers.protocol.values import ENGINE, Owner, Partition, ProtocolError, Range
from spillway.model.operators import Paradigm


def _plan(number: int, *programs: str) -> Plan:
    segments = (Segment(name, ("s",), name, Paradigm.RECORD, 1, 1) for name in programs)
    return Plan(1, number, "{}", 8, tuple(segments))


P, Q = Partition("s", 0), Partition("s", 1)
W0, W1, BATCH = Owner("w0", 1), Owner("w1", 1), Owner(ENGINE, 1)
LED = log.folded([Join("w0", "a"), Join("w1", "b"), Lead(1, "d1")])
OWNED = log.folded([Assign(1, P, 1, W0, "A", 0, takeover=True), Assign(1, Q, 1, BATCH, "A", 0, takeover=True)], LED)
PREPARED = log.folded([Prepare(1, P, 2, W1, "B"), Prepared(P, 2, W1)], OWNED)
ASKED = log.folded([Release(1, P, 2)], PREPARED)
CUT = log.folded([Released(P, 2, W0, 7)], ASKED)
OPEN = log.folded([Intent(1, 1, BATCH, "A", (Range(Q, 0, 5),), combined=True)], OWNED)


@pytest.mark.parametrize(
    ("before", "message"),
    {
        "a higher leader": (LED, Lead(2, "d2")),
        "a plan": (LED, _plan(1)),
        "the end of a life": (OWNED, Fenced(1, W0)),
        "another life of a slot": (LED, Join("w0", "c")),
        "a takeover by a higher epoch": (ASKED, Assign(1, P, 3, W1, "A", 0, takeover=True)),
        "a try to move with a higher epoch": (OWNED, Prepare(1, P, 5, W1, "A")),
        "a heir that can't": (log.folded([Prepare(1, P, 2, W1, "B")], OWNED), Prepared(P, 2, W1, "no")),
        "an owner that was asked to release": (ASKED, Released(P, 2, W0, 7)),
        "a way back before the cut": (ASKED, Cancel(1, P, 2, "Unwanted")),
        "the heir at the cut": (CUT, Assign(1, P, 2, W1, "B", 7, takeover=False)),
        "another heir at the cut": (CUT, Assign(1, P, 2, BATCH, "C", 7, takeover=False)),
        "an intent of who has the partition": (OWNED, Intent(1, 1, BATCH, "A", (Range(Q, 0, 5),), combined=True)),
        "an intent that is done": (OPEN, Done(1, 1)),
        "an engine for an open intent": (OPEN, Assign(1, Q, 2, Owner(ENGINE, 2), "A", 0, takeover=True)),
    }.values(),
)
def test_it_counts(before: log.State, message: messages.Any) -> None:
    after, counted = log.read(before, message)

    assert counted
    assert after != before


@pytest.mark.parametrize(
    ("before", "message"),
    {
        "a second leader of the same number": (LED, Lead(1, "d2")),
        "what a lower leader writes": (log.folded([Lead(2, "d2")], ASKED), Cancel(1, P, 2, "Unwanted")),
        "the end of an earlier life": (log.folded([Join("w0", "c")], OWNED), Fenced(1, W0)),
        "the end of an engine, which ends with its leader": (OWNED, Fenced(1, BATCH)),
        "an older plan": (log.folded([_plan(2)], LED), _plan(2)),
        "a takeover that somebody was faster with": (OWNED, Assign(1, P, 1, W1, "A", 0, takeover=True)),
        "a move of what nobody has": (LED, Prepare(1, P, 1, W1, "A")),
        "a second try while one is under way": (PREPARED, Prepare(1, P, 3, W0, "B")),
        "a try under an epoch that was named before": (
            log.folded([Cancel(1, P, 2, "Unwanted")], PREPARED), Prepare(1, P, 2, W1, "B"),
        ),
        "an heir of another try": (PREPARED, Prepared(P, 1, W1)),
        "somebody else's readiness": (PREPARED, Prepared(P, 2, W0)),
        "a release that nobody asked for": (PREPARED, Released(P, 2, W0, 7)),
        "a release by somebody else": (ASKED, Released(P, 2, W1, 7)),
        "a release that was cancelled": (log.folded([Cancel(1, P, 2, "ReleaseLate")], ASKED), Released(P, 2, W0, 7)),
        "a way back behind the cut": (CUT, Cancel(1, P, 2, "ReleaseLate")),
        "an heir before the cut": (ASKED, Assign(1, P, 2, W1, "B", 7, takeover=False)),
        "an heir beside the cut": (CUT, Assign(1, P, 2, W1, "B", 8, takeover=False)),
        "an intent on what it doesn't have": (OWNED, Intent(1, 1, BATCH, "A", (Range(P, 0, 5),), combined=True)),
        "an intent of another program": (OWNED, Intent(1, 1, BATCH, "B", (Range(Q, 0, 5),), combined=True)),
        "an intent with an old number": (OPEN, Intent(1, 1, BATCH, "A", (Range(Q, 5, 6),), combined=True)),
        "an intent beside an open one": (OPEN, Intent(1, 2, BATCH, "A", (Range(Q, 5, 6),), combined=True)),
        "a slot for an open intent": (OPEN, Assign(1, Q, 2, W0, "A", 0, takeover=True)),
        "the end of what isn't open": (OWNED, Done(1, 1)),
        "a snapshot": (CUT, log.snapshot(OWNED, 5)),
    }.values(),
)  # fmt: skip
def test_it_changes_nothing(before: log.State, message: messages.Any) -> None:
    after, counted = log.read(before, message)

    assert not counted
    assert after == before


def test_nobody_owns_a_partition_between_the_cut_and_the_next_owner() -> None:
    assert [state.owner(P) for state in (LED, OWNED, ASKED, CUT)] == [None, W0, W0, None]


def test_each_process_of_a_slot_is_another_life() -> None:
    assert log.folded([Join("w0", "c")], LED).living("w0") == Owner("w0", 2)


def test_a_slot_has_no_life_between_its_fence_and_its_next_process() -> None:
    fenced = log.folded([Fenced(1, W0)], LED)

    assert (fenced.living("w0"), log.folded([Join("w0", "c")], fenced).living("w0")) == (None, Owner("w0", 2))


def test_the_engine_lives_as_long_as_its_driver_leads() -> None:
    assert [state.living(ENGINE) for state in (log.State(), LED, log.folded([Lead(2, "d2")], LED))] == [
        None,
        Owner(ENGINE, 1),
        Owner(ENGINE, 2),
    ]


def test_a_partition_rests_until_it_is_assigned_from_its_cut() -> None:
    asked = log.folded([Prepare(1, P, 2, None, "A"), Release(1, P, 2), Released(P, 2, W0, 7)], OWNED)
    woken = log.folded([Assign(1, P, 2, W1, "A", 7, takeover=False)], asked)

    assert (asked.owner(P), woken.owner(P)) == (None, W1)


def test_a_snapshot_without_what_follows_it_is_refused() -> None:
    snapshot = log.snapshot(OWNED, 5)

    with pytest.raises(ProtocolError, match="begins at offset 7"):
        log.restored([(7, snapshot)])


def test_a_plan_stays_as_long_as_somebody_has_a_program_of_it() -> None:
    state = log.folded([_plan(1, "A", "B"), _plan(2, "C"), _plan(3, "C", "D")], OWNED)
    moved = log.folded([Prepare(1, P, 2, W1, "C"), Prepare(1, Q, 2, W1, "C")], state)
    moved = log.folded([Assign(1, P, 3, W1, "C", 0, takeover=True), Assign(1, Q, 3, W1, "C", 0, takeover=True)], moved)

    assert sorted(state.plans) == [1, 3]
    assert state.plan == _plan(3, "C", "D")
    assert state.plan_of("A") == _plan(1, "A", "B")
    assert sorted(log.folded([_plan(4, "C")], moved).plans) == [4]
    assert log.restored([(9, log.snapshot(state, 9))]) == state
