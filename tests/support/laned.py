"""A slot's lanes over logs in memory: partitions are fed and worked on, die at any moment, and change their owner.

The lanes, what they read with, and the places are the real ones; logs, the clock, and what becomes of a record are
not. Outputs count when they are committed, in one step with the position and the note, as with exactly-once.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from programs import Message
from spillway.controllers import ahead
from spillway.controllers.protocol.values import Partition
from spillway.model.execution import Policy
from spillway.runtime import intake
from spillway.runtime.commits import Position, Snapshot
from spillway.runtime.programs.program import Program
from spillway.runtime.slots import readers
from spillway.runtime.slots.lanes import Lanes
from spillway.runtime.slots.place import Place
from spillway.runtime.task import reads_stream

BOUND = 500.0  # milliseconds
COST = 10.0  # of a record of the stream; a row of an edge costs nothing
STREAM, EDGE = "in", "edge"


class Log:
    """A partition. Some offsets nobody can read, as after the end of a transaction."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.end = 0


class Consumer:
    """Hands out what it was told to: what it has fetched first goes first, as with the real one."""

    def __init__(self, logs: dict[tuple[str, int], Log], dice: random.Random) -> None:
        self._logs, self._dice = logs, dice
        self._at: dict[tuple[str, int], int] = {}
        self._fetched: collections.deque[tuple[tuple[str, int], list[Message]]] = collections.deque()
        self.held: set[tuple[str, int]] = set()
        self.lost: dict[tuple[str, int], str] = {}
        self.weight, self.emptied = 0, True

    def take(self, topic: str, partition: int, offset: int) -> None:
        where = (topic, partition)
        if offset < self._at.get(where, math.inf):
            self._purge(where)
            self._at[where] = offset

    def drop(self, topic: str, partition: int) -> int | None:
        self._purge((topic, partition))
        return self._at.pop((topic, partition), None)

    def reads(self, topic: str, partition: int) -> bool:
        return (topic, partition) in self._at

    def hold(self, wanted: Iterable[tuple[str, int]]) -> None:
        for where in (set(wanted) & self._at.keys()) - self.held:
            self._purge(where)
            self.held.add(where)

    def go_on(self, wanted: Iterable[tuple[str, int]]) -> None:
        self.held -= set(wanted)

    def poll(self, _: float, most: int, __: float) -> dict[tuple[str, int], list[Message]]:
        self._fetch()
        self.emptied = True
        if not self._fetched:
            return {}
        where, waiting = self._fetched[0]
        some, waiting[:most] = waiting[:most], []
        if not waiting:
            self._fetched.popleft()
        self._at[where] = some[-1].offset() + 1
        self.emptied = not self._fetched
        return {where: some}

    def _fetch(self) -> None:
        """Of each partition what is there, and no more until all of it was taken."""
        at_hand = {where for where, _ in self._fetched}
        for where in self._dice.sample(sorted(self._at), len(self._at)):
            if where not in self.held and where not in at_hand:
                log = self._logs[where].messages
                start = bisect.bisect_left(log, self._at[where], key=Message.offset)
                if some := log[start : start + intake.AHEAD]:
                    self._fetched.append((where, some))

    def _purge(self, where: tuple[str, int]) -> None:
        self.held.discard(where)
        self._fetched = collections.deque(one for one in self._fetched if one[0] != where)


class Ends:
    """Nobody asks."""

    def __init__(self, _: None) -> None:
        """Of no broker."""

    def look(self, wanted: Iterable[tuple[str, int]]) -> None:
        """Nothing."""

    def forget(self, where: tuple[str, int]) -> None:
        """Nothing."""


class Task:
    """Notes what it takes."""

    def __init__(self, program: Program, topic: str, partition: int) -> None:
        self.program, self.topic, self.partition = program, topic, partition
        self.next: int | None = None
        self.note = ""
        self.came: list[int] = []

    def take(self, messages: Sequence[Message]) -> None:
        self.came += [message.offset() for message in messages]

    def snapshot(self) -> Snapshot:
        assert self.next is not None
        return Snapshot((), [Position("g", self.topic, self.partition, self.next, self.note)])

    def close(self) -> None:
        """Nothing to end."""


@dataclasses.dataclass
class Stored:
    """What is committed of a partition: where it is, and every output, with its age in bounds."""

    offset: int = 0
    note: str = ""
    outputs: list[tuple[int, float]] = dataclasses.field(default_factory=list)


class Slot:
    """One slot, life after life."""

    def __init__(
        self,
        programs: Sequence[Program],
        policy: Policy,
        partitions: int,
        dice: random.Random,
        patch: pytest.MonkeyPatch,
    ) -> None:
        self.now = 1_000_000.0
        self.dice, self._policy = dice, policy
        self.logs: dict[tuple[str, int], Log] = collections.defaultdict(Log)
        self.stored: dict[Partition, Stored] = collections.defaultdict(Stored)
        self.dropped = 0
        self._programs, self._partitions, self.most = programs, partitions, 3
        self._origins: dict[tuple[tuple[str, int], int], int] = {}  # of rows of edges: when their record came
        patch.setattr(readers, "Intake", lambda *_: Consumer(self.logs, dice))
        patch.setattr(readers, "Ends", Ends)
        self.live()

    def live(self) -> None:
        """Another life begins, with what is committed."""
        self._readers = readers.Readers(None, "g")  # type: ignore[arg-type]
        clock = lambda: self.now / 1000  # noqa: E731 - a clock
        self._lanes = Lanes(self._readers, BOUND, clock, clock)
        self.places: list[Place] = []
        self._made: dict[Partition, list[tuple[int, float]]] = collections.defaultdict(list)
        for program in self._programs:
            for number in range(self._partitions):
                self._get(program, number)

    def obey(self, policy: Policy) -> None:
        """The policy changes while all of it runs."""
        self._policy = policy
        self._lanes.obey(policy, self.places)

    def move(self, place: Place) -> None:
        """A partition goes, and comes back after a while: from another owner, who has done nothing."""
        self._readers.leave(place)
        self.commit(place)
        self.places.remove(place)
        for _ in range(self.dice.choice((0, 5, 30))):
            self.feed(place.partition.number, self.dice.choice((0, 3, 20)))
            self.step()
            self.now += self.dice.choice((0.0, 200.0))
        self._get(place.task.program, place.partition.number)

    def feed(self, number: int, count: int) -> None:
        """So many records come now."""
        log = self.logs[STREAM, number]
        for _ in range(count):
            log.end += self.dice.choice((1, 1, 1, 2))
            log.messages.append(Message(log.end - 1, b"", time=int(self.now)))

    def step(self) -> bool:
        """Once around the loop; whether there was anything."""
        found = self._lanes.poll(0.0, self.most, math.inf)
        for where, some in found.items():
            for place in self._readers.at(where):
                if due := place.unseen(self._lanes.due(place, some)):
                    place.take(due)
                    self.now += COST * len(due) if place.task.topic == STREAM else 0
                    ages = [(self.now - self._came(where, message)) / BOUND for message in due]
                    offsets = [message.offset() for message in due]
                    self._made[place.partition] += zip(offsets, ages, strict=True)
                    self._send(place, due)
        return bool(found)

    def _came(self, where: tuple[str, int], message: Message) -> int:
        return self._origins.get((where, message.offset()), message.time)

    def _send(self, place: Place, messages: list[Message]) -> None:
        """A row of its edge for each."""
        for message in messages if place.task.program.edges else ():
            to = EDGE, message.offset() % self._partitions
            log = self.logs[to]
            self._origins[to, log.end] = self._came(place.where, message)
            log.messages.append(Message(log.end, b"", time=int(self.now)))
            log.end += 1

    def commit(self, *places: Place) -> None:
        """What was done is stored."""
        for place in places or tuple(self.places):
            if (snapshot := place.snapshot()) is None:
                continue
            ((_, _, _, offset, note),) = snapshot.positions
            was = self.stored[place.partition]
            outputs = [*was.outputs, *self._made.pop(place.partition, ())]
            self.stored[place.partition] = Stored(offset, note, outputs)
            self.dropped += place.dropped
            place.dropped = 0

    def finish(self) -> None:
        """Nothing comes any more, and all is worked off."""
        quiet = 0
        while quiet < 20:
            quiet = 0 if self.step() else quiet + 1
            self.now += BOUND / 10
        self.commit()

    def offsets(self, partition: Partition) -> list[int]:
        """Of what came out."""
        return [offset for offset, _ in self.stored[partition].outputs]

    def in_time(self, partitions: Iterable[Partition] = ()) -> int:
        """How many came out within the bound."""
        return sum(age <= 1 for p in partitions or self.stored for _, age in self.stored[p].outputs)

    def _get(self, program: Program, number: int) -> None:
        partition = Partition(program.name, number)
        known = self.stored[partition]
        task: Any = Task(program, STREAM if reads_stream(program) else EDGE, number)
        place = Place(partition, task, None, known.offset, 0.0, ahead.read(known.offset, known.note))
        self.places.append(place)
        self._lanes.obey(self._policy, self.places)
        self._lanes.reads(place)
        self._readers.add(place)
