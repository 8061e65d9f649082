"""What processes do within bounds, and without: each in one of its own."""

from __future__ import annotations

import os
import time

import pytest

from spillway.runtime.batch import limits
from spillway.runtime.batch.limits import Limits


def holds() -> None:
    """C code that holds the interpreter."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the watchdog writes
    with Limits(5.0, 0.5).at_work():
        sum(range(10**12))


def sleeps() -> None:
    with Limits(5.0, 0.5).at_work():
        time.sleep(1.5)
    time.sleep(0.7)


def rests() -> None:
    made = Limits(5.0, 0.3)
    with made.at_work():
        pass
    made.stop()
    sum(range(10**8))


def eats() -> None:
    os.environ[limits.MEMORY] = str(1 << 30)
    limits.bound_memory()
    with pytest.raises(MemoryError):
        bytearray(2 << 30)
    bytearray(100 << 20)
