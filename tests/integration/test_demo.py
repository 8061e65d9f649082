"""`spillway demo`, as somebody sees it for the first time: it works, it is judged, and nothing stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import remains

STOOD_STILL = "its owner was lost: nothing was heard of it"
COMMAND = [sys.executable, "-m", "spillway.cli.main", "demo"]


@contextlib.contextmanager
def running(scratch: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A demonstration whose temporary files are in a folder of their own; killed if the block has not ended it."""
    scratch.mkdir(exist_ok=True)
    with subprocess.Popen(
        [*COMMAND, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
        env={**os.environ, "TMPDIR": str(scratch)},
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def upto(process: subprocess.Popen[str], part: str) -> str:
    """Everything that it prints, up to a line with this part."""
    assert process.stdout is not None
    told = ""
    for line in process.stdout:
        told += line
        if part in line:
            return told
    pytest.fail(f"{part!r} was never printed, only:\n{told}")


def _shown(scratch: Path, report: Path) -> tuple[int, str]:
    """A whole demonstration: its exit code, and what it told."""
    with running(scratch, "--seconds", "60", "--report", str(report)) as process:
        overdue = threading.Timer(400, process.kill)
        overdue.start()
        try:
            told = upto(process, "report        ")
            return process.wait(remains.PATIENCE.total_seconds()), told
        finally:
            overdue.cancel()


def nothing_left(scratch: Path) -> bool:
    return remains.within(remains.PATIENCE, lambda: not remains.processes(str(scratch))) and not any(scratch.iterdir())


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("up")
@pytest.mark.parametrize("moment", ["started the driver", "warm-up"])
def test_it_can_be_interrupted_at_any_time_and_leaves_nothing_behind(tmp_path: Path, moment: str) -> None:
    scratch = tmp_path / "tmp"
    with running(scratch) as process:
        upto(process, moment)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: all of its foreground
        told = upto(process, "interrupted")

        assert process.wait(remains.PATIENCE.total_seconds()) == 130
    assert "Traceback" not in told
    assert nothing_left(scratch)


def test_what_is_missing_is_said_with_the_way_to_get_it() -> None:
    hidden = "import sys, importlib.util as u; real = u.find_spec; " \
        "u.find_spec = lambda n, *a: None if n == 'duckdb' else real(n, *a); " \
        "from spillway.cli.main import main; sys.argv = ['spillway', 'demo']; main()"  # fmt: skip

    done = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr == "spillway demo needs duckdb: pip install 'spillway[demo]'\n"


@pytest.mark.broker
@pytest.mark.chaos  # two minutes: it goes with what takes long
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("kafka")
def test_everything_is_right_at_its_end(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    code, told = _shown(tmp_path / "tmp", report)
    if STOOD_STILL in " ".join(told.split()):
        # Its outputs are at-least-once: what a machine that stands still for seconds has them repeat is no mistake,
        # and no demonstration. Anything else by which an owner is lost is told, and is one.
        code, told = _shown(tmp_path / "tmp", report)

    assert code == 0, told
    found = json.loads(report.read_text())
    assert found["right"]
    assert found["lost"] == found["duplicated"] == found["wrong"] == 0
    assert found["records_in"] > 1_000
    assert [phase["name"] for phase in found["phases"]] == [
        "warm-up", "measuring", "low", "burst", "low again", "higher burst", "low at last",
    ]  # fmt: skip
    assert sum(phase["sent"] for phase in found["phases"]) == found["records_in"]
    assert max(map(len, told.splitlines())) <= 80 + len(str(report))
    assert nothing_left(tmp_path / "tmp")
