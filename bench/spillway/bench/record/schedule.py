"""When events are due: event i at start + i / rate, whatever became of those before it.

A generator that waits for the system under test, or sleeps for a while after each event, sends less just when the
system is slow, and the waiting of events that it never sent is in no figure (coordinated omission). So the schedule is
absolute, each event carries the time at which it was *due*, and latency counts from there: if the generator is late,
its lateness is in the latency too, and beyond `LATEST` the run doesn't count.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from spillway.bench.record import figures

# Seconds that 99.9 % of the events may be sent late. Larger, and the figure is about the generator.
LATEST = 0.005
FIRST = -20  # the best that there is for who is no real-time process


@contextlib.contextmanager
def precedence() -> Iterator[None]:
    """The generator is no part of the system: what starts or works on the same cores must not make it late.

    This holds for the thread that asks, and for those that it starts meanwhile; so ask once the client is there, and
    for no longer than it sends. With precedence for its threads too, a client whose broker is busy took a whole core
    from that very broker.
    """
    with contextlib.suppress(PermissionError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError, AttributeError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def go_first() -> None:
    """This process, which does nothing but send, goes before others that want the same cores; short of real time.

    Who paces waits for locks of a client, whose own threads have no `precedence`: one that lost its core while it held
    a lock was late by 40 to 130 ms, now and then, where seven others wanted two cores. What a session of a terminal
    gets is shared with all of it (autogroups), so it gets one of its own.
    """
    with contextlib.suppress(OSError):
        os.setsid()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, FIRST)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(FIRST), encoding="ascii")


@dataclasses.dataclass(frozen=True, slots=True)
class Schedule:
    """So many events, evenly, from `start` on: seconds since 1970."""

    start: float
    rate: float
    count: int

    def due(self, event: int) -> float:
        """When an event is due."""
        return self.start + event / self.rate


@dataclasses.dataclass(frozen=True, slots=True)
class Lateness:
    """How late a generator was, in seconds, over all its events."""

    p50: float
    p999: float
    most: float

    @property
    def is_void(self) -> bool:
        """Whether what was measured with it doesn't count."""
        return not self.p999 <= LATEST


def lateness(seconds: list[float]) -> Lateness:
    """What became of a schedule, from how late each event was sent."""
    return Lateness(
        figures.quantile(seconds, 0.5), figures.quantile(seconds, 0.999), max(seconds, default=float("nan"))
    )


class Pacer:
    """Goes through a schedule, and keeps how late it was.

    Paced by the clock that nobody sets, from one reading of the other one on: a step of the wall clock would move all
    events that come after it.
    """

    def __init__(
        self,
        schedule: Schedule,
        *,
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._schedule, self._clock, self._sleep = schedule, clock, sleep
        self._start = clock() + schedule.start - wall()
        self.late: list[float] = []

    def events(self) -> Iterator[tuple[int, float]]:
        """Each event with its due time, once it is due."""
        for event in range(self._schedule.count):
            due = self._start + event / self._schedule.rate
            while (left := due - self._clock()) > 0:
                self._sleep(left)
            self.late.append(self._clock() - due)
            yield event, self._schedule.due(event)
