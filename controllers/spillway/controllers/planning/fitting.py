"""Slots and cores of a shape: as few as keep the promise.

A time to fill frames says all the rest: the frames, what segments need with these, hence their slots and cores, and
which segments with less than one slot fit on one together (the ones that need most first, each where it still fits:
first-fit decreasing). So the sweep over times (see `tuning`) gives plans that are large enough, with ever fewer slots
and ever longer waits; the cheapest that keeps the promise is taken. If none does, slots are added where that helps
most: to a segment of the worst way, or as a slot of its own for one that shares. From there the descent makes frames
better, and what turns out to be too much is taken back: a slot of one segment, or a slot of which others can take over
all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from spillway.controllers.latency.stations import SLACK
from spillway.controllers.planning import tuning
from spillway.controllers.planning.draft import Draft, Saved, Score
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Chaining
from spillway.controllers.planning.shapes import Operators, Shape, least
from spillway.controllers.planning.tuning import Effort

# Times that slots and frames are fitted to one another: with more slots there are more buffers, each takes longer to
# fill, and frames of the same time are smaller. It settles at once unless a segment is on the edge of one slot more.
_ROUNDS = 4
_SINGLE = 8  # changes that add one slot each; later ones add a quarter of what there is
# More than so many times the least helps no more: at half of what it can do, a slot has hardly a queue.
_ENOUGH = 2
# Segments of the worst way that are tried for one slot more: those where records stay the longest.
_LONGEST = 6
# Changes of frames for each slot that is tried to be saved.
_CHANGES = 40
# Slots too many that may still be saved: more than that has never been.
_SAVED = 2

Group = tuple[str, ...]
Change = Callable[[Draft], None]


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

    With `start`, its frames are tried too.
    """
    draft = Draft(operators, shape, tolerance=tolerance)
    score = _sweep(draft, limits, effort, start)
    bound = operators.bound(shape).cost
    if not score.keeps(draft.cap):
        score = tuning.descend(draft, score, effort.changes)
        enough = limits._replace(cost=min(limits.cost, _ENOUGH * bound + _SINGLE))
        score = _grow(draft, score, enough, effort)
    score = tuning.descend(draft, score, effort.changes)
    if score.keeps(draft.cap) and draft.slots + draft.cores <= limits.cost + _SAVED:
        score = _save(draft, score, effort, bound)
    return Fitted(draft, score)


def _sweep(draft: Draft, limits: Limits, effort: Effort, start: Plan | None) -> Score:
    """The cheapest of the plans that the times give; if none keeps the promise, the one that is the least late."""
    best: tuple[tuple[float, ...], Saved] | None = None
    for time in itertools.chain([None] if start is not None else [], tuning.times(draft.cap, effort)):
        _lay(draft, time, start, limits)
        score, allowed = draft.score(), limits.allow(draft)
        cost = draft.slots + draft.cores
        good = allowed and score.keeps(draft.cap)
        rank = (0.0, cost, score.quantile) if good else (1.0 if allowed else 2.0, *score, cost)
        if best is None or rank < best[0]:
            best = (rank, draft.saved())
    if best is not None:
        draft.restore(best[1])
    return draft.score()


def _lay(draft: Draft, time: float | None, start: Plan | None, limits: Limits) -> None:
    """Frames that take so long to fill, or those of `start`; slots and cores for these; groups that share a slot."""
    draft.share(())
    for _ in range(_ROUNDS):
        if time is not None:
            tuning.fill(draft, time)
        elif start is not None:
            draft.hold_as(start)
        wanted = {name: _needed(draft, name, limits) for name in draft.segments}
        changed = [name for name, slots in wanted.items() if slots != draft.settings[name].parallelism]
        for name in changed:
            draft.widen(name, wanted[name])
        if not changed:
            break
    draft.share(_packed(draft))


def _needed(draft: Draft, name: str, limits: Limits) -> int:
    """Slots for what a segment needs now; of cores, as many as one interval at least is long enough for."""
    if name not in draft.shape.batches:
        return int(max(1, min(least(draft.busy(name)), limits.slots, draft.limits.get(name, math.inf))))
    cores = least(draft.busy(name) / draft.speedups[name])
    while cores < limits.cores and not draft.in_time(name, int(cores)):
        cores += 1 if cores < _SINGLE else cores // 4
    return int(max(1, min(cores, limits.cores)))


def _packed(draft: Draft) -> list[Group]:
    """Segments of one slot together, as long as one slot is enough for all; on as few slots as first-fit decreasing.

    First fit leaves one slot full to the brim beside one that is half empty. So they are dealt out once more over as
    many slots, the ones that need most first, each to where there is most left; where that is enough, queues are short.
    """
    if draft.operators.problem.chaining is Chaining.NEVER:
        return []
    needs = {name: draft.busy(name) for name in draft.record if draft.settings[name].parallelism == 1}
    order = sorted(needs, key=lambda name: (-needs[name], name))
    fitted = _dealt(order, needs, 0)
    even = _dealt(order, needs, len(fitted))
    return [tuple(group) for group in (even if len(even) == len(fitted) else fitted)]


def _dealt(order: Iterable[str], needs: Mapping[str, float], slots: int) -> list[list[str]]:
    """To the emptiest of so many slots, or with none given to the first with enough left; and to others if need be."""
    groups, left = [list[str]() for _ in range(slots)], [1.0] * slots
    for name in order:
        places = [i for i, room in enumerate(left) if needs[name] <= room]
        if not places:
            places = [len(groups)]
            groups.append([])
            left.append(1.0)
        place = max(places, key=lambda i: (left[i], -i)) if slots else places[0]
        groups[place].append(name)
        left[place] -= needs[name]
    return groups


def _grow(draft: Draft, score: Score, limits: Limits, effort: Effort) -> Score:
    """One change after the other until the promise is kept, or nothing helps, or nothing more may be had."""
    best, saved, stuck = score, draft.saved(), 0
    for step in range(effort.steps):
        if score.keeps(draft.cap):
            return score
        tried = [(_tried(draft, change, limits), i, change) for i, change in enumerate(_more(draft, score, step))]
        possible = [(found, i, change) for found, i, change in tried if found is not None]
        if not possible or stuck > _SINGLE:
            break
        _apply(draft, score, sorted(possible, key=lambda option: option[:2]), limits)
        score = tuning.descend(draft, draft.score(), effort.changes // 4)
        stuck = 0 if score < best else stuck + 1
        if score < best:
            best, saved = score, draft.saved()
    if not score.keeps(draft.cap):
        draft.restore(saved)
    return draft.score()


def _apply(draft: Draft, score: Score, options: list[tuple[Score, int, Change]], limits: Limits) -> None:
    """The change that helps most, and those that help half as much by themselves."""
    options[0][2](draft)
    for found, _, change in options[1:]:
        gain = score.quantile - options[0][0].quantile
        if math.isfinite(gain) and score.quantile - found.quantile > gain / 2 and not draft.shared:
            saved = draft.saved()
            change(draft)
            if not limits.allow(draft):
                draft.restore(saved)


def _more(draft: Draft, score: Score, step: int) -> Iterator[Change]:
    """Changes that cost something and may help."""
    if score.overload > 0:
        names = list(tuning.fullest(draft))
    else:
        own = [name for name in draft.path if name in draft.segments]
        names = sorted(own, key=lambda name: (-draft.stay(name), name))[:_LONGEST]
    groups = {draft.shared[name] for name in names if name in draft.shared}
    for group in sorted(groups):
        yield from (_apart(name) for name in group)
    for name in names:
        if name not in draft.shared:
            now = draft.settings[name].parallelism
            yield _wider(name, now + (1 if step < _SINGLE else max(1, now // 4)))


def _wider(name: str, parallelism: int) -> Change:
    """More or fewer slots, and frames that are held as long as before, with fewer or more records."""

    def change(draft: Draft) -> None:
        draft.widen(name, parallelism)
        for other in sorted(({name} | draft.reads(name)) & set(draft.framed())):
            draft.hold(other, draft.held(other))

    return change


def _apart(name: str) -> Change:
    def change(draft: Draft) -> None:
        groups = set(draft.shared.values())
        draft.share([tuple(member for member in group if member != name) for group in groups])

    return change


def _together(one: Group, other: Group) -> Change:
    def change(draft: Draft) -> None:
        groups = {group for group in draft.shared.values() if group not in (one, other)}
        draft.share([*sorted(groups), (*one, *other)])

    return change


def _tried(draft: Draft, change: Change, limits: Limits) -> Score | None:
    """How good it would be; None when it is more than may be had."""
    saved, path = draft.saved(), draft.path
    change(draft)
    score = draft.score() if limits.allow(draft) else None
    draft.restore(saved)
    draft.path = path
    return score


def _save(draft: Draft, score: Score, effort: Effort, bound: float) -> Score:
    """Take back, slot by slot, what is not needed, until it costs the least that its shape can."""
    tries, saving = effort.savings, True
    while saving and tries > 0 and draft.slots + draft.cores > bound:
        saving = False
        for change in itertools.islice(_fewer(draft), tries):
            saved, tries = draft.saved(), tries - 1
            change(draft)
            found = tuning.descend(draft, draft.score(), min(_CHANGES, effort.changes))
            if found.keeps(draft.cap):
                score, saving = found, True
                break
            draft.restore(saved)
    if not saving:
        draft.score()
    return score


def _fewer(draft: Draft) -> Iterable[Change]:
    """Changes that save a slot or core, and that frames might make possible; the most likely first."""
    share, found = draft.operators.share, list[tuple[float, str, Change]]()
    needs = {name: draft.operators.need(draft.segments[name]) / share for name in draft.segments}
    for name in draft.segments:
        fewer, speedup = draft.settings[name].parallelism - 1, draft.speedups.get(name, 1.0)
        if fewer >= least(needs[name] / speedup):
            found.append((needs[name] / speedup / fewer, name, _wider(name, fewer)))
    if draft.operators.problem.chaining is not Chaining.NEVER:
        single = {draft.shared.get(name, (name,)) for name in draft.record if draft.settings[name].parallelism == 1}
        for one, other in itertools.combinations(sorted(single), 2):
            need = math.fsum(needs[name] for name in (*one, *other))
            if need <= 1:
                found.append((need, one[0], _together(one, other)))
    return (change for _, _, change in sorted(found, key=lambda option: option[:2]))
