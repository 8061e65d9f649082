"""The cheapest settings over all shapes, and how far what may be had goes.

The order of two plans that keep the promise:

1. slots and cores together, fewer first;
2. cores;
3. the predicted quantile, in tenths of the bound: less than that is within what the model is off by;
4. segments, fewer first; then the predicted quantile as it is, and then by name.

Shapes come by rising bound, so once a plan costs as little as the next shape can, and is in the first tenth, no other
can be better.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import NamedTuple

from spillway.controllers.costmodel import exact, resources
from spillway.controllers.latency.stations import SLACK
from spillway.controllers.planning import building, fitting, tuning
from spillway.controllers.planning.draft import LARGEST, Draft
from spillway.controllers.planning.fitting import Fitted, Limits
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Chaining, Problem
from spillway.controllers.planning.shapes import Bound, Operators, Shape
from spillway.controllers.planning.tuning import Effort

# Shapes that are fitted at the most, and operators in all of them: a fit takes some milliseconds for five operators
# and a fifth of a second for fifty.
SHAPES = 20
OPERATORS = 70

Candidates = Iterable[tuple[Bound, Shape]]


class Found(NamedTuple):
    """What a search found: the best, if any keeps the promise, and cheaper ones that came close and do not."""

    best: Fitted | None
    failed: tuple[Fitted, ...]


def cheapest(
    operators: Operators, candidates: Candidates, effort: Effort, room: Limits, start: Plan | None = None
) -> Found:
    """The best plan of these shapes, which come by rising bound."""
    best, failed, left = None, list[Fitted](), OPERATORS
    for tried, (bound, shape) in enumerate(_calm_first(operators, candidates)):
        if bound.slots > room.slots or bound.cores > room.cores or bound.cost > room.cost:
            continue
        if best is not None and not _may_win(bound, best):
            break
        if tried and (len(failed) >= SHAPES or left <= 0):
            break
        left -= len(shape.segments)
        limits = room if best is None else Limits(room.slots, room.cores, _worth(bound, best))
        fitted = fit(operators, shape, limits, effort, start)
        if not (fitted.feasible and room.allow(fitted.draft)):
            failed.append(fitted)
        elif best is None or key(fitted) < key(best):
            best = fitted
    return Found(best, tuple(failed))


def _calm_first(operators: Operators, candidates: Candidates) -> Candidates:
    """Of many operators, first the shape that is the most likely to be in time: what it costs bounds all others."""
    if len(operators.names) <= _FEW:
        return candidates
    known = list(candidates)
    calm = min(known, key=lambda candidate: (len(candidate[1].batches), candidate[0].cost), default=None)
    return [calm, *(candidate for candidate in known if candidate is not calm)] if calm else known


def key(fitted: Fitted) -> tuple[int, int, int, int, float, Shape]:
    """The order of the docstring above."""
    draft, quantile = fitted.draft, fitted.score.quantile
    shape = Shape(draft.shape.segments, draft.shape.batches)
    tenths = math.ceil(10 * quantile / draft.cap)
    return (fitted.cost, draft.cores, tenths, len(shape.segments), quantile, shape)


def _may_win(bound: Bound, best: Fitted) -> bool:
    return bound.cost <= _worth(bound, best)


def _worth(bound: Bound, best: Fitted) -> int:
    """What a plan of a shape may cost to win: as much as the best only with fewer cores, or where that is slow."""
    equal = bound.cores < best.draft.cores or (bound.cores == best.draft.cores and key(best)[2] > 1)
    return best.cost if equal else best.cost - 1


def fit(operators: Operators, shape: Shape, limits: Limits, effort: Effort, start: Plan | None = None) -> Fitted:
    """The cheapest settings of one shape, which hold without rounding; with frames of `start` to begin with."""
    if operators.problem.chaining is Chaining.NEVER:
        fitted = _thesis(operators, shape, limits)
        if fitted is not None:
            return fitted
    fitted = fitting.fit(operators, shape, limits, effort, start=start)
    if fitted.feasible and not building.holds(fitted.draft):  # used up to the last digit: ask for a digit less
        fitted = fitting.fit(operators, shape, limits, effort, tolerance=-SLACK, start=start)
    return fitted._replace(score=tuning.settle(fitted.draft, fitted.score))


def _thesis(operators: Operators, shape: Shape, limits: Limits) -> Fitted | None:
    """Algorithm 3 to the letter, if the bound allows its frames."""
    problem, draft = operators.problem, Draft(operators, shape)
    if shape.batches:
        return None
    share = 1 - exact.exact(problem.headroom)
    found = resources.minimise(draft.flow, problem.workload, problem.slot, headroom=share)
    if any((setting.frame or 1) > LARGEST for setting in found.settings.values()):
        found = resources.minimise(draft.flow, problem.workload, problem.slot, headroom=share, largest_frame=LARGEST)
    draft.begin(found.settings)
    if not limits.allow(draft):
        return None
    score = tuning.settle(draft, draft.score())
    return Fitted(draft, score) if score.keeps(draft.cap) and building.holds(draft) else None


def scaled(problem: Problem, factor: float) -> Problem:
    """The same with so many times the load."""
    workload = {name: exact.approximate(exact.exact(rate)) * factor for name, rate in problem.workload.items()}
    return dataclasses.replace(problem, workload=workload)


class Reach(NamedTuple):
    """The largest factor of the workload that was found to be possible, and how."""

    factor: float
    fitted: Fitted | None


# Shares of what slots alone could do at which a shape is tried, until one keeps the promise; then halving takes over.
_DOWN = (0.999, 0.97, 0.85, 0.6, 0.25, 0.1, 0.03, 0.01, 0.001)
_HALVINGS = 2
# Shapes that are tried for their reach: the one of the plan, the one with the fewest batches, which are late when the
# bound is tight, and the one whose bound grows slowest with the load.
_REACHING = 5
_FEW = 20  # operators; with more of them only one shape is tried, and with a coarser end


def reach(operators: Operators, candidates: list[tuple[Bound, Shape]], first: Shape | None, effort: Effort) -> Reach:
    """How much more, or less, of the workload what may be had can do within the bound.

    Latency is not monotone in the load, because frames fill faster when more comes; but frames are chosen anew for
    every factor, and the search comes from above, so what it finds is the end, and not a hole on the way to it.
    """
    problem = operators.problem
    if not any(operators.stations[name].rate for name in operators.stations):
        return Reach(math.inf, None)
    some = [shape for _, shape in candidates] if first is None else [first, *(shape for _, shape in candidates)]
    most = {shape: _most(operators, shape) for shape in dict.fromkeys(some)}
    calm = sorted(most, key=lambda shape: (len(shape.batches), -most[shape], shape))[:1]
    order = calm
    if len(operators.names) <= _FEW:
        widest = sorted(most, key=lambda shape: (-most[shape], shape))
        own = [] if first is None else [first]
        order = list(dict.fromkeys([*own, *calm, *widest]))[:_REACHING]
    best = Reach(0.0, None)
    for shape in order:
        if most[shape] <= best.factor:
            continue
        found = _reach(problem, shape, most[shape], best.factor, effort)
        if found.factor > best.factor:
            best = found
    return best


def _most(operators: Operators, shape: Shape) -> float:
    """The largest factor at which the bound of a shape is within the room."""
    room, low, high = operators.problem.room, 0.0, 1.0
    if not _fits(operators.bound(shape, 0.0), room.slots, room.cores):
        return 0.0
    while high < 1e9 and _fits(operators.bound(shape, high), room.slots, room.cores):
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        inside = _fits(operators.bound(shape, middle), room.slots, room.cores)
        low, high = (middle, high) if inside else (low, middle)
    return low


def _fits(bound: Bound, slots: float, cores: float) -> bool:
    return bound.slots <= slots and bound.cores <= cores


def _reach(problem: Problem, shape: Shape, most: float, least: float, effort: Effort) -> Reach:
    """How far one shape goes, if further than `least`."""
    best, above = Reach(least, None), most
    limits = Limits(problem.room.slots, problem.room.cores, math.inf)

    def at(factor: float) -> Fitted | None:
        fitted = fit(Operators(scaled(problem, factor)), shape, limits, effort)
        return fitted if fitted.feasible and limits.allow(fitted.draft) else None

    few = len(problem.flow.nodes) <= _FEW
    for share in _DOWN if few else _DOWN[1:]:
        factor = most * share
        if factor <= least:  # somebody else got there, so the end is between that and the last that failed
            break
        if (fitted := at(factor)) is not None:
            best = Reach(factor, fitted)
            break
        above = factor
    for _ in range((_HALVINGS if few else 1) if best.factor > 0 else 0):
        middle = (best.factor + above) / 2
        fitted = at(middle)
        best, above = (Reach(middle, fitted), above) if fitted is not None else (best, middle)
    return best
