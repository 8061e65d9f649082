"""What it takes to work through a full topic: of a job in our slots, and of whatever else reads the same topics.

The system is warmed up with some records, stopped as by Ctrl-Z, its topic filled by a process that ends, and then let
go: so nobody but the system and the broker works, all of the records count and nothing else does, and it has as much to
do as it can. Its processor time is read from outside, with all that it has started. Who stands in a consumer group
stays in it: a session lasts longer than the fill.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from spillway.bench.record import logs, processes

PATIENCE = 240.0
LOOK = 0.02  # seconds between two looks at the output: a hundredth of the shortest runs
WARM = 4_000  # records: programs are compiled, clients know their partitions, tables have their entries


class StalledError(Exception):
    """The output did not come, or has more than it should."""


class Subject(Protocol):
    """What can be measured."""

    @property
    def processes(self) -> tuple[int, ...]:
        """Process ids; what they have started counts too."""

    @property
    def source(self) -> str:
        """The topic that it reads."""

    @property
    def output(self) -> str:
        """The topic that it writes."""

    def look(self) -> None:
        """Raise if it has ended."""


class Drain(NamedTuple):
    """What it took to work through a topic.

    Attributes:
        records: that came in.
        cpu: seconds of processor time of each process, with all that it has started.
        wall: seconds.
    """

    records: int
    cpu: tuple[float, ...]
    wall: float

    @property
    def micros(self) -> float:
        """Of processor time for each record, all together."""
        return sum(self.cpu) / self.records * 1e6

    @property
    def busiest(self) -> float:
        """The same of the process that has the most: what the others have to wait for."""
        return max(self.cpu) / self.records * 1e6

    @property
    def rate(self) -> float:
        """Records in a second of wall time."""
        return self.records / self.wall


def drained(subject: Subject, bootstrap: str, workload: str, records: int, outputs: Callable[[int], int]) -> Drain:
    """Work through so many records; `outputs` says how many messages the first so many records make."""
    processes.fresh(logs.fill, bootstrap, subject.source, workload, 0, WARM)
    _until(subject, bootstrap, outputs(WARM))
    with stopped(subject.processes):
        processes.fresh(logs.fill, bootstrap, subject.source, workload, WARM, records)
        before, since = _cpu(subject), time.monotonic()
    _until(subject, bootstrap, outputs(WARM + records))
    wall = time.monotonic() - since
    return Drain(records, tuple(b - a for a, b in zip(before, _cpu(subject), strict=True)), wall)


class stopped:  # noqa: N801 - reads as a verb
    """Keeps processes from doing anything, with all that they have started."""

    def __init__(self, roots: Iterable[int]) -> None:
        self._all = [process for root in roots for process in processes.tree(root)]

    def __enter__(self) -> None:
        for process in self._all:
            os.kill(process, signal.SIGSTOP)
        # A thread that runs on another core goes on until it is next interrupted.
        patience = time.monotonic() + 1
        while not all(map(processes.stands, self._all)) and time.monotonic() < patience:
            time.sleep(0.001)

    def __exit__(self, *_: object) -> None:
        for process in self._all:
            os.kill(process, signal.SIGCONT)


def _cpu(subject: Subject) -> tuple[float, ...]:
    return tuple(processes.total(processes.cpu, processes.tree(root)) for root in subject.processes)


def _until(subject: Subject, bootstrap: str, wanted: int) -> None:
    """Wait for the output."""
    watch, patience = logs.Watch(bootstrap, subject.output), time.monotonic() + PATIENCE
    while (count := watch.count()) < wanted:
        subject.look()
        if time.monotonic() > patience:
            message = f"topic {subject.output!r} has {count} of {wanted} messages after {PATIENCE:.0f} s"
            raise StalledError(message)
        time.sleep(LOOK)
    watch.close()
    if count > wanted:
        message = f"topic {subject.output!r} has {count} messages, and {wanted} would be right"
        raise StalledError(message)
