"""Batches in a real Spark, on a real broker: what record by record gives, whatever happens to the processes."""

from __future__ import annotations

import collections
import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import judged_job
import lone_job
import programs
import sparked
from running_job import RunningJob, manifest, running
from site_contract import Contract
from sparked import Sparked
from spillway.bench.verifier.records import Record
from spillway.local.broker import Broker
from spillway.runtime import frames, functions
from spillway.runtime.batch import combining, limits
from spillway.runtime.batch.ranges import Order, Range
from spillway.runtime.batch.spark import BatchError, LostError
from spillway.runtime.programs import states
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.task import Task

CODE = Path(__file__).parents[1] / "support" / "spark_code"
LIMIT = 0.4
# Bytes that a Python worker may take: clients and their threads need a tenth of it.
MEMORY = 2 << 30

UNRULY = """
apiVersion: spillway.dev/v1alpha1
kind: StreamJob
metadata: {name: NAME, namespace: test}
spec:
  kafka: {bootstrapServers: ["SERVER"]}
  latency: {bound: 1s}
  streams: [{name: events, topic: NAME.in, columns: "k string, a bigint, what string, note string"}]
  operators:
    - name: called
      input: events
      python: {function: "unruly:called", as: map, returns: "k string, a bigint, what string, note string"}
    - {name: counts, input: called, aggregate: {by: [k], values: ["count(*) as n", "sum(a) as total"]}}
  outputs:
    - {name: all, input: called, topic: NAME.all}
    - {name: out, input: counts, topic: NAME.out}
"""


@pytest.fixture(scope="module")
def spark() -> Iterator[Sparked]:
    with sparked.running({f"spark.executorEnv.{limits.MEMORY}": str(MEMORY)}) as found:
        yield found


class TestLocal(Contract):
    """What holds for a Spark wherever it is."""


def unruly(broker: Broker, name: str) -> dict[str, Any]:
    return dict(yaml.safe_load(UNRULY.replace("NAME", name).replace("SERVER", broker.bootstrap)))


def ordered(job: RunningJob, name: str, *, combine: bool = True, **more: Any) -> Order:
    made = job.driver.programs
    aims = combining.aims(made[name], made) if combine else {}
    return Order(job.access, job.driver.names, 16, made[name], aims, 50, job.code, **more)


def ranges(*stops: int, start: int = 0) -> list[Range]:
    return [Range(number, start, stop, 1) for number, stop in enumerate(stops)]


def framed(job: RunningJob, reader: str) -> dict[int, list[bytes]]:
    """The frames of an edge, by its partition."""
    found: dict[int, list[bytes]] = collections.defaultdict(list)
    for record in judged_job.read(job, job.driver.names.edge(reader)):
        found[record.partition].append(record.value or b"")
    return found


def loop(job: RunningJob, name: str) -> Loop:
    program = job.driver.programs[name]
    return Loop(program, {one: functions.load(one, job.code) for one, _ in program.digests})


def one_by_one(job: RunningJob, name: str, records: Sequence[Record]) -> dict[str, dict[int, list[Any]]]:
    """What the record paradigm sends for some records: values by topic and partition."""
    found: dict[str, dict[int, list[Any]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for number in sorted({record.partition for record in records}):
        task = Task(loop(job, name), {}, number, 1, job.driver.names, 16)
        mine = [programs.Message(r.offset, r.value, r.key, r.time) for r in records if r.partition == number]
        task.take(mine)
        for topic, partition, _, value in lone_job.sent(task, whole=True):
            found[topic][partition].append(value)
    return found


def table(job: RunningJob, reader: str, given: dict[int, list[bytes]]) -> dict[Any, Any]:
    """What the table of the reader of an edge comes to, by the real reader: what it has, it skips."""
    found: dict[Any, Any] = {}
    for number, data in given.items():
        program = job.driver.programs[reader]
        (state,) = program.states
        task = Task(loop(job, reader), {state.name: states.made(state)}, number, 1, job.driver.names, 16)
        task.take([programs.Message(offset, value) for offset, value in enumerate(data)])
        found |= {send.key: json.loads(send.value or b"") for send in lone_job.sent(task, whole=True)}
    return found


def letters(job: RunningJob) -> list[Any]:
    return [json.loads(value or b"") for _, value in job.records(job.driver.names.dead)]


def sent_of(job: RunningJob) -> dict[str, int]:
    """How much there is in each topic that a batch may write."""
    names = job.driver.names
    read = [names.edge("counts"), names.dead, *(output.topic for output in job.job.spec.outputs)]
    return {name: len(job.records(name)) for name in read}


def test_word_count_over_ranges_is_word_count_record_by_record(broker: Broker, spark: Sparked) -> None:
    with running(manifest("word-count", broker.bootstrap, "batch-words")) as job:
        topic = job.job.spec.streams[0].topic
        lines = [[f"a b{n % 7} {part} C{n % 300}" for n in range(2500)] for part in range(2)]
        for number, some in enumerate(lines):
            job.feed(topic, [line.encode() for line in some], number)
        order = ordered(job, "words")
        first = spark.run(order, ranges(1200, 900))
        spark.run(order, [Range(0, 1200, 2500, 1), Range(1, 900, 2500, 1)])
        found = framed(job, "counts")
        spark.run(order, ranges(1200, 900))
        twice = framed(job, "counts")
        alone = one_by_one(job, "words", judged_job.read(job, topic))

    words = collections.Counter(word for some in lines for line in some for word in line.lower().split(" "))
    right = {key: row["occurrences"] for key, row in table(job, "counts", found).items()}
    assert right == {word.encode(): count for word, count in words.items()}
    assert table(job, "counts", found) == table(job, "counts", alone[job.driver.names.edge("counts")])
    assert [(one.number, one.messages, one.rows, one.letters) for one in first] == [
        (0, 1200, 1200, 0),
        (1, 900, 900, 0),
    ]
    assert all(one.times.cpu > 0 and one.sent > 0 for one in first)
    # The ranges that were done twice have given the same bytes, and readers skip them.
    for number, data in twice.items():
        again = data[len(found[number]) :]
        assert sorted(again) == sorted(one for one in found[number] if frames.read(one).combined[0][0].start == 0)  # type: ignore[index]
    assert table(job, "counts", twice) == table(job, "counts", found)


def test_rows_that_keep_their_positions_are_the_same_too(broker: Broker, spark: Sparked) -> None:
    with running(manifest("word-count", broker.bootstrap, "batch-positions")) as job:
        topic = job.job.spec.streams[0].topic
        job.feed(topic, [f"a b{n % 7}".encode() for n in range(2300)])
        order = ordered(job, "words", combine=False)
        found = []
        for _ in range(2):
            spark.run(order, ranges(2300))
            found.append(framed(job, "counts"))
        alone = one_by_one(job, "words", judged_job.read(job, topic))[job.driver.names.edge("counts")]

    assert found[1] == {number: data * 2 for number, data in found[0].items()}
    assert table(job, "counts", found[1]) == table(job, "counts", found[0]) == table(job, "counts", alone)


def test_grep_over_ranges_is_grep(broker: Broker, spark: Sparked) -> None:
    with running(manifest("grep", broker.bootstrap, "batch-grep")) as job:
        topic = job.job.spec.streams[0].topic
        job.feed(topic, [f"{'ERROR' if n % 3 else 'fine'} {n}".encode() for n in range(1500)])
        (result,) = spark.run(ordered(job, "matches"), ranges(1500))
        alone = one_by_one(job, "matches", judged_job.read(job, topic))
        found = [value or b"" for _, value in job.output("result")]
        wrote = job.job.spec.outputs[0].topic

    assert sorted(found) == sorted(alone[wrote][-1])
    assert (len(found), result.sent) == (1000, 1000)


def records(count: int, **what: str) -> list[bytes]:
    """Some of them do something; `note` says where it is noted that it was done."""
    found: list[dict[str, Any]] = [{"k": f"k{n % 5}", "a": n, "what": "", "note": ""} for n in range(count)]
    for place, done in what.items():
        number = int(place.removeprefix("at"))
        done, _, note = done.partition(":")
        found[number] |= {"what": done, "note": note}
    return [json.dumps(one).encode() for one in found]


def test_a_function_in_python_and_bad_records_are_as_record_by_record(broker: Broker, spark: Sparked) -> None:
    with running(unruly(broker, "batch-python"), code=CODE) as job:
        bad = records(700, at5="raise", at650="raise")
        bad[30] = b"{"
        job.feed("batch-python.in", bad)
        job.feed("batch-python.in", records(400), 1)
        results = spark.run(ordered(job, "called"), ranges(700, 400))
        alone = one_by_one(job, "called", judged_job.read(job, "batch-python.in"))
        names, found = job.driver.names, framed(job, "counts")
        wrote = sorted(value or b"" for _, value in job.output("all"))
        told = [value for _, value in job.records(names.dead)]

    assert [one.letters for one in results] == [3, 0]
    assert sorted(told) == sorted(alone[names.dead][0])  # type: ignore[type-var]
    assert wrote == sorted(alone["batch-python.all"][-1])
    assert table(job, "counts", found) == table(job, "counts", alone[names.edge("counts")])


def test_a_python_worker_is_killed_amid_a_range_and_nothing_is_missing_or_there_twice(
    broker: Broker, spark: Sparked, tmp_path: Path
) -> None:
    with running(unruly(broker, "batch-killed"), code=CODE) as job:
        mark = tmp_path / "died"
        job.feed("batch-killed.in", records(2600, at3="raise", at1500=f"die once:{mark}"))
        (result,) = spark.run(ordered(job, "called"), ranges(2600))
        assert mark.exists()
        alone = one_by_one(job, "called", judged_job.read(job, "batch-killed.in"))
        names, found, told = job.driver.names, framed(job, "counts"), letters(job)

    assert table(job, "counts", found) == table(job, "counts", alone[names.edge("counts")])
    assert result.messages == 2600
    # Letters wait for the end of the range, so the one that came before the end of the first worker was not sent by it.
    assert [(one["offset"], one["error"]) for one in told] == [(3, "ValueError: k3")]


def test_what_ends_hangs_or_fills_processes_is_put_aside_and_all_else_is_done(broker: Broker, spark: Sparked) -> None:
    with running(unruly(broker, "batch-deadly"), code=CODE) as job:
        job.feed("batch-deadly.in", records(1300, at20="spin", at700="exit", at1200="eat"))
        (result,) = spark.run(ordered(job, "called", limit=LIMIT), ranges(1300))
        alone = one_by_one(
            job, "called", [r for r in judged_job.read(job, "batch-deadly.in") if r.offset not in (20, 700, 1200)]
        )
        names, found, told = job.driver.names, framed(job, "counts"), letters(job)

    assert table(job, "counts", found) == table(job, "counts", alone[names.edge("counts")])
    assert {one["offset"]: (one["operator"], one["error"].partition(":")[0]) for one in told} == {
        20: ("called", "TimeLimitError"),
        700: ("events", "the process that worked on it ended, so it was put aside"),
        1200: ("called", "MemoryError"),
    }
    assert len(told) == result.letters == 3


def test_a_shadow_does_all_of_it_and_sends_nothing(broker: Broker, spark: Sparked) -> None:
    with running(unruly(broker, "batch-shadow"), code=CODE) as job:
        job.feed("batch-shadow.in", records(800, at5="raise"))
        before = sent_of(job)
        (shadow,) = spark.run(ordered(job, "called", shadow=True), ranges(800))
        assert sent_of(job) == before
        (real,) = spark.run(ordered(job, "called"), ranges(800))

        after = sent_of(job)
    assert (shadow.rows, shadow.sent, shadow.letters) == (real.rows, real.sent, real.letters) == (800, real.sent, 1)
    assert sum(after.values()) - sum(before.values()) == real.sent


def test_a_range_that_is_not_there_is_told_and_the_next_batch_is_not_disturbed(broker: Broker, spark: Sparked) -> None:
    with running(unruly(broker, "batch-wrong"), code=CODE) as job:
        job.feed("batch-wrong.in", records(10))
        with pytest.raises(
            BatchError, match=r"'called' came to nothing: topic 'batch-wrong\.in', partition 0, can't be"
        ):
            spark.run(ordered(job, "called"), ranges(60, start=50))
        (result,) = spark.run(ordered(job, "called"), ranges(10))

    assert result.messages == 10


def test_spark_dies_and_another_one_is_started_and_all_of_that_ends_with_the_driver(
    broker: Broker, spark: Sparked
) -> None:
    with running(unruly(broker, "batch-lost"), code=CODE) as job:
        job.feed("batch-lost.in", records(10))
        order = ordered(job, "called")
        first = [process for process in spark.tree() if process != spark.pid]
        os.kill(spark.jvm, signal.SIGKILL)
        with pytest.raises(LostError, match="has ended with exit code -9"):
            spark.run(order, ranges(10))
        assert sparked.gone(first, 5.0)
        spark.ask(sparked.again)
        (result,) = spark.run(order, ranges(10))
        assert result.messages == 10

        second = spark.tree()
        assert len(second) >= 5
        assert not sparked.gone(second, 0.0)
        spark.kill()
        assert sparked.gone(second, 10.0)
