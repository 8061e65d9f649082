"""Works on a range in a process of its own, for what has failed once: a record of it may end processes.

The process notes what it is about to process (`slots.ledger`). If it ends by itself, the next one takes those messages
one at a time; and a message at which one ends again is put aside as a dead letter. So a record that ends processes
costs three of them (the first one had no notes), a second for each, and whatever time it takes to end them; each
further one of the same range costs one or two more. A range that has none costs one start.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
from collections.abc import Sequence
from multiprocessing import connection
from typing import NamedTuple

from spillway.controllers.protocol.values import Partition
from spillway.model.errors import RetryError, SpillwayError
from spillway.runtime.batch import hop
from spillway.runtime.batch.jvm import Usage
from spillway.runtime.batch.limits import Limits
from spillway.runtime.batch.ranges import Order, Range, Result
from spillway.runtime.slots.caution import Caution
from spillway.runtime.slots.ledger import Ledger
from spillway.runtime.slots.settings import Suspect
from spillway.runtime.worker import child
from spillway.runtime.worker.suspects import Suspects

# Not forked: clients have threads, and what a fork leaves of them is of no use.
_SPAWN = multiprocessing.get_context("spawn")

_log = logging.getLogger(__name__)


class Problem(NamedTuple):
    """Why a process could not do it, though it did not end of it."""

    text: str


class Alone:
    """Works on ranges on this machine: for what must be finished though there is no Spark."""

    usage = Usage(0, 0, 0.0)

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        """One after the other, each in a process of its own: a record that ends it must not end the driver."""
        return [one(order, range_) for range_ in given]

    def close(self) -> None:
        """Nothing to end."""


def one(order: Order, given: Range) -> Result:
    """Work on one range; raises RetryError where that is not because of a record."""
    suspects = Suspects(given.stop - given.start + 1)
    while True:
        ledger = Ledger()
        found, code = _tried(order, given, ledger, suspects.all)
        if isinstance(found, Result):
            return found
        if found is not None:
            raise RetryError(found.text)
        note = ledger.read()
        place = Partition(order.program.name, given.number)
        if note is None:
            message = f"the process that worked on {place} from {given.start} on ended with exit code {code}"
            raise RetryError(message)
        _log.warning("a process ended with code %s at messages %d to %d of %s", code, note.start, note.stop - 1, place)
        suspects.add(note)


def _tried(
    order: Order, given: Range, ledger: Ledger, suspects: tuple[Suspect, ...]
) -> tuple[Result | Problem | None, int | None]:
    """What one process makes of it; nothing if it ended by itself, and how."""
    ours, theirs = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=_work, args=(order, given, ledger, suspects, theirs), name="careful")
    process.start()
    theirs.close()
    try:
        found: Result | Problem | None = ours.recv()
    except (EOFError, OSError):
        found = None
    finally:
        ours.close()
        if found is not None:
            process.kill()  # all is done, and nothing that a user's code has left behind holds it up
        process.join()
    return found, process.exitcode


def _work(
    order: Order,
    given: Range,
    ledger: Ledger,
    suspects: tuple[Suspect, ...],
    pipe: connection.Connection[Result | Problem, object],
) -> None:
    """In the process."""
    child.end_with_parent()
    os.set_inheritable(pipe.fileno(), False)  # what a user's code starts must not keep it open
    try:
        with Limits(order.limit).at_work():
            found: Result | Problem = hop.some(order, [given], Caution(ledger, suspects))[0]
    except SpillwayError as error:
        found = Problem(str(error))
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        found = Problem(f"{type(error).__name__}: {error}")
    pipe.send(found)
    pipe.close()
