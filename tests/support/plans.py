"""Plans without a planner: every operator a segment, as Algorithm 3 sizes it; for what only shows plans."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from spillway.controllers import acceptance
from spillway.controllers.costmodel import bottlenecks, resources
from spillway.controllers.costmodel.flow import Setting
from spillway.controllers.explain import Alternative
from spillway.controllers.latency import prediction
from spillway.controllers.latency.batches import Engine
from spillway.controllers.planning.plan import Plan, Planned, Reason, Segment
from spillway.controllers.planning.problem import Problem
from spillway.model.operators import Paradigm
from spillway.model.streamjob import StreamJob

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


def example(name: str, **policy: Any) -> StreamJob:
    """A job of the examples, with these fields of its policy."""
    (path,) = [path for path in EXAMPLES if path.stem == name]
    return accepted(yaml.safe_load(path.read_text()), **policy)


def accepted(document: dict[str, Any], **policy: Any) -> StreamJob:
    """A job that was accepted."""
    if policy:
        document["spec"]["policy"] = policy
    verdict = acceptance.accept(document)
    assert verdict.job is not None, verdict.message
    return verdict.job


def planned(
    problem: Problem, *, slots: Mapping[str, int] | None = None, paradigms: Mapping[str, Paradigm] | None = None
) -> Planned:
    """The decision, with other numbers of slots and other paradigms where they are given."""
    slots, paradigms = slots or {}, paradigms or {}
    least = resources.minimise(problem.flow, problem.workload, problem.slot, largest_frame=100).settings
    settings = {
        name: dataclasses.replace(setting, parallelism=slots.get(name, setting.parallelism))
        for name, setting in least.items()
    }
    deadlines = {output: problem.promise.bound / 10 for output, readers in problem.flow.readers.items() if readers}
    found = prediction.predict(
        problem.flow,
        settings,
        problem.workload,
        deadlines={name: at for name, at in deadlines.items() if name not in problem.topics},
        paradigms=paradigms,
        hop=problem.hop,
        engines={name: Engine(0.1, problem.schedule or problem.hop) for name in paradigms},
        at=problem.promise.quantile,
    )
    loads = {load.name: load for load in bottlenecks.detect(problem.flow, settings, problem.workload, problem.slot)}
    segments = tuple(
        _segment(name, loads[name], settings[name], deadlines, paradigms.get(name, Paradigm.RECORD))
        for name in (node.name for node in problem.flow.nodes)
        if name not in problem.topics
    )
    predicted = found.quantile(problem.promise.quantile)
    record = [segment for segment in segments if segment.paradigm is Paradigm.RECORD]
    plan = Plan(
        segments,
        problem.flow,
        found,
        predicted,
        sum(segment.parallelism for segment in record),
        sum(segment.parallelism for segment in segments if segment not in record),
    )
    feasible = predicted <= problem.promise.bound
    return Planned(
        feasible,
        plan,
        Reason.CHEAPEST if feasible else Reason.BOUND_TOO_TIGHT,
        "Each operator has slots of its own, as few as it needs.",
        (("rate", f"{sum(map(float, problem.workload.values())):g}"),),
        (Alternative("fewer slots", "they would not keep up"),),
        () if feasible else ("records take longer than they may",),
        None if feasible else 0.5,
    )


def _segment(
    name: str, load: bottlenecks.Load, setting: Setting, deadlines: Mapping[str, float], paradigm: Paradigm
) -> Segment:
    return Segment(
        name,
        (name,),
        paradigm,
        setting.parallelism,
        setting.frame,
        {name: deadlines[name]} if name in deadlines else {},
        0.1 if paradigm is Paradigm.BATCH else None,
        shares=False,
        load=load,
        inside={name: (load.rate_in, sum(load.rates_out.values()))},
    )
