"""Failpoints that are armed from outside, in processes that run already: a file says after which steps one shall die.

    arm(folder, "slot", ("stopped", "committed"))     the first slot that comes by both, in this order, is killed there
    armed(folder, "slot")                             nobody has come by yet

A process that is to die so calls `obey` when it starts. That costs a look at a file for each failpoint.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

from spillway.runtime import failpoints

FOLDER = "SPILLWAY_TEST_ARMED"  # in the environment: where the files are
_numbers = itertools.count()


def arm(folder: Path, role: str, points: Sequence[str]) -> None:
    """Have one process of this role die."""
    made = folder / f"{role}.new"
    made.write_text("\n".join([f"{next(_numbers)}", *points]))
    made.rename(folder / role)


def armed(folder: Path, role: str) -> bool:
    """Whether nobody has died of it yet."""
    return (folder / role).exists()


def disarm(folder: Path, role: str) -> None:
    """Have nobody die."""
    (folder / role).unlink(missing_ok=True)


def obey(role: str) -> None:
    """Die as told; without a folder in the environment nobody is."""
    if FOLDER in os.environ:
        failpoints.reached = _Obedient(Path(os.environ[FOLDER]) / role)


class _Obedient:
    """What a process of a role does at failpoints."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._text = ""
        self._left: list[str] = []

    def __call__(self, name: str) -> None:
        try:
            text = self._file.read_text()
        except FileNotFoundError:
            return
        with self._lock:
            if text != self._text:
                self._text, self._left = text, text.split("\n")[1:]
            if not self._left or name != self._left[0]:
                return
            del self._left[0]
            if self._left:
                return
            try:
                self._file.unlink()
            except FileNotFoundError:
                return  # another one was first
            os.kill(os.getpid(), signal.SIGKILL)
