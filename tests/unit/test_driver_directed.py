"""A driver that is directed: who gets which slots, which frames, and when it says that it is done."""

from __future__ import annotations

import msgspec
import pytest

from spillway.controllers.balancing import Slot
from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.frozen import Frozen
from spillway.controllers.protocol.values import Partition
from spillway.model import observation
from spillway.model.observation import VERSION, Deployment
from spillway.model.operators import Paradigm
from spillway.runtime.driver import directed, observing

SLOTS = tuple(Slot(worker, 0) for worker in range(6))
PLACES = [Partition(name, number) for name in ("head", "tail") for number in range(4)]


def dealt(tasks: dict[str, int], owned: dict[Partition, Slot]) -> dict[Partition, Slot]:
    return directed.dealt(PLACES, directed.shared_out(tasks, SLOTS, owned), owned)


def test_no_slot_has_two_operators_and_each_has_as_many_as_it_should() -> None:
    found = dealt({"head": 1, "tail": 3}, {})
    heads = {found[place] for place in PLACES if place.segment == "head"}
    tails = {found[place] for place in PLACES if place.segment == "tail"}
    assert (len(heads), len(tails)) == (1, 3)
    assert not heads & tails


def test_partitions_are_spread_evenly() -> None:
    found = dealt({"head": 2, "tail": 4}, {})
    counts = [sum(slot == one for one in found.values()) for slot in set(found.values())]
    assert sorted(counts) == [1, 1, 1, 1, 2, 2]


def test_who_gets_one_slot_more_moves_only_what_goes_there() -> None:
    before = dealt({"head": 1, "tail": 1}, {})
    after = dealt({"head": 1, "tail": 2}, before)
    moved = [place for place in PLACES if before[place] != after[place]]
    assert len(moved) == 2
    assert {place.segment for place in moved} == {"tail"}


def test_a_slot_that_is_gone_is_replaced() -> None:
    before = dealt({"head": 1, "tail": 2}, {})
    gone = before[PLACES[0]]
    there = tuple(slot for slot in SLOTS if slot != gone)
    shares = directed.shared_out({"head": 1, "tail": 2}, there, before)
    after = directed.dealt(PLACES, shares, before)
    assert gone not in after.values()
    assert [after[place] for place in PLACES[4:]] == [before[place] for place in PLACES[4:]]


def test_too_few_slots_leave_the_last_operators_without() -> None:
    assert [len(mine) for mine in directed.shared_out({"head": 5, "tail": 3}, SLOTS, {}).values()] == [5, 1]


def plan(frame: int = 1) -> messages.Plan:
    segments = tuple(
        messages.Segment(name, (name,), "id", Paradigm.RECORD, 4, 1, frame, ((name, 0.5),)) for name in ("head", "tail")
    )
    return messages.Plan(1, 1, "{}", 4, segments)


def state(of: messages.Plan) -> log.State:
    return log.State(plans=Frozen({of.number: of}))


ASKED = Deployment(VERSION, {"head": 1, "tail": 1}, {"head": 10}, 0.5)


def test_frames_are_those_that_were_asked_for_and_one_where_nothing_was() -> None:
    found = directed.framed(plan(), ASKED)
    assert [(one.name, one.frame) for one in found.segments] == [("head", 10), ("tail", 1)]
    assert directed.framed(found, ASKED) == found


MISSING = {
    "without a plan": (log.State(), ASKED, "there is no plan"),
    "for other operators": (state(plan()), msgspec.structs.replace(ASKED, tasks={"head": 1}), "the job has"),
    "with too few slots": (state(plan()), msgspec.structs.replace(ASKED, tasks={"head": 9, "tail": 1}), "10"),
    "with other frames": (state(plan()), ASKED, "frames are not"),
    "as long as nobody works": (state(directed.framed(plan(), ASKED)), ASKED, "not dealt out"),
}


@pytest.mark.parametrize("case", MISSING)
def test_it_is_not_done(case: str) -> None:
    state, asked, why = MISSING[case]
    seen = observing.Seen(0.0, {}, {}, {}, {}, {}, {}, {})
    assert why in directed.missing(asked, state, seen, {}, SLOTS)


def test_a_deployment_goes_over_http_as_it_is() -> None:
    assert observation.deployment(observation.encode(ASKED)) == ASKED
    with pytest.raises(msgspec.ValidationError):
        observation.deployment(b'{"version": 1, "tasks": {"head": 0}}')
