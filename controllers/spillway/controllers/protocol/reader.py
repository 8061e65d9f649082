"""What the reader of an edge keeps per input partition of those who write it, and what it makes of a frame.

Frames come from one input partition at a time, under the epoch of its owner; the owner's program names the origin.
A *position* is (offset of the input message, number of the record in it). Positions of one origin can be compared,
those of different programs can't: behind the same input partition another program may read an edge in between, with
offsets of its own.

A frame is skipped if its epoch is lower than one seen from that partition (rule *epoch*), or as far as its positions
are not above the highest that was applied (rule *position*). A new epoch with another program starts without positions:
an orderly move left nothing under way, and what a zombie still sends has an old epoch.

A frame of combined rows has no positions: it carries the ranges of its intent, which part of the result it is, and how
many there are. Rows are in the order of their keys and parts have a fixed size, so a repeated intent makes the very
same parts, and each one is applied once, in order, as a whole.

What is kept belongs into the same transaction as what was made of the frames.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import NamedTuple

from spillway.controllers.protocol import rules
from spillway.controllers.protocol.values import Partition, ProtocolError


class Position(NamedTuple):
    """A record of the input: the offset of its message, and its number in it; number -1 is before all of them."""

    offset: int
    record: int


class Seen(NamedTuple):
    """What was applied of one input partition.

    Attributes:
        epoch: the highest that was seen.
        program: the origin of `upto`.
        upto: the highest position that was applied.
        stop: where the range ends of which some parts were applied; 0 if there is none.
        part: how many parts of it were applied.
    """

    epoch: int
    program: str
    upto: Position
    stop: int = 0
    part: int = 0


NOTHING = Position(0, -1)


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """The header of a frame with positions; of a marker, if it has no records.

    Attributes:
        partition: the input partition that its records were made from.
        epoch: of the owner who made it.
        program: that made it.
        first: the position of its first record.
        last: the position of its last record.
        count: of its records.
    """

    partition: Partition
    epoch: int
    program: str
    first: Position = NOTHING
    last: Position = NOTHING
    count: int = 0

    def __str__(self) -> str:
        records = f"records {self.first.offset} to {self.last.offset}" if self.count else "marker"
        return f"{records} of {self.partition} by {self.program} under epoch {self.epoch}"


class Source(NamedTuple):
    """A range of an intent, and the epoch under which its partition was owned."""

    partition: Partition
    epoch: int
    start: int
    stop: int


@dataclasses.dataclass(frozen=True, slots=True)
class Combined:
    """The header of a frame with combined rows.

    Attributes:
        sources: the ranges of the intent.
        program: that made it.
        part: which part of the result for this edge partition it is, from 0.
        parts: how many there are.
    """

    sources: tuple[Source, ...]
    program: str
    part: int
    parts: int

    def __str__(self) -> str:
        ranges = ", ".join(f"{s.partition} {s.start} to {s.stop} under epoch {s.epoch}" for s in self.sources)
        return f"part {self.part} of {self.parts} of {ranges} by {self.program}"


class Verdict(enum.Enum):
    """What to do with a frame."""

    SKIP = "skip"
    APPLY = "apply"  # all of it
    REST = "rest"  # its records above what was applied


Table = Mapping[Partition, Seen]


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """What to do with a frame.

    Attributes:
        verdict: skip it, apply it, or apply the rest of it.
        above: with `REST`, the records above this position are the rest.
        seen: what to keep of its partitions from now on.
    """

    verdict: Verdict
    above: Position
    seen: tuple[tuple[Partition, Seen], ...]


def read(table: Table, frame: Frame | Combined, keep: rules.Rules = rules.ALL) -> Reading:
    """What to do with the next frame of an edge partition.

    Raises:
        ProtocolError: if the frame overlaps what was applied in a way that no owner who keeps the rules can cause.
    """
    return _combined(table, frame, keep) if isinstance(frame, Combined) else _positions(table, frame, keep)


def _known(table: Table, partition: Partition, epoch: int, program: str, keep: rules.Rules) -> Seen | None:
    """What was applied of the frame's origin; None if the frame is of an older epoch."""
    seen = table.get(partition)
    if seen is None:
        return Seen(epoch, program, NOTHING)
    if epoch < seen.epoch and keep.epoch:
        return None
    if seen.program != program:
        return Seen(max(epoch, seen.epoch), program, NOTHING)
    return seen._replace(epoch=max(epoch, seen.epoch))


def _positions(table: Table, frame: Frame, keep: rules.Rules) -> Reading:
    seen = _known(table, frame.partition, frame.epoch, frame.program, keep)
    if seen is None:
        return Reading(Verdict.SKIP, NOTHING, ())
    if not frame.count:
        return Reading(Verdict.SKIP, seen.upto, ((frame.partition, seen),))
    if frame.last <= seen.upto and keep.position:
        return Reading(Verdict.SKIP, seen.upto, ((frame.partition, seen),))
    if seen.part:
        problem = f"records of {frame.partition} up to {frame.last} come amid the parts of a range up to {seen.stop}"
        raise ProtocolError(problem)
    whole = frame.first > seen.upto or not keep.position
    now = seen._replace(upto=max(frame.last, seen.upto))
    return Reading(Verdict.APPLY if whole else Verdict.REST, seen.upto, ((frame.partition, now),))


def _combined(table: Table, frame: Combined, keep: rules.Rules) -> Reading:
    known = [_known(table, source.partition, source.epoch, frame.program, keep) for source in frame.sources]
    if None in known:
        return Reading(Verdict.SKIP, NOTHING, ())
    pairs = [(source, seen) for source, seen in zip(frame.sources, known, strict=True) if seen]
    verdicts = {_part(source, seen, frame, keep) for source, seen in pairs}
    if len(verdicts) > 1:
        ranges = ", ".join(f"{source.partition} {source.start} to {source.stop}" for source in frame.sources)
        problem = f"part {frame.part} of {ranges} is applied for some of the ranges, and not for others"
        raise ProtocolError(problem)
    (verdict,) = verdicts
    if verdict is Verdict.APPLY:
        last = frame.part + 1 == frame.parts
        pairs = [(source, _advanced(source, seen, frame.part, last)) for source, seen in pairs]
    return Reading(verdict, NOTHING, tuple((source.partition, seen) for source, seen in pairs))


def _part(source: Source, seen: Seen, frame: Combined, keep: rules.Rules) -> Verdict:
    """What one range says of a part."""
    if not keep.position:
        return Verdict.APPLY
    if seen.upto >= (source.stop, -1):
        return Verdict.SKIP
    if (seen.part == 0 and seen.upto < (source.start, 0)) or seen.stop == source.stop:
        if frame.part < seen.part:
            return Verdict.SKIP
        if frame.part == seen.part:
            return Verdict.APPLY
    problem = (
        f"part {frame.part} of {source.partition} {source.start} to {source.stop} doesn't fit to what was applied:"
        f" records up to {seen.upto}, {seen.part} parts of a range up to {seen.stop}"
    )
    raise ProtocolError(problem)


def _advanced(source: Source, seen: Seen, part: int, last: bool) -> Seen:
    if last:
        return seen._replace(upto=Position(source.stop, -1), stop=0, part=0)
    return seen._replace(stop=source.stop, part=part + 1)
