"""Commits beside the loop: snapshots in their order, each once all that was sent before it has arrived.

The loop adds snapshots, and asks now and then what is stored. One snapshot is stored at a time. A snapshot takes what
changed out of the tables, so none may be left out: if one comes to nothing, the life of the slot is over.
"""

from __future__ import annotations

import collections
import queue
import threading
from typing import NamedTuple

from spillway.controllers.protocol.values import Partition
from spillway.runtime.commits import Committer, Snapshot
from spillway.runtime.emitter import Mark
from spillway.runtime.slots.place import Made
from spillway.runtime.slots.trimming import Read


class Step(NamedTuple):
    """A snapshot, and the positions that it has.

    Attributes:
        snapshot: what is to be stored.
        mark: what has to arrive before.
        positions: of each partition in it.
        reads: what of the edges it has, if that is to be told once it is stored.
        made: the outputs that are in it.
    """

    snapshot: Snapshot
    mark: Mark
    positions: tuple[tuple[Partition, int], ...]
    reads: list[Read]
    made: list[Made]


class Storing:
    """The snapshots that wait, and the thread that stores them."""

    def __init__(self, committer: Committer) -> None:
        self._committer = committer
        self._waiting: collections.deque[Step] = collections.deque()
        self._given: queue.SimpleQueue[Snapshot | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._busy: Step | None = None
        self._thread = threading.Thread(target=self._run, name="commit", daemon=True)
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Whether everything that was added is stored."""
        return self._busy is None and not self._waiting

    @property
    def waits(self) -> bool:
        """Whether a snapshot has not even begun to be stored."""
        return bool(self._waiting)

    def has(self, partition: Partition) -> bool:
        """Whether something of a partition is not stored yet."""
        steps = self._waiting if self._busy is None else (self._busy, *self._waiting)
        return any(partition == place for step in steps for place, _ in step.positions)

    def add(self, step: Step) -> None:
        """Store this after all others."""
        self._waiting.append(step)

    def stored(self) -> Step | None:
        """What has been stored since the last call; raises what went wrong."""
        if self._busy is None or self._done.empty():
            return None
        error, step, self._busy = self._done.get(), self._busy, None
        if error is not None:
            raise error
        return step

    def arrived(self) -> Step | None:
        """The next snapshot, if all that was sent before it has arrived; it is being stored from now on."""
        if self._busy is not None or not self._waiting or not self._waiting[0].mark.done:
            return None
        self._busy = self._waiting.popleft()
        self._given.put(self._busy.snapshot)
        return self._busy

    def close(self) -> None:
        """End the thread, once it has stored what it is at."""
        self._given.put(None)

    def _run(self) -> None:
        while (snapshot := self._given.get()) is not None:
            try:
                self._committer.commit(snapshot)
            except BaseException as error:
                self._done.put(error)
                return
            self._done.put(None)
