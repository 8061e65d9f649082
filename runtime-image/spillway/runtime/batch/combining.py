"""Adds up what a range has for one reader, so that one row for each key is sent instead of one for each record.

That is where batches win: an amplifying program before an aggregate. Keys go out in the order of their bytes, in parts
whose sizes depend on nothing but their rows, so that a range that is worked on again makes the very same parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from spillway.controllers.protocol import reader
from spillway.model.types import Schema
from spillway.runtime import frames, keys
from spillway.runtime.frames import Combined, Layout, Origin, Row, Sender
from spillway.runtime.programs.program import MAIN, Edge, Program, Step
from spillway.runtime.programs.running import Taken
from spillway.runtime.tables import aggregation

# Bytes of the rows of one part. A frame is a message of a megabyte at the most, and one row more may follow. Smaller:
# more messages, each with a header of some hundred bytes.
PART = 500_000

Refused = Callable[[BaseException, int, int, str, Taken, int], None]

_pack = msgspec.msgpack.Encoder().encode


class Aim(NamedTuple):
    """An aggregate that reads an edge, and the columns of its keys."""

    step: Step
    keys: Schema


def aims(program: Program, others: Mapping[str, Program]) -> dict[str, Aim]:
    """By edge of a program, the aggregate that reads it, where rows for it can be added up before they are sent.

    `others` are the programs that it works together with, by name.
    """
    found = {}
    for edge in program.edges:
        head = others.get(edge.reader)
        if head is None:
            continue  # a piece that was only tried, and is none any more
        for port in head.ports:
            if port.combined:
                found[edge.label] = Aim(head.step(edge.reader), port.schema)
    return found


def together(program: Program, aims: Mapping[str, Aim]) -> frozenset[str]:
    """Edges whose rows need no partition before they are added up: their keys are columns, so that none can raise.

    To find the partition of each word of a line took a third of all that a batch did with it.
    """
    return frozenset(edge.label for edge in program.edges if edge.label in aims and _columns(edge) is not None)


def _columns(edge: Edge) -> list[int] | None:
    """Which columns of its rows are the key of an edge; None where it is computed of them."""
    names = edge.schema.names
    key = edge.key or ()
    return [names.index(name) for name in key] if set(key) <= set(names) else None


class Combiner:
    """Of one edge and one range: takes rows of records, and makes frames of combined rows."""

    def __init__(self, edge: Edge, aim: Aim, width: int, refused: Refused) -> None:
        """A row that the aggregate can't take is told to `refused`, as where records are merged one by one."""
        step, (self._columns, result) = aim.step, (aim.step.given[MAIN].schema.names, aim.step.result)
        self._combiner = aggregation.combiner(step.operator, step.given[MAIN], result)
        self._name, self._side, self._width, self._refused = step.name, edge.side, width, refused
        self._layout = Layout(aim.keys, combined=True)
        assert step.operator.aggregate is not None  # noqa: S101 - an aim is an aggregate
        self._by = len(step.operator.aggregate.by)
        self._encode = keys.encoder(column.type for column in aim.keys.columns[: self._by])
        self._key = _columns(edge)

    def add(self, rows: Iterable[Row], into: int = 0) -> None:
        """Add up more rows, which would go to this partition of the edge; where they are `together`, to any."""

        def refused(error: BaseException, offset: int, index: int, timestamp: int, values: Row) -> None:
            number = into
            if self._key is not None:
                number = keys.partition(self._encode([values[column] for column in self._key]), self._width)
            self._refused(error, offset, index, self._name, (timestamp, tuple(self._columns), values), number)

        self._combiner.fold(rows, refused)

    def frames(self, source: reader.Source, program: str, earliest: int) -> Iterator[tuple[int, bytes]]:
        """What all rows of the range come to: frames, each with its partition."""
        origin = Origin(source.partition.segment, source.partition.number, program)
        sender = Sender(self._layout, origin, source.epoch, side=self._side)
        for number, rows in enumerate(self._by_partition(source.start)):
            parts = list(_parts(rows))
            for place, part in enumerate(parts):
                intent = Combined((source,), place, len(parts))
                for data in sender.frames(part, earliest, intent, most=frames.MAX_BYTES):
                    yield number, data

    def _by_partition(self, start: int) -> list[list[Row]]:
        found: list[list[Row]] = [[] for _ in range(self._width)]
        for key, states, last in self._combiner.partials():
            number = keys.partition(self._encode(key[: self._by]), self._width)
            found[number].append((start, 0, last, key, states))
        return found


def _parts(rows: Sequence[Row]) -> Iterator[list[Row]]:
    part: list[Row] = []
    size = 0
    for row in rows:
        part.append(row)
        size += len(_pack(row))
        if size >= PART:
            yield part
            part, size = [], 0
    if part:
        yield part
