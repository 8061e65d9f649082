"""All that can happen to a move, one state after the other: every way of a small world, or long ways of a larger one.

Driven are the state machines of `spillway.controllers.protocol` themselves. In every state must hold:

    right      each record is applied exactly once and in order, by every reader
    single     a partition has one owner under one epoch
    fence      a takeover reads a committed offset only behind the fence, and starts there
    progress   nothing is stuck: from every state all records can still be applied, without a further fault
"""

from __future__ import annotations

import array
import collections
import dataclasses
import random

from explored_brokers import State
from explored_config import Config
from explored_edges import Wrong
from explored_world import World

STUCK = "stuck: nothing more happens by itself, and not all is applied"
FAULTY = 0.1  # of the steps of a random way, as long as the budget lasts: so that faults come at all times


@dataclasses.dataclass(frozen=True)
class Found:
    """What came of it.

    Attributes:
        states: how many were reached.
        ends: how many of them nothing follows.
        whole: whether that were all of them.
        problem: what is wrong; empty if nothing is.
        trail: how it came to that.
    """

    states: int
    ends: int
    whole: bool
    problem: str = ""
    trail: tuple[str, ...] = ()

    def __str__(self) -> str:
        extent = "all" if self.whole else "the first"
        told = f"{extent} {self.states} states, {self.ends} ends: {self.problem or 'every one is right'}"
        return "\n  ".join([told, *self.trail])


def explore(config: Config, most: int = 1_000_000) -> Found:
    """Every state that can be reached, the nearest first, until one is wrong or `most` were seen."""
    world = World(config)
    first = world.begin()
    numbers: dict[State, int] = {first: 0}
    states: list[State] = [first]
    came: list[tuple[int, str]] = [(0, "")]
    back: list[array.array[int]] = [array.array("l")]  # by state, those from which a step without a fault leads there
    good: list[int] = []
    at = ends = 0
    while at < len(states) and len(states) < most:
        state = states[at]
        free = 0
        try:
            world.check(state)
            for text, after, costs_nothing in world.steps(state):
                number = numbers.get(after)
                if number is None:
                    number = numbers[after] = len(states)
                    states.append(after)
                    came.append((at, text))
                    back.append(array.array("l"))
                if costs_nothing and number != at:
                    free += 1
                    back[number].append(at)
        except Wrong as wrong:
            return Found(len(states), ends, False, str(wrong), (*_trail(came, at), world.now))
        if world.complete(state):
            good.append(at)
        elif not free:
            return Found(
                len(states),
                ends,
                False,
                STUCK,
                _trail(came, at),
            )
        ends += not free
        at += 1
    whole = at == len(states)
    hopeless = _hopeless(back, good) if whole else None
    if hopeless is not None:
        return Found(len(states), ends, True, "from here on not all can be applied", _trail(came, hopeless))
    return Found(len(states), ends, whole)


def _hopeless(back: list[array.array[int]], good: list[int]) -> int | None:
    """The first state from which no step without a fault leads towards a state where all is applied."""
    reaches = bytearray(len(back))
    todo = collections.deque(good)
    for number in good:
        reaches[number] = 1
    while todo:
        for number in back[todo.popleft()]:
            if not reaches[number]:
                reaches[number] = 1
                todo.append(number)
    missed = reaches.find(0)
    return None if missed < 0 else missed


def _trail(came: list[tuple[int, str]], at: int) -> tuple[str, ...]:
    texts = []
    while at:
        at, text = came[at]
        texts.append(text)
    return tuple(reversed(texts))


def wander(config: Config, dice: random.Random, walks: int, longest: int = 600) -> Found:
    """Random ways through a world that is too large to be seen whole; each ends when all is applied and calm."""
    world = World(config)
    first = world.begin()
    steps = 0
    for _ in range(walks):
        state, texts = first, list[str]()
        for _ in range(longest):
            try:
                world.check(state)
                offered = list(world.steps(state))
            except Wrong as wrong:
                return Found(steps, 0, False, str(wrong), (*texts, world.now))
            free = [one for one in offered if one.free]
            if not free:
                if world.complete(state):
                    break
                return Found(steps, 0, False, STUCK, tuple(texts))
            costly = [one for one in offered if not one.free]
            step = dice.choice(costly if costly and dice.random() < FAULTY else free)
            texts.append(step.text)
            state = step.state
            steps += 1
    return Found(steps, walks, False)
