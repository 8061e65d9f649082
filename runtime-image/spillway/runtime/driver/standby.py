"""The Spark that waits for bursts: started beside the loop, once, and again when it was lost."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import structs

from spillway.model.errors import SpillwayError
from spillway.model.observation import Standby as Told
from spillway.model.observation import StandbyState as State
from spillway.runtime.batch.ranges import Order, Range, Result

# Seconds until a start that failed is tried again. What is missing (Java, memory) seldom comes by itself.
AGAIN = 60.0
MEASURE = 2.0  # seconds between two looks at what it takes
# Seconds that a Spark is kept that nobody wants, where none is kept warm: bursts come in groups, and each start is some
# seconds of a core, in which the burst goes on.
SPARE = 300.0
NONE_GRANTED = "no executors are granted, so nothing can run in batches"

_log = logging.getLogger(__name__)


class Usage(Protocol):
    """What a runner takes: bytes that are resident, and seconds of processor time so far."""

    @property
    def memory(self) -> int:
        """Bytes."""

    @property
    def cpu(self) -> float:
        """Seconds."""


class Runner(Protocol):
    """Who works on the ranges of an intent."""

    @property
    def usage(self) -> Usage:
        """What it takes."""

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        """All of them, or BatchError."""

    def close(self) -> None:
        """End it."""


class Resizable(Runner, Protocol):
    """A runner that is started ahead, and that may have executors: those of a cluster."""

    @property
    def executors(self) -> int | None:
        """How many there are; None where it has none but itself."""

    def resize(self, count: int) -> None:
        """Have so many of them, as soon as they can be had."""


Start = Callable[[int], Resizable]  # with so many executors; blocks for some seconds


class Standby:
    """Starts one, and says how it is. Any thread may ask."""

    def __init__(self, start: Start | None, *, executors: bool = False) -> None:
        """`start` is None where there is to be none; `executors`: whether it has some that somebody has to grant."""
        self._start = start
        self._lock = threading.Lock()
        self._runner: Resizable | None = None
        self._gone: Resizable | None = None  # what is left of it has to be ended
        self._granted: int | None = None
        self._asked: int | None = None  # so many executors it was told to have
        self._there = 0 if executors else None
        self._told = Told(State.OFF)
        self._again = 0.0
        self._measured = (0.0, 0.0)  # when, and the processor time by then
        self._wanted = 0.0  # when somebody wanted one last
        self._ends = False  # it is being ended, though it works
        self._tends = False

    @property
    def told(self) -> Told:
        """How it is."""
        with self._lock:
            return self._told

    @property
    def possible(self) -> bool:
        """Whether there could be one."""
        return self._start is not None

    @property
    def runner(self) -> Runner | None:
        """It, if it is warm."""
        with self._lock:
            return self._runner

    @property
    def executors(self) -> int | None:
        """How many there were when that was looked at last; None where it has none but itself."""
        with self._lock:
            return self._there

    def grant(self, executors: int) -> None:
        """It may have so many; with 0 there is none, and nothing can run in batches."""
        with self._lock:
            self._granted = executors

    def want(self, executors: int = 1) -> None:
        """Have one from now on: starts it, unless that is done or under way, or has failed a moment ago.

        It gets as many executors as are granted; `executors` as long as nobody has granted any.
        """
        with self._lock:
            self._wanted = time.monotonic()
            waits = self._ends or (self._told.state is State.FAILED and self._wanted < self._again)
            if self._start is None or waits or self._told.state in (State.STARTING, State.WARM):
                return
            count = executors if self._granted is None else self._granted
            if count == 0:
                self._told = Told(State.OFF, NONE_GRANTED)
                return
            self._told, self._asked = Told(State.STARTING), count
            before, self._gone = self._gone, None
        arguments = (functools.partial(self._start, count), before)
        threading.Thread(target=self._started, args=arguments, name="standby", daemon=True).start()

    def spare(self) -> None:
        """Nobody wants one now, and none is to be kept warm: it is ended when that has been so for a while."""
        with self._lock:
            if self._told.state is State.OFF:
                self._told = Told(State.OFF)  # that none is granted is in nobody's way
            if time.monotonic() < self._wanted + SPARE:
                return
        self._end(Told(State.OFF), f"nothing has run in batches for {SPARE:.0f} s")

    def _end(self, told: Told, why: str) -> None:
        """End it beside the loop, if it is there; this is told from then on."""
        with self._lock:
            runner = self._runner
            if runner is None:
                return
            self._runner, self._ends = None, True
            self._told = structs.replace(self._told, problem=told.problem)  # it is off when it has ended
        _log.info("Spark is ended, for %s", why)
        threading.Thread(target=self._ended, args=(runner, told), name="standby", daemon=True).start()

    def _ended(self, runner: Resizable, told: Told) -> None:
        runner.close()
        with self._lock:
            self._ends, self._told = False, told
            self._there = None if self._there is None else 0

    def measure(self) -> None:
        """Have it as large as it is granted; and look what it takes, now and then: each look reads some files."""
        with self._lock:
            runner, granted, asked = self._runner, self._granted, self._asked
        if runner is None:
            return
        if granted == 0:
            self._end(Told(State.OFF, NONE_GRANTED), "no executors are granted")
            return
        now = time.monotonic()
        due = now >= self._measured[0] + MEASURE
        count = granted if granted != asked else None
        if self._there is not None and not self._tends and (due or count is not None):
            self._tends = True  # beside the loop, for its JVM may be busy
            threading.Thread(target=self._tended, args=(runner, count), name="standby", daemon=True).start()
        if due:
            self._look(runner, now)

    def _look(self, runner: Resizable, now: float) -> None:
        usage, (at, before) = runner.usage, self._measured
        self._measured = now, usage.cpu
        with self._lock:
            if self._runner is runner:
                cpu = (usage.cpu - before) / (now - at) if at else None
                self._told = structs.replace(self._told, memory=usage.memory, cpu=cpu)

    def _tended(self, runner: Resizable, count: int | None) -> None:
        """Resize it, where that is due, and count its executors. What went wrong is tried again."""
        try:
            if count is not None:
                runner.resize(count)
                _log.info("Spark is to have %d executors", count)
            there = runner.executors
        except SpillwayError as error:
            _log.warning("executors could not be seen to: %s", error)
        else:
            with self._lock:
                if self._runner is runner:
                    self._asked = self._asked if count is None else count
                    self._there = there
        self._tends = False

    def lost(self, runner: Runner, why: str) -> None:
        """It does nothing any more; the next `want` starts another one."""
        with self._lock:
            if self._runner is not runner:
                return
            self._runner, self._gone = None, self._runner
            self._told, self._again = Told(State.FAILED, why), 0.0
            self._there = None if self._there is None else 0
        _log.warning("Spark is gone: %s", why)

    def close(self) -> None:
        """End it."""
        with self._lock:
            ends, self._runner, self._gone, self._start = (self._runner, self._gone), None, None, None
        for runner in ends:
            if runner is not None:
                runner.close()

    def _started(self, start: Callable[[], Resizable], before: Resizable | None) -> None:
        """There can only be one, so what is left of the one before is ended first."""
        began = time.monotonic()
        if before is not None:
            before.close()
        try:
            runner = start()
        except SpillwayError as error:
            _log.warning("no batches: %s", error)
            with self._lock:
                self._told, self._again = Told(State.FAILED, str(error)), time.monotonic() + AGAIN
            return
        seconds = time.monotonic() - began
        _log.info("Spark is warm after %.1f s", seconds)
        with self._lock:
            self._measured = (0.0, 0.0)
            self._runner, self._told = runner, Told(State.WARM, seconds=seconds)
            self._there = None if self._there is None else self._asked
            closed = self._start is None
        if closed:
            runner.close()
