"""Every segment of a plan, and every edge between two, by phase.

What a segment gets at once is a frame of b records: what its producers send, or a single record from a source topic.
Of its `parallelism` slots each has partitions of its own, so each is a queue of its own, with a share of the frames.

- edge, wait: `filling`, for the rate of one buffer. There is a buffer for each pair of input partitions of producer
  and reader, because a frame says which partition it is from, and is for one; for each input partition of the
  producer, where the reader has no key. A micro-batch knows what it has, so its frames do not wait.
- edge, network: a frame goes to the log and from there to the reader, so 2·8·b·rs/N, and `hop` for the log.
- queue: `queueing`, for the CPU and for the network, out and in. Behind a segment that works in batches for all that
  comes at once, instead; a record of that waits for what is there already, and for those before it.
- cpu, and batch and schedule: `service`, `batches`.

Frames that leave by their deadline have fewer records, and cost as much to send and to take in: rates don't depend on
frames as long as all gets through, so first frames are filled at these rates, and then nodes are priced with them.
A segment that works in batches takes in all that is there at once, so it fetches once for each core and batch, and its
frames leave full.

Segments that share a slot take turns, frame by frame, in the order in which they come: one queue for all of them, with
the service times of all, so c_s² is that of the mixture, E(S²) = Σ λ_i/λ·S_i²·(1 + c_i²). Eq. 2, by which the others
leave 1 - p of the slot, would say that a frame that takes long holds up nobody.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from spillway.controllers.costmodel.flow import Flow, Settings, Slot, Workload
from spillway.controllers.latency import filling, queueing, service, stations
from spillway.controllers.latency.batches import Engine
from spillway.controllers.latency.filling import Filling
from spillway.controllers.latency.moments import NEVER, ZERO, Moments
from spillway.controllers.latency.phases import Breakdown, Phase
from spillway.controllers.latency.queueing import Stream, Variability
from spillway.controllers.latency.stations import SLACK, Station

Edge = tuple[str, str]  # an output, and who reads it

_RANDOM = Variability()


@dataclasses.dataclass(frozen=True, slots=True)
class Circumstances:
    """All that `predict` was told beside the flow and the workload; its docstring explains them.

    `engines` has the nodes that work in batches and no others; `shared` has for each node that shares its slot all
    that do, itself included.
    """

    settings: Settings
    deadlines: Mapping[str, float]
    engines: Mapping[str, Engine]
    partitions: Mapping[str, int]
    variability: Mapping[str, Variability]
    shared: Mapping[str, tuple[str, ...]]
    slot: Slot
    cores: int
    hop: Moments


@dataclasses.dataclass(frozen=True, slots=True)
class Segments:
    """What a record meets: `stays` by node, `trips` by output and reader, and how much slower slots are than alone."""

    stays: Mapping[str, Breakdown]
    trips: Mapping[Edge, Breakdown]
    slowdown: float


class Busy(NamedTuple):
    """How many slots a node keeps busy, by what, and the frames and messages that come to it in each second."""

    cpu: float
    network_in: float
    network_out: float
    frames: float
    messages: float


def of(flow: Flow, workload: Workload, around: Circumstances) -> Segments:
    """All segments and edges; rates are what would flow if all got through, and what does not takes for ever."""
    estimate = Estimate(flow, stations.of(flow, workload, around.slot), around)
    return Segments(
        {node.name: Breakdown.of(estimate.stay(node.name)) for node in flow.nodes},
        {edge: Breakdown.of(estimate.trip(*edge)) for edge in estimate.edges},
        estimate.slowdown,
    )


class Estimate:
    """The nodes at their rates, with the frames that really leave; each part is computed when it is asked for.

    Who searches changes the settings, deadlines, engines and groups that it passed, and then says what is to be
    forgotten; all else is kept.
    """

    def __init__(self, flow: Flow, nodes: Mapping[str, Station], around: Circumstances) -> None:
        self.flow = flow
        self.nodes = nodes
        self.around = around
        self.edges: tuple[Edge, ...] = tuple(
            dict.fromkeys((output, reader) for output, readers in flow.readers.items() for reader in readers)
        )
        self._sends = {
            node.name: tuple(edge for edge in self.edges if flow.owners[edge[0]] is node) for node in flow.nodes
        }
        self._owner = {output: node.name for output, node in flow.owners.items()}
        self._framed = {output for node in flow.nodes for output in (o.name for o in node.outputs if o.framed)}
        self._fillings: dict[Edge, Filling] = {}
        self._busy: dict[str, Busy] = {}
        self._frames: dict[str, _Frame] = {}
        self._coming: dict[str, list[Stream]] = {}
        self._queues: dict[Sequence[str], Moments] = {}
        self._slowdown: float | None = None

    def around_of(self, name: str) -> set[str]:
        """The nodes whose stay may depend on a setting of this one: itself, whom it reads, who reads it."""
        found = {name, *(self._owner[output] for output in (*self.nodes[name].inputs, *self.nodes[name].topics))}
        readers = {reader for _, reader in self._sends[name]}
        return (
            found | readers | {next_ for one in readers for _, next_ in self._sends[one] if not self._is_keyed(next_)}
        )

    def edges_of(self, name: str) -> tuple[Edge, ...]:
        """All edges into and out of a node."""
        node = self.nodes[name]
        return (*self._sends[name], *((output, name) for output in dict.fromkeys((*node.inputs, *node.topics))))

    def forget(self, name: str) -> None:
        """A setting of this node, a deadline of an output of it, or its engine has changed."""
        for edge in self.edges_of(name):
            self._fillings.pop(edge, None)
        for other in self.around_of(name):
            self._busy.pop(other, None)
            self._frames.pop(other, None)
            self._coming.pop(other, None)
        self._queues.clear()
        self._slowdown = None

    def forget_all(self) -> None:
        """Anything may have changed."""
        self._fillings.clear()
        self._busy.clear()
        self._frames.clear()
        self._coming.clear()
        self._queues.clear()
        self._slowdown = None

    def filling(self, output: str, reader: str) -> Filling:
        """What becomes of the frames of an edge."""
        found = self._fillings.get((output, reader))
        if found is None:
            found = self._fillings[output, reader] = self._fill(output, reader)
        return found

    def _fill(self, output: str, reader: str) -> Filling:
        name = self._owner[output]
        if output not in self._framed:
            return filling.ALONE
        frame = self.around.settings[name].frame or 1
        if name in self.around.engines:
            return Filling(ZERO, frame, 0.0, 1.0)
        rate = self.nodes[name].rates[output] / self._buffers(name, reader)
        return filling.fill(frame, rate, self.around.deadlines.get(output, math.inf))

    def busy(self, name: str) -> Busy:
        """What a node needs with the frames that really come and leave (Eq. 3.8, 3.21).

        Of an output that several read, the smallest frame counts for all.
        """
        found = self._busy.get(name)
        if found is None:
            found = self._busy[name] = self._need(self.nodes[name])
        return found

    def _need(self, node: Station) -> Busy:
        if not node.rate:
            return Busy(0.0, 0.0, 0.0, 0.0, 0.0)
        frames = math.fsum(self._rate(name) / self.filling(name, node.name).records for name in node.inputs)
        alone = math.fsum(self._rate(name) for name in node.topics)
        engine = self.around.engines.get(node.name)
        fetched = (
            frames if engine is None else min(frames, self.around.settings[node.name].parallelism / engine.interval)
        )
        emit = math.fsum(cost / self._leaving(output) for output, cost in node.emits.items())
        cpu = node.fetch * fetched + (node.cpu + emit) * node.rate
        return Busy(cpu, node.network_in, node.network_out, frames, frames + alone)

    def pressed(self, name: str) -> float:
        """How many cores a node in batches keeps busy; the network is no faster for them."""
        needs = self.busy(name)
        return max(needs.cpu / self.around.engines[name].speedup, needs.network_in, needs.network_out)

    def _leaving(self, output: str) -> float:
        return min(self.filling(output, reader).records for reader in self.flow.readers[output])

    def _rate(self, output: str) -> float:
        return self.nodes[self._owner[output]].rates[output]

    def _partitions(self, name: str) -> int:
        """How many partitions the input of a node has; at least one for each slot, which would have no work without."""
        return self.around.partitions.get(name, self.around.settings[name].parallelism)

    def _buffers(self, producer: str, reader: str) -> int:
        before = self._partitions(producer)
        if self._is_keyed(reader):
            return before * self._partitions(reader)
        return max(before, self.around.settings[reader].parallelism)  # each slot has a partition of the producer

    def _is_keyed(self, name: str) -> bool:
        return self.nodes[name].keyed

    def _leaves(self, producer: str, reader: str) -> float:
        """How irregular records come from a slot, where 1 is at random: as the slot is done with them (Marshall).

        Of what is spread by key each partition gets a part, which is at random again.
        """
        if self._is_keyed(reader):
            return 1.0
        load = min(1.0, self.busy(producer).cpu / self.around.settings[producer].parallelism)
        return 1 + load**2 * (self.around.variability.get(producer, _RANDOM).service - 1)

    @property
    def slowdown(self) -> float:
        """Of Eq. 2, with p as in the paper: what the other slots of a worker take, were all spread evenly."""
        if self._slowdown is None:
            sharing = float(self.around.slot.sharing)
            self._slowdown = service.slowdown(self.around.cores, (sharing - 1) * self._spread() if sharing > 1 else 0.0)
        return self._slowdown

    def _spread(self) -> float:
        """The mean share of a slot that is busy; segments that share a slot have it together."""
        record = [name for name, node in self.nodes.items() if node.slots and name not in self.around.engines]
        alone = [self.around.settings[name].parallelism for name in record if name not in self.around.shared]
        slots = sum(alone) + len({self.around.shared[name] for name in record if name in self.around.shared})
        return math.fsum(self.busy(name).cpu for name in record) / slots if slots else 0.0

    def each(self, name: str) -> float:
        """What a record keeps one slot busy, in seconds, c_p at the pace of Eq. 2; of an idle node, what it would."""
        node = self.nodes[name]
        cost = self.busy(name).cpu / node.rate if node.rate else self._idle(node)
        return cost * self.slowdown if cost else 0.0

    def _idle(self, node: Station) -> float:
        """1/C as if the dearest came: the smallest frame with the largest record."""
        frame = self.around.settings[node.name].frame or 1
        smallest = min((self.around.settings[self._owner[name]].frame or 1 for name in node.inputs), default=1)
        cpu = node.fetch / smallest + node.cpu + math.fsum(node.emits.values()) / frame
        return max(cpu, stations.per_byte(self.around.slot) * node.largest, node.send)

    def stay(self, name: str) -> dict[Phase, Moments]:
        """From when its frame is there until a record is done."""
        if name in self.around.engines:
            return self._batch(name)
        frame = self._frame(name)
        cpu = service.cpu(frame.time, frame.records, frame.scv)
        group = self.around.shared.get(name, (name,))
        slots = self.around.settings[name].parallelism
        needs = [self.busy(member) for member in group]
        full = slots * (1 - SLACK)
        # Also when it is only too much at the pace that others leave.
        pace = math.fsum(self.nodes[member].rate * self.each(member) for member in group if self.nodes[member].rate)
        if max(pace, *(math.fsum(need[kind] for need in needs) for kind in range(3))) >= full:
            return {Phase.QUEUE: NEVER, Phase.CPU: cpu}
        queue = self._queues.get(group)
        if queue is None:
            queue = self._queue(group) + self._network(group) + self._bulks(group)
            self._queues[group] = queue
        return {Phase.QUEUE: queue, Phase.CPU: cpu}

    def _batch(self, name: str) -> dict[Phase, Moments]:
        engine, node = self.around.engines[name], self.nodes[name]
        cost = self.pressed(name) / node.rate if node.rate else self._idle(node) / engine.speedup
        capacity = self.around.settings[name].parallelism / cost if cost else math.inf
        varies = self.around.variability.get(name, _RANDOM)
        return engine.phases(node.rate, capacity, 1.0 if varies.arrival is None else varies.arrival)

    def _frame(self, name: str) -> _Frame:
        """A message with all that is in it, as the slot meets it."""
        found = self._frames.get(name)
        if found is None:
            found = self._frames[name] = self._message(name)
        return found

    def _message(self, name: str) -> _Frame:
        node, needs = self.nodes[name], self.busy(name)
        records = node.rate / needs.messages if needs.messages else 1.0
        spread = max((self.filling(output, name).spread for output in node.inputs), default=0.0)
        # The fetch is the same for any frame, and does not vary; the rest is for the records.
        varying = 1 - node.fetch * needs.frames / needs.cpu if needs.cpu else 1.0
        varies = self.around.variability.get(name, _RANDOM)
        return _Frame(records * self.each(name), records, (varies.service / records + spread) * varying**2)

    def _queue(self, group: Sequence[str]) -> Moments:
        """The wait for the slot: all of the group are one class of customers each."""
        frames = [(_total(self._streams(name)), self._frame(name)) for name in group]
        rate = math.fsum(rate for rate, _ in frames)
        mean = math.fsum(rate * frame.time for rate, frame in frames) / rate if rate else 0.0
        if not mean:
            return ZERO
        square = math.fsum(rate * (frame.time / mean) ** 2 * (1 + frame.scv) for rate, frame in frames) / rate
        return queueing.wait(rate, mean, self._arrivals(group, mean), max(0.0, square - 1))

    def _network(self, group: Sequence[str]) -> Moments:
        """The wait for the network that brings frames; to a source nothing is brought."""
        group = [name for name in group if self.nodes[name].inputs or self.nodes[name].topics]
        needs = [self.busy(name) for name in group]
        messages = math.fsum(need.messages for need in needs)
        transfer = math.fsum(need.network_in for need in needs) / messages if messages else 0.0
        if not transfer:
            return ZERO
        rate = math.fsum(_total(self._streams(name)) for name in group)
        edges = [(output, name) for name in group for output in self.nodes[name].inputs]
        spread = max((self.filling(*edge).spread for edge in edges), default=0.0)
        return queueing.wait(rate, transfer, self._arrivals(group, transfer), spread)

    def _arrivals(self, group: Sequence[str], time: float) -> float:
        """c_a² of all that comes to one slot, as regular as it was measured, or as it should be."""
        streams: list[Stream] = []
        for name in group:
            coming = self._streams(name)
            measured = self.around.variability.get(name, _RANDOM).arrival
            streams += coming if measured is None else [Stream(_total(coming), measured, 1)]
        return queueing.merged(streams, time)

    def trip(self, output: str, reader: str) -> dict[Phase, Moments]:
        """From when a record is done in one segment until its frame is at the next."""
        producer = self.nodes[self._owner[output]]
        frame = self.filling(output, reader)
        transfer = frame.records * producer.sizes[output] * stations.per_byte(self.around.slot)
        phases = {Phase.WAIT: frame.wait, Phase.NETWORK: self.around.hop + Moments(2 * transfer)}
        if transfer and producer.slots and producer.name not in self.around.engines:
            group = self.around.shared.get(producer.name, (producer.name,))
            slots = self.around.settings[producer.name].parallelism
            busy = math.fsum(self.busy(member).network_out for member in group) / slots
            sources = self._buffers(producer.name, reader) / slots
            streams = [Stream(busy / transfer / sources, frame.rhythm, sources)]
            scv = queueing.merged(streams, transfer)
            phases[Phase.QUEUE] = queueing.wait(_total(streams), transfer, scv, frame.spread)
        return phases

    def _streams(self, name: str) -> list[Stream]:
        """What comes to one slot, but for batches: from each of the buffers that are filled for its partitions."""
        found = self._coming.get(name)
        if found is None:
            found = self._coming[name] = self._arriving(name)
        return found

    def _arriving(self, name: str) -> list[Stream]:
        node, slots = self.nodes[name], self.around.settings[name].parallelism
        if not node.inputs and not node.topics:
            return [Stream(node.rate / slots, 1.0, 1)]
        streams: list[Stream] = []
        for output in sorted((*node.inputs, *node.topics)):
            producer = self._owner[output]
            if producer not in self.around.engines:
                frame = self.filling(output, name)
                rate = self._rate(output) / slots / frame.records
                sources = self._buffers(producer, name) / slots
                streams.append(Stream(rate / sources, frame.rhythm * self._leaves(producer, name), sources))
        return streams

    def _bulks(self, group: Iterable[str]) -> Moments:
        """The wait in what segments that work in batches send all at once, also to others on the same slot."""
        shares: list[float] = []
        lengths: list[float] = []
        for name in group:
            slots, each = self.around.settings[name].parallelism, self.each(name)
            for output in self.nodes[name].inputs:
                engine = self.around.engines.get(self._owner[output])
                if engine is not None and each:
                    shares.append(self._rate(output) / slots * each)
                    lengths.append(shares[-1] * engine.interval)
        return queueing.bulk(math.fsum(shares), math.fsum(lengths)) if shares else ZERO


class _Frame(NamedTuple):
    """Seconds that it keeps a slot busy, records in it, and c_s² of the seconds."""

    time: float
    records: float
    scv: float


def _total(streams: Iterable[Stream]) -> float:
    return math.fsum(stream.rate * stream.sources for stream in streams)
