"""Frames and deadlines of a draft: large enough that slots are, and as small as that allows.

An edge with R records per second costs R·(c_fetch + c_emit)/n with n of them in a frame, and its records wait about
n/(2r), r the rate of one of its buffers. To spend a time to wait where it saves most, R·c·r/(1 + r·t)² is to be alike
on all edges, so that n = 1 + r·t goes with R·√(c/buffers): about the same time t for every edge, and not the same
size. So a *sweep* tries times to fill, from none up to the bound, the same for all edges; and a *descent* from the
best of them changes the frames of one segment after the other, on the worst way and in front of the fullest slot,
as long as that helps.

Full frames are better than deadlines of the same mean size: of two records each waits 1/(2r) on average instead of
3/(4r), and they come evenly. So frames are sized, and deadlines are for what the plan was not made for: when less
comes, a frame leaves so early that all deadlines of the worst way and what the plan takes are still within the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spillway.controllers.planning.draft import Draft, Score

# What a change has to gain to be taken: less is not worth another look at the neighbours.
_GAIN = 0.002


class Effort(NamedTuple):
    """How much is tried.

    Attributes:
        times: how many times to fill the sweep tries, each `ratio` times the one before, up to the bound.
        ratio: between two.
        changes: of frames of single segments that a descent tries.
        savings: of single slots, once a plan is found.
    """

    times: int
    ratio: float
    changes: int
    savings: int


# 2^16 below the bound (8 us of 500 ms) nothing is left to be gained by shorter times.
THOROUGH = Effort(16, 2.0, 200, 24)
BRISK = Effort(8, 4.0, 40, 8)
# For plans by the dozen.
QUICK = Effort(4, 8.0, 12, 0)
# For those that start with the frames of another.
RESIZE = Effort(2, 32.0, 8, 0)


def times(bound: float, effort: Effort) -> Iterator[float]:
    """To fill a frame: none, and then longer and longer ones."""
    yield 0.0
    yield from (bound / effort.ratio**i for i in reversed(range(effort.times)))


def fill(draft: Draft, time: float) -> None:
    """Frames that take as long to fill on the fastest edge out of their segment."""
    for name in draft.framed():
        frame = _frame(draft, name, 1 + draft.rate(name) * time)
        if frame != draft.settings[name].frame:
            draft.reframe(name, frame)


def rescale(draft: Draft, names: Iterable[str], factor: float) -> None:
    """Frames of these segments with so many times the records."""
    for name in names:
        draft.reframe(name, _frame(draft, name, (draft.settings[name].frame or 1) * factor))


def _frame(draft: Draft, name: str, records: float) -> int:
    return max(1, min(draft.largest[name], int(records)))


def descend(draft: Draft, score: Score, changes: int) -> Score:
    """Change one frame at a time, as long as it helps."""
    moved, factors = True, (2.0, 1.25, 1.0)
    while moved and changes > 0:
        moved = False
        for name in concerned(draft, score):
            for factor in factors:
                for frame in _sizes(draft, name, factor):
                    if changes <= 0:
                        return score
                    before = draft.settings[name].frame or 1
                    if frame == before:
                        continue
                    changes -= 1
                    draft.reframe(name, frame)
                    found = draft.score()
                    if better(found, score):
                        score, moved = found, True
                        break
                    draft.reframe(name, before)
    draft.score()
    return score


def _sizes(draft: Draft, name: str, factor: float) -> tuple[int, int]:
    frame = draft.settings[name].frame or 1
    if factor == 1:
        return _frame(draft, name, frame - 1), _frame(draft, name, frame + 1)
    return _frame(draft, name, frame / factor), _frame(draft, name, math.ceil(frame * factor))


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
    bound, longest = draft.cap, _longest(draft)
    if not longest or not score.keeps(bound):
        return score
    saved, time = draft.saved(), (bound - score.quantile) / longest
    while time < bound:
        draft.postpone({output: _round(min(old, time)) for output, old in saved.deadlines.items()})
        found = draft.score()
        if found.keeps(bound):
            return found
        draft.restore(saved)
        time = max(2 * time, bound / 1000)
    return draft.score()


def _longest(draft: Draft) -> int:
    """The most framed edges on a way."""
    depth: dict[str, int] = {}
    for node in draft.flow.nodes:
        before = (depth[draft.flow.owners[output].name] + (output in draft.deadlines) for output in node.inputs)
        depth[node.name] = max(before, default=0)
    return max(depth.values(), default=0)


def _round(time: float) -> float:
    """Down to two digits: nobody reads more."""
    if time < 1e-9:
        return time
    unit = 10.0 ** (math.floor(math.log10(time)) - 1)
    return float(f"{math.floor(time / unit * (1 + 1e-9)) * unit:.3g}")
