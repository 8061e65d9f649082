"""The front door: the cheapest plan that keeps the promise, and why it is so.

`searching` says in which order plans are looked at and which of two is better, `fitting` finds slots and cores,
`tuning` frames and deadlines; `shortage` finds out what is in the way where nothing is feasible.
"""

from __future__ import annotations

import math

from spillway.controllers.planning import alternatives, building, checking, searching, shapes, shortage, texts, tuning
from spillway.controllers.planning.fitting import Fitted, Limits
from spillway.controllers.planning.plan import Plan, Planned, Reason
from spillway.controllers.planning.problem import Problem
from spillway.controllers.planning.shapes import Operators
from spillway.controllers.planning.tuning import Effort

# Operators up to which frames are tuned thoroughly: the effort grows with the square of how many there are.
FEW = 12


def plan(problem: Problem, *, keep: Plan | None = None) -> Planned:
    """The decision; with `keep`, its segments and paradigms stay, and only their settings are chosen anew."""
    refused = checking.refused(problem)
    if refused is not None:
        return refused
    operators = Operators(problem)
    unfit = checking.unfit(operators, keep)
    if unfit is not None:
        return unfit
    if keep is None:
        candidates = shapes.candidates(operators)
    else:
        shape = checking.kept(operators, keep)
        candidates = [(operators.bound(shape), shape)]
    room = Limits(problem.room.slots, problem.room.cores, math.inf)
    found = searching.cheapest(operators, candidates, effort(operators, keep), room, keep)
    if found.best is None:
        return shortage.explained(operators, candidates, found.failed, keep)
    up_to = None
    if keep is None:
        shape = found.best.draft.shape
        up_to = max(1.0, searching.reach(operators, candidates, shape, tuning.QUICK).factor)
    return _planned(operators, found.best, found.failed, up_to, keep)


def effort(operators: Operators, keep: Plan | None) -> Effort:
    """How much is tried."""
    if keep is not None:
        return tuning.RESIZE
    return tuning.THOROUGH if len(operators.names) <= FEW else tuning.BRISK


def _planned(
    operators: Operators, best: Fitted, failed: tuple[Fitted, ...], up_to: float | None, keep: Plan | None
) -> Planned:
    """The decision for a plan that keeps the promise."""
    problem, made = operators.problem, building.build(best.draft)
    told = [
        f"{texts.cost(made.slots, made.cores)} for {texts.load(problem, 1)}:",
        f"{texts.share(problem.promise.quantile)} of records within {texts.seconds(made.predicted)},",
        f"the bound is {texts.seconds(problem.promise.bound)}",
    ]
    lost = alternatives.brief(best) if keep is not None else alternatives.of(operators, best, failed)
    return Planned(
        True,
        made,
        Reason.CHEAPEST,
        " ".join(told),
        texts.inputs(problem),
        lost,
        alternatives.limits(best),
        up_to,
    )
