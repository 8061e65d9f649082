"""The jobs that are measured in both paradigms, and what flows through them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

from spillway.bench.record import events, logs, systems
from spillway.bench.record import jobs as record_jobs
from spillway.controllers import topics
from spillway.model import kafka
from spillway.model.streamjob import StreamJob
from spillway.runtime import admin, clients, task
from spillway.runtime.batch import combining
from spillway.runtime.batch.ranges import Order
from spillway.runtime.clients import Access
from spillway.runtime.programs import cutting
from spillway.runtime.programs.program import Program

_WORDS = """
streams:
  - {name: lines, topic: in, format: raw, columns: "line string"}
operators:
  - {name: words, input: lines, explode: {array: "split(line, ' ')", as: word, keep: []}}
  - {name: counts, input: words, aggregate: {by: [word], values: ["count(*) as n"]}}
outputs:
  - {name: result, input: counts, topic: out}
"""

_GREP = """
streams:
  - {name: lines, topic: in, format: raw, columns: "line string"}
operators:
  - {name: matches, input: lines, filter: "line like '%ing%'"}
outputs:
  - {name: result, input: matches, topic: out}
"""

# The Yahoo benchmark without its join: a batch has no tables.
_VIEWS = """
streams:
  - name: events
    topic: in
    columns: >-
      user_id string, page_id string, ad_id string, ad_type string, event_type string, event_time timestamp,
      ip_address string
    timestamp: event_time
operators:
  - {name: views, input: events, filter: "event_type = 'view'"}
  - {name: fields, input: views, select: [ad_id, event_time]}
  - name: counts
    input: fields
    aggregate: {by: [ad_id], window: {size: 10s}, values: ["count(*) as n"]}
    retention: 1h
outputs:
  - {name: result, input: counts, topic: out}
"""
# Nothing that batches could do better: a Python function for each record, whose result nobody adds up.
_OPAQUE = """
streams:
  - {name: lines, topic: in, format: raw, columns: "line string"}
operators:
  - {name: scored, input: lines, python: {function: "opaque:score", as: map, returns: "score bigint"}}
outputs:
  - {name: result, input: scored, topic: out}
"""
# Events in a millisecond of event time: a burst of a hundred thousand a second.
EACH_MS = 100
PADDING = ' "padding": "'  # of an ad event, to make it as large as wanted: a column that the job doesn't have


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A job and its load.

    Attributes:
        name: for people.
        job: streams, operators and outputs, and how they are cut.
        head: the segment that runs in either paradigm.
        reader: the segment behind it, which merges; empty if there is none.
        size: of a record, in bytes, about.
        count: records that are measured.
    """

    name: str
    job: record_jobs.Case
    head: str
    reader: str
    size: int
    count: int

    def values(self) -> Iterator[bytes]:
        """The records, without an end."""
        if self.head == "views":
            return self._ads()
        return self._lines()

    def _lines(self) -> Iterator[bytes]:
        """Lines of words by Zipf's law, put together or cut to the wanted size."""
        texts = events.texts()
        for text in texts:
            line = text
            while len(line) < self.size:
                line += " " + next(texts)
            yield line[: self.size].rpartition(" ")[0].encode() or line[: self.size].encode()

    def _ads(self) -> Iterator[bytes]:
        for number, event in enumerate(events.ads()):
            value = event.at(events.START_MS + number // EACH_MS)
            rest = self.size - len(value) - len(PADDING) - 2
            yield value if rest <= 0 else value[:-1] + b"," + PADDING.encode() + b"x" * rest + b'"}'


def _words(size: int, count: int) -> Case:
    cut = {"words": ("words",), "counts": ("counts",)}
    return Case(f"word count, {size} bytes", record_jobs.Case(_WORDS, "", cut), "words", "counts", size, count)


def _grep(size: int, count: int) -> Case:
    cut = {"matches": ("matches",)}
    return Case(f"grep, {size} bytes", record_jobs.Case(_GREP, "", cut), "matches", "", size, count)


def _views(size: int, count: int) -> Case:
    cut = {"views": ("views", "fields"), "counts": ("counts",)}
    return Case(f"ad views, {size} bytes", record_jobs.Case(_VIEWS, "", cut), "views", "counts", size, count)


def opaque() -> Case:
    """A job on which batches don't win."""
    return Case(
        "opaque function, 100 bytes", record_jobs.Case(_OPAQUE, "", {"scored": ("scored",)}), "scored", "", 100, 20_000
    )


def cases(share: float = 1.0) -> list[Case]:
    """All of them; of each, so many records as take about two seconds record by record, times a share."""

    def some(count: int) -> int:
        return max(2_000, int(count * share))

    return [
        _words(20, some(200_000)),
        _words(100, some(60_000)),
        _words(1000, some(8_000)),
        _grep(20, some(500_000)),
        _grep(100, some(400_000)),
        _grep(1000, some(100_000)),
        _views(250, some(250_000)),
        _views(1000, some(150_000)),
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """A case on a broker, with topics of its own. Small enough for other processes.

    Attributes:
        case: what is run.
        bootstrap: the address of the broker.
        job: the accepted job.
        source: the topic with its records.
    """

    case: Case
    bootstrap: str
    job: StreamJob
    source: str

    @property
    def access(self) -> Access:
        """How to reach the broker."""
        return Access(kafka.Kafka(bootstrap_servers=(self.bootstrap,)))

    @property
    def names(self) -> topics.Names:
        """Of the topics of the job."""
        return topics.Names.of(self.job)

    @property
    def width(self) -> int:
        """Partitions of each edge."""
        return topics.width(self.job)

    def programs(self) -> dict[str, Program]:
        """By their segments."""
        return {program.name: program for program in cutting.cut(self.job.spec, self.case.job.segments)}

    def order(self, *, combine: bool = True, shadow: bool = False) -> Order:
        """What is to be done with ranges of the head."""
        made = self.programs()
        head = made[self.case.head]
        aims = combining.aims(head, made) if combine else {}
        return Order(self.access, self.names, self.width, head, aims, 1_000, shadow=shadow)


def prepared(case: Case, bootstrap: str, source: str = "") -> Run:
    """A run of a case with new topics; its records are written unless there is a source that has them."""
    name = systems.run_name()
    topic = source or systems.created_one(bootstrap)
    run = Run(case, bootstrap, record_jobs.job(case.job, bootstrap, name, topic), topic)
    systems.created(bootstrap, run.job.spec.outputs[0].topic)
    readers, tables = task.topics_of(run.programs().values())
    wanted = topics.needed(run.job, readers, dict.fromkeys(tables, run.width))
    admin.create(clients.admin(run.access), wanted)
    return run


def fill(run: Run, count: int) -> None:
    """Write records, evenly over the partitions; in a process of its own."""
    client = logs.producer(run.bootstrap, {"linger.ms": 20, "compression.type": "lz4", "batch.size": 262_144})
    for number, value in enumerate(itertools.islice(run.case.values(), count)):
        while True:
            try:
                client.produce(run.source, value, partition=number % logs.PARTITIONS)
                break
            except BufferError:
                client.poll(0.1)
    if client.flush(logs.PATIENCE):
        message = f"the broker did not take all records within {logs.PATIENCE:.0f} s"
        raise logs.NotTakenError(message)
