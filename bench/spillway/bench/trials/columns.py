"""Records made of nothing but the columns of a stream: for jobs that come without any.

Strings and numbers are drawn from so many of each column, the same ones in every stream and table, so that joins find
partners; timestamps are the times at which records are due. What a job's own functions and patterns want to see nobody
can know: then records have to be given.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spillway.bench.workloads import work
from spillway.bench.workloads.work import CYCLE, Keys
from spillway.model import kafka, types
from spillway.model.types import ColumnType, Kind

DIFFERENT = 100  # values of a column
WORDS = 8  # of a line
_DAY = 86_400


@dataclasses.dataclass(frozen=True)
class Source:
    """One stream.

    Attributes:
        name: of the stream.
        columns: as it declares them.
        raw: whether a message is its only column.
        timestamp: the column with the event time; None where that is the time of the message.
        lines: messages to send over and over; empty where they are made.
    """

    name: str
    columns: str
    raw: bool
    timestamp: str | None
    lines: Sequence[bytes] = ()


@dataclasses.dataclass(frozen=True)
class Made:
    """Messages of some streams, in turn."""

    sources: Sequence[Source]
    keys: Keys = Keys.USUAL

    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """One of them."""
        stream = number % len(self.sources)
        source, of = self.sources[stream], number // len(self.sources)
        if source.lines:
            return stream, given(source, of, due)
        if source.raw:
            return stream, " ".join(f"word-{_draw(self.keys, of * WORDS + n)}" for n in range(WORDS)).encode()
        return stream, json.dumps(record(source.columns, _draw(self.keys, of), due)).encode()


def source(stream: kafka.Stream, file: Path | None) -> Source:
    """A stream, with the lines of a file if there is one."""
    lines = [line for line in file.read_bytes().splitlines() if line.strip()] if file is not None else []
    if file is not None and not lines:
        message = f"{file} has no lines"
        raise ValueError(message)
    return Source(stream.name, stream.columns, stream.format is kafka.Format.RAW, stream.timestamp, lines)


def given(source: Source, number: int, due: float) -> bytes:
    """A line that somebody gave; where it has an event time, that is when it is due."""
    line = source.lines[number % len(source.lines)]
    if source.raw or source.timestamp is None:
        return line
    try:
        found = json.loads(line)
    except ValueError:
        return line  # a dead letter, as it would be elsewhere
    return json.dumps({**found, source.timestamp: work.milli(due)}).encode() if isinstance(found, dict) else line


def rows(table: kafka.Table) -> list[tuple[bytes, bytes]]:
    """A table's rows, one for each value of its columns: key and value."""
    found = []
    for number in range(DIFFERENT):
        row = record(table.columns, number, 0.0)
        names = [column.name for column in types.parse_schema(table.columns) if column.name in table.key]
        key = str(row[names[0]]) if len(names) == 1 else json.dumps({name: row[name] for name in names})
        found.append((key.encode(), json.dumps(row).encode()))
    return found


def record(columns: str, drawn: int, due: float) -> Mapping[str, Any]:
    """A record whose values are those with this number."""
    return {name: _value(name, kind, drawn, due) for name, kind in _columns(columns)}


@functools.cache
def _columns(text: str) -> Sequence[tuple[str, ColumnType]]:
    return [(column.name, column.type) for column in types.parse_schema(text)]


def _value(name: str, kind: ColumnType, drawn: int, due: float) -> Any:
    match kind.kind:
        case Kind.STRING:
            return f"{name}-{drawn}"
        case Kind.BINARY:
            return base64.b64encode(f"{name}-{drawn}".encode()).decode()
        case Kind.TIMESTAMP:
            return work.milli(due)
        case Kind.DATE:
            return (datetime.date(2026, 1, 1) + datetime.timedelta(days=drawn)).isoformat()
        case Kind.BOOLEAN:
            return drawn % 2 == 0
        case Kind.DOUBLE:
            return drawn / 4
        case Kind.ARRAY:
            assert kind.element is not None  # noqa: S101 - of an array
            return [_value(name, kind.element, drawn + n, due) for n in range(3)]
        case _:
            return drawn


def _draw(keys: Keys, number: int) -> int:
    return work.drawn(keys, DIFFERENT, 19)[number % CYCLE]
