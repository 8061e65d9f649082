"""Algorithm 3: the fewest slots without a bottleneck, and frames that make them enough.

Per node, with R_in from its producers (nothing is overloaded, so R_out = s·R_in) and r_in = R_in/dop:

    dop* = max{⌊R_in/Ĉ_p⌋ + 1, ⌈R_in/C_i⌉, ⌈R_in/C_o⌉},  Ĉ_p = 1/c_cpu           (Eq. 4.23)
    b*_in = ⌊c_fetch / (1/r_in - c_cpu)⌋ + 1                                       (Eq. 4.25)
    b_out = ⌈s·c_emit / (1/r_in - c_cpu - c_fetch/b_in)⌉                           (Eq. 4.27)

While b_in < b*_in, the producer with the smallest frame gets frames of b*_in records (lines 21-25).

Four things differ from the printed algorithm, none on its own example:

1. Ĉ_p is out of reach because no frame is infinite. A node that pays nothing for frames (no c_fetch, no s·c_emit)
   reaches it, so ⌈R_in/Ĉ_p⌉ slots do; one more would break the promise of the fewest.
2. Frames of infinite size would delay records for ever. With at most `largest_frame` = B records, the best capacity is
   1/(c_cpu + (c_fetch + s·c_emit)/B), within reach, so dop* = ⌈R_in·(c_cpu + (c_fetch + s·c_emit)/B)⌉ and
   b*_in = ⌈c_fetch / (1/r_in - c_cpu - s·c_emit/B)⌉ ≤ B; both tend to the above as B grows. B = 1 is the paper's
   run without batching.
3. The order within a level, and the choice among equal frames, are by name: the printed one leaves both open, and
   the frames depend on it (the slots do not).
4. Where only the part φ of R_in comes in frames, and the rest from topics that others write, it is φ·c_fetch that each
   record pays a part of, and b*_in, R_in and R^b_in are those of the frames.

`headroom` is Aurora's (section 4.4): the share of its capacity that a node uses in steady state, C becoming h·C.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from fractions import Fraction

from spillway.controllers.costmodel import exact, flow
from spillway.controllers.costmodel.capacity import Bound, Edge, Inflow, Prices
from spillway.controllers.costmodel.exact import Number
from spillway.controllers.costmodel.flow import CORE, Flow, Node, Setting, Settings, Slot, Workload


@dataclasses.dataclass(frozen=True, slots=True)
class Resources:
    """The decision: a setting for each node, by level and name, and what each is sized by.

    A node is sized by the bound that needs the most slots; the CPU among equals, the network in before out.
    """

    settings: Mapping[str, Setting]
    sized_by: Mapping[str, Bound]

    @property
    def slots(self) -> int:
        """RC, the slots of all nodes (Eq. 4.15)."""
        return consumption(self.settings)


def consumption(settings: Settings) -> int:
    """RC = Σ dop(v) (Eq. 4.15)."""
    return sum(setting.parallelism for setting in settings.values())


def minimise(
    data_flow: Flow,
    workload: Workload,
    slot: Slot = CORE,
    *,
    headroom: Number = 1.0,
    largest_frame: int | None = None,
) -> Resources:
    """Algorithm 3; `headroom` in (0, 1], `largest_frame` None for the paper's unlimited ones, 1 for none at all."""
    flow.check_workload(data_flow, workload)
    exact.check(headroom, "headroom", above_zero=True)
    if headroom > 1:
        message = f"headroom is {headroom}; no more than all of a slot (1) can be used"
        raise ValueError(message)
    if largest_frame is not None and largest_frame < 1:
        message = f"largest_frame is {largest_frame}; a frame has at least 1 record"
        raise ValueError(message)
    state = _State(largest_frame)
    for node in data_flow.nodes:
        prices = Prices.of(data_flow, node, slot, headroom)
        if node.is_source:
            state.settle(node, prices, Inflow.source(exact.exact(workload[node.name])))
        else:
            state.settle(node, prices, Inflow.merged(state.edges(data_flow, node)))
    settings = {
        node.name: Setting(state.slots[node.name], state.frames[node.name] if data_flow.is_read(node) else None)
        for node in data_flow.nodes
    }
    return Resources(settings, state.sized_by)


class _State:
    """What is known so far: slots, frames (that later nodes may still raise), and what each output gives."""

    def __init__(self, largest: int | None) -> None:
        self.largest = largest
        self.slots: dict[str, int] = {}
        self.sized_by: dict[str, Bound] = {}
        self.frames: dict[str, int] = {}
        self.rates: dict[str, Fraction] = {}  # by output
        self.sizes: dict[str, Fraction] = {}  # by output
        self.producers: dict[str, dict[str, list[Fraction]]] = {}  # by node, by producer: the rates of its edges

    def edges(self, data_flow: Flow, node: Node) -> list[Edge]:
        """What comes over each edge of a node, with the frames as they are now."""
        rates = self.producers[node.name] = {}
        for name in node.inputs:
            if data_flow.is_framed(name):
                rates.setdefault(data_flow.owners[name].name, []).append(self.rates[name])
        return [Edge(self.rates[name], self._frame(data_flow, name), self.sizes[name]) for name in node.inputs]

    def _frame(self, data_flow: Flow, output: str) -> int | None:
        return self.frames[data_flow.owners[output].name] if data_flow.is_framed(output) else None

    def settle(self, node: Node, prices: Prices, inflow: Inflow) -> None:
        """Lines 10 to 29 for one node."""
        rate = inflow.records
        self.slots[node.name], self.sized_by[node.name] = _fewest(prices, inflow, self.largest)
        self.frames[node.name] = 1  # when nothing comes or nobody reads there is nothing to save
        if rate:
            left = self.slots[node.name] / rate - prices.cpu  # of 1/r_in, for taking frames in and sending them
            frames = inflow.frames
            if prices.fetch:
                frames = self._raise_frames(node, prices, left, inflow)
            if prices.emit:
                self.frames[node.name] = math.ceil(prices.emit / (left - prices.fetch * frames / rate))
        for output in node.outputs:
            self.rates[output.name] = exact.on_grid(exact.exact(output.selectivity) * rate)
            self.sizes[output.name] = exact.exact(output.record_size)

    def _raise_frames(self, node: Node, prices: Prices, left: Fraction, inflow: Inflow) -> Fraction:
        """Lines 21 to 25: raise the smallest frames until b_in = R_in/R^b_in is at least `least`; gives R^b_in.

        It ends: when all frames have `least` records, so has their mean. A producer that sends nothing is left alone:
        it has no part in the mean.
        """
        rates = {owner: exact.total(terms) for owner, terms in self.producers[node.name].items()}
        framed, frames = exact.total(rates.values()), inflow.frames
        least = _least_frame_in(prices, left, self.largest, framed / inflow.records)
        for owner in sorted(rates, key=lambda owner: (self.frames[owner], owner)):
            if framed >= least * frames:
                break
            if rates[owner]:
                frames += rates[owner] / least - rates[owner] / self.frames[owner]
                self.frames[owner] = least
        return frames


def _fewest(prices: Prices, inflow: Inflow, largest: int | None) -> tuple[int, Bound]:
    """dop* and what it is for (Eq. 4.23, and points 1 and 2 above)."""
    per_frame = prices.fetch + prices.emit
    busy = inflow.records * (prices.cpu + (per_frame / largest if largest else 0))
    reachable = largest is not None or not per_frame
    needs = {
        Bound.CPU: math.ceil(busy) if reachable else math.floor(busy) + 1,
        Bound.NETWORK_IN: math.ceil(prices.receive * inflow.bytes),
        Bound.NETWORK_OUT: math.ceil(prices.send * inflow.records),
    }
    bound = max(needs, key=needs.__getitem__)  # the first of the largest
    return max(1, needs[bound]), bound


def _least_frame_in(prices: Prices, left: Fraction, largest: int | None, framed: Fraction) -> int:
    """b*_in, with `left` = 1/r_in - c_cpu, which is above 0 because c_fetch is (Eq. 4.25, and points 2 and 4 above)."""
    fetch = framed * prices.fetch
    if largest is None:
        return math.floor(fetch / left) + 1
    return max(1, math.ceil(fetch / (left - prices.emit / largest)))
