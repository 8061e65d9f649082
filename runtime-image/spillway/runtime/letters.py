"""Dead letters: what stands in the topic `<namespace>.<job>.dead`, as JSON, for people and for replaying.

The topic has one partition, and is a log of four kinds of messages. Each has a `version` and its `kind`:

| kind | says |
|---|---|
| letter | a row on which an operator raised: which, why, where it came from, and the row |
| replay | these letters, by their offsets, are put back now; a letter belongs to the first replay that names it |
| settled | a replay is done; `back` are those that could not be put back, and are open again |
| dismissed | nobody needs these letters any more |

A letter has the row as it went into the operator, so that it comes back exactly (`codecs.exact`). Of a message that is
no record of its stream the row is its key and its value. A letter is one message: what makes it larger than `MOST` is
cut, and `cut` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec

from spillway.controllers import topics
from spillway.controllers.topics import Names
from spillway.model import types
from spillway.model.errors import TerminalError
from spillway.model.types import Schema
from spillway.runtime.codecs import exact
from spillway.runtime.codecs.values import CodecError
from spillway.runtime.programs import running
from spillway.runtime.programs.program import MAIN, Program

VERSION = 1
# What frames of a replay name as their source. Sources of segments have the topic in their names that they read.
ORIGIN = "dead"
# Bytes of a letter. The largest message that brokers take by default, a MiB, has 1.4 MB in base64; the topic takes
# twice this, as edges do.
MOST = topics.LARGEST_FRAME // 2
# Of a row that is too large, values beyond this many bytes are cut to as many characters as one looks at.
FAIR, SHOWN = 16 * 1024, 1_000
LONGEST_ERROR, LONGEST_LINE = 10_000, 500  # characters
# Letters that one message names: a replay of them is one step, of some seconds at the most.
AT_ONCE = 500

Offset = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Offsets = Annotated[tuple[Offset, ...], msgspec.Meta(max_length=AT_ONCE)]

MESSAGE = Schema((types.Column("key", types.BINARY), types.Column("value", types.BINARY)))


class LetterError(TerminalError):
    """A message of the topic of dead letters that can't be read here."""


class _Entry(msgspec.Struct, frozen=True, tag_field="kind", tag=str.lower):
    """What all messages have: the version of this format."""

    version: int


class Letter(_Entry, frozen=True):
    """A row on which something raised.

    Attributes:
        operator: what raised: an operator, or the label of an edge or an output; the stream or table where the message
            is no record of it.
        error: the kind of the error and what it says.
        line: the line of the generated loop.
        program, made: the segment that it happened in, and the content address of what ran.
        topic, partition, offset, index: the record that the row was made of: of the user's topic, or of an edge, where
            `index` counts the rows of a frame.
        port: where that record came into the program.
        side: of the operator that took the row: 0, or 1 for what it is joined with.
        updates: whether the row is one of a table, which may have changed since.
        timestamp: its event time in microseconds; of a message, when it was written.
        columns: name and type of each value.
        row: the values, as `codecs.exact` writes them; None where it was not one row that was wrong.
        cut: what was left out because it is too large, in words.
        again: the offset of the letter that was replayed, and failed once more.
        into: of a row that a batch could not add up: the partition of the edge that it would have gone to.
    """

    operator: str
    error: str
    program: str
    made: str
    topic: str
    partition: Offset
    offset: Offset
    index: Offset
    port: str
    side: int = MAIN
    updates: bool = False
    timestamp: int | None = None
    columns: tuple[tuple[str, str], ...] = ()
    row: tuple[Any, ...] | None = None
    line: str = ""
    cut: str = ""
    again: int | None = None
    into: int | None = None

    @property
    def is_message(self) -> bool:
        """Whether it is about a message that could not be decoded."""
        return self.operator == self.port and tuple(name for name, _ in self.columns) == MESSAGE.names

    def values(self) -> dict[str, Any]:
        """The row by column, exactly as it was; raises LetterError where something of it is missing."""
        if self.row is None or len(self.row) != len(self.columns):
            message = self.cut or "the letter has no row"
            raise LetterError(message)
        try:
            return {name: exact.read(value) for (name, _), value in zip(self.columns, self.row, strict=True)}
        except CodecError as error:
            raise LetterError(self.cut or str(error)) from None


class Replay(_Entry, frozen=True):
    """Letters are put back now: `letters` are their offsets, and `id` is unlike any other."""

    id: Annotated[str, msgspec.Meta(max_length=100)]
    letters: Offsets


class Settled(_Entry, frozen=True):
    """The replay at that offset is done, but for the letters that are open again."""

    replay: Offset
    back: Offsets = ()


class Dismissed(_Entry, frozen=True):
    """Nobody needs these letters any more."""

    letters: Offsets


Entry = Letter | Replay | Settled | Dismissed

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Entry).decode


def encode(found: running.Letter, program: Program, partition: int, names: Names) -> bytes:
    """A letter that a program wrote on a partition of its input, as a message. Never fails, whatever the row holds."""
    return bounded(letter(found, program, partition, names))


def letter(found: running.Letter, program: Program, partition: int, names: Names) -> Letter:
    """The same as a value."""
    side, updates = _taken(program, found)
    return Letter(
        version=VERSION,
        operator=found.operator,
        error=_sound(found.error, LONGEST_ERROR),
        line=_sound(found.line[1], LONGEST_LINE),
        program=program.name,
        made=program.id,
        topic=_topic(program, found.port, names),
        partition=partition,
        offset=max(0, found.offset),
        index=max(0, found.index),
        port=found.port,
        side=side,
        updates=updates,
        timestamp=found.timestamp,
        columns=_typed(program, found, side),
        row=None if found.row is None else tuple(exact.written(value) for value in found.row),
        into=found.into,
    )


def bounded(whole: Letter) -> bytes:
    """A letter as a message that is no larger than `MOST`."""
    data = _encode(whole)
    if len(data) <= MOST:
        return data
    note = f"the letter took {len(data)} bytes, and holds {MOST}"
    row = tuple(_cut(value) for value in whole.row or ())
    data = _encode(msgspec.structs.replace(whole, row=row, cut=f"{note}: large values were cut"))
    if len(data) <= MOST:
        return data
    return _encode(msgspec.structs.replace(whole, row=None, cut=f"{note}: the row was left out"))


def write(entry: Replay | Settled | Dismissed) -> bytes:
    """What becomes of letters, as a message."""
    return _encode(entry)


def decode(data: bytes) -> Entry:
    """What a message says; raises LetterError for anything else."""
    try:
        found: Entry = _decode(data)
    except (ValueError, RecursionError) as error:  # msgspec's own errors are ValueErrors
        message = f"a message of {len(data)} bytes is no dead letter: {error}"
        raise LetterError(message) from None
    if found.version != VERSION:
        message = f"a dead letter of version {found.version} can't be read here, only {VERSION}"
        raise LetterError(message)
    return found


def _cut(value: Any) -> Any:
    data = _encode(value)
    return value if len(data) <= FAIR else {"cut": data[:SHOWN].decode("utf-8", "ignore"), "bytes": len(data)}


def _sound(text: str, most: int) -> str:
    """As much of a text as is kept; half surrogates, which no JSON holds, as their escapes."""
    return text[:most].encode("utf-8", "backslashreplace").decode()


# What the program knows of the row, and the letter doesn't say.


def _topic(program: Program, label: str, names: Names) -> str:
    for port in program.ports:
        if port.label == label and port.source is not None:
            return port.source.topic
    return names.edge(program.name)


def _taken(program: Program, found: running.Letter) -> tuple[int, bool]:
    """The side of the operator that took the row, and whether it is a row of a table."""
    updated = {port.name: port.updates for port in program.ports if port.into is None}
    updated |= {step.name: step.updates for step in program.steps}
    for port in program.ports:
        if port.label == found.port and found.operator in (port.label, port.into):
            return port.side, port.updates
    for step in program.steps:
        if step.name == found.operator:
            return MAIN, step.takes_updates
    for edge in program.edges:
        if edge.label == found.operator:
            return edge.side, any(updated.get(source, False) for source in edge.sources)
    return MAIN, any(updated.get(out.source, False) for out in program.outputs if out.label == found.operator)


def _typed(program: Program, found: running.Letter, side: int) -> tuple[tuple[str, str], ...]:
    """The type of each column: as its operator takes it, else as whoever is before it gives it."""
    if not found.columns:
        return ()
    for schema in _schemas(program, found, side):
        known: Mapping[str, types.ColumnType] = {column.name: column.type for column in schema}
        if all(name in known for name in found.columns):
            return tuple((name, str(known[name])) for name in found.columns)
    return tuple((name, "") for name in found.columns)


def _schemas(program: Program, found: running.Letter, side: int) -> Iterator[Schema]:
    operator = found.operator
    if operator == found.port:
        yield MESSAGE
    readers = [step for step in program.steps if step.name == operator]
    yield from (step.given[side].schema for step in readers if side < len(step.given))
    yield from (edge.schema for edge in program.edges if edge.label == operator)
    # A batch adds rows up for the operator that reads them behind an edge.
    yield from (edge.schema for edge in program.edges if found.into is not None and edge.reader == operator)
    yield from (output.schema for output in program.outputs if output.label == operator)
    # An update has the columns of the node that it comes from, which may be more than its reader takes.
    above = {name for step in readers for name in step.reads}
    above |= {name for edge in program.edges if edge.label == operator for name in edge.sources}
    yield from (step.result.schema for step in program.steps if step.name in above)
    yield from (port.schema for port in program.ports)
