"""A process that is kept running: when it ends by itself it is started again, as a worker does it with its slots.

This is for what nobody else of ours looks after: the driver, and the workers. `restarts` says when.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

from spillway.runtime.worker import restarts

SHOWN = 12  # lines of a log


class Running(Protocol):
    """What is needed of a process; `process.Process` is one."""

    pid: int

    def running(self) -> bool:
        """Whether it has not ended yet."""

    def exit_code(self) -> int | None:
        """With what it ended."""

    def ask_to_end(self) -> None:
        """Ask it to end."""

    def stop(self, patience: timedelta) -> None:
        """Ask it to end, and kill it when it does not."""

    def kill(self) -> None:
        """End it at once."""

    def log_tail(self, lines: int = 20) -> str:
        """The end of what it printed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """A process ended by itself.

    Attributes:
        code: with this exit code; 128 + n by signal n.
        tail: the end of what it printed.
        again: seconds until it is started again.
        row: how often in a row it has ended so soon.
    """

    code: int | None
    tail: str
    again: float
    row: int


class Kept:
    """One process, over all of its lives.

    Attributes:
        lives: how often it was started.
        row: how often in a row it has ended soon after a start.
        leaving: it was asked to end, and is not started again.
    """

    def __init__(self, start: Callable[[], Running], clock: Callable[[], float]) -> None:
        self._start = start
        self._clock = clock
        self._process: Running | None = None
        self._since = 0.0
        self._due: float | None = None
        self._restarts = restarts.Restarts()
        self.lives = 0
        self.row = 0
        self.leaving = False

    @property
    def pid(self) -> int | None:
        """The process id; None while it does not run."""
        return self._process.pid if self._process is not None and self._process.running() else None

    def start(self) -> None:
        """Start it, for the first time or again."""
        self._due = None
        self._process = self._start()
        self._since = self._clock()
        self.lives += 1

    def look(self) -> Ended | None:
        """Start it again if that is due; what became of it, if it has ended since the last look."""
        if self.leaving or self._process is None:
            return None
        now = self._clock()
        if self._due is not None:
            if now >= self._due:
                self.start()
            return None
        if self._process.running():
            return None
        ran = now - self._since
        self.row = 1 if ran >= restarts.STABLE else self.row + 1
        again = self._restarts.pause(ran)
        self._due = now + again
        ended = Ended(self._process.exit_code(), self._process.log_tail(SHOWN), again, self.row)
        self._process.kill()  # what it has left behind
        return ended

    def ask_to_end(self) -> None:
        """Ask it to end; it is not started again."""
        self.leaving = True
        if self._process is not None:
            self._process.ask_to_end()

    def gone(self) -> bool:
        """Whether it does not run any more."""
        return self._process is None or not self._process.running()

    def stop(self, patience: timedelta) -> None:
        """Ask it to end, and kill it when it does not; it is not started again."""
        self.leaving = True
        if self._process is not None:
            self._process.stop(patience)

    def kill(self) -> None:
        """End it at once; it is not started again."""
        self.leaving = True
        if self._process is not None:
            self._process.kill()
