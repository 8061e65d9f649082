"""The data flow D = (V, E): nodes with their costs, in an order that does not depend on how they were listed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Self

from spillway.controllers.costmodel import exact
from spillway.controllers.costmodel.exact import Number
from spillway.model import operators, quantities


@dataclasses.dataclass(frozen=True, slots=True)
class Costs:
    """What one operator costs on one slot, in seconds, and what comes out of it (Table 3.1).

    Attributes:
        cpu: c_cpu, seconds for one record.
        fetch: c_fetch, seconds to take one frame in, whatever its size.
        emit: c_emit, seconds to send one frame, whatever its size.
        selectivity: s, records out for one record in.
        record_size: rs_out, bytes of one record that comes out.
    """

    cpu: Number = 0.0
    fetch: Number = 0.0
    emit: Number = 0.0
    selectivity: Number = 1.0
    record_size: Number = 0.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            exact.check(getattr(self, field.name), field.name)

    @classmethod
    def declared(
        cls, declared: operators.Costs | None, otherwise: Costs | None = None, *, is_source: bool = False
    ) -> Costs:
        """The costs as a StreamJob declares them; what it leaves out as `otherwise` has it, or nothing is assumed.

        A source has nothing to fetch, so that is not asked of it.
        """
        known: dict[str, float] = {"fetch": 0.0} if is_source else {}
        missing: list[str] = []
        for name in (field.name for field in dataclasses.fields(cls)):
            value = getattr(declared, name, None)
            if value is not None:
                known[name] = value.seconds if isinstance(value, quantities.Duration) else float(value)
            elif otherwise is not None:
                known[name] = getattr(otherwise, name)
            elif name not in known:
                missing.append(name)
        if missing:
            message = f"costs say nothing about {', '.join(missing)}; declare or profile them"
            raise ValueError(message)
        return cls(**known)


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """What leaves a node on one edge: `selectivity` records for each record that the node takes in.

    Not `framed` is a topic that others write, one record per message, before any of this: nobody here pays for sending
    it, a poll takes in whatever is there without a fetch for each frame, and no record waits for others in a frame.
    """

    name: str
    selectivity: Number = 1.0
    emit: Number = 0.0
    record_size: Number = 0.0
    framed: bool = True

    def __post_init__(self) -> None:
        for what in ("selectivity", "emit", "record_size"):
            exact.check(getattr(self, what), f"{what} of {self.name!r}")


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """An operator, or several that are fused: it reads outputs of other nodes, and is a source when it reads none.

    To name an input twice is to read it over two edges, as a join of a stream with itself does. Who reads by key gets
    records of every partition of its inputs in every partition of its own; else those of one all come in one.
    """

    name: str
    inputs: tuple[str, ...]
    cpu: Number
    fetch: Number
    outputs: tuple[Output, ...]
    keyed: bool = True

    def __post_init__(self) -> None:
        for what in ("cpu", "fetch"):
            exact.check(getattr(self, what), f"{what} of {self.name!r}")

    @classmethod
    def operator(cls, name: str, inputs: Sequence[str], costs: Costs) -> Self:
        """One operator, with one output that has its name."""
        output = Output(name, costs.selectivity, costs.emit, costs.record_size)
        return cls(name, tuple(inputs), costs.cpu, costs.fetch, (output,))

    @property
    def is_source(self) -> bool:
        """Whether its rate comes from the workload."""
        return not self.inputs

    @property
    def is_topic(self) -> bool:
        """Whether it is nothing but a topic that others write: it has no slot, though settings give it one."""
        return self.is_source and bool(self.outputs) and not any(output.framed for output in self.outputs)


@dataclasses.dataclass(frozen=True, slots=True)
class Slot:
    """What one degree of parallelism has to work with: a worker slot, or an executor core.

    Attributes:
        speed: how fast its CPU is, where 1 is the one that the costs were measured on.
        network: N̂, bits per second of its worker, in and out each; None when it is no limit.
        sharing: n, slots that share this network, so that N = N̂/n is what each has (section 4.2).
    """

    speed: Number = 1.0
    network: Number | None = None
    sharing: int = 1

    def __post_init__(self) -> None:
        exact.check(self.speed, "speed", above_zero=True)
        exact.check(self.sharing, "sharing", above_zero=True)
        if self.network is not None:
            exact.check(self.network, "network", above_zero=True)


CORE = Slot()  # one core as the costs were measured on, and no limit of the network


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """How a node runs (Definition 41): dop, and b_out of all its outputs; a node that nobody reads has no frame."""

    parallelism: int
    frame: int | None = None

    def __post_init__(self) -> None:
        exact.check(self.parallelism, "parallelism", above_zero=True)
        if self.frame is not None:
            exact.check(self.frame, "frame", above_zero=True)


Settings = Mapping[str, Setting]
Workload = Mapping[str, Number]  # W: records per second for each source (Definition 42)


@dataclasses.dataclass(frozen=True, init=False)
class Flow:
    """Nodes by level, then by name: each after all that it reads, whatever the order they were given in.

    The level is the longest way from a source (Eq. 4.7): l(v) = 0 for sources, else 1 + max l(v') over its producers.
    """

    nodes: tuple[Node, ...]
    levels: Mapping[str, int] = dataclasses.field(repr=False, compare=False)
    owners: Mapping[str, Node] = dataclasses.field(repr=False, compare=False)  # by output
    readers: Mapping[str, tuple[str, ...]] = dataclasses.field(repr=False, compare=False)  # by output, edge by edge

    def __init__(self, nodes: Iterable[Node]) -> None:
        given = tuple(nodes)
        owners = _owners(given)
        readers: dict[str, list[str]] = {output: [] for output in owners}
        for node in given:
            for name in node.inputs:
                if name not in readers:
                    message = f"node {node.name!r} reads {name!r}, which no node gives"
                    raise ValueError(message)
                readers[name].append(node.name)
        levels = _levels(given, readers)
        ordered = tuple(sorted(given, key=lambda node: (levels[node.name], node.name)))
        object.__setattr__(self, "nodes", ordered)
        object.__setattr__(self, "levels", MappingProxyType(levels))
        object.__setattr__(self, "owners", MappingProxyType(owners))
        object.__setattr__(self, "readers", MappingProxyType({name: tuple(sorted(r)) for name, r in readers.items()}))

    def __getitem__(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    @property
    def sources(self) -> tuple[Node, ...]:
        """The nodes whose rates the workload gives."""
        return tuple(node for node in self.nodes if node.is_source)

    def is_read(self, node: Node) -> bool:
        """Whether anybody reads an output of it; a sink, in the paper's words, is a node that nobody reads."""
        return any(self.readers[output.name] for output in node.outputs)

    def is_framed(self, output: str) -> bool:
        """Whether records leave by this output in frames."""
        return next(o.framed for o in self.owners[output].outputs if o.name == output)

    def fan_out(self, output: str) -> int:
        """f: how many edges an output goes out on (Eq. 3.30)."""
        return len(self.readers[output])


def check_workload(flow: Flow, workload: Workload) -> None:
    """Refuse a workload that has no rate for a source, or one for anything else, or a rate that is none."""
    sources = {node.name for node in flow.sources}
    if workload.keys() != sources:
        message = f"the workload has rates for {sorted(workload)}, and the sources are {sorted(sources)}"
        raise ValueError(message)
    for name in sorted(sources):
        exact.check(workload[name], f"the rate of {name!r}")


def check_settings(flow: Flow, settings: Settings) -> None:
    """Refuse settings that leave out a node, or the frame of a node that is read."""
    for node in flow.nodes:
        if node.name not in settings:
            message = f"node {node.name!r} has no setting"
            raise ValueError(message)
        if settings[node.name].frame is None and flow.is_read(node):
            message = f"node {node.name!r} is read, so its setting needs a frame"
            raise ValueError(message)


def _owners(nodes: Sequence[Node]) -> dict[str, Node]:
    """Which node gives an output."""
    if not nodes:
        message = "a flow needs at least one node"
        raise ValueError(message)
    names: set[str] = set()
    owners: dict[str, Node] = {}
    for node in nodes:
        taken = [output.name for output in node.outputs if owners.setdefault(output.name, node) is not node]
        if node.name in names or taken or len({output.name for output in node.outputs}) < len(node.outputs):
            message = f"node {node.name!r}, or an output of it, has a name that is taken"
            raise ValueError(message)
        names.add(node.name)
    return owners


def _levels(nodes: Sequence[Node], readers: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Eq. 4.7, each node once all its inputs are known; whatever is left waits for itself."""
    by_name = {node.name: node for node in nodes}
    waiting = {node.name: len(node.inputs) for node in nodes}
    levels = {node.name: 0 for node in nodes if node.is_source}
    ready = list(levels)
    while ready:
        name = ready.pop()
        del waiting[name]
        for output in by_name[name].outputs:
            for reader in readers[output.name]:
                levels[reader] = max(levels.get(reader, 0), levels[name] + 1)
                waiting[reader] -= 1
                if not waiting[reader]:
                    ready.append(reader)
    if waiting:
        message = f"nodes read each other in a circle, or wait for one: {', '.join(sorted(waiting))}"
        raise ValueError(message)
    return levels
