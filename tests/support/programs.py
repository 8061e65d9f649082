"""A whole job in memory: its programs, with topics as lists. No Kafka, no processes, no clock; everything else is real.

Rows between programs go through real frames, of random sizes, into the partitions that the keys say.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from spillway.controllers import acceptance
from spillway.expressions import relations
from spillway.model import topology, types
from spillway.model.kafka import Distribution, Stream, Table
from spillway.model.streamjob import Spec
from spillway.model.topology import Draft
from spillway.model.types import Column, Schema
from spillway.runtime import frames, functions
from spillway.runtime.codecs import reading, writing
from spillway.runtime.frames import Layout, Origin, Sender
from spillway.runtime.functions import Function
from spillway.runtime.programs import cutting, states
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Port, Program
from spillway.runtime.programs.running import Letter, Running

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclasses.dataclass(frozen=True)
class Message:
    """What a program asks of a message."""

    at: int
    content: bytes | None
    name: bytes | None = None
    time: int = 0  # milliseconds

    def offset(self) -> int:
        return self.at

    def key(self) -> bytes | None:
        return self.name

    def value(self) -> bytes | None:
        return self.content

    def timestamp(self) -> tuple[int, int]:
        return (1, self.time)


def messages(records: Iterable[Any], *, start: int = 0, step: int = 1) -> list[Message]:
    """A message for each: objects as JSON, bytes as they are; times go up by so many milliseconds."""
    encode = msgspec.json.encode
    return [
        Message(start + i, record if isinstance(record, bytes | None) else encode(record), time=i * step)
        for i, record in enumerate(records)
    ]


def seeded(number: int) -> random.Random:
    """Dice that always fall the same way."""
    return random.Random(number)  # noqa: S311


def spec(parts: str | Mapping[str, Any]) -> Spec:
    """The spec with these streams, tables, operators and outputs, maybe as YAML; it has to be right."""
    given = yaml.safe_load(parts) if isinstance(parts, str) else parts
    document = {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": "job"},
        "spec": {"kafka": {"bootstrapServers": ["localhost:9092"]}, "latency": {"bound": "1s"}, **given},
    }
    return _accepted(document)


def example(name: str) -> Spec:
    """The spec of an example."""
    return _accepted(yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text()))


def _accepted(document: Any) -> Spec:
    verdict = acceptance.accept(document)
    assert verdict.job is not None, verdict.message
    return verdict.job.spec


def loaded(given: Spec, folder: Path = EXAMPLES) -> dict[str, Function]:
    """The functions that a spec names."""
    names = {operator.python.function for operator in given.operators if operator.python is not None}
    return {name: functions.load(name, folder) for name in sorted(names)}


def together(given: Spec, *, sources: bool = False) -> dict[str, tuple[str, ...]]:
    """Segments that are as large as they can be; with streams as heads of their own, if so asked."""
    small = {table.name for table in given.tables if table.distribution is Distribution.BROADCAST}
    found, _ = relations.infer(topology.build(Draft.of(given))[0])
    home = {stream.name: stream.name for stream in given.streams} if sources else {}
    members = {name: [name] for name in home}
    for operator in given.operators:
        looks_up = operator.join and operator.join.table in small and not found[operator.reads[0]].is_table
        keyed = operator.aggregate or (operator.join and not looks_up)
        above = "" if keyed or operator.input is None else operator.input
        home[operator.name] = home.get(above, operator.name)
        members.setdefault(home[operator.name], []).append(operator.name)
    return {name: tuple(inside) for name, inside in members.items()}


class Job:
    """All programs of a job, at work."""

    def __init__(
        self,
        given: Spec,
        segments: Mapping[str, Sequence[str]],
        loaded_functions: Mapping[str, Function] | None = None,
        *,
        partitions: int = 1,
        dice: random.Random | None = None,
    ) -> None:
        known = loaded_functions or {}
        self.programs = cutting.cut(given, segments, {name: f.digest for name, f in known.items()})
        self.loops = {program.name: Loop(program, known) for program in self.programs}
        self.partitions = partitions
        self.dice = dice or seeded(0)
        self.topics: dict[str, dict[int, list[Any]]] = {}
        self.outputs: dict[str, list[tuple[bytes | None, bytes | None]]] = {o.name: [] for o in given.outputs}
        self.letters: list[Letter] = []
        self.running: dict[tuple[str, str, int], Running] = {}

    def run(self, topics: Mapping[str, Mapping[int, Sequence[Message]] | Sequence[Message]]) -> Job:
        """Feed the user's topics, and let everything flow to its end: programs stand after what they read."""
        for name, content in topics.items():
            by_partition = content if isinstance(content, Mapping) else {0: content}
            self.topics[name] = {partition: list(found) for partition, found in by_partition.items()}
        for program in self.programs:
            self._work(program)
        return self

    def rows(self, name: str) -> list[Any]:
        """The messages of an output in append mode, decoded, in an order that no cutting changes."""
        found = [msgspec.json.decode(value) for _, value in self.outputs[name] if value is not None]
        return sorted(found, key=repr)

    def table(self, name: str) -> dict[bytes | None, Any]:
        """What a reader of a changelog has in the end."""
        found: dict[bytes | None, Any] = {}
        for key, value in self.outputs[name]:
            if value is None:
                found.pop(key, None)
            else:
                found[key] = msgspec.json.decode(value)
        return found

    def _work(self, program: Program) -> None:
        replicas = {s.name: states.replica(s) for s in program.states if s.broadcast}
        for port in (port for port in program.ports if port.broadcast):
            assert isinstance(port.source, Table)
            running = self._bound(program, "replica", 0, replicas)
            for found in self.topics[port.source.topic].values():
                running.run[port.label](found)
            self._take(program, running, Origin("replica", 0, program.id))
        for source, partition, port, content in self._inputs(program):
            running = self._bound(program, source, partition, replicas)
            for piece in self._pieces(content):
                if port.source is not None:
                    running.run[port.label](piece)
                else:
                    offset, rows, first = piece
                    running.run[port.label](offset, rows, first)
                self._take(program, running, Origin(source, partition, program.id))

    def _bound(self, program: Program, source: str, partition: int, replicas: Mapping[str, Any]) -> Running:
        key = (program.name, source, partition)
        if key not in self.running:
            made = {state.name: states.made(state, replicas.get(state.name)) for state in program.states}
            known = {edge.reader: self.partitions for edge in program.edges}
            self.running[key] = self.loops[program.name].bind(made, known)
        return self.running[key]

    def _inputs(self, program: Program) -> Iterable[tuple[str, int, Port, Any]]:
        for port in program.ports:
            if port.source is not None and not port.broadcast:
                for partition, found in sorted(self.topics.get(port.source.topic, {}).items()):
                    yield port.name, partition, port, found
        # The frames of an edge come in one topic, whichever side they are for.
        edges = {port.side: port for port in program.ports if port.source is None and not port.combined}
        layouts = {side: Layout(port.schema, updates=port.updates) for side, port in edges.items()}
        for partition, found in sorted(self.topics.get(f"edge.{program.name}", {}).items()):
            for offset, data in enumerate(found):
                frame = frames.read(data)
                rows = layouts[frame.side].rows(frame)
                yield f"edge.{program.name}", partition, edges[frame.side], [(offset, rows, 0)]

    def _pieces(self, content: Any) -> Iterable[Any]:
        """As polls bring them: some at once."""
        if content and isinstance(content[0], tuple):
            yield from content
            return
        at = 0
        while at < len(content):
            few = self.dice.choice([1, 2, 7, 100])
            yield content[at : at + few]
            at += few

    def _take(self, program: Program, running: Running, origin: Origin) -> None:
        for edge in program.edges:
            sender = Sender(Layout(edge.schema, updates=edge.updates), origin, 1, side=edge.side)
            topic = self.topics.setdefault(f"edge.{edge.reader}", {})
            for partition, rows in enumerate(running.edges[edge.label]):
                assert rows == sorted(rows, key=lambda row: row[:2])
                into = topic.setdefault(origin.partition % self.partitions if edge.key is None else partition, [])
                into += sender.frames(rows, 0)
                rows.clear()
        for name, rows in running.outputs.items():
            self.outputs[name] += [(key, value) for _, _, _, key, value in rows]
            rows.clear()
        self.letters += running.letters
        running.letters.clear()


def _compiled(text: str, namespace: Mapping[str, Any]) -> Any:
    names = dict(namespace)
    exec(text, names)  # noqa: S102
    return names["made"]


def decoder(part: Stream | Table) -> Callable[[Message], Any]:
    """From a message to (timestamp, row), or (timestamp, old, new) of a table."""
    schema = _schema(part)
    variables = {column.name: f"c_{column.name}" for column in schema}
    if isinstance(part, Table):
        piece = reading.of_table(part, schema, variables, "x")
        given = "timestamp, old, new"
    else:
        piece = reading.of_stream(part, schema, variables, "x")
        given = f"timestamp, ({''.join(f'{variable}, ' for variable in variables.values())})"
    lines = "\n".join(f"    {line}" for line in piece.lines)
    made: Callable[[Message], Any] = _compiled(f"def made(message):\n{lines}\n    return {given}\n", piece.namespace)
    return made


def _schema(part: Stream | Table) -> Schema:
    schema = types.parse_schema(part.columns)
    if isinstance(part, Stream) and part.key_column is not None:
        return Schema((*schema.columns, Column(part.key_column, types.STRING)))
    return schema


def encoder(schema: Schema) -> Callable[[Sequence[Any]], bytes]:
    """From a row to its JSON object."""
    objects = writing.Objects(schema.columns, "Row")
    variables = [f"c_{column.name}" for column in schema]
    apart = "".join(f"{variable}, " for variable in variables)
    text = f"def made(row):\n    {apart}= row\n    return {objects.source(variables)}\n"
    made: Callable[[Sequence[Any]], bytes] = _compiled(text, objects.namespace)
    return made


def keyer(schema: Schema) -> Callable[[Sequence[Any]], bytes]:
    """From the values of a key to the key of a message."""
    variables = [f"c_{column.name}" for column in schema]
    source, namespace = writing.keyed(schema.columns, "Key", variables)
    apart = "".join(f"{variable}, " for variable in variables)
    text = f"def made(row):\n    {apart}= row\n    return {source}\n"
    made: Callable[[Sequence[Any]], bytes] = _compiled(text, namespace)
    return made
