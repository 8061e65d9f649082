"""A driver that does nothing but what it is told: slots for partitions, by the real protocol on a real broker.

No telemetry, no sizing: who is silent is said by the test.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence

from spillway.controllers import topics
from spillway.controllers.protocol import effects, knowledge, leader, messages, rules
from spillway.controllers.protocol.knowledge import Leader, Target
from spillway.controllers.protocol.values import Owner, Partition
from spillway.controllers.topics import Names, Topic
from spillway.model.operators import Paradigm
from spillway.model.streamjob import StreamJob
from spillway.runtime import admin, clients, commits, control, functions, task
from spillway.runtime.clients import Access
from spillway.runtime.control import ControlLog
from spillway.runtime.emitter import Emitter
from spillway.runtime.programs import cutting
from spillway.runtime.programs.program import Program


def programs(job: StreamJob, segments: Mapping[str, Sequence[str]], code: object = None) -> tuple[Program, ...]:
    """The programs of a job, with the digests of its functions."""
    references = sorted({o.python.function for o in job.spec.operators if o.python is not None})
    digests = {name: functions.load(name, code).digest for name in references}  # type: ignore[arg-type]
    return cutting.cut(job.spec, segments, digests)


class SmallDriver:
    """Leads as soon as it is made."""

    keep = rules.ALL

    def __init__(self, access: Access, job: StreamJob, made: Sequence[Program], frame: int = 1) -> None:
        self.access, self.job, self.names = access, job, Names.of(job)
        self.programs = {program.name: program for program in made}
        self.frame = frame
        self._make_topics()
        self._log = ControlLog(access, self.names)
        self._emitter = Emitter(access)
        self.me = Leader(f"driver.{uuid.uuid4().hex[:8]}", limit=100, log=self._log.restored())
        self.me, asked = leader.lead(self.me)
        self._carry_out(asked)
        self.until(lambda: self.me.leads)
        self._plan()

    def _make_topics(self) -> None:
        client = clients.admin(self.access)
        there = admin.present(client, topics.of_user(self.job))
        self.partitions = {
            name: topics.width(self.job)
            if task.source_of(program) is None
            else there[task.input_of(program, self.names)].partitions
            for name, program in self.programs.items()
        }
        readers, _ = task.topics_of(self.programs.values())
        tables = {
            table: self.partitions[program.name]
            for program in self.programs.values()
            for table in task.tables_of(program)
        }
        wanted = topics.needed(self.job, readers, tables)
        present = admin.present(client, [topic.name for topic in wanted])
        admin.create(client, [topic for topic in wanted if topic.name not in present])

    def _plan(self) -> None:
        segments = tuple(
            messages.Segment(
                name,
                tuple(step.name for step in program.steps) or (name,),
                program.id,
                Paradigm.RECORD,
                self.partitions[name],
                1,
                self.frame,
                tuple((source, 0.01) for edge in program.edges for source in edge.sources),
            )
            for name, program in self.programs.items()
        )
        digests = tuple(sorted({pair for program in self.programs.values() for pair in program.digests}))
        number = self.me.log.plan.number + 1 if self.me.log.plan else 1
        spec = self.job.spec.model_dump_json(by_alias=True, exclude_none=True)
        plan = messages.Plan(self.me.asked, number, spec, topics.width(self.job), segments, digests)
        self._carry_out((effects.Append(plan),))

    @property
    def places(self) -> list[Partition]:
        """All partitions."""
        return [Partition(name, n) for name, count in self.partitions.items() for n in range(count)]

    def want(self, *slots: str) -> None:
        """Spread everything over these slots; over none, everything comes to rest."""
        targets = {
            place: Target(slots[i % len(slots)] if slots else None, self.programs[place.segment].id)
            for i, place in enumerate(self.places)
        }
        self.aim(targets)

    def aim(self, targets: Mapping[Partition, Target]) -> None:
        """Have these partitions there."""
        self.me = knowledge.want(self.me, targets)
        self.step()

    def change(self, made: Sequence[Program], job: StreamJob) -> None:
        """Another plan, of the same segments with other programs; it is for `aim` to say who runs them."""
        self.job, self.programs = job, {program.name: program for program in made}
        self._plan()

    def silent(self, owner: Owner) -> None:
        """Nobody has heard of an owner for too long."""
        self.me = knowledge.silent(self.me, owner)

    def step(self, seconds: float = 0.0) -> None:
        """Hear what there is, and do what is due."""
        for _, message in self._log.read(seconds):
            self.me, _ = knowledge.read(self.me, message)
        self.me, asked = leader.due(self.me, self.keep)
        self._carry_out(asked)
        self._emitter.serve()

    def until(self, done: Callable[[], bool], seconds: float = 30.0) -> None:
        """Go on until something is so."""
        deadline = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < deadline, self.me.log.holdings
            self.step(0.02)

    def settled(self) -> bool:
        """Whether everything is where it is wanted."""
        holdings = self.me.log.holdings
        for place, target in self.me.wanted.items():
            holding = holdings.get(place)
            if holding is None:
                return False
            owner = self.me.log.owner(place)
            if target.slot is None:
                if owner is not None:
                    return False
            elif owner is None or self.me.lost(owner) or (owner.slot, holding.program) != target or holding.move:
                return False
        return True

    def _carry_out(self, asked: Sequence[effects.Any]) -> None:
        for effect in asked:
            match effect:
                case effects.Append(message):
                    self._emitter.send(*control.record(self.names, message))
                case effects.Fence(owner):
                    commits.fence(self.access, commits.identity(self.names.prefix, *owner))
                    self.me = knowledge.fenced(self.me, owner)
                case effects.ReadCommitted(place):
                    self.me = knowledge.committed(self.me, place, self._committed(place))
        if any(not isinstance(effect, effects.Append) for effect in asked):
            self.me, more = leader.due(self.me, self.keep)
            self._carry_out(more)

    def _committed(self, place: Partition) -> int:
        topic = task.input_of(self.programs[place.segment], self.names)
        reader = clients.reader(self.access, self.names.group(place.segment))
        found = commits.committed(reader, [(topic, place.number)]).get((topic, place.number))
        reader.close()
        holding = self.me.log.holdings.get(place)
        return max(found or 0, holding.start if holding else 0)


def topic(name: str, partitions: int) -> Topic:
    """A topic of the user."""
    return Topic(name, partitions)
