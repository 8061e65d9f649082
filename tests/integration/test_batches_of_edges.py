"""A segment that reads an edge goes to batches and back under load, and its driver dies there: each record counts once.

Lines come in two sorts, which are merged: so what makes words of them reads an edge. Behind it stand an aggregate and,
record by record, another merge with an output: whatever the batches lost or sent twice would be miscounted by the one
and be missing from, or twice in, the other.
"""

from __future__ import annotations

import collections
import json
import random
import threading
from pathlib import Path
from typing import Any, Literal

import pytest

from deployed_job import Deployed, deployed
from spillway.local.broker import Broker
from spillway.model import kafka
from spillway.runtime import clients, scans
from spillway.runtime.clients import Access
from spillway.runtime.control import ControlLog

SPARK = ("--spark", "local[2]")
WORDS = [f"word{number}" for number in range(50)]
BURST = 10_000  # lines that take batches some time, so that there is an open one to be left
LONG = 120.0  # seconds for a Spark to be warm, or for such a burst, on a machine with a lot to do


def access(job: Deployed) -> Access:
    return Access(kafka.Kafka(bootstrap_servers=(job.broker.bootstrap,)))


def document(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name, "namespace": "edges"},
        "spec": {
            "latency": {"bound": "500ms"},
            "streams": [{"name": "lines", "topic": f"{name}.lines", "format": "raw", "columns": "line string"}],
            "operators": [
                {"name": "short", "input": "lines", "filter": "length(line) < 40"},
                {"name": "long", "input": "lines", "filter": "length(line) >= 40"},
                {
                    "name": "words",
                    "inputs": ["short", "long"],
                    "explode": {"array": "split(line, ' ')", "as": "word", "keep": []},
                },
                {"name": "ids", "input": "words", "filter": "substring(word, 1, 1) = '#'"},
                {"name": "plain", "input": "words", "filter": "substring(word, 1, 1) <> '#'"},
                {"name": "counts", "input": "plain", "aggregate": {"by": ["word"], "values": ["count(*) as n"]}},
                {"name": "rare", "input": "plain", "filter": "word = 'word7'"},
                {"name": "copies", "inputs": ["ids", "rare"], "select": ["word"]},
            ],
            "outputs": [
                {"name": "result", "input": "counts", "topic": f"{name}.counts"},
                {"name": "copied", "input": "copies", "topic": f"{name}.copies"},
            ],
            "execution": {"workers": {"max": 1}},
        },
    }


class Fed:
    """Lines that were fed, now and then by a thread, and what has to come of them."""

    def __init__(self, job: Deployed, name: str) -> None:
        self._job, self._name = job, name
        self._dice = random.Random(7)  # noqa: S311 (reproducible, no secret)
        self._lock, self._ends = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self.lines = 0
        self.right: collections.Counter[str] = collections.Counter()

    def feed(self, count: int) -> None:
        """So many at once."""
        with self._lock:
            made = []
            for number in range(self.lines, self.lines + count):
                words = [self._dice.choice(WORDS) for _ in range(self._dice.choice([2, 12]))]
                made.append(" ".join([f"#{number:07d}", *words]))
                self.right.update(words)
            self._job.feed(f"{self._name}.lines", made)
            self.lines += count

    def start(self) -> None:
        """A steady stream of them from now on."""
        self._thread.start()

    def stop(self) -> None:
        """No more of those."""
        self._ends.set()
        self._thread.join()

    def lost(self) -> int:
        """Lines of which nothing has been copied, or not all of some word."""
        copied = self.copied()
        return sum(f"#{n:07d}" not in copied for n in range(self.lines)) + max(0, self.right["word7"] - copied["word7"])

    def duplicated(self) -> int:
        """What was copied twice."""
        copied = self.copied()
        return sum(count - 1 for word, count in copied.items() if word.startswith("#")) + max(
            0, copied["word7"] - self.right["word7"]
        )

    def copied(self) -> collections.Counter[str]:
        """How often each came out."""
        reader = clients.restorer(access(self._job), "test")
        try:
            places = [(f"{self._name}.copies", number) for number in range(4)]
            found = [m.value() for _, some, _ in scans.whole(reader, places) for m in some]
        finally:
            reader.close()
        return collections.Counter(json.loads(value)["word"] for value in found)

    def counted(self) -> bool:
        """Whether a reader of the counts ends with what is to be."""
        return self._job.last(f"{self._name}.counts", "word", "n") == self.right

    def whole(self) -> bool:
        """Whether nothing is missing any more."""
        return self.counted() and not self.lost()

    def _feed(self) -> None:
        while not self._ends.wait(0.05):
            self.feed(30)


def switch(job: Deployed, to: Literal["batch", "record"]) -> None:
    """Run it so; it may do that already, because that was decided."""
    job.until(lambda: job.client.switch(["words"], to).done or str(job.segment("words").paradigm) == to)
    job.until(lambda: str(job.segment("words").paradigm) == to)


def left_open(job: Deployed) -> bool:
    """Whether an intent of the edge stands in the log that nobody has done."""
    log = ControlLog(access(job), job.names)
    try:
        intents = log.restored().intents.values()
        return any(part.partition.segment == "words" for intent in intents for part in intent.ranges)
    finally:
        log.close()


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.timeout(600)
def test_a_segment_that_reads_an_edge_goes_to_batches_and_back_and_its_driver_dies_there(
    broker: Broker, tmp_path: Path
) -> None:
    with deployed(broker, document("merged"), tmp_path) as job:
        job.start("driver", *SPARK)
        job.start("worker", "--worker", "0")
        fed = Fed(job, "merged")
        job.until(lambda: job.told.ready)
        fed.feed(200)
        fed.start()
        job.until(lambda: job.told.standby.state == "warm", LONG)

        answer = job.switch("words", "batch")
        assert answer.operators == ("words", "ids", "plain", "rare")
        job.until(lambda: (batch := job.segment("words").batch) and batch.records)
        assert {job.segment(name).batch for name in ("counts", "copies")} == {None}
        for _ in range(2):
            switch(job, "record")
            switch(job, "batch")

        for _ in range(8):
            switch(job, "batch")
            fed.feed(BURST)
            job.kill("driver")
            if found := left_open(job):
                break
            job.start("driver", *SPARK)
            job.until(lambda: job.told.ready and job.told.standby.state == "warm", LONG)
        assert found, "no driver died while an intent was open, so nothing was tried"
        job.start("driver", *SPARK)
        job.until(lambda: job.told.ready, LONG)
        fed.stop()
        job.until(fed.whole, LONG)
        assert fed.duplicated() == 0

        fed.feed(100)  # whoever has it now
        job.until(fed.whole)
        assert fed.duplicated() == 0

        # The checks are not blind: a line that nobody has processed is missed, and so is one that came twice.
        fed.right["word1"] += 1
        assert not fed.counted()
        fed.right["word7"] -= 1
        assert fed.duplicated() == 1
        fed.lines += 1
        assert fed.lost() == 1
