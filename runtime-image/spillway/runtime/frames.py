"""Frames: the messages of internal edges. Many rows in one message, with where they came from.

A frame is one msgpack array:

| field | |
|---|---|
| version | of this format |
| layout | a number for the columns of its rows; who expects others does not read it |
| epoch | of the owner that made it |
| source, partition, program | its **origin**: the partition of an input whose records it has, and who made it of them |
| side | 0: for the main input of its reader; 1: for the other side of a join |
| first, last | origin **positions** of the first and the last row: (message offset, index in that message's frame) |
| count | rows |
| earliest | of the source records inside, when the first one came into its topic: milliseconds |
| combined | ranges of an intent, part and parts, where rows were added up before they were sent; else nil |
| rows | see below |

A row is `(offset, index, timestamp, column…)`, an update of a table `(offset, index, timestamp, old, new)`, a combined
row `(offset, index, timestamp, key, states)`.

All rows that one input record has in an edge partition are in one frame, and positions never decrease from row to row.
So a reader that keeps the highest position of each origin (and side) needs nothing else to skip what it has
(`after`). Of combined rows nobody can tell which record they came from: they carry the start of their range, and a part
is skipped or applied whole. A frame without rows is a **marker**: it only tells readers of its epoch. What to do with
a frame is said by `controllers.protocol.reader`, of the frame's `head`.

The header is read first (`read`), the rows only when they are wanted (`Layout.rows`).
"""

from __future__ import annotations

import bisect
import zlib
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from spillway.controllers import topics
from spillway.controllers.protocol import reader
from spillway.controllers.protocol.values import Partition
from spillway.model.errors import TerminalError
from spillway.model.types import ColumnType, Kind, Schema

VERSION = 1
# Brokers take messages of 1 048 588 bytes unless told otherwise; what is left is for keys, headers and the batch. With
# more rows a frame is cut, so that readers get on.
MAX_BYTES = 1_000_000
# The rows of one record stay together, and may take what an edge takes: a record as large as a source takes, whose
# columns msgpack may write a bit longer, or some rows with all of it.
LARGEST = topics.LARGEST_FRAME - 1_024

Row = tuple[Any, ...]
Refused = Callable[[Exception, int, int], None]  # the error, and the position of the record


class FrameError(TerminalError):
    """Bytes that are no frame, a frame that is not for this reader, or rows that can't become one."""


class Position(NamedTuple):
    """Where a record stood in its input: message offset, and index in the frame that the message held."""

    offset: int
    record: int


class Origin(NamedTuple):
    """Whose positions a frame counts in: a partition of an input, and the program that made it."""

    source: str
    partition: int
    program: str


class Combined(NamedTuple):
    """Which part of which intent, and how many parts it has."""

    sources: tuple[reader.Source, ...]
    part: int
    parts: int


class Frame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One frame, its rows still encoded; the table above says what the fields mean."""

    version: int
    layout: int
    epoch: int
    source: str
    partition: int
    program: str
    side: int
    first: Position
    last: Position
    count: int
    earliest: int
    combined: Combined | None
    rows: msgspec.Raw

    @property
    def origin(self) -> Origin:
        """Whose positions it counts in."""
        return Origin(self.source, self.partition, self.program)

    @property
    def head(self) -> reader.Frame | reader.Combined:
        """What the protocol has to know, to tell what to do with it; a reader keeps a table for each side."""
        if self.combined is not None:
            return reader.Combined(self.combined.sources, self.program, self.combined.part, self.combined.parts)
        partition = Partition(self.source, self.partition)
        first, last = reader.Position(*self.first), reader.Position(*self.last)
        return reader.Frame(partition, self.epoch, self.program, first, last, self.count)

    @property
    def is_marker(self) -> bool:
        """Whether it only tells of its epoch."""
        return self.count == 0


_TYPES: dict[Kind, Any] = {
    Kind.BOOLEAN: bool,
    Kind.INT: int,
    Kind.BIGINT: int,
    Kind.DOUBLE: float,
    Kind.DECIMAL: Decimal,
    Kind.STRING: str,
    Kind.BINARY: bytes,
    Kind.DATE: int,
    Kind.TIMESTAMP: int,
}

_pack = msgspec.msgpack.Encoder().encode
_unpack_frame = msgspec.msgpack.Decoder(Frame).decode
_NO_ROWS = msgspec.Raw(_pack([]))


def _type(column: ColumnType) -> Any:
    if column.element is not None:
        return list[_type(column.element)] | None  # type: ignore[misc]
    return _TYPES[column.kind] | None


def _tuple(types: tuple[Any, ...]) -> Any:
    return tuple.__class_getitem__(types)


class Layout:
    """The columns of an edge: how its rows become bytes and come back."""

    def __init__(self, schema: Schema, *, updates: bool = False, combined: bool = False) -> None:
        """Rows of the schema: records, the old and the new row of an update, or keys with states of an aggregate."""
        self.schema = schema
        self.updates = updates
        kind = "updates" if updates else "combined" if combined else "records"
        self.number = zlib.crc32(f"{kind}: {schema}".encode())
        columns = tuple(_type(column.type) for column in schema)
        carried = (_tuple(columns) | None,) * 2 if updates else (_tuple(columns), list[Any]) if combined else columns
        unpack = msgspec.msgpack.Decoder(list[_tuple((int, int, int, *carried))]).decode  # type: ignore[misc]
        self._unpack: Callable[[bytes | msgspec.Raw], list[Row]] = unpack

    def rows(self, frame: Frame) -> list[Row]:
        """The rows of a frame; raises FrameError where they are not what the header says."""
        if frame.layout != self.number:
            message = f"a frame of {frame.source}[{frame.partition}] has other columns than {self.schema}"
            raise FrameError(message)
        try:
            rows = self._unpack(frame.rows)
        except (ValueError, RecursionError) as error:  # msgspec's own errors are ValueErrors
            message = f"a frame of {frame.source}[{frame.partition}] has rows that can't be read: {error}"
            raise FrameError(message) from None
        ends = ((rows[0][0], rows[0][1]), (rows[-1][0], rows[-1][1])) if rows else (frame.first, frame.last)
        if len(rows) != frame.count or ends != (frame.first, frame.last):
            message = f"a frame of {frame.source}[{frame.partition}] has other rows than its header says"
            raise FrameError(message)
        return rows


def read(data: bytes) -> Frame:
    """The frame that a message holds; raises FrameError for anything else."""
    try:
        frame = _unpack_frame(data)
    except (ValueError, RecursionError) as error:  # msgspec's own errors are ValueErrors
        message = f"a message of {len(data)} bytes is no frame: {error}"
        raise FrameError(message) from None
    if frame.version != VERSION:
        message = f"a frame of version {frame.version} can't be read here, only {VERSION}; update the readers first"
        raise FrameError(message)
    return frame


def after(rows: list[Row], position: Position) -> list[Row]:
    """The rows that came from records behind the position."""
    if not rows or (rows[0][0], rows[0][1]) > position:
        return rows
    return rows[bisect.bisect_right(rows, position, key=_position) :]


def _position(row: Row) -> Position:
    return Position(row[0], row[1])


class Sender:
    """Makes the frames of one edge: everything but the rows stays the same from frame to frame."""

    def __init__(self, layout: Layout, origin: Origin, epoch: int, *, side: int = 0) -> None:
        """From an owner of this epoch, with the positions of this origin, for this side of the reader."""
        self.layout = layout
        self._pack = _header(layout, origin, epoch, side)

    def frames(
        self,
        rows: Sequence[Row],
        earliest: int,
        combined: Combined | None = None,
        *,
        most: int = MAX_BYTES,
        largest: int = LARGEST,
        refused: Refused | None = None,
    ) -> list[bytes]:
        """The frame of these rows; several where one would have more than `most` bytes.

        Rows of one record that take more than `largest`, and values that have no bytes (half a surrogate pair), are
        told to `refused`, and all others are sent; without it, FrameError is raised.
        """
        if not rows:
            return []
        first, last = rows[0][:2], rows[-1][:2]
        try:
            data = self._pack(first, last, len(rows), earliest, combined, msgspec.Raw(_pack(rows)))
        except (ValueError, TypeError, OverflowError) as error:
            wrong = f"rows from {first} to {last} can't be written: {error}"
        else:
            if len(data) <= (most if first != last else largest):
                return [data]
            wrong = f"{len(rows)} rows of one record take {len(data)} bytes; a message holds {largest}"
        if combined is None and first != last:
            cut = _cut(rows)
            halves = (rows[:cut], rows[cut:])
            limits: dict[str, Any] = {"most": most, "largest": largest, "refused": refused}
            return [data for half in halves for data in self.frames(half, earliest, **limits)]
        if refused is None:
            raise FrameError(wrong)
        refused(FrameError(wrong), first[0], first[1])
        return []

    def marker(self) -> bytes:
        """A frame without rows: readers learn its epoch."""
        return self._pack((0, 0), (0, 0), 0, 0, None, _NO_ROWS)


def _header(layout: Layout, origin: Origin, epoch: int, side: int) -> Callable[..., bytes]:
    fixed = (VERSION, layout.number, epoch, *origin, side)
    return lambda *rest: _pack((*fixed, *rest))


def _cut(rows: Sequence[Row]) -> int:
    """Where the rows can be taken apart between two records, as near to the middle as possible."""
    middle = len(rows) // 2
    here = _position(rows[middle])
    low = bisect.bisect_left(rows, here, key=_position)
    high = bisect.bisect_right(rows, here, key=_position)
    if low == 0 or (high < len(rows) and high - middle < middle - low):
        return high
    return low
