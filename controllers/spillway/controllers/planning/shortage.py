"""What is in the way where no plan keeps the promise, and the plan that gets the most through all the same.

It is found out by asking again with less in the way: with as many slots and cores as it takes, then also with as many
partitions as it takes. What makes it feasible was missing; if nothing does, the bound is too tight.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from spillway.controllers.explain import Alternative
from spillway.controllers.planning import building, searching, texts, tuning
from spillway.controllers.planning.draft import Draft
from spillway.controllers.planning.fitting import Fitted, Limits
from spillway.controllers.planning.plan import Plan, Planned, Reason
from spillway.controllers.planning.problem import Promise
from spillway.controllers.planning.searching import Reach
from spillway.controllers.planning.shapes import Bound, Operators, Shape

Candidates = list[tuple[Bound, Shape]]

_ANY = Limits(math.inf, math.inf, math.inf)
# Shapes that are asked again with less in the way; the cheapest first, so the first that is feasible says it all.
_AGAIN = 3
_PATIENT = 3600.0  # seconds: a bound that asks for nothing but that all gets through


def explained(
    operators: Operators, candidates: Candidates, failed: Sequence[Fitted], reach: Reach, keep: Plan | None
) -> Planned:
    """The decision; `reach` is how much of the load is possible."""
    reason, enough = _reason(operators, candidates)
    fitted = reach.fitted or _patient(operators, candidates).fitted
    draft = transplanted(operators, fitted) if fitted is not None else _least(operators, candidates)
    sentence = f"infeasible: {_sentence(operators, reason, enough, draft, reach)}"
    if keep is not None:
        sentence += "; segments and paradigms were kept, so plan again without"
    limits = tuple(limit for limit in dict.fromkeys(_limits(operators, draft)) if limit != sentence)
    lost = [Alternative(texts.cost(f.draft.slots, f.draft.cores), _late(f)) for f in failed[:1]]
    return Planned(
        False,
        building.build(draft),
        reason,
        sentence,
        texts.inputs(operators.problem),
        tuple(lost),
        limits,
        reach.factor,
    )


def _reason(operators: Operators, candidates: Candidates) -> tuple[Reason, Fitted | None]:
    """What is missing, and a plan that would be enough."""
    problem = operators.problem
    possible = [candidate for candidate in candidates if math.isfinite(candidate[0].cost)]
    enough = searching.cheapest(operators, possible[:_AGAIN], tuning.QUICK, _ANY).best
    if enough is not None and enough.draft.slots > problem.room.slots:
        return Reason.NEEDS_SLOTS, enough
    if enough is not None and enough.draft.cores > problem.room.cores:
        return Reason.NEEDS_CORES, enough
    if problem.partitions:
        free = Operators(dataclasses.replace(problem, partitions={}))
        again = [(free.bound(shape), shape) for _, shape in candidates]
        again.sort(key=lambda candidate: (candidate[0].cost, candidate[1].segments))
        enough = searching.cheapest(free, again[:_AGAIN], tuning.QUICK, _ANY).best
        if enough is not None:
            return Reason.NEEDS_PARTITIONS, enough
    return Reason.BOUND_TOO_TIGHT, None


def _patient(operators: Operators, candidates: Candidates) -> Reach:
    """The most that gets through, however long it takes."""
    problem = operators.problem
    promise = Promise(max(_PATIENT, problem.promise.bound), problem.promise.quantile)
    return searching.reach(Operators(dataclasses.replace(problem, promise=promise)), candidates, None, tuning.QUICK)


def transplanted(operators: Operators, fitted: Fitted) -> Draft:
    """Settings that were found for another load, under the one that was asked for."""
    draft = Draft(operators, fitted.draft.shape)
    draft.restore(fitted.draft.saved())
    draft.score()
    return draft


def _least(operators: Operators, candidates: Candidates) -> Draft:
    """One slot, or core, for each segment: nothing can be had, so this is only to show what is asked for."""
    draft = Draft(operators, candidates[0][1])
    draft.score()
    return draft


def _sentence(operators: Operators, reason: Reason, enough: Fitted | None, draft: Draft, reach: Reach) -> str:
    problem = operators.problem
    asked = texts.load(problem, 1)
    up_to = f"the bound holds up to {texts.load(problem, reach.factor)}" if reach.factor else "it holds at no load"
    if enough is None:
        return _tight(operators, draft)
    if reason is Reason.NEEDS_PARTITIONS:
        return _partitions(operators, enough, up_to)
    slots = reason is Reason.NEEDS_SLOTS
    allowed = problem.room.slots if slots else problem.room.cores
    settings = texts.WORKERS if slots else texts.EXECUTORS
    what, total = ("slots", enough.draft.slots) if slots else ("cores", enough.draft.cores)
    heads = [h for h in enough.draft.segments if (h in enough.draft.shape.batches) is not slots]
    needs = {head: enough.draft.fullness(head) * enough.draft.settings[head].parallelism for head in heads}
    largest = max(sorted(needs), key=needs.__getitem__)
    if needs[largest] > allowed:
        need = f"`{largest}` needs {needs[largest]:.1f} {what} at {asked}"
    else:
        need = f"{total} {what} are needed at {asked}, {needs[largest]:.1f} of them by `{largest}`,"
    return f"{need} and {settings} allow {allowed}; with {allowed} {up_to}"


def _partitions(operators: Operators, enough: Fitted, up_to: str) -> str:
    for head in enough.draft.segments:
        limit, wanted = operators.limit(head), enough.draft.settings[head].parallelism
        if head in enough.draft.record and limit is not None and wanted > limit:
            return (
                f"`{head}` needs {texts.count(wanted, 'slot')} at {texts.load(operators.problem, 1)} and its topic has "
                f"{texts.count(limit, 'partition')}, each read by one slot; {up_to}; add partitions"
            )
    return f"topics have too few partitions; {up_to}"


def _tight(operators: Operators, draft: Draft) -> str:
    promise = operators.problem.promise
    quantile = draft.quantile()
    if math.isinf(quantile):
        return (
            f"nothing keeps {texts.share(promise.quantile)} of records within {texts.seconds(promise.bound)}, however "
            "many slots there are; raise the bound"
        )
    worst = " → ".join(draft.path[:8])
    return (
        f"{texts.share(promise.quantile)} of records take up to {texts.seconds(quantile)} on the way {worst}, and the "
        f"bound is {texts.seconds(promise.bound)}; more slots do not help: raise the bound or lower the quantile"
    )


def _limits(operators: Operators, draft: Draft) -> list[str]:
    """Everything that is in the way, of the plan that gets the most through."""
    found: list[str] = []
    for name in draft.segments:
        limit = draft.limits.get(name)
        need = operators.need(draft.segments[name]) / operators.share
        if limit is not None and need > limit:
            found.append(f"`{name}` needs {need:.1f} slots, and its topic has {texts.count(limit, 'partition')}")
    if (slots := draft.slots) >= operators.problem.room.slots:
        allowed = texts.count(operators.problem.room.slots, "slot")
        found.append(f"{texts.WORKERS} allow {allowed}, and {slots} are used")
    if operators.problem.schedule is None:
        found.append("there is no batch engine, so nothing can go to batches")
    return found


def _late(fitted: Fitted) -> str:
    if fitted.score.overload > 0:
        return f"the fullest slot would have {texts.share(fitted.score.overload)} more to do than it may"
    return f"predicted are {texts.seconds(fitted.score.quantile)}"
