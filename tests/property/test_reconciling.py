"""What holds of every decision about a job, whatever was seen."""

from __future__ import annotations

import dataclasses
import datetime

from hypothesis import given

import reconciled
from reconciled import NOW
from spillway.controllers.reconciling import children, decision, names, resizing
from spillway.controllers.reconciling.children import Written
from spillway.controllers.reconciling.decision import Decision, Memory
from spillway.controllers.reconciling.observed import Observed, Replicas
from spillway.model import status


def decided(observed: Observed, memory: Memory | None = None, now: datetime.datetime = NOW) -> Decision:
    return decision.decide(observed, memory or Memory(), now)


@given(reconciled.worlds())
def test_no_worker_that_holds_partitions_is_ended(observed: Observed) -> None:
    found = decided(observed)
    if found.shape is None or observed.workers is None or found.shape.replicas >= observed.workers.asked:
        return
    assert observed.heard is not None
    seen = observed.heard.observation
    assert NOW - observed.heard.at <= resizing.FRESH
    assert seen.granted is not None
    assert seen.granted <= found.shape.workers
    assert found.shape.replicas >= resizing.held(seen)


@given(reconciled.worlds())
def test_without_the_drivers_word_nothing_is_granted_and_nothing_shrinks(observed: Observed) -> None:
    found = decided(observed)
    if resizing.fresh(observed, NOW) is not None or found.shape is None:
        return
    assert found.grant is None
    if observed.workers is not None:
        assert found.shape.replicas >= observed.workers.asked


@given(reconciled.worlds())
def test_sizes_stay_within_what_was_asked_for_by_a_person(observed: Observed) -> None:
    found = decided(observed)
    if found.shape is None or observed.accepted is None or observed.accepted.spec.policy.mode == "advise":
        return
    workers = observed.accepted.spec.execution.workers
    asked = observed.workers.asked if observed.workers is not None else 0
    wanted = observed.workers.wanted_workers if observed.workers is not None else None
    if wanted is None or workers.min <= wanted <= workers.max:
        assert workers.min <= found.shape.workers <= max(workers.max, asked if wanted is None else 0)


def carried_out(observed: Observed, found: Decision) -> Observed:
    """What is seen once the decision is carried out, and nothing else has happened."""
    if found.shape is None:
        return dataclasses.replace(observed, status=found.status)
    before = observed.workers or Replicas(0, 0, 0)
    workers = dataclasses.replace(
        before,
        asked=found.shape.replicas,
        wanted_workers=found.shape.workers,
        wanted_executors=found.shape.executors,
    )
    return dataclasses.replace(observed, workers=workers, status=found.status)


@given(reconciled.worlds())
def test_deciding_again_upon_its_own_result_comes_to_rest(observed: Observed) -> None:
    memory, last = Memory(), None
    for _ in range(4):
        found = decided(observed, memory)
        observed, memory, last = carried_out(observed, found), found.memory, found
    again = decided(observed, memory)
    assert last is not None
    assert again.shape == last.shape
    assert again.status == last.status
    assert again.events == ()


@given(reconciled.worlds())
def test_every_condition_is_there_once_with_a_reason_that_is_documented_for_it(observed: Observed) -> None:
    found = decided(observed).status.conditions
    assert [condition.type for condition in found] == list(status.TYPES)
    for condition in found:
        kinds, _ = status.REASONS[condition.reason]
        assert condition.type in kinds, condition
        assert condition.message


@given(reconciled.worlds())
def test_a_condition_keeps_its_time_while_its_status_stays(observed: Observed) -> None:
    first = decided(observed)
    later = NOW + datetime.timedelta(seconds=1)
    second = decided(dataclasses.replace(observed, status=first.status), first.memory, later)
    for before, after in zip(first.status.conditions, second.status.conditions, strict=True):
        if before.status is after.status:
            assert before.last_transition_time == after.last_transition_time


@given(reconciled.worlds())
def test_it_looks_again_neither_at_once_nor_never(observed: Observed) -> None:
    assert decision.LOOK <= decided(observed).again <= decision.RESYNC


@given(reconciled.worlds())
def test_messages_have_no_numbers_that_move_by_themselves(observed: Observed) -> None:
    """A status that is written each time a rate changes is written for ever."""
    if observed.heard is None:
        return
    first = decided(observed)
    seen = observed.heard.observation
    shares = seen.latency.within
    assert shares is not None
    busier = tuple(
        type(one)(**{**{name: getattr(one, name) for name in one.__struct_fields__}, "rate_in": 7.0, "lag": 12345})
        for one in seen.segments
    )
    import msgspec

    moved = msgspec.structs.replace(seen, segments=busier, rate_in=99.0)
    heard = dataclasses.replace(observed.heard, observation=moved)
    assert decided(dataclasses.replace(observed, heard=heard)).status == first.status


def test_a_child_of_somebody_else_is_neither_written_nor_deleted() -> None:
    theirs = reconciled.child("Secret", "j-token", "somebody-else")
    spare = reconciled.child("ConfigMap", "j-old")
    gone = {theirs.key: theirs, spare.key: spare}

    found = children.changes({theirs.key: "digest"}, gone, {}, reconciled.UID)

    assert (found.apply, found.delete, found.taken) == ((), (spare,), (theirs.key,))


def test_what_is_as_it_was_written_is_not_written_again() -> None:
    ours = reconciled.child("Role", "j-driver")
    wanted, present = {ours.key: "digest"}, {ours.key: ours}

    assert children.changes(wanted, present, {ours.key: Written("digest", "1")}, reconciled.UID).nothing
    # By hand, by another spec, and after a start.
    changed = {ours.key: dataclasses.replace(ours, version="2")}
    assert children.changes(wanted, changed, {ours.key: Written("digest", "1")}, reconciled.UID).apply == (ours.key,)
    assert children.changes({ours.key: "new"}, present, {ours.key: Written("digest", "1")}, reconciled.UID).apply
    assert children.changes(wanted, present, {}, reconciled.UID).apply == (ours.key,)


def test_a_checker_of_ended_workers_catches_one() -> None:
    """The first property above would be worth nothing if no decision ever shrank anything."""
    runs = reconciled.job(policy={"cooldown": "0s", "scaleDownDelay": "0s"})
    seen = reconciled.told(workers=2, granted=2, held=(0, 1))
    found = decided(reconciled.observed(runs, seen, workers=Replicas(4, 4, 4, 2, 0)))
    assert found.shape is not None
    assert found.shape.replicas == 2
    blind = dataclasses.replace(reconciled.observed(runs, workers=Replicas(4, 4, 4, 2, 0)))
    assert decided(blind).shape.replicas == 4  # type: ignore[union-attr]
    assert names.WORKER == "worker"
