"""Moves under everything that can happen: all interleavings of small worlds, random ways through larger ones."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import explorer
import fuzzing
from explored_config import Config
from explored_worlds import LARGE, WHOLE, WIDE, WITHOUT

PAGE = (Path(__file__).parents[2] / "docs/explanation/moves.md").read_text()
MOST = 1_000_000  # states of one world: about a kilobyte each


@pytest.mark.parametrize("name", WHOLE)
def test_every_state_of_a_small_world_is_right(name: str) -> None:
    found = explorer.explore(WHOLE[name])

    assert not found.problem, str(found)
    assert found.whole
    assert f"| {name} | {found.states:,} |" in PAGE, f"the page tells another number than {found.states:,}"


@pytest.mark.parametrize("rule", WITHOUT)
def test_without_a_rule_something_goes_wrong(rule: str) -> None:
    found = explorer.explore(WITHOUT[rule], most=100_000)

    assert found.problem
    assert found.trail
    print(f"without {rule}: {found}")  # noqa: T201 - with `pytest -s`, the counterexample in words


@pytest.mark.parametrize("rule", [name for name in WITHOUT if name not in ("lead", "together")])
def test_with_the_rule_the_same_world_is_right(rule: str) -> None:
    whole = Config()
    with_it = WITHOUT[rule]
    found = explorer.explore(
        Config(**{**vars(with_it), "keep": whole.keep, "order": True, "retain": True, "together": True}), most=2_000
    )

    assert not found.problem, str(found)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", LARGE)
def test_the_beginning_of_a_large_world_is_right(name: str) -> None:
    found = explorer.explore(LARGE[name], most=min(2_000 * fuzzing.FACTOR, MOST))

    assert not found.problem, str(found)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", WIDE)
def test_random_ways_through_a_wide_world_are_right(name: str) -> None:
    seed = fuzzing.seed()
    found = explorer.wander(WIDE[name], random.Random(seed), 5 * fuzzing.FACTOR)  # noqa: S311 - a test, no secret

    assert not found.problem, f"SPILLWAY_SEED={seed}: {found}"


def test_random_ways_find_what_is_wrong() -> None:
    found = explorer.wander(WITHOUT["position"], random.Random(1), walks=200)  # noqa: S311 - a test, no secret

    assert found.problem


def test_the_same_world_is_explored_in_the_same_way() -> None:
    world = WITHOUT["flush"]

    assert explorer.explore(world) == explorer.explore(world)
