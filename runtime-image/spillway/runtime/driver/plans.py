"""Plans as they stand in the control log: the first one, those that follow when a spec changes, and other frames. Pure.

Segments stay as they are as long as the operators do: to fuse others would be to move everything. So does one that is
split for batches; `splitting` makes it one again when it comes back.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from spillway.controllers.planning import jobs, planner
from spillway.controllers.planning import plan as planning
from spillway.controllers.planning.problem import Problem, Room, Traits
from spillway.controllers.protocol import messages
from spillway.controllers.topics import Names, Topic
from spillway.model.errors import TerminalError
from spillway.model.operators import Paradigm
from spillway.model.streamjob import StreamJob
from spillway.runtime import task
from spillway.runtime.driver import splitting
from spillway.runtime.programs import cutting
from spillway.runtime.programs.program import Program

# Records per second of each stream that the first plan is made for. It decides on segments alone: frames and sizes are
# chosen anew with the first measurements. All our examples have the same segments from 100/s to 10 000/s.
RATE = 1000.0
# A deadline, or a frame, that differs by less is no reason to write another plan: each stays in the log for a while.
SAME = 1.5


class PlanError(TerminalError):
    """There is no plan for this job."""


def problem(job: StreamJob, counts: Mapping[str, int]) -> Problem:
    """What planning is asked; `counts` are the partitions of the user's topics.

    Everything is pinned to the record paradigm: slots are planned for what they have to do alone, and that a burst is
    worked off in batches is for `switching` to decide.
    """
    spec = job.spec
    asked = jobs.problem(job, {stream.name: RATE for stream in spec.streams})
    pinned = {
        node.name: dataclasses.replace(asked.traits.get(node.name, Traits()), pinned=Paradigm.RECORD, batchable=False)
        for node in asked.flow.nodes
        if node.name not in asked.topics
    }
    known = {name: counts[topic] for name, topic in topics(job).items() if topic in counts}
    sources = {node.name for node in asked.flow.sources}
    return dataclasses.replace(
        asked,
        traits=MappingProxyType(pinned),
        room=Room(asked.room.slots, 0),
        schedule=None,
        partitions=MappingProxyType({name: count for name, count in known.items() if name in sources}),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A plan without its place in the log.

    Attributes:
        plan: as it will be written, but for leader and number.
        programs: what it runs.
        sentence: why it is so.
    """

    plan: messages.Plan
    programs: tuple[Program, ...]
    sentence: str


def made(
    job: StreamJob,
    digests: Mapping[str, str],
    there: Mapping[str, Topic],
    width: int,
    before: messages.Plan | None,
    *,
    apart: bool = False,
) -> Made:
    """The plan of a job, with the segments of the one before if it has the same operators.

    `apart`: each operator is a segment of its own, whatever that costs. `there` are the user's topics, as they are.
    Those that the plan before has read keep their identity, whatever is there now: positions are positions in those.

    Raises:
        PlanError: if there is none.
    """
    counts = {name: topic.partitions for name, topic in there.items()}
    asked = problem(job, counts)
    kept = _kept(job, digests, before)
    if kept is not None and before is not None:
        old = {segment.name: segment for segment in before.segments}
        settings = {name: (one.parallelism, one.frame, one.deadlines) for name, one in old.items()}
        sentence = f"the segments of plan {before.number} stay as they are"
        programs = kept
    elif apart:
        settings, sentence = {}, "each operator is a segment of its own"
        programs = cutting.cut(job.spec, cutting.alone(job.spec), digests)
    else:
        planned = planner.plan(asked)
        if planned.plan is None:
            message = f"there is no plan: {planned.sentence}"
            raise PlanError(message)
        settings = {one.name: _settings(one) for one in planned.plan.segments}
        segments = {one.name: one.operators for one in planned.plan.segments}
        programs, sentence = cutting.cut(job.spec, segments, digests), planned.sentence
    names = Names.of(job)
    identities = {name: topic.identity for name, topic in there.items() if name in inputs(job)}
    identities |= dict(before.topics) if before else {}
    text = job.spec.model_dump_json(by_alias=True, exclude_none=True)
    if len(text) > messages.LONGEST_SPEC:
        message = f"the spec takes {len(text)} characters as JSON, and a plan has room for {messages.LONGEST_SPEC}"
        raise PlanError(message)
    written = messages.Plan(
        0,
        0,
        text,
        width,
        tuple(_segment(program, names, settings, counts, width) for program in programs),
        tuple(sorted(digests.items())),
        tuple(sorted(identities.items())),
    )
    return Made(written if kept is None or before is None else _split_as(before, written), programs, sentence)


def _split_as(before: messages.Plan, plan: messages.Plan) -> messages.Plan:
    """The plan with its segments split as those of the same names were, if they still are what they were cut from."""
    wholes = {one.name: one.whole for one in before.segments}
    marked = tuple(msgspec.structs.replace(one, whole=wholes[one.name]) for one in plan.segments)
    found = msgspec.structs.replace(plan, segments=marked)
    try:
        splitting.whole(found)
    except cutting.CutError:
        return plan  # they stay as they are: segments of their own
    return found


def topics(job: StreamJob) -> dict[str, str]:
    """The user's topics that are read, by stream or table."""
    return {one.name: one.topic for one in job.spec.streams} | {one.name: one.topic for one in job.spec.tables}


def inputs(job: StreamJob) -> set[str]:
    """The user's topics that are read."""
    return set(topics(job).values())


def _kept(job: StreamJob, digests: Mapping[str, str], before: messages.Plan | None) -> tuple[Program, ...] | None:
    """The programs of the job in the segments of a plan; None if they don't fit."""
    if before is None:
        return None
    try:
        found = cutting.cut(job.spec, {one.name: one.operators for one in before.segments}, digests)
    except cutting.CutError:
        return None
    return found if {one.name for one in found} == {one.name for one in before.segments} else None


Settings = tuple[int, int, tuple[tuple[str, float], ...]]


def _settings(segment: planning.Segment) -> Settings:
    return segment.parallelism, segment.frame or 1, tuple(sorted(segment.deadlines.items()))


def _segment(
    program: Program, names: Names, settings: Mapping[str, Settings], counts: Mapping[str, int], width: int
) -> messages.Segment:
    topic = task.input_of(program, names)
    parallelism, frame, deadlines = settings.get(program.name, (1, 1, ()))
    operators = tuple(step.name for step in program.steps)
    head = () if program.name in operators else (program.name,)  # a stream, or a table, that is read into an edge
    return messages.Segment(
        program.name,
        (*head, *operators),
        program.id,
        Paradigm.RECORD,
        counts.get(topic, width),
        parallelism,
        frame,
        deadlines,
    )


def same(one: messages.Plan | None, other: messages.Plan) -> bool:
    """Whether two plans run the same programs on the same partitions of the same topics."""
    return one is not None and _runs(one) == _runs(other) and one.topics == other.topics


def _runs(plan: messages.Plan) -> dict[str, tuple[str, int]]:
    return {segment.name: (segment.program, segment.partitions) for segment in plan.segments}


def retuned(plan: messages.Plan, planned: planning.Plan) -> messages.Plan | None:
    """The plan with frames and deadlines as they were planned by what was measured; None if they are much the same.

    What is split keeps its own until it is whole again: nobody has planned its pieces.
    """
    settings = {segment.name: _settings(segment) for segment in planned.segments}
    changed, segments = False, []
    for segment in plan.segments:
        if segment.whole:
            segments.append(segment)
            continue
        parallelism, frame, deadlines = settings.get(
            segment.name, (segment.parallelism, segment.frame, segment.deadlines)
        )
        changed |= _differ(segment.frame, frame) or _all_differ(dict(segment.deadlines), dict(deadlines))
        segments.append(msgspec.structs.replace(segment, parallelism=parallelism, frame=frame, deadlines=deadlines))
    if not changed:
        return None
    return msgspec.structs.replace(plan, segments=tuple(segments))


def _differ(one: float, other: float) -> bool:
    small, large = sorted((one, other))
    return large > small * SAME and math.isfinite(large)


def _all_differ(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return one.keys() != other.keys() or any(_differ(one[name], other[name]) for name in one)


def numbered(plan: messages.Plan, leader: int, number: int) -> messages.Plan:
    """The plan at its place in the log."""
    return msgspec.structs.replace(plan, leader=leader, number=number)


def readers(programs: Sequence[Program]) -> list[str]:
    """Who reads an edge."""
    return [program.name for program in programs if task.source_of(program) is None]


def tables(programs: Sequence[Program], names: Names, counts: Mapping[str, int], width: int) -> dict[str, int]:
    """Every changelog with its partitions: as many as the input of its program."""
    return {
        name: counts.get(task.input_of(program, names), width)
        for program in programs
        for name in task.tables_of(program)
    }
