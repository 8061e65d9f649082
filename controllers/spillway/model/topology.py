"""The topology as a graph: who reads whom, in which order, and what does not fit together.

All checks work on a `Draft`, which leaves out the parts that could not be read. So one misspelt field does not
hide the mistakes behind it, and a reference to a part that is broken itself is not reported a second time.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Iterator, Sequence

from spillway.model import errors
from spillway.model.errors import Mistake, Path
from spillway.model.kafka import Output, Stream, Table
from spillway.model.operators import Operator
from spillway.model.streamjob import Spec


@dataclasses.dataclass(frozen=True, slots=True)
class Draft:
    """What could be read of a spec: parts with their places in the lists, and the names of those that could not.

    A broken part whose own name can't be read has the name "": then nothing is said about references.
    """

    streams: tuple[tuple[int, Stream], ...] = ()
    tables: tuple[tuple[int, Table], ...] = ()
    operators: tuple[tuple[int, Operator], ...] = ()
    outputs: tuple[tuple[int, Output], ...] = ()
    broken: frozenset[str] = frozenset()

    @classmethod
    def of(cls, spec: Spec) -> Draft:
        """The draft of a spec that was read whole."""
        return cls(
            tuple(enumerate(spec.streams)),
            tuple(enumerate(spec.tables)),
            tuple(enumerate(spec.operators)),
            tuple(enumerate(spec.outputs)),
        )


class Kind(enum.StrEnum):
    """What a node is."""

    STREAM = "stream"
    TABLE = "table"
    OPERATOR = "operator"


Source = Stream | Table
Part = Stream | Table | Operator


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """One stream, table or operator, and what it reads."""

    kind: Kind
    part: Part
    path: Path

    @property
    def name(self) -> str:
        """The name of the part."""
        return self.part.name

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of what it reads."""
        return self.part.reads if isinstance(self.part, Operator) else ()


@dataclasses.dataclass(frozen=True, slots=True)
class Topology:
    """All nodes that can be computed, each after what it reads; and the outputs."""

    nodes: tuple[Node, ...]
    outputs: tuple[tuple[int, Output], ...]

    def __getitem__(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    @property
    def readers(self) -> dict[str, tuple[str, ...]]:
        """For each node, the operators that read it, in order."""
        found: dict[str, list[str]] = {node.name: [] for node in self.nodes}
        for node in self.nodes:
            for name in dict.fromkeys(node.reads):
                if name in found:
                    found[name].append(node.name)
        return {name: tuple(readers) for name, readers in found.items()}


def build(draft: Draft) -> tuple[Topology, list[Mistake]]:
    """Order the graph; report names that are taken, unknown or unused, and cycles.

    The order is a topological one, and among equals that of the manifest, so that it never changes by itself.
    """
    nodes = list(_nodes(draft))
    by_name: dict[str, Node] = {}
    mistakes: list[Mistake] = []
    for node in nodes:
        first = by_name.setdefault(node.name, node)
        if first is not node:
            message = f"name {node.name!r} is taken by the {first.kind} at {Mistake(first.path, '').place}"
            mistakes.append(Mistake((*node.path, "name"), message))
    mistakes += _unknown(by_name, draft)
    ordered, cycles = _order(by_name)
    mistakes += cycles
    mistakes += _outputs(draft)
    if not mistakes and not draft.broken:  # else it would mostly be an echo: of a misspelt reference, say
        mistakes += _unused(by_name, draft.outputs)
    return Topology(tuple(ordered), draft.outputs), mistakes


def _nodes(draft: Draft) -> Iterator[Node]:
    for i, stream in draft.streams:
        yield Node(Kind.STREAM, stream, ("spec", "streams", i))
    for i, table in draft.tables:
        yield Node(Kind.TABLE, table, ("spec", "tables", i))
    for i, operator in draft.operators:
        yield Node(Kind.OPERATOR, operator, ("spec", "operators", i))


def _references(draft: Draft) -> Iterator[tuple[str, Path, str]]:
    """Every name that somebody refers to, where, and the name of who does."""
    for i, operator in draft.operators:
        path: Path = ("spec", "operators", i)
        if operator.input is not None:
            yield operator.input, (*path, "input"), operator.name
        for j, name in enumerate(operator.inputs or ()):
            yield name, (*path, "inputs", j), operator.name
        if operator.join is not None:
            side = "table" if operator.join.table is not None else "stream"
            yield operator.join.table or operator.join.stream or "", (*path, "join", side), operator.name
    for i, output in draft.outputs:
        yield output.input, ("spec", "outputs", i, "input"), ""


def _unknown(by_name: dict[str, Node], draft: Draft) -> Iterator[Mistake]:
    if "" in draft.broken:
        return
    for name, path, reader in _references(draft):
        if name not in by_name and name not in draft.broken:
            names = sorted((by_name.keys() | draft.broken) - {reader})
            guess = errors.did_you_mean(name, names)
            known = "" if guess else f"; known are {_listed(names)}"
            yield Mistake(path, f"no stream, table or operator is called {name!r}{guess}{known}")


def _listed(names: Sequence[str], most: int = 8) -> str:
    if not names:
        return "none"
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _order(by_name: dict[str, Node]) -> tuple[list[Node], list[Mistake]]:
    """Depth first, without recursion: 256 operators in a row are a legal job."""
    ordered: dict[str, Node] = {}
    circles: dict[str, Mistake] = {}  # by the node that closes one: dense graphs have more circles than anybody reads
    done: set[str] = set()
    for start in by_name:
        trail: dict[str, Iterator[str]] = {} if start in done else {start: iter(by_name[start].reads)}
        while trail:
            name = next(reversed(trail))
            following = next((n for n in trail[name] if n in by_name and n not in done), None)
            if following is None:
                del trail[name]
                done.add(name)
                # What reads a circle, or stands in one, has no columns that could be inferred.
                if all(n in ordered for n in by_name[name].reads if n in by_name):
                    ordered[name] = by_name[name]
            elif following in trail:
                message = f"operators read each other in a circle: {_circle(list(trail), following)}"
                circles.setdefault(name, Mistake(by_name[name].path, message))
            else:
                trail[following] = iter(by_name[following].reads)
    return list(ordered.values()), list(circles.values())


def _circle(trail: list[str], start: str, most: int = 8) -> str:
    """The end of the trail, from `start` on, in the direction in which records would flow."""
    names = [start, *reversed(trail[trail.index(start) :])]
    if len(names) > most + 1:
        names = [*names[: most // 2], f"({len(names) - 1 - most} more)", *names[-most // 2 - 1 :]]
    return " → ".join(names)


def _unused(by_name: dict[str, Node], outputs: Iterable[tuple[int, Output]]) -> Iterator[Mistake]:
    read = {name for node in by_name.values() for name in node.reads} | {output.input for _, output in outputs}
    for node in by_name.values():
        if node.name not in read:
            remedy = f"add an operator or an output with `input: {node.name}`, or remove it"
            yield Mistake(node.path, f"nobody reads {node.kind} {node.name!r}: {remedy}")


def _outputs(draft: Draft) -> Iterator[Mistake]:
    """Outputs write different topics, and none that the job reads: that would be an endless loop."""
    read = {stream.topic: stream.name for _, stream in draft.streams}
    read |= {table.topic: table.name for _, table in draft.tables}
    names: dict[str, int] = {}
    written: dict[str, str] = {}
    for i, output in draft.outputs:
        path: Path = ("spec", "outputs", i)
        if names.setdefault(output.name, i) != i:
            yield Mistake((*path, "name"), f"name {output.name!r} is taken by spec.outputs[{names[output.name]}]")
        if output.topic in read:
            message = (
                f"topic {output.topic!r} is read as {read[output.topic]!r}: writing it too would be an endless loop"
            )
            yield Mistake((*path, "topic"), message)
        elif written.setdefault(output.topic, output.name) != output.name:
            message = f"topic {output.topic!r} is written by output {written[output.topic]!r} already"
            yield Mistake((*path, "topic"), message)
