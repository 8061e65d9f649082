"""What runs first in the process of a slot, before the slot itself: how it ends, and what it says when it can't go on.

It never outlives the worker. An orderly slot sees the end of its pipe, but one that hangs would stay for ever, so the
kernel kills it (Linux): that loses nothing which a crash would not lose, and is the same on Kubernetes, where all
processes of a pod end with the first. The kernel looks at the thread that started the process, so that has to be the
main thread of the worker.

It takes no signals that are meant to end it: Ctrl-C reaches all processes of a terminal, and a service manager may
send SIGTERM to all. The worker hears them too, and tells its slots to end in order.
"""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

from spillway.model.errors import SpillwayError
from spillway.runtime import logs
from spillway.runtime.slots.ledger import Ledger
from spillway.runtime.slots.settings import Settings

Work = Callable[[Settings, "Connection[object, object]"], None]

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
# On this signal, a slot that hangs tells where it is, whoever holds the GIL: the handler is in C.
TELL_WHERE = signal.SIGUSR2
ENDINGS = (signal.SIGINT, signal.SIGTERM)
# Seconds between two signs of life: a small part of what the worker waits for one (`supervisor.HELD`).
BEAT = 0.5

_log = logging.getLogger(__name__)


def slot(settings: Settings, pipe: Connection[object, object]) -> None:
    """The slot itself; a worker does without all that this imports."""
    from spillway.runtime.slots import process

    process.run(settings, pipe)


def run(work: Work, settings: Settings, pipe: Connection[object, object], where: Connection[object, object]) -> None:
    """In a new process: do the work, and end with 0 if that ended in order. `where` gets what `TELL_WHERE` asks for."""
    end_with_parent()
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)  # blocked by the worker, so that none came too early
    faulthandler.enable()
    os.set_blocking(where.fileno(), False)  # rather cut off than held up
    faulthandler.register(TELL_WHERE, where.fileno(), all_threads=False)  # the main thread gets it
    for ours in (pipe, where):
        os.set_inheritable(ours.fileno(), False)  # what a user's code starts must not keep it open
    logs.begin(settings.slot)
    if settings.ledger is not None:
        threading.Thread(target=_beat, args=(settings.ledger,), name="heart", daemon=True).start()
    try:
        work(settings, pipe)
    except SpillwayError as error:
        _log.error("%s", error)  # without a traceback: it says what is wrong
        sys.exit(1)
    except Exception:
        _log.exception("ended by an error that nobody foresaw")
        sys.exit(1)


def _beat(ledger: Ledger) -> None:
    """In a thread: as long as this gets to run, no C code holds the GIL for good."""
    while True:
        ledger.beat()
        time.sleep(BEAT)


def end_with_parent() -> None:
    """Have the kernel kill this process when the thread that has started it ends; at once, if it has by now."""
    worker = multiprocessing.parent_process()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if worker is not None and os.getppid() != worker.pid:  # it was gone before that
        os._exit(1)
