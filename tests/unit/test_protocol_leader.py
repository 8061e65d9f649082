"""What a driver does next: moves, takeovers, ways back, and what its dead predecessor left half done."""

from __future__ import annotations

import pytest

from spillway.controllers.protocol import knowledge, leader, log, messages
from spillway.controllers.protocol.effects import Append, Fence, ReadCommitted
from spillway.controllers.protocol.knowledge import Leader, Target
from spillway.controllers.protocol.messages import (
    Assign,
    Cancel,
    Done,
    Fenced,
    Intent,
    Join,
    Lead,
    Prepare,
    Prepared,
    Release,
    Released,
)
from spillway.controllers.protocol.reasons import Reason
from spillway.controllers.protocol.values import ENGINE, Owner, Partition, Range

P, Q = Partition("s", 0), Partition("s", 1)
W0, W1, BATCH = Owner("w0", 1), Owner("w1", 1), Owner(ENGINE, 1)
JOINS = (Join("w0", "a"), Join("w1", "b"))


class Driver:
    """A leader, and what it asks for."""

    def __init__(self, name: str, *said: messages.Any, limit: int = 9) -> None:
        self.me, self.asked = leader.lead(Leader(name, limit, log.folded(said)))
        self.hears(*(a.message for a in self.asked if isinstance(a, Append)))

    def hears(self, *said: messages.Any) -> Driver:
        for message in said:
            self.me, _ = knowledge.read(self.me, message)
        return self._due()

    def wants(self, **slots: str | None) -> Driver:
        names = {"p": P, "q": Q}
        return self.knows(knowledge.want(self.me, {names[n]: Target(slot, "A") for n, slot in slots.items()}))

    def knows(self, me: Leader) -> Driver:
        self.me = me
        return self._due()

    def _due(self) -> Driver:
        self.me, self.asked = leader.due(self.me)
        return self

    @property
    def says(self) -> list[messages.Any]:
        return [effect.message for effect in self.asked if isinstance(effect, Append)]

    @property
    def written(self) -> list[messages.Any]:
        """What it writes, read back at once, until it waits for others."""
        found = []
        while self.says:
            found += self.says
            self.hears(*self.says)
        return found


def holding(*, limit: int = 9) -> Driver:
    """A leader whose partitions are with the first slot."""
    driver = Driver("d1", *JOINS, limit=limit)
    driver.hears(*(Assign(1, place, 1, W0, "A", 0, takeover=True) for place in (P, Q)))
    return driver


def asking() -> Driver:
    """A leader that has asked the first slot to release one partition."""
    driver = holding().wants(p="w1")
    assert driver.written == [Prepare(1, P, 2, W1, "A")]
    assert driver.hears(Prepared(P, 2, W1)).written == [Release(1, P, 2)]
    return driver


# Leading


def test_a_driver_does_nothing_before_it_reads_that_it_leads() -> None:
    me, asked = leader.lead(Leader("d2", 1, log.folded([*JOINS, Lead(4, "d1")])))
    me = knowledge.want(me, {P: Target("w0", "A")})

    assert asked == (Append(Lead(5, "d2")),)
    assert leader.due(me) == (me, ())
    assert not me.deposed


def test_of_two_that_ask_for_the_same_number_one_leads() -> None:
    first, _ = leader.lead(Leader("d1", 1))
    second, _ = leader.lead(Leader("d2", 1))
    for message in (Lead(1, "d2"), Lead(1, "d1")):
        first, _ = knowledge.read(first, message)
        second, _ = knowledge.read(second, message)

    assert (first.leads, first.deposed, second.leads, second.deposed) == (False, True, True, False)


def test_a_driver_that_is_followed_does_nothing_more() -> None:
    driver = holding().wants(p="w1").hears(Lead(2, "d2"))

    assert driver.me.deposed
    assert driver.wants(q="w1").asked == ()


# Moves


def test_what_nobody_ever_had_starts_at_its_committed_offset() -> None:
    driver = Driver("d1", *JOINS).wants(p="w1")
    assert driver.asked == (ReadCommitted(P),)

    driver.knows(knowledge.committed(driver.me, P, 40))

    assert driver.says == [Assign(1, P, 1, W1, "A", 40, takeover=True)]


def test_a_move_goes_from_prepare_to_release_to_assign() -> None:
    driver = asking()

    assert driver.hears(Released(P, 2, W0, 7)).written == [Assign(1, P, 2, W1, "A", 7, takeover=False)]
    assert driver.asked == ()


def test_a_switch_to_batches_and_a_new_program_are_moves_too() -> None:
    assert holding().wants(p=ENGINE).says == [Prepare(1, P, 2, BATCH, "A")]
    driver = holding()
    driver.knows(knowledge.want(driver.me, {P: Target("w0", "B")}))
    assert driver.says == [Prepare(1, P, 2, W0, "B")]


def test_a_message_is_not_written_twice_while_it_is_under_way() -> None:
    driver = holding().wants(p="w1")
    assert driver.says

    assert driver.hears(Join("w9", "z")).says == []


def test_no_more_than_the_limit_move_at_once() -> None:
    driver = holding(limit=1).wants(p="w1", q="w1")
    assert driver.written == [Prepare(1, P, 2, W1, "A")]
    assert driver.hears(Prepared(P, 2, W1)).written == [Release(1, P, 2)]

    assert driver.hears(Released(P, 2, W0, 7)).written == [
        Assign(1, P, 2, W1, "A", 7, takeover=False),
        Prepare(1, Q, 2, W1, "A"),
    ]


def test_a_partition_can_rest_and_wake_up() -> None:
    driver = holding(limit=1).wants(p=None)
    assert driver.written == [Prepare(1, P, 2, None, "A"), Release(1, P, 2)]
    assert driver.hears(Released(P, 2, W0, 7)).asked == ()
    assert driver.wants(p=None, q="w1").says == [Prepare(1, Q, 2, W1, "A")]

    assert driver.wants(p="w1").says[0] == Assign(1, P, 2, W1, "A", 7, takeover=False)


def test_a_slot_that_isnt_there_is_waited_for() -> None:
    assert holding().wants(p="w7").asked == ()


# Ways back


def late(driver: Driver) -> Driver:
    return driver.knows(knowledge.late(driver.me, P, 2))


def preparing() -> Driver:
    """A leader that waits for an heir to prepare."""
    driver = holding().wants(p="w1")
    assert driver.written
    return driver


@pytest.mark.parametrize(
    ("driver", "reason"),
    {
        "an heir that can't": (preparing().hears(Prepared(P, 2, W1, "no such function")), Reason.HEIR_FAILED),
        "an heir that takes too long": (late(preparing()), Reason.HEIR_LATE),
        "an owner that takes too long": (late(asking()), Reason.RELEASE_LATE),
        "an heir that dies": (asking().hears(Join("w1", "c")), Reason.HEIR_LOST),
        "another wish": (asking().wants(p="w0"), Reason.UNWANTED),
    }.values(),
)
def test_a_move_that_cant_end_well_is_given_up_with_a_reason(driver: Driver, reason: Reason) -> None:
    assert driver.says == [Cancel(1, P, 2, reason)]


def test_what_failed_is_tried_again_only_when_it_is_wanted_anew() -> None:
    driver = late(asking())
    assert driver.written == [Cancel(1, P, 2, Reason.RELEASE_LATE)]
    assert driver.hears(Join("w9", "z")).asked == ()

    assert driver.wants(p="w1").says == [Prepare(1, P, 3, W1, "A")]


def test_behind_the_cut_there_is_only_another_heir() -> None:
    driver = asking()
    driver.me, _ = knowledge.read(driver.me, Join("w1", "c"))

    assert driver.hears(Released(P, 2, W0, 7)).says == [Assign(1, P, 2, Owner("w1", 2), "A", 7, takeover=False)]


# Takeovers


def test_a_takeover_fences_then_reads_then_assigns() -> None:
    driver = holding()
    driver.knows(knowledge.silent(driver.me, W0))
    first = driver.asked
    second = driver.knows(knowledge.fenced(driver.me, W0)).asked

    driver.knows(knowledge.committed(driver.me, P, 5))
    assert (first, second) == ((Fence(W0),), (Append(Fenced(1, W0)), ReadCommitted(P), ReadCommitted(Q)))

    assert driver.says == [Assign(1, P, 2, W1, "A", 5, takeover=True)]


def test_an_heir_runs_the_program_of_its_victim_first() -> None:
    driver = holding()
    driver.me = knowledge.want(driver.me, {P: Target("w1", "B")})
    driver.me = knowledge.fenced(knowledge.silent(driver.me, W0), W0)
    driver.me = knowledge.committed(driver.me, P, 5)

    assert driver.hears().written == [
        Fenced(1, W0),
        Assign(1, P, 2, W1, "A", 5, takeover=True),
        Prepare(1, P, 3, W1, "B"),
    ]


def test_who_is_heard_of_again_in_time_keeps_what_it_has() -> None:
    driver = holding()
    silent = knowledge.silent(driver.me, W0)

    assert driver.knows(knowledge.heard(silent, W0)).asked == ()


def test_who_is_heard_of_behind_the_fence_doesnt() -> None:
    driver = holding()
    fenced = knowledge.fenced(knowledge.silent(driver.me, W0), W0)

    assert driver.knows(knowledge.heard(fenced, W0)).asked[1:] == (ReadCommitted(P), ReadCommitted(Q))


def test_another_process_of_a_slot_means_that_the_first_is_lost() -> None:
    assert holding().hears(Join("w0", "c")).asked == (Fence(W0),)


def test_a_new_leader_goes_on_where_the_last_one_stopped() -> None:
    said: list[messages.Any] = [
        *JOINS,
        Lead(1, "d1"),
        Assign(1, P, 1, W0, "A", 0, takeover=True),
        Prepare(1, P, 2, W1, "A"),
    ]
    driver = Driver("d2", *said, Prepared(P, 2, W1))

    assert driver.says == [Release(2, P, 2)]


# Intents of dead engines

OPEN: tuple[messages.Any, ...] = (
    *JOINS,
    Lead(1, "d1"),
    *(Assign(1, place, 1, BATCH, "A", 0, takeover=True) for place in (P, Q)),
    Intent(1, 1, BATCH, "A", (Range(P, 0, 5), Range(Q, 0, 3)), combined=True),
)


def _behind_the_fence(p: int, q: int) -> Driver:
    driver = Driver("d2", *OPEN).wants(p="w0", q="w1")
    assert driver.asked == ()  # the fence is asked for already
    driver.me = knowledge.fenced(driver.me, BATCH)
    driver.me = knowledge.committed(knowledge.committed(driver.me, P, p), Q, q)
    return driver.hears()


def test_the_engine_of_a_dead_driver_is_fenced_first() -> None:
    assert Driver("d2", *OPEN).asked == (Fence(BATCH),)


def test_an_open_intent_goes_to_the_engine_of_the_new_leader_before_anything_else() -> None:
    driver = _behind_the_fence(0, 0)

    assert driver.written == [Assign(2, place, 2, Owner(ENGINE, 2), "A", 0, takeover=True) for place in (P, Q)] + [
        Prepare(2, P, 3, W0, "A"),
        Prepare(2, Q, 3, W1, "A"),
    ]


def test_an_open_intent_that_was_committed_is_only_closed() -> None:
    driver = _behind_the_fence(5, 3)

    assert driver.written == [
        Done(2, 1),
        Assign(2, P, 2, W0, "A", 5, takeover=True),
        Assign(2, Q, 2, W1, "A", 3, takeover=True),
    ]
