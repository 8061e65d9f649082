"""The batch engine runs intents: logged first, exactly once each, and again with the same ranges after a death."""

from __future__ import annotations

from spillway.controllers.protocol import engine, log, messages
from spillway.controllers.protocol.effects import Append, Commit, ReadBack, Run, Stop
from spillway.controllers.protocol.engine import Engine
from spillway.controllers.protocol.messages import Assign, Done, Intent, Lead, Prepare, Release, Released
from spillway.controllers.protocol.slot import Effects
from spillway.controllers.protocol.values import ENGINE, Owner, Partition, Range

P, Q = Partition("s", 0), Partition("s", 1)
ONE, TWO, W0 = Owner(ENGINE, 1), Owner(ENGINE, 2), Owner("w0", 1)
ENDS = {P: 10, Q: 7}
INTENT = Intent(1, 1, ONE, "A", (Range(P, 4, 10), Range(Q, 0, 7)), combined=True)


class Driver:
    """An engine and its log."""

    def __init__(self, leader: int, *said: messages.Any) -> None:
        self.said = list(said)
        self.log = log.folded(said)
        self.engine = engine.of(leader)
        self.asked: Effects = ()

    def hears(self, *said: messages.Any) -> Driver:
        for message in said:
            self.said.append(message)
            self.log, counted = log.read(self.log, message)
            self.engine, asked = engine.hear(self.engine, self.log, message, counted)
            self.asked += asked
        return self

    def reads_back(self, place: Partition, epoch: int, barrier: int) -> Driver:
        self.engine, asked = engine.read_back(self.engine, self.log, ReadBack(place, epoch), barrier)
        self.asked += asked
        return self

    def proposes(self, ends: dict[Partition, int] = ENDS, *, combine: bool = True) -> Effects:
        self.engine, asked = engine.propose(self.engine, self.log, ends, combine)
        return asked

    @property
    def runs(self) -> list[Run]:
        return [effect for effect in self.asked if isinstance(effect, Run)]


def owning() -> Driver:
    """An engine that got both partitions in orderly moves."""
    at = Driver(1, Lead(1, "d1"), *(Assign(1, place, 1, W0, "A", 0, takeover=True) for place in (P, Q)))
    for place, cut in ((P, 4), (Q, 0)):
        at.hears(Prepare(1, place, 2, ONE, "A"), Release(1, place, 2), Released(place, 2, W0, cut))
        at.hears(Assign(1, place, 2, ONE, "A", cut, takeover=False))
    return at


def followed() -> Driver:
    """The next leader's engine, before it has anything; the first one left an intent open."""
    return Driver(2, *owning().said, INTENT).hears(Lead(2, "d2"))


def test_it_proposes_exact_ranges_of_what_it_has() -> None:
    assert owning().proposes({**ENDS, Partition("s", 9): 5}) == (Append(INTENT),)


def test_it_runs_nothing_before_the_intent_is_in_the_log() -> None:
    at = owning()
    at.proposes()
    assert at.runs == []

    assert at.hears(INTENT).runs == [Run(INTENT, ((P, 2), (Q, 2)))]


def test_it_proposes_nothing_while_it_waits_or_runs() -> None:
    at = owning()
    at.proposes()
    assert at.proposes() == ()
    at.hears(INTENT)
    assert at.proposes({P: 99, Q: 99}) == ()


def test_an_intent_runs_one_program_that_of_which_more_is_waiting() -> None:
    at = owning().hears(Prepare(1, Q, 3, ONE, "B"), Release(1, Q, 3), Released(Q, 3, ONE, 0))
    at.hears(Assign(1, Q, 3, ONE, "B", 0, takeover=False))

    assert at.proposes() == (Append(Intent(1, 1, ONE, "B", (Range(Q, 0, 7),), combined=True)),)


def test_it_proposes_nothing_where_nothing_has_come() -> None:
    assert owning().proposes({P: 4, Q: 0}) == ()


def test_an_intent_runs_commits_and_is_done() -> None:
    at = owning()
    at.proposes()
    at.hears(INTENT)

    at.engine, first = engine.ran(at.engine, INTENT)
    assert first == (Commit(((P, 10), (Q, 7)), intent=1),)
    at.engine, second = engine.committed(at.engine, 1, Commit(((P, 10), (Q, 7)), intent=1))
    assert second == (Append(Done(1, 1)),)
    at.hears(Done(1, 1))
    (after,) = at.proposes({P: 12, Q: 7})
    assert isinstance(after, Append)
    assert after.message == Intent(1, 2, ONE, "A", (Range(P, 10, 12),), combined=True)


def test_an_intent_that_is_committed_is_not_run_again_before_its_end_is_read() -> None:
    at = owning()
    at.proposes()
    at.hears(INTENT)
    at.engine, _ = engine.committed(at.engine, 1, Commit(((P, 10), (Q, 7)), intent=1))

    assert len(at.hears(messages.Join("w9", "x")).runs) == 1


def test_a_partition_is_released_at_the_end_of_its_intent() -> None:
    at = owning()
    at.proposes()
    at.hears(Prepare(1, P, 3, W0, "A"), Release(1, P, 3), INTENT)
    assert not [a for a in at.asked if isinstance(a, Append)]

    at.engine, asked = engine.committed(at.engine, 1, Commit(((P, 10), (Q, 7)), intent=1))

    assert asked == (Append(Done(1, 1)), Stop(P), Append(Released(P, 3, ONE, 10)))


def test_a_heir_runs_an_open_intent_again_once_it_has_all_partitions_and_markers() -> None:
    at = followed()
    at.hears(Assign(2, P, 3, TWO, "A", 4, takeover=True), Assign(2, Q, 3, TWO, "A", 0, takeover=True))
    assert at.reads_back(P, 3, 6).runs == []

    assert at.reads_back(Q, 3, 0).runs == [Run(INTENT, ((P, 3), (Q, 3)))]


def test_a_heir_releases_nothing_of_an_open_intent_before_that_has_run() -> None:
    at = followed()
    at.hears(Assign(2, P, 3, TWO, "A", 4, takeover=True), Prepare(2, P, 4, W0, "A"), Release(2, P, 4))
    at.reads_back(P, 3, 0)

    assert not [a for a in at.asked if isinstance(a, Append)]


def test_below_its_barrier_it_works_without_combining() -> None:
    at = Driver(1, Lead(1, "d1")).hears(Assign(1, P, 1, ONE, "A", 0, takeover=True))
    assert at.proposes() == ()

    (asked,) = at.reads_back(P, 1, 3).proposes()

    assert asked == Append(Intent(1, 1, ONE, "A", (Range(P, 0, 10),), combined=False))


def test_asked_to_release_below_its_barrier_it_still_gets_there() -> None:
    at = Driver(1, Lead(1, "d1")).hears(Assign(1, P, 1, ONE, "A", 0, takeover=True))
    at.reads_back(P, 1, 3).hears(Prepare(1, P, 2, W0, "A"), Release(1, P, 2))

    assert at.proposes({P: 3}) == (Append(Intent(1, 1, ONE, "A", (Range(P, 0, 3),), combined=False)),)


def test_an_engine_is_another_one_under_each_leader() -> None:
    assert engine.of(1) == Engine(engine.of(1).slot)
    assert engine.of(1).slot.me != engine.of(2).slot.me
