"""Writes what leaves a program: rows for other programs, by the partition of their key, and messages for topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spillway import expressions
from spillway.model.kafka import Table
from spillway.model.types import Schema
from spillway.runtime import keys
from spillway.runtime.codecs import writing
from spillway.runtime.programs.program import Edge, Output
from spillway.runtime.programs.text import Changes, Flow, Place, Records, addressed, identifier, said, tuple_of

if TYPE_CHECKING:
    from spillway.runtime.programs import records


class Writer:
    """Writes edges and outputs of records, and what those of updates share with them."""

    def __init__(self, writer: records.Writer) -> None:
        """Into the text of the writer of the whole body."""
        self._to = writer

    def edge(self, edge: Edge, flow: Flow, place: Place) -> None:
        """Rows for another program."""
        owner = edge.label
        self._to.out.given = flow.given(edge.schema, place.timestamp)
        by = f", by {said(', '.join(edge.key))}" if edge.key else ""
        self._to.line(place, f"# to {edge.reader}{by}", owner)
        if isinstance(flow, Records) and edge.updates:
            new = self._to.names.new("new", edge.label)
            self._to.line(place, f"{new} = {flow.row(edge.schema)}", owner)
            flow = Changes("None", new, edge.schema)
        if isinstance(flow, Changes):
            self._to.changes.edge(edge, flow, place)
            return
        to = self.buffer(edge)
        row = addressed(flow, edge.schema, place)
        if edge.label in self._to.apart:
            key = self.key(edge, flow, self._types_of(edge, flow))
            to = f"{to}[crc32({key}) % {self.partitions(edge)}]"
        self._to.line(place, f"{to}({row})", owner)
        self._to.stamp(owner, place)

    def buffer(self, edge: Edge) -> str:
        """A name for what takes rows of an edge: a function, or one for each partition."""
        name = f"to_{identifier(edge.label)}"
        if edge.label in self._to.apart:
            return self._to.bind(name, f"[rows.append for rows in at.edges[{edge.label!r}]]")
        return self._to.bind(name, f"at.edges[{edge.label!r}][0].append")

    def partitions(self, edge: Edge) -> str:
        """A name for the number of partitions of an edge."""
        return self._to.bind(f"of_{identifier(edge.label)}", f"len(at.edges[{edge.label!r}])")

    def _types_of(self, edge: Edge, flow: Records) -> Schema:
        """The columns that a key is computed of, with their types."""
        return Schema(tuple(c for c in self.layout(edge.sources[0]) if c.name in flow.variables))

    def layout(self, node: str) -> Schema:
        """The columns that a node gives."""
        for port in self._to.program.ports:
            if port.name == node and port.into is None:
                return port.schema
        return self._to.program.step(node).result.schema

    def table_key(self, node: str) -> tuple[str, ...]:
        """The columns that name a row of a node; none of a stream."""
        for port in self._to.program.ports:
            if port.name == node and isinstance(port.source, Table):
                return port.source.key
        return next((step.result.key or () for step in self._to.program.steps if step.name == node), ())

    def key(self, edge: Edge, flow: Records, schema: Schema) -> str:
        """The source of the bytes of a row's key."""
        items = [expressions.check_item(text, schema).expression for text in edge.key or ()]
        parts = [self._to.names.scope.value(item.term, flow.variables) for item in items]
        encode = f"key_{identifier(edge.label)}"
        self._to.names.outside[encode] = keys.encoder([item.type for item in items])
        return f"{encode}({tuple_of(parts)})"

    def output(self, output: Output, flow: Flow, place: Place) -> None:
        """Messages for a topic of the user."""
        self._to.out.given = flow.given(output.schema, place.timestamp)
        self._to.line(place, f"# to topic {output.topic} ({output.mode})", output.label)
        if isinstance(flow, Changes):
            self._to.changes.output(output, flow, place)
            return
        key, value = self.message(output, flow.variables)
        lines = [f"name = {key}", f"value = {value}", *self.bounded(output, "name")]
        self._to.out.add(place.indent, lines, output.label)
        to = self.output_buffer(output)
        self._to.line(place, f"{to}((offset, index, {place.timestamp}, name, value))", output.label)
        self._to.stamp(output.label, place)

    def bounded(self, output: Output, key: str) -> list[str]:
        """Refuse a message that its topic would not take."""
        most = self._to.bind(f"most_{identifier(output.name)}", f"at.most[{output.name!r}]")
        size = "len(value)" if output.key is None else f"len({key}) + len(value)"
        return [f"if {size} > {most}:", f"    too_large({size}, {most})"]

    def output_buffer(self, output: Output) -> str:
        """A name for what takes messages of an output."""
        return self._to.bind(f"out_{identifier(output.name)}", f"at.outputs[{output.name!r}].append")

    def message(self, output: Output, variables: Mapping[str, str]) -> tuple[str, str]:
        """The sources of the key and the value of a message."""
        objects = writing.Objects(output.schema.columns, f"Row_{identifier(output.name)}")
        self._to.names.outside.update(objects.namespace)
        return self.message_key(output, variables), objects.source([variables[name] for name in output.schema.names])

    def message_key(self, output: Output, variables: Mapping[str, str]) -> str:
        """The source of the key of a message, which may be None."""
        if output.key is None:
            return "None"
        if not output.key:  # the one row of an aggregate over everything: with a key its updates stay in one partition
            return "b'{}'"
        by_name = {column.name: column for column in output.schema}
        columns = [by_name[name] for name in output.key]
        name = f"Key_{identifier(output.name)}"
        source, namespace = writing.keyed(columns, name, [variables[name] for name in output.key])
        self._to.names.outside.update(namespace)
        return source
