"""Single records and frames through a job, event by event: what the fluid and the latency model are held to.

Every input partition of a segment is a log of frames. A slot owns partitions and works on their frames in the order in
which they came, record by record with random costs. What it emits waits in a buffer for each pair of partitions until
the frame is full or its deadline has come. A batch takes all that is in the logs, and is done with all of it at once.

Crashes are as in a job. A slot that dies loses its buffers and all that it has not committed; its partitions stand
still until the takeover and go on from the last commit, so records are processed and sent a second time. A reader knows
the highest position that it has of each origin, and skips what it has. What counts in the end is how often each record
has had its effect: once. Results of the last segments can be delivered twice (at least once).

It does some 50 000 records of one segment per second, so it is for small cases. What it leaves out: limits of the
network, slots that share a core, and changes of a segment while another change of it is under way. Programs are
deterministic: the second time, a record makes the very same records.
"""

from __future__ import annotations

import collections
import functools
import heapq
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from spillway.controllers.costmodel.flow import Node
from spillway.controllers.latency.queueing import Variability
from spillway.model.operators import Paradigm
from spillway.simulation import arrivals
from spillway.simulation.jobs import Death, Job, Platform, Start
from spillway.simulation.logs import Change, Frame, Origin, Outcome, Partition, Place, Record, Resize
from spillway.simulation.traces import Trace

COMMIT = 0.5  # seconds between two commits of a slot, as in a job
_PLACES = 1_000_000  # more records than a frame has, and more outputs than a record makes

_Made = list[tuple[Place, float, Record]]  # where to, the cost of its frame, and what


def run(
    job: Job,
    trace: Trace,
    start: Mapping[str, Start],
    platform: Platform | None = None,
    *,
    kind: arrivals.Kind = arrivals.Kind.POISSON,
    changes: Sequence[Change] = (),
    seed: int = 0,
) -> Outcome:
    """All records of a trace, until the last of them is done."""
    return Events(job, start, platform or Platform(), seed).run(trace, kind, changes)


class Events:
    """The job between two events; `run` is the front door."""

    def __init__(self, job: Job, start: Mapping[str, Start], platform: Platform, seed: int) -> None:
        self.job, self.platform = job, platform
        self.dice = random.Random(f"events {seed}")  # noqa: S311 - a simulation, no secret
        self.now = 0.0
        self.agenda: list[tuple[float, int, Callable[[], None]]] = []
        self.order, self.numbers = itertools.count(), itertools.count()
        self.nodes = {node.name: node for node in job.flow.nodes}
        self.slots = {name: start[name].slots for name in job.segments}
        self.paradigms = {name: start[name].paradigm for name in job.segments}
        self.cores = {name: start[name].cores for name in job.segments}
        self.partitions = {
            name: [Partition(name, i) for i in range(job.partitions.get(name, self.slots[name]))]
            for name in job.segments
        }
        self.owned: dict[tuple[str, int], list[Partition]] = {}
        self.busy: dict[tuple[str, int], Partition] = {}
        self.lives: collections.Counter[tuple[str, int]] = collections.Counter()
        self.open_batches: set[str] = set()
        self.leaves_batches: set[str] = set()
        self.idle: set[str] = set()  # in batches, and nothing is there for one
        self.arrived: dict[tuple[Origin | None, Place], float] = {}
        self.made: dict[tuple[str, int], _Made] = {}
        self.created: dict[str, set[int]] = {name: set() for name in job.segments}
        self.effects: dict[str, collections.Counter[int]] = {name: collections.Counter() for name in job.segments}
        self.delivered: collections.Counter[int] = collections.Counter()
        self.latencies: list[float] = []
        self.skipped = 0
        for name in job.segments:
            for partition in self.partitions[name]:
                self._give(partition, partition.number % max(1, self.slots[name]))

    # The agenda

    def run(self, trace: Trace, kind: arrivals.Kind, changes: Sequence[Change]) -> Outcome:
        """Until the trace is over and everything is done."""
        for source in trace.sources:
            self._expect(source, arrivals.times(trace, source, kind, self.dice))
        for change in changes:
            self._at(change.at, functools.partial(self._change, change))
        last = max([trace.length, *(change.at for change in changes)])
        for name in self.job.segments:
            self._at(COMMIT, functools.partial(self._commit_all, name, last))
            if self.paradigms[name] is Paradigm.BATCH:
                self._at(0.0, functools.partial(self._begin_batch, name))
        while self.agenda:
            self.now, _, what = heapq.heappop(self.agenda)
            what()
        for partitions in self.partitions.values():
            for partition in partitions:
                self._commit(partition)
        return self._outcome()

    def _outcome(self) -> Outcome:
        counts = [(self.created[name], self.effects[name]) for name in self.job.segments]
        return Outcome(
            tuple(self.latencies),
            sum(len(created - effects.keys()) for created, effects in counts),
            sum(count > 1 for _, effects in counts for count in effects.values()),
            self.skipped,
            sum(count > 1 for count in self.delivered.values()),
        )

    def _at(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self.agenda, (when, next(self.order), what))

    # What comes

    def _expect(self, source: str, coming: Iterator[float]) -> None:
        when = next(coming, None)
        if when is not None:
            self._at(when, functools.partial(self._arrive, source, coming))

    def _arrive(self, source: str, coming: Iterator[float]) -> None:
        node = self.nodes[source]
        outputs = [output.name for output in node.outputs]
        readers = [r for name in outputs for r in self.job.flow.readers[name]] if node.is_topic else [source]
        for reader in readers:
            partition = self.dice.choice(self.partitions[reader])
            self._send(partition, None, ("", reader, partition.number), (self._record(reader, self.now, 0),))
        self._expect(source, coming)

    def _record(self, reader: str, born: float, position: int) -> Record:
        number = next(self.numbers)
        self.created[reader].add(number)
        return Record(number, born, position)

    def _append(self, partition: Partition, origin: Origin | None, records: tuple[Record, ...]) -> None:
        """A frame is in the log."""
        partition.log.append(Frame(self.now, origin, records))
        name = partition.name
        if self.paradigms[name] is Paradigm.RECORD:
            self._work(name, partition.owner)
        elif name in self.idle:
            self.idle.discard(name)
            self._at(self.now, functools.partial(self._begin_batch, name))

    # Record by record

    def _work(self, name: str, slot: int) -> None:
        """A slot that is free takes the frame of its partitions that came first."""
        if (name, slot) in self.busy or self.paradigms[name] is not Paradigm.RECORD:
            return
        waiting = [partition for partition in self.owned.get((name, slot), ()) if partition.waits]
        if not waiting:
            return
        partition = min(waiting, key=lambda p: (p.log[p.next].came, p.number))
        self.busy[name, slot] = partition
        frame, node = partition.log[partition.next], self.nodes[name]
        begins = self.now + (float(node.fetch) if frame.origin else 0.0)
        self._go_on(partition, 0, begins, slot, self.lives[name, slot])

    def _go_on(self, partition: Partition, i: int, at: float, slot: int, life: int) -> None:
        """On with the i-th record of the frame; each is done at a time of its own."""
        name, frame = partition.name, partition.log[partition.next]
        while i < len(frame.records) and not partition.is_new(frame, frame.records[i]):
            self.skipped += 1
            i += 1
        if i == len(frame.records):
            self._at(at, functools.partial(self._end_frame, partition, slot, life))
        else:
            done = at + self._cost(self.nodes[name])
            self._at(done, functools.partial(self._end_record, partition, i, slot, life))

    def _end_record(self, partition: Partition, i: int, slot: int, life: int) -> None:
        if self.lives[partition.name, slot] == life:
            emitting = self._effect(partition, partition.log[partition.next], i)
            self._go_on(partition, i + 1, self.now + emitting, slot, life)

    def _end_frame(self, partition: Partition, slot: int, life: int) -> None:
        if self.lives[partition.name, slot] != life:
            return
        partition.next += 1
        del self.busy[partition.name, slot]
        if partition.due or partition.after is not None:
            self._commit(partition)
        after, partition.after = partition.after, None
        if after is not None:
            after()
        self._work(partition.name, slot)

    def _cost(self, node: Node) -> float:
        """What this record costs: gamma-distributed, with the variability that was measured."""
        scv = self.job.variability.get(node.name, Variability()).service
        mean = float(node.cpu) / float(self.job.slot.speed)
        return self.dice.gammavariate(1 / scv, mean * scv) if scv and mean else mean

    # What leaves

    def _effect(self, partition: Partition, frame: Frame, i: int) -> float:
        """A record is done, and what it makes is in buffers; the seconds that sending takes the slot are returned."""
        record, name = frame.records[i], partition.name
        partition.effects.append(record.number)
        if frame.origin is not None:
            partition.known[frame.origin] = record.position
        if self._is_end(self.nodes[name]):
            if not self.delivered[record.number]:
                self.latencies.append(self.now - record.born)
            self.delivered[record.number] += 1
        emitting, most = 0.0, self.job.frames.get(name, 1)
        for place, cost, made in self._makes(partition, record, i):
            buffer = partition.buffers.setdefault(place, [])
            buffer.append(made)
            if len(buffer) >= most:
                emitting += cost
                self._flush(partition, place)
            elif len(buffer) == 1:
                opened = partition.opened[place] = partition.opened.get(place, 0) + 1
                if place[0] in self.job.deadlines:
                    due = self.now + self.job.deadlines[place[0]]
                    self._at(due, functools.partial(self._overdue, partition, place, opened, partition.epoch))
        return emitting

    def _makes(self, partition: Partition, record: Record, i: int) -> _Made:
        """The records that one record makes, the same ones each time; positions rise along the log."""
        key = (partition.name, record.number)
        if key not in self.made:
            places: list[tuple[Place, float]] = []
            for output in self.nodes[partition.name].outputs:
                count = int(output.selectivity) + (self.dice.random() < output.selectivity % 1)
                for reader in self.job.flow.readers[output.name]:
                    targets = [self.dice.randrange(len(self.partitions[reader])) for _ in range(count)]
                    places += [((output.name, reader, target), float(output.emit)) for target in targets]
            first = (partition.next * _PLACES + i) * _PLACES
            self.made[key] = [
                (place, cost, self._record(place[1], record.born, first + k)) for k, (place, cost) in enumerate(places)
            ]
        return self.made[key]

    def _overdue(self, partition: Partition, place: Place, opened: int, epoch: int) -> None:
        """The deadline of a frame has come; if it is still the same frame, it leaves."""
        same = partition.opened.get(place) == opened and partition.epoch == epoch
        if same and partition.buffers.get(place):
            self._flush(partition, place)

    def _flush(self, partition: Partition, place: Place) -> None:
        """A frame leaves."""
        records = tuple(partition.buffers.pop(place))
        origin = (partition.name, partition.number)
        self._send(self.partitions[place[1]][place[2]], origin, place, records)

    def _send(self, target: Partition, origin: Origin | None, place: Place, records: tuple[Record, ...]) -> None:
        """Through the log, where those of one origin stay in the order in which they left."""
        takes, hop = self.job.hop.mean, self.job.hop
        if hop.variance:
            takes = self.dice.gammavariate(hop.mean**2 / hop.variance, hop.variance / hop.mean)
        when = self.arrived[origin, place] = max(self.now + takes, self.arrived.get((origin, place), 0.0))
        self._at(when, functools.partial(self._append, target, origin, records))

    def _is_end(self, node: Node) -> bool:
        return not node.outputs or any(not self.job.flow.readers[output.name] for output in node.outputs)

    # Commits

    def _commit_all(self, name: str, last: float) -> None:
        """Every partition of a segment, those that are worked on at the end of their frame."""
        at_work = {id(partition) for partition in self.busy.values()}
        for partition in self.partitions[name]:
            if id(partition) in at_work:
                partition.due = True
            elif name not in self.open_batches:
                self._commit(partition)
        if self.now < last:
            self._at(self.now + COMMIT, functools.partial(self._commit_all, name, last))

    def _commit(self, partition: Partition) -> None:
        """First everything leaves, then state and position are stored."""
        for place in sorted(partition.buffers):
            if partition.buffers[place]:
                self._flush(partition, place)
        self.effects[partition.name].update(partition.store())

    # Changes

    def _change(self, change: Change) -> None:
        name = change.segment
        if isinstance(change, Death):
            self._die(name, max(0, self.slots[name] - 1))
        elif isinstance(change, Resize):
            self.slots[name] = change.slots
            for partition in self.partitions[name]:
                owner = partition.number % change.slots
                if owner != partition.owner:
                    self._release(partition, functools.partial(self._hand_over, partition, owner))
        elif change.to is not self.paradigms[name]:
            self._at(self.now + self.platform.prepare, functools.partial(self._switch, name, change.to))

    def _release(self, partition: Partition, then: Callable[[], None]) -> None:
        """The owner stops at the end of its frame and commits."""
        partition.still = True
        partition.epoch += 1
        if self.busy.get((partition.name, partition.owner)) is partition:
            partition.after = then
        else:
            self._commit(partition)
            then()

    def _hand_over(self, partition: Partition, owner: int) -> None:
        epoch = partition.epoch

        def go() -> None:
            if partition.epoch == epoch:
                self._give(partition, owner)
                self._work(partition.name, owner)

        self._at(self.now + self.platform.pause, go)

    def _give(self, partition: Partition, owner: int) -> None:
        """A slot owns the partition from now on."""
        before = self.owned.get((partition.name, partition.owner), [])
        if partition in before:
            before.remove(partition)
        self.owned.setdefault((partition.name, owner), []).append(partition)
        partition.owner, partition.still = owner, False

    def _die(self, name: str, slot: int) -> None:
        """What was not committed is gone; others take over, or the same one once it has started again."""
        self.lives[name, slot] += 1
        self.busy.pop((name, slot), None)
        heir = slot - 1 if slot else slot
        takes = self.platform.takeover if slot else max(self.platform.takeover, self.platform.start)
        for partition in tuple(self.owned.get((name, slot), ())):
            partition.restore()
            partition.still = True
            partition.epoch += 1
            owner = partition.number % slot if slot else heir
            self._at(self.now + takes, functools.partial(self._hand_over, partition, owner))

    def _switch(self, name: str, to: Paradigm) -> None:
        """To batches once all owners have let go; back once the open batch is done."""
        if to is Paradigm.RECORD:
            self.leaves_batches.add(name)
            if name not in self.open_batches:
                self._end_batches(name)
            return
        waiting = set(self.partitions[name])

        def let_go(partition: Partition) -> None:
            waiting.discard(partition)
            if not waiting:
                self._at(self.now + self.platform.pause, functools.partial(self._begin_batches, name))

        for partition in self.partitions[name]:
            self._release(partition, functools.partial(let_go, partition))

    # Batches

    def _begin_batches(self, name: str) -> None:
        self.paradigms[name] = Paradigm.BATCH
        self._begin_batch(name)

    def _begin_batch(self, name: str) -> None:
        """The intent: everything that is in the logs now."""
        if self.paradigms[name] is not Paradigm.BATCH or name in self.open_batches or name in self.leaves_batches:
            return
        ranges = [(partition, len(partition.log)) for partition in self.partitions[name]]
        records = sum(len(frame.records) for partition, end in ranges for frame in partition.log[partition.next : end])
        if not records:
            self.idle.add(name)
            return
        node, began = self.nodes[name], self.now
        pace = max(1, self.cores[name]) * self.job.speedup.get(name, 1.0)
        takes = self.platform.schedule + records * self._each(node) / pace
        self.open_batches.add(name)
        self._at(self.now + takes, functools.partial(self._end_batch, name, ranges, began))

    def _each(self, node: Node) -> float:
        return float(node.cpu) / float(self.job.slot.speed)

    def _end_batch(self, name: str, ranges: Sequence[tuple[Partition, int]], began: float) -> None:
        """All of it is done at once, sent, and committed."""
        for partition, end in ranges:
            while partition.next < end:
                frame = partition.log[partition.next]
                for i, record in enumerate(frame.records):
                    if partition.is_new(frame, record):
                        self._effect(partition, frame, i)
                    else:
                        self.skipped += 1
                partition.next += 1
            self._commit(partition)
        self.open_batches.discard(name)
        if name in self.leaves_batches:
            self._end_batches(name)
        else:
            again = max(self.now, began + self.platform.interval)
            self._at(again, functools.partial(self._begin_batch, name))

    def _end_batches(self, name: str) -> None:
        """Record by record again, after a pause."""

        def go() -> None:
            self.leaves_batches.discard(name)
            self.paradigms[name] = Paradigm.RECORD
            for partition in self.partitions[name]:
                self._give(partition, partition.number % self.slots[name])
            for slot in range(self.slots[name]):
                self._work(name, slot)

        self._at(self.now + self.platform.pause, go)
