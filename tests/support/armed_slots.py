"""Slots that end or stop themselves at a failpoint, as a crash there would; for processes of their own."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection

from spillway.runtime import failpoints
from spillway.runtime.slots import life, process
from spillway.runtime.slots.settings import Settings


def signals(number: signal.Signals, point: str, hits: int) -> None:
    """This process gets a signal when it comes by the point for the n-th time."""
    left = hits

    def reached(name: str) -> None:
        nonlocal left
        if name == point:
            left -= 1
            if not left:
                os.kill(os.getpid(), number)

    failpoints.reached = reached


def dying(point: str, hits: int, settings: Settings, pipe: Connection) -> None:
    """A slot that is killed at a point; it trims ten times as often, for lives are short."""
    signals(signal.SIGKILL, point, hits)
    eager(settings, pipe)


def stopping(point: str, hits: int, settings: Settings, pipe: Connection) -> None:
    """A slot that stops at a point, until somebody lets it go on: then it is a zombie."""
    signals(signal.SIGSTOP, point, hits)
    eager(settings, pipe)


def eager(settings: Settings, pipe: Connection) -> None:
    """A slot that trims ten times as often."""
    life.TRIM_EVERY = 0.5  # type: ignore[attr-defined]
    process.run(settings, pipe)
