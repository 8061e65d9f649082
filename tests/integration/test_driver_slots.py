"""A driver with a real worker: an edge is emptied before its reader changes, and no word is lost or overtaken."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import kafka_records
from driven import LINES, WIDTH, Job, Running, until
from spillway.local.broker import Broker
from spillway.model.observation import MoveKind
from spillway.runtime.driver import driver as driver_module

WORDS = [f"word-{number}" for number in range(20)]
CHUNKS, EVERY = 25, 0.1  # of one line with all words for each partition


@pytest.fixture
def job(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    monkeypatch.setattr("spillway.controllers.topics.width", lambda _: WIDTH)
    monkeypatch.setattr(driver_module, "LOOK", 0.1)
    found = Job(broker, tmp_path)
    yield found
    for started in reversed(found.started):
        started.end()


@contextlib.contextmanager
def worker(job: Job, slots: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "spillway.runtime.worker", "--job", str(job.file), "--worker", "0"]
    log = job.file.with_suffix(".log")
    with log.open("wb") as to, subprocess.Popen([*command, "--slots", str(slots)], stderr=to) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(15)


def feed(job: Job) -> None:
    for _, partition in itertools.product(range(CHUNKS), range(LINES)):
        kafka_records.produce(job.broker.bootstrap, f"{job.prefix}lines", [" ".join(WORDS)], partition)
        time.sleep(EVERY / LINES)


def renamed(job: Job, name: str) -> None:
    """Another operator counts from here on; the edge to the one before goes."""
    spec = job.document["spec"]
    spec["operators"][2]["name"] = spec["outputs"][0]["input"] = name
    job.write()


def counts(job: Job) -> dict[str, list[int]]:
    """Of each word, in the order in which they came."""
    found: dict[str, list[int]] = {word: [] for word in WORDS}
    total = CHUNKS * LINES * len(WORDS)
    for text in kafka_records.consume(job.broker.bootstrap, f"{job.prefix}counts", total):
        row = json.loads(text)
        found[row["word"]].append(row["occurrences"])
    return found


def row(driver: Running, operator: str, word: str) -> int | None:
    """What the table has; None without a row, and while its partition is on the move."""
    status, found = driver.ask("GET", f"/v1/tables/{operator}?key={word}")
    assert status in (200, 404, 503), found
    return found["rows"][0]["occurrences"] if status == 200 and found["rows"] else None


def test_an_edge_is_emptied_before_another_operator_reads_on(job: Job) -> None:
    job.topics()
    driver = job.drive()
    with worker(job, 2):
        until(lambda: driver.told.ready)
        feeding = threading.Thread(target=feed, args=(job,))
        feeding.start()
        until(lambda: row(driver, "counts", WORDS[0]))
        renamed(job, "tallies")
        until(lambda: row(driver, "tallies", WORDS[0]))
        feeding.join()
        found = counts(job)
        before = {word: numbers.index(1, 1) for word, numbers in found.items()}  # where the other one begins to count
        after = {word: CHUNKS * LINES - number for word, number in before.items()}
        assert found == {word: [*range(1, n + 1), *range(1, after[word] + 1)] for word, n in before.items()}
        until(lambda: {word: row(driver, "tallies", word) for word in WORDS} == after)
        until(lambda: driver.condition("RollOut").status and driver.told.ready)
        observed = driver.told
        assert driver.condition("Accepted").reason == "Valid"
        assert {move.kind for move in observed.moves} >= {MoveKind.START, MoveKind.PROGRAM, MoveKind.REST}
        resized = [move.partition for move in observed.moves if move.kind is MoveKind.RESIZE]
        assert len(resized) == len(set(resized)), "a partition was moved to and fro"
        assert observed.latency.within is not None
        assert observed.recommended.slots == 1
        driver.grant(0)
        until(lambda: not any(slot.partitions for slot in driver.told.slots))
