"""Prepares partitions in a thread beside the loop: compiles their programs, restores their tables, follows changelogs.

    warm(want)      do all of that while somebody else has the partition; `Warmed` is told once it is as good as there
    finish(want)    it is ours now: read the rest, which its last owner has committed meanwhile, and hand over the task
    forget(...)     it stays with the other one

What was restored ahead makes the pause of a move short: only what was committed since has to be read then.

While a partition is another's, the end of its changelog is where a broker says that nothing committed follows. Once it
is ours, that is not enough: a commit has gone through before its rows can be seen, for some milliseconds, or longer if
the partition's broker is slow. Then the end is where nothing at all follows. Nobody writes there any more: who released
it has ended its last transaction, and what a predecessor left open ended with the fence.
"""

from __future__ import annotations

import queue
import threading
import time
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

from spillway.controllers.ahead import Stretch
from spillway.controllers.protocol import log
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.model.errors import SpillwayError
from spillway.runtime import clients, commits, failpoints, task
from spillway.runtime.clients import Access
from spillway.runtime.commits import GoneError
from spillway.runtime.programs import states
from spillway.runtime.slots.library import Library
from spillway.runtime.slots.outputs import Outputs
from spillway.runtime.slots.replicas import Replicas
from spillway.runtime.tables.store import MEMORY, Keeping
from spillway.runtime.task import Task

AT_ONCE = 1000
# Seconds after which what could not be prepared is tried again: who has made the topic that was missing waits for it.
AGAIN = 2.0
# Seconds between two looks at what is wanted. Longer: added to the pause of a move.
LOOK = 0.005


class Want(NamedTuple):
    """A partition to prepare, under an epoch; `state` is what the log said when it was asked for."""

    partition: Partition
    epoch: int
    program: str
    width: int
    state: log.State


class Warmed(NamedTuple):
    """A partition is prepared as far as can be while somebody else has it; or can't be, which `problem` says."""

    partition: Partition
    epoch: int
    problem: str


class Finished(NamedTuple):
    """A task with all that was committed; `done` is what of its input was processed ahead of its position."""

    partition: Partition
    epoch: int
    task: Task
    replicas: Replicas | None
    done: tuple[Stretch, ...] = ()


class Waits(NamedTuple):
    """A partition that is ours can't be prepared now, which is tried again; `problem` says why."""

    partition: Partition
    epoch: int
    problem: str


class Failed(NamedTuple):
    """Something that no other try would change; the slot ends with it."""

    error: BaseException


Result = Warmed | Finished | Waits | Failed
_Place = tuple[str, int]


class _Restore:
    """One partition on its way."""

    def __init__(self, want: Want, task: Task, replicas: Replicas | None) -> None:
        self.want, self.task, self.replicas = want, task, replicas
        self.next: dict[_Place, int] = {(topic, want.partition.number): OFFSET_BEGINNING for topic in task.changelogs}
        self.missing = set(self.next)  # changelogs whose end was not seen yet
        self.wanted = False  # by `finish`
        self.read = False  # now
        self.told = False
        self.done: tuple[Stretch, ...] = ()


class Preparer:
    """The thread. `results` has what it did."""

    def __init__(
        self, access: Access, names: Names, library: Library, outputs: Outputs, kept: Keeping = MEMORY
    ) -> None:
        """`kept`: where the rows of tables are."""
        self._access, self._names, self._library, self._kept = access, names, library, kept
        self._asked: queue.SimpleQueue[tuple[str, Want]] = queue.SimpleQueue()
        self.results: queue.SimpleQueue[Result] = queue.SimpleQueue()
        self._consumer = clients.restorer(access, f"{names.prefix}restore")
        self._restores: dict[tuple[Partition, int], _Restore] = {}
        self._replicas: dict[str, Replicas] = {}
        self._known: set[str] = set()
        self._readers: dict[str, Consumer] = {}  # by segment; they read nothing but what is committed
        self._outputs = outputs
        self._waiting: dict[Partition, Want] = {}
        self._retry = 0.0
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="prepare", daemon=True)
        self._thread.start()

    def warm(self, want: Want) -> None:
        """Prepare while somebody else has it."""
        self._asked.put(("warm", want))

    def finish(self, want: Want) -> None:
        """Prepare, and hand over the task."""
        self._asked.put(("finish", want))

    def forget(self, want: Want) -> None:
        """Drop what was prepared."""
        self._asked.put(("forget", want))

    def close(self) -> None:
        """End the thread; what is under way is dropped."""
        self._ends.set()
        self._thread.join()
        for consumer in (self._consumer, *self._readers.values()):
            consumer.close()

    def _run(self) -> None:
        try:
            while not self._ends.is_set():
                self._hear()
                self._try_again()
                self._read()
        except BaseException as error:
            self.results.put(Failed(error))

    def _hear(self) -> None:
        """What is wanted; waits for it while there is nothing to read."""
        while True:
            try:
                verb, want = self._asked.get(block=not self._restores, timeout=0.1)
            except queue.Empty:
                return
            if verb == "forget":
                self._drop((want.partition, want.epoch))
            else:
                self._prepare(want, ours=verb == "finish")

    def _prepare(self, want: Want, *, ours: bool) -> None:
        key = (want.partition, want.epoch)
        if (key in self._restores or self._begin(want, ours=ours)) and ours:
            self._finish(self._restores[key])

    def _try_again(self) -> None:
        """What could not be prepared may be by now: a topic is there, or the code."""
        if self._waiting and time.monotonic() >= self._retry:
            self._retry = time.monotonic() + AGAIN
            for want in tuple(self._waiting.values()):
                self._prepare(want, ours=True)

    def _begin(self, want: Want, *, ours: bool) -> bool:
        """Make the task, and begin to restore it; where that can't be, say so."""
        self._waiting.pop(want.partition, None)
        for key in [key for key in self._restores if key[0] == want.partition]:
            self._drop(key)  # an older try
        try:
            loop = self._library.loop(want.state, want.program)
            replicas = self._replicas_of(loop.program.id, want)
            shared = replicas.tables if replicas is not None else {}
            made = {state.name: states.made(state, shared.get(state.name), self._kept) for state in loop.program.states}
            most = self._outputs.limits(loop.program)
        except SpillwayError as error:
            if ours:
                self._waiting[want.partition] = want
            told = (Waits if ours else Warmed)(want.partition, want.epoch, str(error))
            self.results.put(told)
            return False
        task = Task(loop, made, want.partition.number, want.epoch, self._names, want.width, most)
        found = self._restores[want.partition, want.epoch] = _Restore(want, task, replicas)
        self._assign(found)
        failpoints.reached("restore begun")
        self._progress(found)
        return True

    def _replicas_of(self, program: str, want: Want) -> Replicas | None:
        """The replicas of a program, read to their ends when they are asked for first."""
        loop = self._library.loop(want.state, want.program)
        if program not in self._replicas and any(state.broadcast for state in loop.program.states):
            replicas = Replicas(loop)
            replicas.load(self._access, f"{self._names.prefix}restore")
            self._replicas[program] = replicas
            failpoints.reached("replicas loaded")
        return self._replicas.get(program)

    def _finish(self, found: _Restore) -> None:
        """From here on the end of each changelog has to be seen anew."""
        want, source = found.want, task.source_of(found.task.program)
        if source is not None:  # readers of edges process nothing ahead, because they know positions alone
            where = (found.task.topic, want.partition.number)
            try:
                found.done = commits.ahead(self._reader(want.partition.segment), [where]).get(where, ())
            except KafkaException as error:
                self._drop((want.partition, want.epoch))
                self._waiting[want.partition] = want
                problem = f"nobody tells what of {where[0]!r}, partition {where[1]}, is done: {error.args[0].str()}"
                self.results.put(Waits(want.partition, want.epoch, problem))
                return
        found.wanted, found.missing = True, set(found.next)
        self._unassign(found)
        self._assign(found)
        self._progress(found)

    def _reader(self, segment: str) -> Consumer:
        if segment not in self._readers:
            self._readers[segment] = clients.reader(self._access, self._names.group(segment))
        return self._readers[segment]

    def _read(self) -> None:
        if not self._restores:
            return
        self._make_way()
        by_place = {place: found for found in self._restores.values() for place in found.next}
        for message in clients.arrived(self._consumer, AT_ONCE, LOOK):
            where = (message.topic(), message.partition())
            found = by_place.get(where)
            if found is not None:
                self._take(found, where, message)

    def _make_way(self) -> None:
        """What is only read ahead rests while somebody waits for a partition.

        All of it comes through one queue, and what was fetched ahead of others would have to be loaded first.
        """
        urgent = any(found.wanted for found in self._restores.values())
        for found in self._restores.values():
            (self._unassign if urgent and not found.wanted else self._assign)(found)

    def _take(self, found: _Restore, where: _Place, message: Message) -> None:
        error = message.error()
        if error is None:
            key = message.key()
            if key is not None:
                found.task.load(where[0], key, message.value())
            found.next[where] = (message.offset() or 0) + 1
        elif clients.is_end(error):
            found.next[where] = max(found.next[where], message.offset() or 0)
            if not found.wanted or found.next[where] >= self._end(where):
                found.missing.discard(where)
                self._progress(found)
        elif not error.retriable():
            problem = f"changelog {where[0]}, partition {where[1]}, can't be read: {error.str()}"
            raise GoneError(problem)

    def _end(self, where: _Place) -> int:
        """Where a changelog ends, with what is not committed; the last answer of the broker has it."""
        _, end = self._consumer.get_watermark_offsets(TopicPartition(*where), cached=True)
        return int(end)

    def _progress(self, found: _Restore) -> None:
        """Tell who waits, once all ends were seen."""
        if found.missing:
            return
        want = found.want
        if found.wanted:
            self._drop((want.partition, want.epoch))
            found.task.restored()
            failpoints.reached("restored")
            self.results.put(Finished(want.partition, want.epoch, found.task, found.replicas, found.done))
        elif not found.told:
            found.told = True
            failpoints.reached("restored ahead")
            self.results.put(Warmed(want.partition, want.epoch, ""))

    def _drop(self, key: tuple[Partition, int]) -> None:
        if key[0] in self._waiting and self._waiting[key[0]].epoch == key[1]:
            del self._waiting[key[0]]
        found = self._restores.pop(key, None)
        if found is not None:
            self._unassign(found)

    def _assign(self, found: _Restore) -> None:
        """Read it on from where it is, if it isn't read."""
        if found.read or not found.next:
            return
        found.read = True
        new = {topic for topic, _ in found.next} - self._known
        clients.know(self._consumer, *sorted(new))
        self._known |= new
        self._consumer.incremental_assign([TopicPartition(*place, at) for place, at in found.next.items()])

    def _unassign(self, found: _Restore) -> None:
        if found.read:
            found.read = False
            self._consumer.incremental_unassign([TopicPartition(*place) for place in found.next])
