"""An edge partition of the explored world: what landed, its reader, and what is checked of both.

The reader uses the real `protocol.reader`. Beside it stands a table that counts by itself: of each input partition the
next record that has to come, and how many parts of a combined range came. Whatever is applied twice, skipped, or out of
order shows there.
"""

from __future__ import annotations

from typing import NamedTuple

from spillway.controllers.protocol import reader
from spillway.controllers.protocol.frozen import Frozen
from spillway.controllers.protocol.reader import Combined, Frame, Position, Source, Verdict
from spillway.controllers.protocol.rules import Rules
from spillway.controllers.protocol.values import Partition, ProtocolError

AnyFrame = Frame | Combined
Seen = Frozen[Partition, reader.Seen]
Row = tuple[int, int]  # the next record to come, and how many parts of a range that begins with it were applied
PARTS = 2  # of each combined range


class Wrong(Exception):  # noqa: N818 - what the explorer looks for
    """Something happened that must never happen."""


class Stored(NamedTuple):
    """What the reader has in its changelog, and the frames that came after that."""

    seen: Seen
    table: tuple[Row, ...]
    frames: tuple[AnyFrame, ...] = ()


class Edge(NamedTuple):
    """One edge partition with its reader.

    Attributes:
        number: of the edge partition; record i of any input goes to number i modulo the number of edge partitions.
        seen: what the reader keeps.
        table: by input partition, what it has applied.
        reach: by input partition, the offset behind the last of which something landed.
        marks: that, when the marker of (partition, epoch) landed.
        stored: what survives a crash of the reader; None where it doesn't crash.
    """

    number: int
    seen: Seen
    table: tuple[Row, ...]
    reach: tuple[int, ...]
    marks: Frozen[tuple[int, int], int]
    stored: Stored | None


def empty(number: int, edges: int, partitions: int, crashes: bool) -> Edge:
    """An edge partition at the beginning."""
    table = ((number, 0),) * partitions
    stored = Stored(Frozen(), table) if crashes else None
    return Edge(number, Frozen(), table, (0,) * partitions, Frozen(), stored)


def land(edge: Edge, frame: AnyFrame, edges: int, keep: Rules, retained: bool) -> Edge:
    """The broker takes a frame, and the reader reads it."""
    reach = list(edge.reach)
    marks = edge.marks
    for partition, end in _ends(frame):
        reach[partition.number] = max(reach[partition.number], end)
    if isinstance(frame, Frame) and not frame.count:
        number = frame.partition.number
        there = reach[number] if retained or edge.stored is None else _left(edge.stored, number)
        if frame.epoch > max((epoch for place, epoch in marks if place == number), default=0):
            marks = Frozen(
                {mark: end for mark, end in marks.items() if mark[0] != number} | {(number, frame.epoch): there}
            )
    seen, table = _read(edge.seen, edge.table, frame, edges, keep)
    stored = edge.stored and edge.stored._replace(frames=(*edge.stored.frames, frame))
    return edge._replace(seen=seen, table=table, reach=tuple(reach), marks=marks, stored=stored)


def store(edge: Edge, what: str) -> Edge:
    """The reader commits what it has: `all` of it, or only the `table`, as it must not."""
    if edge.stored is None:
        return edge
    if what == "table":
        return edge._replace(stored=edge.stored._replace(table=edge.table))
    return edge._replace(stored=Stored(edge.seen, edge.table))


def crash(edge: Edge, edges: int, keep: Rules) -> Edge:
    """The reader comes back with what it has stored, and reads on from there."""
    if edge.stored is None:
        return edge
    seen, table = edge.stored.seen, edge.stored.table
    for frame in edge.stored.frames:
        seen, table = _read(seen, table, frame, edges, keep)
    return edge._replace(seen=seen, table=table)


def _left(stored: Stored, number: int) -> int:
    """How far the frames reach that the reader hasn't stored yet, where the others are deleted at once."""
    return max((end for frame in stored.frames for at, end in _ends(frame) if at.number == number), default=0)


def _ends(frame: AnyFrame) -> list[tuple[Partition, int]]:
    if isinstance(frame, Combined):
        return [(source.partition, source.stop) for source in frame.sources]
    return [(frame.partition, frame.last.offset + 1)] if frame.count else []


def _read(seen: Seen, table: tuple[Row, ...], frame: AnyFrame, edges: int, keep: Rules) -> tuple[Seen, tuple[Row, ...]]:
    try:
        reading = reader.read(seen, frame, keep)
    except ProtocolError as error:
        raise Wrong(str(error)) from error
    for partition, kept in reading.seen:
        if seen.get(partition) != kept:
            seen = seen.put(partition, kept)
    if reading.verdict is Verdict.SKIP:
        return seen, table
    rows = list(table)
    if isinstance(frame, Combined):
        for source in frame.sources:
            rows[source.partition.number] = _parted(rows[source.partition.number], source, frame, edges)
        return seen, tuple(rows)
    number = frame.partition.number
    for record in range(frame.first.offset, frame.last.offset + 1, edges):
        if reading.verdict is Verdict.APPLY or Position(record, 0) > reading.above:
            if rows[number] != (record, 0):
                text = f"record {record} of partition {number} is applied where record {rows[number][0]} has to come"
                raise Wrong(text)
            rows[number] = (record + edges, 0)
    return seen, tuple(rows)


def _parted(row: Row, source: Source, frame: Combined, edges: int) -> Row:
    """A part of a range is applied."""
    first, applied = row
    edge = first % edges
    wanted = next(record for record in range(source.start, source.stop + edges) if record % edges == edge)
    if row != (wanted, frame.part):
        text = (
            f"part {frame.part} of records {source.start} to {source.stop - 1} of partition {source.partition.number}"
            f" is applied where record {first} has to come, with {applied} parts of its range applied"
        )
        raise Wrong(text)
    if frame.part + 1 < frame.parts:
        return (wanted, frame.part + 1)
    return (next(record for record in range(source.stop, source.stop + edges) if record % edges == edge), 0)
