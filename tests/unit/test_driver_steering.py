"""From decisions to targets: what rests, what stays where it is, and how much may move at once."""

from __future__ import annotations

import pytest

from spillway.controllers.assignment import Assignment, Move, MoveReason
from spillway.controllers.assignment import Reason as Assigned
from spillway.controllers.balancing import Slot
from spillway.controllers.protocol import knowledge, leader, log
from spillway.controllers.protocol.knowledge import Leader, Target
from spillway.controllers.protocol.messages import Assign, Fenced, Join, Lead
from spillway.controllers.protocol.values import ENGINE, Owner, Partition
from spillway.controllers.rollout import Aim, Reason, Rollout
from spillway.model.execution import Mode
from spillway.model.types import BIGINT, STRING, ColumnType
from spillway.runtime.codecs.values import CodecError
from spillway.runtime.driver import steering, tables
from spillway.runtime.driver.observing import Seen
from spillway.runtime.driver.tables import KeyUnfitError

P, Q = Partition("words", 0), Partition("words", 1)
A, B = Owner("w0.0", 1), Owner("w1.0", 1)
HERE, THERE = Slot(0, 0), Slot(1, 0)


def _leader(*said: object) -> Leader:
    begun = (Lead(1, "d"), Join(A.slot, "a"), Join(B.slot, "b"), Assign(1, P, 1, A, "x", 0, takeover=True))
    me, _ = leader.lead(Leader("d", 9, log.State()))
    for message in (*begun, *said):
        me, _ = knowledge.read(me, message)  # type: ignore[arg-type]
    return me


def test_slots_beyond_the_grant_and_those_that_leave_drain() -> None:
    me = _leader()
    assert [one.draining for one in steering.owners(me, (), (), None)] == [False, False]
    assert [one.draining for one in steering.owners(me, (), (), 1)] == [False, True]
    assert [one.draining for one in steering.owners(me, (), {A}, None)] == [True, False]


def test_slots_that_are_silent_fenced_or_not_named_as_slots_own_nothing() -> None:
    me = _leader(Fenced(1, B), Join("someone", "c"))
    assert [one.slot for one in steering.owners(me, (), (), None)] == [HERE]
    assert not steering.owners(me, {A}, (), None)


def test_a_move_that_was_decided_counts_as_done_unless_it_fails() -> None:
    me = knowledge.want(_leader(), {P: Target(B.slot, "x")})
    assert steering.current(me, {HERE, THERE}) == {P: THERE}
    assert steering.current(me, {HERE}) == {P: HERE}  # its heir is gone


def test_what_shall_rest_has_no_slot_and_what_has_none_stays() -> None:
    aims = {P: Aim("x", runs=True), Q: Aim("y", runs=False)}
    change = Rollout(Reason.DONE, "", aims, frozenset(), ())
    found = steering.targets(change, {P: THERE}, _nowhere, lambda _: False)
    assert found == {P: Target("w1.0", "x"), Q: Target(None, "y")}
    assert steering.targets(change, {}, _nowhere, lambda _: False) == {Q: Target(None, "y")}
    assert steering.targets(change, {P: THERE}, _nowhere, lambda _: True) == {
        P: Target(None, "x"),
        Q: Target(None, "y"),
    }


@pytest.mark.parametrize(("program", "where"), [("x", ENGINE), ("y", "w1.0")])
def test_only_a_program_that_can_goes_to_batches(program: str, where: str) -> None:
    change = Rollout(Reason.ROLLING, "", {P: Aim(program, runs=True)}, frozenset(), ())
    found = steering.targets(change, {P: THERE}, lambda place, one: (place, one) == (P, "x"), lambda _: False)
    assert found == {P: Target(where, program)}


def _nowhere(_: Partition, __: str) -> bool:
    return False


def test_advice_moves_nothing_for_the_balance_alone() -> None:
    moves = (Move(P, HERE, THERE, MoveReason.BALANCE), Move(Q, HERE, THERE, MoveReason.DRAINING))
    decided = Assignment(Assigned.BALANCED, {P: THERE, Q: THERE}, moves, (), 2.0, 1.0, (), ())
    assert steering.owned(decided, Mode.APPLY) == {P: THERE, Q: THERE}
    assert steering.owned(decided, Mode.ADVISE) == {P: HERE, Q: THERE}


@pytest.mark.parametrize(
    ("busy", "stopping", "most"),
    [
        pytest.param(0.0, False, 10, id="idle: all at once"),
        pytest.param(1.0, False, 5, id="half busy: half of them"),
        pytest.param(2.0, False, 1, id="all busy: one at a time"),
        pytest.param(2.0, True, 10, id="stopping: nobody has to carry the load"),
    ],
)
def test_those_that_stay_carry_the_load_of_those_that_move(busy: float, *, stopping: bool, most: int) -> None:
    seen = Seen(0.0, {}, {}, {}, {A: busy / 2, B: busy / 2}, {}, {}, {})
    assert steering.limit(seen, 2, 10, stopping=stopping) == most


WORD = [("word", STRING)]


@pytest.mark.parametrize(
    ("columns", "text", "key"),
    [
        pytest.param(WORD, "the", ("the",), id="plain text"),
        pytest.param(WORD, '{"word": "the"}', ("the",), id="an object"),
        pytest.param([("id", BIGINT)], "7", (7,), id="a number"),
        pytest.param([("a", STRING), ("b", BIGINT)], '{"b": 2, "a": "x", "c": 0}', ("x", 2), id="two columns"),
    ],
)
def test_a_key_is_read_as_its_columns_are(columns: list[tuple[str, ColumnType]], text: str, key: object) -> None:
    assert tables._key(columns, text) == key  # noqa: SLF001 - what finds the partition


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", '{"id": "x"}', "x" * 3000, "1.5"])
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises((KeyUnfitError, CodecError)):
        tables._key([("id", BIGINT)], text)  # noqa: SLF001
