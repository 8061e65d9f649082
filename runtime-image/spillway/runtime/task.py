"""One partition of a program at work: what comes in, what goes out, and what a commit has to store. No I/O.

    task.take(messages)              records of a topic of the user, or frames of the edge of this program
    task.frames(now), task.results(now), task.letters()      what has to be sent, in this order
    task.snapshot()                  what a commit stores: rows of tables, what is known of origins, the input position
    task.load(...), task.restored()  the same, read back

Rows for an edge wait until a frame is full, or until its deadline has come (`due`), and go then. A task is between two
records whenever nobody is in one of these calls, so whatever order they are made in, a snapshot belongs to the position
that it holds. It may be taken once nothing waits, and committed once all that was sent before it was acknowledged.

What a reader knows of its origins (`protocol.reader`) is stored beside the tables of its program, in the changelog that
has the program's name, under keys that no table has.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from spillway.controllers.protocol import reader
from spillway.controllers.protocol.reader import Seen, Verdict
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.model.kafka import Stream
from spillway.runtime import frames, letters
from spillway.runtime.commits import Change, Position, Snapshot
from spillway.runtime.emitter import TO_ANY
from spillway.runtime.frames import Frame, Layout, Origin, Sender
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Edge, Port, Program
from spillway.runtime.programs.running import Letter
from spillway.runtime.tables import store
from spillway.runtime.tables.lookup_join import LookupJoin

# The first byte of a changelog key is the number of one of a table's stores, of which there are a few.
ORIGINS = b"\xff"
NEVER = math.inf

_pack = msgspec.msgpack.Encoder().encode
_unpack_origin = msgspec.msgpack.Decoder(tuple[int, Partition]).decode
_unpack_seen = msgspec.msgpack.Decoder(Seen).decode


class Send(NamedTuple):
    """One message to be sent; `partition` is `TO_ANY` where the client chooses, by the key."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None


# Of an output there is one for each record, and `Send(…)` is a function in Python, which takes 0.3 µs; this is in C.
_send: Callable[[tuple[str, int, bytes | None, bytes | None]], Send] = functools.partial(tuple.__new__, Send)


class Filling(NamedTuple):
    """How long rows wait for others, to leave in one frame.

    Attributes:
        frame: so many rows make a frame.
        deadlines: by node whose rows go out, seconds after which they leave at the latest; 0 where nothing is said.
    """

    frame: int = 1
    deadlines: Mapping[str, float] = {}

    def of(self, edge: Edge) -> float:
        """How long rows of an edge may wait."""
        return min(self.deadlines.get(source, 0.0) for source in edge.sources) if self.frame > 1 else 0.0


class Spent:
    """Where the time of records went.

    Attributes:
        records: that came.
        stamps: the sum of the times at which they were sent, or appended, in milliseconds.
        rows: that left in frames.
        seconds: that those have waited for others, all together.
    """

    __slots__ = ("records", "rows", "seconds", "stamps")

    def __init__(self) -> None:
        self.records = self.rows = 0
        self.stamps = self.seconds = 0.0

    def came(self, records: int, stamp: float) -> None:
        """So many, of this time in the mean."""
        self.records += records
        self.stamps += records * stamp

    def waited(self, rows: int, seconds: float) -> None:
        """So many leave, after so long altogether."""
        self.rows += rows
        self.seconds += seconds


class Waits:
    """For how long rows have waited, of whom only the number is known."""

    __slots__ = ("_rows", "_stamps")

    def __init__(self) -> None:
        self._rows = 0  # that were there at the last look
        self._stamps = 0.0  # the sum of the times at which they were seen first

    def leave(self, left: int, rest: int, now: float) -> float:
        """So many rows go, and the rest stays; seconds that those which go have waited, all together.

        Which of them go is not asked: all have waited as long as they have in the mean.
        """
        stamps = self._stamps + (left + rest - self._rows) * now
        gone = stamps * left / (left + rest)
        self._rows, self._stamps = rest, stamps - gone
        return left * now - gone


class _Way:
    """One edge, with the rows that wait for it."""

    __slots__ = ("buffers", "due", "earliest", "edge", "keyed", "refused", "sender", "topic", "wait", "waits")

    def __init__(self, edge: Edge, buffers: list[list[Any]], topic: str, sender: Sender, refused: Any) -> None:
        self.edge, self.buffers, self.topic, self.sender, self.refused = edge, buffers, topic, sender, refused
        self.keyed = edge.key is not None
        self.wait = 0.0
        self.due = NEVER  # when the first row that waits has to leave
        self.earliest = 0  # when the first of what waits came into its topic, in milliseconds
        self.waits = Waits()


class Task:
    """A program on one partition of its input, under one epoch."""

    def __init__(
        self,
        loop: Loop,
        states: Mapping[str, Any],
        partition: int,
        epoch: int,
        names: Names,
        width: int,
        most: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """`states` are the table objects of this partition, empty or on a replica that several share.

        `width` is how many partitions each edge has; `most`, by output, the bytes that a message of it may have.
        """
        self.program: Program = loop.program
        self.partition, self.epoch = partition, epoch
        self.states = states
        self._names, self.width = names, width
        self._running = loop.bind(states, {edge.reader: width for edge in self.program.edges}, most=most)
        self._port = source_of(self.program)
        self.topic = names.edge(self.program.name) if self._port is None else _topic(self._port)
        self.next: int | None = None
        """The offset of the next message; None before the first one."""
        self.note = ""
        """What is to be kept beside that."""
        self._sides = {port.side: port for port in self.program.ports if port.source is None and not port.combined}
        self._combined = next((port for port in self.program.ports if port.combined), None)
        self._layouts = {side: Layout(port.schema, updates=port.updates) for side, port in self._sides.items()}
        self._parts = Layout(self._combined.schema, combined=True) if self._combined else None
        self._seen: dict[int, dict[Partition, Seen]] = {side: {} for side in self._sides}
        self._news: dict[tuple[int, Partition], None] = {}
        self.earliest: int | None = None
        """When the first of what came since `looked` came into its topic, in milliseconds."""
        self.spent = Spent()
        """Where the time of what came since `looked` went, as far as a task can tell."""
        self._filling = Filling()
        self.due = NEVER
        """When something that waits has to leave; infinite if nothing waits."""
        self._ways = [self._way(edge) for edge in self.program.edges]
        self._outputs = [(out.topic, out.name, self._running.outputs[out.name]) for out in self.program.outputs]

    @property
    def changelogs(self) -> tuple[str, ...]:
        """The topics that it is restored from."""
        return tuple(self._names.state(name) for name in tables_of(self.program))

    @property
    def seen(self) -> Mapping[Partition, Seen]:
        """What was applied of each origin, as far as somebody may have to find it again: of all sides, the least."""
        return _least((origin, seen) for table in self._seen.values() for origin, seen in table.items())

    def fill(self, filling: Filling) -> None:
        """From now on, so many rows make a frame."""
        self._filling = filling
        for way in self._ways:
            way.wait = filling.of(way.edge)

    def take(self, messages: Sequence[Any]) -> None:
        """Work on messages, in their order; raises FrameError or ProtocolError for what can't be on an edge."""
        if not messages:
            return
        if self._port is not None:
            first, last = messages[0].timestamp()[1], messages[-1].timestamp()[1]
            self._came(first)
            self.spent.came(len(messages), (first + last) / 2)  # to ask each would be 0.1 µs a record
            self._running.run[self._port.label](messages)
        else:
            for message in messages:
                self._frame(message.offset(), message.value(), message.timestamp()[1])
        self.next = messages[-1].offset() + 1

    def put_aside(self, message: Any, error: Exception) -> None:
        """Make dead letters of a message, without a look at what would become of it."""
        offset = message.offset()
        if self._port is not None:
            self._came(message.timestamp()[1])
            self._running.port = self._port.label
            row = (message.key(), message.value())
            self._running.refused(error, offset, 0, self._port.label, (None, ("key", "value"), row))
        else:
            frame = frames.read(message.value())
            reading = reader.read(self._seen[frame.side], frame.head)
            self._note(frame.side, reading)
            if reading.verdict is not Verdict.SKIP:
                self._rows_aside(frame, offset, error)
        self.next = offset + 1

    def waiting(self, label: str) -> list[list[Any]]:
        """The rows that wait for an edge, by partition, for who sends them otherwise: it clears what it has taken."""
        return self._running.edges[label]

    @property
    def refused(self) -> Callable[..., None]:
        """To be told of rows that can't be sent."""
        return self._running.refused

    def frames(self, now: float, *, whole: bool = False) -> list[Send]:
        """Frames that are full, or whose deadline has come; `whole`: of all that waits. `now` is in seconds.

        What no frame can hold becomes a dead letter.
        """
        found: list[Send] = []
        for way in self._ways:
            if way.due == NEVER:
                if not any(way.buffers):
                    continue
                way.due, way.earliest = now + way.wait, self.earliest or 0
            elif self.earliest is not None and self.earliest < way.earliest:
                way.earliest = self.earliest
            at_once = whole or now >= way.due
            left = rest = 0
            for number, rows in enumerate(way.buffers):
                if not rows:
                    continue
                if not at_once and len(rows) < self._filling.frame:
                    rest += len(rows)
                    continue
                left += len(rows)
                to = number if way.keyed else self.partition % self.width
                made = way.sender.frames(rows, way.earliest, refused=way.refused)
                found += [Send(way.topic, to, None, data) for data in made]
                rows.clear()
            self.spent.waited(left, way.waits.leave(left, rest, now))
            if not rest:
                way.due = NEVER
        self.due = min((way.due for way in self._ways), default=NEVER)
        return found

    def results(self) -> list[tuple[str, list[Send], int]]:
        """Output messages, by output, and when the earliest source record came that they may have been made of."""
        found = []
        for topic, name, rows in self._outputs:
            if rows:
                sends = [_send((topic, TO_ANY, key, value)) for _, _, _, key, value in rows]
                rows.clear()
                found.append((name, sends, self.earliest or 0))
        return found

    @property
    def bad(self) -> Letter | None:
        """The first letter of what came since they were fetched, by its record."""
        return min(self._running.letters, key=lambda letter: (letter.offset, letter.index), default=None)

    def letters(self) -> list[Send]:
        """Dead letters."""
        found = self._running.letters
        if not found:
            return []
        at = (self.program, self.partition, self._names)
        sends = [Send(self._names.dead, 0, one.operator.encode(), letters.encode(one, *at)) for one in found]
        found.clear()
        return sends

    def looked(self) -> None:
        """All that came of the messages so far was fetched, or waits in a frame."""
        self.earliest = None
        self.spent = Spent()

    def markers(self) -> list[Send]:
        """An empty frame for every partition that it may write: from there on frames of older epochs are dead."""
        return markers(self.program, self._names, self.partition, self.epoch, self.width)

    def snapshot(self) -> Snapshot:
        """What has changed since the last one, and where the input is. No row may wait: it would not be in it."""
        changes = [
            Change(self._names.state(name), self.partition, key, value)
            for name, table in self.states.items()
            for part in table.stores
            for key, value in part.changes()
        ]
        own = self._names.state(self.program.name)
        for side, origin in self._news:
            key = ORIGINS + _pack((side, origin))
            changes.append(Change(own, self.partition, key, _pack(self._seen[side][origin])))
        self._news.clear()
        group = self._names.group(self.program.name)
        positions = [] if self.next is None else [Position(group, self.topic, self.partition, self.next, self.note)]
        return Snapshot(changes, positions)

    def counts(self) -> Mapping[str, Any]:
        """What each port, operator, edge and output has seen."""
        return self._running.counts()

    def load(self, topic: str, key: bytes, value: bytes | None) -> None:
        """Take one record of a changelog, in its order."""
        if key.startswith(ORIGINS):
            side, origin = _unpack_origin(key[1:])
            if value is not None and side in self._seen:
                self._seen[side][origin] = _unpack_seen(value)
            return
        name = topic.removeprefix(self._names.state(""))
        store.load(self.states[name].stores, key, value)

    def forget(self) -> None:
        """Know nothing of origins any more: what was applied may be applied again. Of those who keep nothing of it."""
        for table in self._seen.values():
            table.clear()
        self._news.clear()

    def restored(self) -> None:
        """All changelogs are at their end."""
        for table in self.states.values():
            for part in table.stores:
                part.restored()

    def close(self) -> None:
        """Somebody else has the partition now."""
        for table in self.states.values():
            if isinstance(table, LookupJoin):
                table.close()
            for part in table.stores:
                part.close()

    def _frame(self, offset: int, data: bytes, stamp: int) -> None:
        """One frame of the edge: skipped, applied, or the rest of it."""
        frame = frames.read(data)
        reading = reader.read(self._seen[frame.side], frame.head)
        self._note(frame.side, reading)
        if reading.verdict is Verdict.SKIP:
            return
        self._came(frame.earliest)
        if frame.combined is not None and self._combined is not None and self._parts is not None:
            parts = self._parts.rows(frame)
            self.spent.came(len(parts), stamp)
            self._running.run[self._combined.label](offset, parts)
            return
        rows = self._layouts[frame.side].rows(frame)
        left = frames.after(rows, frames.Position(*reading.above)) if reading.verdict is Verdict.REST else rows
        self.spent.came(len(left), stamp)
        self._running.run[self._sides[frame.side].label](offset, left, len(rows) - len(left))

    def _note(self, side: int, reading: reader.Reading) -> None:
        """What is known of origins from now on."""
        table = self._seen[side]
        for origin, seen in reading.seen:
            if table.get(origin) != seen:
                table[origin] = seen
                self._news[side, origin] = None

    def _rows_aside(self, frame: Frame, offset: int, error: Exception) -> None:
        """A letter for each row of a frame."""
        port = self._sides[frame.side]
        self._came(frame.earliest)
        self._running.port = port.label
        for index, (_, _, timestamp, *values) in enumerate(self._layouts[frame.side].rows(frame)):
            given = (timestamp, tuple(port.schema.names), tuple(values))
            self._running.refused(error, offset, index, port.into or port.label, given)

    def _came(self, earliest: int) -> None:
        if self.earliest is None or earliest < self.earliest:
            self.earliest = earliest

    def _way(self, edge: Edge) -> _Way:
        """An edge; what came from one topic has its offsets as positions."""
        sender = _sender(self.program, edge, self._names, self.partition, self.epoch)
        refused = functools.partial(self._running.refused, operator=edge.label)
        return _Way(edge, self._running.edges[edge.label], self._names.edge(edge.reader), sender, refused)


def source_of(program: Program) -> Port | None:
    """The port whose topic it reads; None where that is its own edge."""
    return next((port for port in program.ports if port.source is not None and not port.broadcast), None)


def reads_stream(program: Program) -> bool:
    """Whether its input is a stream of the user, whose records may wait, or be left out; elsewhere every row counts."""
    port = source_of(program)
    return port is not None and isinstance(port.source, Stream)


def _topic(port: Port) -> str:
    assert port.source is not None  # noqa: S101 - `source_of` looked
    return port.source.topic


def input_of(program: Program, names: Names) -> str:
    """The one topic that a program reads."""
    port = source_of(program)
    return names.edge(program.name) if port is None else _topic(port)


def origin_of(program: Program, topic: str) -> str:
    """How the frames of a program name the input that their positions count in."""
    return f"{program.name}<{topic}"


def segment_of(origin: str) -> tuple[str, str]:
    """The segment and the input topic of an origin."""
    segment, _, topic = origin.partition("<")
    return segment, topic


def seen_in(rows: Mapping[bytes, bytes]) -> dict[Partition, Seen]:
    """The same as `Task.seen`, of what a changelog says of origins."""
    return _least((_unpack_origin(key[len(ORIGINS) :])[1], _unpack_seen(value)) for key, value in rows.items())


def _least(known: Iterable[tuple[Partition, Seen]]) -> dict[Partition, Seen]:
    found: dict[Partition, Seen] = {}
    for origin, seen in known:
        before = found.get(origin)
        found[origin] = seen if before is None or seen.upto < before.upto else before
    return found


def _sender(program: Program, edge: Edge, names: Names, partition: int, epoch: int) -> Sender:
    origin = Origin(origin_of(program, input_of(program, names)), partition, program.id)
    return Sender(Layout(edge.schema, updates=edge.updates), origin, epoch, side=edge.side)


def markers(program: Program, names: Names, partition: int, epoch: int, width: int) -> list[Send]:
    """An empty frame of this epoch for every partition that a program may write."""
    return [
        Send(names.edge(edge.reader), number, None, _sender(program, edge, names, partition, epoch).marker())
        for edge in program.edges
        for number in range(width)
    ]


def tables_of(program: Program) -> tuple[str, ...]:
    """The names of everything that a program restores: its tables, and what it knows of who writes to its edge."""
    own = (program.name,) if source_of(program) is None else ()
    return tuple(dict.fromkeys((*(state.name for state in program.states), *own)))


def topics_of(programs: Iterable[Program]) -> tuple[list[str], list[str]]:
    """Of these programs, who reads an edge, and the names of all changelogs."""
    made = tuple(programs)
    readers = [program.name for program in made if source_of(program) is None]
    return readers, list(dict.fromkeys(name for program in made for name in tables_of(program)))
