"""Writes what happens to a record: one operator after another, columns as local variables.

Of a node's readers, edges and outputs come first and operators after them, in the order of the manifest. The last one
is in tail position: a filter there goes on with the next record (`continue`), the others nest what follows in an `if`.

Each row is judged alone: what raises on it ends its own way, and not that of a row beside it. So the others stand in a
`try` each, and so does what happens to one row of several. That costs nothing but when something raises, and it makes
results independent of the cut: apart, the same operators could not take back what one of them has sent.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from spillway import expressions
from spillway.runtime.functions import Function
from spillway.runtime.programs import calls, changes, exits
from spillway.runtime.programs.program import MAIN, Edge, Output, Port, Program, Step
from spillway.runtime.programs.text import Changes, Flow, Lines, Names, Place, Records, identifier, item_name, said


class Writer:
    """Writes the body of a program.

    Attributes:
        out: where lines go to.
        functions: definitions that stand before the loops.
        bound: lines that take what a partition has, before those.
        counting: places that count what goes out of them, with their variables.
        stages: vectorised steps that the current loop feeds, with the flow behind them.
    """

    def __init__(self, program: Program, loaded: Mapping[str, Function], apart: Collection[str]) -> None:
        """`apart`: edges whose rows are shared out to partitions, by their keys."""
        self.program = program
        self.loaded = loaded
        self.apart = apart
        self.names = Names()
        self.out = Lines()
        self.functions = Lines()
        self.bound = Lines()
        self.counting: dict[str, str] = {}
        self.stages: dict[str, Flow] = {}
        self.calls, self.exits, self.changes = calls.Writer(self), exits.Writer(self), changes.Writer(self)
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
            last = i == len(readers) - 1
            at = dataclasses.replace(place, tail=place.tail and last, operators=place.operators + 1)
            if last or not _raises(reader):
                self._reader(reader, flow, at)
            else:
                with self.judged(at, name) as inner:
                    self._reader(reader, flow, inner)
        if not readers:
            self.line(place, "pass", name)

    def _reader(self, reader: Edge | Output | Step, flow: Flow, place: Place) -> None:
        match reader:
            case Edge():
                self.exits.edge(reader, flow, place)
            case Output():
                self.exits.output(reader, flow, place)
            case Step():
                self.step(reader, MAIN, flow, place)

    @contextlib.contextmanager
    def judged(self, place: Place, owner: str) -> Iterator[Place]:
        """What is written within ends alone, as a dead letter, where it raises; what comes after goes on."""
        self.line(place, "try:", owner)
        yield place.nested(block=True)
        self.line(place, "except BaseException as error:", owner)
        self.out.add(place.indent + 1, "refused(error, offset, index)", owner)

    def step(self, step: Step, side: int, flow: Flow, place: Place) -> None:
        """An operator, and everything behind it."""
        kind, described = step.operator.kind, _described(step)
        self.out.given = flow.given(step.given[side].schema, place.timestamp)
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
            self.calls.waits(step, flow, place)
        else:
            kinds = {
                "filter": self._filter,
                "select": self._select,
                "explode": self._explode,
                "python": self.calls.step,
            }
            kinds[kind](step, flow, place)

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

    def outside(self, prefix: str, step: Step, value: Any) -> str:
        """A name for something that all partitions share."""
        name = f"{prefix}_{identifier(step.name)}"
        self.names.outside.setdefault(name, value)
        return name

    # Operators

    def _filter(self, step: Step, flow: Records, place: Place) -> None:
        checked = expressions.check_condition(step.operator.filter or "", step.given[MAIN].schema)
        condition = self.names.scope.condition(checked.term, flow.variables)
        self.passing(step, flow, place, condition)

    def passing(self, step: Step, flow: Records, place: Place, condition: str) -> None:
        """What follows only where a condition is met."""
        if place.timed:
            self.line(place, f"goes = {condition}", step.name)
            self.stamp(step.name, place)
            condition = "goes"
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
        with self.judged(place, step.name) as inner:
            self.node(step.name, Records({**variables, explode.as_: element}), inner)

    # What is too deep for Python becomes a function.

    def _function(self, name: str, flow: Flow, place: Place) -> None:
        self._functions += 1
        called = f"rest_{self._functions}"
        carried = (flow.old, flow.new) if isinstance(flow, Changes) else tuple(dict.fromkeys(flow.variables.values()))
        given = ", ".join(["offset", "index", place.timestamp, *(c for c in carried if c != "None")])
        self.line(place, f"{called}({given})  # {name}, and what follows", name)
        inner = dataclasses.replace(place, indent=2, blocks=0, operators=0, leave="return", tail=True, inside=True)
        self._later.append((f"def {called}({given}):", name, flow, inner))

    def finish(self) -> None:
        """Write the functions that have been called so far; their bodies may call others."""
        while self._later:
            head, name, flow, place = self._later.pop()
            self.out = Lines()
            self.out.add(0, "", name)
            self.out.add(1, head, name)
            self.node(name, flow, place)
            self.functions.extend(self.out)


def _raises(reader: Edge | Output | Step) -> bool:
    """Whether anything can raise: rows that are only kept for later don't."""
    if isinstance(reader, Step):
        return reader.takes_updates or reader.operator.python is None or not reader.operator.python.vectorised
    return isinstance(reader, Output) or reader.key is not None


def places(program: Program) -> dict[str, tuple[str, ...]]:
    """Every place that has figures of its own, and the places that it reads."""
    found: dict[str, tuple[str, ...]] = {port.label: () for port in program.ports}
    for step in program.steps:
        ports = [port.label for port in program.ports if port.into == step.name and not port.broadcast]
        found[step.name] = (*step.reads, *ports)
    found |= {edge.label: edge.sources for edge in program.edges}
    return found | {output.label: (output.source,) for output in program.outputs}


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
    return said(text)
