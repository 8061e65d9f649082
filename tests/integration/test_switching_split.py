"""Only a part of a program goes to batches, and is one program with the rest again; each record is counted once."""

from __future__ import annotations

import collections
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from deployed_job import Deployed, deployed
from spillway.local.broker import Broker
from spillway.model.observation import MoveKind, Observation
from spillway.model.operators import Paradigm

WARM = 150.0  # seconds in which a Spark starts, on a machine that has much else to do
WORDS = [f"word{number}" for number in range(50)]
CODE = "def tagged(record):\n    return {'word': record['word'] + '!'}\n"


def document(name: str) -> dict[str, Any]:
    """Words, tagged by a function that has to run record by record, and counted."""
    return {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name, "namespace": "split"},
        "spec": {
            "latency": {"bound": "500ms"},
            "streams": [{"name": "lines", "topic": f"{name}.lines", "format": "raw", "columns": "line string"}],
            "operators": [
                {"name": "words", "input": "lines", "explode": {"array": "split(line, ' ')", "as": "word", "keep": []}},
                {
                    "name": "tagged",
                    "input": "words",
                    "python": {"function": "tagging:tagged", "as": "map", "returns": "word string"},
                    "paradigm": "record",
                },
                {"name": "counts", "input": "tagged", "aggregate": {"by": ["word"], "values": ["count(*) as n"]}},
            ],
            "outputs": [{"name": "result", "input": "counts", "topic": f"{name}.counts"}],
            "execution": {"workers": {"max": 1}},
        },
    }


class Fed:
    """Lines that come all the time, each with a word of its own, and what has to come of them."""

    def __init__(self, job: Deployed, name: str) -> None:
        self._job, self._name = job, name
        self._dice = random.Random(7)  # noqa: S311 (reproducible, no secret)
        self._ended, self._lock = threading.Event(), threading.Lock()
        self.lines = 0
        self.right: collections.Counter[str] = collections.Counter()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """From now on."""
        self._thread.start()

    def end(self) -> None:
        """No more lines."""
        self._ended.set()
        self._thread.join()

    def feed(self, count: int) -> None:
        """So many more, at once."""
        with self._lock:
            made = []
            for _ in range(count):
                words = [f"#{self.lines}", *self._dice.choices(WORDS, k=10)]
                self.lines += 1
                self.right.update(f"{word}!" for word in words)
                made.append(" ".join(words))
            self._job.feed(f"{self._name}.lines", made)

    def _run(self) -> None:
        while not self._ended.wait(0.05):
            self.feed(10)

    def is_right(self) -> bool:
        """Whether a reader of the results ends with what is to be."""
        with self._lock:
            return self._job.last(f"{self._name}.counts", "word", "n") == dict(self.right)


def planned(told: Observation) -> list[tuple[str, Paradigm]]:
    """The segments of the plan."""
    plan = told.plan
    return [(one.name, one.paradigm) for one in plan.segments] if plan else []


WHOLE = [("words", Paradigm.RECORD), ("counts", Paradigm.RECORD)]
SPLIT = [("words", Paradigm.BATCH), ("tagged", Paradigm.RECORD), ("counts", Paradigm.RECORD)]


def is_split(job: Deployed) -> bool:
    told = job.told
    words = next((one for one in told.segments if one.name == "words"), None)
    return planned(told) == SPLIT and words is not None and words.paradigm is Paradigm.BATCH and told.ready


def is_whole(job: Deployed) -> bool:
    told = job.told
    changed = next(one for one in told.conditions if one.type == "RollOut").status
    return planned(told) == WHOLE and changed and told.ready and all(one.working for one in told.segments)


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.timeout(600)
def test_a_part_goes_to_batches_and_is_one_program_with_the_rest_again(broker: Broker, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "tagging.py").write_text(CODE)
    spark = ("--spark", "local[2]", "--code", str(code))
    with deployed(broker, document("part"), tmp_path) as job:
        job.start("driver", *spark)
        job.start("worker", "--worker", "0", "--code", str(code))
        fed = Fed(job, "part")
        job.until(lambda: job.told.ready)
        fed.feed(200)
        job.until(fed.is_right)
        assert planned(job.told) == WHOLE
        job.until(lambda: job.told.standby.state == "warm", WARM)
        job.until(lambda: "P_O" in job.client.capacities("words"))  # of the part, before anything is split
        fed.start()

        told = job.client.switch(["words", "tagged"], "batch")
        assert told.sentence == ("'tagged' is pinned to record; take `paradigm` out of the manifest; words alone can")
        told = job.client.switch(["words"], "batch")
        assert (told.done, told.operators) == (True, ("words",))
        assert told.sentence == "words moves to batches; split there: words | tagged"
        job.until(lambda: is_split(job), WARM)
        job.until(lambda: (batch := job.segment("words").batch) and batch.records)
        fed.feed(500)

        job.client.switch(["words"], "record")
        job.until(lambda: is_whole(job))
        moves = [one for one in job.told.moves if one.partition.startswith("words/") and one.kind is MoveKind.SWITCH]
        assert {(one.source, one.target) for one in moves} == {("w0.0", "batch"), ("batch", "w0.0")}
        print("pauses:", sorted((one.target, round(one.pause_ms or 0)) for one in moves))  # noqa: T201
        fed.feed(300)

        job.client.switch(["words"], "batch")
        job.until(lambda: is_split(job), WARM)
        job.kill("driver")
        fed.feed(300)
        job.start("driver", *spark)
        job.until(lambda: is_split(job), WARM)

        job.client.switch(["words"], "record")
        job.until(lambda: planned(job.told) == WHOLE)
        job.kill("driver")  # in the middle, or nearly
        fed.feed(300)
        job.start("driver", *spark)
        job.until(lambda: is_whole(job))
        job.until(lambda: job.told.standby.state == "warm", WARM)

        job.client.switch(["words"], "batch")
        job.until(lambda: planned(job.told) == SPLIT)
        job.kill("driver")
        fed.feed(300)
        job.start("driver", *spark)
        job.until(lambda: is_split(job), WARM)
        job.client.switch(["words"], "record")
        job.until(lambda: is_whole(job))
        fed.end()
        job.until(fed.is_right)

        # The check is not blind: a line that nobody has processed is missed.
        fed.right["nothing"] += 1
        assert not fed.is_right()
