"""One process of a slot, as its worker sees it: what it last told, what it is asked, and how it ends."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import logging
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from typing import Any

from spillway.runtime.slots.ledger import Ledger
from spillway.runtime.slots.messages import Answer, Ask, FromSlot, Stop, Told, ToSlot
from spillway.runtime.slots.settings import Settings, Suspect
from spillway.runtime.telemetry import Report
from spillway.runtime.worker import child
from spillway.runtime.worker.child import Work

Answers = queue.SimpleQueue[Answer]

_SPAWN = multiprocessing.get_context("spawn")  # a fork would take our threads' locks along, and Kafka's
# Questions that a slot has not answered yet. So many, of 8 KB each at the most (`tables`), fit into the buffer of a
# pipe: who tells a slot something never waits for one that doesn't listen.
MOST_OPEN = 16
# Seconds in which the rest of a pipe is read. It does not end if something that the slot started has kept it open:
# then it stays, with its thread, because a file that is closed while it is read may become another one.
LAST_WORDS = 1.0
# Bytes that a pipe holds.
LONGEST_STACK = 65536

_log = logging.getLogger(__name__)


class Life:
    """A process that runs a slot. It has been started once this is made.

    Attributes:
        slot: the name of the slot.
        started: when, by the monotonic clock.
        report: the last one; None before there was one.
        told: when that came; before there was one, when the process started.
    """

    def __init__(self, work: Work, settings: Settings, heard: Callable[[Life, Report], None]) -> None:
        """`heard` is called in a thread of ours with each report; the ledger is added to the settings."""
        self.slot = settings.slot
        self.report: Report | None = None
        self.started = self.told = time.monotonic()
        self._heard = heard
        self._ledger = Ledger()
        self._numbers = itertools.count(1)
        self._open: dict[int, Answers] = {}
        self._sending = threading.Lock()
        self._pipe, theirs = _SPAWN.Pipe()
        self._where, its_own = _SPAWN.Pipe(duplex=False)
        os.set_blocking(self._where.fileno(), False)
        given = (work, dataclasses.replace(settings, ledger=self._ledger), theirs, its_own)
        self._process = _SPAWN.Process(target=child.run, args=given, name=settings.slot)
        with _unsignalled():
            self._process.start()
        for end in (theirs, its_own):
            end.close()  # else the pipe would not end with the process
        self._listener = threading.Thread(target=self._listen, name=f"{self.slot} listener", daemon=True)
        self._listener.start()

    @property
    def sentinel(self) -> int:
        """Ready to be read when the process has ended; something that it started may hold it open."""
        return self._process.sentinel

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid or 0

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs. Only the main thread may ask."""
        return self._process.exitcode

    @property
    def note(self) -> Suspect | None:
        """What it is processing, or was when it ended."""
        return self._ledger.read()

    @property
    def beaten(self) -> float:
        """When its threads got to run the last time, by the monotonic clock; 0 as long as none has."""
        return self._ledger.beaten

    def stop(self, seconds: float) -> None:
        """Ask it to give everything away, and to end within so many seconds."""
        self._tell(Stop(seconds))

    def ask(self, operator: str, key: dict[str, Any], answers: Answers) -> bool:
        """Ask for the rows of a key; the answer is put there, also if it ends meanwhile. False if it can't be asked."""
        number = next(self._numbers)
        if len(self._open) >= MOST_OPEN:
            return False
        self._open[number] = answers
        if self._tell(Ask(number, operator, key)):
            return True
        self._open.pop(number, None)
        return False

    def ask_where(self) -> None:
        """Have it tell where it is, even if it hangs."""
        self._signal(child.TELL_WHERE)

    def where(self) -> str:
        """What it has told of that: a stack of Python, innermost first, or nothing."""
        try:
            return os.read(self._where.fileno(), LONGEST_STACK).decode(errors="replace").rstrip()
        except BlockingIOError:
            return ""

    def kill(self) -> None:
        """End it at once."""
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Give back what it held here, once it has ended."""
        self._process.join()
        self._where.close()
        self._listener.join(LAST_WORDS)
        if not self._listener.is_alive():
            self._pipe.close()

    def _tell(self, message: ToSlot) -> bool:
        try:
            with self._sending:
                self._pipe.send(message)
        except (OSError, ValueError):
            return False
        return True

    def _signal(self, number: int) -> None:
        # Only a process that has not been waited for; the number of any other may be another's by now.
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _listen(self) -> None:
        """In a thread of its own: a slot that is stopped in the middle of a message would hold up all others."""
        try:
            while True:
                self._take(self._pipe.recv())
        except (EOFError, OSError):
            pass  # it has ended, maybe within a message
        except Exception:
            _log.exception("%s told something that can't be read", self.slot)
        for number in tuple(self._open):
            if (answers := self._open.pop(number, None)) is not None:
                answers.put(Answer(number, found=False))

    def _take(self, message: FromSlot) -> None:
        if isinstance(message, Told):
            self.report, self.told = message.report, time.monotonic()
            self._heard(self, message.report)
        elif (answers := self._open.pop(message.number, None)) is not None:
            answers.put(message)


@contextlib.contextmanager
def _unsignalled() -> Iterator[None]:
    """Signals wait while a process is started; it begins with them blocked, and decides what they mean."""
    resource_tracker.ensure_running()  # when it starts itself, it unblocks them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, child.ENDINGS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
