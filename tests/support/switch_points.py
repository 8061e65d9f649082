"""A job on logs in memory (`lone_job`) whose partitions go from record by record to batches and back at given offsets.

By the rules of the protocol, as in `ranged`: who hands a partition over has flushed and committed, and has passed what
a dead predecessor may have sent; a dead driver's intent is run again with its very ranges, by an engine that puts its
markers first, and knows nothing but what is stored. Between two switches an engine has several intents under one epoch,
or a slot many commits.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import lone_job
from lone_job import LoneJob, Place
from programs import Message
from ranged import RangedJob, worked
from spillway.controllers.protocol.values import Partition
from spillway.model.operators import Paradigm
from spillway.model.streamjob import Spec
from spillway.runtime import task
from spillway.runtime.batch.ranges import Range
from spillway.runtime.functions import Function
from spillway.runtime.programs.program import Program
from spillway.runtime.slots.replicas import Replicas
from spillway.runtime.task import Filling, Task

Where = tuple[str, int]
MOST = 4  # switches of a partition
OFTEN = 40  # messages, of which each may be a switch: more than a partition of these jobs has, as a rule


class Points:
    """In which paradigm a partition is worked on, by offset."""

    def __init__(self, first: Paradigm, offsets: Sequence[int] = ()) -> None:
        self.first, self.offsets = first, sorted(set(offsets))

    def at(self, offset: int) -> tuple[Paradigm, int | None]:
        """The paradigm there, and where the next one begins, if there is one."""
        passed = sum(point <= offset for point in self.offsets)
        other = Paradigm.BATCH if self.first is Paradigm.RECORD else Paradigm.RECORD
        return (other if passed % 2 else self.first), next((p for p in self.offsets if p > offset), None)


RECORD, BATCH = Points(Paradigm.RECORD), Points(Paradigm.BATCH)


def thrown(dice: random.Random) -> Points:
    """Any."""
    count = dice.randint(1, MOST)
    first = dice.choice([Paradigm.RECORD, Paradigm.BATCH])
    return Points(first, [dice.randrange(1, OFTEN) for _ in range(count)])


# Crashes of a run, of slots and of intents: what one of them repeats is read again by all behind it, so that a job in
# which half of all steps fail takes hours, and shows nothing that forty would not.
MOST = 40


class SwitchingJob(RangedJob):
    """Each partition of what can run in batches has points of its own, at which it is switched.

    Attributes:
        switches: how many moves from one paradigm to the other there were.
    """

    def __init__(
        self,
        spec: Spec,
        segments: Mapping[str, Sequence[str]],
        inputs: Mapping[str, Mapping[int, Sequence[Message]]],
        points: Points | random.Random,
        *,
        functions: Mapping[str, Function] | None = None,
    ) -> None:
        """`points` of all partitions, or dice that throw them for each."""
        self._tables: dict[str, Replicas] = {}
        super().__init__(spec, segments, inputs, functions=functions)
        self._points = {where: thrown(points) if isinstance(points, random.Random) else points for where in self.places}
        self._with = dict.fromkeys(self.places, Paradigm.RECORD)
        self.switches = self.crashed = 0

    def run(self, dice: random.Random, *, crashes: float = 0.0, commits: float = 0.3) -> None:
        """Until nothing is left to read."""
        while waiting := [where for where in self.places if self._busy(where)]:
            if self.crashed + self.again >= MOST:
                crashes = 0.0
            for where in dice.sample(waiting, min(3, len(waiting))):
                self._go_on(where, dice, crashes, commits)
        LoneJob.run(self, dice, crashes=crashes, commits=commits)

    def crash(self, where: Where) -> None:
        """Counted: see `MOST`."""
        self.crashed += 1
        super().crash(where)

    def can(self, program: Program) -> bool:
        """Whether a program can run in batches."""
        return all(state.broadcast for state in program.states)

    def _made(self, name: str, partition: int, epoch: int) -> Task:
        """With the tables that every owner has whole."""
        program = self.loops[name].program
        if not any(state.broadcast for state in program.states):
            return super()._made(name, partition, epoch)
        made = Task(self.loops[name], self._replicas(name).states(), partition, epoch, self.names, self.width)
        made.fill(Filling(4, dict.fromkeys(lone_job.spec_names(self.loops[name]), 1e9)))
        return made

    def _replicas(self, name: str) -> Replicas:
        if name not in self._tables:
            found = self._tables[name] = Replicas(self.loops[name])
            ports = [port for port in self.loops[name].program.ports if port.broadcast and port.source is not None]
            for topic in {port.source.topic for port in ports if port.source is not None}:
                for partition, messages in self.inputs.get(topic, {}).items():
                    found.take(topic, partition, list(messages))
        return self._tables[name]

    def _go_on(self, where: Where, dice: random.Random, crashes: float, commits: float) -> None:
        place = self.places[where]
        wanted, until = self._points[where].at(place.next)
        if not self.can(place.task.program):
            wanted, until = Paradigm.RECORD, None
        if wanted is not self._with[where]:
            if place.next < self._barriers.get(where, 0):
                until = min(until or place.next, self._barriers[where])  # first it passes what the dead have sent
            else:
                self._switch(where, wanted)
        log = self._messages(place.task.topic, where[1])
        end = len(log) if until is None else max(place.next + 1, min(until, len(log)))
        if self._with[where] is Paradigm.BATCH:
            self._intent(where, log, end, dice, crashes)
        else:
            self._some(where, log, end, dice, crashes, commits)

    def _switch(self, where: Where, to: Paradigm) -> None:
        """All that was processed is sent and committed; the heir has the next epoch."""
        place = self.places[where]
        self.deliver(lone_job.sent(place.task, whole=True))
        self.commit(where)
        at, epoch = self.cut(place.next, to), place.epoch + 1
        self._with[where] = to
        self.switches += 1
        if to is Paradigm.BATCH:
            self._have(where, at, epoch)
        else:
            self.origins.drop(Partition(*where))
            heir = self._made(*where, epoch)
            for topic in heir.changelogs:
                for key, value in self.logs.get((topic, where[1]), []):
                    heir.load(topic, key or b"", value)
            heir.restored()
            self.places[where] = Place(heir, at, at, epoch)

    def _have(self, where: Where, at: int, epoch: int) -> None:
        """The engine has a partition, from there on."""
        self.places[where] = Place(self._made(*where, epoch), at, at, epoch)
        self.origins.begin(Partition(*where), epoch)
        self.origins.ahead()

    def _follow(self) -> None:
        """Another driver takes over all that the engine has."""
        self.origins = self._driver()
        for where, paradigm in self._with.items():
            if paradigm is Paradigm.BATCH:
                place = self.places[where]
                self._have(where, place.next, place.epoch + 1)
                self.deliver(self.places[where].task.markers())

    def cut(self, position: int, to: Paradigm) -> int:
        """Where the heir begins: for those who want it wrong."""
        return position

    def _some(
        self, where: Where, log: Sequence[Message], end: int, dice: random.Random, crashes: float, commits: float
    ) -> None:
        place = self.places[where]
        some = log[place.next : min(end, place.next + dice.choice([1, 2, 5, 50]))]
        place.task.take(some)
        place.next += len(some)
        self.deliver(lone_job.sent(place.task, whole=dice.random() < 0.5))
        if dice.random() < commits:
            self.deliver(lone_job.sent(place.task, whole=True))
            self.commit(where)
        if dice.random() < crashes:
            self.crash(where)

    def _intent(self, where: Where, log: Sequence[Message], end: int, dice: random.Random, crashes: float) -> None:
        """One intent, from its proposal until it is committed, by however many drivers."""
        name, partition = where
        start = self.places[where].next
        stop = min(end, start + dice.choice([1, 3, 10, 100]))
        order = self.order(name, combine=start >= self._barriers.get(where, 0) and dice.random() < 0.6)
        replicas = self._replicas(name) if order.program.states else None
        is_edge = task.source_of(order.program) is None
        while True:
            epoch = self.places[where].epoch
            given = Range(partition, start, stop, epoch, self.origins.of(Partition(*where)) if is_edge else ())
            sends, result = worked(order, self.loops[name], given, log, dice, replicas)
            self.batches += 1
            self.edges += is_edge
            if dice.random() >= crashes:
                break
            self.again += 1
            # Of what a dead one sent, a prefix arrives. Spark tries again as the same owner, or another driver does.
            arrived = dice.randrange(len(sends) + 1)
            self.deliver(sends[:arrived])
            if dice.random() < 0.5:
                self._follow()
                self._late(sends[arrived:])
        self.deliver(sends)
        for change in result.changes:
            self.logs.setdefault((change.topic, change.partition), []).append((change.key, change.value))
        self.origins.stored(name, result.changes)
        self.places[where] = Place(self.places[where].task, stop, stop, epoch)
