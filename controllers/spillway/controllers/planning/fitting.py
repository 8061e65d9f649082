"""Slots and cores of a shape: as few as keep the promise.

It begins with what no frames can spare (see `shapes`), with segments of one slot packed together, first the ones that
need most (first-fit decreasing), and tunes the frames. While that does not keep the promise, the one change that helps
most is made: one slot more for a segment on the fullest slot or on the worst way, or a slot of its own for one that
shares. At the end what turned out to be too much is taken back, slot by slot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from spillway.controllers.latency.stations import SLACK
from spillway.controllers.planning import tuning
from spillway.controllers.planning.draft import Draft, Score
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Chaining
from spillway.controllers.planning.shapes import Operators, Shape, least
from spillway.controllers.planning.tuning import Effort

# Changes that add slots, at the most. The first eight add one, later ones a quarter of what there is, so this is
# enough to get from 1 to 10 000.
STEPS = 48

Group = tuple[str, ...]


class Limits(NamedTuple):
    """What a plan may cost: in slots, in cores, and in all; what costs more is no use."""

    slots: float
    cores: float
    cost: float

    def allow(self, draft: Draft) -> bool:
        """Whether it is within them."""
        return draft.slots <= self.slots and draft.cores <= self.cores and draft.slots + draft.cores <= self.cost


class Fitted(NamedTuple):
    """A draft with the best settings that were found for it."""

    draft: Draft
    score: Score

    @property
    def feasible(self) -> bool:
        """Whether it keeps the promise."""
        return self.score.keeps(self.draft.cap)

    @property
    def cost(self) -> int:
        """Slots and cores."""
        return self.draft.slots + self.draft.cores


def fit(
    operators: Operators,
    shape: Shape,
    limits: Limits,
    effort: Effort,
    *,
    tolerance: float = SLACK,
    start: Plan | None = None,
) -> Fitted:
    """The fewest slots for a shape; what comes closest when nothing within the limits is enough.

    With `start`, its frames are the first that are tried.
    """
    draft = Draft(operators, shape, tolerance=tolerance)
    for head in draft.segments:
        draft.widen(head, _fewest(operators, draft, head, limits))
    draft.share(packed(draft, 1.0))
    if start is not None:
        for name in draft.framed():
            draft.reframe(name, min(start[name].frame or 1, draft.largest[name]))
    score = tuning.tune(draft, effort, warm=start is not None)
    return _trim(*_grow(draft, score, limits, effort), limits, effort)


def _fewest(operators: Operators, draft: Draft, head: str, limits: Limits) -> int:
    need = operators.need(draft.segments[head]) / operators.share
    if head in draft.shape.batches:
        return int(min(least(need / draft.speedups[head]), max(1, limits.cores)))
    return int(min(least(need), max(1, limits.slots), draft.limits.get(head, math.inf)))


def packed(draft: Draft, filled: float) -> list[Group]:
    """First-fit decreasing: segments of one slot together, as long as they fill no more than this part of it."""
    if draft.operators.problem.chaining is Chaining.NEVER:
        return []
    single = [name for name in draft.record if draft.settings[name].parallelism == 1]
    needs = {name: draft.operators.need(draft.segments[name]) / draft.operators.share for name in single}
    groups: list[list[str]] = []
    left: list[float] = []
    for name in sorted(single, key=lambda name: (-needs[name], name)):
        place = next((i for i, room in enumerate(left) if needs[name] <= room), None)
        if place is None:
            groups.append([name])
            left.append(filled - needs[name])
        else:
            groups[place].append(name)
            left[place] -= needs[name]
    return [tuple(group) for group in groups]


def _grow(draft: Draft, score: Score, limits: Limits, effort: Effort) -> tuple[Draft, Score]:
    """One change after the other until the promise is kept, or nothing helps, or nothing more may be had."""
    best, saved = score, draft.saved()
    for step in range(STEPS):
        if score.keeps(draft.cap):
            return draft, score
        options = [option for option in _more(draft, score, step) if _allowed(draft, option, limits)]
        if not options:
            break
        found = min((_tried(draft, option), i) for i, option in enumerate(options))
        options[found[1]](draft)
        score = tuning.tune(draft, effort, warm=True)
        if score < best:
            best, saved = score, draft.saved()
    if score.keeps(draft.cap):
        return draft, score
    draft.restore(saved)
    return draft, draft.score()


Change = Callable[[Draft], None]


def _more(draft: Draft, score: Score, step: int) -> Iterator[Change]:
    """Changes that cost something and may help."""
    names = tuning.fullest(draft) if score.overload > 0 else [name for name in draft.path if name in draft.segments]
    groups = {draft.shared[name] for name in names if name in draft.shared}
    for group in sorted(groups):
        yield from (_apart(name) for name in group)
    for name in names:
        if name not in draft.shared:
            now = draft.settings[name].parallelism
            yield _wider(name, now + (1 if step < 8 else max(1, now // 4)))


def _wider(name: str, parallelism: int) -> Change:
    return lambda draft: draft.widen(name, parallelism)


def _apart(name: str) -> Change:
    def change(draft: Draft) -> None:
        groups = set(draft.shared.values())
        draft.share([tuple(member for member in group if member != name) for group in groups])

    return change


def _allowed(draft: Draft, change: Change, limits: Limits) -> bool:
    saved = draft.saved()
    change(draft)
    allowed = limits.allow(draft) and all(
        draft.settings[name].parallelism <= limit for name, limit in draft.limits.items()
    )
    draft.restore(saved)
    return allowed


def _tried(draft: Draft, change: Change) -> Score:
    saved = draft.saved()
    change(draft)
    score = draft.score()
    draft.restore(saved)
    draft.score()  # so that its path is the one of the draft again
    return score


def _trim(draft: Draft, score: Score, limits: Limits, effort: Effort) -> Fitted:
    """Take back, slot by slot, what is not needed; the widest segment first."""
    if not score.keeps(draft.cap):
        return Fitted(draft, score)
    trimmed = True
    while trimmed:
        trimmed = False
        wide = [name for name in draft.segments if draft.settings[name].parallelism > _floor(draft, name, limits)]
        for name in sorted(wide, key=lambda name: (-draft.settings[name].parallelism, name)):
            saved = draft.saved()
            draft.widen(name, draft.settings[name].parallelism - 1)
            found = tuning.tune(draft, effort, warm=True)
            if found.keeps(draft.cap):
                score, trimmed = found, True
                break
            draft.restore(saved)
    return Fitted(draft, score)


def _floor(draft: Draft, name: str, limits: Limits) -> int:
    return _fewest(draft.operators, draft, name, limits)
