"""Algorithm 2: what gets through all the same, when slow nodes hold back those in front of them.

With R_out and R_in of Algorithm 1, from the sinks back to the sources:

    R̂_in(v) = min{R_in, C}                           for a sink                       (Eq. 4.10)
    R̂_out(p) = R_out(p)/R_in(c) · R̂_in(c)            for each consumer c of p         (Eq. 4.11)
    R̂_in(p) = min_c R̂_out(p) / s                                                      (Eq. 4.12, 4.13)

Line 18 of the printed algorithm takes the consumers' R̂_in where the equations need R̂_out(p), which differs as soon as
a consumer has other producers too; here are the equations. With the share φ(v) = R̂_in/R_in of what comes that gets
through, and R_out(p) = s·min{R_in, C}, they are one line, without a division by s:

    φ(v) = min{1, C/R_in} · min over consumers of φ(c)

A consumer that gets nothing from p does not hold it back, so a selectivity of 0 is no special case. With T as the
workload, no node is a bottleneck: by induction over the levels every producer then sends at most φ(c)·R_out(p) to c,
and demand is linear in the rates (see `capacity`), so that of c is at most φ(c)·demand(c) ≤ dop(c).
The other way round, T can be less than what a system reaches: what one producer is kept from sending by another
consumer is not given to its neighbours. That is the paper's model, and the safe side.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from fractions import Fraction

from spillway.controllers.costmodel import bottlenecks, exact
from spillway.controllers.costmodel.bottlenecks import Work
from spillway.controllers.costmodel.flow import CORE, Flow, Settings, Slot, Workload


@dataclasses.dataclass(frozen=True, slots=True)
class Effective:
    """What a node can take in and give under back pressure (Definition 45).

    Attributes:
        name: the node.
        rate_in: R̂_in.
        rates_out: R̂_out of each output.
        limit: the last bottleneck on its way, itself perhaps: the one to widen first; None when all gets through.
    """

    name: str
    rate_in: float
    rates_out: Mapping[str, float]
    limit: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Throughput:
    """The effective rates of all nodes, by level and name, and of the sources: T (Definition 46)."""

    nodes: tuple[Effective, ...]
    sources: Mapping[str, float]


def predict(data_flow: Flow, settings: Settings, workload: Workload, slot: Slot = CORE) -> Throughput:
    """Algorithm 2."""
    works = bottlenecks.follow(data_flow, settings, workload, slot)
    shares: dict[str, tuple[Fraction, str | None]] = {}
    for work in reversed(works):  # by level, so that all consumers come before their producers
        behind = [
            shares[reader]
            for output in work.node.outputs
            if work.rates_out[output.name]
            for reader in data_flow.readers[output.name]
        ]
        tightest, limit = min(behind, key=lambda share: (share[0], share[1] or ""), default=(Fraction(1), None))
        if work.share < 1 and tightest == 1:
            limit = work.node.name
        shares[work.node.name] = (exact.on_grid(work.share * tightest), limit)
    nodes = tuple(_effective(work, *shares[work.node.name]) for work in works)
    sources = {node.name for node in data_flow.sources}
    return Throughput(nodes, {node.name: node.rate_in for node in nodes if node.name in sources})


def growth(data_flow: Flow, settings: Settings, workload: Workload, slot: Slot = CORE) -> float:
    """The largest g for which g·W has no bottleneck: below 1 when there is one now, infinite when nothing costs.

    A workload of 1 for one source and 0 for all others gives that source's maximum capacity ĉ (Eq. 3.2).
    Demand is linear in the rates as long as every rate passes, so g = 1 / max demand(v)/dop(v). With a single source,
    min{1, g}·I is what can get through at most; Algorithm 2 says less where ways meet behind several bottlenecks.
    """
    works = bottlenecks.follow(data_flow, settings, workload, slot, limited=False)
    fullest = max(work.demand.most / settings[work.node.name].parallelism for work in works)
    return exact.approximate(1 / fullest) if fullest else math.inf


def _effective(work: Work, share: Fraction, limit: str | None) -> Effective:
    rate = work.inflow.records * share
    rates_out = {output.name: exact.approximate(exact.exact(output.selectivity) * rate) for output in work.node.outputs}
    return Effective(work.node.name, exact.approximate(rate), rates_out, limit)
