"""The batch engine with its hands: it carries out what `protocol.engine` asks for, one intent after the other.

It is an owner like a slot, under the identity `batch` and the number of the leader that it lives with. Whatever takes
long is done beside the driver's loop: markers are read back, ranges run in Spark, positions are committed.

Only programs that read a topic of the user run in batches as yet, and have no tables but those that every owner has
whole: what the others would have to know ahead of a range, of origins and of rows, is in changelogs that slots have.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from spillway.controllers.protocol import effects, engine, log, messages, owner
from spillway.controllers.protocol.engine import Engine
from spillway.controllers.protocol.values import ENGINE, Partition, Reach
from spillway.controllers.topics import Names
from spillway.model.errors import SpillwayError
from spillway.model.execution import Delivery
from spillway.model.streamjob import Spec
from spillway.runtime import commits, failpoints, task
from spillway.runtime.batch import combining, isolation
from spillway.runtime.batch.jvm import Usage
from spillway.runtime.batch.ranges import Order, Range, Result
from spillway.runtime.batch.spark import LostError
from spillway.runtime.batch.speed import Batch, Speed
from spillway.runtime.clients import Access
from spillway.runtime.commits import Committer, GoneError, Position, Snapshot
from spillway.runtime.driver.catalogue import Catalogue
from spillway.runtime.driver.hands import Hands
from spillway.runtime.driver.positions import Positions
from spillway.runtime.driver.standby import Runner, Standby
from spillway.runtime.emitter import Emitter, Mark
from spillway.runtime.programs.program import Program
from spillway.runtime.slots import reading_back
from spillway.runtime.slots.reading_back import Question

# Seconds of work in one batch, at most: a burst that waits is worked off in batches of this size, and a partition that
# is to be released waits for the end of the one that it is in.
LONGEST = 1.0
# Records of a partition in the first batch, when nobody knows yet how fast they are.
FIRST = 2_000
# Seconds between two looks at where topics end, while nothing waits.
IDLE = 0.02
# Times that an intent is given to Spark before its ranges are worked on here, one after the other.
TIMES = 3
# Records in a frame of a batch, at the least: they are all there, so none waits for others.
FRAME = 1_000
AGAIN = 0.5  # seconds until an intent that came to nothing is run again

Write = Callable[[messages.Any], None]

_log = logging.getLogger(__name__)


class Alone:
    """Works on ranges on this machine: for what must be finished though there is no Spark."""

    usage = Usage(0, 0, 0.0)

    def run(self, order: Order, given: Sequence[Range]) -> list[Result]:
        """One after the other, each in a process of its own: a record that ends it must not end the driver."""
        return [isolation.one(order, one) for one in given]

    def close(self) -> None:
        """Nothing to end."""


@dataclasses.dataclass
class Running:
    """An intent that is being run.

    Attributes:
        run: what is to be done.
        began: when it was asked for.
        times: how often it came to nothing.
        results: of its ranges, once there are any.
    """

    run: effects.Run
    began: float
    times: int = 0
    results: Sequence[Result] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Last:
    """The last batch of a segment: when it was done, how many records it took in, and how long that took."""

    at: float
    records: int
    seconds: float


def tables(program: Program) -> set[str]:
    """The topics of the tables that every owner of a program has whole."""
    return {port.source.topic for port in program.ports if port.broadcast and port.source is not None}


class Batching:
    """The engine of one driver. Its loop calls it; only `standby` may be looked at by others."""

    def __init__(
        self, access: Access, names: Names, catalogue: Catalogue, positions: Positions, standby: Standby
    ) -> None:
        self._access, self._names, self._catalogue, self._positions = access, names, catalogue, positions
        self.standby = standby
        self._hands = Hands()
        self._emitter = Emitter(access)
        self._reader = reading_back.Reader(access, f"{names.prefix}batch")
        self._markers: list[tuple[Mark, effects.ReadBack, Question]] = []
        self._asked: dict[tuple[Partition, int], effects.ReadBack] = {}
        self._write: Write = lambda _: None
        self._code: Path | None = None
        self._committer: Committer | None = None
        self._storing = threading.Lock()
        self.engine: Engine | None = None
        self._state = log.State()
        self._running: dict[int, Running] = {}
        self._looking = False
        self._look_due = 0.0
        self._turn = ""  # the segment whose batch was last
        self._gone: GoneError | None = None
        self.speeds: dict[str, Speed] = {}
        """By program."""
        self.lasts: dict[str, Last] = {}
        """By segment."""
        self.letters = 0

    def lead(self, number: int) -> None:
        """Get ready to lead under this number: before anybody else can know of it, so that no fence is undone."""
        self._committer = Committer(self._access, commits.identity(self._names.prefix, ENGINE, number))
        self.engine = engine.of(number)
        failpoints.reached("engine ready")

    def begin(self, write: Write, code: Path | None) -> None:
        """`write` appends to the control log; `code` is where the user's functions are."""
        self._write, self._code = write, code

    def close(self) -> None:
        """End threads and Spark; what is not finished is for who leads next."""
        self._hands.close()
        self._reader.close()
        self._emitter.abandon()
        self.standby.close()

    # What the driver asks.

    def can(self, program: Program, spec: Spec) -> str:
        """Why a program can't run in batches; empty if it can."""
        if not all(state.broadcast for state in program.states):
            return "it keeps tables, and those stay where records are merged one by one"
        if any(state.operator is not None and state.operator.retention for state in program.states):
            return "what is late for a join with a retention depends on all that came before"
        if task.source_of(program) is None:
            return "it reads an edge"
        if program.outputs and spec.execution.delivery is Delivery.EXACTLY_ONCE:
            return "its outputs have to be in one transaction with its positions"
        return ""

    @property
    def busy(self) -> bool:
        """Whether something is on its way, so that each moment counts."""
        return bool(self._running or self._looking or self._markers or self._asked) or self._proposed

    def has(self, segment: str) -> list[owner.Work]:
        """The partitions of a segment that it has."""
        works = self.engine.slot.works if self.engine else {}
        return [work for place, work in works.items() if place.segment == segment]

    def works(self, place: Partition) -> bool:
        """Whether it works on a partition."""
        work = self.engine.slot.works.get(place) if self.engine else None
        return work is not None and work.processes

    # The loop.

    def heard(self, message: messages.Any, state: log.State, *, counted: bool) -> None:
        """The next message of the log; `state` is what the log says with it."""
        self._state = state
        if self.engine is not None:
            self.engine, asked = engine.hear(self.engine, state, message, counted)
            self._carry_out(asked)

    def step(self) -> None:
        """What was done beside the loop, and what is due."""
        self._emitter.serve()
        self._hands.answers()
        if self._gone is not None:
            raise self._gone
        if self.engine is None:
            return
        self._read_back()
        if not self._running and not self._proposed and not self._looking and time.monotonic() >= self._look_due:
            self._look()

    @property
    def _proposed(self) -> bool:
        return self.engine is not None and self.engine.proposed is not None

    def _carry_out(self, asked: Iterable[effects.Any]) -> None:
        for effect in asked:
            match effect:
                case effects.Append(message):
                    self._write(message)
                case effects.Warm():
                    self._warm(effect)
                case effects.EmitMarker():
                    self._mark(effect)
                case effects.ReadBack():
                    self._ask_back(effect)
                case effects.Run():
                    self._run(Running(effect, time.monotonic()))
                case effects.Commit():
                    self._commit(effect)
                case effects.Restart():
                    self._gone = GoneError("another driver leads, and has fenced the batch engine of this one")
                case effects.Forget() | effects.Start() | effects.Stop() | effects.Flush():
                    pass  # nothing is done but for intents, and nothing is buffered between them

    def _warm(self, effect: effects.Warm) -> None:
        """A move to here begins. Spark is warm by now, else nobody would have asked."""
        problem = "" if self.standby.runner is not None else self.standby.told.problem or "Spark is not warm"
        if self._catalogue.program(effect.program) is None:
            problem = f"nobody knows program {effect.program}"
        me = engine.of(self._number).slot.me
        self._carry_out((owner.prepared(effect.partition, effect.epoch, me, problem),))

    @property
    def _number(self) -> int:
        return self.engine.slot.me.incarnation if self.engine else 0

    # Takeovers.

    def _mark(self, effect: effects.EmitMarker) -> None:
        program = self._program(effect.program)
        for send in task.markers(program, self._names, effect.partition.number, effect.epoch, self._width(program)):
            self._emitter.send(*send)

    def _ask_back(self, effect: effects.ReadBack) -> None:
        assert self.engine is not None  # noqa: S101 - it is who asks
        work = self.engine.slot.works[effect.partition]
        program = self._program(work.program)
        origin = task.origin_of(program, task.input_of(program, self._names))
        edges = tuple((self._names.edge(edge.reader), self._width(program)) for edge in program.edges)
        question = Question(effect.partition, effect.epoch, origin, edges)
        self._markers.append((self._emitter.mark(), effect, question))

    def _read_back(self) -> None:
        while self._markers and self._markers[0][0].done:
            _, back, question = self._markers.pop(0)
            self._asked[question.partition, question.epoch] = back
            failpoints.reached("batch marked")
            self._reader.ask(question)
        while not self._reader.results.empty():
            match self._reader.results.get():
                case reading_back.Found(partition, epoch, barrier):
                    failpoints.reached("batch read back")
                    back = self._asked.pop((partition, epoch))
                    if self.engine is not None:
                        self.engine, asked = engine.read_back(self.engine, self._state, back, barrier)
                        self._carry_out(asked)
                case reading_back.Failed(error):
                    raise error

    # One batch.

    def _look(self) -> None:
        """How far the input reaches of the segment whose turn it is."""
        assert self.engine is not None  # noqa: S101
        segments = sorted({place.segment for place, work in self.engine.slot.works.items() if work.processes})
        if not segments:
            self._look_due = time.monotonic() + IDLE
            return
        self._turn = next((name for name in segments if name > self._turn), segments[0])
        places = [work.partition for work in self.has(self._turn)]
        inputs = [(place, self._catalogue.input(self._state, place)) for place in places]
        self._looking = True
        topics = tables(self._program(self._state.holdings[places[0]].program))
        self._hands.do(
            lambda: (self._positions.ends(inputs, committed=True), self._positions.reaches(topics)),
            lambda found: self._seen(*found),
            self._unseen,
        )

    def _unseen(self, error: Exception) -> None:
        self._looking, self._look_due = False, time.monotonic() + AGAIN
        _log.warning("%s; asked again", error)

    def _seen(self, found: Mapping[Partition, int], reaches: tuple[Reach, ...]) -> None:
        self._looking = False
        now = time.monotonic()
        if self.engine is None:
            return
        works = {place: work for place in found if (work := self.engine.slot.works.get(place)) is not None}
        most = self._most(works.values())
        ends = {place: min(found[place], work.position + most) for place, work in works.items()}
        combine = any(self._aims(self._program(work.program)) for work in works.values())
        self.engine, asked = engine.propose(self.engine, self._state, ends, combine, reaches)
        if not asked:
            self._look_due = now + IDLE
        self._carry_out(asked)

    def _most(self, works: Iterable[owner.Work]) -> int:
        """Messages of each partition in one batch."""
        programs = [work.program for work in works]
        line = self.speed(programs[0]).line if programs else None
        return FIRST if line is None else max(FIRST, int(line.capacity * LONGEST / len(programs)))

    def speed(self, program: str) -> Speed:
        """What is known of a program."""
        return self.speeds.setdefault(program, Speed())

    def _run(self, running: Running) -> None:
        """Give an intent to Spark; what Spark can't do, or what must be finished without, is done here."""
        intent = running.run.intent
        self._running[intent.number] = running
        runner: Runner | None = self.standby.runner
        if runner is None or running.times >= TIMES:
            runner = Alone()
        epochs = dict(running.run.epochs)
        given = [Range(part.partition.number, part.start, part.stop, epochs[part.partition]) for part in intent.ranges]
        order = dataclasses.replace(self.order(intent.program, combined=intent.combined), tables=intent.tables)
        self._hands.do(
            functools.partial(runner.run, order, given),
            functools.partial(self._ran, running),
            functools.partial(self._failed, running, runner),
        )
        failpoints.reached("batch begun")

    def order(self, program: str, *, combined: bool) -> Order:
        """What is to be done with ranges of a program."""
        found = self._program(program)
        segments = self._state.plan.segments if self._state.plan else ()
        frame = next((one.frame for one in segments if one.name == found.name), 1)
        aims = self._aims(found) if combined else {}
        return Order(self._access, self._names, self._width(found), found, aims, max(frame, FRAME), self._code)

    def _ran(self, running: Running, results: Sequence[Result]) -> None:
        failpoints.reached("batch ran")
        running.results = results
        self.letters += sum(result.letters for result in results)
        if self.engine is not None:
            self.engine, asked = engine.ran(self.engine, running.run.intent)
            self._carry_out(asked)

    def _failed(self, running: Running, runner: Runner, error: Exception) -> None:
        """The same ranges again: whatever of them is out already, readers skip."""
        running.times += 1
        _log.warning("intent %d: %s", running.run.intent.number, error)
        if isinstance(error, LostError):
            self.standby.lost(runner, str(error))
        self._hands.do(lambda: time.sleep(AGAIN), lambda _: self._run(running))

    def _commit(self, effect: effects.Commit) -> None:
        running = self._running.get(effect.intent)
        changes = [change for result in (running.results if running else ()) for change in result.changes]
        positions = [
            Position(self._names.group(p.segment), self._catalogue.input(self._state, p), p.number, upto)
            for p, upto in effect.positions
        ]
        self._hands.do(lambda: self._store(Snapshot(changes, positions)), lambda _: self._committed(effect), self._lost)

    def _store(self, snapshot: Snapshot) -> None:
        """One transaction at a time, in whichever thread: after a takeover several intents may be open."""
        assert self._committer is not None  # noqa: S101 - made before there was an engine
        with self._storing:
            self._committer.commit(snapshot)

    def _lost(self, error: Exception) -> None:
        self._gone = error if isinstance(error, GoneError) else GoneError(str(error))

    def _committed(self, effect: effects.Commit) -> None:
        failpoints.reached("batch committed")
        running = self._running.pop(effect.intent, None)
        if running is not None:
            self._learn(running)
        if self.engine is not None:
            self.engine, asked = engine.committed(self.engine, self._number, effect)
            self._carry_out(asked)

    def _learn(self, running: Running) -> None:
        seconds = time.monotonic() - running.began
        intent = running.run.intent
        records = sum(result.messages for result in running.results)
        self.lasts[intent.ranges[0].partition.segment] = Last(time.time(), records, seconds)
        if not running.times:
            self.speed(intent.program).learn(Batch(records, seconds))

    # What is known.

    def _program(self, name: str) -> Program:
        found = self._catalogue.program(name)
        if found is None:
            message = f"nobody knows program {name}, which the control log speaks of"
            raise SpillwayError(message)
        return found

    def _aims(self, program: Program) -> Mapping[str, combining.Aim]:
        return combining.aims(program, self._catalogue.planned(self._state))

    def _width(self, program: Program) -> int:
        plan = self._state.plan_of(program.id) or self._state.plan
        return plan.width if plan is not None else 0
