"""One partition in the hands of a slot: its task, and what the loop keeps beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from spillway.controllers.ahead import Ahead, Stretch
from spillway.controllers.protocol.values import Partition
from spillway.runtime.commits import Change, Snapshot
from spillway.runtime.slots.replicas import Replicas
from spillway.runtime.slots.trimming import Read
from spillway.runtime.task import Task

# Seconds after which a position is committed again though it hasn't moved: brokers forget those that nobody renews for
# a week (offsets.retention.minutes).
RENEW = 3600.0


class Made(NamedTuple):
    """Outputs of a turn.

    Attributes:
        segment: that made them.
        output: what they are for.
        records: so many.
        earliest: when the first source record came that they may have been made of, in milliseconds since 1970.
        at: when they were made, too.
    """

    segment: str
    output: str
    records: int
    earliest: int
    at: float


class Place:
    """A partition at work.

    Attributes:
        partition: which.
        task: its program, tables and position.
        replicas: the tables that it shares with others.
        ahead: the position, and what is processed ahead of it.
        head: where fresh messages are read on, of a partition in which late ones are passed over.
        reading: from here on up to the next message that is taken, none is left out.
        skips: whether late messages are passed over: set aside, or left out for good where it `drops` them.
        passing: whether that is going on.
        dropped: messages that were left out for good.
        stored: what is below is committed.
        working: whether it is read; not after it was asked to stop.
        busy: seconds that it has taken.
        took: seconds that it took to get it ready.
        held: outputs that go with the next commit.
        made: what those are, by output.
        problem: why it does not go on; empty if it does.
        bound: messages from here on are not processed; None: all are.
        again: when it is tried again, by the monotonic clock.
    """

    def __init__(
        self,
        partition: Partition,
        task: Task,
        replicas: Replicas | None,
        start: int,
        took: float = 0.0,
        done: Iterable[Stretch] = (),
    ) -> None:
        self.partition, self.task, self.replicas, self.took = partition, task, replicas, took
        self.ahead = Ahead(start, done)
        self.stored = self.reading = start
        self.head = self.ahead.top
        self.skips = self.drops = self.passing = False
        self.dropped = 0
        self.working = True
        self.busy = 0.0
        self.held: list[Change] = []
        self.made: list[Made] = []
        self.problem = ""
        self.bound: int | None = None
        self.again = math.inf
        self.changed = False
        """Whether anything was processed since the last snapshot."""
        self._renewed = time.monotonic()
        self._tell()

    @property
    def next(self) -> int:
        """The offset of the next message to process: all below are, and of those above what is done ahead."""
        return self.ahead.position

    @property
    def gap(self) -> Stretch | None:
        """The first stretch that was set aside."""
        return self.ahead.gap(self.head) if self.skips else None

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
        if self.ahead:
            return [message for message in messages if not self.ahead.has(message.offset())]
        if not messages or messages[0].offset() >= self.next:
            return messages
        return [message for message in messages if message.offset() >= self.next]

    def take(self, messages: list[Any]) -> None:
        """Process messages."""
        began = time.perf_counter()
        self.task.take(messages)
        self.passed(messages[-1].offset() + 1)
        self.busy += time.perf_counter() - began
        if self.bound is None:
            self.problem = ""

    def put_aside(self, message: Any, error: Exception) -> None:
        """Make a dead letter of a message."""
        self.task.put_aside(message, error)
        self.passed(message.offset() + 1)

    def passed(self, upto: int) -> None:
        """All from where it was reading is done, up to there."""
        self.ahead.passed(self.reading, upto)
        self.reading = upto
        self._tell()
        self.changed = True

    def close_gap(self, start: int, stop: int) -> None:
        """Between the last message of a gap and its end there is none, but perhaps the end of a transaction."""
        self.ahead.passed(start, stop)
        self._tell()
        self.changed = True

    def read_from(self, offset: int) -> None:
        """The next messages come from there, all of them."""
        self.reading = offset

    def jump(self, offset: int) -> None:
        """Go on from there: somebody has said so."""
        self.ahead.jump(offset)
        self.head = max(self.head, offset)
        self._tell()
        self.changed = True

    def snapshot(self) -> Snapshot | None:
        """What is to be stored since the last one; None if that is nothing. No row may wait."""
        now = time.monotonic()
        if not self.changed and now < self._renewed + RENEW:
            return None
        self.changed, self._renewed = False, now
        self.task.note = self.ahead.note()
        found = self.task.snapshot()
        held, self.held = self.held, []
        return Snapshot([*held, *found.changes], found.positions)

    def hold(self, made: Made, changes: Iterable[Change]) -> None:
        """Outputs that go with the next commit."""
        self.held += changes
        self.made.append(made)

    def given(self) -> list[Made]:
        """What the snapshot has that was just taken."""
        made, self.made = self.made, []
        return made

    def read(self) -> Read:
        """What may be trimmed once the snapshot that was just taken is stored."""
        return Read(*self.where, self.next, dict(self.task.seen))

    def _tell(self) -> None:
        self.task.next = self.next

    def close(self) -> None:
        """Somebody else has it now, or will."""
        self.working = False
        self.task.close()
