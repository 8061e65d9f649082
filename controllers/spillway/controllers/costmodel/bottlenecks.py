"""Algorithm 1: which nodes get more than they can do, with given parallelism, frames and workload."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from spillway.controllers.costmodel import exact, flow
from spillway.controllers.costmodel.capacity import Bound, Demand, Edge, Inflow, Prices
from spillway.controllers.costmodel.flow import CORE, Flow, Node, Setting, Settings, Slot, Workload


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """One node under a workload, in numbers for people; what was decided, was decided on exact ones.

    Attributes:
        name: the node.
        rate_in: R_in, what its producers send or its source gets.
        rates_out: R_out of each output.
        frame_in: b_in, the effective size of the frames that come in; None when none come.
        capacity: C(v), records per second.
        utilisation: R_in/C(v); above 1 is overload.
        bounds: what it runs out of; empty when it is no bottleneck.
    """

    name: str
    rate_in: float
    rates_out: Mapping[str, float]
    frame_in: float | None
    capacity: float
    utilisation: float
    bounds: tuple[Bound, ...]

    @property
    def bottleneck(self) -> bool:
        """Whether R_in > C(v) (Eq. 4.3)."""
        return bool(self.bounds)


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """One node under a workload, without rounding: what Algorithm 1 finds and Algorithm 2 goes on with.

    `done` is min{R_in, C}, what it takes in of what comes, and `share` is done/R_in, 1 when nothing comes.
    """

    node: Node
    slots: int
    inflow: Inflow
    demand: Demand
    share: Fraction
    done: Fraction
    rates_out: Mapping[str, Fraction]
    cost: Fraction  # 1/C, in seconds of one slot for a record

    def load(self) -> Load:
        """The same for people."""
        frame = self.inflow.frame
        return Load(
            self.node.name,
            exact.approximate(self.inflow.records),
            {name: exact.approximate(rate) for name, rate in self.rates_out.items()},
            None if frame is None else exact.approximate(frame),
            exact.approximate(self.slots / self.cost) if self.cost else math.inf,
            exact.approximate(self.demand.most / self.slots),
            self.demand.bounds(self.slots),
        )


def detect(data_flow: Flow, settings: Settings, workload: Workload, slot: Slot = CORE) -> tuple[Load, ...]:
    """Algorithm 1: every node with its rates and capacity, by level and name; a bottleneck has `bounds`."""
    return tuple(work.load() for work in follow(data_flow, settings, workload, slot))


def follow(
    data_flow: Flow, settings: Settings, workload: Workload, slot: Slot = CORE, *, limited: bool = True
) -> tuple[Work, ...]:
    """Algorithm 1 without rounding: from the sources to the sinks, each node once all its producers are known.

    R_in = I for a source, else Σ R_out(p) (lines 12-16); b_in by Eq. 3.21 and C by chapter 3 (lines 18-22);
    R_out = s·min{R_in, C} (Eq. 4.6, line 27), or s·R_in when not `limited` (Eq. 3.15).
    """
    flow.check_workload(data_flow, workload)
    flow.check_settings(data_flow, settings)
    edges: dict[str, Edge] = {}
    works: list[Work] = []
    for node in data_flow.nodes:
        incoming = [edges[name] for name in node.inputs]
        inflow = Inflow.source(exact.exact(workload[node.name])) if node.is_source else Inflow.merged(incoming)
        prices = Prices.of(data_flow, node, slot)
        work = _work(node, settings[node.name], prices, inflow, incoming, limited=limited)
        works.append(work)
        for output in node.outputs:
            rate, frame = work.rates_out[output.name], (settings[node.name].frame or 1) if output.framed else None
            edges[output.name] = Edge(rate, frame, exact.exact(output.record_size))
    return tuple(works)


def _work(
    node: Node, setting: Setting, prices: Prices, inflow: Inflow, incoming: Sequence[Edge], *, limited: bool
) -> Work:
    """One node: min{R_in, C} is R_in·min{1, dop/demand}, which needs no capacity that might be infinite."""
    demand = prices.demand(inflow, setting.frame)
    overloaded = limited and demand.most > setting.parallelism
    share = setting.parallelism / demand.most if overloaded else Fraction(1)
    done = inflow.records * share
    rates_out = {output.name: exact.on_grid(exact.exact(output.selectivity) * done) for output in node.outputs}
    # An idle node can do something all the same: as much as of the dearest kind that could come.
    cost = demand.most / inflow.records if inflow.records else prices.demand(Inflow.idle(incoming), setting.frame).most
    return Work(node, setting.parallelism, inflow, demand, share, done, rates_out, cost)
