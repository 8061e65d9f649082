"""How programs change: what simply moves, what is read to its end first, and what is refused."""

from __future__ import annotations

import dataclasses
import random

import pytest

import rolling
from rolling import World
from spillway.controllers import rollout
from spillway.controllers.protocol.values import Partition
from spillway.controllers.rollout import Aim, Reason, Shape

CHAIN = {("a", "b"): "x", ("b", "c"): "y"}


def _changed(before: dict[tuple[str, str], str], after: dict[tuple[str, str], str]) -> World:
    world = World.of(rolling.job(before))
    world.replan(rolling.job(after, "2"))
    return world


def _all(world: World, segment: str) -> set[Aim]:
    return {aim for place, aim in world.decide().aims.items() if place.segment == segment}


def test_a_job_that_runs_its_plan_is_left_alone() -> None:
    world = World.of(rolling.job(CHAIN))
    found = world.decide()
    assert found.reason is Reason.DONE
    assert all(aim == Aim(f"{place.segment}@1", runs=True) for place, aim in found.aims.items())


def test_partitions_whose_ways_stay_as_they_are_simply_move() -> None:
    found = _changed(CHAIN, CHAIN).decide()
    assert found.reason is Reason.ROLLING
    assert all(aim == Aim(f"{place.segment}@2", runs=True) for place, aim in found.aims.items())
    assert not found.asks


def test_a_new_form_first_brings_its_writers_to_rest() -> None:
    world = _changed(CHAIN, CHAIN | {("b", "c"): "z"})
    assert world.decide().reason is Reason.DRAINING
    assert _all(world, "a") == {Aim("a@2", runs=True)}
    assert _all(world, "b") == {Aim("b@1", runs=False)}
    assert _all(world, "c") == {Aim("c@1", runs=True)}


def test_a_reader_changes_once_it_is_at_the_end_that_the_last_writer_left() -> None:
    world = _changed({("b", "c"): "y"}, {("b", "c"): "z"})
    world.rows[Partition("c", 0)] = [(rollout.Way("c", 0), "y")] * 5
    world.rest(Partition("b", 0))
    assert not world.decide().asks
    world.rest(Partition("b", 1))
    assert world.decide().asks == {Partition("c", 0), Partition("c", 1)}
    assert world.decide().aims[Partition("c", 0)] == Aim("c@1", runs=True)
    world.position[Partition("c", 0)] = 5
    assert world.decide().aims[Partition("c", 0)] == Aim("c@2", runs=True)


def test_writers_start_when_all_partitions_of_their_reader_have_changed() -> None:
    world = _changed({("b", "c"): "y"}, {("b", "c"): "z"})
    for number in range(rolling.WIDTH):
        world.rest(Partition("b", number))
    world.hold(Partition("c", 0), "c@2")
    assert _all(world, "b") == {Aim("b@1", runs=False)}
    world.hold(Partition("c", 1), "c@2")
    assert _all(world, "b") == {Aim("b@2", runs=True)}


def test_a_message_that_was_not_read_back_keeps_readers_from_changing() -> None:
    world = _changed({("b", "c"): "y"}, {("b", "c"): "z"})
    for number in range(rolling.WIDTH):
        world.rest(Partition("b", number))
    found = rollout.decide(world.state, world.shapes, {}, {}, {Partition("b", 1)})
    assert not found.asks


def test_a_reader_that_is_no_more_rests_only_at_its_end() -> None:
    world = _changed({("a", "b"): "x", ("b", "c"): "y"}, {("a", "c"): "y"})
    dice = random.Random(1)  # noqa: S311 - a load, no secret
    for _ in range(20):
        world.works(Partition("a", 0), dice)
    assert not world.settle(dice)
    assert all(world.rests(place) for place in world.state.holdings if place.segment == "b")
    assert all(world.at(p) == len(rows) for p, rows in world.rows.items() if p.segment == "b")


def test_a_resting_reader_that_is_not_at_its_end_wakes_up_with_its_old_program() -> None:
    world = _changed({("b", "c"): "y"}, {("b", "c"): "z"})
    world.rows[Partition("c", 0)] = [(rollout.Way("c", 0), "y")] * 5
    for place in list(world.state.holdings):
        world.rest(place)
    world.decide()
    assert world.decide().aims[Partition("c", 0)] == Aim("c@1", runs=True)
    assert world.decide().aims[Partition("c", 1)] == Aim("c@2", runs=True)


def test_another_driver_that_knows_no_ends_yet_leaves_resting_partitions_at_rest() -> None:
    world = _changed({("b", "c"): "y"}, {("b", "c"): "z"})
    for place in list(world.state.holdings):
        world.rest(place)
    found = rollout.decide(world.state, world.shapes, {}, {})
    assert {aim for place, aim in found.aims.items() if place.segment == "c"} == {Aim("c@1", runs=False)}


def test_a_plan_may_follow_once_the_last_change_is_done() -> None:
    world = _changed(CHAIN, CHAIN | {("b", "c"): "z"})
    assert not rollout.done(world.state, world.shapes)
    assert not world.settle(random.Random(1))  # noqa: S311 - dice of a test
    assert rollout.done(world.state, world.shapes)


def test_a_partition_on_its_way_to_its_new_program_is_still_to_change() -> None:
    world = _changed({("a", "b"): "x"}, {("a", "b"): "x"})
    for place in world.state.holdings:
        world.give_up(place, f"{place.segment}@2")
    assert world.decide().left == tuple(sorted(world.state.holdings))
    for place in world.state.holdings:
        world.hold(place, f"{place.segment}@2")
    assert world.decide().reason is Reason.DONE


def test_a_plan_may_follow_once_every_written_edge_is_in_somebodys_hands() -> None:
    world = World.of(rolling.job(CHAIN))
    assert rollout.done(world.state, world.shapes)
    world.state = dataclasses.replace(world.state, holdings=world.state.holdings.drop(Partition("c", 1)))
    assert not rollout.done(world.state, world.shapes)


KEPT = Shape("counts", "edge.counts", states={"counts": "by word"})


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        pytest.param(KEPT, KEPT, "", id="the same table"),
        pytest.param(KEPT, dataclasses.replace(KEPT, states={"counts": "by user"}), "another name", id="another table"),
        pytest.param(KEPT, dataclasses.replace(KEPT, states={"sums": "by user"}), "", id="a table of another name"),
        pytest.param(KEPT, dataclasses.replace(KEPT, input="words"), "positions in one", id="another topic"),
        pytest.param(KEPT, Shape("sums", "words"), "", id="another segment"),
    ],
)
def test_what_is_stored_has_to_be_readable(before: Shape, after: Shape, says: str) -> None:
    found = rollout.refused([before], [after])
    assert bool(found) == bool(says)
    assert all(says in sentence for sentence in found)


def test_segments_that_change_places_are_refused() -> None:
    before = rolling.job({("a", "b"): "x", ("b", "c"): "y"})
    after = rolling.job({("a", "c"): "z", ("c", "b"): "w"}, "2")
    assert "b, c change places" in rollout.refused(before.values(), after.values())[0]
    assert not rollout.refused(before.values(), rolling.job(CHAIN | {("a", "c"): "y"}, "2").values())
