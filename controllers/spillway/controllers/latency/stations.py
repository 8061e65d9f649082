"""Nodes at their rates, in floats: all that latencies need of the cost model whatever frames and slots there are.

Rates do not depend on settings as long as all gets through, so they are followed once, R_in = Σ R_out and
R_out = s·R_in, and every estimate of a search goes on from there. Nothing is decided here on the last digit: whether a
slot is enough is for `costmodel`, without rounding; here a slot is full when less than `SLACK` of it is left.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from spillway.controllers.costmodel import exact
from spillway.controllers.costmodel.capacity import BITS
from spillway.controllers.costmodel.flow import Flow, Node, Slot, Workload

# What is left of a slot that is full: a sum of some hundred floats is off by less than a thousandth of it, and a queue
# that has no more than this left is 10^12 service times long.
SLACK = 1e-12


@dataclasses.dataclass(frozen=True, slots=True)
class Station:
    """One node at its rate.

    Attributes:
        name: the node.
        slots: whether it has slots; a topic that others write has none.
        keyed: whether it reads by key.
        rate: R_in.
        cpu: c_cpu, at the speed of the slot.
        fetch: c_fetch.
        emits: by output that is read and framed, s·c_emit.
        rates: by output, R_out.
        sizes: by output, rs_out.
        inputs: the framed outputs that it reads, once for each edge.
        topics: the others.
        largest: of the records that it reads, in bytes.
        network_in: slots whose network is kept busy by what comes.
        network_out: by what leaves.
        send: seconds of the network out for one record that comes in.
    """

    name: str
    slots: bool
    keyed: bool
    rate: float
    cpu: float
    fetch: float
    emits: Mapping[str, float]
    rates: Mapping[str, float]
    sizes: Mapping[str, float]
    inputs: tuple[str, ...]
    topics: tuple[str, ...]
    largest: float
    network_in: float
    network_out: float
    send: float


def per_byte(slot: Slot) -> float:
    """8·n/N̂, seconds of the network for a byte; 0 without a limit."""
    return 0.0 if slot.network is None else BITS * _float(slot.sharing) / _float(slot.network)


def of(flow: Flow, workload: Workload, slot: Slot) -> dict[str, Station]:
    """All nodes, each after those that it reads."""
    stations: dict[str, Station] = {}
    rates: dict[str, float] = {}
    for node in flow.nodes:
        rate = _float(workload[node.name]) if node.is_source else math.fsum(rates[name] for name in node.inputs)
        station = _station(flow, node, rate, stations, slot)
        stations[node.name] = station
        rates.update(station.rates)
    return stations


def _station(flow: Flow, node: Node, rate: float, before: Mapping[str, Station], slot: Slot) -> Station:
    owners = {name: before[flow.owners[name].name] for name in node.inputs}
    framed = {name: flow.is_framed(name) for name in owners}
    speed, byte = _float(slot.speed), per_byte(slot)
    selectivities = {output.name: _float(output.selectivity) for output in node.outputs}
    read = [output for output in node.outputs if output.framed and flow.readers[output.name]]
    send = byte * math.fsum(selectivities[o.name] * flow.fan_out(o.name) * _float(o.record_size) for o in read)
    return Station(
        name=node.name,
        slots=not node.is_topic,
        keyed=node.keyed,
        rate=rate,
        cpu=_float(node.cpu) / speed,
        fetch=_float(node.fetch) / speed if any(framed.values()) else 0.0,
        emits={o.name: selectivities[o.name] * _float(o.emit) / speed for o in read},
        rates={name: selectivity * rate for name, selectivity in selectivities.items()},
        sizes={output.name: _float(output.record_size) for output in node.outputs},
        inputs=tuple(name for name in node.inputs if framed[name]),
        topics=tuple(name for name in node.inputs if not framed[name]),
        largest=max((owner.sizes[name] for name, owner in owners.items()), default=0.0),
        network_in=byte * math.fsum(owners[name].rates[name] * owners[name].sizes[name] for name in node.inputs),
        network_out=send * rate,
        send=send,
    )


def _float(number: exact.Number) -> float:
    return number if isinstance(number, float) else exact.approximate(exact.exact(number))
