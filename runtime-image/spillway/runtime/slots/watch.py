"""Ends a call of a user's function that takes too long, so that its record becomes a dead letter and the loop goes on.

    watch = Watch(still=tell)
    watch.start()             in the main thread, which runs the programs

A thread looks at the stack of the main thread once a second. When the same call of a user's function has been there
for `LIMIT`, it sends a signal to the main thread, whose handler raises within that call: in a loop of Python at once,
and `time.sleep`, locks, sockets and sub-processes wait no longer. The error leaves the function like any other, and
the generated code makes a letter of it. It is no `Exception`, because a function that tries again for ever is likely
to catch those.

The handler raises only if the very call that was found too long is still on the stack, so no other record is taken for
it; and only if above that call there is nothing which must not end halfway:

- code of ours, such as the handler of another signal: Kafka, tables and our own loops are never broken off;
- an import, because many libraries can't be imported a second time, and all records after this one would fail;
- what is called when an object dies: an error there is printed, and forgotten.

Then the next look is for another try. (`PyThreadState_SetAsyncExc` does without a signal, but ends no sleep, and nobody
could look where it hits.)

Two kinds of calls don't end by that: C code that doesn't come back, and functions that catch everything. When it has
let go of the GIL, the watch ends the process after `FATAL`, with a traceback on standard error; when it holds the GIL
(`re` does), no thread gets to run, and the worker notices that there is no sign of life. Either way the note in the
ledger stands, and the next process is careful.

A loop that is within a program can't tell anybody that it is alive, and whoever tells the driver nothing for 3 s loses
its partitions: the next owner would be at the same record then, or at as many slow ones. So the watch says so in its
stead (`still`).

The watch asks nothing of the loop, and takes 20 µs of every second.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

PROGRAM = "<spillway program"  # how the files of generated programs begin
# What stands between a program and a user's function that takes many records at once.
_BETWEEN = "spillway.runtime.programs.vectors"

# What imports modules, and what is called when objects die; beside these, all that is named `__del__`.
_UNTOUCHABLE = ("importlib._bootstrap", "_frozen_importlib", "weakref", "_weakrefset")

# Seconds. A hundred times a slow request to another service. Shorter would end calls that merely wait for a busy
# machine; longer, and a partition stands still for longer.
LIMIT = 10.0
# Seconds. A multiple of `LIMIT`, so that a function that catches everything is asked several times before its process
# ends, with all other partitions that it has.
FATAL = 60.0
# Seconds between two looks: with what a slot reports every 250 ms, less than the 3 s after which it is taken for dead.
LOOK = 1.0
# How the process ends then: not a code that a shell or Python would give.
HUNG = 70

_log = logging.getLogger(__name__)


class TimeLimitError(BaseException):
    """A user's function took too long for this record."""


class Watch:
    """Looks after the main thread of this process. Takes the signal SIGUSR1 for itself."""

    def __init__(self, limit: float = LIMIT, fatal: float = FATAL, still: Callable[[], object] = lambda: None) -> None:
        """To stop calls between `limit` and 1.2 times as many seconds, and to end the process after `fatal`.

        `still` is called in the thread of the watch whenever a look finds a program at work: as a rule not more than
        once in `LOOK`, and while the loop does nothing but that.
        """
        self._limit, self._fatal, self._still = limit, fatal, still
        self._every = min(LOOK, limit / 10)
        self._main = threading.main_thread().ident or 0
        self._call: FrameType | None = None  # as long as we hold a frame, no other call can be mistaken for it
        self._since = 0.0
        self._overdue: FrameType | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_again_and_again, name="watch", daemon=True)

    def start(self) -> None:
        """From now on; only the main thread may say so."""
        signal.signal(signal.SIGUSR1, self._interrupt)
        self._thread.start()

    def stop(self) -> None:
        """No more. The signal has no effect from here on, rather than its own, which would end the process."""
        self._ended.set()
        self._thread.join()
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def _look_again_and_again(self) -> None:
        while not self._ended.wait(self._every):
            try:
                self._look(time.monotonic())
            except Exception:
                _log.exception("the watch could not look")  # and does so again
        self._call = self._overdue = None

    def _look(self, now: float) -> None:
        frame = sys._current_frames().get(self._main)  # noqa: SLF001 - there is no other way to look
        call = user_call(frame)
        if call is None or call is not self._call:
            self._call, self._since, self._overdue = call, now, None
        elif now - self._since >= self._fatal:
            faulthandler.dump_traceback(sys.__stderr__ or 2)
            os._exit(HUNG)
        elif now - self._since >= self._limit:
            self._overdue = call
            signal.pthread_kill(self._main, signal.SIGUSR1)
        if is_at_work(frame):
            self._still()

    def _interrupt(self, _: int, frame: FrameType | None) -> None:
        overdue = self._overdue
        while frame is not None and overdue is not None:
            if frame is overdue:
                message = f"took longer than {self._limit:g} s; it was stopped"
                raise TimeLimitError(message)
            if _is_untouchable(frame):
                return
            frame = frame.f_back


def user_call(frame: FrameType | None) -> FrameType | None:
    """The outermost frame of the user's function that a program has called, on a stack that is looked at from inside.

    None if the program is not in such a call, or none is running.
    """
    outermost = None
    while frame is not None:
        if frame.f_code.co_filename.startswith(PROGRAM):
            return outermost
        module = _module(frame)
        if module != _BETWEEN:
            outermost = None if module.startswith("spillway.") else frame
        frame = frame.f_back
    return None


def is_at_work(frame: FrameType | None) -> bool:
    """Whether a program runs on a stack."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(PROGRAM):
            return True
        frame = frame.f_back
    return False


def _is_untouchable(frame: FrameType) -> bool:
    module = _module(frame)
    return module.startswith("spillway.") or module in _UNTOUCHABLE or frame.f_code.co_name == "__del__"


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
