"""The command `spillway-worker`, as a process among processes: what it answers, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import acted_slots
import acted_worker
import programs

COMMAND = [sys.executable, str(Path(acted_worker.__file__))]
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (info|warning|error) w0(\.\d)?: .+")


class Worker:
    """A worker that runs."""

    def __init__(self, folder: Path, *scripts: list[list[list[Any]]], grace: int = 5) -> None:
        document = yaml.safe_load((programs.EXAMPLES / "ysb.yaml").read_text())
        document["spec"].setdefault("execution", {}).setdefault("workers", {})["slots"] = len(scripts)
        (folder / "job.json").write_text(json.dumps(document))
        for number, script in enumerate(scripts):
            acted_slots.write(folder, f"w0.{number}", *script)
        self.folder, self.log = folder, folder / "log"
        given = ["--job", str(folder / "job.json"), "--worker", "0", "--code", str(folder), "--grace", str(grace)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*COMMAND, *given], stderr=log)

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines()

    def get(self, path: str) -> tuple[int, Any]:
        found = re.search(r"answers on (http://127\.0\.0\.1:\d+)", self.log.read_text())
        assert found is not None
        try:
            with urllib.request.urlopen(found[1] + path, timeout=10) as answer:  # noqa: S310 - of HTTP
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def ready(self) -> bool:
        return "answers on" in self.log.read_text() and self.get("/readyz")[0] == 200

    def pids(self) -> list[int]:
        return [
            life["pid"] for file in self.folder.glob("*.lives") for life in acted_slots.lives(self.folder, file.stem)
        ]


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether it runs; one that is waited for by nobody has ended too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    started: list[Worker] = []

    def start(*scripts: list[list[list[Any]]], grace: int = 5) -> Worker:
        started.append(Worker(tmp_path, *scripts, grace=grace))
        return started[-1]

    yield start
    for worker in started:
        worker.process.kill()
        worker.process.wait()


SERVE = [["serve"]]


def test_a_worker_answers_while_it_works_and_ends_in_order(begin: Callable[..., Worker]) -> None:
    worker = begin([SERVE], [[["raise", "there is no broker\nat all"]], SERVE])
    until(worker.ready)

    assert worker.get("/healthz")[0] == 200
    _, metrics = worker.get("/metrics")
    assert 'spillway_slot_ends_total{how="exit",slot="w0.1"} 1.0' in metrics
    assert 'spillway_records_in_total{operator="counts",segment="counts"} 20.0' in metrics

    status, found = worker.get("/v1/tables/counts?key=w0.0")
    answer = json.loads(found)
    assert (status, answer["rows"]) == (200, [{"campaign_id": "w0.0", "views": 0}])
    assert worker.get("/v1/tables/counts?key=%7B%22campaign_id%22:%22w0.1%22%7D")[0] == 200
    assert worker.get("/v1/tables/counts?key=other")[0] == 503
    assert worker.get("/v1/tables/counts?key=bad") == (400, {"problem": "no key of mine"})
    assert worker.get("/v1/tables/views?key=w0.0")[0] == 404
    assert worker.get("/v1/tables/counts?key=%7B")[0] == 400
    assert worker.get("/v1/tables/counts?key=a&key=b")[0] == 400
    assert worker.get("/v1/tables/counts?keys=a")[0] == 400
    assert worker.get("/elsewhere")[0] == 404

    worker.process.send_signal(signal.SIGTERM)

    assert worker.process.wait(10) == 0
    assert "w0.0 stops within 4.5 s" in worker.lines()
    assert not any(map(alive, worker.pids()))
    said = [line for line in worker.lines() if "stops within" not in line]
    assert all(LINE.fullmatch(line) for line in said), said
    assert sum("there is no broker at all" in line for line in said) == 1


def test_no_slot_outlives_a_worker_that_is_killed_also_if_it_hangs(begin: Callable[..., Worker]) -> None:
    worker = begin([SERVE], [[["join"], ["hang"]]])
    until(worker.ready)
    pids = worker.pids()
    assert len(pids) == 2

    worker.process.kill()
    worker.process.wait()

    until(lambda: not any(map(alive, pids)))


def test_a_second_signal_ends_it_at_once(begin: Callable[..., Worker]) -> None:
    worker = begin([[["linger"]]], grace=60)
    until(worker.ready)
    assert worker.process.pid != os.getpid()

    worker.process.send_signal(signal.SIGINT)
    until(lambda: any("ends: each slot has 54 s" in line for line in worker.lines()))
    worker.process.send_signal(signal.SIGINT)

    assert worker.process.wait(5) == 1
    assert not any(map(alive, worker.pids()))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "job.json can't be read"),
        ("{", "job.json can't be read"),
        ("a: [", "job.json can't be read"),
        ('{"kind": "StreamJob"}', "apiVersion: is missing"),
    ],
    ids=["gone", "half", "no YAML", "no job"],
)
def test_a_job_that_can_not_be_run_is_one_line(content: str | None, said: str, tmp_path: Path) -> None:
    from spillway.model.errors import InvalidError
    from spillway.runtime import jobs

    if content is not None:
        (tmp_path / "job.json").write_text(content)

    with pytest.raises(InvalidError, match=re.escape(said)) as raised:
        jobs.read(tmp_path / "job.json")

    assert "\n" not in str(raised.value)


def test_help_has_an_example_that_is_right() -> None:
    from spillway.runtime.worker import main

    parser = main._parser()  # noqa: SLF001
    example = (parser.epilog or "").partition("Example: spillway-worker ")[2]

    given = parser.parse_args(example.split())

    assert (given.worker, given.slots, given.code) == (0, 2, Path("functions"))
    with pytest.raises(SystemExit):
        parser.parse_args(["--job", "job.yaml", "--worker", "-1"])
