"""Frames and deadlines of a draft: large enough that slots are, and as small as that allows.

A frame leaves D after its first record, with n = 1 + r·D records on average, r the rate of one buffer of its edge. An
edge with R records per second costs R·(c_fetch + c_emit)/n, and its records wait about D/2. To spend waiting where it
saves most, R·c·r/(1 + r·D)² is to be alike on all edges, so that n goes with R·√(c/buffers): about the same D for every
edge, and not the same size. So a *sweep* tries deadlines, from none up to the bound, the same for all edges; and a
*descent* from the best of them changes those of one segment after the other, on the worst way and in front of the
fullest slot, as long as that helps.

Frames that leave when they are full wait as long on average, but not as evenly: of two records, with D = 1/r, the wait
has a deviation of 0.32/r, and of 0.87/r in frames of two without a deadline. The bound is for a quantile, so frames
are given room to spare, and the deadline decides. It also keeps the promise when less comes than was planned for, if
all deadlines of the worst way and what the plan takes are within the bound; `settle` sees to that where it can.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from spillway.controllers.planning import texts
from spillway.controllers.planning.draft import Draft, Score

# What a change has to gain to be taken: less is not worth another look at the neighbours.
_GAIN = 0.002
_FACTORS = (0.5, 2.0, 0.8, 1.25, 0.95, 1.05)
_NEXT_TO_NONE = 0.25  # records that join the first: with so few, frames are hardly worth their wait


class Effort(NamedTuple):
    """How much is tried.

    Attributes:
        times: how many times to fill the sweep tries, each `ratio` times the one before, up to the bound.
        ratio: between two.
        changes: of frames of single segments that a descent tries.
        savings: of single slots, once a plan is found.
        steps: that add slots where no sweep keeps the promise. The first ones add one slot, later ones a quarter of
            what there is, so that 48 are enough to get from 1 to 10 000.
    """

    times: int
    ratio: float
    changes: int
    savings: int
    steps: int


# What is shorter than the floor of a draft counts as that, so these go from the bound to below every floor.
THOROUGH = Effort(12, 2.0, 200, 24, 48)
BRISK = Effort(6, 4.0, 40, 8, 10)
# For plans by the dozen.
QUICK = Effort(4, 8.0, 12, 0, 4)
# For those that start with the frames of another.
RESIZE = Effort(2, 32.0, 8, 0, 48)


def times(bound: float, effort: Effort) -> Iterator[float]:
    """To fill a frame: none, and then longer and longer ones."""
    yield 0.0
    yield from (bound / effort.ratio**i for i in reversed(range(effort.times)))


def fill(draft: Draft, time: float) -> None:
    """Frames that all leave after the same time."""
    for name in draft.framed():
        draft.hold(name, time)


def descend(draft: Draft, score: Score, changes: int) -> Score:
    """Change the frames of one segment at a time, as long as it helps."""
    moved = True
    while moved and changes > 0:
        moved = False
        for name in concerned(draft, score):
            for time in _others(draft, name):
                if changes <= 0:
                    return score
                before = draft.saved()
                changes -= 1
                draft.hold(name, time)
                found = draft.score()
                if better(found, score):
                    score, moved = found, True
                    break
                draft.restore(before)
    draft.score()
    return score


def _others(draft: Draft, name: str) -> Iterator[float]:
    """Times to try instead: much longer and shorter ones first."""
    time, rate = draft.held(name), draft.rate(name)
    if not rate:
        return
    if time:
        yield from (min(draft.cap, time * factor) for factor in _FACTORS)
        if rate * time < _NEXT_TO_NONE:
            yield 0.0
    else:
        yield _NEXT_TO_NONE / rate


def better(found: Score, score: Score) -> bool:
    """Whether it is enough better to go on from there."""
    if score.overload > 0:
        return found.overload < score.overload * (1 - _GAIN)
    return found.overload <= 0 and found.quantile < score.quantile * (1 - _GAIN)


def concerned(draft: Draft, score: Score) -> list[str]:
    """Segments whose frames matter: those of the fullest slot and whom they read; else those of the worst way."""
    framed = set(draft.framed())
    if score.overload > 0:
        found: set[str] = set()
        for name in fullest(draft):
            found |= {name, *(draft.flow.owners[output].name for output in draft.flow[name].inputs)}
        return sorted(found & framed)
    return [name for name in draft.path if name in framed]


def fullest(draft: Draft) -> tuple[str, ...]:
    """The segments of the fullest slot."""
    name = max(sorted(draft.segments), key=draft.fullness)
    return draft.shared.get(name, (name,))


def settle(draft: Draft, score: Score) -> Score:
    """Deadlines that keep the promise also when hardly anything comes, or the shortest that the plan can do with.

    With L edges at the most on a way and q promised now, a record that waits (bound - q)/L on each is still on time.
    """
    bound, longest = draft.cap, draft.longest
    if not longest or not score.keeps(bound):
        return score
    saved, time = draft.saved(), (bound - score.quantile) / longest
    while time < bound:
        draft.postpone({output: min(old, texts.rounded(time, 2)) for output, old in saved.deadlines.items()})
        found = draft.score()
        if found.keeps(bound):
            return found
        draft.restore(saved)
        time = max(2 * time, bound / 1000)
    return draft.score()
