"""The two forms of a batch: the loop of the record paradigm over ranges, against the same program as Spark SQL.

- *loop*: one job on Spark's core, which reads, runs the generated loop, adds up and writes in one Python worker.
- *sql*: Python workers read, hand what they have read to the JVM, Spark SQL runs the program, and Python workers write
  what comes of it. It is given every advantage: a warm session, columns by Arrow, no frames and no origins to keep, and
  no dead letters. Where it adds up, that is all that it sends, as the loop does.

Both in fresh processes with two cores, on the same ranges of the same topic; seconds and processor time of one batch.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from confluent_kafka import TopicPartition

from spillway.bench.batch import cases
from spillway.bench.batch.cases import Case, Run
from spillway.bench.record import logs, processes, systems
from spillway.bench.record.figures import Spread, measured, spread
from spillway.model import kafka
from spillway.runtime import clients, scans
from spillway.runtime.batch import jvm
from spillway.runtime.batch.executors import Local
from spillway.runtime.batch.ranges import Range
from spillway.runtime.batch.spark import SETTINGS, Spark
from spillway.runtime.clients import Access

CORES = 2
TIMES = 5  # batches of each size, after two that warm up
SIZES = (1_000, 10_000, 50_000)  # records of one batch
READ = 5_000  # records of a batch of columns
SESSION = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": str(CORES),
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "2g",
    # What is planned anew for each batch is run by the JVM's second compiler after a while: that is its advantage.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
}

# By the head of a case: what it is in SQL, and the columns that come of it.
SQL: Mapping[str, str] = {
    "words": "select word, count(*) as n from (select explode(split(value, ' ')) as word from given) group by word",
    "matches": "select value from given where value like '%ing%'",
    "views": "select e.ad_id, window(timestamp_millis(e.event_time), '10 seconds').start as start, count(*) as n"
    " from (select from_json(value, 'ad_id string, event_type string, event_time bigint') as e from given)"
    " where e.event_type = 'view' group by 1, 2",
}


Times = dict[int, tuple[float, float]]  # by size, seconds of a batch and of processor time


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """Of one case and size: seconds of a batch, and of processor time, in either form."""

    name: str
    size: int
    loop: Spread
    sql: Spread
    loop_cpu: Spread
    sql_cpu: Spread

    @property
    def ratio(self) -> float:
        """How many times as long SQL takes."""
        return self.sql.median / self.loop.median


def main(rounds: int, done: Callable[[str], None], only: str = "") -> Iterator[Form]:
    """All cases of which there is SQL, or those with this in their names."""
    with systems.broker() as bootstrap:
        for case in (one for one in cases.cases() if only in one.name):
            sizes = [size for size in SIZES if size <= case.count]
            first = cases.prepared(case, bootstrap)
            processes.fresh(cases.fill, first, max(sizes))
            told: dict[str, list[Times]] = {"loop": [], "sql": []}
            parts = {
                "loop": functools.partial(_run, loop, first, sizes, told["loop"]),
                "sql": functools.partial(_run, sql, first, sizes, told["sql"]),
            }
            measured(parts, rounds, functools.partial(_tell, case, done))
            for size in sizes:
                yield _form(case, size, told)


def _tell(case: Case, done: Callable[[str], None], line: str) -> None:
    done(f"{case.name}: {line}")


def _run(work: Callable[[Run, list[int]], Times], first: Run, sizes: list[int], told: list[Times]) -> float:
    told.append(processes.fresh(work, cases.prepared(first.case, first.bootstrap, first.source), sizes))
    return told[-1][sizes[-1]][0]


def _form(case: Case, size: int, told: Mapping[str, list[Times]]) -> Form:
    def of(name: str, which: int) -> Spread:
        return spread([one[size][which] for one in told[name]])

    return Form(case.name, size, of("loop", 0), of("sql", 0), of("loop", 1), of("sql", 1))


def ranges(size: int) -> list[Range]:
    """So many records, evenly of all partitions."""
    return [Range(number, 0, size // logs.PARTITIONS, 1) for number in range(logs.PARTITIONS)]


def loop(run: Run, sizes: list[int]) -> Times:
    """A batch in the form that jobs use."""
    spark = Spark(Local(f"local[{CORES}]"))
    try:
        order = run.order()
        return {size: _timed(functools.partial(spark.run, order, ranges(size)), spark.pid) for size in sizes}
    finally:
        spark.close()


def sql(run: Run, sizes: list[int]) -> Times:
    """The same in SQL."""
    jvm.environment()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{CORES}]")
    given = {name: value for name, value in SETTINGS.items() if name != "spark.python.daemon.module"} | SESSION
    for name, value in given.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    topic = run.job.spec.outputs[0].topic
    read = functools.partial(_read, run.bootstrap, run.source)
    write = functools.partial(_write, run.bootstrap, topic)

    def once(size: int) -> None:
        numbers = session.range(0, logs.PARTITIONS, 1, CORES)
        numbers.mapInArrow(functools.partial(read, size // logs.PARTITIONS), "value string").createOrReplaceTempView(
            "given"
        )
        session.sql(SQL[run.case.head]).mapInArrow(write, "sent bigint").collect()

    try:
        pid = session.sparkContext._gateway.proc.pid  # noqa: SLF001
        return {size: _timed(functools.partial(once, size), pid) for size in sizes}
    finally:
        session.stop()


def _timed(batch: Callable[[], object], pid: int) -> tuple[float, float]:
    """Medians of seconds, and of processor time of this process and all of Spark's."""
    for _ in range(2):
        batch()
    took, cpu = [], []
    for _ in range(TIMES):
        began, before = time.perf_counter(), _cpu(pid)
        batch()
        took.append(time.perf_counter() - began)
        cpu.append(_cpu(pid) - before)
    return statistics.median(took), statistics.median(cpu)


def _cpu(pid: int) -> float:
    return processes.total(processes.cpu, [os.getpid(), *processes.tree(pid)])


@functools.cache
def _consumer(bootstrap: str) -> Any:
    return clients.restorer(Access(kafka.Kafka(bootstrap_servers=(bootstrap,))), "forms")


@functools.cache
def _producer(bootstrap: str) -> Any:
    return logs.producer(bootstrap, {"linger.ms": 5, "batch.size": 262_144})


def _read(bootstrap: str, topic: str, upto: int, numbers: Iterator[Any]) -> Iterator[Any]:
    """What the ranges of these partitions have, as columns."""
    import pyarrow

    for some in numbers:
        for number in some.column(0).to_pylist():
            left, values = upto, []
            consumer = _consumer(bootstrap)
            consumer.assign([TopicPartition(topic, number, 0)])
            while left > 0:
                found = [one.value() for one in consumer.consume(min(left, READ), scans.LOOK) if not one.error()]
                left -= len(found)
                values += found
                if len(values) >= READ or not left:
                    yield pyarrow.record_batch([pyarrow.array(values).cast("string")], ["value"])
                    values = []


def _write(bootstrap: str, topic: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Send each row as a message, and say how many that were."""
    import msgspec
    import pyarrow

    encode = msgspec.json.Encoder().encode
    producer, sent = _producer(bootstrap), 0
    for batch in batches:
        for row in batch.to_pylist():
            producer.produce(topic, encode(row))
            sent += 1
        producer.poll(0)
    producer.flush(30)
    yield pyarrow.record_batch([pyarrow.array([sent])], ["sent"])


def table(forms: list[Form]) -> str:
    """For people."""
    lines = [f"{'seconds of a batch':24}{'records':>9}{'loop':>9}{'sql':>9}{'times':>7}{'cpu loop':>10}{'cpu sql':>9}"]
    lines += [
        f"{one.name:24}{one.size:9,}{one.loop.median:9.3f}{one.sql.median:9.3f}{one.ratio:7.2f}"
        f"{one.loop_cpu.median:10.3f}{one.sql_cpu.median:9.3f}"
        for one in forms
    ]
    return "\n".join(lines) + "\n"
