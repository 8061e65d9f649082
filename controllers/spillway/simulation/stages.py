"""One segment with its queue: record by record on its slots, or in batches on the cores of the engine."""

from __future__ import annotations

import dataclasses
import math

from spillway.controllers.costmodel.flow import Node
from spillway.model.operators import Paradigm
from spillway.simulation.crews import Aside, Crew
from spillway.simulation.jobs import Job, Platform
from spillway.simulation.lanes import Lane, Parcel

INFINITE = math.inf  # records per second, of what costs nothing


@dataclasses.dataclass(slots=True)
class Batch:
    """Records that are done together."""

    until: float
    parcels: list[Parcel]
    records: float


@dataclasses.dataclass(slots=True)
class Counters:
    """What is counted from one look of a policy to the next, and in the whole run."""

    came: float = 0.0
    done: float = 0.0
    busy: float = 0.0  # slot-seconds, or core-seconds


class Stage:
    """A segment at work. What it has done in a step is returned, for those who read it."""

    def __init__(self, job: Job, node: Node, crew: Crew, platform: Platform) -> None:
        self.name = node.name
        self.topic = node.is_topic  # its records are there as soon as they come
        self.crew = crew
        self.platform = platform
        self.speedup = job.speedup.get(node.name, 1.0)
        self.most = job.partitions.get(node.name)
        self.paradigm = Paradigm.RECORD
        self.lane = Lane()
        self.cores_asked = 0
        self.cores = 0.0  # what it gets of them
        self.batch: Batch | None = None
        self.next_batch = 0.0
        self.prepared: float | None = None  # until when a switch is prepared, or until when it pauses
        self.pausing = False
        self.last_came = self._came_before = 0.0  # in the step before, and until then
        self.seen, self.total = Counters(), Counters()

    @property
    def queue(self) -> float:
        """Records that came and are not done."""
        apart = [aside.lanes[self.name].records for aside in self._asides]
        return self.lane.records + math.fsum(apart) + (self.batch.records if self.batch else 0.0)

    @property
    def size(self) -> tuple[int, Paradigm]:
        """The slots that work on most of it, or as many as its cores are worth."""
        if self.paradigm is Paradigm.BATCH:
            return int(self.cores * self.speedup), self.paradigm
        return self.crew.main, self.paradigm

    @property
    def wants(self) -> float:
        """Records that could be done at once: those that wait, and as many as came in the last step."""
        return self.lane.records + self.last_came if self.paradigm is Paradigm.RECORD and not self.pausing else 0.0

    @property
    def oldest(self) -> float | None:
        """When the first of what waits was born."""
        lanes = [self.lane, *(aside.lanes[self.name] for aside in self._asides)]
        firsts = [lane.parcels[0].born for lane in lanes if lane.parcels]
        if self.batch:
            firsts.append(self.batch.parcels[0].born)
        return min(firsts, default=None)

    def late(self, born: float) -> float:
        """Records that wait and were born before then."""
        parcels = [*self.lane.parcels, *(self.batch.parcels if self.batch else ())]
        for aside in self._asides:
            parcels += aside.lanes[self.name].parcels
        return math.fsum(parcel.records for parcel in parcels if parcel.born < born)

    @property
    def switching(self) -> bool:
        """Whether it is on the way to the other paradigm."""
        return self.prepared is not None

    @property
    def _asides(self) -> list[Aside]:
        return [aside for aside in self.crew.asides if self.name in aside.lanes]

    def divide(self, aside: Aside) -> None:
        """Some partitions are apart; so is what waits for them."""
        apart = self._asides
        left = 1 - sum(other.share for other in apart if other is not aside)
        aside.lanes[self.name] = self.lane.take(min(1.0, aside.share / left) if left > 0 else 1.0)

    def reunite(self, aside: Aside) -> None:
        """They are back."""
        self.lane.join(aside.lanes.pop(self.name))

    def put(self, records: float, born: float, came: float) -> None:
        """What comes, each partition's share to where it is."""
        self.seen.came += records
        self.total.came += records
        if not self.crew.asides:
            self.lane.put(records, born, came)
            return
        left = records
        for aside in self._asides:
            part = min(left, records * aside.share)
            if part > 0:
                aside.lanes[self.name].put(part, born, came)
                left -= part
        if left > 0:
            self.lane.put(left, born, came)

    def switch(self, to: Paradigm, now: float) -> bool:
        """Begin to go to the other paradigm: prepare while all goes on, then stand still, then run."""
        if to is self.paradigm or self.switching:
            return False
        self.prepared = now + self.platform.prepare
        return True

    def step(self, start: float, end: float, slots: float, cost: float) -> list[Parcel]:
        """What is done from `start` to `end` with these slots, when a record costs so many seconds of one."""
        if self.prepared is not None:
            self._go_over(start)
        if self.paradigm is Paradigm.BATCH:
            done = self._batches(start, end, cost)
        elif self.pausing:
            done = []
        else:
            done = self._records(start, end, slots, cost)
        self.last_came = self.total.came - self._came_before
        self._came_before = self.total.came
        counted = sum([parcel.records for parcel in done])
        for counters in (self.seen, self.total):
            counters.done += counted
            if self.paradigm is Paradigm.RECORD:
                counters.busy += counted * cost
        return done

    def _go_over(self, now: float) -> None:
        """Preparing ends in a pause, once the open batch is done, and the pause in the other paradigm."""
        if self.prepared is None or now < self.prepared:
            return
        if not self.pausing:
            self.pausing = True
            after = self.batch.until if self.batch else now
            self.prepared = max(now, after) + self.platform.pause
        else:
            to_batch = self.paradigm is Paradigm.RECORD
            self.paradigm = Paradigm.BATCH if to_batch else Paradigm.RECORD
            self.prepared, self.pausing, self.next_batch = None, False, now

    def _records(self, start: float, end: float, slots: float, cost: float) -> list[Parcel]:
        if self.topic:
            return self.lane.serve(start, end, INFINITE)
        done = self.lane.serve(start, end, slots / cost if cost else INFINITE) if slots else []
        for aside in self._asides if self.crew.asides else ():
            if aside.speed and aside.taken:
                done += aside.lanes[self.name].serve(start, end, aside.taken * aside.speed / cost if cost else INFINITE)
        return done

    def _batches(self, start: float, end: float, cost: float) -> list[Parcel]:
        """Batches that end within the step; the next one takes what is there when it begins."""
        done: list[Parcel] = []
        at = start
        while at < end:
            if self.batch is not None:
                if self.batch.until > end:
                    break
                at = self.batch.until
                done += [Parcel(records, born, at) for records, born, _ in self.batch.parcels]
                self.batch = None
            at = max(at, self.next_batch)
            if self.pausing or at >= end or not self.cores or not self._begin(at, cost):
                break
        return done

    def _begin(self, at: float, cost: float) -> bool:
        """A batch of all that waits, or of as much as the longest one holds; none of nothing."""
        pace = self.cores * self.speedup / cost if cost else INFINITE
        parcels = self.lane.before(at, pace * self.platform.longest)
        if not parcels:
            return False
        records = sum([parcel.records for parcel in parcels])
        work = records / pace
        for counters in (self.seen, self.total):
            counters.busy += (work + self.platform.schedule) * self.cores
        self.batch = Batch(at + self.platform.schedule + work, parcels, records)
        self.next_batch = max(at + self.platform.interval, self.batch.until)
        return True
