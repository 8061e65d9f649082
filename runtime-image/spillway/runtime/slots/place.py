"""One partition in the hands of a slot: its task, and what the loop keeps beside it."""

from __future__ import annotations

import math
import time
from typing import Any

from spillway.controllers.protocol.values import Partition
from spillway.runtime.commits import Change, Snapshot
from spillway.runtime.slots.replicas import Replicas
from spillway.runtime.slots.trimming import Read
from spillway.runtime.task import Task

# Seconds after which a position is committed again though it hasn't moved: brokers forget those that nobody renews for
# a week (offsets.retention.minutes).
RENEW = 3600.0


class Place:
    """A partition at work.

    Attributes:
        partition: which.
        task: its program, tables and position.
        replicas: the tables that it shares with others.
        next: the offset of the next message to process.
        stored: what is below is committed.
        working: whether it is read; not after it was asked to stop.
        busy: seconds that it has taken.
        took: seconds that it took to get it ready.
        held: outputs that go with the next commit.
        problem: why it does not go on; empty if it does.
        bound: messages from here on are not processed; None: all are.
        again: when it is tried again, by the monotonic clock.
    """

    def __init__(
        self, partition: Partition, task: Task, replicas: Replicas | None, start: int, took: float = 0.0
    ) -> None:
        self.partition, self.task, self.replicas, self.took = partition, task, replicas, took
        self.next = self.stored = start
        self.working = True
        self.busy = 0.0
        self.held: list[Change] = []
        self.problem = ""
        self.bound: int | None = None
        self.again = math.inf
        self._taken = start  # up to where the last snapshot goes
        self._renewed = time.monotonic()
        task.next = start

    @property
    def where(self) -> tuple[str, int]:
        """The topic and partition that it reads."""
        return self.task.topic, self.partition.number

    def unseen(self, messages: list[Any]) -> list[Any]:
        """Those of some messages that are to be processed now.

        Others here may read the same topic from further back, or beyond what it halts at.
        """
        if self.bound is not None:
            messages = [message for message in messages if message.offset() < self.bound]
        if not messages or messages[0].offset() >= self.next:
            return messages
        return [message for message in messages if message.offset() >= self.next]

    def take(self, messages: list[Any]) -> None:
        """Process messages."""
        began = time.perf_counter()
        self.task.take(messages)
        self.next = messages[-1].offset() + 1
        self.busy += time.perf_counter() - began
        if self.bound is None:
            self.problem = ""

    def put_aside(self, message: Any, error: Exception) -> None:
        """Make a dead letter of a message."""
        self.task.put_aside(message, error)
        self.next = message.offset() + 1

    def jump(self, offset: int) -> None:
        """Go on from there: somebody has said so."""
        self.next = self.task.next = offset

    def snapshot(self) -> Snapshot | None:
        """What is to be stored since the last one; None if that is nothing. No row may wait."""
        now = time.monotonic()
        if self.next == self._taken and now < self._renewed + RENEW:
            return None
        self._taken, self._renewed = self.next, now
        found = self.task.snapshot()
        held, self.held = self.held, []
        return Snapshot([*held, *found.changes], found.positions)

    def read(self) -> Read:
        """What may be trimmed once the snapshot that was just taken is stored."""
        return Read(*self.where, self.next, dict(self.task.seen))

    def close(self) -> None:
        """Somebody else has it now, or will."""
        self.working = False
        self.task.close()
