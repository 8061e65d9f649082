"""A job under a load trace, as programs read it: a plan for each stretch of time between two changes."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from spillway.cli.planning import answers
from spillway.controllers.costmodel import bottlenecks
from spillway.controllers.costmodel.bottlenecks import Load
from spillway.controllers.costmodel.capacity import Bound
from spillway.controllers.planning.plan import Plan, Segment
from spillway.model.operators import Paradigm
from spillway.simulation.jobs import Job
from spillway.simulation.runs import Event, Row, Run
from spillway.simulation.traces import Trace

_NAMES = {"shared": "slots"}


@dataclasses.dataclass(frozen=True, slots=True)
class Course:
    """What is known of one simulated job.

    Attributes:
        plan: what it started with; its segments stay what they are.
        job: the same as it was simulated.
        trace: the load.
        run: what came out.
        rivals: what came out under other policies, by their names.
    """

    plan: Plan
    job: Job
    trace: Trace
    run: Run
    rivals: Mapping[str, Run] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """From one change until the next; the events are what it began with."""

    at: float
    until: float
    events: tuple[Event, ...]
    rows: tuple[Row, ...]


def answer(course: Course, order: Sequence[str]) -> list[dict[str, Any]]:
    """A plan for each stretch, in the shape of a plan at one rate, with the changes that led to it."""
    return [_plan(course, stretch, order) for stretch in stretches(course.run)]


def policies(course: Course) -> dict[str, dict[str, Any]]:
    """What came out under each policy, ours first, in one line each."""
    return {name: _totals(run) for name, run in {"spillway": course.run, **course.rivals}.items()}


def _totals(run: Run) -> dict[str, Any]:
    totals = run.totals
    return {
        "within": answers.number(totals.within),
        "kept": totals.kept,
        "worst_ms": answers.milliseconds(totals.worst),
        "late_seconds": answers.number(totals.late),
        "slot_hours": answers.number(totals.slot_hours),
        "core_hours": answers.number(totals.core_hours),
        "resizes": totals.resizes,
        "switches": totals.switches,
    }


def stretches(run: Run) -> Iterator[Stretch]:
    """The run, cut where something was changed; what happened within one row is one change."""
    if not run.rows:
        return
    length = run.every
    end = run.rows[-1].at + length
    changed = {0.0: (), **{at: tuple(events) for at, events in itertools.groupby(run.events, lambda e: _row(e, run))}}
    times = sorted(changed)
    for at, until in itertools.pairwise([*times, end]):
        rows = tuple(row for row in run.rows if at <= row.at < until)
        if rows:
            yield Stretch(at, until, changed[at], rows)


def _row(event: Event, run: Run) -> float:
    """When the row that ends with or after an event begins; it has the sizes of its end, so those after the event."""
    return max(0.0, (math.ceil(event.at / run.every - 1e-9) - 1) * run.every)


def _plan(course: Course, stretch: Stretch, order: Sequence[str]) -> dict[str, Any]:
    run, peak = course.run, max(stretch.rows, key=lambda row: row.rate)
    plan = _at(course, peak, stretch.rows[-1])
    done = math.fsum(row.done for row in stretch.rows)
    within = math.fsum(row.done * row.within for row in stretch.rows if row.within is not None)
    share = within / done if done else None
    return {
        "at": answers.number(stretch.at),
        "until": answers.number(stretch.until),
        "rate": answers.number(peak.rate),
        "feasible": share is None or share >= run.quantile,
        "latency": {
            "quantile": run.quantile,
            "bound_ms": answers.milliseconds(run.bound),
            "predicted_ms": None if peak.predicted is None else answers.milliseconds(peak.predicted),
            "simulated_ms": answers.milliseconds(max(row.latency for row in stretch.rows)),
            "within": answers.number(share),
        },
        "slots": plan.slots,
        "executor_cores": plan.cores,
        "operators": list(answers.operators(plan, order)),
        "reasons": [event.sentence for event in stretch.events],
        "changes": [_change(event) for event in stretch.events],
    }


def _at(course: Course, peak: Row, settled: Row) -> Plan:
    """The plan as it was when a stretch had settled, with the load of its highest rate."""
    slots = {name: row.slots for name, row in settled.segments.items()}
    rates = {name: course.trace.rate(peak.at, name) for name in course.trace.sources}
    loads = bottlenecks.detect(course.job.flow, course.job.settings(slots), rates, course.job.slot)
    by_name = _pooled({load.name: load for load in loads}, settled, course.job.shares)
    segments = tuple(_segment(segment, by_name[segment.name], settled) for segment in course.plan.segments)
    return dataclasses.replace(course.plan, segments=segments, slots=settled.slots, cores=settled.cores)


def _pooled(loads: Mapping[str, Load], settled: Row, shares: Collection[str]) -> dict[str, Load]:
    """Of segments that share all slots, the fullest is the bottleneck when they are too much together."""
    pool = [name for name in shares if settled.segments[name].paradigm is Paradigm.RECORD]
    fullest = max(pool, key=lambda name: (loads[name].utilisation, name), default=None)
    if fullest is None or math.fsum(loads[name].utilisation for name in pool) <= 1:
        return dict(loads)
    bounds = loads[fullest].bounds or (Bound.CPU,)
    return {**loads, fullest: dataclasses.replace(loads[fullest], bounds=bounds)}


def _segment(segment: Segment, load: Load, settled: Row) -> Segment:
    """A segment with other slots, and all its rates in the same proportion."""
    row = settled.segments[segment.name]
    before = segment.inside[segment.operators[0]][0]
    factor = load.rate_in / before if before else 0.0
    inside = {name: (taken * factor, given * factor) for name, (taken, given) in segment.inside.items()}
    return dataclasses.replace(segment, parallelism=row.slots, paradigm=row.paradigm, load=load, inside=inside)


def _change(event: Event) -> dict[str, Any]:
    before, after = sizes(event)
    return {
        "at": answers.number(event.at),
        "kind": str(event.kind),
        "segments": list(event.segments),
        "from": before,
        "to": after,
        "reason": event.reason,
        "sentence": event.sentence,
    }


def sizes(event: Event) -> tuple[dict[str, str], dict[str, str]]:
    """What was before and after; the pool of all slots goes by the name that plans have for it."""
    before, after = (
        {_NAMES.get(name, name): value for name, value in of.items()} for of in (event.before, event.after)
    )
    return before, after
