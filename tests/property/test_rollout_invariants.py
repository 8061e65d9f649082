"""Whatever changes into whatever: no program meets rows that it can't read, and every change comes to its end."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
import rolling
from rolling import World
from spillway.controllers import rollout
from spillway.controllers.protocol.values import Partition

NAMES = "abcde"


@st.composite
def jobs(draw: st.DrawFn) -> dict[tuple[str, str], str]:
    """Who writes to whom, never backwards; `a` reads a topic of the user in all of them. Each edge has one form."""
    names = ["a", *sorted(draw(st.sets(st.sampled_from(NAMES[1:]), min_size=1)))]
    edges: dict[tuple[str, str], str] = {}
    for i, reader in enumerate(names[1:], 1):
        form = draw(st.sampled_from("xyz"))
        writers = draw(st.sets(st.sampled_from(names[:i]), min_size=1))
        edges |= {(writer, reader): form for writer in sorted(writers)}
    return edges


@fuzzing.cases(60)
@given(st.lists(jobs(), min_size=2, max_size=4), st.integers(0, 2**32), st.integers(0, 40))
def test_no_program_meets_rows_that_it_cant_read(
    changes: list[dict[tuple[str, str], str]], seed: int, between: int
) -> None:
    dice = random.Random(seed)  # noqa: S311 - dice of a test
    before = rolling.job(changes[0])
    world = World.of(before)
    for _ in range(20):
        world.step(dice)
    for number, edges in enumerate(changes[1:], 2):
        programs = rolling.job(edges, str(number))
        if rollout.refused(world.shapes.values(), programs.values()):
            continue
        world.replan(programs)
        for _ in range(between):
            world.step(dice)
        if dice.random() < 0.5:  # wherever it is, it is given up
            world.replan(before)
        else:
            before = programs
        assert not world.settle(dice)
        assert rollout.done(world.state, world.shapes)
        assert all(world.state.owner(place) is not None for place in _planned(world))


def _planned(world: World) -> list[Partition]:
    segments = world.state.plan.segments if world.state.plan else ()
    return [Partition(segment.name, number) for segment in segments for number in range(segment.partitions)]


def test_who_changes_all_programs_at_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(3)  # noqa: S311 - dice of a test
    world = World.of(rolling.job({("a", "b"): "x"}))
    for _ in range(50):
        world.works(Partition("a", 0), dice)
    world.replan(rolling.job({("a", "b"): "y"}, "2"))
    monkeypatch.setattr(rollout._Change, "_is_drained", lambda *_: True)  # noqa: SLF001 - what is caught
    monkeypatch.setattr(rollout._Change, "_is_ready", lambda *_: True)  # noqa: SLF001
    assert world.settle(dice)
