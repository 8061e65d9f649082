"""What a test left behind on this machine: processes, listening ports, directories; read from /proc, so Linux only."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

PATIENCE = timedelta(seconds=10)


def processes(word: str) -> list[str]:
    """The command lines, of all processes but zombies, that contain a word: the path of a directory of the test."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):  # it ended while we looked
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if word in command:
                    found.append(f"{entry.name}: {command}")
    return found


def within(patience: timedelta, condition: Callable[[], bool]) -> bool:
    """Whether a condition comes true in time."""
    deadline = time.monotonic() + patience.total_seconds()
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def gone(directory: Path) -> bool:
    """Whether a directory, and every process that was started with it, is gone before our patience is."""
    return within(PATIENCE, lambda: not directory.exists() and not processes(str(directory)))


def told_by_a_parent_that_is_then_killed(program: str) -> list[str]:
    """Run a Python program until it prints a line, kill it (SIGKILL), and return the words of that line."""
    support = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": support}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment, text=True
    ) as parent:
        assert parent.stdout is not None
        words = parent.stdout.readline().split()
        parent.kill()
    return words
