"""Partitions that can't go on, while all others do: where they halt, and what lets them go on.

A partition halts where its position is lost, because its topic was trimmed past it or deleted, and where
`policy.onError: fail` meets a bad record. It stays with its slot, which reports the `problem`, and is given away like
any other; who gets it, halts there too. Nothing is skipped before somebody says so:

- A position that is committed beyond the one where it halted was set by a person, with any tool for consumer groups.
  The partition goes on there. Positions only go forwards, because readers skip what they have had before.
- A bad record is tried again every `AGAIN`, because what its function asks may be back. A program that was corrected is
  another program, and begins with the record anyhow.

The effects of a bad record, and of what came with it, are gone with the task that took it: none of it is sent, because
letters are looked at first. The partition is restored as it was committed last, and processes everything again up to
that record, with the same epoch and positions, so that readers of edges skip what they have. Until all that was on its
way to be stored has been, it waits.
"""

from __future__ import annotations

import functools
import logging
import math
import time
from typing import TYPE_CHECKING, NamedTuple

from spillway.controllers.protocol import owner
from spillway.controllers.protocol.values import Partition
from spillway.runtime import task
from spillway.runtime.commits import GoneError
from spillway.runtime.programs.running import Letter
from spillway.runtime.slots.lookout import Lookout, Moved, Replaced, Stand
from spillway.runtime.slots.place import Place

if TYPE_CHECKING:
    from spillway.runtime.slots.life import Life

# Seconds after which a bad record is tried again. Each try restores the tables of the partition; shorter would keep a
# slot with large ones busy with that.
AGAIN = 30.0
# Characters of what an error says that are told of a record which halts its partition; a letter would have them all.
MOST_SAID = 500

logger = logging.getLogger(__name__)


class Undone(NamedTuple):
    """What a partition did since its last commit is undone, because it has met a bad record.

    Attributes:
        epoch: under which it was, and is restored.
        upto: the offset of the record's message.
        problem: what is wrong with it, and the way out.
        asked: whether the partition is being restored.
    """

    epoch: int
    upto: int
    problem: str
    asked: bool = False


class Halts:
    """Of one life of a slot."""

    def __init__(self, life: Life, lookout: Lookout) -> None:
        self._life, self._lookout = life, lookout
        self._halted: dict[Partition, Place] = {}
        self._undone: dict[Partition, Undone] = {}

    def reads(self, place: Place) -> None:
        """A partition is read from now on."""
        if task.source_of(place.task.program) is not None:
            plan = self._life.state.plan
            known = dict(plan.topics) if plan is not None else {}
            self._lookout.follow(place.task.topic, known.get(place.task.topic, ""))
        if place.bound is not None and place.next >= place.bound:
            self.halt(place, place.problem)

    def look(self) -> None:
        """Once around the loop."""
        for where, why in self._life.readers.lost().items():
            self._lose(where, why)
        while not self._lookout.results.empty():
            match self._lookout.results.get():
                case Replaced(topic, why):
                    for where in self._life.readers.all():
                        if where[0] == topic:
                            self._lose(where, f"topic {topic!r} {why}")
                case Moved(partition, offset):
                    self._moved(partition, offset)
        now = time.monotonic()
        for place in tuple(self._halted.values()):
            work = self._life.machine.works.get(place.partition)
            if place.again <= now and work is not None and work.processes:
                self._life.go_on(place)
        if self._undone:
            self._redo()

    def halt(self, place: Place, problem: str) -> None:
        """It goes on when somebody says where, or when it is tried again; what it has done is stored."""
        logger.error("%s: %s halts at %d: %s", self._life.me, place.partition, place.next, problem)
        place.problem = problem
        place.again = math.inf if place.bound is None else time.monotonic() + AGAIN
        self._life.told(place.partition, functools.partial(owner.processed, position=place.next, me=self._life.me))
        self._life.pause(place)
        self._halted[place.partition] = place
        self._lookout.watch(Stand(place.partition, place.task.topic, place.next))

    def released(self, place: Place) -> None:
        """It goes on, or is gone."""
        if self._halted.pop(place.partition, None) is not None:
            self._lookout.leave(place.partition)

    def undo(self, place: Place, bad: Letter) -> None:
        """A bad record halts its partition: whatever came of it, and of those around it, is forgotten."""
        at = f"topic {place.task.topic!r}, partition {place.partition.number}, offset {bad.offset}"
        problem = (
            f"{bad.operator!r} could not process the record at {at}: {bad.error[:MOST_SAID]}. As policy.onError is"
            f" fail, nothing goes past it. It is tried again every {AGAIN:.0f} s; to leave it out, commit offset"
            f" {bad.offset + 1} in consumer group {self._group(place)!r}"
        )
        self._undone[place.partition] = Undone(place.task.epoch, bad.offset, problem)

    def restored(self, place: Place) -> None:
        """A task is there again, or for the first time: it halts where it did before."""
        undone = self._undone.pop(place.partition, None)
        if undone is not None and undone.epoch == place.task.epoch:
            place.bound, place.problem = undone.upto, undone.problem

    def _lose(self, where: tuple[str, int], why: str) -> None:
        """A position is not there any more: who reads there halts."""
        if self._life.readers.follows(where):
            problem = f"a table can't be followed: {why}"
            raise GoneError(problem)  # the next life reads it from its beginning
        for place in self._life.readers.at(where):
            way_out = f"To go on elsewhere, commit a later offset in consumer group {self._group(place)!r}"
            self.halt(place, f"{why}. {way_out}")

    def _moved(self, partition: Partition, offset: int) -> None:
        """Somebody has said where to go on."""
        place = self._halted.get(partition)
        if place is not None and offset > place.next:
            logger.warning("%s: %s goes on at %d instead of %d", self._life.me, partition, offset, place.next)
            self._lookout.accept(place.task.topic)
            place.jump(offset)
            place.again = 0.0

    def _redo(self) -> None:
        """Once all is stored that was on its way, a partition is restored to that, and goes on up to the record."""
        for partition, undone in tuple(self._undone.items()):
            work = self._life.machine.works.get(partition)
            if work is None or work.epoch != undone.epoch:
                del self._undone[partition]
            elif not undone.asked and not self._life.stores(partition):
                step = functools.partial(owner.processed, position=work.committed, me=self._life.me)
                self._life.told(partition, step)
                if not self._life.machine.works[partition].processes:
                    del self._undone[partition]  # it was asked to release, and has done so there
                    continue
                self._undone[partition] = undone._replace(asked=True)
                self._life.restore(partition)

    def _group(self, place: Place) -> str:
        return self._life.names.group(place.partition.segment)
