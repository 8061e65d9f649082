"""The verifier as a process of its own, beside something that writes what a job would."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

import judged
import kafka_records
import programs
from spillway.bench import inputs

if TYPE_CHECKING:
    from spillway.local.broker import Broker

PARTITIONS = 2
COUNT = 200


class Stage:
    """The topics of an example under names of their own, and a manifest that says so."""

    def __init__(self, broker: Broker, name: str, folder: Path, case: str) -> None:
        document = yaml.safe_load((programs.EXAMPLES / f"{name}.yaml").read_text())
        parts = document["spec"]
        self.topics = {}
        for part in (*parts["streams"], *parts.get("tables", ()), *parts["outputs"]):
            self.topics[part["topic"]] = f"verifier-{case}-{part['topic']}"
            part["topic"] = self.topics[part["topic"]]
        self.bootstrap = broker.bootstrap
        self.job = folder / "job.yaml"
        self.job.write_text(yaml.safe_dump(document))
        admin = AdminClient(kafka_records.client(self.bootstrap))
        new = [NewTopic(topic, PARTITIONS) for topic in self.topics.values()]
        for answer in admin.create_topics(new).values():
            answer.result(20)
        self._producer = Producer(kafka_records.client(self.bootstrap, **{"enable.idempotence": True}))

    def send(self, topic: str, records: Iterable[Any]) -> None:
        """Write records as they stand in memory."""
        refused: list[Any] = []
        for record in records:
            self._producer.produce(
                self.topics[topic],
                record.value,
                record.key,
                partition=record.partition,
                timestamp=min(record.time, int(time.time() * 1000)),
                on_delivery=lambda error, _: refused.append(error),
            )
            self._producer.poll(0)
        assert not self._producer.flush(20)
        assert not any(refused), refused

    def verifier(self, *arguments: str) -> subprocess.Popen[bytes]:
        """The verifier at work."""
        command = [sys.executable, "-m", "spillway.bench.verifier", "--job", str(self.job), "--bootstrap"]
        more = [self.bootstrap, "--code", str(programs.EXAMPLES), "-o", "json", "--quiet", *arguments]
        return subprocess.Popen([*command, *more], stdout=subprocess.PIPE)


def told(process: subprocess.Popen[bytes]) -> tuple[int, dict[str, Any]]:
    out, _ = process.communicate(timeout=30)
    found: dict[str, Any] = json.loads(out)
    return process.returncode, found


@pytest.fixture
def stage(broker: Broker, tmp_path: Path, request: pytest.FixtureRequest) -> Stage:
    return Stage(broker, "enrichment", tmp_path, f"{request.node.originalname[-12:]}-{time.time_ns()}")


def ran() -> tuple[judged.Topics, judged.Topics]:
    """What the example reads and writes."""
    spec = programs.example("enrichment")
    # A broker takes no times of the future, and soon deletes what is old.
    start = int(time.time() * 1000) - 120_000
    read = judged.sources(inputs.messages("enrichment", seed=5, count=COUNT, partitions=PARTITIONS, start=start))
    return read, judged.written(judged.ran(spec, read), spec, PARTITIONS)


def test_a_job_is_judged_while_it_runs_and_again_at_its_end(stage: Stage, tmp_path: Path) -> None:
    read, wrote = ran()
    report = tmp_path / "report.json"
    count = len(read["orders"])

    process = stage.verifier("--records", str(count), "--lead", "first", "--report", str(report))
    for topic in read:
        stage.send(topic, read[topic])
    results = wrote["priced-orders"]
    stage.send("priced-orders", results[:50])
    time.sleep(1.5)  # it has seen a part by now, and goes on waiting
    assert process.poll() is None
    stage.send("priced-orders", results[50:])
    code, verdict = told(process)

    assert (code, verdict["verdict"], verdict["lost"], verdict["wrong"]) == (0, "right", 0, 0)
    assert (verdict["complete"], verdict["undetermined"]) == (True, 0)
    assert verdict["records_in"] == count + len(read["customers"])
    assert verdict["records_out"] == len(results)
    assert verdict["latency"]["samples"] == len(results)
    assert json.loads(report.read_text()) == verdict


def test_what_a_broken_job_writes_is_not_right(stage: Stage) -> None:
    read, wrote = ran()
    for topic in read:
        stage.send(topic, read[topic])
    results = wrote["priced-orders"]
    stage.send("priced-orders", [*results[:20], results[3], *results[21:]])

    code, verdict = told(stage.verifier("--until-idle", "1", "--lead", "first"))

    assert (code, verdict["verdict"]) == (1, "not right")
    assert (verdict["lost"], verdict["duplicated"], verdict["wrong"]) == (1, 1, 0)
    (output,) = verdict["outputs"]
    lost = next(example for example in output["examples"] if example["kind"] == "lost")
    assert lost["expected"] == json.loads(results[20].value or b"{}") | {"to_pay": lost["expected"]["to_pay"]}


def test_it_tells_how_far_it_is(stage: Stage) -> None:
    read, wrote = ran()
    for topic in read:
        stage.send(topic, read[topic])
    stage.send("priced-orders", wrote["priced-orders"])
    there = sum(len(records) for records in read.values()) + len(wrote["priced-orders"])

    watched = subprocess.run(
        [sys.executable, "-m", "spillway.bench.verifier", "--job", str(stage.job), "--bootstrap", stage.bootstrap,
         "--code", str(programs.EXAMPLES), "--at-rest", "--lead", "first"],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip

    first, *_, last = watched.stderr.splitlines()
    assert re.fullmatch(rf"\d+ of {there} messages are read", first), watched.stderr
    assert last == f"{there} messages are read; what should have come of them is computed"


def test_nothing_is_said_where_nothing_came(stage: Stage) -> None:
    code, verdict = told(stage.verifier("--timeout", "1"))

    assert (code, verdict["verdict"], verdict["void"]) == (2, "void", "no stream has any record")
