"""Makes one loop of a program, as Python source that a person can read, and compiles it.

For a filter, a select and an edge by key it reads

    def run_events(messages):
        records, rest, plain = iter(messages), len(messages), ticks[0]
        n_events, n_views = rest, 0
        index = 0
        while rest:
            few = plain if plain < rest else rest
            for message in islice(records, few):
                offset = message.offset()
                try:
                    value = message.value()
                    …decode…
                    # views (filter): event_type = 'view'
                    if not (c_event_type == 'view'):
                        continue
                    n_views += 1
                    # to counts, by campaign
                    to_counts_MAIN[crc32(key_counts_MAIN((c_campaign, ))) % of_counts_MAIN]((offset, index, …))
                except BaseException as error:
                    refused(error, offset, index)
            …the same once more for 1 record in 64, with a clock between the operators…

The body stands there twice, plain and timed, in one function: so both share local variables, and what an untimed record
pays for the measurement is its share of one `islice` per 64 records.
"""

from __future__ import annotations

import itertools
import linecache
import operator
import time
import warnings
import zlib
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from spillway.model.kafka import Table
from spillway.runtime.codecs import reading, writing
from spillway.runtime.functions import Function, FunctionError
from spillway.runtime.programs import records
from spillway.runtime.programs.program import Port, Program
from spillway.runtime.programs.running import SAMPLED, Running
from spillway.runtime.programs.text import MESSAGE, Changes, Flow, Lines, Place, Records, identifier, tuple_of

_NAMES: Mapping[str, Any] = {
    "islice": itertools.islice,
    "crc32": zlib.crc32,
    "position": operator.itemgetter(slice(0, 2)),
}


class Loop:
    """A compiled program: `source` to read, `bind` to run it on a partition."""

    def __init__(
        self,
        program: Program,
        functions: Mapping[str, Function] | None = None,
        *,
        sampled: int = SAMPLED,
        together: Collection[str] = (),
    ) -> None:
        """With the functions of the user that it calls, by reference; raises FunctionError where one is missing.

        Of so many records, one is timed. Rows of the edges that are to be kept `together` are not shared out to
        partitions by their keys: for who adds them up first, and has one for each key afterwards.
        """
        self._sampled = sampled
        self._apart = {edge.label for edge in program.edges if edge.key is not None and edge.label not in together}
        loaded = functions or {}
        for reference, digest in program.digests:
            if reference not in loaded:
                message = f"program {program.name!r} needs function {reference!r}, which is not loaded"
                raise FunctionError(message)
            if digest and digest != loaded[reference].digest:
                message = (
                    f"function {reference!r} is of another version here than program {program.name!r} was planned with;"
                    " start this process again with that code"
                )
                raise FunctionError(message)
        self.program = program
        writer = records.Writer(program, loaded, self._apart)
        text = _written(program, writer, sampled)
        self._owners = text.owners
        self._lines = text.lines
        self.source = "\n".join(text.lines) + "\n"
        # Programs of the same content share their lines.
        self.file = f"<spillway program {program.name} {program.id}>"
        linecache.cache[self.file] = (len(self.source), None, self.source.splitlines(keepends=True), self.file)
        self._counting = frozenset((*writer.counting, *(port.label for port in program.ports)))
        self._places = records.places(program)
        namespace = {**writer.names.scope.namespace(), **_NAMES, **writer.names.outside}
        with warnings.catch_warnings():
            # Python's compiler warns people of `1 is None`; here that is a literal in a template, and right.
            warnings.simplefilter("ignore", SyntaxWarning)
            code = compile(self.source, self.file, "exec")
        exec(code, namespace)  # noqa: S102 - generated from checked terms; names and values stand in it as literals
        self._bind: Callable[[Running], dict[str, Callable[..., None]]] = namespace["bind"]

    def bind(
        self,
        states: Mapping[str, Any] | None = None,
        partitions: Mapping[str, int] | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
        most: Mapping[str, int] = MappingProxyType({}),
    ) -> Running:
        """Ready to run on one partition of its input.

        Args:
            states: a table object for each of `program.states`, by name.
            partitions: of the topic of each reader, by its name; 1 where nothing is said.
            clock: in nanoseconds, for the records that are timed.
            most: by output, the bytes that a message of it may have; `writing.MAX_BYTES` where nothing is said.
        """
        known = partitions or {}
        buffers = {
            edge.label: known.get(edge.reader, 1) if edge.label in self._apart else 1 for edge in self.program.edges
        }
        running = Running(
            source=(self.file, self._owners, self._lines),
            places=self._places,
            counting=self._counting,
            buffers=buffers,
            outputs={one.name: most.get(one.name, writing.MAX_BYTES) for one in self.program.outputs},
            states=states or {},
            clock=clock,
            sampled=self._sampled,
        )
        running.run = self._bind(running)
        return running


def _written(program: Program, writer: records.Writer, sampled: int) -> Lines:
    """The whole text: what is bound, functions of rows, and a loop for each port."""
    loops = [(port, _loop(program, port, writer, sampled)) for port in program.ports]
    text = Lines()
    described = " → ".join(step.name for step in program.steps) or "reads and partitions"
    text.add(0, [f"# Program {program.name}: {described}.", f"# {program.id}", "", "def bind(at):"], "")
    text.add(1, "refused, overlooked, clock, ticks = at.refused, at.overlooked, at.clock, at.ticks", "")
    text.add(1, "counted, spent, passes = at.counted, at.spent, at.passes", "")
    text.extend(writer.bound)
    text.extend(writer.functions)
    text.add(0, "", "")
    for _, loop in loops:
        text.extend(loop)
    named = ", ".join(f"{port.label!r}: run_{identifier(port.label)}" for port, _ in loops)
    text.add(1, f"return {{{named}}}", "")
    return text


def _loop(program: Program, port: Port, writer: records.Writer, sampled: int) -> Lines:
    """The function of one port."""
    label = port.label
    before = dict(writer.counting)
    writer.counting, writer.stages = {}, {}
    writer.out = plain = Lines()
    writer.port_variables(port)
    given = writer.names.remembered()
    _body(port, writer, Place(label, 2))
    writer.finish()
    writer.out = timed = Lines()
    if not port.broadcast:
        writer.names.forget(given)
        _body(port, writer, Place(label, 2, timed=True))
        writer.finish()
    writer.out = after = Lines()
    done: set[str] = set()
    while waiting := [step.name for step in program.steps if step.name in writer.stages and step.name not in done]:
        done.add(waiting[0])
        writer.calls.stage(waiting[0], Place(label, 2))
    writer.finish()
    counters, writer.counting = writer.counting, {**before, **writer.counting}
    return _framed(port, writer, (plain, timed, after), counters, sampled)


def _framed(
    port: Port, writer: records.Writer, bodies: tuple[Lines, Lines, Lines], counters: dict[str, str], sampled: int
) -> Lines:
    """The loop around the bodies: plain, timed, and what comes once the loop is through."""
    plain, timed, after = bodies
    label, out = port.label, Lines()
    if port.source is not None:
        out.add(1, f"def run_{identifier(label)}(messages):", label)
        out.add(2, "records, rest, plain = iter(messages), len(messages), ticks[0]", label)
        out.add(2, "index = 0", label)
        head = "message"
    else:
        out.add(1, f"def run_{identifier(label)}(offset, rows, first=0):", label)
        out.add(2, "records, rest, plain = enumerate(rows, first), len(rows), ticks[0]", label)
        head = _taken_apart(port, writer)
    out.add(2, [f"at.port = {label!r}", f"counted[{writer.number(label)}] += rest"], label)
    if counters:
        out.add(2, f"{' = '.join(counters.values())} = 0", label)
    if port.broadcast:
        out.extend(_around(port, head, plain, "rest", 2))
    else:
        out.add(2, ["while rest:", "    few = plain if plain < rest else rest"], label)
        out.extend(_around(port, head, plain, "few", 3))
        out.add(3, ["rest -= few", "plain -= few", "if rest:", "    rest -= 1", f"    plain = {sampled - 1}"], label)
        out.extend(_around(port, head, timed, "1", 4))
        out.add(2, "ticks[0] = plain", label)
    out.extend(after)
    if after.lines:
        # What came from behind a vectorised function came later; readers want it in the order of the records.
        mixed = [edge.label for edge in writer.program.edges if len(edge.sources) > 1]
        out.add(2, [f"for rows in at.edges[{name!r}]: rows.sort(key=position)" for name in mixed], label)
    out.add(2, [f"counted[{writer.number(name)}] += {counter}" for name, counter in counters.items()], label)
    out.add(0, "", "")
    return out


def _around(port: Port, head: str, body: Lines, few: str, indent: int) -> Lines:
    """A body in its loop over so many records; where the way of one ends with an error, that is a dead letter."""
    out = Lines()
    out.add(indent, f"for {head} in islice(records, {few}):", port.label)
    if port.source is not None:
        out.add(indent + 1, "offset = message.offset()", port.label)
    out.add(indent + 1, "try:", port.label)
    out.lines += ["    " * indent + line for line in body.lines]
    out.owners += body.owners
    out.add(indent + 1, "except BaseException as error:", port.label)
    out.add(indent + 2, "refused(error, offset, index)", port.label)
    return out


def _taken_apart(port: Port, writer: records.Writer) -> str:
    """The target of the loop over rows of a frame."""
    if port.updates:
        return "index, (_, _, timestamp, old, new)"
    if port.combined:
        return "index, (_, _, timestamp, key, states)"
    variables = writer.port_variables(port)
    return f"index, {tuple_of(['_', '_', 'timestamp', *(variables[column.name] for column in port.schema)])}"


def _body(port: Port, writer: records.Writer, place: Place) -> None:
    """What happens to one record of a port."""
    variables = writer.port_variables(port)
    if place.timed:
        writer.line(place, "last = clock()", port.label)
    flow: Records | Changes = Changes("old", "new", port.schema) if port.updates else Records(variables)
    writer.out.given = MESSAGE
    if port.source is not None:
        read = reading.of_table if isinstance(port.source, Table) else reading.of_stream
        piece = read(port.source, port.schema, variables, identifier(port.label))  # type: ignore[arg-type]
        writer.names.outside.update(piece.namespace)
        writer.line(place, f"# {port.name}: topic {port.source.topic}", port.label)
        writer.out.add(place.indent, piece.lines, port.label)
    if port.broadcast:
        update = writer.bind(f"replica_{identifier(port.into or '')}", f"at.states[{port.into!r}].replica.update")
        writer.line(place, f"{update}(timestamp, old, new)", port.label)
        return
    writer.stamp(port.label, place)
    if port.kept:
        update = writer.bind(f"update_{identifier(port.name)}", f"at.states[{port.name!r}].update")
        writer.line(place, f"for timestamp, old, new in {update}(timestamp, old, new):", port.label)
        with writer.judged(place.nested(loop=True), port.label) as inner:
            _readers(port, writer, flow, inner)
    else:
        _readers(port, writer, flow, place)


def _readers(port: Port, writer: records.Writer, flow: Flow, place: Place) -> None:
    """What takes the records of a port."""
    if port.combined:
        writer.changes.merged(writer.program.step(port.into or ""), place)
    elif port.into is None:
        writer.node(port.name, flow, place)
    else:
        writer.step(writer.program.step(port.into), port.side, flow, place)
