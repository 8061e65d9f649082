"""Works on one range of an intent: reads it, runs the program of the record paradigm over it, and writes what comes.

Wherever that is done, it is done alike: the same loop, frames and partitioner as in a slot. What only the batch engine
knows is handed in, and what has to be stored is handed back. A range that is worked on again, after a task has failed
or a driver has died, gives the very same frames, byte by byte: what is taken at once depends on nothing but the range.
Readers skip them as far as they have them. Outputs can repeat then, and dead letters, as after a crash of a slot; where
outputs must not, they are handed back instead, and whoever commits the positions sends them in the same transaction.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Message, TopicPartition

from spillway.controllers.ahead import Ahead, Stretch
from spillway.controllers.protocol import reader
from spillway.controllers.protocol.values import Partition, Reach
from spillway.controllers.topics import Names
from spillway.model.errors import RetryError
from spillway.runtime import clients, task
from spillway.runtime.batch.combining import Aim, Combiner
from spillway.runtime.clients import Access
from spillway.runtime.commits import Change
from spillway.runtime.emitter import Emitter
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Program
from spillway.runtime.slots import watch
from spillway.runtime.slots.caution import Caution
from spillway.runtime.slots.replicas import Replicas
from spillway.runtime.task import Filling, Send, Task

# Messages that are processed at once. Fewer: what each call costs counts for more (a fifth of a short loop, at a
# hundred). More: processing begins later, while the rest is on its way; and who meets a deadly record takes more of its
# neighbours one by one.
AT_ONCE = 1_000
# Seconds without a record of a range that is known to be there: then the broker is away, and the task is tried again.
PATIENCE = 30.0
LOOK = 0.1  # seconds to wait for a message before it is asked how long that has been
# Dead letters wait for the end of their range, so that a task that fails on the way writes none, and its retry each
# once. Those of a range of nothing but bad records would fill the memory; so many take some megabytes.
LETTERS = 10_000

# In C: a call in Python for each message would be a tenth of what the cheapest programs take.
_partition = operator.methodcaller("partition")
_change: Callable[[Send], Change] = functools.partial(tuple.__new__, Change)


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """Input offsets of one partition from `start` up to, without, `stop`.

    Attributes:
        number: of the partition.
        start, stop: what is read.
        epoch: under which the engine has the partition.
        origins: what is known of who writes to the edge, as the changelog has it.
        done: what of it a slot has processed already, because it could be on time.
    """

    number: int
    start: int
    stop: int
    epoch: int
    origins: tuple[tuple[bytes, bytes], ...] = ()
    done: tuple[Stretch, ...] = ()


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
        shadow: do all of it, and send nothing: what a batch costs is learnt before one is needed.
        tables: how far the tables are read that every owner has whole.
        repeat: of a shadow, how often each record is processed: so a few tell what many would cost.
        limit: seconds for one call of a user's function; then it is ended, and its record is a dead letter.
        exactly: hand outputs back, instead of sending them.
    """

    access: Access
    names: Names
    width: int
    program: Program
    aims: Mapping[str, Aim]
    frame: int
    code: Path | None = None
    shadow: bool = False
    tables: tuple[Reach, ...] = ()
    repeat: int = 1
    limit: float = watch.LIMIT
    exactly: bool = False

    @property
    def topic(self) -> str:
        """The topic that it reads."""
        return task.input_of(self.program, self.names)


class Times(NamedTuple):
    """Seconds that ranges took together.

    Attributes:
        all: from the first to the last.
        reading, writing: of those, waiting for brokers.
        cpu: processor time of the process, threads of Kafka's clients included.
    """

    all: float
    reading: float
    writing: float
    cpu: float


class Aged(NamedTuple):
    """So many records left towards an output at this age, in milliseconds: that of the oldest of them."""

    output: str
    age: float
    records: int


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What became of a range.

    Attributes:
        number: of the partition.
        changes: what is to be stored with the position.
        messages: that were read.
        rows: records in them: rows of frames, where it reads an edge.
        letters: dead letters.
        sent: messages that were sent, dead letters among them; of a shadow, that would have been.
        times: of all ranges that were worked on together.
        outputs: that are to be sent with the position, if they were to be handed back.
        aged: how old what went to outputs was.
    """

    number: int
    changes: tuple[Change, ...]
    messages: int
    letters: int
    rows: int
    sent: int
    times: Times
    outputs: tuple[Change, ...] = ()
    aged: tuple[Aged, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Tools:
    """What ranges are worked on with; it stays warm from one to the next.

    Attributes:
        loop: the compiled program.
        consumer, emitter: clients, of which nobody else makes use meanwhile.
        most: by output, the bytes that a message may have.
        caution: how messages are taken: all at once, or with care where an earlier process ended.
        replicas: the tables that every owner has whole, if the program looks any up.
    """

    loop: Loop
    consumer: Consumer
    emitter: Emitter
    most: Mapping[str, int] = dataclasses.field(default_factory=dict)
    caution: Caution = dataclasses.field(default_factory=lambda: Caution(None, ()))
    replicas: Replicas | None = None


def records(program: Program, results: Iterable[Result]) -> int:
    """What ranges took in: rows of frames, where they read an edge."""
    is_edge = task.source_of(program) is None
    return sum(one.rows if is_edge else one.messages for one in results)


def work(order: Order, given: Sequence[Range], tools: Tools) -> list[Result]:
    """Work on ranges of different partitions, together; returns once brokers have everything that came of them.

    Each of them gives what it would alone. Together they wait once for what is read, and once for what is written.
    """
    began, cpu = time.perf_counter(), time.process_time()
    works = {one.number: _Work(order, one, tools) for one in given}
    reading, mark = 0.0, began
    for number, some in _read(order, given, tools.consumer):
        reading += time.perf_counter() - mark
        for turn in range(order.repeat):
            works[number].process(some, again=turn > 0)
        mark = time.perf_counter()
    reading += time.perf_counter() - mark
    changes = {number: mine.end() for number, mine in works.items()}
    for mine in works.values():
        mine.task.close()
    mark = time.perf_counter()
    if not order.shadow and not tools.emitter.flush(PATIENCE):
        message = f"no broker has taken what came of {order.topic!r} within {PATIENCE:.0f} s"
        raise RetryError(message)
    now = time.perf_counter()
    times = Times(now - began, reading, now - mark, time.process_time() - cpu)
    return [
        Result(
            number, changes[number], mine.messages, mine.letters, mine.rows, mine.sent, times,
            tuple(mine.outputs), tuple(mine.aged),
        )
        for number, mine in works.items()
    ]  # fmt: skip


class _Work:
    """A range on its way. What `Caution` knows as a place."""

    def __init__(self, order: Order, given: Range, tools: Tools) -> None:
        self._given, self._tools, self._shadow, self._exactly = given, tools, order.shadow, order.exactly
        self._program = order.program
        states = tools.replicas.states() if tools.replicas is not None else {}
        self.task = Task(tools.loop, states, given.number, given.epoch, order.names, order.width, tools.most)
        sources = (source for edge in order.program.edges for source in edge.sources)
        self.task.fill(Filling(order.frame, dict.fromkeys(sources, PATIENCE)))
        self._origin = Partition(task.origin_of(order.program, self.task.topic), given.number)
        self._combiners = {
            edge.label: (order.names.edge(edge.reader), Combiner(edge, aim, order.width, self.task.refused))
            for edge in order.program.edges
            if (aim := order.aims.get(edge.label)) is not None
        }
        self._done = Ahead(given.start, given.done)
        self._held: list[Send] = []
        self.outputs: list[Change] = []
        self.aged: list[Aged] = []
        self.messages = self.letters = self.sent = 0
        for key, value in given.origins:
            self.task.load(order.names.state(order.program.name), key, value)

    @property
    def partition(self) -> Partition:
        """As notes of what is being processed name it."""
        return Partition(self._program.name, self._given.number)

    @property
    def rows(self) -> int:
        """Records that came in."""
        counts = self.task.counts()
        return sum(counts[port.label].records_in for port in self._program.ports)

    def process(self, messages: list[Message], *, again: bool = False) -> None:
        """Run the program over some messages, and send what is ready; `again`: as if they had not been there."""
        if again:
            self.task.forget()
        if self._done:
            messages = [message for message in messages if not self._done.has(message.offset() or 0)]
        self.messages += len(messages)
        self._tools.caution.take(self, messages)
        for label, (_, combiner) in self._combiners.items():
            for into, rows in enumerate(self.task.waiting(label)):
                combiner.add(rows, into)
                rows.clear()
        self._send(whole=False)

    def unseen(self, messages: list[Any]) -> list[Any]:
        """All of them: ranges don't overlap."""
        return messages

    def take(self, messages: list[Any]) -> None:
        """Process messages."""
        self.task.take(messages)

    def put_aside(self, message: Any, error: Exception) -> None:
        """Make a dead letter of a message."""
        self.task.put_aside(message, error)

    def end(self) -> tuple[Change, ...]:
        """Send the rest; what is to be stored."""
        given = self._given
        source = reader.Source(self._origin, given.epoch, given.start, given.stop)
        for topic, combiner in self._combiners.values():
            parts = combiner.frames(source, self._program.id, self.task.earliest or 0)
            self._hand_over(Send(topic, number, None, data) for number, data in parts)
        self._send(whole=True)
        self._hand_over(self._held)
        return tuple(self.task.snapshot().changes)

    def _send(self, *, whole: bool) -> None:
        self._hand_over(self.task.frames(0.0, whole=whole))
        for name, some, earliest in self.task.results():
            self.aged.append(Aged(name, max(0.0, time.time() * 1000 - earliest), len(some)))
            if self._exactly:
                self.outputs += map(_change, some)
            else:
                self._hand_over(some)
        letters = self.task.letters()
        self.letters += len(letters)
        self._held += letters
        if len(self._held) >= LETTERS:
            self._hand_over(self._held)
            self._held.clear()
        if not self._shadow:
            self._tools.emitter.serve()

    def _hand_over(self, sends: Iterable[Send]) -> None:
        made = list(sends)
        self.sent += len(made)
        if not self._shadow:
            self._tools.emitter.send_all(made)


def _read(order: Order, given: Sequence[Range], consumer: Consumer) -> Iterator[tuple[int, list[Message]]]:
    """Messages of some ranges, each `AT_ONCE` at a time, with the number of its partition."""
    waiting: dict[int, list[Message]] = {one.number: [] for one in given}
    for number, some, ends in _arrived(order, given, consumer):
        mine = waiting[number]
        mine += some
        while len(mine) >= AT_ONCE:
            yield number, mine[:AT_ONCE]
            del mine[:AT_ONCE]
        if ends and mine:
            yield number, mine


def _arrived(order: Order, given: Sequence[Range], consumer: Consumer) -> Iterator[tuple[int, list[Message], bool]]:
    """The same as they come, and whether they are the last. Some offsets nobody can read: the ends of transactions."""
    topic = order.topic
    left = {one.number: one for one in given if one.start < one.stop}
    at = {number: one.start for number, one in left.items()}
    if not left:
        return
    consumer.assign([TopicPartition(topic, number, one.start) for number, one in left.items()])
    deadline = time.monotonic() + PATIENCE
    while left:
        found: dict[int, list[Message]] = {}
        for number, run in itertools.groupby(clients.arrived(consumer, AT_ONCE, LOOK), _partition):
            mine = left.get(number)
            if mine is None:
                continue  # beyond its end
            some = list(run)
            good = [message for message in some if message.error() is None]
            if len(good) < len(some):
                at[number] = _ended(order, mine, some, at[number])
            if good:
                at[number] = max(at[number], good[-1].offset() + 1)
                if at[number] > mine.stop:
                    good = [message for message in good if message.offset() < mine.stop]
                found.setdefault(number, []).extend(good)
        done = [number for number, one in left.items() if at[number] >= one.stop]
        for number in {*found, *done}:
            yield number, found.get(number, []), number in done
        for number in done:
            del left[number]
        if left and done:
            consumer.incremental_unassign([TopicPartition(topic, number) for number in done])
        if found or done:
            deadline = time.monotonic() + PATIENCE
        elif time.monotonic() > deadline:
            number = min(left)
            problem = f"topic {topic!r}, partition {number}: nothing came from {at[number]} on within {PATIENCE:.0f} s"
            raise RetryError(problem)
    consumer.unassign()


def _ended(order: Order, given: Range, some: Sequence[Message], at: int) -> int:
    """How far a partition was read, by what is no message among what came of it.

    Frames that a shadow would take may be trimmed by who has processed them, before it comes to read them: it does
    without those of that partition.
    """
    for message in some:
        error = message.error()
        if error is not None and clients.is_end(error):
            at = max(at, message.offset() or 0)
        elif error is not None and not error.retriable():
            if order.shadow:
                return given.stop
            problem = f"topic {order.topic!r}, partition {given.number}, can't be read from {at} on: {error.str()}"
            raise RetryError(problem)
    return at
