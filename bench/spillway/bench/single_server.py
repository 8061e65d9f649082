"""One server, records with deadlines, and who decides what is next: LAT's schedulers beside FIFO, EDF and Dover.

A simulation without a clock: work takes what the record says, and deciding takes nothing. What deciding takes is
measured apart (`decisions`).
"""

from __future__ import annotations

import dataclasses
import heapq
import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from spillway.controllers.scheduling import Grain, Item, RecordScheduler


class Arrival(NamedTuple):
    """When a record comes, and what it is."""

    at: int
    item: Item


class Queue(Protocol):
    """Who decides what is next."""

    def put(self, item: Item, now: int) -> None:
        """A record has come."""

    def take(self, now: int) -> Item | None:
        """What to serve now."""


class Fifo:
    """First come, first served: what a consumer does without a scheduler."""

    def __init__(self) -> None:
        self._waiting: list[Item] = []
        self._next = 0

    def put(self, item: Item, now: int) -> None:
        """Add to the end."""
        self._waiting.append(item)

    def take(self, now: int) -> Item | None:
        """Take from the front."""
        if self._next == len(self._waiting):
            return None
        self._next += 1
        return self._waiting[self._next - 1]


class EarliestDeadline:
    """Earliest deadline first, nothing refused: optimal without overload."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Item]] = []

    def put(self, item: Item, now: int) -> None:
        """Add by deadline."""
        heapq.heappush(self._waiting, (item.deadline, item.payload, item))

    def take(self, now: int) -> Item | None:
        """Take the earliest deadline."""
        return heapq.heappop(self._waiting)[2] if self._waiting else None


class Spillway:
    """Ours, as `RecordScheduler` decides."""

    def __init__(self, grain: Grain) -> None:
        self._scheduler = RecordScheduler(grain)

    def put(self, item: Item, now: int) -> None:
        """Insert."""
        self._scheduler.insert(item)

    def take(self, now: int) -> Item | None:
        """Whatever is next, on time or late."""
        return self._scheduler.next(now).item


def on_time(arrivals: Sequence[Arrival], queue: Queue) -> tuple[int, int]:
    """How many records were done by their deadline, and how many were done at all."""
    now = kept = done = 0
    coming = iter(arrivals)
    ahead = next(coming, None)
    while True:
        while ahead is not None and ahead.at <= now:
            queue.put(ahead.item, ahead.at)
            ahead = next(coming, None)
        item = queue.take(now)
        if item is not None:
            now += item.cost
            done += 1
            kept += now <= item.deadline
        elif ahead is not None:
            now = ahead.at
        else:
            return kept, done


@dataclasses.dataclass(slots=True)
class _Job:
    item: Item
    left: int
    waiting: bool = False

    def latest_start(self) -> int:
        return self.item.deadline - self.left


class Dover:
    """D-over (Koren and Shasha): the best possible guarantee in overload, against which LAT 5.2 compares.

    Preemptive, so with an advantage over the others here. Records run by deadline. One that waits and reaches its
    latest start takes over if its value exceeds (1 + √k)·(value of what runs and of what was preempted for it), with
    k ≥ 1 the ratio of the largest to the least value per cost; else it is abandoned. Here every record has value 1
    (LAT 4), so none can take over.
    """

    def __init__(self) -> None:
        self._now = 0
        self._free = 0  # for how long something more urgent could run before a privileged one would be late
        self._running: _Job | None = None
        self._privileged: list[tuple[_Job, int, int]] = []  # preempted without overload: job, when, what was free
        self._waiting: list[tuple[int, int, _Job]] = []  # by deadline
        self._alarms: list[tuple[int, int, _Job]] = []  # by latest start

    def on_time(self, arrivals: Sequence[Arrival]) -> int:
        """How many records were done by their deadline."""
        kept = 0
        for arrival in (*arrivals, None):
            until = arrival.at if arrival else None
            kept += self._run(until)
            if arrival:
                self._now = max(self._now, arrival.at)
                self._release(_Job(arrival.item, arrival.item.cost))
        return kept

    def _run(self, until: int | None) -> int:
        """Work until then, or until nothing is left."""
        kept = 0
        while self._running is not None:
            end = self._now + self._running.left
            while self._alarms and not self._alarms[0][2].waiting:
                heapq.heappop(self._alarms)
            alarm = self._alarms[0][0] if self._alarms else None
            if alarm is not None and alarm < end and (until is None or alarm <= until):
                heapq.heappop(self._alarms)[2].waiting = False
            elif until is None or end <= until:
                self._work_until(end)
                kept += end <= self._running.item.deadline
                self._complete()
            else:
                self._work_until(until)
                return kept
        return kept

    def _work_until(self, end: int) -> None:
        if self._running is not None:
            self._running.left -= end - self._now
        self._now = end

    def _release(self, job: _Job) -> None:
        current = self._running
        if job.latest_start() < self._now:
            return
        if current is None:
            self._start(job, job.latest_start() - self._now)
        elif job.item.deadline < current.item.deadline and self._free >= job.left:
            self._privileged.append((current, self._now, self._free))
            self._start(job, min(self._free - job.left, job.latest_start() - self._now))
        else:
            self._wait(job)

    def _complete(self) -> None:
        self._running = None
        candidate = self._earliest_waiting()
        if self._privileged:
            job, since, free = self._privileged[-1]
            free -= self._now - since
            if candidate and candidate.item.deadline < job.item.deadline and free >= candidate.left:
                heapq.heappop(self._waiting)
                self._privileged[-1] = (job, self._now, free)
                self._start(candidate, min(free - candidate.left, candidate.latest_start() - self._now))
            else:
                self._privileged.pop()
                self._start(job, free)
        elif candidate:
            heapq.heappop(self._waiting)
            self._start(candidate, candidate.latest_start() - self._now)

    def _wait(self, job: _Job) -> None:
        job.waiting = True
        heapq.heappush(self._waiting, (job.item.deadline, job.item.payload, job))
        heapq.heappush(self._alarms, (job.latest_start(), job.item.payload, job))

    def _earliest_waiting(self) -> _Job | None:
        while self._waiting and not self._waiting[0][2].waiting:
            heapq.heappop(self._waiting)
        return self._waiting[0][2] if self._waiting else None

    def _start(self, job: _Job, free: int) -> None:
        job.waiting = False
        self._running, self._free = job, free


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """Poisson arrivals on one server. `dear` is the share of records that cost `dear_cost` instead of `cost`.

    With `batch`, records come in mini-batches at multiples of it, and those of one share a deadline (LAT 5: B_in of
    5 ms). Without, each comes alone, after up to `jitter` of the bound was spent on its way.
    """

    count: int
    gap: float
    bound: int
    cost: int
    dear_cost: int = 0
    dear: float = 0.0
    jitter: float = 0.0
    batch: int = 0

    @property
    def offered(self) -> float:
        """Work through capacity: above 1 is overload."""
        return (self.cost * (1 - self.dear) + self.dear_cost * self.dear) / self.gap

    def fluid(self) -> float:
        """The share that could be on time if work could be cut at will: cheap ones first, then dear ones."""
        if self.cost * (1 - self.dear) >= self.gap:
            return self.gap / self.cost
        room = (self.gap - self.cost * (1 - self.dear)) / self.dear_cost if self.dear else 1.0
        return 1 - self.dear + min(self.dear, room)

    def arrivals(self, seed: int) -> list[Arrival]:
        """The same records for the same seed."""
        draw, now, found = random.Random(seed), 0.0, []  # noqa: S311 - a load, no secret
        for payload in range(self.count):
            now += draw.expovariate(1 / self.gap)
            cost = self.dear_cost if draw.random() < self.dear else self.cost
            at = round(now) if not self.batch else math.ceil(now / self.batch) * self.batch
            due = at + round(self.bound * (1 - self.jitter * draw.random()))
            found.append(Arrival(at, Item(due, cost, payload)))
        return found


def shares(load: Load, seed: int, grain: Grain) -> dict[str, float]:
    """The share of records on time under each queue."""
    arrivals = load.arrivals(seed)
    queues: dict[str, Callable[[], Queue]] = {
        "fifo": Fifo,
        "edf": EarliestDeadline,
        "spillway": lambda: Spillway(Grain()),
        "spillway, coarse": lambda: Spillway(grain),
    }
    found = {name: on_time(arrivals, queue())[0] / load.count for name, queue in queues.items()}
    found["dover"] = Dover().on_time(arrivals) / load.count
    return found
