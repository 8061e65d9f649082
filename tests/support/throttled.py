"""A slot that gets a part of a core, as under a CPU limit: it stands still for most of each tenth of a second.

That is what a quota of the kernel's scheduler does, by signals instead of a cgroup, which a test may not make.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

PERIOD = 0.1  # seconds, as the kernel has it


def slots_of(worker: int) -> list[int]:
    """Processes of the slots of a worker."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == worker and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


@contextlib.contextmanager
def to(share: float, pid: int) -> Iterator[None]:
    """Give a process this share of a core, at the most, while the block lasts."""
    ended = threading.Event()

    def turn() -> None:
        with contextlib.suppress(ProcessLookupError):
            while not ended.is_set():
                os.kill(pid, signal.SIGCONT)
                time.sleep(share * PERIOD)
                os.kill(pid, signal.SIGSTOP)
                ended.wait((1 - share) * PERIOD)
            os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=turn, name="throttle")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
