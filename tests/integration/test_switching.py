"""A job moves to micro-batches and back while records come, and whatever dies meanwhile, each is counted once."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from deployed_job import Deployed, counted, deployed
from spillway.local.broker import Broker
from spillway.model.observation import MoveKind
from spillway.model.operators import Paradigm
from spillway.runtime.batch import machine

SPARK = ("--spark", "local[2]")
WORDS = [f"word{number}" for number in range(50)]


def document(name: str, **execution: Any) -> dict[str, Any]:
    """Words, labelled by a table that every slot has whole, and counted; in topics of its own."""
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name, "namespace": "switching"},
        "spec": {
            "latency": {"bound": "500ms"},
            "streams": [{"name": "lines", "topic": f"{name}.lines", "format": "raw", "columns": "line string"}],
            "tables": [
                {"name": "labels", "topic": f"{name}.labels", "key": ["word"], "columns": "word string, label string"}
            ],
            "operators": [
                {"name": "words", "input": "lines", "explode": {"array": "split(line, ' ')", "as": "word", "keep": []}},
                {"name": "labelled", "input": "words", "join": {"table": "labels", "by": ["word"], "asOf": "latest"}},
                {"name": "counts", "input": "labelled", "aggregate": {"by": ["label"], "values": ["count(*) as n"]}},
            ],
            "outputs": [{"name": "result", "input": "counts", "topic": f"{name}.counts"}],
            "execution": {"workers": {"max": 1}, **execution},
        },
    }


class Fed:
    """Lines that were fed, and what has to come of them."""

    def __init__(self, job: Deployed, name: str) -> None:
        self._job, self._name = job, name
        self._dice = random.Random(7)  # noqa: S311 (reproducible, no secret)
        self.lines: list[str] = []
        labels = [json.dumps({"word": word, "label": word.upper()}) for word in WORDS]
        job.feed(f"{name}.labels", labels, [json.dumps({"word": word}) for word in WORDS])

    def feed(self, count: int) -> None:
        more = [" ".join(self._dice.choice(WORDS) for _ in range(20)) for _ in range(count)]
        self._job.feed(f"{self._name}.lines", more)
        self.lines += more

    def right(self) -> bool:
        """Whether a reader of the results ends with what is to be."""
        right = {word.upper(): count for word, count in counted(self.lines).items()}
        return self._job.last(f"{self._name}.counts", "label", "n") == right


def java(job: Deployed) -> int:
    """The process of Spark's JVM."""
    tree = machine.tree(job.processes["driver"].pid)
    return next(pid for pid in tree if b"SparkSubmit" in Path(f"/proc/{pid}/cmdline").read_bytes())


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.timeout(300)
def test_a_job_goes_to_batches_and_back_and_survives_its_driver_there(broker: Broker, tmp_path: Path) -> None:
    with deployed(broker, document("there"), tmp_path) as job:
        job.start("driver", *SPARK)
        job.start("worker", "--worker", "0")
        fed = Fed(job, "there")
        job.until(lambda: job.told.ready)
        fed.feed(200)
        job.until(fed.right)
        job.until(lambda: job.told.standby.state == "warm")

        answer = job.switch("words", "batch")
        assert answer.operators == ("words", "labelled")
        fed.feed(500)
        job.until(fed.right)
        job.until(lambda: (batch := job.segment("words").batch) and batch.records)
        assert job.segment("words").paradigm is Paradigm.BATCH
        assert job.segment("counts").paradigm is Paradigm.RECORD
        assert job.told.ready

        job.switch("words", "record")
        fed.feed(200)
        job.until(fed.right)
        moves = [move for move in job.told.moves if move.kind is MoveKind.SWITCH]
        assert {(move.source, move.target) for move in moves} == {("w0.0", "batch"), ("batch", "w0.0")}
        assert all(move.pause_ms is not None for move in moves)

        job.switch("words", "batch")
        fed.feed(300)
        os.kill(java(job), signal.SIGKILL)
        fed.feed(300)
        job.until(fed.right)
        job.until(lambda: job.segment("words").paradigm is Paradigm.BATCH)  # in another Spark
        told = [one["reason"] for one in job.client.decisions() if one["part"] == "switching"]
        assert [reason for reason in told if reason.startswith("Spark")] == ["SparkGone", "SparkBack"]

        fed.feed(300)
        job.kill("driver")
        fed.feed(300)
        job.start("driver", *SPARK)
        job.until(fed.right)
        job.until(lambda: job.segment("words").paradigm is Paradigm.BATCH)
        fed.feed(100)
        job.until(fed.right)

        job.client.grant(0)  # what batches have comes to rest like everything else
        job.until(lambda: not any(one.working for one in job.told.segments))
        job.client.grant(1)
        fed.feed(100)
        job.until(fed.right)

        # The check is not blind: a line that nobody has processed is missed.
        fed.lines.append("word1")
        assert not fed.right()


@pytest.mark.broker
@pytest.mark.timeout(120)
def test_without_spark_a_switch_is_refused_and_says_why(broker: Broker, tmp_path: Path) -> None:
    with deployed(broker, document("without"), tmp_path) as job:
        job.start("driver")
        job.until(lambda: job.told.plan)
        told = job.until(lambda: job.client.switch(["words"], "batch"))
        assert not told.done
        assert told.sentence == "batches can't begin: Spark is off"
        told = job.client.switch(["counts"], "batch")
        assert told.sentence.startswith("'counts' can't run in batches: it keeps tables")
        told = job.client.switch(["nothing"], "batch")
        assert told.sentence == "there is no operator 'nothing'; there are counts, labelled, words"
        told = job.client.switch(["words"], "record")
        assert told.sentence == "words runs so already"
