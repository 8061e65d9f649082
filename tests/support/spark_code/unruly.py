"""A function that does what its record says, to itself and to its process."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def called(record: Record) -> Record:
    """The record, unless it says otherwise."""
    match record["what"]:
        case "raise":
            raise ValueError(record["k"])
        case "die once":
            _once(record["note"])
        case "exit":
            os._exit(3)
        case "spin":
            while True:
                pass
        case "insist":
            _insist()
        case "hold":
            re.match(r"(a*)*b", "a" * 40)
        case "eat":
            record["note"] = str(len(bytearray(1 << 33)))
        case "rest":
            time.sleep(0.005)
    return record


def _once(note: str) -> None:
    """Somebody kills this process, the first time."""
    if not Path(note).exists():
        Path(note).touch()
        os.kill(os.getpid(), signal.SIGKILL)


def _insist() -> None:
    """It can't be stopped from inside."""
    while True:
        try:
            time.sleep(1)
        except BaseException:  # noqa: S112 - that is the point
            continue
