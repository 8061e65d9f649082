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
from spillway.runtime.task import Filling, Send, Task

Log = list[tuple[bytes | None, bytes | None]]


@dataclasses.dataclass
class Place:
    """A program's partition: its task, and what a commit has stored."""

    task: Task
    next: int
    committed: int
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
                self.places[name, partition] = Place(self._made(name, partition, 1), 0, 0, 1)

    def run(self, dice: random.Random, *, crashes: float = 0.0, commits: float = 0.3) -> None:
        """Until nothing is left to read; some steps end in a commit, some in a death."""
        while ready := [where for where in self.places if self._busy(where)]:
            where = dice.choice(ready)
            place = self.places[where]
            some = self._messages(place.task.topic, where[1])[place.next :][: dice.choice([1, 2, 5, 50])]
            place.task.take(some)
            place.next += len(some)
            if dice.random() < 0.7:
                self.deliver(sent(place.task, whole=dice.random() < 0.5))
                if dice.random() < commits:
                    self.deliver(sent(place.task, whole=True))
                    self.commit(where)
            if dice.random() < crashes:
                self.crash(where)
        for where, place in self.places.items():
            self.deliver(sent(place.task, whole=True))
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
            place.committed = position.offset

    def crash(self, where: tuple[str, int]) -> None:
        """The task dies, and its heir goes on from the last commit."""
        place = self.places[where]
        name, partition = where
        heir = self._made(name, partition, place.epoch + 1)
        for topic in heir.changelogs:
            for key, value in self.logs.get((topic, partition), []):
                heir.load(topic, key or b"", value)
        heir.restored()
        self.places[where] = Place(heir, place.committed, place.committed, place.epoch + 1)
        self.deliver(heir.markers())

    def deliver(self, sent: Sequence[Send]) -> None:
        """What was sent arrives."""
        for topic, partition, key, value in sent:
            self.logs.setdefault((topic, max(0, partition)), []).append((key, value))

    def _made(self, name: str, partition: int, epoch: int) -> Task:
        loop = self.loops[name]
        tables = {state.name: states.made(state) for state in loop.program.states}
        made = Task(loop, tables, partition, epoch, self.names, self.width)
        made.fill(Filling(4, dict.fromkeys(spec_names(loop), 1e9)))
        return made

    def _messages(self, topic: str, partition: int) -> Sequence[Message]:
        if topic in self.inputs:
            return self.inputs[topic].get(partition, ())
        log = self.logs.get((topic, partition), [])
        return [Message(offset, value, key) for offset, (key, value) in enumerate(log)]

    def _busy(self, where: tuple[str, int]) -> bool:
        place = self.places[where]
        return len(self._messages(place.task.topic, where[1])) > place.next


def sent(task: Task, *, whole: bool) -> list[Send]:
    """All that a task gives, in its order."""
    found = [*task.frames(0.0, whole=whole), *(send for _, sends, _ in task.results() for send in sends)]
    found += task.letters()
    task.looked()
    return found


def spec_names(loop: Loop) -> list[str]:
    """The nodes whose rows go out along edges."""
    return [source for edge in loop.program.edges for source in edge.sources]
