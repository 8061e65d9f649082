"""One partition of a program at work: what comes in, what goes out, and what a commit has to store. No I/O.

    task.take(topic, messages)       records of a topic of the user, or frames of the edge of this program
    task.flush()                     what has to be sent, in this order
    task.snapshot()                  what a commit stores: rows of tables, what is known of origins, input positions
    task.load(...), task.restored()  the same, read back

A task is between two records whenever nobody is in one of these calls, so whatever order they are made in, a snapshot
belongs to the positions that it holds. It may be committed once all that `flush` gave before it was acknowledged.

What a reader knows of its origins (`protocol.reader`) is stored beside the tables of its program, in the changelog that
has the program's name, under keys that no table has.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from spillway.controllers.protocol import reader
from spillway.controllers.protocol.reader import Seen, Verdict
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.runtime import frames
from spillway.runtime.commits import Change, Position, Snapshot
from spillway.runtime.emitter import TO_ANY
from spillway.runtime.frames import Layout, Origin, Sender
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Edge, Port, Program
from spillway.runtime.programs.running import Letter
from spillway.runtime.tables import store

# The first byte of a changelog key is the number of one of a table's stores, of which there are a few.
ORIGINS = b"\xff"

_pack = msgspec.msgpack.Encoder().encode
_unpack_origin = msgspec.msgpack.Decoder(tuple[int, Partition]).decode
_unpack_seen = msgspec.msgpack.Decoder(Seen).decode


class Send(NamedTuple):
    """One message to be sent; `partition` is `TO_ANY` where the client chooses, by the key."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None


class Task:
    """A program on one partition of its input, under one epoch."""

    def __init__(
        self, loop: Loop, states: Mapping[str, Any], partition: int, epoch: int, names: Names, width: int
    ) -> None:
        """`states` are the table objects of this partition, empty or on a replica that several share.

        `width` is how many partitions each edge has.
        """
        self.program: Program = loop.program
        self.partition, self.epoch = partition, epoch
        self._names, self._width, self._states = names, width, states
        self._running = loop.bind(states, {edge.reader: width for edge in self.program.edges})
        self._ports: dict[str, Port] = {
            port.source.topic: port for port in self.program.ports if port.source is not None and not port.broadcast
        }
        self._sides = {port.side: port for port in self.program.ports if port.source is None and not port.combined}
        self._combined = next((port for port in self.program.ports if port.combined), None)
        self._layouts = {side: Layout(port.schema, updates=port.updates) for side, port in self._sides.items()}
        self._parts = Layout(self._combined.schema, combined=True) if self._combined else None
        self._seen: dict[int, dict[Partition, Seen]] = {side: {} for side in self._sides}
        self._news: dict[tuple[int, Partition], None] = {}
        self._next: dict[str, int] = {}
        self._earliest: int | None = None
        self._source = ""  # the topic that rows of edges wait from; positions of another one are no part of its order
        self._waiting: list[Send] = []
        self._senders: dict[tuple[str, str], Sender] = {}

    @property
    def inputs(self) -> tuple[str, ...]:
        """The topics whose partition it reads."""
        own = (self._names.edge(self.program.name),) if self._sides else ()
        return (*self._ports, *own)

    @property
    def changelogs(self) -> tuple[str, ...]:
        """The topics that it is restored from."""
        own = (self.program.name,) if self._sides else ()
        return tuple(self._names.state(name) for name in dict.fromkeys((*self._states, *own)))

    def take(self, topic: str, messages: Sequence[Any]) -> None:
        """Work on messages, in their order; raises FrameError or ProtocolError for what can't be on an edge."""
        if not messages:
            return
        if topic != self._source:
            self._frames()
            self._source = topic
        port = self._ports.get(topic)
        if port is not None:
            self._came(min(message.timestamp()[1] for message in messages))
            self._running.run[port.label](messages)
        else:
            for message in messages:
                self._frame(message.offset(), message.value())
        self._next[topic] = messages[-1].offset() + 1

    def flush(self) -> list[Send]:
        """All that waits to be sent: frames, outputs, dead letters."""
        self._frames()
        found, self._waiting = self._waiting, []
        for output in self.program.outputs:
            rows = self._running.outputs[output.name]
            found += [Send(output.topic, TO_ANY, key, value) for _, _, _, key, value in rows]
            rows.clear()
        letters = self._running.letters
        found += [Send(self._names.dead, 0, letter.operator.encode(), self._letter(letter)) for letter in letters]
        letters.clear()
        return found

    def markers(self) -> list[Send]:
        """An empty frame for every partition that it may write: from there on frames of older epochs are dead."""
        return [
            Send(self._names.edge(edge.reader), number, None, self._sender(edge, topic).marker())
            for edge in self.program.edges
            for topic in self.inputs
            for number in range(self._width)
        ]

    def snapshot(self) -> Snapshot:
        """What has changed since the last one, and where the input is. Flush first: what waits is not in it."""
        changes = [
            Change(self._names.state(name), self.partition, key, value)
            for name, table in self._states.items()
            for part in table.stores
            for key, value in part.changes()
        ]
        own = self._names.state(self.program.name)
        for side, origin in self._news:
            key = ORIGINS + _pack((side, origin))
            changes.append(Change(own, self.partition, key, _pack(self._seen[side][origin])))
        self._news.clear()
        return Snapshot(changes, [Position(topic, self.partition, at) for topic, at in sorted(self._next.items())])

    def load(self, topic: str, key: bytes, value: bytes | None) -> None:
        """Take one record of a changelog, in its order."""
        if key.startswith(ORIGINS):
            side, origin = _unpack_origin(key[1:])
            if value is not None:
                self._seen[side][origin] = _unpack_seen(value)
            return
        name = topic.removeprefix(self._names.state(""))
        store.load(self._states[name].stores, key, value)

    def restored(self) -> None:
        """All changelogs are at their end."""
        for table in self._states.values():
            for part in table.stores:
                part.restored()

    def _frame(self, offset: int, data: bytes) -> None:
        """One frame of the edge: skipped, applied, or the rest of it."""
        frame = frames.read(data)
        table = self._seen[frame.side]
        reading = reader.read(table, frame.head)
        for origin, seen in reading.seen:
            if table.get(origin) != seen:
                table[origin] = seen
                self._news[frame.side, origin] = None
        if reading.verdict is Verdict.SKIP:
            return
        self._came(frame.earliest)
        if frame.combined is not None and self._combined is not None and self._parts is not None:
            self._running.run[self._combined.label](offset, self._parts.rows(frame))
            return
        rows = self._layouts[frame.side].rows(frame)
        left = frames.after(rows, frames.Position(*reading.above)) if reading.verdict is Verdict.REST else rows
        self._running.run[self._sides[frame.side].label](offset, left, len(rows) - len(left))

    def _frames(self) -> None:
        """Frames of all rows that wait; what no frame can hold becomes a dead letter."""
        for edge in self.program.edges:
            buffers = self._running.edges[edge.label]
            if not any(buffers):
                continue
            topic, sender = self._names.edge(edge.reader), self._sender(edge, self._source)
            refused = functools.partial(self._running.refused, operator=edge.label)
            for number, rows in enumerate(buffers):
                to = self._to(edge, number)
                made = sender.frames(rows, self._earliest or 0, refused=refused)
                self._waiting += [Send(topic, to, None, data) for data in made]
                rows.clear()
        self._earliest = None

    def _came(self, earliest: int) -> None:
        self._earliest = earliest if self._earliest is None else min(self._earliest, earliest)

    def _to(self, edge: Edge, number: int) -> int:
        """Where rows go: by their key, else by the own partition alone, so that repeated rows go the same way."""
        return self.partition % self._width if edge.key is None else number

    def _sender(self, edge: Edge, topic: str) -> Sender:
        """Frames of what came from one topic: its offsets are their positions."""
        made = self._senders.get((edge.label, topic))
        if made is None:
            origin = Origin(f"{self.program.name}<{topic}", self.partition, self.program.id)
            layout = Layout(edge.schema, updates=edge.updates)
            made = self._senders[edge.label, topic] = Sender(layout, origin, self.epoch, side=edge.side)
        return made

    def _letter(self, letter: Letter) -> bytes:
        """As JSON, for people and for replaying."""
        return msgspec.json.encode(
            {
                "operator": letter.operator,
                "error": letter.error,
                "line": letter.line[1],
                "program": self.program.name,
                "port": letter.port,
                "partition": self.partition,
                "offset": letter.offset,
                "index": letter.index,
                "timestamp": letter.timestamp,
                "columns": letter.columns,
                "row": letter.row,
            }
        )


def topics_of(programs: Iterable[Program]) -> tuple[list[str], list[str]]:
    """Of these programs, who reads an edge, and the names of all changelogs."""
    made = tuple(programs)
    readers = [program.name for program in made if any(port.source is None for port in program.ports)]
    tables = [state.name for program in made for state in program.states]
    return readers, list(dict.fromkeys((*tables, *readers)))
