"""Ctrl-C and its relatives, taken as a wish: the first asks for an end in order, the second for one at once.

A signal may come between any two lines. As an exception it would tear whatever is under way, and so it only is one
where nothing can be torn: inside of `raising`, and when it comes for the second time, when nothing has to be kept.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Self

# A closed terminal (SIGHUP) is no reason to leave work undone either.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AT_ONCE = 2
# Seconds in which one wish may come twice: a terminal tells all of its foreground, and what started us there (`make`,
# `uv run`, `timeout`) often passes it on. Longer: somebody who means it presses again.
ECHO = 0.5


class Interrupts:
    """The signals that ask this process to end, as long as the block lasts; for the main thread.

    Attributes:
        count: how many have come.
    """

    def __init__(self) -> None:
        self.count = 0
        self._raising = False
        self._first = 0.0

    def __enter__(self) -> Self:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._before = {number: signal.signal(number, self._heard) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    def ask(self) -> None:
        """Ask for an end in order from within, as if a signal had come."""
        self.count = max(self.count, 1)
        self._first = self._first or time.monotonic()

    def wait(self, seconds: float) -> None:
        """Do nothing for so long, or until a signal comes."""
        if select.select([self._read], [], [], seconds)[0]:
            os.read(self._read, 64)

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """While the block lasts a signal raises KeyboardInterrupt: for what takes long, and leaves nothing behind."""
        if self.count:
            raise KeyboardInterrupt
        self._raising = True
        try:
            yield
        finally:
            self._raising = False

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.count == 1 and now - self._first < ECHO:
            return
        self._first = self._first or now
        self.count += 1
        with contextlib.suppress(BlockingIOError):
            os.write(self._write, b"!")
        # Later ones do not raise: they would tear the end at once.
        if self._raising or self.count == AT_ONCE:
            raise KeyboardInterrupt
