"""Bounds what records can do to the process that works on them: so that a bad one costs itself, and not the batch.

    limits = Limits(10.0)          once in a process, in its main thread
    with limits.at_work(): ...

| what a user's function does | what becomes of it |
|---|---|
| takes too long | `slots.watch` ends the call, and the record is a dead letter |
| takes too long, and catches everything | `slots.watch` ends the process |
| calls C code that holds the interpreter | a watchdog in C ends the process |
| takes all memory | beyond `MEMORY` it gets a MemoryError, and the record is a dead letter |
| ends the process | that |

A process that ends takes its range along, on which the next one works with care (`isolation`).

The watchdog is `faulthandler`'s: a thread that needs no interpreter, and has to be put off again and again by one that
does. Slots do without it, because their worker looks after them; a Python worker of Spark has nobody.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import sys
import threading
from collections.abc import Iterator

from spillway.runtime.slots.watch import Watch

# Seconds in which no thread of Python gets to run: as long as a worker grants its slots. Shorter: a machine that is
# overloaded would lose processes that only crawl.
HELD = 20.0
# How often it is put off: some times in that, for the same reason.
BEAT = 4.0
# Limits of one call, after which a process whose call does not end is ended itself: as in slots.
FATAL = 6.0
# The environment variable with the bytes of memory that a process may have beside its code. No limit without it.
MEMORY = "SPILLWAY_WORKER_MEMORY"


class Limits:
    """Of this process. Takes SIGUSR1, and `faulthandler.dump_traceback_later`, for itself."""

    def __init__(self, limit: float, held: float = HELD) -> None:
        """`limit` is for one call of a user's function, in seconds."""
        self.limit = limit
        self._held = held
        self._lock = threading.Lock()
        self._busy = False
        self._watch = Watch(limit, FATAL * limit)
        self._watch.start()
        self._ended = threading.Event()
        threading.Thread(target=self._put_off, name="watchdog", daemon=True).start()
        bound_memory()

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Within, threads of Python have to get to run."""
        self._arm(busy=True)
        try:
            yield
        finally:
            self._arm(busy=False)

    def stop(self) -> None:
        """No more, for others to come: one process has one at a time."""
        self._ended.set()
        self._arm(busy=False)
        self._watch.stop()

    def _arm(self, *, busy: bool) -> None:
        with self._lock:
            self._busy = busy
            if busy:
                faulthandler.dump_traceback_later(self._held, exit=True, file=sys.__stderr__ or 2)
            else:
                faulthandler.cancel_dump_traceback_later()

    def _put_off(self) -> None:
        while not self._ended.wait(min(BEAT, self._held / 5)):
            with self._lock:
                if self._busy and not self._ended.is_set():
                    faulthandler.dump_traceback_later(self._held, exit=True, file=sys.__stderr__ or 2)


def bound_memory() -> None:
    """Have this process raise MemoryError where it would take too much.

    Should the machine be out of memory for all that, the kernel takes this process, which costs a range, rather than
    Spark or the driver.
    """
    most = int(os.environ.get(MEMORY, "0"))
    if most > 0:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
