"""An owner gets a partition, works, and releases it: at a record boundary, flushed, committed, and not too early."""

from __future__ import annotations

import dataclasses

import pytest

from spillway.controllers.protocol import effects, log, owner, slot
from spillway.controllers.protocol.effects import (
    Append,
    Commit,
    EmitMarker,
    Flush,
    ReadBack,
    Restart,
    Start,
    Stop,
    Warm,
)
from spillway.controllers.protocol.messages import Assign, Cancel, Fenced, Join, Prepare, Prepared, Release, Released
from spillway.controllers.protocol.owner import Phase, Work
from spillway.controllers.protocol.slot import Slot
from spillway.controllers.protocol.values import Owner, Partition

P, Q = Partition("s", 0), Partition("s", 1)
ME, OTHER = Owner("w0", 1), Owner("w1", 1)
FRESH = Slot(ME)
WORKING = slot.hear(FRESH, Assign(1, P, 4, ME, "A", 10, takeover=False), True)[0]


def work(at: Slot, place: Partition = P) -> Work:
    return at.works[place]


def processed(at: Slot, position: int) -> Slot:
    return slot.told(at, P, lambda work: owner.processed(work, position, ME))[0]


def acknowledged(at: Slot, position: int) -> tuple[Slot, slot.Effects]:
    return slot.told(at, P, lambda work: owner.acknowledged(work, position, ME))


def released(at: Slot) -> Slot:
    """The slot after it was asked to release, with all done that this takes."""
    at, asked = slot.hear(at, Release(1, P, 5), True)
    for effect in asked:
        if isinstance(effect, Commit):
            at, _ = slot.committed(at, effect)
    return at


def test_a_slot_is_the_process_that_joined_last() -> None:
    joins = [Join("w0", "a"), Join("w0", "b")]
    state = log.folded(joins)

    assert slot.joined(state, joins[1], "b") == Slot(Owner("w0", 2))
    assert slot.joined(state, joins[0], "b") is None


def test_an_heir_starts_where_it_is_told() -> None:
    _, asked = slot.hear(FRESH, Assign(1, P, 4, ME, "A", 10, takeover=False), True)

    assert asked == (Start(P, 4, "A", 10),)


def test_after_a_takeover_it_begins_with_markers_and_reads_back() -> None:
    _, asked = slot.hear(FRESH, Assign(1, P, 4, ME, "A", 10, takeover=True), True)

    assert asked == (EmitMarker(P, 4, "A"), ReadBack(P, 4), Start(P, 4, "A", 10))


def test_a_message_that_doesnt_count_changes_nothing() -> None:
    assert slot.hear(WORKING, Release(1, P, 5), counted=False) == (WORKING, ())


def test_it_commits_what_is_acknowledged_and_not_what_is_processed() -> None:
    at, _ = acknowledged(processed(WORKING, 20), 15)

    assert owner.due(work(at)) == (Commit(((P, 15),)),)


def test_it_commits_nothing_twice() -> None:
    at, _ = acknowledged(processed(WORKING, 20), 15)
    at, _ = slot.committed(at, Commit(((P, 15),)))

    assert owner.due(work(at)) == ()


def test_it_releases_in_the_order_stop_flush_commit_released() -> None:
    at, first = slot.hear(processed(WORKING, 20), Release(1, P, 5), True)
    at, second = acknowledged(at, 20)
    at, third = slot.committed(at, Commit(((P, 20),)))

    assert (first, second, third) == (
        (Stop(P), Flush(P)),
        (Commit(((P, 20),)),),
        (Append(Released(P, 5, ME, 20)),),
    )
    assert work(at).phase is Phase.LEFT


def test_it_releases_at_once_when_nothing_is_left_to_do() -> None:
    _, asked = slot.hear(WORKING, Release(1, P, 5), True)

    assert asked == (Stop(P), Append(Released(P, 5, ME, 10)))


def test_it_releases_only_once_it_has_passed_its_barrier() -> None:
    at, _ = slot.hear(FRESH, Assign(1, P, 4, ME, "A", 10, takeover=True), True)
    at, first = slot.hear(at, Release(1, P, 5), True)
    at, second = slot.told(at, P, lambda work: owner.read_back(work, 4, 12, ME))
    at, third = slot.told(at, P, lambda work: owner.processed(work, 11, ME))
    at, fourth = slot.told(at, P, lambda work: owner.processed(work, 12, ME))

    assert (first, second, third, fourth) == ((), (), (), (Stop(P), Flush(P)))


def test_what_was_read_back_for_another_epoch_is_no_barrier() -> None:
    at, _ = slot.hear(FRESH, Assign(1, P, 4, ME, "A", 10, takeover=True), True)
    at, _ = slot.told(at, P, lambda work: owner.read_back(work, 3, 0, ME))

    assert work(at).barrier is None


@pytest.mark.parametrize(
    "at", [processed(WORKING, 20), released(WORKING)], ids=["while it flushes", "when it has left"]
)
def test_a_way_back_lets_it_go_on_where_it_stopped(at: Slot) -> None:
    at = released(at)
    at, asked = slot.hear(at, Cancel(1, P, 5, "ReleaseLate"), True)

    assert work(at).processes
    assert asked == (effects.Forget(P, 5), Start(P, 4, "A", work(at).position))


def test_a_way_back_from_another_try_doesnt_concern_it() -> None:
    at, asked = slot.hear(released(WORKING), Cancel(1, P, 4, "Unwanted"), True)

    assert not work(at).processes
    assert asked == (effects.Forget(P, 4),)


def test_it_can_be_asked_again_after_a_way_back() -> None:
    at, _ = slot.hear(released(WORKING), Cancel(1, P, 5, "ReleaseLate"), True)
    _, asked = slot.hear(at, Release(1, P, 6), True)

    assert asked == (Stop(P), Append(Released(P, 6, ME, 10)))


def test_it_lets_go_of_what_goes_to_its_heir() -> None:
    at, asked = slot.hear(released(WORKING), Assign(1, P, 5, OTHER, "A", 10, takeover=False), True)

    assert (dict(at.works), asked) == ({}, (Stop(P),))


def test_it_gets_its_own_partition_back_with_another_program() -> None:
    at, _ = slot.hear(released(WORKING), Assign(1, P, 5, ME, "B", 10, takeover=False), True)

    assert (work(at).program, work(at).epoch, work(at).processes) == ("B", 5, True)


def test_it_prepares_and_says_so() -> None:
    _, asked = slot.hear(FRESH, Prepare(1, P, 5, ME, "B"), True)

    assert asked == (Warm(P, 5, "B"),)
    assert owner.prepared(P, 5, ME) == Append(Prepared(P, 5, ME))
    assert owner.prepared(P, 5, ME, "x" * 5000) == Append(Prepared(P, 5, ME, "x" * 1000))


@pytest.mark.parametrize(
    "message",
    [Join("w0", "another"), Fenced(1, ME)],
    ids=["another process is this slot", "it was fenced"],
)
def test_who_is_given_up_drops_everything(message: Join | Fenced) -> None:
    both = slot.hear(WORKING, Assign(1, Q, 7, ME, "A", 0, takeover=False), True)[0]

    at, asked = slot.hear(both, message, True)

    assert (dict(at.works), asked) == ({}, (Stop(P), Stop(Q), Restart()))


def test_a_refused_commit_drops_everything() -> None:
    assert slot.fenced(WORKING) == (dataclasses.replace(FRESH), (Stop(P), Restart()))


def test_what_comes_late_for_a_partition_that_is_gone_changes_nothing() -> None:
    assert slot.committed(FRESH, Commit(((P, 5),))) == (FRESH, ())
    assert acknowledged(FRESH, 5) == (FRESH, ())
