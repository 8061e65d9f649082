"""The topics of a job: which it needs, with which settings, and what to do about what is there.

Per job, under the prefix `<namespace>.<job>.`:

    control               who leads, who owns what, intents, releases     1 partition: its order is the authority
    telemetry             what slots measured                             soon deleted
    edge.<reader>         frames for one segment                          kept until it has read them; then deleted
    state.<operator>      changelog of a table                            compacted
    decisions             what was decided, and why
    dead                  records that could not be processed             kept until somebody has seen to them

Source and output topics are the user's: they are looked at, and never changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Self

from spillway.controllers import explain
from spillway.controllers.explain import Reasons
from spillway.model.streamjob import StreamJob

MINUTE, DAY = 60_000, 86_400_000  # milliseconds
MIB = 1024 * 1024

# Of an edge, for each slot that the job may have: with fewer than two, a slot more or less can't be evened out; with
# many, each frame is emptier, and each partition costs a file, a buffer and a commit. It never changes: a key has its
# place by it.
EACH_SLOT = 2
LEAST = 8
# What Kafka takes by default is 1 MiB; a frame is cut before that, but one record may be a megabyte by itself.
LARGEST_FRAME = 8 * MIB
# Deleting and compacting take whole segments. Smaller: more open files. Larger: a changelog of a small table is read
# a hundred times over at a restore, because nothing of it is ever compacted.
SEGMENT = 64 * MIB

_LOG = {"cleanup.policy": "delete", "segment.bytes": str(SEGMENT), "max.message.bytes": str(LARGEST_FRAME)}
_FOR_EVER = {**_LOG, "retention.ms": "-1", "retention.bytes": "-1"}


@dataclasses.dataclass(frozen=True, slots=True)
class Topic:
    """A topic that is needed, or one that is there.

    `identity` is what Kafka calls it by: another one after it was deleted and made anew, under the same name. A client
    does not notice that, and would go on at an offset that now belongs to another record.
    """

    name: str
    partitions: int
    settings: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    identity: str = ""


class Reason(Reasons):
    """What is the matter with the topics of a job."""

    COMPLETE = "Complete", "Every topic is there, as it is needed."
    CREATE = "Create", "Topics of the job are missing or set otherwise; they are created or set right."
    MISSING = "Missing", "A topic of the user is missing, and is not ours to create."
    MADE_ANEW = "MadeAnew", "A topic was deleted and made anew: positions in it mean nothing any more."
    UNFIT = "Unfit", "A topic of the job is there, but not as the job needs it, and can't be changed."
    GREW = "Grew", "A topic of the user has more partitions than before; their records are read from now on."


@dataclasses.dataclass(frozen=True, slots=True)
class Judgement:
    """The decision: what to create and what to set right; with `wrong`, nothing can start."""

    reason: Reason
    sentence: str
    create: tuple[Topic, ...] = ()
    change: tuple[Topic, ...] = ()
    wrong: tuple[str, ...] = ()
    grew: tuple[str, ...] = ()
    inputs: explain.Inputs = ()
    alternatives: tuple[explain.Alternative, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """What the topics of a job are called: all begin with `prefix`."""

    prefix: str

    @classmethod
    def of(cls, job: StreamJob) -> Self:
        """Those of a job, by its namespace and name."""
        return cls(f"{job.metadata.namespace}.{job.metadata.name}.")

    def edge(self, reader: str) -> str:
        """The frames for a segment."""
        return f"{self.prefix}edge.{reader}"

    def state(self, operator: str) -> str:
        """The changelog of a table."""
        return f"{self.prefix}state.{operator}"

    def group(self, segment: str) -> str:
        """The consumer group that has the committed positions of a segment, so that ordinary tools show its lag."""
        return f"{self.prefix}{segment}"

    @property
    def control(self) -> str:
        """The control log."""
        return f"{self.prefix}control"

    @property
    def telemetry(self) -> str:
        """What slots measured."""
        return f"{self.prefix}telemetry"

    @property
    def decisions(self) -> str:
        """What was decided."""
        return f"{self.prefix}decisions"

    @property
    def dead(self) -> str:
        """Dead letters."""
        return f"{self.prefix}dead"


def width(job: StreamJob) -> int:
    """How many partitions each edge of the job has, and with it each table."""
    workers = job.spec.execution.workers
    return max(LEAST, EACH_SLOT * workers.max * workers.slots)


def needed(
    job: StreamJob, readers: Iterable[str], tables: Mapping[str, int], partitions: int | None = None
) -> tuple[Topic, ...]:
    """The topics of the job itself: an edge for each segment that reads others, a changelog for each table.

    `tables` has the partitions of each: as many as the input has that its operator reads. `partitions` are those of
    edges, where they are there already: `width` if nothing is said.
    """
    names = Names.of(job)
    partitions = width(job) if partitions is None else partitions
    compacted = {
        "cleanup.policy": "compact",
        "segment.bytes": str(SEGMENT),
        "max.message.bytes": str(LARGEST_FRAME),
        # A deleted row is told to readers that restore for so long; none takes a day.
        "delete.retention.ms": str(DAY),
        # At half (the default), restoring a table reads up to twice its size; this cleans sooner, for some disk work.
        "min.cleanable.dirty.ratio": "0.2",
    }
    found = [
        Topic(names.control, 1, _FOR_EVER),
        Topic(names.telemetry, 1, {**_LOG, "retention.ms": str(10 * MINUTE)}),
        Topic(names.decisions, 1, {**_LOG, "retention.ms": str(7 * DAY)}),
        Topic(names.dead, 1, _FOR_EVER),
        *(Topic(names.edge(reader), partitions, _FOR_EVER) for reader in sorted(set(readers))),
        *(Topic(names.state(name), count, compacted) for name, count in sorted(tables.items())),
    ]
    return tuple(found)


def of_user(job: StreamJob) -> dict[str, str]:
    """The user's topics, and what each is to the job."""
    spec = job.spec
    found = {stream.topic: f"stream {stream.name!r}" for stream in spec.streams}
    found |= {table.topic: f"table {table.name!r}" for table in spec.tables}
    found |= {output.topic: f"output {output.name!r}" for output in spec.outputs}
    return found


def judge(
    wanted: Collection[Topic],
    of_user: Mapping[str, str],
    present: Mapping[str, Topic],
    before: Mapping[str, Topic] = MappingProxyType({}),
) -> Judgement:
    """What to do about what is there; `before` are topics as they were when last looked at, the user's and ours."""
    missing = tuple(topic for topic in wanted if topic.name not in present)
    absent = [
        f"topic {name!r} of {what} does not exist; create it" for name, what in of_user.items() if name not in present
    ]
    unfit, change = [], []
    for topic in wanted:
        there = present.get(topic.name)
        if there is None:
            continue
        if there.partitions != topic.partitions:
            unfit.append(
                f"topic {topic.name!r} has {there.partitions} partitions and the job needs {topic.partitions}, by which"
                " keys have their places; set workers.max and workers.slots as before, or delete the job's topics"
            )
        if different := {name: to for name, to in topic.settings.items() if there.settings.get(name) != to}:
            change.append(Topic(topic.name, there.partitions, different))
    grew, anew = [], []
    for name, was in before.items():
        now = present.get(name)
        if now is None:
            continue
        if now.identity != was.identity or now.partitions < was.partitions:
            anew.append(f"topic {name!r} was deleted and made anew: positions in it mean nothing any more")
        elif now.partitions > was.partitions and name in of_user:
            grew.append(f"topic {name!r} has {now.partitions} partitions, {was.partitions} before")
    wrong = (*absent, *anew, *unfit)
    cases = (
        (absent, Reason.MISSING),
        (anew, Reason.MADE_ANEW),
        (unfit, Reason.UNFIT),
        (grew, Reason.GREW),
        (missing or change, Reason.CREATE),
    )
    reason = next((reason for case, reason in cases if case), Reason.COMPLETE)
    names = ", ".join(topic.name for topic in missing)
    told = "; ".join(wrong) or "; ".join(grew) or (f"to create: {names}" if names else "every topic is there")
    inputs = (("needed", f"{len(wanted)}"), ("of the user", f"{len(of_user)}"), ("there", f"{len(present)}"))
    return Judgement(reason, told, missing, tuple(change), wrong, tuple(grew), inputs)
