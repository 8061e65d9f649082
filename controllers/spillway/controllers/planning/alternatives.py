"""What could have been planned instead, and why it lost.

One slot less on the fullest segment, the next cheaper shape, another grouping, the other paradigm: each is really
tried, with the same search, and what is told is what came out of it.
"""

from __future__ import annotations

import math

from spillway.controllers.explain import Alternative
from spillway.controllers.planning import fitting, texts, tuning
from spillway.controllers.planning.draft import Draft, Score
from spillway.controllers.planning.fitting import Fitted, Limits
from spillway.controllers.planning.problem import Chaining
from spillway.controllers.planning.shapes import Operators, Segments, Shape
from spillway.model.operators import Paradigm

_TOLD = 6  # segments of a shape: more would be no sentence
_ANY = Limits(math.inf, math.inf, math.inf)


def of(operators: Operators, best: Fitted, failed: tuple[Fitted, ...]) -> tuple[Alternative, ...]:
    """All that is worth to be told."""
    return (*brief(best), *_cheaper(best, failed), *_grouped(operators, best), *_paradigms(operators, best))


def brief(best: Fitted) -> tuple[Alternative, ...]:
    """A slot, or core, less for the segment that has several and is the fullest."""
    draft = best.draft
    wide = [name for name in sorted(draft.segments) if draft.settings[name].parallelism > 1]
    if not wide:
        return ()
    name = max(wide, key=draft.fullness)
    saved, fewer = draft.saved(), draft.settings[name].parallelism - 1
    draft.widen(name, fewer)
    score, full = draft.score(), draft.fullness(name)
    draft.restore(saved)
    what = texts.count(fewer, "core" if name in draft.shape.batches else "slot")
    why = f"it would be {texts.share(full)} full" if score.overload > 0 else _too_late(draft, score)
    return (Alternative(f"{what} for `{name}`", why + _of_usable(draft, score)),)


def limits(best: Fitted) -> tuple[str, ...]:
    """What a plan that keeps the promise stands on, or is close to."""
    draft = best.draft
    problem, found = draft.operators.problem, list[str]()
    for name, limit in sorted(draft.limits.items()):
        if draft.settings[name].parallelism == limit:
            found.append(
                f"`{name}` can't have more than {texts.count(limit, 'slot')}: its topic has no more partitions"
            )
    if draft.slots == problem.room.slots:
        found.append(f"{texts.WORKERS} allow {texts.count(draft.slots, 'slot')}, and all are used")
    if problem.chaining is Chaining.NEVER and problem.headroom == 0:
        name = max(sorted(draft.segments), key=draft.fullness)
        found.append(
            f"without headroom, rates and costs are taken not to vary; `{name}` is busy "
            f"{draft.fullness(name) * 100:.6g} % of the time, and when they do vary its queue is long: keep headroom"
        )
    return tuple(found)


def _of_usable(draft: Draft, score: Score) -> str:
    headroom = draft.operators.problem.headroom
    return f" with {texts.share(headroom)} kept free" if score.overload > 0 and headroom else ""


def _too_late(draft: Draft, score: Score) -> str:
    promise = draft.operators.problem.promise
    if math.isinf(score.quantile):
        return "its queue would grow for ever"
    return (
        f"{texts.share(promise.quantile)} of records would be within {texts.seconds(score.quantile)}, "
        f"and the bound is {texts.seconds(promise.bound)}"
    )


def _why(fitted: Fitted, best: Fitted) -> str:
    """What is wrong with another plan."""
    draft, score = fitted.draft, fitted.score
    if score.overload > 0:
        name = tuning.fullest(draft)[0]
        return f"`{name}` would be {texts.share(draft.fullness(name))} full{_of_usable(draft, score)}"
    if not fitted.feasible:
        return _too_late(draft, score)
    if fitted.cost != best.cost or draft.cores != best.draft.cores:
        return f"{texts.cost(draft.slots, draft.cores)}, instead of {texts.cost(best.draft.slots, best.draft.cores)}"
    late, now = texts.seconds(score.quantile), texts.seconds(best.score.quantile)
    return f"it costs as much, and predicted are {late}, instead of {now}, with {len(draft.segments)} segments"


def _cheaper(best: Fitted, failed: tuple[Fitted, ...]) -> list[Alternative]:
    """The shape that would have been the cheapest and does not keep the promise."""
    cheaper = [fitted for fitted in failed if fitted.cost < best.cost]
    if not cheaper:
        return []
    closest = min(cheaper, key=lambda fitted: (fitted.score, fitted.cost))
    draft = closest.draft
    return [Alternative(f"{told(draft.shape)} for {texts.cost(draft.slots, draft.cores)}", _why(closest, best))]


def told(shape: Shape) -> str:
    """The segments of a shape."""
    parts = ["+".join(segment) + (" in batches" if segment[0] in shape.batches else "") for segment in shape.segments]
    more = len(parts) - _TOLD
    return ", ".join(f"`{part}`" for part in parts[:_TOLD]) + (f" and {more} more" if more > 0 else "")


def _tried(operators: Operators, shape: Shape) -> Fitted:
    return fitting.fit(operators, shape, _ANY, tuning.QUICK)


def _grouped(operators: Operators, best: Fitted) -> list[Alternative]:
    """The first joint the other way round; and what can never be fused."""
    shape, found = best.draft.shape, list[Alternative]()
    inside = {name for segment in shape.segments for name in segment[1:]}
    for name in operators.names:
        parent = operators.parents.get(name)
        if parent is not None:
            joined = name in inside
            cuts = {joint for joint in operators.parents if joint not in inside} ^ {name}
            other = _as(operators, operators.segments(cuts), shape)
            if other is not None:
                what = f"`{parent}` and `{name}` {'apart' if joined else 'fused'}"
                found.append(Alternative(what, _why(_tried(operators, other), best)))
                break
    keyed = [n for n in operators.names if operators.traits(n).keyed and operators.flow[n].inputs]
    read = [n for n in keyed if not operators.flow.owners[operators.flow[n].inputs[0]].is_source]
    if read and operators.problem.chaining is Chaining.AUTO:
        why = "its input comes by key, so from several slots to one"
        found.append(Alternative(f"`{read[0]}` fused with what it reads", why))
    return found


def _as(operators: Operators, segments: Segments, shape: Shape) -> Shape | None:
    """These segments, each in batches if its head was in a segment that is; None if they may not."""
    batches = {name for segment in shape.segments if segment[0] in shape.batches for name in segment}
    heads = frozenset(segment[0] for segment in segments if segment[0] in batches)
    for segment in segments:
        wanted = Paradigm.BATCH if segment[0] in heads else Paradigm.RECORD
        if wanted not in operators.possible(segment):
            return None
    return Shape(segments, heads)


def _paradigms(operators: Operators, best: Fitted) -> list[Alternative]:
    """The segment that needs most, in the other paradigm."""
    shape = best.draft.shape
    if operators.problem.schedule is None:
        return [Alternative("batches", "there is no batch engine: executors.max is 0")]
    free = [segment for segment in shape.segments if len(operators.possible(segment)) > 1]
    if not free:
        return [Alternative("the other paradigm", "every segment is pinned, or may not run in batches")]
    largest = max(free, key=lambda segment: (operators.need(segment), segment))[0]
    fitted = _tried(operators, Shape(shape.segments, shape.batches ^ {largest}))
    what = f"`{largest}` {'record by record' if largest in shape.batches else 'in batches'}"
    room = operators.problem.room
    if fitted.feasible and fitted.draft.cores > room.cores:
        cores = texts.count(fitted.draft.cores, "core")
        return [Alternative(what, f"{cores}, and {texts.EXECUTORS} allow {room.cores}")]
    return [Alternative(what, _why(fitted, best))]
