"""A plan as programs read it: JSON without a number that JSON does not have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spillway.controllers import explain
from spillway.controllers.latency.phases import Phase
from spillway.controllers.planning.plan import Plan, Planned, Segment
from spillway.controllers.planning.problem import Promise


def answer(planned: Planned, promise: Promise, order: Sequence[str], assumed: Sequence[str]) -> dict[str, Any]:
    """The answer of `spillway plan -o json`; `order` are the operators and streams, each after what it reads."""
    plan = planned.plan
    why = explain.data(planned)
    return {
        "feasible": planned.feasible,
        "latency": {
            "quantile": promise.quantile,
            "bound_ms": milliseconds(promise.bound),
            "predicted_ms": None if plan is None else milliseconds(plan.predicted),
            "mean_ms": None if plan is None else milliseconds(plan.prediction.mean),
            "phases_ms": {} if plan is None else {name: milliseconds(mean) for name, mean in phases(plan).items()},
            "path": [] if plan is None else list(plan.prediction.path),
        },
        "slots": 0 if plan is None else plan.slots,
        "executor_cores": 0 if plan is None else plan.cores,
        "operators": [] if plan is None else list(operators(plan, order)),
        "segments": [] if plan is None else [_segment(segment) for segment in plan.segments],
        "reasons": [planned.sentence, *planned.limits],
        "reason": why["reason"],
        "inputs": why["inputs"],
        "alternatives": why["alternatives"],
        "up_to": number(planned.up_to),
        "assumed": list(assumed),
    }


def phases(plan: Plan) -> Mapping[Phase, float]:
    """Mean seconds of each phase on the worst way."""
    breakdown = plan.prediction.phases
    return {phase: breakdown[phase].mean for phase in breakdown}


def operators(plan: Plan, order: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every operator and every stream that is planned as one; of an inner one, the numbers of its part of a segment."""
    places = {name: segment for segment in plan.segments for name in segment.operators}
    for name in sorted(places, key=order.index):
        segment = places[name]
        taken, given = segment.inside[name]
        yield {
            "name": name,
            "segment": segment.name,
            "paradigm": str(segment.paradigm),
            "parallelism": segment.parallelism,
            "frame": segment.frame if plan.flow.readers.get(name) else None,
            "rate_in": number(taken),
            "rate_out": number(given),
            "capacity": number(_capacity(segment, name, taken)),
            "utilisation": number(segment.load.utilisation),
            "bottleneck": segment.load.bottleneck,
        }


def _capacity(segment: Segment, name: str, taken: float) -> float | None:
    """Records per second that may come to an operator until its segment is full; unknown inside one that is idle."""
    if name == segment.name:
        return segment.load.capacity
    return taken / segment.load.utilisation if segment.load.utilisation else None


def _segment(segment: Segment) -> dict[str, Any]:
    return {
        "name": segment.name,
        "operators": list(segment.operators),
        "paradigm": str(segment.paradigm),
        "parallelism": segment.parallelism,
        "frame": segment.frame,
        "deadlines_ms": {output: milliseconds(seconds) for output, seconds in segment.deadlines.items()},
        "interval_ms": None if segment.interval is None else milliseconds(segment.interval),
        "shares_slot": segment.shares,
        "bounds": [str(bound) for bound in segment.load.bounds],
    }


def milliseconds(seconds: float) -> float | None:
    """Seconds as milliseconds; None for what takes for ever."""
    return number(seconds * 1e3)


def number(value: float | None) -> float | None:
    """The number to nine digits, which no model is exact to; None for what is infinite, or none at all."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.9g}")
