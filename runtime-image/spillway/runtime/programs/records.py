"""Writes what happens to a record: one operator after another, columns as local variables.

Of a node's readers, edges and outputs come first and operators after them, in the order of the manifest. The last one
is in tail position: a filter there goes on with the next record (`continue`), the others nest what follows in an `if`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from spillway import expressions
from spillway.model.kafka import Table
from spillway.model.operators import Python, PythonKind
from spillway.model.types import Kind, Schema
from spillway.runtime import functions, keys
from spillway.runtime.codecs import writing
from spillway.runtime.functions import Function
from spillway.runtime.programs import changes, vectors
from spillway.runtime.programs.program import MAIN, Edge, Output, Port, Program, Step
from spillway.runtime.programs.text import (
    Changes,
    Flow,
    Lines,
    Names,
    Place,
    Records,
    assigned,
    identifier,
    item_name,
    tuple_of,
)

# What is right as it is when a function gives it; all other kinds of columns take the way of `functions.checker`.
_RIGHT = {
    Kind.BOOLEAN: "type({0}) is bool",
    Kind.DOUBLE: "type({0}) is float",
    Kind.STRING: "type({0}) is str and {0}.isascii()",
    Kind.INT: f"type({{0}}) is int and {-(2**31)} <= {{0}} <= {2**31 - 1}",
    Kind.BIGINT: f"type({{0}}) is int and {-(2**63)} <= {{0}} <= {2**63 - 1}",
}


class Writer:
    """Writes the body of a program.

    Attributes:
        out: where lines go to.
        functions: definitions that stand before the loops.
        bound: lines that take what a partition has, before those.
        counting: places that count what goes out of them, with their variables.
        stages: vectorised steps that the current loop feeds, with the flow behind them.
    """

    def __init__(self, program: Program, loaded: Mapping[str, Function]) -> None:
        self.program = program
        self.loaded = loaded
        self.names = Names()
        self.out = Lines()
        self.functions = Lines()
        self.bound = Lines()
        self.counting: dict[str, str] = {}
        self.stages: dict[str, Flow] = {}
        self.changes = changes.Writer(self)
        self._bound: set[str] = set()
        self._ports: dict[str, dict[str, str]] = {}
        self._functions = 0
        self._later: list[tuple[str, str, Flow, Place]] = []

    def port_variables(self, port: Port) -> dict[str, str]:
        """The variables of the columns that come in at a port."""
        if port.label not in self._ports:
            self._ports[port.label] = self.names.columns(port.schema)
        return self._ports[port.label]

    # The tree

    def node(self, name: str, flow: Flow, place: Place) -> None:
        """Everything that happens to what a node gives."""
        if place.is_deep:
            self._function(name, flow, place)
            return
        readers: list[Edge | Output | Step] = [
            *(edge for edge in self.program.edges if name in edge.sources),
            *(output for output in self.program.outputs if output.source == name),
            *(step for step in self.program.steps if name in step.reads),
        ]
        for i, reader in enumerate(readers):
            tail = place.tail and i == len(readers) - 1
            at = dataclasses.replace(place, tail=tail, operators=place.operators + 1)
            match reader:
                case Edge():
                    self._edge(reader, flow, at)
                case Output():
                    self._output(reader, flow, at)
                case Step():
                    self.step(reader, MAIN, flow, at)
        if not readers:
            self.line(place, "pass", name)

    def step(self, step: Step, side: int, flow: Flow, place: Place) -> None:
        """An operator, and everything behind it."""
        kind, described = step.operator.kind, _described(step)
        self.line(place, f"# {step.name} ({kind}){f': {described}' if described else ''}", step.name)
        if step.has_state:
            self.changes.stateful(step, side, flow, place)
        elif isinstance(flow, Changes):
            self.changes.step(step, flow, place)
        elif step.takes_updates:  # one of several inputs of a step whose other inputs have rows that come and go
            new = self.names.new("new", step.name)
            self.line(place, f"{new} = {flow.row(step.given[MAIN].schema)}", step.name)
            self.changes.step(step, Changes("None", new, step.given[MAIN].schema), place)
        elif step.operator.python is not None and step.operator.python.vectorised:
            self._waits(step, flow, place)
        else:
            {"filter": self._filter, "select": self._select, "explode": self._explode, "python": self._python}[kind](
                step, flow, place
            )

    def line(self, place: Place, text: str, owner: str) -> None:
        """One line at a place."""
        self.out.add(place.indent, text, owner)

    def count(self, name: str, place: Place) -> None:
        """Note that something went out of a place."""
        counter = self.counting.setdefault(name, f"n_{identifier(name)}")
        self.line(place, f"counted[{self.number(name)}] += 1" if place.inside else f"{counter} += 1", name)

    def stamp(self, name: str, place: Place) -> None:
        """In the timed body: what has passed since the last stamp was spent here."""
        if place.timed and not place.inside:
            number = self.number(name)
            self.out.add(
                place.indent,
                # The clock is read again, so that nobody pays for the notes of the one before.
                f"spent[{number}] += clock() - last; passes[{number}] += 1; last = clock()",
                name,
            )

    def number(self, name: str) -> int:
        """Where in the lists of figures a place has its own."""
        return list(places(self.program)).index(name)

    def bind(self, name: str, source: str) -> str:
        """A name for something that each partition has its own of."""
        if name not in self._bound:
            self._bound.add(name)
            self.bound.add(1, f"{name} = {source}", "")
        return name

    # Operators

    def _filter(self, step: Step, flow: Records, place: Place) -> None:
        checked = expressions.check_condition(step.operator.filter or "", step.given[MAIN].schema)
        condition = self.names.scope.condition(checked.term, flow.variables)
        self._passing(step, flow, place, condition)

    def _passing(self, step: Step, flow: Records, place: Place, condition: str) -> None:
        """What follows only where a condition is met."""
        if place.timed:
            self.line(place, f"passes_on = {condition}", step.name)
            self.stamp(step.name, place)
            condition = "passes_on"
        if place.tail:
            self.line(place, f"if not ({condition}):", step.name)
            self.out.add(place.indent + 1, place.leave, step.name)
        else:
            self.line(place, f"if {condition}:", step.name)
            place = place.nested()
        self.count(step.name, place)
        self.node(step.name, flow, place)

    def _select(self, step: Step, flow: Records, place: Place) -> None:
        variables = {}
        for text in step.operator.select or ():
            item = expressions.check_item(text, step.given[MAIN].schema) if self._is_needed(step, text) else None
            if item is None:
                continue
            value = self.names.scope.value(item.expression.term, flow.variables)
            if value not in flow.variables.values():
                name = self.names.new("c", item.name)
                self.line(place, f"{name} = {value}", step.name)
                value = name
            variables[item.name] = value
        self.stamp(step.name, place)
        self.node(step.name, Records(variables), place)

    @staticmethod
    def _is_needed(step: Step, text: str) -> bool:
        """Whether somebody reads what an item gives; others may name columns that have been left out."""
        return item_name(text) in step.result.schema.names

    def _explode(self, step: Step, flow: Records, place: Place) -> None:
        explode = step.operator.explode
        assert explode is not None  # noqa: S101 - the kind of the operator says so
        checked = expressions.check(explode.array, step.given[MAIN].schema)
        array = self.names.scope.value(checked.term, flow.variables)
        element = self.names.new("c", explode.as_)
        variables = {name: flow.variables[name] for name in step.result.schema.names if name != explode.as_}
        if place.timed:
            self.line(place, f"elements = {array}", step.name)
            self.stamp(step.name, place)
            array = "elements"
        self.line(place, f"for {element} in ({array}) or ():", step.name)
        place = place.nested(loop=True)
        self.count(step.name, place)
        self.node(step.name, Records({**variables, explode.as_: element}), place)

    def _python(self, step: Step, flow: Records, place: Place) -> None:
        python = _python(step)
        call = self.call(step, flow)
        if python.as_ is PythonKind.FILTER:
            self._passing(step, flow, place, f"{self.outside('passes', step, functions.passes(step.name))}({call})")
            return
        result = self.names.new("r", step.name)
        if python.as_ is PythonKind.MAP:
            self.line(place, f"{result} = {call}", step.name)
            taken = self._taken(step, result, place)
            self.stamp(step.name, place)
        else:
            if place.timed:
                self.line(place, f"results = list({call})", step.name)
                self.stamp(step.name, place)
                call = "results"
            self.line(place, f"for {result} in {call}:", step.name)
            place = place.nested(loop=True)
            taken = self._taken(step, result, place)
            self.count(step.name, place)
        self.node(step.name, taken, place)

    def call(self, step: Step, flow: Records) -> str:
        """The source of a call of the user's function: with a dict of its own."""
        python = _python(step)
        function = self.outside("f", step, self.loaded[python.function].call)
        given = ", ".join(
            f"{column.name!r}: {functions.seen(column.type, flow.variables[column.name])}"
            for column in step.given[MAIN].schema
        )
        self.names.outside.update(to_datetime=functions.to_datetime, to_date=functions.to_date)
        return f"{function}({{{given}}})"

    def _taken(self, step: Step, result: str, place: Place) -> Records:
        """Take the columns out of a result; what is not at once what it should be is looked at closely."""
        schema = returns(step)
        variables = self.names.columns(schema)
        check = self.outside("check", step, functions.checker(_python(step).function, schema))
        closely = assigned(variables.values(), f"{check}({result})")
        if not all(column.type.kind in _RIGHT for column in schema):
            self.line(place, closely, step.name)
            return Records(variables)
        entries = ", ".join(f"{result}[{name!r}]" for name in variables)
        right = " and ".join(_RIGHT[column.type.kind].format(variables[column.name]) for column in schema)
        lines = ["try:", f"    {', '.join(variables.values())} = {entries}", f"    right = {right}"]
        lines += ["except Exception:", "    right = False", "if not right:", f"    {closely}"]
        self.out.add(place.indent, lines, step.name)
        return Records(variables)

    def outside(self, prefix: str, step: Step, value: Any) -> str:
        """A name for something that all partitions share."""
        name = f"{prefix}_{identifier(step.name)}"
        self.names.outside.setdefault(name, value)
        return name

    # Vectorised functions wait until the loop is through.

    def _waits(self, step: Step, flow: Records, place: Place) -> None:
        name = identifier(step.name)
        waiting = self.bind(f"waiting_{name}", f"at.waiting.setdefault({step.name!r}, [])")
        self.line(place, f"{waiting}.append({self._addressed(flow, step.given[MAIN].schema, place)})", step.name)
        self.stages.setdefault(step.name, flow)

    def stage(self, name: str, place: Place) -> None:
        """The loop behind a vectorised function, over what it gave for all records together."""
        step = self.program.step(name)
        apply = vectors.Vectors(self.loaded[_python(step).function], _python(step), step.given[MAIN].schema)
        function = self.outside("all", step, apply)
        variables = self.names.columns(apply.result)
        time = self.names.new("time", name)
        into = ", ".join(["offset", "index", time, *variables.values()])
        waiting = f"waiting_{identifier(name)}"
        self.line(place, f"# {name} (python): all records at once", name)
        self.line(place, f"if {waiting}:", name)
        self.out.add(place.indent + 1, f"for {into} in {function}({waiting}, at, {name!r}):", name)
        inner = dataclasses.replace(place, indent=place.indent + 3, loops=2, timestamp=time)
        self.out.add(place.indent + 2, "try:", name)
        self.count(name, inner)
        self.node(name, Records(variables), inner)
        self.out.add(place.indent + 2, "except Exception as error:", name)
        self.out.add(place.indent + 3, "failed(error, offset, index)", name)
        self.out.add(place.indent + 1, f"{waiting}.clear()", name)

    # Ways out

    def _addressed(self, flow: Records, schema: Schema, place: Place) -> str:
        return tuple_of(["offset", "index", place.timestamp, *(flow.variables[column.name] for column in schema)])

    def _edge(self, edge: Edge, flow: Flow, place: Place) -> None:
        owner = edge.label
        by = f", by {', '.join(edge.key)}" if edge.key is not None else ""
        self.line(place, f"# to {edge.reader}{by}", owner)
        if isinstance(flow, Records) and edge.updates:
            new = self.names.new("new", edge.label)
            self.line(place, f"{new} = {flow.row(edge.schema)}", owner)
            flow = Changes("None", new, edge.schema)
        if isinstance(flow, Changes):
            self.changes.edge(edge, flow, place)
            return
        to = self.buffer(edge)
        row = self._addressed(flow, edge.schema, place)
        if edge.key is not None:
            key = self.key(edge, flow, self._types_of(edge, flow))
            to = f"{to}[crc32({key}) % {self.partitions(edge)}]"
        self.line(place, f"{to}({row})", owner)
        self.stamp(owner, place)

    def buffer(self, edge: Edge) -> str:
        """A name for what takes rows of an edge: a function, or one for each partition."""
        name = f"to_{identifier(edge.label)}"
        if edge.key is None:
            return self.bind(name, f"at.edges[{edge.label!r}][0].append")
        return self.bind(name, f"[rows.append for rows in at.edges[{edge.label!r}]]")

    def partitions(self, edge: Edge) -> str:
        """A name for the number of partitions of an edge."""
        return self.bind(f"of_{identifier(edge.label)}", f"len(at.edges[{edge.label!r}])")

    def _types_of(self, edge: Edge, flow: Records) -> Schema:
        """The columns that a key is computed of, with their types."""
        return Schema(tuple(c for c in self.layout(edge.sources[0]) if c.name in flow.variables))

    def layout(self, node: str) -> Schema:
        """The columns that a node gives."""
        for port in self.program.ports:
            if port.name == node and port.into is None:
                return port.schema
        return self.program.step(node).result.schema

    def table_key(self, node: str) -> tuple[str, ...]:
        """The columns that name a row of a node; none of a stream."""
        for port in self.program.ports:
            if port.name == node and isinstance(port.source, Table):
                return port.source.key
        return next((step.result.key or () for step in self.program.steps if step.name == node), ())

    def key(self, edge: Edge, flow: Records, schema: Schema) -> str:
        """The source of the bytes of a row's key."""
        items = [expressions.check_item(text, schema).expression for text in edge.key or ()]
        parts = [self.names.scope.value(item.term, flow.variables) for item in items]
        encode = f"key_{identifier(edge.label)}"
        self.names.outside[encode] = keys.encoder([item.type for item in items])
        return f"{encode}({tuple_of(parts)})"

    def _output(self, output: Output, flow: Flow, place: Place) -> None:
        self.line(place, f"# to topic {output.topic} ({output.mode})", output.label)
        if isinstance(flow, Changes):
            self.changes.output(output, flow, place)
            return
        key, value = self.message(output, flow.variables)
        self.out.add(place.indent, [f"value = {value}", *self.bounded()], output.label)
        to = self.output_buffer(output)
        self.line(place, f"{to}((offset, index, {place.timestamp}, {key}, value))", output.label)
        self.stamp(output.label, place)

    @staticmethod
    def bounded() -> list[str]:
        """Refuse a value that no broker would take."""
        return [f"if len(value) > {writing.MAX_BYTES}:", "    too_large(value)"]

    def output_buffer(self, output: Output) -> str:
        """A name for what takes messages of an output."""
        return self.bind(f"out_{identifier(output.name)}", f"at.outputs[{output.name!r}].append")

    def message(self, output: Output, variables: Mapping[str, str]) -> tuple[str, str]:
        """The sources of the key and the value of a message."""
        objects = writing.Objects(output.schema.columns, f"Row_{identifier(output.name)}")
        self.names.outside.update(objects.namespace)
        return self.message_key(output, variables), objects.source([variables[name] for name in output.schema.names])

    def message_key(self, output: Output, variables: Mapping[str, str]) -> str:
        """The source of the key of a message, which may be None."""
        if output.key is None:
            return "None"
        by_name = {column.name: column for column in output.schema}
        columns = [by_name[name] for name in output.key]
        name = f"Key_{identifier(output.name)}"
        source, namespace = writing.keyed(columns, name, [variables[name] for name in output.key])
        self.names.outside.update(namespace)
        return source

    # What is too deep for Python becomes a function.

    def _function(self, name: str, flow: Flow, place: Place) -> None:
        self._functions += 1
        called = f"rest_{self._functions}"
        carried = (flow.old, flow.new) if isinstance(flow, Changes) else tuple(dict.fromkeys(flow.variables.values()))
        given = ", ".join(["offset", "index", place.timestamp, *(c for c in carried if c != "None")])
        self.line(place, f"{called}({given})  # {name}, and what follows", name)
        inner = dataclasses.replace(place, indent=2, loops=0, operators=0, leave="return", tail=True, inside=True)
        self._later.append((f"def {called}({given}):", name, flow, inner))

    def finish(self) -> None:
        """Write the functions that have been called so far; their bodies may call others."""
        while self._later:
            head, name, flow, place = self._later.pop()
            self.out = Lines()
            self.out.add(1, head, name)
            self.node(name, flow, place)
            self.functions.extend(self.out)


def places(program: Program) -> dict[str, tuple[str, ...]]:
    """Every place that has figures of its own, and the places that it reads."""
    found: dict[str, tuple[str, ...]] = {port.label: () for port in program.ports}
    for step in program.steps:
        ports = [port.label for port in program.ports if port.into == step.name and not port.broadcast]
        found[step.name] = (*step.reads, *ports)
    found |= {edge.label: edge.sources for edge in program.edges}
    return found | {output.label: (output.source,) for output in program.outputs}


def returns(step: Step) -> Schema:
    """The columns that a function gives."""
    return vectors.returns(_python(step), step.given[MAIN].schema)


def _python(step: Step) -> Python:
    assert step.operator.python is not None  # noqa: S101 - the kind of the operator says so
    return step.operator.python


def _described(step: Step) -> str:
    operator = step.operator
    if operator.select is not None:
        text = ", ".join(text for text in operator.select if item_name(text) in step.result.schema.names)
    elif operator.explode is not None:
        text = f"{operator.explode.array} as {operator.explode.as_}"
    elif operator.python is not None:
        text = f"{operator.python.function} as {operator.python.as_}"
    elif operator.aggregate is not None:
        text = ", ".join(operator.aggregate.values)
    elif operator.join is not None:
        text = f"{operator.join.type} with {operator.join.table or operator.join.stream}"
    else:
        text = operator.filter or ""
    return " ".join(text.split())
