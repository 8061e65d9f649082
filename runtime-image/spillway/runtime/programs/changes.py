"""Writes what happens to an update: the old row and the new row of a table go the same way, each for itself.

What an operator makes of one row is a function (`row_…`, or `rows_…` where one row may become several). Where only the
old row passes a filter, the update is a delete for whoever reads on; where only the new one does, an insert. An update
of which nothing can be seen any more ends there. Where the partition of an edge depends on values that have changed,
the old row goes to one partition as a delete, and the new one to the other as an insert.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spillway import expressions
from spillway.expressions.terms import Column
from spillway.model.operators import PythonKind
from spillway.model.types import Schema
from spillway.runtime import functions
from spillway.runtime.programs import vectors
from spillway.runtime.programs.program import MAIN, Edge, Output, Step
from spillway.runtime.programs.text import (
    Changes,
    Flow,
    Given,
    Place,
    Records,
    assigned,
    identifier,
    item_name,
    plain,
    tuple_of,
)

if TYPE_CHECKING:
    from spillway.runtime.programs import records

_CHANGELOG = "changelog"


class Writer:
    """Writes tables, and what is behind them."""

    def __init__(self, writer: records.Writer) -> None:
        """Into the text of the writer of the whole body."""
        self._to = writer
        self._known: dict[tuple[str, Schema], str] = {}
        self._sent: set[str] = set()

    # Operators with state

    def stateful(self, step: Step, side: int, flow: Flow, place: Place) -> None:
        """Hand the record or update to the table object, and go on with what it gives."""
        join = step.operator.join
        if join is not None and not (step.is_lookup and side == MAIN):
            method = "table" if step.is_lookup else ("left", "right")[side]
            takes_updates = join.stream is None
        else:
            # One of several inputs of an aggregate may bring records, the other one updates.
            takes_updates = isinstance(flow, Changes) or (join is None and step.takes_updates)
            method = "update" if takes_updates else "record"
        function = self._to.bind(f"{method}_{identifier(step.name)}", f"at.states[{step.name!r}].{method}")
        given = step.given[side].schema
        if takes_updates:
            flow = flow if isinstance(flow, Changes) else Changes("None", flow.row(given), given)
            rows = f"{self._projected(flow.old, flow, given)}, {self._projected(flow.new, flow, given)}"
        else:
            rows = flow.row(given) if isinstance(flow, Records) else flow.new
        call = f"{function}({place.timestamp}, {rows})"
        self._behind(step, call, place, looked_up=method == "record" and step.is_lookup)

    def merged(self, step: Step, place: Place) -> None:
        """Merge states that a batch has combined, and go on with the updates."""
        self._to.out.given = Given(("key", "states"), "(key, states)", "timestamp")
        self._to.line(place, f"# {step.name} (aggregate): states of a batch", step.name)
        merge = self._to.bind(f"merge_{identifier(step.name)}", f"at.states[{step.name!r}].merge")
        self._behind(step, f"{merge}(key, states, timestamp)", place)

    def _behind(self, step: Step, call: str, place: Place, *, looked_up: bool = False) -> None:
        """The loop over what a table object gives: updates, or the records that have been `looked_up`."""
        if place.timed:
            self._to.line(place, f"found = {call}", step.name)
            self._to.stamp(step.name, place)
            call = "found"
        time = self._to.names.new("time", step.name)
        if step.updates and looked_up:
            new = self._to.names.new("new", step.name)
            self._to.line(place, f"for {time}, {new} in {call}:", step.name)
            self._each_given(step, Changes("None", new, step.result.schema), place.nested(loop=True, timestamp=time))
        elif step.updates:
            old, new = self._to.names.new("old", step.name), self._to.names.new("new", step.name)
            self._to.line(place, f"for {time}, {old}, {new} in {call}:", step.name)
            self._each_given(step, Changes(old, new, step.result.schema), place.nested(loop=True, timestamp=time))
        else:
            # Of a look-up come rows; of a join of streams, updates that are all inserts.
            self._to.line(place, f"for {time}, {'' if step.is_lookup else '_, '}row in {call}:", step.name)
            inner = place.nested(loop=True, timestamp=time)
            variables = self._to.names.columns(step.result.schema)
            self._to.line(inner, assigned(variables.values(), "row"), step.name)
            self._each_given(step, Records(variables), inner)

    def _each_given(self, step: Step, flow: Flow, place: Place) -> None:
        """What happens to one row, or one update, of those that an operator gave."""
        self._to.count(step.name, place)
        with self._to.judged(place, step.name) as inner:
            self._to.node(step.name, flow, inner)

    # Operators without

    def step(self, step: Step, flow: Changes, place: Place) -> None:
        """What one operator makes of both rows."""
        python = step.operator.python
        if step.operator.explode is not None or (python is not None and python.as_ is not PythonKind.FILTER):
            self._expanded(step, flow, place)
            return
        function = self._row_function(step, flow.layout)
        old, new = self._to.names.new("old", step.name), self._to.names.new("new", step.name)
        self._each(step.name, function, flow, place, old, new)
        layout = step.result.schema if step.operator.select is not None else flow.layout
        if place.tail:
            self._to.line(place, f"if {old} == {new}:", step.name)
            self._to.out.add(place.indent + 1, place.leave, step.name)
        else:
            self._to.line(place, f"if {old} != {new}:", step.name)
            place = place.nested()
        self._to.count(step.name, place)
        self._to.node(step.name, Changes(old, new, layout), place)

    def _each(self, owner: str, function: str, flow: Changes, place: Place, old: str, new: str) -> None:
        """The function of each row that is there. What raises of the new one is a letter; the old one had its own."""
        to, at = self._to.out, place.indent
        to.add(at, f"{old} = {new} = None", owner)
        to.add(at, f"if {flow.new} is not None:", owner)
        to.add(at + 1, ["try:", f"    {new} = {function}({flow.new})", "except BaseException as error:"], owner)
        to.add(at + 2, "refused(error, offset, index)", owner)
        if flow.old != "None":
            to.add(at, f"if {flow.old} is not None:", owner)
            to.add(at + 1, ["try:", f"    {old} = {function}({flow.old})", "except BaseException as error:"], owner)
            to.add(at + 2, "overlooked(error)", owner)
        self._to.stamp(owner, place)

    def _expanded(self, step: Step, flow: Changes, place: Place) -> None:
        """One row becomes several, each of them a delete or an insert of its own."""
        function = self._rows_function(step, flow.layout)
        old, new = self._to.names.new("old", step.name), self._to.names.new("new", step.name)
        olds, news = self._to.names.new("olds", step.name), self._to.names.new("news", step.name)
        self._each(step.name, function, flow, place, olds, news)
        deletes = f"*(({old}, None) for {old} in {olds} or ())"
        inserts = f"*((None, {new}) for {new} in {news} or ())"
        self._to.line(place, f"for {old}, {new} in [{deletes}, {inserts}]:", step.name)
        self._each_given(step, Changes(old, new, step.result.schema), place.nested(loop=True))

    # Functions of one row

    def _row_function(self, step: Step, layout: Schema) -> str:
        """`row -> row | None` of a filter or a select."""
        if (known := self._known.get((step.name, layout))) is not None:
            return known
        name = self._known[step.name, layout] = self._to.names.new("row", step.name)
        variables = plain(layout)
        lines = [f"def {name}(row):", f"    {_taken_apart(layout, variables)}"]
        schema, scope = step.given[MAIN].schema, self._to.names.scope
        if step.operator.filter is not None:
            condition = scope.condition(expressions.check_condition(step.operator.filter, schema).term, variables)
            lines.append(f"    return row if {condition} else None")
        elif step.operator.select is not None:
            by_name = dict(_items(step))
            values = [
                scope.value(expressions.check_item(by_name[column.name], schema).expression.term, variables)
                for column in step.result.schema
            ]
            lines.append(f"    return {tuple_of(values)}")
        elif step.operator.python is not None and step.operator.python.vectorised:
            lines = [f"def {name}(row):", f"    return row if {self._vectorised(step, layout)}(row) else None"]
        else:
            passes = self._to.outside("passes", step, functions.passes(step.name))
            lines.append(f"    return row if {passes}({self._to.calls.call(step, Records(variables))}) else None")
        self._define(lines, step.name, _given(step.given[MAIN].schema, layout))
        return name

    def _rows_function(self, step: Step, layout: Schema) -> str:
        """`row -> rows` of an explode or a function."""
        key = (step.name, layout)
        if (known := self._known.get(key)) is not None:
            return known
        name = self._known[key] = self._to.names.new("rows", step.name)
        variables = plain(layout)
        apart = f"    {_taken_apart(layout, variables)}"
        python, explode = step.operator.python, step.operator.explode
        if explode is not None:
            term = expressions.check(explode.array, step.given[MAIN].schema).term
            array = self._to.names.scope.value(term, variables)
            row = Records({**variables, explode.as_: "element"}).row(step.result.schema)
            lines = [f"def {name}(row):", apart, f"    return [{row} for element in ({array}) or ()]"]
        elif python is not None and python.vectorised:
            lines = [f"def {name}(row):", f"    return {self._vectorised(step, layout)}(row)"]
        else:
            assert python is not None  # noqa: S101 - there are no other kinds
            returned = vectors.returns(python, step.given[MAIN].schema)
            check = self._to.outside("check", step, functions.checker(python.function, returned))
            call = self._to.calls.call(step, Records(variables))
            results = f"[{call}]" if python.as_ is PythonKind.MAP else call
            taken = plain(returned)
            row = Records(taken).row(step.result.schema)
            lines = [f"def {name}(row):", apart, "    rows = []", f"    for result in {results}:"]
            lines += [f"        {assigned(taken.values(), f'{check}(result)')}", f"        rows.append({row})"]
            lines.append("    return rows")
        self._define(lines, step.name, _given(step.given[MAIN].schema, layout))
        return name

    def _vectorised(self, step: Step, layout: Schema) -> str:
        """A vectorised function for one row: rows of a table change one by one."""
        python = step.operator.python
        assert python is not None  # noqa: S101 - asked only of functions
        apply = vectors.Vectors(self._to.loaded[python.function], python, step.given[MAIN].schema)
        single = apply.single(layout, step.result.schema)
        return self._to.outside("one", step, single)

    def _define(self, lines: list[str], owner: str, given: Given | None = None) -> None:
        self._to.functions.given = given
        self._to.functions.add(0, "", owner)
        self._to.functions.add(1, lines, owner)

    def _projected(self, row: str, flow: Changes, schema: Schema) -> str:
        """A row with the columns of another schema."""
        if row == "None" or schema == flow.layout:
            return row
        names = flow.layout.names
        values = tuple_of(f"{row}[{names.index(column.name)}]" for column in schema)
        return f"None if {row} is None else {values}"

    # Ways out

    def edge(self, edge: Edge, flow: Changes, place: Place) -> None:
        """To the partition of the key of each row."""
        name = f"send_{identifier(edge.label)}_{len(self._known_layouts(edge.label, flow.layout))}"
        if name not in self._sent:
            self._sent.add(name)
            self._define_edge(name, edge, flow.layout)
        call = f"{name}(offset, index, {place.timestamp}, {flow.old}, {flow.new})"
        self._to.line(place, call, edge.label)
        self._to.stamp(edge.label, place)

    def _known_layouts(self, label: str, layout: Schema) -> list[Schema]:
        """The layouts that have been sent there, up to this one: sources of one edge may have different ones."""
        known = [schema for name, schema in self._known if name == label]
        if layout not in known:
            self._known[label, layout] = ""
            known.append(layout)
        return known[: known.index(layout) + 1]

    def _define_edge(self, name: str, edge: Edge, layout: Schema) -> None:
        to, at = self._to.exits.buffer(edge), Changes("old", "new", layout)
        lines = [f"def {name}(offset, index, timestamp, old, new):"]
        if edge.key is None:
            old, new = (self._projected(row, at, edge.schema) for row in ("old", "new"))
            lines.append(f"    {to}((offset, index, timestamp, {old}, {new}))")
            self._define(lines, edge.label)
            return
        variables = plain(layout)
        key = self._to.names.new("place", edge.label)
        encoded = self._to.exits.key(edge, Records(variables), layout)
        self._define(
            [
                f"def {key}(row):",
                f"    {_taken_apart(layout, variables)}",
                f"    return crc32({encoded}) % {self._to.exits.partitions(edge)}",
            ],
            edge.label,
            _given(edge.schema, layout),
        )
        projected = [
            f"    {row} = {self._projected(row, at, edge.schema)}" for row in ("old", "new") if layout != edge.schema
        ]
        if self._stays(edge):
            lines.append(f"    partition = {key}(old if new is None else new)")
            lines += [*projected, f"    {to}[partition]((offset, index, timestamp, old, new))"]
            self._define(lines, edge.label)
            return
        lines += [
            "    before = after = None",
            "    if old is not None:",
            "        try:",
            f"            before = {key}(old)",
            "        except Exception:",
            "            old = None",
            "    if new is not None:",
            "        try:",
            f"            after = {key}(new)",
            "        except BaseException as error:",
            "            refused(error, offset, index)",
            "            new = None",
            *projected,
            "    if before is not None and after is not None and before != after:",
            f"        {to}[before]((offset, index, timestamp, old, None))",
            f"        {to}[after]((offset, index, timestamp, None, new))",
            "    elif before is not None or after is not None:",
            f"        {to}[before if after is None else after]((offset, index, timestamp, old, new))",
        ]
        self._define(lines, edge.label)

    def _stays(self, edge: Edge) -> bool:
        """Whether rows never change their partition: it depends on the key of their table alone."""
        of_table = self._to.exits.table_key(edge.sources[0])
        terms = [expressions.check_item(text, self._to.exits.layout(edge.sources[0])) for text in edge.key or ()]
        return all(isinstance(item.expression.term, Column) and item.columns[0] in of_table for item in terms)

    def output(self, output: Output, flow: Changes, place: Place) -> None:
        """As a message with the new row; in a changelog, a row that is gone as an empty one."""
        name = f"send_{identifier(output.label)}"
        if name not in self._sent:
            self._sent.add(name)
            self._define_output(name, output, flow.layout)
        self._to.line(place, f"{name}(offset, index, {place.timestamp}, {flow.old}, {flow.new})", output.label)
        self._to.stamp(output.label, place)

    def _define_output(self, name: str, output: Output, layout: Schema) -> None:
        variables = plain(layout)
        apart = _taken_apart(layout, variables)
        key, value = self._to.exits.message(output, variables)
        to = self._to.exits.output_buffer(output)
        key_of_table = self._to.exits.table_key(output.source)
        if output.mode == _CHANGELOG:
            key_of = self._to.names.new("keyof", output.name)
            self._define([f"def {key_of}(row):", f"    {apart}", f"    return {key}"], output.label)
        lines = [
            f"def {name}(offset, index, timestamp, old, new):",
            "    key = None",
            "    if new is not None:",
            "        try:",
            f"            {_taken_apart(layout, variables, 'new')}",
            f"            value = {value}",
            f"            key = {key}",
            *(f"            {line}" for line in self._to.exits.bounded(output, "key")),
            "        except BaseException as error:",
            "            refused(error, offset, index)",
            "            new = None",
        ]
        if output.mode == _CHANGELOG:
            # The key of a table's rows never changes; one with further columns may.
            may_move = not set(output.key or ()) <= set(key_of_table)
            lines += [
                f"    if old is not None{' and new is None' * (not may_move)}:",
                f"        before = {key_of}(old)",
                *(["        if before != key:"] if may_move else []),
                f"        {'    ' * may_move}{to}((offset, index, timestamp, before, None))",
            ]
        lines += ["    if new is not None:", f"        {to}((offset, index, timestamp, key, value))"]
        self._define(lines, output.label, _given(output.schema, layout, "timestamp", "new"))


def _taken_apart(layout: Schema, variables: dict[str, str], row: str = "row") -> str:
    return assigned((variables[column.name] for column in layout), row)


def _given(schema: Schema, layout: Schema, time: str | None = None, row: str = "row") -> Given:
    """The row that a function of rows works on, with the columns of a schema."""
    places = [layout.names.index(name) for name in schema.names]
    return Given(tuple(schema.names), tuple_of(f"{row}[{i}]" for i in places), time)


def _items(step: Step) -> list[tuple[str, str]]:
    return [(item_name(text), text) for text in step.operator.select or ()]
