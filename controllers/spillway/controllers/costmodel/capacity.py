"""Chapter 3: what a record costs, and what a node needs at a rate.

A task can do C = min{C_i, C_p, C_o} records per second (Eq. 3.4) with

    C_p = 1/c_p,  c_p = c_fetch/b_in + c_cpu + s·c_emit/b_out        (Eq. 3.5, 3.8)
    C_i = N/(8·rs_in)                                                (Eq. 3.28)
    C_o = N/(8·rs_out·f·s)                                           (Eq. 3.33)
    b_in = R_in/R^b_in,  R_in = Σ R_out(p),  R^b_in = Σ R_out(p)/b_out(p)          (Eq. 3.16, 3.20, 3.21)
    rs_in = R^B_in/R_in,  R^B_in = Σ R_out(p)·rs_out(p)                            (Eq. 3.26, 3.27)

and a node can do C(v) = dop·C (Eq. 3.3). Below, everything is counted the other way round, as the number of slots that
are kept busy, because that has no division that could meet a zero, and is linear in the rates of the producers:

    R_in/C_p = c_fetch·R^b_in + (c_cpu + s·c_emit/b_out)·R_in
    R_in/C_i = 8·R^B_in/N
    R_in/C_o = 8·rs_out·f·s·R_in/N

So R_in > dop·C is `demand > dop`. Linear means: no rate higher, no demand higher. A fused node has several outputs o:
s·c_emit becomes Σ s_o·c_emit,o and rs_out·f·s becomes Σ rs_o·f_o·s_o. An output that nobody reads is neither emitted
nor sent, and a source has nothing to fetch (section 3.2); nor has a reader of a topic that others write, whose records
count in R_in and R^B_in and not in R^b_in.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable
from fractions import Fraction
from typing import Self

from spillway.controllers.costmodel import exact
from spillway.controllers.costmodel.flow import Flow, Node, Slot

BITS = 8  # in a byte (Eq. 3.22)


class Bound(enum.StrEnum):
    """What a node runs out of first (Eq. 4.4, 4.5)."""

    CPU = "cpu"
    NETWORK_IN = "network-in"
    NETWORK_OUT = "network-out"


@dataclasses.dataclass(frozen=True, slots=True)
class Edge:
    """What one edge brings: R_out, b_out and rs_out of its producer; no frame from a topic that others write."""

    rate: Fraction
    frame: int | None
    record_size: Fraction


@dataclasses.dataclass(frozen=True, slots=True)
class Inflow:
    """What comes in each second: R_in records, R^b_in frames, R^B_in bytes."""

    records: Fraction
    frames: Fraction
    bytes: Fraction

    @classmethod
    def source(cls, rate: Fraction) -> Self:
        """What the workload gives a source; it has no frames to fetch, and C_i = ∞ (Definition 28)."""
        return cls(rate, Fraction(0), Fraction(0))

    @classmethod
    def merged(cls, edges: Iterable[Edge]) -> Self:
        """Σ R_out, Σ R_out/b_out and Σ R_out·rs_out (Eq. 3.16, 3.20, 3.26)."""
        by_frame: dict[int, list[Fraction]] = {}
        sizes: list[Fraction] = []
        for edge in edges:
            by_frame.setdefault(edge.frame or 0, []).append(edge.rate)
            sizes.append(edge.rate * edge.record_size)
        rates = {frame: exact.total(terms) for frame, terms in by_frame.items()}
        return cls(
            exact.total(rates.values()),
            exact.total(rate / frame for frame, rate in rates.items() if frame),
            exact.total(sizes),
        )

    @classmethod
    def idle(cls, edges: Iterable[Edge]) -> Self:
        """One record per second of the dearest kind: nothing flows, so no mixture of producers is known.

        The smallest frame and the largest record: any b_in is at least the one, any rs_in at most the other.
        """
        known = tuple(edges)
        if not known:
            return cls.source(Fraction(1))
        smallest = min((e.frame for e in known if e.frame), default=None)
        return cls(Fraction(1), Fraction(1, smallest) if smallest else Fraction(0), max(e.record_size for e in known))

    @property
    def frame(self) -> Fraction | None:
        """b_in = R_in/R^b_in, over how many records the fetch of a frame is shared (Eq. 3.21); None without any."""
        return self.records / self.frames if self.frames else None

    @property
    def record_size(self) -> Fraction | None:
        """rs_in = R^B_in/R_in (Eq. 3.27); None without records."""
        return self.bytes / self.records if self.records else None


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """How many slots are kept busy, by what: R_in/C_p, R_in/C_i and R_in/C_o."""

    cpu: Fraction
    network_in: Fraction
    network_out: Fraction

    @property
    def most(self) -> Fraction:
        """R_in/C: the three overlap, so the scarcest decides (Eq. 3.4)."""
        return max(self.cpu, self.network_in, self.network_out)

    def bounds(self, slots: int) -> tuple[Bound, ...]:
        """What runs out with so many slots (Eq. 4.4, 4.5); nothing when R_in ≤ C (Eq. 4.3)."""
        shares = ((Bound.CPU, self.cpu), (Bound.NETWORK_IN, self.network_in), (Bound.NETWORK_OUT, self.network_out))
        return tuple(bound for bound, share in shares if share > slots)


@dataclasses.dataclass(frozen=True, slots=True)
class Prices:
    """What a node costs on its slot, in seconds without rounding.

    Attributes:
        cpu: c_cpu.
        fetch: c_fetch, 0 for a source and for who reads topics only.
        emit: Σ s_o·c_emit,o over the outputs that are read, but for topics: s·c_emit of Eq. 3.8.
        receive: 8/N, for one byte.
        send: 1/C_o = 8·Σ rs_o·f_o·s_o / N, for one record that comes in.
    """

    cpu: Fraction
    fetch: Fraction
    emit: Fraction
    receive: Fraction
    send: Fraction

    @classmethod
    def of(cls, flow: Flow, node: Node, slot: Slot, headroom: exact.Number = 1.0) -> Self:
        """The prices of a node; `headroom` is the share of a slot that may be used (1: all of it)."""
        share = exact.exact(headroom)
        pace = exact.exact(slot.speed) * share
        # 8·n/N̂; and 0 without a limit, so that C_i = C_o = ∞
        byte = 0 if slot.network is None else Fraction(BITS * slot.sharing) / (exact.exact(slot.network) * share)
        emit = load = Fraction(0)
        for output in node.outputs:
            fan_out = flow.fan_out(output.name)
            if fan_out and output.framed:
                selectivity = exact.exact(output.selectivity)
                emit += selectivity * exact.exact(output.emit)
                load += selectivity * fan_out * exact.exact(output.record_size)
        fetches = any(flow.is_framed(name) for name in node.inputs)
        fetch = exact.exact(node.fetch) / pace if fetches else Fraction(0)
        return cls(exact.exact(node.cpu) / pace, fetch, emit / pace, Fraction(byte), load * byte)

    def demand(self, inflow: Inflow, frame: int | None) -> Demand:
        """The slots that this inflow keeps busy when frames of `frame` records go out (None: nobody reads)."""
        emit = self.emit / frame if frame else self.emit
        cpu = self.fetch * inflow.frames + (self.cpu + emit) * inflow.records
        return Demand(cpu, self.receive * inflow.bytes, self.send * inflow.records)
