"""Every segment of a plan, and every edge between two, by phase.

What a segment gets at once is a frame of b records: what its producers send, or a single record from a source topic.
Of its `parallelism` slots each has partitions of its own, so each is a queue of its own, with a share of the frames.

- edge, wait: `filling`, for the rate of one buffer. There is a buffer for each pair of input partitions of producer
  and reader, because a frame says which partition it is from, and is for one. A micro-batch knows what it has, so its
  frames do not wait.
- edge, network: a frame goes to the log and from there to the reader, so 2·8·b·rs/N, and `hop` for the log.
- queue: `queueing`, for the CPU and for the network, out and in. Behind a segment that works in batches for all that
  comes at once, instead; a record of that waits for what is there already, and for those before it.
- cpu, and batch and schedule: `service`, `batches`.

Frames that leave by their deadline have fewer records, and cost as much to send and to take in: rates don't depend on
frames as long as all gets through, so first frames are filled at these rates, and then nodes are priced with them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from spillway.controllers.costmodel import bottlenecks, exact
from spillway.controllers.costmodel.bottlenecks import Work
from spillway.controllers.costmodel.capacity import BITS, Prices
from spillway.controllers.costmodel.flow import Flow, Node, Settings, Slot, Workload
from spillway.controllers.latency import filling, queueing, service
from spillway.controllers.latency.batches import Engine
from spillway.controllers.latency.filling import Filling
from spillway.controllers.latency.moments import NEVER, ZERO, Moments
from spillway.controllers.latency.phases import Breakdown, Phase
from spillway.controllers.latency.queueing import Stream, Variability
from spillway.model.operators import Paradigm

Edge = tuple[str, str]  # an output, and who reads it


@dataclasses.dataclass(frozen=True, slots=True)
class Circumstances:
    """All that `predict` was told beside the flow, its settings and the workload; its docstring explains them."""

    deadlines: Mapping[str, float]
    paradigms: Mapping[str, Paradigm]
    partitions: Mapping[str, int]
    variability: Mapping[str, Variability]
    slot: Slot
    cores: int
    hop: Moments
    engine: Engine | None


@dataclasses.dataclass(frozen=True, slots=True)
class Segments:
    """What a record meets: `stays` by node, `trips` by output and reader, and how much slower slots are than alone."""

    stays: Mapping[str, Breakdown]
    trips: Mapping[Edge, Breakdown]
    slowdown: float


def of(flow: Flow, settings: Settings, workload: Workload, around: Circumstances) -> Segments:
    """All segments and edges; rates are what would flow if all got through, and what does not takes for ever."""
    intended = bottlenecks.follow(flow, settings, workload, around.slot, limited=False)
    frames = _fillings(flow, settings, intended, around)
    sizes = {edge: exact.exact(frame.records) for edge, frame in frames.items()}
    rates = {name: rate for work in intended for name, rate in work.rates_out.items()}
    works = [_priced(flow, work, rates, sizes, around.slot) for work in intended]
    plan = _Plan(flow, {work.node.name: work for work in works}, settings, frames, around)
    return Segments(
        {work.node.name: Breakdown.of(plan.stay(work)) for work in works},
        {edge: Breakdown.of(plan.trip(*edge)) for edge in frames},
        plan.slowdown,
    )


def _fillings(flow: Flow, settings: Settings, works: tuple[Work, ...], around: Circumstances) -> dict[Edge, Filling]:
    """What becomes of the frames of every edge."""
    found: dict[tuple[str, str], Filling] = {}
    for work in works:
        name, frame = work.node.name, settings[work.node.name].frame or 1
        for output in work.node.outputs:
            for reader in flow.readers[output.name]:
                buffers = _partitions(settings, around, name) * _partitions(settings, around, reader)
                rate = exact.approximate(work.rates_out[output.name] / buffers)
                deadline = around.deadlines.get(output.name, math.inf)
                in_batches = around.paradigms.get(name) is Paradigm.BATCH
                found[output.name, reader] = (
                    Filling(ZERO, frame, 0.0, 1.0) if in_batches else filling.fill(frame, rate, deadline)
                )
    return found


def _partitions(settings: Settings, around: Circumstances, name: str) -> int:
    """How many partitions the input of a node has; at least one for each slot, which would have no work without."""
    return around.partitions.get(name, settings[name].parallelism)


def _priced(flow: Flow, work: Work, rates: Mapping[str, Fraction], sizes: Mapping[Edge, Fraction], slot: Slot) -> Work:
    """What a node needs with the frames that really come and leave (Eq. 3.8, 3.21).

    Of what leaves, the smallest frame counts for all; an edge without records has no frames, and no say.
    """
    records = work.inflow.records
    if not records:
        return work
    coming = exact.total(rates[name] / sizes[name, work.node.name] for name in work.node.inputs)
    prices = Prices.of(flow, work.node, slot)
    busy = [output.name for output in work.node.outputs if work.rates_out[output.name]]
    leaving = min((sizes[name, reader] for name in busy for reader in flow.readers[name]), default=Fraction(1))
    cpu = prices.fetch * coming + (prices.cpu + prices.emit / leaving) * records
    demand = dataclasses.replace(work.demand, cpu=cpu)
    inflow = dataclasses.replace(work.inflow, frames=coming)
    return dataclasses.replace(work, inflow=inflow, demand=demand, cost=demand.most / records)


def _queue(streams: Sequence[Stream], service_time: float, arrival_scv: float | None, service_scv: float) -> Moments:
    """What these streams wait for a service, as regular as they were measured, or as they should be."""
    rate = math.fsum(stream.rate * stream.sources for stream in streams)
    scv = queueing.merged(streams, service_time) if arrival_scv is None else arrival_scv
    return queueing.wait(rate, service_time, scv, service_scv)


class _Plan:
    """The nodes at their rates, with the frames that really leave."""

    def __init__(
        self,
        flow: Flow,
        works: Mapping[str, Work],
        settings: Settings,
        frames: Mapping[Edge, Filling],
        around: Circumstances,
    ) -> None:
        self.flow = flow
        self.works = works
        self.settings = settings
        self.frames = frames
        self.around = around
        self.slowdown = self._slowdown()

    def stay(self, work: Work) -> dict[Phase, Moments]:
        """From when its frame is there until a record is done."""
        name = work.node.name
        varies = self.around.variability.get(name, Variability())
        engine = self.around.engine
        if self._in_batches(name) and engine is not None:
            capacity = math.inf if not work.cost else exact.approximate(work.slots / work.cost) * engine.speedup
            scv = 1.0 if varies.arrival is None else varies.arrival
            return engine.phases(exact.approximate(work.inflow.records), capacity, scv)
        records, each = exact.approximate(work.inflow.frame or exact.exact(1)), self._record_time(work)
        spread = max((self.frames[edge].spread for edge in self._edges_into(work.node)), default=0.0)
        scv = (varies.service / records + spread) * self._varying(work) ** 2
        cpu = service.cpu(records * each, records, scv)
        rate = exact.approximate(work.inflow.records / work.slots)
        # Without rounding what the costs say; and also when it is only too much at the pace that others leave.
        if work.demand.most >= work.slots or (rate and each and rate * each >= 1):
            return {Phase.QUEUE: NEVER, Phase.CPU: cpu}
        streams = self._streams(work)
        queue = _queue(streams, records * each, varies.arrival, scv) + self._bulks(work)
        if work.inflow.frames:
            transfer = exact.approximate(work.demand.network_in / work.inflow.frames)
            queue += _queue(streams, transfer, varies.arrival, spread)
        return {Phase.QUEUE: queue, Phase.CPU: cpu}

    def trip(self, output: str, reader: str) -> dict[Phase, Moments]:
        """From when a record is done in one segment until its frame is at the next."""
        producer = self.works[self.flow.owners[output].name]
        frame = self.frames[output, reader]
        size = next(o.record_size for o in producer.node.outputs if o.name == output)
        sources = self._buffers(producer.node.name, reader) / producer.slots
        slot = self.around.slot
        per_byte = 0.0 if slot.network is None else BITS * slot.sharing / float(slot.network)
        transfer = frame.records * float(size) * per_byte
        phases = {Phase.WAIT: frame.wait, Phase.NETWORK: self.around.hop + Moments(2 * transfer)}
        if not self._in_batches(producer.node.name):
            busy = exact.approximate(producer.demand.network_out / producer.slots)
            out = [Stream(busy / transfer / sources, frame.rhythm, sources)] if transfer else []
            phases[Phase.QUEUE] = _queue(out, transfer, None, frame.spread)
        return phases

    def _streams(self, work: Work) -> list[Stream]:
        """What comes to one slot, but for batches: from each of the buffers that are filled for its partitions."""
        if work.node.is_source:
            return [Stream(exact.approximate(work.inflow.records / work.slots), 1.0, 1)]
        streams: list[Stream] = []
        for output in sorted(work.node.inputs):
            producer = self.works[self.flow.owners[output].name]
            if not self._in_batches(producer.node.name):
                frame = self.frames[output, work.node.name]
                rate = exact.approximate(producer.rates_out[output] / work.slots) / frame.records
                sources = self._buffers(producer.node.name, work.node.name) / work.slots
                streams.append(Stream(rate / sources, frame.rhythm, sources))
        return streams

    def _buffers(self, producer: str, reader: str) -> int:
        return _partitions(self.settings, self.around, producer) * _partitions(self.settings, self.around, reader)

    def _record_time(self, work: Work) -> float:
        """What a record keeps one slot busy, in seconds, c_p at the pace of Eq. 2; of an idle node, what it would."""
        records = work.inflow.records
        cost = exact.approximate(work.demand.cpu / records if records else work.cost)
        return cost * self.slowdown if cost else 0.0

    def _varying(self, work: Work) -> float:
        """Which part of a frame's cost is for its records; the fetch is the same for any frame, and does not vary."""
        if not work.demand.cpu:
            return 1.0
        fetch = Prices.of(self.flow, work.node, self.around.slot).fetch
        return 1 - exact.approximate(fetch * work.inflow.frames / work.demand.cpu)

    def _bulks(self, work: Work) -> Moments:
        """The wait in what segments that work in batches send all at once."""
        engine = self.around.engine
        if engine is None:
            return ZERO
        bulky = [name for name in work.node.inputs if self._in_batches(self.flow.owners[name].name)]
        rates = [self.works[self.flow.owners[name].name].rates_out[name] for name in bulky]
        rate, each = exact.approximate(exact.total(rates) / work.slots), self._record_time(work)
        return queueing.bulk(rate * each, engine.interval) if rate and each else ZERO

    def _edges_into(self, node: Node) -> set[tuple[str, str]]:
        return {(name, node.name) for name in node.inputs}

    def _in_batches(self, name: str) -> bool:
        return self.around.paradigms.get(name) is Paradigm.BATCH

    def _slowdown(self) -> float:
        """Of Eq. 2, with p as in the paper: what the other slots of a worker take, were all spread evenly."""
        record = [work for name, work in self.works.items() if not self._in_batches(name)]
        if not record:
            return 1.0
        busy = exact.total(work.demand.cpu for work in record) / sum(work.slots for work in record)
        return service.slowdown(self.around.cores, (self.around.slot.sharing - 1) * exact.approximate(busy))
