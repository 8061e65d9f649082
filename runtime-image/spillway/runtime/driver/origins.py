"""What the batch engine knows of who writes to the edges that it reads: as its changelogs have it, and its own commits.

A slot restores that into its task and keeps it there. Tasks of Spark keep nothing, so it is kept here, by partition,
and handed to each range that is worked on; what a range has changed of it is stored in one transaction with the
position, and only then taken in. So a range that is worked on again gets what was stored before it, whoever does it.

    warm(...)     somebody else has the partition: read ahead what it has committed; `ahead` tells once that is done
    begin(...)    it is ours: read the rest; `of` has it from then on
    stored(...)   what has changed was committed

A thread reads. Where a changelog ends is the same question as in slots, with the same answer (`slots.preparing`).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from spillway.controllers.protocol.reader import Seen
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.model.errors import RetryError
from spillway.runtime import clients, task
from spillway.runtime.clients import Access
from spillway.runtime.commits import Change

AT_ONCE = 1000
LOOK = 0.005  # seconds between two looks at what is asked for: they are added to the pause of a move

Rows = dict[bytes, bytes]


class Ahead(NamedTuple):
    """What was committed of a partition is read, while somebody else has it."""

    partition: Partition
    epoch: int


class Asked(NamedTuple):
    """What is wanted of a partition, for a try to move it or under an epoch: `warm`, `begin` or `forget`."""

    verb: str
    partition: Partition
    epoch: int


class Restored(NamedTuple):
    """All that was ever committed of a partition."""

    partition: Partition
    epoch: int
    rows: Rows


class Reader(Protocol):
    """Who reads changelogs."""

    results: queue.SimpleQueue[Ahead | Restored | BaseException]

    def ask(self, asked: Asked) -> None:
        """Do that; what comes of it is in `results`."""

    def close(self) -> None:
        """Do nothing more."""


class _Restore:
    """A partition on its way."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.next = OFFSET_BEGINNING
        self.rows: Rows = {}
        self.ours = self.told = False

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """One row; tables have others in the same changelog, should the segment have kept some before."""
        if key is None or not key.startswith(task.ORIGINS):
            return
        if value is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = value


class Origins:
    """Of all partitions of one engine. The driver's loop calls it."""

    def __init__(self, reader: Reader) -> None:
        self._known: dict[Partition, tuple[int, Rows]] = {}
        self._beginning: dict[Partition, int] = {}
        self._reader = reader

    def warm(self, partition: Partition, epoch: int) -> None:
        """Read ahead, for a try to move it here."""
        self._reader.ask(Asked("warm", partition, epoch))

    def begin(self, partition: Partition, epoch: int) -> None:
        """It is ours under this epoch. What is known under it already stays: nobody else has had it meanwhile."""
        if not self.has(partition, epoch) and self._beginning.get(partition) != epoch:
            self._known.pop(partition, None)
            self._beginning[partition] = epoch
            self._reader.ask(Asked("begin", partition, epoch))

    def forget(self, partition: Partition, epoch: int) -> None:
        """A try to move it here is over."""
        self._reader.ask(Asked("forget", partition, epoch))

    def drop(self, partition: Partition) -> None:
        """Somebody else has it now."""
        self._known.pop(partition, None)
        if (epoch := self._beginning.pop(partition, None)) is not None:
            self.forget(partition, epoch)

    def ahead(self) -> list[Ahead]:
        """Take in what was read; which tries to move here are prepared. Raises what can't be read."""
        found = []
        while not self._reader.results.empty():
            match self._reader.results.get():
                case Ahead() as told:
                    found.append(told)
                case Restored(partition, epoch, rows):
                    if self._beginning.get(partition) == epoch:
                        del self._beginning[partition]
                        self._known[partition] = epoch, rows
                case BaseException() as error:
                    raise error
        return found

    def has(self, partition: Partition, epoch: int) -> bool:
        """Whether all that is stored of a partition that is ours was read."""
        known = self._known.get(partition)
        return known is not None and known[0] == epoch

    def of(self, partition: Partition) -> tuple[tuple[bytes, bytes], ...]:
        """What is stored of a partition, once that was read; of one that reads no edge there is nothing."""
        known = self._known.get(partition)
        return tuple(known[1].items()) if known is not None else ()

    def seen(self, partition: Partition) -> Mapping[Partition, Seen]:
        """How far each writer had come when that was stored."""
        known = self._known.get(partition)
        return task.seen_in(known[1]) if known is not None else {}

    def stored(self, segment: str, changes: Iterable[Change]) -> None:
        """Changes that were committed."""
        for change in changes:
            known = self._known.get(Partition(segment, change.partition))
            if known is not None and change.key is not None and change.value is not None:
                known[1][change.key] = change.value

    def close(self) -> None:
        """End the thread."""
        self._reader.close()


class Changelogs:
    """The thread that reads them."""

    def __init__(self, access: Access, names: Names) -> None:
        self._access, self._names = access, names
        self._asked: queue.SimpleQueue[Asked] = queue.SimpleQueue()
        self.results: queue.SimpleQueue[Ahead | Restored | BaseException] = queue.SimpleQueue()
        self._restores: dict[Partition, _Restore] = {}
        self._places: dict[tuple[str, int], Partition] = {}
        self._topics: set[str] = set()
        self._ends = threading.Event()
        threading.Thread(target=self._run, name="origins", daemon=True).start()

    def ask(self, asked: Asked) -> None:
        """Read one, or no more."""
        self._asked.put(asked)

    def close(self) -> None:
        """End the thread."""
        self._ends.set()

    def _run(self) -> None:
        consumer = clients.restorer(self._access, f"{self._names.prefix}batch")
        try:
            while not self._ends.is_set():
                self._hear(consumer)
                if self._restores:
                    for message in clients.arrived(consumer, AT_ONCE, LOOK):
                        self._take(consumer, message)
        except BaseException as error:
            self.results.put(error)
        finally:
            consumer.close()

    def _hear(self, consumer: Consumer) -> None:
        """What is asked for; waits for it while there is nothing to read."""
        while True:
            try:
                verb, partition, epoch = self._asked.get(block=not self._restores, timeout=0.1)
            except queue.Empty:
                return
            found = self._restores.get(partition)
            if verb == "forget":
                if found is not None and found.epoch == epoch:
                    self._end(consumer, partition)
                continue
            if found is not None and found.epoch != epoch:
                self._end(consumer, partition)  # an older try
                found = None
            if found is None:
                found = self._restores[partition] = _Restore(epoch)
            else:
                self._unassign(consumer, partition)  # from here on the end has to be seen anew
            found.ours = verb == "begin"
            self._assign(consumer, partition)

    def _take(self, consumer: Consumer, message: Message) -> None:
        topic, number = message.topic() or "", message.partition() or 0
        partition = self._places.get((topic, number))
        found = self._restores.get(partition) if partition is not None else None
        if partition is None or found is None:
            return
        error = message.error()
        if error is None:
            found.take(message.key(), message.value())
            found.next = (message.offset() or 0) + 1
        elif clients.is_end(error):
            found.next = max(found.next, message.offset() or 0)
            self._ended(consumer, partition, found)
        elif not error.retriable():
            problem = f"changelog {topic}, partition {number}, can't be read: {error.str()}"
            raise RetryError(problem)

    def _ended(self, consumer: Consumer, partition: Partition, found: _Restore) -> None:
        """Nothing that is committed follows; where it is ours, nothing else may follow either."""
        if not found.ours:
            if not found.told:
                found.told = True
                self.results.put(Ahead(partition, found.epoch))
            return
        _, end = consumer.get_watermark_offsets(self._at(partition, found.next), cached=True)
        if found.next >= end:
            self._end(consumer, partition)
            self.results.put(Restored(partition, found.epoch, found.rows))

    def _at(self, partition: Partition, offset: int) -> TopicPartition:
        return TopicPartition(self._names.state(partition.segment), partition.number, offset)

    def _assign(self, consumer: Consumer, partition: Partition) -> None:
        at = self._at(partition, self._restores[partition].next)
        if at.topic not in self._topics:
            clients.know(consumer, at.topic)
            self._topics.add(at.topic)
        self._places[at.topic, at.partition] = partition
        consumer.incremental_assign([at])

    def _unassign(self, consumer: Consumer, partition: Partition) -> None:
        consumer.incremental_unassign([self._at(partition, OFFSET_BEGINNING)])

    def _end(self, consumer: Consumer, partition: Partition) -> None:
        self._unassign(consumer, partition)
        del self._restores[partition]
