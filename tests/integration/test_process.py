"""A child process on its leash: how it starts, how it ends, and that it ends with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

import remains
from spillway.local import process
from spillway.local.process import Process

PATIENCE = timedelta(seconds=10)
NONE = timedelta(seconds=0.2)


def started(tmp_path: Path, *command: str) -> Process:
    return Process(command, tmp_path / "log", folder=tmp_path)


def waiting(tmp_path: Path, preparation: str) -> Process:
    """A Python program that is prepared and waits for a signal; its command line names `tmp_path`."""
    program = f"import signal, sys\n{preparation}\nprint('waits', flush=True)\nwhile True: signal.pause()"
    child = started(tmp_path, sys.executable, "-c", program, str(tmp_path))
    assert remains.within(PATIENCE, lambda: "waits" in child.log_tail())
    return child


def test_it_runs_in_its_folder_and_writes_into_the_log(tmp_path: Path) -> None:
    child = started(tmp_path, "sh", "-c", "pwd; echo wrong >&2; exit 3")
    assert remains.within(PATIENCE, lambda: not child.running())
    assert child.exit_code() == 3
    assert child.log_tail() == f"{tmp_path}\nwrong"
    child.kill()


def test_the_tail_of_the_log_is_that_of_this_run(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("first\n")
    child = started(tmp_path, "echo", "second")
    assert remains.within(PATIENCE, lambda: not child.running())
    child.kill()
    assert child.log_tail() == "second"
    assert (tmp_path / "log").read_text() == "first\nsecond\n"


def test_a_program_that_is_not_there_says_so_in_the_log(tmp_path: Path) -> None:
    child = started(tmp_path, "no-such-program")
    assert remains.within(PATIENCE, lambda: child.exit_code() == 127)
    assert child.log_tail() == "no-such-program could not be started: No such file or directory"
    child.kill()


def test_it_can_end_in_order_when_it_is_stopped(tmp_path: Path) -> None:
    child = waiting(tmp_path, "signal.signal(signal.SIGTERM, lambda *_: sys.exit('in order'))")
    child.stop(PATIENCE)
    assert child.log_tail().endswith("in order")
    assert child.exit_code() == 1


def test_a_stop_right_after_the_start_is_not_lost(tmp_path: Path) -> None:
    for _ in range(20):
        child = started(tmp_path, "sleep", "600")
        child.stop(PATIENCE)
        assert child.exit_code() == 128 + signal.SIGTERM


def test_it_is_killed_when_it_does_not_stop(tmp_path: Path) -> None:
    child = waiting(tmp_path, "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    child.stop(NONE)
    assert child.exit_code() == 128 + signal.SIGKILL
    assert not remains.processes(str(tmp_path))


def test_what_it_started_itself_ends_with_it(tmp_path: Path) -> None:
    child = started(tmp_path, "sh", "-c", f"sh -c 'sleep 600; true' {tmp_path} & exit 0")
    assert remains.within(PATIENCE, lambda: not child.running() and not remains.processes(str(tmp_path)))
    child.kill()


def test_a_second_kill_or_stop_does_nothing(tmp_path: Path) -> None:
    child = started(tmp_path, "sleep", "600")
    child.kill()
    child.kill()
    child.stop(PATIENCE)
    assert child.exit_code() == 128 + signal.SIGKILL


def test_it_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    children: list[Process] = []
    thread = threading.Thread(target=lambda: children.append(started(tmp_path, "sleep", "600")))
    thread.start()
    thread.join()
    (child,) = children
    assert not remains.within(NONE, lambda: not child.running())
    child.kill()


@pytest.mark.parametrize("ending", ["time.sleep(600)", "sys.exit(0)", "os.abort()"])
def test_it_ends_with_its_parent_and_the_folder_is_removed(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    program = f"""
import os, pathlib, sys, time
from spillway.local import process
from spillway.local.process import Process
folder = pathlib.Path({str(folder)!r})
child = Process(["sh", "-c", "while true; do echo more > file; sleep 0.01; done", folder], folder / "log",
    folder=folder, removed_with_us=folder)
print(child.pid, flush=True)
{ending}
"""
    (pid,) = remains.told_by_a_parent_that_is_then_killed(program)
    assert remains.gone(folder)
    assert not Path(f"/proc/{pid}").exists()


def test_it_ends_when_its_parent_is_killed_before_the_leash_has_answered(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    leash = [sys.executable, "-I", "-S", str(process.LEASH), str(folder), "sleep", "600"]
    gone, answers = os.pipe()
    os.close(gone)
    with subprocess.Popen(leash, stdin=subprocess.DEVNULL, stdout=answers, stderr=subprocess.PIPE, text=True) as left:
        os.close(answers)
        _, complaint = left.communicate(timeout=10)
    assert complaint == ""
    assert left.returncode == 128 + signal.SIGKILL
    assert not folder.exists()


def test_it_ends_with_its_parent_though_a_forked_sibling_lives_on(tmp_path: Path) -> None:
    program = f"""
import os, pathlib, time
from spillway.local import process
from spillway.local.process import Process
child = Process(["sleep", "600"], pathlib.Path({str(tmp_path)!r}) / "log", folder={str(tmp_path)!r})
sibling = os.fork()
if sibling:
    print(child.pid, sibling, flush=True)
time.sleep(600)
"""
    pid, sibling = map(int, remains.told_by_a_parent_that_is_then_killed(program))
    try:
        assert Path(f"/proc/{sibling}").exists()
        assert remains.within(PATIENCE, lambda: not Path(f"/proc/{pid}").exists())
    finally:
        os.kill(sibling, signal.SIGKILL)
