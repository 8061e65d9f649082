"""From a draft to a plan: checked without rounding, predicted by the front door of the latency model.

A search compares floats, and may be wrong by the last digit where a slot is used up exactly. What it found is followed
once more on exact numbers: no segment, and no slot that several share, may have more to do than the share h that may
be used, and a batch has to be done in its interval:

    demand(v) ≤ h·dop(v)      Σ demand(v) ≤ h      t_schedule + c_fetch/σ + T·demand(v)/cores ≤ h·T

A core does in batches what σ slots do, so there demand is with c_cpu/σ and c_emit/σ, and c_fetch is paid once for each
core and batch.
"""
# ruff: noqa: RUF002 - sigma is the symbol of the paper, and no o

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from spillway.controllers.costmodel import bottlenecks, exact
from spillway.controllers.costmodel.bottlenecks import Load, Work
from spillway.controllers.costmodel.capacity import Bound
from spillway.controllers.costmodel.flow import Flow, Node
from spillway.controllers.latency import prediction
from spillway.controllers.latency.batches import Engine
from spillway.controllers.planning.draft import Draft
from spillway.controllers.planning.plan import Plan, Segment
from spillway.model.operators import Paradigm


def build(draft: Draft) -> Plan:
    """The plan that a draft has become, feasible or not."""
    problem = draft.operators.problem
    works = _followed(draft)
    if any(work.demand.most > work.slots for work in works):  # then less gets through behind the fullest
        works = bottlenecks.follow(_sped_up(draft), draft.settings, problem.workload, problem.slot)
    loads = {work.node.name: _load(draft, work) for work in works}
    segments = tuple(_segment(draft, node.name, loads) for node in draft.flow.nodes if node.name in draft.segments)
    groups = tuple(sorted(set(draft.shared.values())))
    paradigms = {segment.name: segment.paradigm for segment in segments}
    found = prediction.predict(
        draft.flow,
        draft.settings,
        problem.workload,
        deadlines=draft.deadlines,
        paradigms=paradigms,
        windows=draft.windows,
        partitions=draft.limits,
        variability=draft.variability,
        slot=problem.slot,
        hop=problem.hop,
        engines=draft.engines,
        shared=groups,
        at=problem.promise.quantile,
    )
    return Plan(
        segments,
        draft.flow,
        found,
        found.quantile(problem.promise.quantile),
        draft.slots,
        draft.cores,
        groups,
        MappingProxyType(dict(draft.engines)),
    )


def holds(draft: Draft) -> bool:
    """Whether it has no bottleneck, with headroom and without rounding."""
    share = 1 - exact.exact(draft.operators.problem.headroom)
    demands = {work.node.name: work.demand for work in _followed(draft) if work.node.name in draft.segments}
    for name, demand in demands.items():
        slots = draft.settings[name].parallelism
        if name in draft.engines:
            full = demand.most / slots > share - _beside(draft, name)
        else:
            group = [demands[member] for member in draft.shared.get(name, (name,))]
            kinds = ([d.cpu for d in group], [d.network_in for d in group], [d.network_out for d in group])
            full = any(exact.total(kind) > share * slots for kind in kinds)
        if full:
            return False
    return True


def _followed(draft: Draft) -> tuple[Work, ...]:
    """All nodes without rounding, were all to get through; once for the same settings, because it takes its time."""
    if draft.followed is None or draft.followed[0] != draft.settings:
        problem = draft.operators.problem
        works = bottlenecks.follow(_sped_up(draft), draft.settings, problem.workload, problem.slot, limited=False)
        draft.followed = (dict(draft.settings), works)
    return draft.followed[1]


def _sped_up(draft: Draft) -> Flow:
    """The flow as batches do it; the network is no faster for them."""
    if not draft.engines:
        return draft.flow
    return Flow(_faster(node, draft.engines.get(node.name)) for node in draft.flow.nodes)


def _faster(node: Node, engine: Engine | None) -> Node:
    if engine is None:
        return node
    speedup = exact.exact(engine.speedup)
    outputs = tuple(dataclasses.replace(o, emit=exact.exact(o.emit) / speedup) for o in node.outputs)
    return dataclasses.replace(node, cpu=exact.exact(node.cpu) / speedup, fetch=0, outputs=outputs)


def _beside(draft: Draft, name: str) -> Fraction:
    """The part of its interval that a batch takes whatever is in it."""
    engine, slot = draft.engines[name], draft.operators.problem.slot
    fetch = exact.exact(draft.flow[name].fetch) / exact.exact(slot.speed) / exact.exact(engine.speedup)
    return (exact.exact(engine.schedule.mean) + fetch) / exact.exact(engine.interval)


def _load(draft: Draft, work: Work) -> Load:
    """For people; what batches take beside their records is no capacity."""
    load = work.load()
    if work.node.name not in draft.engines:
        return load
    left = max(0.0, 1 - exact.approximate(_beside(draft, work.node.name)))
    utilisation = load.utilisation / left if left else math.inf
    bounds = load.bounds or ((Bound.CPU,) if utilisation > 1 else ())
    return dataclasses.replace(load, capacity=load.capacity * left, utilisation=utilisation, bounds=bounds)


def _segment(draft: Draft, name: str, loads: Mapping[str, Load]) -> Segment:
    engine, setting = draft.engines.get(name), draft.settings[name]
    nodes = draft.operators.stations
    emits = draft.nodes[name].emits
    inside = {member: (nodes[member].rate, math.fsum(nodes[member].rates.values())) for member in draft.segments[name]}
    return Segment(
        name,
        draft.segments[name],
        Paradigm.RECORD if engine is None else Paradigm.BATCH,
        setting.parallelism,
        setting.frame,
        MappingProxyType({output: draft.deadlines[output] for output in emits}),
        None if engine is None else engine.interval,
        name in draft.shared,
        loads[name],
        MappingProxyType(inside),
    )
