"""Runs letters again: what each of them sends, and what fails once more. No I/O but the functions of the user.

Frames of a replay have an origin of their own. Their position is (offset of the replay in the topic of dead letters,
number of the letter in it), so whoever reads an edge skips what it has: a replay that was interrupted, or run by two at
once, counts once in every table. The program of the origin is the identity of the topic: were it deleted and made anew,
its offsets would begin again at zero, and every new replay would be taken for an old one. The origin has no owner, so
it has one epoch for ever.

What goes to topics of the user can come twice if a replay is interrupted, as after any crash.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from spillway.controllers.topics import Names
from spillway.runtime import frames, letters
from spillway.runtime.emitter import TO_ANY
from spillway.runtime.frames import Layout, Origin, Sender
from spillway.runtime.functions import Function
from spillway.runtime.letters import Letter, LetterError
from spillway.runtime.programs import running, states
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Edge, Port, Program
from spillway.runtime.programs.running import Running
from spillway.runtime.replays.routes import Reason, Route
from spillway.runtime.task import Send

EPOCH = 1

Load = Callable[[str], Function]
Fill = Callable[[Port, Callable[[list[Any]], None]], None]


class _Message(NamedTuple):
    """A message of the user's topic, as a program asks for it."""

    at: int
    name: bytes | None
    content: bytes | None
    time: int

    def offset(self) -> int:
        return self.at

    def key(self) -> bytes | None:
        return self.name

    def value(self) -> bytes | None:
        return self.content

    def timestamp(self) -> tuple[int, int]:
        return (1, self.time)


@dataclasses.dataclass(frozen=True, slots=True)
class Works:
    """What runs letters again.

    Attributes:
        names: of the job's topics.
        width: how many partitions each edge has.
        identity: of the topic of dead letters.
        load: finds a function of the user.
        fill: hands all messages of a broadcast table to a function.
    """

    names: Names
    width: int
    identity: str
    load: Load
    fill: Fill
    _made: dict[str, Running] = dataclasses.field(default_factory=dict)

    def prepare(self, route: Route) -> None:
        """Compile what is to be run, with its functions and tables, before anything is sent."""
        if route.reason is Reason.HERE and route.program is not None:
            self._running(route.program)

    def again(self, letter: Letter, offset: int, route: Route, at: frames.Position, now: int) -> list[Send]:
        """What a letter sends, at its position in the replays; `now` in milliseconds is when its latency begins.

        Raises LetterError or FrameError if it can't go back.
        """
        program, port = route.program, route.port
        if program is None or port is None:
            raise LetterError(route.sentence)
        given = letter.values()
        row = (*at, letter.timestamp, *(given[name] for name in port.schema.names if name in given))
        if route.reason is Reason.EDGE:
            topic, layout = self.names.edge(program.name), Layout(port.schema)
            partition = letter.partition if letter.into is None else letter.into
            return self._framed(topic, partition, layout, port.side, [row], now)
        at_work = self._running(program)
        if letter.is_message:
            millis = (letter.timestamp or 0) // 1000
            at_work.run[port.label]([_Message(at.offset, given["key"], given["value"], millis)])
        else:
            at_work.run[port.label](at.offset, [row], at.record)
        return self._sent(letter, offset, program, at_work, at, now)

    def _sent(
        self, letter: Letter, offset: int, program: Program, at_work: Running, at: frames.Position, now: int
    ) -> list[Send]:
        """Everything that came out, and the letters of what failed again."""
        sent: list[Send] = []
        for edge in program.edges:
            for number, rows in enumerate(at_work.edges[edge.label]):
                sent += self._edge(edge, letter.partition % self.width if edge.key is None else number, rows, at, now)
                rows.clear()
        for output in program.outputs:
            rows = at_work.outputs[output.name]
            sent += [Send(output.topic, TO_ANY, key, value) for _, _, _, key, value in rows]
            rows.clear()
        sent += [
            Send(self.names.dead, 0, f.operator.encode(), self._failed(f, program, letter, offset))
            for f in at_work.letters
        ]
        at_work.letters.clear()
        return sent

    def _failed(self, found: running.Letter, program: Program, letter: Letter, offset: int) -> bytes:
        """The letter of a row that failed again, maybe elsewhere: it was made of the same record."""
        made = letters.letter(found, program, letter.partition, self.names)
        came = ("program", "topic", "partition", "offset", "index", "port")
        of = {name: getattr(letter, name) for name in came}
        return letters.bounded(msgspec.structs.replace(made, again=offset, **of))

    def _edge(self, edge: Edge, partition: int, rows: list[Any], at: frames.Position, now: int) -> list[Send]:
        layout = Layout(edge.schema, updates=edge.updates)
        moved = [(*at, *row[2:]) for row in rows]
        return self._framed(self.names.edge(edge.reader), partition, layout, edge.side, moved, now)

    def _framed(self, topic: str, partition: int, layout: Layout, side: int, rows: list[Any], now: int) -> list[Send]:
        """The frame of these rows, read back once: a reader that met rows that it can't read would stop."""
        origin = Origin(letters.ORIGIN, 0, self.identity)
        made = Sender(layout, origin, EPOCH, side=side).frames(rows, now)
        for data in made:
            layout.rows(frames.read(data))
        return [Send(topic, partition, None, data) for data in made]

    def _running(self, program: Program) -> Running:
        known = self._made.get(program.id)
        if known is None:
            known = self._made[program.id] = self._bound(program)
        return known

    def _bound(self, program: Program) -> Running:
        functions = {reference: self.load(reference) for reference, _ in program.digests}
        loop = Loop(program, functions)
        made = {state.name: states.made(state) for state in program.states}
        bound = loop.bind(made, dict.fromkeys((edge.reader for edge in program.edges), self.width))
        for port in program.ports:
            if port.broadcast:
                self.fill(port, bound.run[port.label])
        bound.letters.clear()  # of the table's own messages: they have their letters already
        return bound
