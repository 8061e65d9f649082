"""Works on one range of an intent: reads it, runs the program of the record paradigm over it, and writes what comes.

Wherever that is done, it is done alike: the same loop, frames and partitioner as in a slot. What only the batch engine
knows is handed in, and what has to be stored is handed back. A range that is worked on again, after a task has failed
or a driver has died, gives the very same frames, which readers skip as far as they have them.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from confluent_kafka import Consumer, Message, TopicPartition

from spillway.controllers.protocol import reader
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.model.errors import RetryError
from spillway.runtime import clients, task
from spillway.runtime.batch.combining import Aim, Combiner
from spillway.runtime.clients import Access
from spillway.runtime.commits import Change
from spillway.runtime.emitter import Emitter
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Program
from spillway.runtime.task import Filling, Send, Task

AT_ONCE = 5_000
# Seconds without a record of a range that is known to be there: then the broker is away, and the task is tried again.
PATIENCE = 30.0
LOOK = 0.1  # seconds to wait for a message before it is asked how long that has been


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """Input offsets of one partition from `start` up to, without, `stop`.

    Attributes:
        number: of the partition.
        start, stop: what is read.
        epoch: under which the engine has the partition.
        origins: what is known of who writes to the edge, as the changelog has it.
    """

    number: int
    start: int
    stop: int
    epoch: int
    origins: tuple[tuple[bytes, bytes], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """What is to be done with all ranges of an intent; small enough to be sent to executors with each.

    Attributes:
        access: how to reach Kafka.
        names: of the topics of the job.
        width: how many partitions each edge has.
        program: what to run.
        aims: by edge, what its rows can be added up for; empty if the intent doesn't combine.
        frame: rows in a frame where rows keep their positions.
        code: the directory with the user's functions.
    """

    access: Access
    names: Names
    width: int
    program: Program
    aims: Mapping[str, Aim]
    frame: int
    code: Path | None = None

    @property
    def topic(self) -> str:
        """The topic that it reads."""
        return task.input_of(self.program, self.names)


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What became of a range.

    Attributes:
        number: of the partition.
        changes: what is to be stored with the position.
        messages: that were read.
        letters: dead letters.
        seconds: that it took, and of those, reading and writing.
    """

    number: int
    changes: tuple[Change, ...]
    messages: int
    letters: int
    seconds: float
    reading: float
    writing: float


def work(order: Order, loop: Loop, given: Range, consumer: Consumer, emitter: Emitter) -> Result:
    """Work on a range; returns once brokers have everything that came of it."""
    began = time.perf_counter()
    mine = _Work(order, loop, given, emitter)
    messages, reading, mark = 0, 0.0, began
    for some in _read(mine.task.topic, given, consumer):
        reading += time.perf_counter() - mark
        mine.take(some)
        messages += len(some)
        mark = time.perf_counter()
    reading += time.perf_counter() - mark
    changes = mine.end()
    mark = time.perf_counter()
    if not emitter.flush(PATIENCE):
        message = f"no broker has taken what came of {mine.task.topic!r} within {PATIENCE:.0f} s"
        raise RetryError(message)
    now = time.perf_counter()
    return Result(given.number, changes, messages, mine.letters, now - began, reading, now - mark)


class _Work:
    """A range on its way."""

    def __init__(self, order: Order, loop: Loop, given: Range, emitter: Emitter) -> None:
        self._given, self._emitter = given, emitter
        self._program = order.program
        self.task = Task(loop, {}, given.number, given.epoch, order.names, order.width)
        sources = (source for edge in order.program.edges for source in edge.sources)
        self.task.fill(Filling(order.frame, dict.fromkeys(sources, PATIENCE)))
        self._origin = Partition(task.origin_of(order.program, self.task.topic), given.number)
        self._combiners = {
            edge.label: (order.names.edge(edge.reader), Combiner(edge, aim, order.width, self.task.refused))
            for edge in order.program.edges
            if (aim := order.aims.get(edge.label)) is not None
        }
        self.letters = 0
        for key, value in given.origins:
            self.task.load(order.names.state(order.program.name), key, value)

    def take(self, messages: Sequence[Message]) -> None:
        """Run the program over some messages."""
        self.task.take(messages)
        for label, (_, combiner) in self._combiners.items():
            for rows in self.task.waiting(label):
                combiner.add(rows)
                rows.clear()
        self._send(whole=False)

    def end(self) -> tuple[Change, ...]:
        """Send the rest; what is to be stored."""
        given = self._given
        source = reader.Source(self._origin, given.epoch, given.start, given.stop)
        for topic, combiner in self._combiners.values():
            for number, data in combiner.frames(source, self._program.id, self.task.earliest or 0):
                self._emitter.send(topic, number, None, data)
        self._send(whole=True)
        return tuple(self.task.snapshot().changes)

    def _send(self, *, whole: bool) -> None:
        sends: list[Send] = self.task.frames(0.0, whole=whole)
        sends += [send for _, some, _ in self.task.results() for send in some]
        letters = self.task.letters()
        self.letters += len(letters)
        for send in (*sends, *letters):
            self._emitter.send(*send)


def _read(topic: str, given: Range, consumer: Consumer) -> Iterator[list[Message]]:
    """The messages of a range. Offsets that nobody can read, such as the ends of transactions, may be among them."""
    consumer.assign([TopicPartition(topic, given.number, given.start)])
    at, deadline = given.start, time.monotonic() + PATIENCE
    while at < given.stop:
        found: list[Message] = []
        for message in clients.arrived(consumer, AT_ONCE, LOOK):
            error, offset = message.error(), message.offset() or 0
            if error is None:
                at = offset + 1
                if offset < given.stop:
                    found.append(message)
            elif clients.is_end(error):
                at = max(at, offset)
            elif not error.retriable():
                problem = f"topic {topic!r}, partition {given.number}, can't be read from {at} on: {error.str()}"
                raise RetryError(problem)
        if found:
            deadline = time.monotonic() + PATIENCE
            yield found
        elif time.monotonic() > deadline:
            problem = f"topic {topic!r}, partition {given.number}: nothing came from {at} on within {PATIENCE:.0f} s"
            raise RetryError(problem)
    consumer.unassign()
