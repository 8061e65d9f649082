"""Writes calls of the user's functions: record by record within the loop, or for all records behind it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from spillway.model.operators import Python, PythonKind
from spillway.model.types import Column, Kind, Schema
from spillway.runtime import functions
from spillway.runtime.programs import vectors
from spillway.runtime.programs.program import MAIN, Step
from spillway.runtime.programs.text import Place, Records, addressed, assigned, identifier

if TYPE_CHECKING:
    from spillway.runtime.programs import records

# What is right as it is when a function gives it; all other kinds of columns take the way of `functions.checker`.
_RIGHT = {
    Kind.BOOLEAN: "type({0}) is bool",
    Kind.DOUBLE: "type({0}) is float",
    Kind.STRING: "type({0}) is str and {0}.isascii()",
    Kind.INT: f"type({{0}}) is int and {-(2**31)} <= {{0}} <= {2**31 - 1}",
    Kind.BIGINT: f"type({{0}}) is int and {-(2**63)} <= {{0}} <= {2**63 - 1}",
}
# The same of all elements of an array, which has some; in C, for a call for each would take as long as most functions.
_ALL_RIGHT = {
    Kind.BOOLEAN: "set(map(type, {0})) == {{bool}}",
    Kind.DOUBLE: "set(map(type, {0})) == {{float}}",
    Kind.STRING: "set(map(type, {0})) == {{str}} and ''.join({0}).isascii()",
    Kind.INT: f"set(map(type, {{0}})) == {{{{int}}}} and {-(2**31)} <= min({{0}}) and max({{0}}) <= {2**31 - 1}",
    Kind.BIGINT: f"set(map(type, {{0}})) == {{{{int}}}} and {-(2**63)} <= min({{0}}) and max({{0}}) <= {2**63 - 1}",
}


class Writer:
    """Writes calls, and what follows them."""

    def __init__(self, writer: records.Writer) -> None:
        """Into the text of the writer of the whole body."""
        self._to = writer

    def step(self, step: Step, flow: Records, place: Place) -> None:
        """A function for each record, and what follows."""
        python = _python(step)
        call = self.call(step, flow)
        if python.as_ is PythonKind.FILTER:
            self._to.passing(
                step, flow, place, f"{self._to.outside('passes', step, functions.passes(step.name))}({call})"
            )
            return
        result = self._to.names.new("r", step.name)
        if python.as_ is PythonKind.MAP:
            self._to.line(place, f"{result} = {call}", step.name)
            taken = self._taken(step, flow, result, place)
            self._to.stamp(step.name, place)
            self._to.node(step.name, taken, place)
        else:
            self._several(step, flow, result, place)

    def _several(self, step: Step, flow: Records, result: str, place: Place) -> None:
        """What a function gives is one value: none of its rows goes on before all of them are right."""
        results = self._to.names.new("results", step.name)
        self._to.line(place, f"{results} = []", step.name)
        self._to.line(place, f"for {result} in {self.call(step, flow)}:", step.name)
        inner = place.nested(loop=True)
        taken = self._taken(step, flow, result, inner)
        variables = tuple(taken.variables.values())
        row = variables[0] if len(variables) == 1 else taken.row(returns(step))
        self._to.line(inner, f"{results}.append({row})", step.name)
        self._to.stamp(step.name, place)
        self._to.line(place, f"for {row} in {results}:", step.name)
        place = place.nested(loop=True)
        self._to.count(step.name, place)
        with self._to.judged(place, step.name) as inner:
            self._to.node(step.name, taken, inner)

    def call(self, step: Step, flow: Records) -> str:
        """The source of a call of the user's function: with a dict of its own."""
        python = _python(step)
        function = self._to.outside("f", step, self._to.loaded[python.function].call)
        given = ", ".join(
            f"{column.name!r}: {functions.seen(column.type, flow.variables[column.name])}"
            for column in step.given[MAIN].schema
        )
        self._to.names.outside.update(to_datetime=functions.to_datetime, to_date=functions.to_date)
        return f"{function}({{{given}}})"

    def _taken(self, step: Step, flow: Records, result: str, place: Place) -> Records:
        """Take the columns out of a result; what is not at once what it should be is looked at closely.

        Most of what a function gives is what it was given, and that is right: it was in a row of the same type.
        """
        schema = returns(step)
        variables = self._to.names.columns(schema)
        check = self._to.outside("check", step, functions.checker(_python(step).function, schema))
        closely = assigned(variables.values(), f"{check}({result})")
        given = {column: flow.variables[column.name] for column in step.given[MAIN].schema}
        tests = [_right(column, variables[column.name], given.get(column, "")) for column in schema]
        if not all(tests):
            self._to.line(place, closely, step.name)
            return Records(variables)
        # Of an array a copy: the function may keep what it gave, and change it.
        entries = ", ".join(
            f"{result}[{column.name!r}]{'[:]' if column.type.kind is Kind.ARRAY else ''}" for column in schema
        )
        right = " and ".join(tests)
        lines = ["try:", f"    {', '.join(variables.values())} = {entries}", f"    right = {right}"]
        lines += ["except Exception:", "    right = False", "if not right:", f"    {closely}"]
        self._to.out.add(place.indent, lines, step.name)
        return Records(variables)

    # Vectorised functions wait until the loop is through.

    def waits(self, step: Step, flow: Records, place: Place) -> None:
        """Put the record where the function will find it."""
        name = identifier(step.name)
        waiting = self._to.bind(f"waiting_{name}", f"at.waiting.setdefault({step.name!r}, [])")
        self._to.line(place, f"{waiting}.append({addressed(flow, step.given[MAIN].schema, place)})", step.name)
        self._to.stages.setdefault(step.name, flow)

    def stage(self, name: str, place: Place) -> None:
        """The loop behind a vectorised function, over what it gave for all records together."""
        step = self._to.program.step(name)
        apply = vectors.Vectors(self._to.loaded[_python(step).function], _python(step), step.given[MAIN].schema)
        function = self._to.outside("all", step, apply)
        variables = self._to.names.columns(apply.result)
        time = self._to.names.new("time", name)
        into = ", ".join(["offset", "index", time, *variables.values()])
        waiting = f"waiting_{identifier(name)}"
        self._to.line(place, f"# {name} (python): all records at once", name)
        self._to.line(place, f"if {waiting}:", name)
        self._to.out.add(place.indent + 1, f"for {into} in {function}({waiting}, at, {name!r}):", name)
        inner = dataclasses.replace(place, indent=place.indent + 2, timestamp=time)
        self._to.count(name, inner)
        with self._to.judged(inner, name) as deeper:
            self._to.node(name, Records(variables), deeper)
        self._to.out.add(place.indent + 1, f"{waiting}.clear()", name)


def _right(column: Column, variable: str, given: str) -> str:
    """The source of whether a value is right at once; `given`: what the function was given for the same column.

    Empty where only a closer look tells.
    """
    if column.type.element is not None:
        known = _ALL_RIGHT.get(column.type.element.kind, "")
        return known and f"type({variable}) is list and {known.format(variable)}"
    right = _RIGHT.get(column.type.kind, "").format(variable)
    if not right:
        return ""
    return f"({variable} is {given} or {right})" if given.isidentifier() else right


def returns(step: Step) -> Schema:
    """The columns that a function gives."""
    return vectors.returns(_python(step), step.given[MAIN].schema)


def _python(step: Step) -> Python:
    assert step.operator.python is not None  # noqa: S101 - the kind of the operator says so
    return step.operator.python
