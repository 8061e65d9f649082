"""A worker with a real slot on a real broker: a record that ends its process is put aside, and all others come out."""

from __future__ import annotations

import collections
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from running_job import RunningJob, running
from spillway.local.broker import Broker

JOB = """
apiVersion: spillway.dev/v1alpha1
kind: StreamJob
metadata: {name: deadly, namespace: test}
spec:
  latency: {bound: 1s}
  streams: [{name: lines, topic: deadly.lines, format: raw, columns: "line string"}]
  operators:
    - {name: seen, input: lines, python: {function: "deadly:seen", as: map, returns: "line string"}}
  outputs: [{name: result, input: seen, topic: deadly.result}]
"""
CODE = """
import os

def seen(record):
    if record["line"] == "deadly":
        os._exit(9)
    return record
"""


@pytest.fixture
def job(broker: Broker, tmp_path: Path) -> Iterator[RunningJob]:
    document: dict[str, Any] = yaml.safe_load(JOB)
    document["spec"]["kafka"] = {"bootstrapServers": [broker.bootstrap]}
    (tmp_path / "job.json").write_text(json.dumps(document))
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "deadly.py").write_text(CODE)
    with running(document, partitions=1, code=tmp_path / "code") as found:
        yield found


@pytest.fixture
def worker(job: RunningJob, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    module = [sys.executable, "-m", "spillway.runtime.worker"]
    given = ["--job", str(tmp_path / "job.json"), "--worker", "0", "--code", str(tmp_path / "code"), "--grace", "15"]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen([*module, *given], stderr=log) as process:
        yield process
        process.kill()


def test_a_record_that_ends_its_process_is_put_aside_and_all_others_come_out(
    job: RunningJob, worker: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    lines = [f"line {number}" for number in range(100)]
    lines[50] = "deadly"
    job.driver.until(lambda: job.driver.me.log.living("w0.0") is not None)
    job.spread("w0.0")

    job.feed("deadly.lines", [line.encode() for line in lines])
    job.finish()

    log = (tmp_path / "log").read_text()
    assert log.count("ended with exit code 9") in (2, 3), log  # 3 if it came alone
    assert "while it was at lines/0, message 50;" in log or "while it was at seen/0, message 50;" in log, log
    (letter,) = [msgspec.json.decode(value or b"") for _, value in job.records(job.driver.names.dead)]
    assert (letter["offset"], "was put aside" in letter["error"]) == (50, True)
    found = collections.Counter(msgspec.json.decode(value or b"")["line"] for _, value in job.output("result"))
    assert found.keys() == set(lines) - {"deadly"}

    worker.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 20
    job.driver.want()
    while worker.poll() is None and time.monotonic() < deadline:
        job.driver.step(0.02)
    assert worker.returncode == 0, (tmp_path / "log").read_text()
