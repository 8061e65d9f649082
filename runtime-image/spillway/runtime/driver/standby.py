"""The Spark that waits for bursts: started beside the loop, once, and again when it was lost."""

from __future__ import annotations

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


class Standby:
    """Starts one, and says how it is. Any thread may ask."""

    def __init__(self, start: Callable[[], Runner] | None) -> None:
        """`start` blocks for some seconds; None where there is to be none."""
        self._start = start
        self._lock = threading.Lock()
        self._runner: Runner | None = None
        self._gone: Runner | None = None  # what is left of it has to be ended
        self._told = Told(State.OFF)
        self._again = 0.0
        self._measured = (0.0, 0.0)  # when, and the processor time by then
        self._wanted = 0.0  # when somebody wanted one last
        self._ends = False  # it is being ended, though it works

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

    def want(self) -> None:
        """Have one from now on: starts it, unless that is done or under way, or has failed a moment ago."""
        with self._lock:
            self._wanted = time.monotonic()
            waits = self._ends or (self._told.state is State.FAILED and self._wanted < self._again)
            if self._start is None or waits or self._told.state in (State.STARTING, State.WARM):
                return
            self._told = Told(State.STARTING)
            before, self._gone = self._gone, None
        threading.Thread(target=self._started, args=(self._start, before), name="standby", daemon=True).start()

    def spare(self) -> None:
        """Nobody wants one now, and none is to be kept warm: it is ended when that has been so for a while."""
        with self._lock:
            runner = self._runner
            if runner is None or time.monotonic() < self._wanted + SPARE:
                return
            self._runner, self._ends = None, True
        _log.info("Spark is ended, for nothing has run in batches for %.0f s", SPARE)
        threading.Thread(target=self._spared, args=(runner,), name="standby", daemon=True).start()

    def _spared(self, runner: Runner) -> None:
        runner.close()
        with self._lock:
            self._told, self._ends = Told(State.OFF), False

    def measure(self) -> None:
        """Look what it takes, now and then; each look reads some files of the system."""
        runner, now = self.runner, time.monotonic()
        if runner is None or now < self._measured[0] + MEASURE:
            return
        usage, (at, before) = runner.usage, self._measured
        self._measured = now, usage.cpu
        with self._lock:
            if self._runner is runner:
                cpu = (usage.cpu - before) / (now - at) if at else None
                self._told = structs.replace(self._told, memory=usage.memory, cpu=cpu)

    def lost(self, runner: Runner, why: str) -> None:
        """It does nothing any more; the next `want` starts another one."""
        with self._lock:
            if self._runner is not runner:
                return
            self._runner, self._gone = None, runner
            self._told, self._again = Told(State.FAILED, why), 0.0
        _log.warning("Spark is gone: %s", why)

    def close(self) -> None:
        """End it."""
        with self._lock:
            ends, self._runner, self._gone, self._start = (self._runner, self._gone), None, None, None
        for runner in ends:
            if runner is not None:
                runner.close()

    def _started(self, start: Callable[[], Runner], before: Runner | None) -> None:
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
            closed = self._start is None
        if closed:
            runner.close()
