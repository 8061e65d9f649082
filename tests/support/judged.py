"""Examples run in memory on generated inputs, and what the verifier says of them."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import programs
from programs import EXAMPLES, Job
from spillway.bench import inputs
from spillway.bench.verifier import judging
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.relations import Assumptions
from spillway.bench.verifier.verdict import Verdict
from spillway.model.streamjob import Spec
from spillway.runtime.programs import cutting

Topics = dict[str, list[Record]]

# In memory, tables flow to their end before any stream does; so all that they hold is known to every join.
TABLES_FIRST = Assumptions(lead=judging.TABLES_FIRST)


def sources(sent: Iterable[inputs.Message]) -> Topics:
    """What was sent, as it stands in topics."""
    found: Topics = collections.defaultdict(list)
    next_offset: collections.Counter[tuple[str, int]] = collections.Counter()
    for message in sent:
        where = (message.topic, message.partition)
        record = Record(message.partition, next_offset[where], message.key, message.value, message.time)
        next_offset[where] += 1
        found[message.topic].append(record)
    return dict(found)


def cuts(spec: Spec) -> list[dict[str, tuple[str, ...]]]:
    """Ways to cut a topology."""
    return [cutting.alone(spec), programs.together(spec), programs.together(spec, sources=True)]


def ran(spec: Spec, topics: Mapping[str, Sequence[Record]], cut: int = 0, code: Any = EXAMPLES) -> Job:
    """A job in memory that has read all of this, tables first."""
    job = Job(spec, cuts(spec)[cut], programs.loaded(spec, code), partitions=3, dice=programs.seeded(cut))
    tables = {table.name for table in spec.tables}
    job.programs = tuple(sorted(job.programs, key=lambda program: program.name not in tables))
    return job.run({topic: by_partition(records) for topic, records in topics.items()})


def by_partition(records: Sequence[Record]) -> dict[int, list[programs.Message]]:
    """The messages of a topic as a job in memory takes them."""
    found: dict[int, list[programs.Message]] = collections.defaultdict(list)
    for record in records:
        found[record.partition].append(programs.Message(record.offset, record.value, record.key, record.time))
    return dict(sorted(found.items()))


def written(job: Job, spec: Spec, partitions: int = 2) -> Topics:
    """The outputs of a job, as they stand in topics: by key in partitions."""
    found: Topics = {}
    for output in spec.outputs:
        records: list[Record] = []
        for number, (key, value) in enumerate(job.outputs[output.name]):
            partition = 0 if key is None else sum(key) % partitions
            records.append(Record(partition, number, key, value, inputs.START * 2))
        found[output.topic] = records
    return found


def judged(
    spec: Spec, read: Topics, wrote: Topics, assumed: Assumptions = TABLES_FIRST, code: Any = EXAMPLES
) -> Verdict:
    """The verdict."""
    return judging.judge(spec, read, wrote, assumed, code)
