"""Whatever is wrong with what comes in, or with what users' functions do to it: it is told, and all else goes on."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

import kafka_records
import mixtures
import programs
import small_driver
from running_job import RunningJob, accepted, running
from small_driver import SmallDriver
from spillway.controllers.topics import Topic
from spillway.local.broker import Broker
from spillway.local.installation import Installation
from spillway.model import kafka
from spillway.runtime import admin, clients, letters
from spillway.runtime.clients import Access
from spillway.runtime.letters import Letter
from spillway.runtime.slots.ledger import Ledger
from spillway.runtime.telemetry import Place
from spillway.runtime.worker.suspects import Suspects

COLUMNS = "k string, does string, n bigint"


def manifest(bootstrap: str, name: str, **more: Any) -> dict[str, Any]:
    """A job with a user's function, a count by key behind an edge, and an output of each."""
    python = {"function": f"{name}_trouble:work", "as": "map", "returns": COLUMNS}
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name, "namespace": "bad"},
        "spec": {
            "kafka": {"bootstrapServers": [bootstrap]},
            "latency": {"bound": "1s"},
            "streams": [{"name": "events", "topic": f"{name}.events", "columns": COLUMNS}],
            "operators": [
                {"name": "worked", "input": "events", "python": python},
                {"name": "counts", "input": "worked", "aggregate": {"by": ["k"], "values": ["count(*) as n"]}},
            ],
            "outputs": [
                {"name": "rows", "input": "worked", "topic": f"{name}.rows"},
                {"name": "counts", "input": "counts", "topic": f"{name}.counts"},
            ],
            "execution": {"workers": {"max": 1}},
            **more,
        },
    }


@pytest.fixture
def code(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The function of each job, in a module of its own: one process reads only one of a name."""
    for name in ("letters", "dies", "fails", "trimmed", "gone", "unwritten", "away"):
        shutil.copy(mixtures.CODE / "trouble.py", tmp_path / f"{name}_trouble.py")
    return tmp_path


def record(k: str = "", does: str = "", n: int = 0) -> bytes:
    return json.dumps({"k": k, "does": does, "n": n}).encode()


def rows(job: RunningJob, name: str = "rows") -> list[str]:
    """The keys of the rows that came out."""
    return [json.loads(value or b"")["k"] for _, value in job.output(name)]


def counts(job: RunningJob) -> dict[str, int]:
    """What a reader of the counts ends with."""
    found = {}
    for _, value in job.output("counts"):
        row = json.loads(value or b"")
        found[row["k"]] = row["n"]
    return found


def dead(job: RunningJob) -> list[Letter]:
    """All dead letters."""
    found = [letters.decode(value or b"") for _, value in job.records(job.driver.names.dead)]
    return [letter for letter in found if isinstance(letter, Letter)]


def halted(job: RunningJob, slot: str = "w0.0") -> list[Place]:
    """The partitions of a slot that do not go on; what is on its way back to a bad record still works."""
    report = job.reports.get(slot)
    return [place for place in report.places if place.problem and not place.working] if report is not None else []


def skip(job: RunningJob, segment: str, topic: str, offset: int, partition: int = 0) -> None:
    """What `kafka-consumer-groups --reset-offsets` does."""
    group = job.driver.names.group(segment)
    settings: dict[str, str | int | bool] = {"group.id": group, "enable.auto.commit": False}
    consumer = Consumer(kafka_records.client(job.bootstrap, **settings))
    consumer.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)
    consumer.close()


def test_each_bad_record_becomes_a_letter_and_all_others_their_results(broker: Broker, code: Path) -> None:
    document = manifest(broker.bootstrap, "letters")
    client = clients.admin(Access(kafka.Kafka(bootstrap_servers=(broker.bootstrap,))))
    admin.create(client, [Topic("letters.rows", 2, {"max.message.bytes": "30000"})])
    bad: list[tuple[bytes, str]] = [
        (b"{", "DecodeError: Input data was truncated"),
        (b"", "DecodeError: Input data was truncated"),
        (b"[1]", "the message holds list, not one JSON object"),
        (b'{"k": "x", "n": "many"}', "column 'n'"),
        (b'{"k": "x", "n": 9223372036854775808}', "column 'n'"),
        (b'\xff{"k": "x"}', "JSON is malformed"),
        (record("x", "raise"), "ValueError: no such thing"),
        (record("x", "sleep", 60), "took longer than 1 s"),
        (record("x", "spin", 60), "took longer than 1 s"),
        (record("x", "exit", 3), "SystemExit"),
        (record("x", "eat", 10**15), "MemoryError"),
        (record("x", "wrong"), "n"),
        (record("x", "half"), ""),
        (record("x", "repeat", 40_000), "the message takes 40"),
        (record("x", "repeat", 9_000_000), "the message takes 9"),
    ]
    with running(document, code=code) as job:
        job.start("w0.0", limit=1.0)
        job.spread("w0.0")
        for number, (message, _) in enumerate(bad):
            job.feed("letters.events", [record(f"good{number}"), message])
        job.feed("letters.events", [record("last")])
        job.finish()
        found = dead(job)
        good = {f"good{number}" for number in range(len(bad))} | {"last"}

        assert {k for k in rows(job) if k.startswith(("good", "last"))} == good
        assert {k: n for k, n in counts(job).items() if k in good} == dict.fromkeys(good, 1)
        for number, (message, error) in enumerate(bad):
            about = [letter for letter in found if letter.offset == 2 * number + 1 and letter.port == "events"]
            assert about, (message[:50], [one.error for one in found])
            assert any(error in letter.error for letter in about), (message[:50], [one.error for one in about])
        assert not halted(job)


def _over(job: RunningJob, process: BaseProcess) -> bool:
    return process.exitcode is not None or job.done()


def test_a_record_that_ends_its_process_is_put_aside_after_some_deaths(broker: Broker, code: Path) -> None:
    with running(manifest(broker.bootstrap, "dies"), code=code) as job:
        suspects = Suspects()
        job.feed("dies.events", [record("a"), record("x", "die", 7), record("b")])
        deaths = 0
        while deaths < 5:
            ledger = Ledger()
            job.start("w0.0", ledger=ledger, suspects=suspects.all)
            job.driver.want("w0.0")
            process = job.slots["w0.0"][0]
            job.driver.until(functools.partial(_over, job, process))
            if job.done():
                break
            deaths += 1
            assert process.exitcode == 7
            note = ledger.read()
            assert note is not None
            suspects.add(note)
            job.slots.pop("w0.0")

        assert 2 <= deaths <= 3
        assert sorted(rows(job)) == ["a", "b"]
        assert [(letter.offset, letter.error) for letter in dead(job)] == [
            (1, "the process that worked on it ended, so it was put aside")
        ]


def test_where_bad_records_are_not_to_be_put_aside_their_partition_halts_and_goes_on_from_there(
    broker: Broker, code: Path, tmp_path: Path
) -> None:
    needed = tmp_path / "needed"
    with running(manifest(broker.bootstrap, "fails", policy={"onError": "fail"}), code=code, frame=10) as job:
        job.start("w0.0")
        job.start("w1.0")
        job.spread("w0.0")
        job.feed("fails.events", [record(f"a{number % 5}") for number in range(40)])
        job.feed("fails.events", [record(str(needed), "need"), record("behind")])
        job.feed("fails.events", [record("other")], partition=1)
        job.driver.until(lambda: bool(halted(job)))
        (place,) = halted(job)

        assert (place.segment, place.number, place.position, place.working) == ("worked", 0, 40, False)
        assert "'worked' could not process the record at topic 'fails.events', partition 0, offset 40" in place.problem
        assert "FileNotFoundError" in place.problem
        job.driver.until(lambda: job.progress()["worked", 0] == (40, 42))
        job.driver.until(lambda: "other" in rows(job))
        assert "behind" not in rows(job)
        assert dead(job) == []

        job.driver.want("w1.0")  # given away like any other, it halts there too
        job.driver.until(lambda: bool(halted(job, "w1.0")))
        assert job.progress()["worked", 0] == (40, 42)
        needed.write_text("")
        job.spread("w0.0")  # where it is tried once more, and what it asked for is there
        job.finish()
        assert not halted(job)

        job.feed("fails.events", [record("x", "raise"), record("last")])
        job.driver.until(lambda: bool(halted(job)))
        skip(job, "worked", "fails.events", 43)
        job.finish()
        assert dead(job) == []
        assert "last" in rows(job)
        expected = {f"a{number}": 8 for number in range(5)}
        expected |= {str(needed): 1, "behind": 1, "other": 1, "last": 1}
        assert counts(job) == expected

        job.feed("fails.events", [record("mended", "raise"), record("end")])
        job.driver.until(lambda: bool(halted(job)))
        document = manifest(broker.bootstrap, "fails", policy={"onError": "fail"})
        document["spec"]["operators"][0]["python"]["function"] = "fails_trouble:mended"
        mended = accepted(document)
        made = small_driver.programs(mended, programs.together(mended.spec), code)
        job.driver = SmallDriver(job.access, mended, made)
        job.spread("w1.0")  # the corrected program begins with that very record
        job.finish()
        assert {"mended", "end"} <= set(rows(job))
        assert counts(job) == {**expected, "mended": 1, "end": 1}


def test_a_position_that_was_trimmed_or_whose_topic_was_made_anew_halts_its_partition(
    broker: Broker, code: Path
) -> None:
    with running(manifest(broker.bootstrap, "trimmed"), code=code) as job:
        client = clients.admin(job.access)
        job.start("w0.0")
        job.spread("w0.0")
        job.feed("trimmed.events", [record("a")])
        job.finish()
        job.spread()
        job.feed("trimmed.events", [record(f"b{number}") for number in range(5)])
        admin.trim(client, {("trimmed.events", 0): 4})
        job.spread("w0.0")
        job.feed("trimmed.events", [record("other")], partition=1)
        job.driver.until(lambda: bool(halted(job)))
        (place,) = halted(job)
        assert place.problem.startswith(
            "topic 'trimmed.events', partition 0, has no offset 1 any more; it has 4 to 5. To go on elsewhere,"
        )
        job.driver.until(lambda: "other" in rows(job))
        assert not [k for k in rows(job) if k.startswith("b")]

        skip(job, "worked", "trimmed.events", 4)
        job.finish()
        assert sorted(rows(job)) == ["a", "b3", "b4", "other"]

        client.delete_topics(["trimmed.events"])["trimmed.events"].result(20)
        job.driver.until(lambda: len(halted(job)) == 2)
        assert "does not exist any more" in halted(job)[0].problem
        admin.create(client, [Topic("trimmed.events", 2)])
        job.feed("trimmed.events", [record(f"c{number}") for number in range(9)])
        time.sleep(2)
        job.driver.step()
        assert not [k for k in rows(job) if k.startswith("c")]
        skip(job, "worked", "trimmed.events", 8)
        job.driver.until(lambda: "c8" in rows(job))
        assert [k for k in rows(job) if k.startswith("c")] == ["c8"]


def test_a_topic_that_is_made_anew_at_once_is_noticed(broker: Broker, code: Path) -> None:
    with running(manifest(broker.bootstrap, "gone"), code=code) as job:
        client = clients.admin(job.access)
        job.start("w0.0")
        job.spread("w0.0")
        job.feed("gone.events", [record("a")] * 5)
        job.finish()
        time.sleep(1.5)
        client.delete_topics(["gone.events"])["gone.events"].result(20)
        time.sleep(0.1)
        admin.create(client, [Topic("gone.events", 2)])
        job.feed("gone.events", [record("b")] * 9)
        job.driver.until(lambda: len(halted(job)) == 2)
        assert all("gone.events" in place.problem for place in halted(job))


def test_partitions_that_write_to_a_missing_topic_wait_for_it_and_others_go_on(broker: Broker, code: Path) -> None:
    with running(manifest(broker.bootstrap, "unwritten"), code=code) as job:
        client = clients.admin(job.access)
        client.delete_topics(["unwritten.counts"])["unwritten.counts"].result(20)
        job.driver.until(lambda: not admin.present(client, ["unwritten.counts"]))  # brokers hear of it a bit later
        job.start("w0.0")
        job.driver.want("w0.0")
        job.feed("unwritten.events", [record("a")])
        job.driver.until(lambda: "a" in rows(job))
        job.driver.until(lambda: len(halted(job)) == 8)
        assert {(place.segment, place.problem) for place in halted(job)} == {
            ("counts", "topic 'unwritten.counts' of output 'counts' does not exist; create it, and this goes on")
        }
        admin.create(client, [Topic("unwritten.counts", 1)])
        job.driver.until(job.driver.settled)
        job.finish()
        assert counts(job) == {"a": 1}


@pytest.mark.long
@pytest.mark.broker
def test_a_broker_that_is_away_for_a_while_costs_nothing_but_time(kafka: Installation, code: Path) -> None:
    with Broker(using=kafka) as own, running(manifest(own.bootstrap, "away"), code=code) as job:
        job.start("w0.0")
        job.spread("w0.0")
        for number in range(3):
            job.feed("away.events", [record(f"k{number}")] * 50)
            if number == 1:
                os.kill(own.pid or 0, signal.SIGSTOP)
                time.sleep(4)
                os.kill(own.pid or 0, signal.SIGCONT)
        job.finish()

        assert counts(job) == {"k0": 50, "k1": 50, "k2": 50}
        assert dead(job) == []
