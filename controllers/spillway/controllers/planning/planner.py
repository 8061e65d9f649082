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
from spillway.controllers.planning.searching import Reach
from spillway.controllers.planning.shapes import Operators
from spillway.controllers.planning.tuning import Effort

# Operators up to which frames are tuned thoroughly: the effort grows with the square of how many there are.
FEW = 12
# Of the load, where it was found to be possible with more and not with all of it.
_ALMOST = 0.999


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
    best = found.best
    if best is not None and keep is not None:
        return _planned(operators, best, found.failed, None, keep)
    reach = searching.reach(operators, candidates, best.draft.shape if best else None, tuning.QUICK)
    if best is None and reach.factor >= 1:
        best = _with_less(operators, reach)
    if best is None:
        reach = reach._replace(factor=min(reach.factor, _ALMOST))
        return shortage.explained(operators, candidates, found.failed, reach, keep)
    return _planned(operators, best, found.failed, max(1.0, reach.factor), keep)


def _with_less(operators: Operators, reach: Reach) -> Fitted | None:
    """What was found for more load, if it keeps the promise with less: frames wait longer then."""
    if reach.fitted is None:
        return None
    draft = shortage.transplanted(operators, reach.fitted)
    fitted = Fitted(draft, draft.score())
    return fitted if fitted.feasible and building.holds(draft) else None


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
