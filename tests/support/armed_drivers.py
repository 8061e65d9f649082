"""Drivers that end themselves at a failpoint, as a crash there would; to be run in processes of their own."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from pathlib import Path

from armed_slots import signals
from spillway.runtime.driver.driver import Files
from spillway.runtime.driver.main import Process

# Seconds for which a number of workers is granted; each time partitions move.
GRANT = 0.7


def dying(point: str, file: Path) -> None:
    """A driver that is killed when it comes by a point."""
    signals(signal.SIGKILL, point, 1)
    restless(file)


def restless(file: Path) -> None:
    """A driver that is granted two workers, one, two, and so on."""
    process = Process(Files(file), "127.0.0.1", 0, lambda: False)

    def grant() -> None:
        for workers in itertools.cycle([2, 1]):
            process._grant(workers)  # noqa: SLF001 - as a manager does by HTTP
            time.sleep(GRANT)

    threading.Thread(target=grant, daemon=True).start()
    process.run()
