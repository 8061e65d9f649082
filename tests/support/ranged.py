"""A job on logs in memory (`lone_job`) whose programs without tables run record by record and over ranges, in turn.

What goes by the rules of the protocol: who hands a partition over has flushed and committed; who takes over from the
dead puts markers first, and adds nothing up before it has passed what the dead may have sent; an intent is finished
with its very ranges, however often that takes, and by whom. What the engine knows of who writes to an edge is kept by
the driver's own code (`driver.origins`), and restored from changelogs when a partition or a driver is new. What the
dead have sent may arrive behind the markers of who follows.
"""

from __future__ import annotations

import dataclasses
import queue
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

from confluent_kafka import TopicPartition

import lone_job
from lone_job import LoneJob, Place
from programs import Message
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.model import kafka
from spillway.model.streamjob import Spec
from spillway.runtime import task
from spillway.runtime.batch import combining, ranges
from spillway.runtime.batch.ranges import Order, Range, Result, Tools
from spillway.runtime.clients import Access
from spillway.runtime.driver.origins import Ahead, Asked, Origins, Restored
from spillway.runtime.functions import Function
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.slots.replicas import Replicas
from spillway.runtime.task import Send

NOWHERE = Access(kafka.Kafka(bootstrap_servers=("localhost:1",)))


@dataclasses.dataclass(frozen=True)
class Read(Message):
    """A message as a consumer gives it."""

    place: int = 0

    def partition(self) -> int:
        return self.place

    def error(self) -> None:
        return None


class Reader:
    """A consumer of one log, which gives some messages at a time."""

    def __init__(self, log: Sequence[Message], dice: random.Random) -> None:
        self._log, self._dice = log, dice
        self._at = self._place = 0

    def assign(self, places: Sequence[TopicPartition]) -> None:
        (place,) = places
        self._at, self._place = place.offset, place.partition

    def unassign(self) -> None:
        self._at = len(self._log)

    def poll(self, _: float) -> Read | None:
        found = self.consume(1, 0)
        return found[0] if found else None

    def consume(self, most: int, _: float) -> list[Read]:
        few = min(most, self._dice.choice([1, 2, 5, 50]))
        found = [Read(m.at, m.content, m.name, m.time, self._place) for m in self._log[self._at :][:few]]
        self._at += len(found)
        return found


class Sent:
    """An emitter that keeps what is sent."""

    def __init__(self) -> None:
        self.sends: list[Send] = []

    def send_all(self, sends: Sequence[Send]) -> None:
        self.sends += sends

    def serve(self) -> None:
        pass

    def flush(self, _: float) -> bool:
        return True


class Changelogs:
    """Reads those of a job at once."""

    def __init__(self, logs: Mapping[tuple[str, int], lone_job.Log], names: Names) -> None:
        self._logs, self._names = logs, names
        self.results: queue.SimpleQueue[Ahead | Restored | BaseException] = queue.SimpleQueue()

    def ask(self, asked: Asked) -> None:
        verb, place, epoch = asked
        log = self._logs.get((self._names.state(place.segment), place.number), [])
        rows = {key: value for key, value in log if key is not None and value is not None}
        if verb == "begin":
            self.results.put(Restored(place, epoch, rows))

    def close(self) -> None:
        pass


def worked(
    order: Order,
    loop: Loop,
    given: Range,
    log: Sequence[Message],
    dice: random.Random,
    replicas: Replicas | None = None,
) -> tuple[list[Send], Result]:
    """What a range sends, and what it gives back."""
    sent = Sent()
    tools = Tools(loop, cast(Any, Reader(log, dice)), cast(Any, sent), replicas=replicas)
    (result,) = ranges.work(order, [given], tools)
    return sent.sends, result


class RangedJob(LoneJob):
    """Some of its steps are batches.

    Attributes:
        batches, again: how many there were, and how many of them a second time.
        edges, edges_again: the same, of those over frames.
        origins: what the driver knows.
        slots_die: whether slots die, too.
    """

    slots_die = True

    def __init__(
        self,
        spec: Spec,
        segments: Mapping[str, Sequence[str]],
        inputs: Mapping[str, Mapping[int, Sequence[Message]]],
        *,
        combine: bool = True,
        share: float = 0.5,
        functions: Mapping[str, Function] | None = None,
        exactly: bool = False,
    ) -> None:
        """`share` of what can be a batch is one; `combine`: where rows can be added up first, half of them are.

        `exactly`: outputs of batches are sent together with positions.
        """
        super().__init__(spec, segments, inputs, functions=functions)
        self._exactly = exactly
        self._combine, self._share = combine, share
        self._barriers: dict[tuple[str, int], int] = {}
        self.batches = self.again = self.edges = self.edges_again = 0
        self.origins = self._driver()

    def run(self, dice: random.Random, *, crashes: float = 0.0, commits: float = 0.3) -> None:
        """Until nothing is left to read; between two pieces of it that are done record by record, there are batches."""
        while waiting := [where for where in self.places if self._busy(where)]:
            for where in dice.sample(waiting, min(3, len(waiting))):
                self._piece(where, dice, crashes, commits)
        super().run(dice, crashes=crashes if self.slots_die else 0.0, commits=commits)

    def crash(self, where: tuple[str, int]) -> None:
        """Until it has passed what the dead may have sent, the heir adds nothing up.

        What the dead had not sent comes too late.
        """
        place = self.places[where]
        self._barriers[where] = max(self._barriers.get(where, 0), place.next)
        late = lone_job.sent(place.task, whole=True)
        super().crash(where)
        self._late(late)

    def order(self, name: str, *, combine: bool, frame: int = 4) -> Order:
        """What is to be done with ranges of a program."""
        program = self.loops[name].program
        others = {name: loop.program for name, loop in self.loops.items()}
        aims = combining.aims(program, others) if combine else {}
        return Order(NOWHERE, Names("test.job."), self.width, program, aims, frame, exactly=self._exactly)

    def ran(self, name: str, result: Result) -> None:
        """A range was worked on, and nothing of that is stored."""

    def _driver(self) -> Origins:
        """Another driver: it knows nothing but what is stored."""
        return Origins(Changelogs(self.logs, self.names))

    def _late(self, sends: Sequence[Send]) -> None:
        """What a zombie has sent to edges; outputs may repeat, but not out of order."""
        self.deliver([send for send in sends if send.topic.startswith(self.names.edge(""))])

    def _piece(self, where: tuple[str, int], dice: random.Random, crashes: float, commits: float) -> None:
        program = self.places[where].task.program
        if dice.random() < self._share and not program.states:
            self._batches(where, dice, crashes)
        else:
            self._records(where, dice, crashes, commits)

    def _records(self, where: tuple[str, int], dice: random.Random, crashes: float, commits: float) -> None:
        place = self.places[where]
        some = self._messages(place.task.topic, where[1])[place.next :][: dice.choice([1, 2, 5, 50])]
        place.task.take(some)
        place.next += len(some)
        self.deliver(lone_job.sent(place.task, whole=dice.random() < 0.5))
        if dice.random() < commits:
            self.deliver(lone_job.sent(place.task, whole=True))
            self.commit(where)
        if dice.random() < crashes and self.slots_die:
            self.crash(where)

    def _batches(self, where: tuple[str, int], dice: random.Random, crashes: float) -> None:
        """Its owner hands it over; the engine runs some ranges; somebody takes it back."""
        name, partition = where
        place = self.places[where]
        self.deliver(lone_job.sent(place.task, whole=True))
        self.commit(where)
        start, epoch = place.next, place.epoch + 1
        self.origins.begin(Partition(*where), epoch)
        self.origins.ahead()
        for _ in range(dice.choice([1, 1, 2, 4])):
            log = self._messages(place.task.topic, partition)
            stop = min(len(log), start + dice.choice([1, 3, 10, 100]))
            if start < stop:
                epoch = self._batch(where, (start, stop, epoch), dice, crashes)
                start = stop
        self.origins.drop(Partition(*where))
        made = self._made(name, partition, epoch + 1)
        for topic in made.changelogs:
            for key, value in self.logs.get((topic, partition), []):
                made.load(topic, key or b"", value)
        made.restored()
        self.places[where] = Place(made, start, start, epoch + 1)

    def _batch(self, where: tuple[str, int], what: tuple[int, int, int], dice: random.Random, crashes: float) -> int:
        """One range, maybe more than once; under which epoch it was done."""
        name, partition = where
        start, stop, epoch = what
        log = self._messages(self.places[where].task.topic, partition)
        combine = self._combine and start >= self._barriers.get(where, 0) and dice.random() < 0.5
        order = self.order(name, combine=combine)
        is_edge = task.source_of(order.program) is None
        while True:
            assert self.origins.has(Partition(*where), epoch)
            given = Range(partition, start, stop, epoch, self.origins.of(Partition(*where)) if is_edge else ())
            sends, result = worked(order, self.loops[name], given, log, dice)
            self.batches += 1
            self.edges += is_edge
            if dice.random() >= crashes:
                break
            self.ran(name, result)
            self.again += 1
            self.edges_again += is_edge
            # Of what a dead one sent, a prefix arrives. Spark tries again as the same owner, or another driver does as
            # the next one, which puts its markers first.
            arrived = dice.randrange(len(sends) + 1)
            self.deliver(sends[:arrived])
            if dice.random() < 0.5:
                epoch += 1
                self.deliver(task.markers(order.program, order.names, partition, epoch, self.width))
                self._late(sends[arrived:])
                self.origins = self._driver()
                self.origins.begin(Partition(*where), epoch)
                self.origins.ahead()
        self.deliver(sends)
        for change in (*result.outputs, *result.changes):
            where_to = (change.topic, max(0, change.partition))
            self.logs.setdefault(where_to, []).append((change.key, change.value))
        self.origins.stored(name, result.changes)
        return epoch
