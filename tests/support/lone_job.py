"""A job on logs in memory: tasks that take some messages, commit now and then, and die at any moment.

Everything that is sent arrives at once and in order, and a commit is one step; what may go wrong beside that is the
matter of the protocol's own explorer, and of the tests on a real broker.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence

from programs import Message
from spillway.controllers.topics import Names
from spillway.model.streamjob import Spec
from spillway.runtime.functions import Function
from spillway.runtime.programs import cutting, states
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.task import Send, Task

Log = list[tuple[bytes | None, bytes | None]]


@dataclasses.dataclass
class Place:
    """A program's partition: its task, and what a commit has stored."""

    task: Task
    next: dict[str, int]
    committed: dict[str, int]
    epoch: int


class LoneJob:
    """All tasks of a job in one process."""

    def __init__(
        self,
        spec: Spec,
        segments: Mapping[str, Sequence[str]],
        inputs: Mapping[str, Mapping[int, Sequence[Message]]],
        *,
        width: int = 3,
        functions: Mapping[str, Function] | None = None,
    ) -> None:
        known = functions or {}
        programs = cutting.cut(spec, segments, {name: found.digest for name, found in known.items()})
        self.loops = {program.name: Loop(program, known) for program in programs}
        self.names, self.width, self.inputs = Names("test.job."), width, inputs
        self.logs: dict[tuple[str, int], Log] = {}
        self.places: dict[tuple[str, int], Place] = {}
        for name, loop in self.loops.items():
            asked = {port.source.topic for port in loop.program.ports if port.source is not None}
            partitions = max([width, *(len(inputs.get(topic, {})) for topic in asked)])
            for partition in range(partitions):
                self.places[name, partition] = Place(self._made(name, partition, 1), {}, {}, 1)

    def run(self, dice: random.Random, *, crashes: float = 0.0, commits: float = 0.3) -> None:
        """Until nothing is left to read; some steps end in a commit, some in a death."""
        while ready := [where for where in self.places if self._busy(where)]:
            where = dice.choice(ready)
            place = self.places[where]
            topic = dice.choice([topic for topic in place.task.inputs if self._left(where, topic)])
            at = place.next.get(topic, 0)
            some = self._messages(topic, where[1])[at : at + dice.choice([1, 2, 5, 50])]
            place.task.take(topic, some)
            place.next[topic] = at + len(some)
            if dice.random() < 0.7:
                self.deliver(place.task.flush())
                if dice.random() < commits:
                    self.commit(where)
            if dice.random() < crashes:
                self.crash(where)
        for where, place in self.places.items():
            self.deliver(place.task.flush())
            self.commit(where)
        if any(self._busy(where) for where in self.places):
            self.run(dice, crashes=crashes, commits=commits)

    def commit(self, where: tuple[str, int]) -> None:
        """Rows and positions, in one step."""
        place = self.places[where]
        snapshot = place.task.snapshot()
        for change in snapshot.changes:
            self.logs.setdefault((change.topic, change.partition), []).append((change.key, change.value))
        for position in snapshot.positions:
            place.committed[position.topic] = position.offset

    def crash(self, where: tuple[str, int]) -> None:
        """The task dies, and its heir goes on from the last commit."""
        place = self.places[where]
        name, partition = where
        heir = self._made(name, partition, place.epoch + 1)
        for topic in heir.changelogs:
            for key, value in self.logs.get((topic, partition), []):
                heir.load(topic, key or b"", value)
        heir.restored()
        self.places[where] = Place(heir, dict(place.committed), place.committed, place.epoch + 1)
        self.deliver(heir.markers())

    def deliver(self, sent: Sequence[Send]) -> None:
        """What was sent arrives."""
        for topic, partition, key, value in sent:
            self.logs.setdefault((topic, max(0, partition)), []).append((key, value))

    def _made(self, name: str, partition: int, epoch: int) -> Task:
        loop = self.loops[name]
        tables = {state.name: states.made(state) for state in loop.program.states}
        return Task(loop, tables, partition, epoch, self.names, self.width)

    def _messages(self, topic: str, partition: int) -> Sequence[Message]:
        if topic in self.inputs:
            return self.inputs[topic].get(partition, ())
        log = self.logs.get((topic, partition), [])
        return [Message(offset, value, key) for offset, (key, value) in enumerate(log)]

    def _busy(self, where: tuple[str, int]) -> bool:
        return any(self._left(where, topic) for topic in self.places[where].task.inputs)

    def _left(self, where: tuple[str, int], topic: str) -> bool:
        return len(self._messages(topic, where[1])) > self.places[where].next.get(topic, 0)
