"""Keeps the slots of a worker running: starts them, starts them again when they end, and ends them in order.

Two kinds of slots that don't end by themselves are killed. One whose threads don't get to run any more (`HELD`): C code
that a user's function has called holds the GIL, and nothing within the process can do anything about it. And one that
was at work, runs, but has told nothing for very long (`SILENT`). Both are asked before where they are, by a signal
whose handler is in C. Whatever it was that ended a slot: messages that it was at become suspects of those that come
after it (`suspects`).

Before its first report a slot may be silent as long as it takes Kafka to be there.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import logging
import math
import signal
import time
from collections.abc import Callable, Sequence
from multiprocessing import connection

from spillway.runtime.slots.settings import Settings, Suspect
from spillway.runtime.telemetry import Report
from spillway.runtime.worker.child import Work
from spillway.runtime.worker.life import Life
from spillway.runtime.worker.restarts import Restarts
from spillway.runtime.worker.suspects import Suspects

# Seconds without a sign of life, of which there are two in each. By then the driver has long given the partitions to
# others. Shorter: a machine that is overloaded would lose slots that only crawl, and starting them anew is more load.
HELD = 20.0
# Seconds without a report, of which there are four in each, though there are signs of life. A loop that waits for a
# broker tells nothing either, and goes on at once when that is back, where a new process would restore all tables; so
# this is longer than brokers are away, and only for what nobody foresaw. After a tenth of it we say that it is silent.
SILENT = 600.0
# Seconds between asking a slot where it is and killing it. If we have been asleep ourselves, what it told meanwhile is
# read by then.
LAST_CHANCE = 1.0
# Seconds between two looks when nothing happens; ends of processes are noticed at once.
TICK = 0.2
# Seconds after a process seems to have ended until it can be waited for: microseconds, but never a busy loop.
SOON = 0.01
# The part of the grace period that slots are given, so that we end within it too, however late they are.
OURS = 0.9

_log = logging.getLogger(__name__)


class End(enum.StrEnum):
    """How a process of a slot ended by itself."""

    EXIT = "exit"
    SIGNAL = "signal"
    HANG = "hang"


@dataclasses.dataclass(slots=True, eq=False)
class Seat:
    """A slot, whether a process of it runs or not.

    Attributes:
        name: of the slot.
        life: its process; None between two.
        due: when the next one is started.
        asked: when the process was asked where it hangs.
        warned: whether it was said that it tells nothing.
        ends: how often it ended by itself, and how.
        restarts: how long to wait.
    """

    name: str
    life: Life | None = None
    due: float = 0.0
    asked: float | None = None
    warned: bool = False
    ends: collections.Counter[End] = dataclasses.field(default_factory=collections.Counter)
    restarts: Restarts = dataclasses.field(default_factory=Restarts)


class Supervisor:
    """Of all slots of a worker. Its methods are called in the main thread; others may read its attributes.

    Attributes:
        seats: the slots.
        turned: when the loop came round the last time, by the monotonic clock.
        suspects: messages that slots have died of, maybe.
    """

    def __init__(
        self,
        work: Work,
        settings: Settings,
        slots: Sequence[str],
        heard: Callable[[Life, Report], None],
        *,
        held: float = HELD,
        silent: float = SILENT,
    ) -> None:
        """`settings` are those of every slot but for its name; `heard` gets their reports, in other threads."""
        self.seats = tuple(Seat(name) for name in slots)
        self.turned = time.monotonic()
        self.suspects = Suspects()
        self._work, self._settings, self._heard = work, settings, heard
        self._held, self._silent = held, silent

    def run(self, asked: Callable[[], int], grace: float) -> bool:
        """Until it has been asked to end, then for the grace period at the most; whether all slots ended in order."""
        try:
            while not asked():
                self.step()
            return self.stop(asked, grace)
        finally:
            self._kill()  # else Python would wait for them, should this have raised

    def step(self) -> None:
        """Look after each slot, then wait until something happens."""
        now = self.turned = time.monotonic()
        for seat in self.seats:
            if seat.life is not None:
                self._look(seat, seat.life, now)
            if seat.life is None and now >= seat.due:
                self._start(seat, now)
        self._wait()

    def stop(self, asked: Callable[[], int], grace: float) -> bool:
        """Let all slots end in order; those that don't are killed, and asked a second time, all are at once."""
        until = time.monotonic() + grace
        _log.info("ends: each slot has %g s to give its partitions away", OURS * grace)
        for seat in self.seats:
            if seat.life is not None:
                seat.life.stop(OURS * grace)
        orderly = True
        while left := [(seat, seat.life) for seat in self.seats if seat.life is not None]:
            self.turned = time.monotonic()
            hurried = asked() > 1
            if hurried or self.turned >= until:
                why = "it was asked a second time" if hurried else f"the grace period of {grace:g} s is over"
                _log.warning("kills %s, because %s", ", ".join(seat.name for seat, _ in left), why)
                self._kill()
            for seat, life in left:
                if life.code is not None:
                    seat.life = None
                    life.close()
                    orderly = orderly and life.code == 0
                    _log.info("%s %s", seat.name, _manner(life.code))
            self._wait()
        return orderly

    def _kill(self) -> None:
        for seat in self.seats:
            if seat.life is not None:
                seat.life.kill()
                seat.life.close()

    def _look(self, seat: Seat, life: Life, now: float) -> None:
        if life.code is not None:
            self._ended(seat, life, life.code, now)
            return
        beaten, quiet = life.beaten, now - life.told
        held = now - max(beaten, life.told) if beaten else 0.0
        if held >= self._held or (quiet >= self._silent and life.report is not None):
            self._hung(seat, life, now, max(held, quiet))
            return
        seat.asked = None
        if quiet < self._silent / 10:
            seat.warned = False
        elif not seat.warned:
            seat.warned = True
            what = "has not joined yet" if life.report is None else "tells nothing"
            _log.warning("%s %s, for %.1f s: it runs, and may wait for Kafka", seat.name, what, quiet)

    def _hung(self, seat: Seat, life: Life, now: float, quiet: float) -> None:
        if seat.asked is None:
            seat.asked = now
            _log.error("%s has given no sign of life for %.1f s; it is asked where it is", seat.name, quiet)
            life.ask_where()
        elif now - seat.asked >= LAST_CHANCE:
            _log.error("%s hangs: %s", seat.name, life.where() or "it did not say where")
            life.kill()
            seat.asked = math.inf  # and that is all there is to do

    def _ended(self, seat: Seat, life: Life, code: int, now: float) -> None:
        """A process has ended, and nobody had asked it to."""
        how = End.HANG if seat.asked is not None else End.SIGNAL if code < 0 else End.EXIT
        seat.ends[how] += 1
        seat.life, seat.asked, seat.warned = None, None, False
        pause = seat.restarts.pause(now - life.started)
        seat.due = now + pause
        note = life.note
        if note is not None:
            self.suspects.add(note)
        life.close()
        _log.error(
            "%s %s%s; it is started again %s",
            seat.name,
            "was killed, because it hung" if how is End.HANG else _manner(code),
            "" if note is None else f" while it was at {_shown(note)}",
            f"in {pause:g} s" if pause else "at once",
        )

    def _start(self, seat: Seat, now: float) -> None:
        settings = dataclasses.replace(self._settings, slot=seat.name, suspects=self.suspects.all)
        try:
            seat.life = Life(self._work, settings, self._heard)
        except OSError as error:  # out of processes, memory or files
            pause = seat.restarts.pause(0.0)
            seat.due = now + pause
            _log.error("%s can't be started: %s; it is tried again in %g s", seat.name, error, pause)

    def _wait(self) -> None:
        living = [seat.life.sentinel for seat in self.seats if seat.life is not None]
        if not living:
            time.sleep(TICK)
        elif connection.wait(living, TICK):
            time.sleep(SOON)


def _manner(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"ended by signal {-code}"


def _shown(note: Suspect) -> str:
    last = f" to {note.stop - 1}" if note.stop - note.start > 1 else ""
    return f"{note.segment}/{note.number}, message {note.start}{last}"
