"""A slot at work: tasks on partitions of real topics, committed beside the loop.

The loop reads like this: poll, work, send; and when the last commit is done and `EVERY` has passed, take a snapshot. A
thread waits until everything that was sent before it has arrived, and commits it. Nothing in the loop waits for a
commit, and what was emitted is on its way at once. Only the loop hears acknowledgements, so that marks need no locks.

Who owns what is told from outside (`own`); a slot decides nothing.
"""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from spillway.controllers.topics import Names
from spillway.runtime import clients, commits
from spillway.runtime.clients import Access
from spillway.runtime.commits import Committer, Snapshot
from spillway.runtime.emitter import Emitter, Mark
from spillway.runtime.intake import Intake
from spillway.runtime.programs import states
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.task import Send, Task

# Seconds from one commit to the next. What is repeated after a crash is what came since; each commit costs some
# milliseconds of a broker, and the encoding of what changed in the loop.
EVERY = 0.5
# Messages that are taken at once. More: each waits for all others in the batch. Fewer: a call for each few.
AT_ONCE = 500
PATIENCE = 30.0


class Slot:
    """One life of a slot. Ends with `GoneError` when it was fenced, or nobody knows what became of a commit."""

    def __init__(self, access: Access, names: Names, width: int, group: str, identity: str) -> None:
        """`identity` is the transactional id of this life; to use it fences who had it before."""
        self._access, self._names, self._width, self._group = access, names, width, group
        self._committer = Committer(access, identity, group)
        self._emitter = Emitter(access)
        self._intake = Intake(access, group)
        self._tasks: dict[tuple[str, int], Task] = {}
        self._readers: dict[tuple[str, int], list[Task]] = {}
        self._commit: threading.Thread | None = None
        self._failed: BaseException | None = None
        self._due = time.monotonic() + EVERY

    def own(self, loop: Loop, partition: int, epoch: int, *, takeover: bool) -> None:
        """Work on a partition from the last commit on, with its tables as they were then."""
        made = {state.name: states.made(state) for state in loop.program.states}
        task = Task(loop, made, partition, epoch, self._names, self._width)
        reader = clients.reader(self._access, self._group)
        self._restore(task, reader)
        positions = self._positions(task, reader)
        reader.close()
        self._tasks[loop.program.name, partition] = task
        for topic, offset in positions.items():
            self._readers.setdefault((topic, partition), []).append(task)
            self._intake.take(topic, partition, offset)
        if takeover:
            self._send(task.markers())

    def step(self, seconds: float) -> int:
        """Once around the loop; how many messages it took."""
        found = self._intake.poll(seconds, AT_ONCE)
        by_place: dict[tuple[str, int], list[Any]] = collections.defaultdict(list)
        for message in found:
            by_place[message.topic() or "", message.partition() or 0].append(message)
        worked: dict[int, Task] = {}
        for (topic, partition), messages in by_place.items():
            for task in self._readers[topic, partition]:
                task.take(topic, messages)
                worked[id(task)] = task
        for task in worked.values():
            self._send(task.flush())
        self._emitter.serve()
        self._commit_if_due()
        return len(found)

    def drain(self, seconds: float) -> None:
        """Commit everything that was taken; for an orderly end."""
        self._wait(seconds)
        self._due = 0.0
        self._commit_if_due()
        self._wait(seconds)

    def close(self) -> None:
        """Read nothing any more."""
        self._intake.close()

    def _send(self, sends: Iterable[Send]) -> None:
        for send in sends:
            self._emitter.send(send.topic, send.partition, send.key, send.value)

    def _commit_if_due(self) -> None:
        if self._failed is not None:
            raise self._failed
        if (self._commit is not None and self._commit.is_alive()) or time.monotonic() < self._due:
            return
        snapshots = [task.snapshot() for task in self._tasks.values()]
        whole = Snapshot(
            [change for snapshot in snapshots for change in snapshot.changes],
            [position for snapshot in snapshots for position in snapshot.positions],
        )
        self._due = time.monotonic() + EVERY
        self._commit = threading.Thread(target=self._store, args=(whole, self._emitter.mark()), daemon=True)
        self._commit.start()

    def _store(self, snapshot: Snapshot, mark: Mark) -> None:
        """In a thread of its own: once what was sent has arrived, the snapshot is stored."""
        try:
            while not mark.done:
                time.sleep(0.002)
            self._committer.commit(snapshot)
        except BaseException as error:
            self._failed = error

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._commit is not None and self._commit.is_alive() and time.monotonic() < deadline:
            self._emitter.serve(0.01)
        if self._failed is not None:
            raise self._failed

    @staticmethod
    def _restore(task: Task, reader: Consumer) -> None:
        """Read the changelogs of a partition from their beginning to their end."""
        for topic in task.changelogs:
            at = TopicPartition(topic, task.partition, 0)
            low, high = reader.get_watermark_offsets(at, timeout=PATIENCE) or (0, 0)
            at.offset = low
            reader.assign([at])
            while low < high and reader.position([at])[0].offset < high:
                for message in reader.consume(1000, 0.2):
                    error, key = message.error(), message.key()
                    if error is not None:
                        problem = f"{topic}/{task.partition} can't be restored: {error.str()}"
                        raise commits.GoneError(problem)
                    if key is not None:
                        task.load(topic, key, message.value())
        task.restored()

    @staticmethod
    def _positions(task: Task, reader: Consumer) -> Mapping[str, int]:
        """Where to go on: after the last commit, else at the beginning."""
        known = commits.committed(reader, [(topic, task.partition) for topic in task.inputs])
        found = {}
        for topic in task.inputs:
            ends = reader.get_watermark_offsets(TopicPartition(topic, task.partition), timeout=PATIENCE)
            found[topic] = known.get((topic, task.partition), ends[0] if ends else 0)
        return found
