"""What makes no sense is not planned, and nothing here is trusted: rates and costs are measured.

A rate that is missing, no number or negative, a promise that nobody could keep or break, more than can be counted: the
answer is a decision with the reason `INVALID` and what is wrong; pins that contradict each other give `NO_BATCHES`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from spillway.controllers.costmodel import flow as flows
from spillway.controllers.explain import Inputs
from spillway.controllers.planning import texts
from spillway.controllers.planning.plan import Plan, Planned, Reason
from spillway.controllers.planning.problem import Problem
from spillway.controllers.planning.shapes import Operators, Shape
from spillway.model.operators import Paradigm

# Records per second, and slots: what is more than that is an error of who measured, and squares of it leave the floats.
MOST = 1e15


def refused(problem: Problem) -> Planned | None:
    """The answer to a question that makes no sense; None where it does."""
    wrong = next(_wrong(problem), "")
    return _refusal(Reason.INVALID, wrong, ()) if wrong else None


def unfit(operators: Operators, keep: Plan | None) -> Planned | None:
    """The answer where operators don't go with it; None where they do."""
    inputs = texts.inputs(operators.problem)
    if wrong := next(_uncountable(operators), ""):
        return _refusal(Reason.INVALID, wrong, inputs)
    if wrong := next(_unpinned(operators), ""):
        return _refusal(Reason.NO_BATCHES, wrong, inputs)
    if keep is not None and (wrong := next(_unkept(operators, keep), "")):
        return _refusal(Reason.INVALID, wrong, inputs)
    return None


def kept(operators: Operators, keep: Plan) -> Shape:
    """Segments and paradigms of a plan."""
    segments = {segment.name: segment for segment in keep.segments}
    order = [name for name in operators.names if name in segments]
    batches = frozenset(name for name in order if segments[name].paradigm is Paradigm.BATCH)
    return Shape(tuple(segments[name].operators for name in order), batches)


def _refusal(reason: Reason, wrong: str, inputs: Inputs) -> Planned:
    return Planned(False, None, reason, f"nothing is planned: {wrong}", inputs, (), (wrong,))


def _wrong(problem: Problem) -> Iterator[str]:
    """What is wrong with the question."""
    promise, room, flow = problem.promise, problem.room, problem.flow
    if not 0.5 <= promise.quantile < 1:
        yield f"the quantile is {promise.quantile}; it must be from 0.5 on and below 1"
    if not 0 < promise.bound < math.inf:
        yield f"the bound is {promise.bound} s; it must be a finite time above 0"
    if not 0 <= problem.headroom < 1:
        yield f"the headroom is {problem.headroom}; it must be 0 or more and below 1"
    if not (room.slots >= 0 and room.cores >= 0):
        yield f"{room.slots} slots and {room.cores} cores may be had; neither can be below 0"
    try:
        flows.check_workload(flow, problem.workload)
    except ValueError as error:
        yield str(error)
    sources, names = {node.name for node in flow.sources}, {node.name for node in flow.nodes}
    for what, given, known in (
        ("topics", problem.topics, sources),
        ("partitions", set(problem.partitions), sources),
        ("traits", set(problem.traits), names),
    ):
        if unknown := sorted(given - known):
            yield f"{what} are given for {', '.join(unknown)}, and there are {', '.join(sorted(known))}"
    for name, count in sorted(problem.partitions.items()):
        if not count >= 1:
            yield f"the topic of {name!r} has {count} partitions; it needs 1 or more"
    for name, traits in sorted(problem.traits.items()):
        if not 0 < traits.speedup < math.inf:
            yield f"the speedup of {name!r} is {traits.speedup}; it must be a finite number above 0"
    if problem.schedule is not None and not problem.schedule.finite:
        yield "to schedule a batch takes for ever"
    if not problem.hop.finite:
        yield "the log takes for ever for a frame"


def _uncountable(operators: Operators) -> Iterator[str]:
    for name, station in operators.stations.items():
        numbers = (
            station.rate,
            station.network_in,
            station.network_out,
            *station.rates.values(),
            *station.emits.values(),
        )
        if not max(*numbers, station.fetch, operators.time(name), station.rate * station.fetch) <= MOST:
            yield f"{name!r} would have {station.rate:g} records/s, or costs that no number of slots could pay"


def _unpinned(operators: Operators) -> Iterator[str]:
    for name in operators.names:
        if not operators.paradigms(name):
            traits = operators.traits(name)
            why = "it may not run in batches" if not traits.batchable else "there is no batch engine"
            yield f"`{name}` is pinned to batches, and {why}; unpin it"


def _unkept(operators: Operators, keep: Plan) -> Iterator[str]:
    has = sorted(name for segment in keep.segments for name in segment.operators)
    if has != sorted(operators.names):
        yield f"the plan to keep is for {', '.join(has)}, and there are {', '.join(sorted(operators.names))}"
        return
    for segment in keep.segments:
        if segment.paradigm not in operators.possible(segment.operators):
            yield f"`{segment.name}` runs in the paradigm {segment.paradigm}, and its operators are pinned otherwise"
        parents = [operators.parents.get(name) for name in segment.operators[1:]]
        if any(parent not in segment.operators for parent in parents):
            yield f"the operators of `{segment.name}` can't be fused any more"
