"""The topics of a job, looked at again and again: ours are made and set right, those of the user are watched.

A topic of the user that is missing, or was deleted and made anew, stops those who read or write it. Its identity is
kept in the plan, beside the positions that belong to it, so that another driver notices it too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from confluent_kafka.admin import AdminClient

from spillway.controllers import topics
from spillway.controllers.protocol import messages
from spillway.controllers.topics import Judgement, Names, Topic
from spillway.model.observation import Condition
from spillway.model.streamjob import StreamJob
from spillway.runtime import admin, task
from spillway.runtime.driver import plans
from spillway.runtime.driver.conditions import Kind, Reason, condition
from spillway.runtime.driver.hands import Hands
from spillway.runtime.programs.program import Program

EVERY = 5.0  # seconds between two looks; each is two requests


@dataclasses.dataclass(frozen=True, slots=True)
class Supply:
    """What one look has found.

    Attributes:
        judgement: what is the matter, and what was done about it.
        present: all topics that are there.
        bad: topics of the user that are missing, or that were made anew.
        problem: why nobody could look the last time; what was found before that holds.
        looked: whether anybody has looked at all.
    """

    judgement: Judgement
    present: Mapping[str, Topic] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    bad: frozenset[str] = frozenset()
    problem: str = ""
    looked: bool = True

    @property
    def condition(self) -> Condition:
        """As it is told."""
        reasons = {
            topics.Reason.MISSING: Reason.TOPIC_MISSING,
            topics.Reason.MADE_ANEW: Reason.TOPIC_MADE_ANEW,
            topics.Reason.UNFIT: Reason.TOPIC_UNFIT,
        }
        judged = self.judgement
        if not self.looked or self.problem:
            return condition(Kind.TOPICS, self.looked and not judged.wrong, Reason.LOOKING, self.problem)
        if not judged.wrong:
            return condition(Kind.TOPICS, True, Reason.COMPLETE)
        return condition(Kind.TOPICS, False, reasons.get(judged.reason, Reason.TOPIC_UNFIT), judged.sentence)

    def stops(self, program: Program) -> bool:
        """Whether a program reads or writes a topic that is bad."""
        read = {port.source.topic for port in program.ports if port.source is not None}
        return not self.bad.isdisjoint(read | {output.topic for output in program.outputs})


def known(plan: messages.Plan | None, before: Mapping[str, Topic]) -> dict[str, Topic]:
    """The topics as they were: by the plan, and by what was looked at since; the first identity is the right one."""
    of_plan = {name: Topic(name, 0, identity=identity) for name, identity in plan.topics} if plan else {}
    found = dict(before)
    for name, topic in of_plan.items():
        partitions = before[name].partitions if name in before else 0
        found[name] = dataclasses.replace(topic, partitions=partitions)
    return found


def look(
    client: AdminClient,
    job: StreamJob,
    programs: Sequence[Program],
    width: int,
    before: Mapping[str, Topic],
) -> Supply:
    """Look at all topics, make and set right those of the job; raises TopicError if nobody answers."""
    names, of_user = Names.of(job), topics.of_user(job)
    there = admin.present(client, of_user)
    counts = {name: topic.partitions for name, topic in there.items()}
    readers, tables = plans.readers(programs), plans.tables(programs, names, counts, width)
    # How many partitions a changelog needs is not known before the topic is there that its program reads.
    unknown = {
        names.state(name)
        for program in programs
        if (topic := task.input_of(program, names)) in of_user and topic not in there
        for name in task.tables_of(program)
    }
    wanted = [topic for topic in topics.needed(job, readers, tables, width) if topic.name not in unknown]
    there |= admin.present(client, [topic.name for topic in wanted])
    small = [
        topic
        for topic in wanted
        if topic.name in there
        and topic.name.startswith(names.state(""))
        and there[topic.name].partitions < topic.partitions
    ]
    admin.grow(client, small)
    there |= {topic.name: dataclasses.replace(there[topic.name], partitions=topic.partitions) for topic in small}
    judged = topics.judge(wanted, of_user, there, {name: topic for name, topic in before.items() if name in of_user})
    admin.create(client, judged.create)
    admin.change(client, judged.change)
    if judged.create:
        there |= admin.present(client, [topic.name for topic in judged.create])
    anew = {name for name, was in before.items() if name in there and there[name].identity != was.identity}
    return Supply(judged, MappingProxyType(there), frozenset({*of_user} - there.keys() | anew & of_user.keys()))


class Supplies:
    """Looks at the topics now and then, beside the loop."""

    def __init__(self, client: AdminClient, hands: Hands) -> None:
        self._client, self._hands = client, hands
        self.found = Supply(Judgement(topics.Reason.CREATE, "topics were not looked at yet"), looked=False)
        self.before: dict[str, Topic] = {}
        """The topics as they were when the job began with them."""
        self._looking, self._next = False, 0.0

    def planned(self, plan: messages.Plan | None) -> None:
        """This plan holds: its positions are positions in the topics that it names."""
        self.before = known(plan, self.before)

    def look(self, job: StreamJob, programs: Sequence[Program], width: int, now: float) -> bool:
        """Look again, if it is time; whether it was. What goes wrong is told as what the topics are like."""
        if self._looking or now < self._next:
            return False
        self._looking, self._next = True, now + EVERY
        before = dict(self.before)
        self._hands.do(lambda: look(self._client, job, programs, width, before), self._told, self._failed)
        return True

    def has(self, edges: Collection[str]) -> bool:
        """Whether these are there, as far as is known; if not, the next look is due at once."""
        there = self.found.present.keys() >= set(edges)
        if not there:
            self._next = 0.0
        return there

    def grown(self, plan: messages.Plan, programs: Mapping[str, Program]) -> bool:
        """Whether a topic that is read has more partitions than the plan knows of."""
        present = self.found.present
        for segment in plan.segments:
            port = task.source_of(programs[segment.name]) if segment.name in programs else None
            topic = present.get(port.source.topic) if port is not None and port.source is not None else None
            if topic is not None and topic.partitions > segment.partitions and topic.name not in self.found.bad:
                return True
        return False

    def _told(self, found: Supply) -> None:
        self._looking, self.found = False, found
        for name, topic in found.present.items():
            was = self.before.get(name)
            identity = was.identity if was else topic.identity
            self.before[name] = dataclasses.replace(topic, identity=identity)

    def _failed(self, error: Exception) -> None:
        self._looking = False
        self.found = dataclasses.replace(self.found, problem=str(error))
