"""The process of a slot: one life after another, until its worker says that it is enough."""

from __future__ import annotations

import gc
import logging
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import msgspec

from spillway.model.errors import SpillwayError
from spillway.runtime import failpoints, telemetry
from spillway.runtime.clients import Access
from spillway.runtime.slots import queries, reporting
from spillway.runtime.slots.library import Library
from spillway.runtime.slots.life import Life
from spillway.runtime.slots.messages import Ask, Stop, Told
from spillway.runtime.slots.settings import Settings
from spillway.runtime.slots.watch import Watch
from spillway.runtime.telemetry import Report

log = logging.getLogger(__name__)

# Seconds between two looks at the pipe: a question waits for it, and a look costs some microseconds.
LOOK = 0.01
# Seconds between two collections of garbage. Rows don't make cycles, but users' functions may. What survives is not
# looked at again (`gc.freeze`): with a million rows, each full collection would stop the loop for a second.
COLLECT = 20.0
# Seconds in which another thread may hold the interpreter: restoring and committing go on beside the loop, and each
# record that comes meanwhile would wait for five milliseconds, which is the default.
SWITCH = 0.001
# Seconds. A life that lasted so long did not fail for what it began with, so the next begins at once. Else the second
# in a row waits half a second, and each further one twice as long, up to `LONGEST_REST`: each life costs the control
# log a message, and all partitions of the slot a takeover.
STABLE = 60.0
LONGEST_REST = 10.0
# Seconds for which it is told why a life ended: somebody who looks sees it, and it is not taken for what is.
TOLD = 60.0
# Limits of one call of a user's function, after which a process whose call does not end is ended itself: see `watch`.
FATAL = 6.0
# Seconds for the last commit when nobody waits for us any more.
LAST = 5.0


Run = Callable[[Settings, Connection], None]


class Process:
    """What stays over all lives."""

    def __init__(self, settings: Settings, pipe: Connection) -> None:
        self._settings, self._pipe = settings, pipe
        self._access = Access(settings.job.spec.kafka, settings.secret, f"spillway-{settings.slot}")
        self._library = Library(settings.code)
        self._began = time.monotonic()
        self._look_due = self._tell_due = self._collect_due = 0.0
        self._ends: float | None = None  # when to end, whatever is left
        self._row = 0  # lives that ended soon, one after the other
        self._problem = ("", 0.0)  # why the last life ended, and until when that is told
        self._last: tuple[Life, Report] | None = None

    def run(self) -> None:
        """Live until somebody says stop."""
        while self._ends is None or time.monotonic() < self._ends:
            self._began = began = time.monotonic()
            try:
                if self._live():
                    return
            except SpillwayError as error:
                if self._ends is not None:
                    return
                failpoints.reached("gone")
                self._row = 0 if time.monotonic() - began >= STABLE else self._row + 1
                log.warning("begins anew: %s", error)
                self._problem = str(error), time.monotonic() + TOLD
                self._rest(min(LONGEST_REST, 2.0 ** (self._row - 3)) if self._row > 1 else 0.0)
            # Clients and who listens to them hold one another: without this, each life would leave its threads behind.
            gc.unfreeze()
            gc.collect()

    def _rest(self, seconds: float) -> None:
        """Before the next life, unless the worker wants us to end."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._stopped(0.1):
            pass

    def _stopped(self, seconds: float = 0.0) -> bool:
        """Whether the worker wants us to end; for when there is nothing yet that it could be told."""
        try:
            if self._pipe.poll(seconds) and isinstance(said := self._pipe.recv(), Stop):
                self._ends = time.monotonic() + said.seconds
        except (EOFError, OSError):
            self._ends = time.monotonic()
        return self._ends is not None

    def still(self) -> None:
        """Called by the watch, beside a loop that is within a program: all is well, only slow."""
        if self._settings.ledger is not None:
            self._settings.ledger.beat()
        if self._last is None:
            return
        life, found = self._last
        now = time.time()
        again = msgspec.structs.replace(found, at=now, up=found.up + now - found.at)
        life.emitter.tell(life.names.telemetry, 0, found.slot.encode(), telemetry.encode(again))

    def _why(self) -> str:
        """Why the life before this one ended, if that was lately."""
        return self._problem[0] if time.monotonic() < self._problem[1] else ""

    def _live(self) -> bool:
        """One life; whether it was the last."""
        life = Life(self._settings, self._access, self._library, self._stopped, self._why())
        log.info("joined as %s", life.me)
        self._began = time.monotonic()
        try:
            while not self._over(life):
                life.step()
                self._attend(life)
            life.drain(LAST)
        finally:
            self._last = None
            life.close()
        return True

    def _over(self, life: Life) -> bool:
        return self._ends is not None and (life.empty or time.monotonic() >= self._ends - LAST)

    def _attend(self, life: Life) -> None:
        """Everything that is due now and then."""
        now = time.monotonic()
        if now >= self._look_due:
            self._look_due = now + LOOK
            self._hear(life)
        if now >= self._tell_due:
            self._tell_due = now + telemetry.EVERY
            self._tell(life)
        if now >= self._collect_due:
            self._collect_due = now + COLLECT
            gc.collect()
            gc.freeze()

    def _hear(self, life: Life) -> None:
        """What the worker says; a worker that is gone can say nothing, and nobody else ends this process."""
        try:
            while self._pipe.poll():
                match self._pipe.recv():
                    case Stop(seconds):
                        self._ends = time.monotonic() + seconds
                    case Ask() as ask:
                        self._pipe.send(queries.answer(ask, life.places.values()))
        except (EOFError, OSError):
            self._ends = time.monotonic()

    def _tell(self, life: Life) -> None:
        leaving = self._ends is not None
        found: Report = reporting.report(
            life, began=self._began, leaving=leaving, address=self._settings.address, problem=self._why()
        )
        self._last = life, found
        life.emitter.send(life.names.telemetry, 0, found.slot.encode(), telemetry.encode(found))
        failpoints.reached("reported")
        try:
            self._pipe.send(Told(found))
        except OSError:
            self._ends = time.monotonic()


def run(settings: Settings, pipe: Connection) -> None:
    """The main function of the process."""
    for number in (signal.SIGINT, signal.SIGTERM):  # they are the worker's to hear, and it says `Stop`
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    process = Process(settings, pipe)
    Watch(settings.limit, FATAL * settings.limit, process.still).start()
    sys.setswitchinterval(SWITCH)
    gc.disable()
    try:
        process.run()
    except SpillwayError as error:
        log.error("%s: %s", settings.slot, error)
        sys.exit(1)
