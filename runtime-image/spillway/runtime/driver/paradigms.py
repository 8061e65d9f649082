"""In which paradigm each segment runs and may run, for everybody in the driver who has to know."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import time
from collections.abc import Collection, Mapping

from spillway.controllers.protocol import log
from spillway.controllers.protocol.values import ENGINE, Partition
from spillway.controllers.provisioning import Arrivals
from spillway.model import observation
from spillway.model.observation import StandbyState
from spillway.model.operators import Paradigm
from spillway.model.streamjob import Spec
from spillway.runtime import task
from spillway.runtime.batch.speed import Line
from spillway.runtime.driver import splitting, switches
from spillway.runtime.driver.batching import Batching
from spillway.runtime.driver.cuts import Cuts
from spillway.runtime.driver.executors import Load
from spillway.runtime.driver.hands import Hands
from spillway.runtime.driver.observing import Seen, Work
from spillway.runtime.driver.positions import Positions
from spillway.runtime.driver.shadows import Case, Shadows
from spillway.runtime.driver.steering import Batches
from spillway.runtime.driver.switches import Switched
from spillway.runtime.programs.program import Program
from spillway.runtime.telemetry import Place

# Seconds over which what batches have taken in is counted: they commit a few times a second, and all of it at once.
SPAN = 2.0
# Seconds between two looks at where inputs end. Slots tell that too, but of what they have fetched: a slot with more to
# do than it can hears late of what is coming.
LOOK = 0.15


@dataclasses.dataclass(frozen=True, slots=True)
class _Seen:
    """How far the input of a segment reached in so many partitions, and how far batches had come."""

    at: float
    partitions: int
    end: int
    position: int


class Paradigms:
    """Looks with each tick.

    Attributes:
        known: by segment, what is known as to batches.
        batched: the segments that shall run in batches, and can.
        cannot: by segment, why it never runs in batches.
        cuts: which parts of segments can where the whole can't.
    """

    def __init__(self, batching: Batching, shadows: Shadows, positions: Positions) -> None:
        self._batching, self._shadows, self._positions = batching, shadows, positions
        self._hands = Hands()
        self._looking = False
        self._looked = 0.0
        self._ends: dict[Partition, tuple[float, int]] = {}  # when that was so, and where the input ended
        self._at: dict[Partition, int] = {}  # how far owners have come
        self.known: Mapping[str, Batches] = {}
        self.batched: frozenset[str] = frozenset()
        self._seen: dict[str, collections.deque[_Seen]] = {}
        self._inputs: dict[str, str] = {}  # topics by segment
        self._sources: frozenset[str] = frozenset()  # segments that read a topic of the user
        self._weights: dict[str, float] = {}  # records in a message of the input of a segment
        self.cannot: Mapping[str, str] = {}
        self.cuts = Cuts(batching.can)
        self._waited: frozenset[str] = frozenset()  # those that wait for Spark

    def close(self) -> None:
        """No more looks."""
        self._hands.close()
        self._shadows.close()

    def look(
        self, state: log.State, programs: Mapping[str, Program], spec: Spec, seen: Seen, *, asked: bool = False
    ) -> None:
        """What can run in batches, what does, and what batches would do; `seen` is what slots tell.

        `asked`: the load is more than slots can do, and nobody knows what batches would. Where no Spark is kept warm,
        that is when one is started.
        """
        self._hands.answers()
        plan, standby = state.plan, self._batching.standby
        if plan is None:
            return
        segments = {one.name: one for one in plan.segments if one.name in programs}
        pins = {name: pinned(programs[name], spec) for name in segments}
        self.cannot = {name: why for name in segments if (why := self._batching.can(programs[name], spec))}
        may = [name for name in segments if name not in self.cannot and pins[name] is not Paradigm.RECORD]
        self.cuts.look(plan, spec)
        tried = {n: part for n, part in self.cuts.possible.items() if n in segments and not segments[n].whole}
        pins |= {name: pinned(part.programs[name], spec) for name, part in tried.items()}
        may += tried  # a part of them, which is what is measured
        executors = spec.execution.executors
        if may and executors.max > 0 and (executors.min > 0 or asked or self._is_wanted(state)):
            standby.want(max(1, executors.min))
        elif executors.min == 0:
            standby.spare()
        standby.measure()
        warm = standby.runner is not None
        self.batched = frozenset(n for n in may if warm and segments[n].paradigm is Paradigm.BATCH and n not in tried)
        self._inputs = {name: self._batching.input(programs[name]) for name in segments}
        self._sources = frozenset(name for name in segments if task.source_of(programs[name]) is not None)
        self._look({name: segments[name].partitions for name in may})
        self._count({name: segments[name].partitions for name in may}, seen)
        hashes = {name: one.program for name, one in segments.items()}
        hashes |= {name: part.programs[name].id for name, part in tried.items()}
        self._weights = {name: self._weight(name, hashes[name], seen) for name in may}
        cases = [
            Case(
                name,
                tried[name].programs[name] if name in tried else programs[name],
                self._inputs[name],
                one.partitions,
            )
            for name, one in segments.items()
            if name in may and not self._batching.has(name) and (name in tried or one.program == programs[name].id)
        ]
        self._shadows.step(cases)
        split, parts = splitting.pieces(plan), splitting.inside(plan)
        self.known = {}
        for name in segments:
            # Of what is split, that piece is looked at which is in batches.
            some = [one for one in split.get(name, ()) if one.paradigm is Paradigm.BATCH and one.name in segments]
            one = some[0] if some else segments[name]
            self.known[name] = Batches(
                one.name in may,
                pins[one.name],
                self._runs(state, one.name, one.partitions, one.paradigm),
                self._line(one.name, hashes[one.name]),
                self._came(name, seen.at),
                self._queue(name),
                tried.get(name) or (self.cuts.part(name, parts[name][1]) if some else None),
                name in split,
            )

    def wanted(self, decided: Mapping[str, Paradigm]) -> dict[str, Paradigm]:
        """By segment, in which paradigm it shall run: as pinned, else as decided."""
        found = {}
        for name, of in self.known.items():
            spark = self._batching.standby.told.state if of.part is not None else StandbyState.WARM
            if not of.can or spark is StandbyState.FAILED:
                found[name] = Paradigm.RECORD
            elif spark is StandbyState.STARTING and not of.split:
                continue  # it is split once there is somebody to do a part of it
            elif of.pinned is Paradigm.BATCH:
                found[name] = Paradigm.BATCH
            elif name in decided:
                found[name] = decided[name]
        return found

    def batches(self, place: Partition, program: Program | None, spec: Spec) -> bool:
        """Whether a partition shall run in batches, and can with this program."""
        return place.segment in self.batched and program is not None and not self._batching.can(program, spec)

    def interrupted(self, before: Collection[str], state: log.State) -> list[Switched]:
        """What Spark's end, or its return, means for segments that shall run in batches; `before` did."""
        plan, why = state.plan, self._batching.standby.told.problem
        shall = {one.name for one in plan.segments if one.paradigm is Paradigm.BATCH} if plan else set[str]()
        found = []
        if gone := tuple(sorted((set(before) - self.batched) & shall)):
            sentence = f"{', '.join(gone)} back to record by record until Spark is there again: {why}"
            found.append(Switched(switches.Reason.SPARK_GONE, sentence, gone, Paradigm.RECORD))
        if back := tuple(sorted((self.batched - set(before)) & shall & self._waited)):
            sentence = f"{', '.join(back)} in batches again, for Spark is warm"
            found.append(Switched(switches.Reason.SPARK_BACK, sentence, back, Paradigm.BATCH))
        self._waited = frozenset((self._waited | set(gone)) - set(back)) & shall
        return found

    def added(self, seen: Seen) -> Seen:
        """What was measured, with what batches do."""
        works, arrivals, places = dict(seen.works), dict(seen.arrivals), dict(seen.places)
        for name, of in self.known.items():
            if of.came is not None and name in self._sources:
                arrivals[self._inputs[name]] = of.came
            mine = self._batching.has(name)
            if not mine:
                continue
            before = works.get(name, Work())
            working = sum(work.processes for work in mine)
            works[name] = dataclasses.replace(
                before,
                came=self._went(name) * self._weights.get(name, 1.0),
                lag=self._lag(name),
                working=before.working + working,
            )
            places |= {
                work.partition: Place(
                    *work.partition, work.epoch, work.program, work.processes, work.position, work.committed
                )
                for work in mine
            }
        latencies = self._batching.outcomes.beside(seen.latencies)
        return dataclasses.replace(seen, places=places, works=works, arrivals=arrivals, latencies=latencies)

    def loads(self, state: log.State) -> list[Load]:
        """What runs in batches, or is about to: a plan says so, or the manifest, before it is done."""
        found = []
        for one in state.plan.segments if state.plan else ():
            of = self.known.get(one.name)
            shall = one.paradigm is Paradigm.BATCH or (of is not None and of.can and of.pinned is Paradigm.BATCH)
            if shall or (of is not None and of.runs is Paradigm.BATCH):
                rate = of.came.rate if of and of.came else None
                capacity = of.line.capacity if of and of.line else None
                found.append(Load(one.name, one.partitions, rate, of.queue if of else None, capacity))
        return found

    def batch(self, segment: str) -> observation.Batch | None:
        """The last batch of a segment, for people."""
        last, of = self._batching.lasts.get(segment), self.known.get(segment)
        if last is None:
            return None
        line = of.line if of else None
        rate = of.came.rate if of and of.came else 0.0
        interval = line.interval(rate) * 1e3 if line else last.seconds * 1e3
        return observation.Batch(last.at, last.records, last.seconds, interval, line.capacity if line else None)

    @staticmethod
    def _is_wanted(state: log.State) -> bool:
        """Whether something has to run in batches, though nothing is kept warm."""
        return bool(state.intents) or any(
            one.paradigm is Paradigm.BATCH for one in (state.plan.segments if state.plan else ())
        )

    @staticmethod
    def _runs(state: log.State, name: str, partitions: int, planned: Paradigm) -> Paradigm:
        """Where all partitions are; while some are on their way, where they come from."""
        owners = [state.owner(Partition(name, number)) for number in range(partitions)]
        there = sum(owner is not None and owner.slot == ENGINE for owner in owners)
        if there in (0, partitions):
            return Paradigm.BATCH if there else Paradigm.RECORD
        return Paradigm.RECORD if planned is Paradigm.BATCH else Paradigm.BATCH

    def _look(self, partitions: Mapping[str, int]) -> None:
        """Ask where inputs end, beside the loop."""
        now = time.monotonic()
        if self._looking or now < self._looked + LOOK or not partitions:
            return
        self._looking, self._looked = True, now
        places = [
            (Partition(name, number), self._inputs[name])
            for name, count in partitions.items()
            for number in range(count)
        ]
        self._hands.do(lambda: self._positions.ends(places, committed=True), self._told, self._not_told)

    def _told(self, ends: Mapping[Partition, int]) -> None:
        self._looking = False
        now = time.monotonic()
        self._ends = {place: (now, end) for place, end in ends.items()}

    def _not_told(self, _: Exception) -> None:
        self._looking = False  # a broker is away: the next look will tell

    def _count(self, partitions: Mapping[str, int], seen: Seen) -> None:
        """How far inputs reach now, and how far owners have come."""
        self._at |= {place: position for place, position in seen.positions.items() if place.segment in partitions}
        for name, count in partitions.items():
            self._at |= {work.partition: work.position for work in self._batching.has(name)}
            places = [Partition(name, number) for number in range(count)]
            known = self._seen.setdefault(name, collections.deque(maxlen=64))
            if any(place not in self._ends or place not in self._at for place in places):
                known.clear()
                continue
            at = min(self._ends[place][0] for place in places)
            end, position = sum(self._ends[place][1] for place in places), sum(self._at[place] for place in places)
            if known and known[-1].partitions != count:
                known.clear()
            if not known or at > known[-1].at:
                known.append(_Seen(at, count, end, position))
            while len(known) > 2 and at - known[1].at >= SPAN:
                known.popleft()

    def _line(self, name: str, program: str) -> Line | None:
        """What batches take, once enough of them have run, as shadows or for real."""
        known = self._shadows.known(program) or self._batching.has(name)
        return self._batching.speed(program).line if known else None

    def _weight(self, name: str, program: str, seen: Seen) -> float:
        """Records in a message of its input. What slots process now says more than what batches had some time ago."""
        if name in self._sources:
            return 1.0
        work, went = seen.works.get(name), self._went(name)
        if work is not None and work.came > 0 and went >= 1 and not self._batching.has(name):
            return max(1.0, work.came / went)
        return self._batching.weight(program) or 1.0

    def _lag(self, name: str) -> int | None:
        """Messages that wait."""
        known = self._seen.get(name)
        return max(0, known[-1].end - known[-1].position) if known else None

    def _queue(self, name: str) -> int | None:
        """Records that wait."""
        lag = self._lag(name)
        return None if lag is None else round(lag * self._weights.get(name, 1.0))

    def _came(self, name: str, now: float) -> Arrivals | None:
        """From the last look but one to the last: who smooths it wants each of them once."""
        known = self._seen.get(name)
        if not known or len(known) < 2:
            return None
        seconds = known[-1].at - known[-2].at
        rate = max(0, known[-1].end - known[-2].end) / seconds * self._weights.get(name, 1.0)
        at = datetime.datetime.fromtimestamp(now - (time.monotonic() - known[-1].at), datetime.UTC)
        return Arrivals(at, datetime.timedelta(seconds=seconds), rate)

    def _went(self, name: str) -> float:
        """Messages per second that owners have taken in."""
        known = self._seen.get(name)
        if not known or len(known) < 2:
            return 0.0
        return max(0, known[-1].position - known[0].position) / (known[-1].at - known[0].at)


def pinned(program: Program, spec: Spec) -> Paradigm:
    """What the manifest says of the operators of a program: one that has to run record by record keeps all of them."""
    by_name = {operator.name: operator for operator in spec.operators}
    said = {by_name[step.name].paradigm or spec.execution.paradigm for step in program.steps if step.name in by_name}
    said = said or {spec.execution.paradigm}
    if Paradigm.RECORD in said:
        return Paradigm.RECORD
    return Paradigm.BATCH if Paradigm.BATCH in said else Paradigm.AUTO
