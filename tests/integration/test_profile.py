"""`spillway profile`, as somebody uses it: on a real job with a real broker; and Ctrl-C, which leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

COMMAND = [sys.executable, "-m", "spillway.cli.main", "profile"]
PATIENCE = 120.0

# An operator that waits for a service, and one that gets half of it: what it costs is known, and takes no core.
CODE = """
import time

def asked(record):
    time.sleep(0.002)
    return record
"""
MANIFEST = """\
# Words are asked about, one after the other.
apiVersion: spillway.dev/v1alpha1
kind: StreamJob
metadata: {name: asking}
spec:
  kafka: {bootstrapServers: ["localhost:9092"]}
  latency: {bound: 2s, quantile: 0.99}
  streams:
    - {name: lines, topic: lines, format: raw, columns: "word string"}
  operators:
    - {name: half, input: lines, filter: "word < 'm'"}  # those before m
    - name: asked
      input: half
      python: {function: "service:asked", as: map, returns: "word string"}
      costs: {cpu: 2ms}  # a guess
  outputs:
    - {name: result, input: asked, topic: answers}
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    (tmp_path / "service.py").write_text(CODE)
    (tmp_path / "lines.txt").write_text("".join(f"{letter}{n}\n" for n in range(50) for letter in "abcdmnop"))
    (tmp_path / "job.yaml").write_text(MANIFEST)
    return tmp_path / "job.yaml"


def started(job: Path, *options: str) -> subprocess.Popen[str]:
    scratch = job.parent / "tmp"
    scratch.mkdir(exist_ok=True)
    command = [*COMMAND, str(job), "--records", str(job.parent / "lines.txt"), *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip


def left(job: Path) -> list[Path]:
    return [path for path in (job.parent / "tmp").iterdir() if path.name.startswith("spillway")]


@pytest.mark.long
def test_a_profile_finds_what_an_operator_takes_and_writes_it_down(job: Path) -> None:
    kept = job.parent / "kept.json"
    options = ("--rounds", "2", "--seconds", "1", "--tasks", "4", "--state", str(kept), "--write", "-o", "json")
    with started(job, *options) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out)
    cpu = found["costs"]["asked"]["cpu_ns"]["value"]
    # It sleeps for two; with others on the cores it sleeps for longer, and never for less.
    assert 2_000_000 < cpu < 6_000_000
    assert found["costs"]["half"]["selectivity"]["value"] == pytest.approx(0.5, abs=0.03)
    full = [one for one in found["rounds"] if one["step"] != "features"]
    assert next(one["step"] for one in found["rounds"]) == "features"
    assert 1 <= len(full) <= 2
    # Who waits gets the slots, and each more of them does as much again.
    assert found["result"]["tasks"]["half"] == 1
    assert found["result"]["tasks"]["asked"] >= len(full)
    assert found["result"]["throughput"] == max(one["throughput"] for one in full)
    assert len(found["model"]["settings"]) == 4
    written = job.read_text()
    assert "# Words are asked about" in written
    assert "# those before m" in written
    assert "# a guess" in written
    operators = {one["name"]: one for one in yaml.safe_load(written)["spec"]["operators"]}
    assert operators["asked"]["costs"]["cpu"] == found["declared"]["asked"]["cpu"]
    assert left(job) == []
    stored = json.loads(kept.read_text())
    assert len(stored["profile"]["state"]["rounds"]) == len(found["rounds"])


@pytest.mark.long
def test_ctrl_c_ends_it_in_order_and_the_next_run_goes_on(job: Path) -> None:
    kept = job.parent / "kept.json"
    with started(job, "--seconds", "1.5", "--state", str(kept)) as process:
        deadline = time.monotonic() + PATIENCE
        while not kept.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "nothing is left running" in err
    assert left(job) == []
    assert json.loads(kept.read_text())["profile"]["state"]["rounds"]
    assert "round 1" in out
