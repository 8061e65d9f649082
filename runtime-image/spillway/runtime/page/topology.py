"""The graph of a job as its plan has it: streams, tables, operators, outputs, who reads whom, and where to draw it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from spillway.controllers.protocol import messages
from spillway.model import topology
from spillway.model.kafka import Stream
from spillway.model.operators import Operator
from spillway.model.streamjob import Spec
from spillway.model.topology import Draft
from spillway.runtime.page import layout

VERSION = 1
LONGEST = 300  # characters that say what an operator does; expressions may be longer, and the manifest has them whole


class Node(msgspec.Struct, frozen=True):
    """A stream, a table, an operator or an output.

    Attributes:
        id: its name; of an output `output/` and its name, for that may be an operator's too.
        name: as the manifest has it.
        kind: `stream`, `table`, `output`, or what the operator does: `filter`, `select` …
        does: the same in some words: the expression, the function, the topic.
        segment: in which it runs; None where nothing of the job's own runs: a topic.
        layer, row: where it stands.
    """

    id: str
    name: str
    kind: str
    does: str
    segment: str | None
    layer: int
    row: float


class Edge(msgspec.Struct, frozen=True):
    """What flows from one node to another.

    Attributes:
        source, target: the nodes.
        kind: `source` and `output` are topics of the user, `edge` is one of the job's own, with frames, and `fused`
            a function call.
        bends: what it passes on its way, as layer and row.
    """

    source: str
    target: str
    kind: str
    bends: tuple[tuple[int, float], ...] = ()


class Topology(msgspec.Struct, frozen=True):
    """What `GET /v1/topology` answers.

    Attributes:
        version: of this format.
        plan: the number of the plan; None before there is one, and then there are no nodes.
        nodes: each after those it reads.
        edges: of them.
    """

    version: int
    plan: int | None
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()


NOTHING = Topology(VERSION, None)


def of(plan: messages.Plan) -> Topology:
    """The graph of a plan."""
    spec = Spec.model_validate_json(plan.spec)
    segments = {name: segment.name for segment in plan.segments for name in segment.operators}
    ordered, _ = topology.build(Draft.of(spec))
    outputs = {f"output/{output.name}": output for output in spec.outputs}
    ids = [*(node.name for node in ordered.nodes), *outputs]
    pairs = [(read, node.name) for node in ordered.nodes for read in dict.fromkeys(node.reads)]
    pairs += [(output.input, name) for name, output in outputs.items()]
    drawn = layout.arrange(ids, pairs)
    kinds = {node.name: _kind(node.part) for node in ordered.nodes} | dict.fromkeys(outputs, "output")
    does = {node.name: _does(node.part) for node in ordered.nodes}
    does |= {name: f"topic {output.topic}" for name, output in outputs.items()}
    return Topology(
        VERSION,
        plan.number,
        tuple(
            Node(
                name,
                outputs[name].name if name in outputs else name,
                kinds[name],
                does[name],
                segments.get(name),
                drawn.places[name].layer,
                drawn.places[name].row,
            )
            for name in ids
        ),
        tuple(_edges(pairs, kinds, segments, drawn)),
    )


def _edges(
    pairs: list[tuple[str, str]], kinds: Mapping[str, str], segments: Mapping[str, str], drawn: layout.Layout
) -> Iterator[Edge]:
    for source, target in pairs:
        if kinds[target] == "output":
            kind = "output"
        elif source not in segments:
            kind = "source"
        else:
            kind = "fused" if segments[source] == segments.get(target) else "edge"
        bends = tuple((bend.layer, bend.row) for bend in drawn.bends.get((source, target), ()))
        yield Edge(source, target, kind, bends)


def _kind(part: topology.Part) -> str:
    if isinstance(part, Operator):
        return part.kind
    return str(topology.Kind.STREAM if isinstance(part, Stream) else topology.Kind.TABLE)


def _does(part: topology.Part) -> str:
    """What a node does, in some words."""
    text = _operation(part) if isinstance(part, Operator) else f"topic {part.topic}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"


def _operation(operator: Operator) -> str:
    if operator.filter is not None:
        return operator.filter
    if operator.select is not None:
        return ", ".join(operator.select)
    if operator.explode is not None:
        return f"{operator.explode.array} as {operator.explode.as_}"
    if operator.python is not None:
        return f"{operator.python.as_} {operator.python.function}"
    if operator.aggregate is not None:
        by = f" by {', '.join(operator.aggregate.by)}" if operator.aggregate.by else ""
        window = f", windows of {operator.aggregate.window.size}" if operator.aggregate.window else ""
        return f"{', '.join(operator.aggregate.values)}{by}{window}"
    if operator.join is not None:
        join = operator.join
        within = f" within {join.within}" if join.within else ""
        return f"{join.type} {join.table or join.stream} by {', '.join(join.by)}{within}"
    return ""
