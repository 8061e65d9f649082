"""The batch engine with its hands: it carries out what `protocol.engine` asks for, one intent after the other.

It is an owner like a slot, under the identity `batch` and the number of the leader that it lives with. Whatever takes
long is done beside the driver's loop: markers are read back, ranges run in Spark, positions are committed.

Programs with tables of their own never run in batches: what is in those stays with slots. Of a program that reads an
edge it has to know who wrote what of it was applied (`origins`), and nothing of it runs before that is restored.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from spillway.controllers.ahead import Stretch
from spillway.controllers.protocol import effects, engine, log, messages, owner
from spillway.controllers.protocol.engine import Engine
from spillway.controllers.protocol.values import ENGINE, Partition, Reach
from spillway.controllers.topics import Names
from spillway.model.errors import SpillwayError
from spillway.model.execution import Delivery
from spillway.model.streamjob import Spec
from spillway.runtime import clients, commits, failpoints, task
from spillway.runtime.batch import combining, isolation, ranges
from spillway.runtime.batch.ranges import Order, Range, Result
from spillway.runtime.batch.spark import LostError
from spillway.runtime.batch.speed import Batch, Speed, Weight
from spillway.runtime.clients import Access
from spillway.runtime.commits import Committer, GoneError, Position, Snapshot
from spillway.runtime.driver.aheads import Aheads
from spillway.runtime.driver.catalogue import Catalogue
from spillway.runtime.driver.hands import Hands
from spillway.runtime.driver.origins import Changelogs, Origins
from spillway.runtime.driver.outcomes import Outcomes
from spillway.runtime.driver.positions import Positions
from spillway.runtime.driver.runs import Last, Running
from spillway.runtime.driver.standby import Runner, Standby
from spillway.runtime.driver.turns import Heads, Turns
from spillway.runtime.emitter import Emitter
from spillway.runtime.marking import Marking
from spillway.runtime.programs.program import Program
from spillway.runtime.slots.outputs import Outputs
from spillway.runtime.slots.trimming import EVERY as TRIM_EVERY
from spillway.runtime.slots.trimming import Read, Trimmer

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
        self._marking = Marking(access, names, self._emitter, f"{names.prefix}batch")
        self._origins = Origins(Changelogs(access, names))
        self._turns = Turns(positions)
        self._aheads = Aheads(self._hands, self._ask_ahead)
        self._trimmer = Trimmer(access, names)
        self._trim_due: dict[Partition, float] = {}
        self._write: Write = lambda _: None
        self._code: Path | None = None
        self._exactly = False
        self._outputs: list[str] = []
        self.outcomes = Outcomes(0.0)
        self._committer: Committer | None = None
        self._storing = threading.Lock()
        self.engine: Engine | None = None
        self._state = log.State()
        self._running: dict[int, Running] = {}
        self._held: list[Running] = []  # those of them that wait for origins
        self._looking = False
        self._look_due = 0.0
        self._turn = ""  # the segment whose batch was last
        self._gone: GoneError | None = None
        self.speeds: dict[str, Speed] = {}
        """By program."""
        self.weights: dict[str, Weight] = {}
        """By program, how full the messages are that it reads."""
        self.lasts: dict[str, Last] = {}
        """By segment."""
        self._executors = 0  # by whom was measured what is known of speeds

    def lead(self, number: int) -> None:
        """Get ready to lead under this number: before anybody else can know of it, so that no fence is undone."""
        batch = Outputs(self._access).batch(self._outputs) if self._outputs else clients.BATCH
        self._committer = Committer(self._access, commits.identity(self._names.prefix, ENGINE, number), batch)
        self.engine = engine.of(number)
        failpoints.reached("engine ready")

    def begin(self, write: Write, code: Path | None, spec: Spec) -> None:
        """`write` appends to the control log; `code` is where the user's functions are.

        With `delivery: exactly-once` outputs are sent in one transaction with the positions: by this process alone.
        """
        self._write, self._code = write, code
        self._exactly = spec.execution.delivery is Delivery.EXACTLY_ONCE
        self._outputs = [output.topic for output in spec.outputs] if self._exactly else []
        self.outcomes = Outcomes(spec.latency.bound.seconds * 1000)

    def close(self) -> None:
        """End threads and Spark; what is not finished is for who leads next."""
        self._hands.close()
        self._marking.close()
        self._emitter.abandon()
        self._origins.close()
        self._trimmer.close()
        self.standby.close()

    # What the driver asks.

    def can(self, program: Program, spec: Spec) -> str:
        """Why a program can't run in batches; empty if it can."""
        if not all(state.broadcast for state in program.states):
            return "it keeps tables, and those stay where records are merged one by one"
        if any(state.operator is not None and state.operator.retention for state in program.states):
            return "what is late for a join with a retention depends on all that came before"
        return ""

    @property
    def busy(self) -> bool:
        """Whether something is on its way, so that each moment counts."""
        return bool(self._running or self._looking) or self._marking.busy or self._proposed or self._aheads.busy

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
        self._turns.hear(state)
        if self.engine is not None:
            self.engine, asked = engine.hear(self.engine, state, message, counted)
            self._carry_out(asked)

    def step(self) -> None:
        """What was done beside the loop, and what is due."""
        self._hands.answers()
        if self._gone is not None:
            raise self._gone
        self._scale()
        self._read_back()
        if self.engine is None:
            return
        self._aheads.look()
        self._take_in_origins()
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
                case effects.Forget(partition, epoch):
                    self._origins.forget(partition, epoch)
                case effects.Start(partition, epoch, program):
                    known = self._origins if self._reads_edge(program) else self._aheads
                    known.begin(partition, epoch)
                case effects.Stop(partition):
                    if self.engine is not None and partition not in self.engine.slot.works:
                        self._origins.drop(partition)
                        self._aheads.drop(partition)
                case effects.Flush():
                    pass  # nothing is done but for intents, and nothing is buffered between them

    def _warm(self, effect: effects.Warm) -> None:
        """A move to here begins. Spark is warm by now, else nobody would have asked."""
        problem = "" if self.standby.runner is not None else self.standby.told.problem or "Spark is not warm"
        if self._catalogue.program(effect.program) is None:
            problem = f"nobody knows program {effect.program}"
        if not problem and self._reads_edge(effect.program):
            self._origins.warm(effect.partition, effect.epoch)
        else:
            self._prepared(effect.partition, effect.epoch, problem)

    def _prepared(self, partition: Partition, epoch: int, problem: str = "") -> None:
        me = engine.of(self._number).slot.me
        self._carry_out((owner.prepared(partition, epoch, me, problem),))

    # What is known of origins.

    def _take_in_origins(self) -> None:
        for told in self._origins.ahead():
            self._prepared(told.partition, told.epoch)
        held, self._held = self._held, []
        for running in held:
            self._run(running)

    def _reads_edge(self, program: str) -> bool:
        found = self._catalogue.program(program)
        return found is not None and task.source_of(found) is None

    def _is_known(self, place: Partition, epoch: int, program: str) -> bool:
        """Whether everything is restored that a range of it has to be given."""
        known = self._origins if self._reads_edge(program) else self._aheads
        return known.has(place, epoch)

    def _ask_ahead(self, places: tuple[Partition, ...]) -> Mapping[Partition, tuple[Stretch, ...]]:
        topic = self._catalogue.input(self._state, places[0])
        return self._positions.ahead(places[0].segment, topic, [place.number for place in places])

    def _is_ready(self, work: owner.Work) -> bool:
        return work.processes and self._is_known(work.partition, work.epoch, work.program)

    @property
    def _number(self) -> int:
        return self.engine.slot.me.incarnation if self.engine else 0

    # Takeovers.

    def _mark(self, effect: effects.EmitMarker) -> None:
        program = self._program(effect.program)
        self._marking.mark(effect, program, self._width(program))
        failpoints.reached("batch marked")

    def _ask_back(self, effect: effects.ReadBack) -> None:
        assert self.engine is not None  # noqa: S101 - it is who asks
        program = self._program(self.engine.slot.works[effect.partition].program)
        self._marking.ask(effect, program, self._width(program))

    def _read_back(self) -> None:
        for back, barrier in self._marking.found():
            failpoints.reached("batch read back")
            if self.engine is not None:
                self.engine, asked = engine.read_back(self.engine, self._state, back, barrier)
                self._carry_out(asked)

    # One batch.

    def _look(self) -> None:
        """How far the input reaches of the segment whose turn it is."""
        assert self.engine is not None  # noqa: S101
        segments = sorted({place.segment for place, work in self.engine.slot.works.items() if self._is_ready(work)})
        if not segments:
            self._look_due = time.monotonic() + IDLE
            return
        self._turn = next((name for name in segments if name > self._turn), segments[0])
        places = [work.partition for work in self.has(self._turn) if self._is_ready(work)]
        inputs = [(place, self._catalogue.input(self._state, place)) for place in places]
        self._looking = True
        topics = tables(self._program(self._state.holdings[places[0]].program))
        works = tuple(self.has(self._turn))
        ask = self._positions
        self._hands.do(
            lambda: (ask.ends(inputs, committed=True), ask.reaches(topics), self._turns.heads(works, inputs)),
            lambda found: self._seen(*found),
            self._unseen,
        )

    def _unseen(self, error: Exception) -> None:
        self._looking, self._look_due = False, time.monotonic() + AGAIN
        _log.warning("%s; asked again", error)

    def _seen(self, found: Mapping[Partition, int], reaches: tuple[Reach, ...], heads: Heads) -> None:
        self._looking = False
        now = time.monotonic()
        if self.engine is None:
            return
        having = self.engine.slot.works
        works = {place: work for place in found if (work := having.get(place)) is not None and self._is_ready(work)}
        first = self._turns.first(works, found, heads)
        works = {place: work for place, work in works.items() if place in first}
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
        if not programs:
            return FIRST
        line = self.speed(programs[0]).line
        records = FIRST if line is None else max(FIRST, int(line.capacity * LONGEST / len(programs)))
        return max(1, int(records / (self.weight(programs[0]) or FRAME)))

    def input(self, program: Program) -> str:
        """The topic that a program reads."""
        return task.input_of(program, self._names)

    def speed(self, program: str) -> Speed:
        """What is known of a program."""
        return self.speeds.setdefault(program, Speed())

    def weight(self, program: str) -> float | None:
        """Records in a message of what a program reads; None as long as nobody knows."""
        if not self._reads_edge(program):
            return 1.0
        known = self.weights.get(program)
        return known.each if known is not None else None

    def weigh(self, name: str, program: Program, results: Sequence[Result]) -> int:
        """Learn that from some ranges; the records that they had."""
        found = ranges.records(program, results)
        self.weights.setdefault(name, Weight()).learn(sum(one.messages for one in results), found)
        return found

    def _scale(self) -> None:
        """More executors are quicker, and that is known before they have shown it."""
        there = self.standby.executors or 0
        if there and there != self._executors:
            for speed in self.speeds.values() if self._executors else ():
                speed.scale(there / self._executors)
            self._executors = there

    def _run(self, running: Running) -> None:
        """Give an intent to Spark; what Spark can't do, or what must be finished without, is done here."""
        intent, epochs = running.run.intent, dict(running.run.epochs)
        self._running[intent.number] = running
        if not all(self._is_known(part.partition, epochs[part.partition], intent.program) for part in intent.ranges):
            self._held.append(running)
            return
        runner: Runner | None = self.standby.runner
        if runner is None or running.times >= TIMES:
            runner = isolation.Alone()
        given = [
            Range(
                p.partition.number,
                p.start,
                p.stop,
                epochs[p.partition],
                self._origins.of(p.partition),
                self._aheads.within(*p),
            )
            for p in intent.ranges
        ]
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
        width, frame = self._width(found), max(frame, FRAME)
        return Order(self._access, self._names, width, found, aims, frame, self._code, exactly=self._exactly)

    def _ran(self, running: Running, results: Sequence[Result]) -> None:
        failpoints.reached("batch ran")
        running.results = results
        self.outcomes.add(results)
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
        results = running.results if running else ()
        changes = [change for result in results for change in (*result.outputs, *result.changes)]
        positions = [
            Position(
                self._names.group(p.segment),
                self._catalogue.input(self._state, p),
                p.number,
                upto,
                self._aheads.note(p, upto),
            )
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
            self._stored(running)
            self._learn(running)
        if self.engine is not None:
            self.engine, asked = engine.committed(self.engine, self._number, effect)
            self._carry_out(asked)

    def _stored(self, running: Running) -> None:
        """From now on this is what is known of origins; and what was read of their edges is not needed again."""
        intent, now = running.run.intent, time.monotonic()
        segment = intent.ranges[0].partition.segment
        for result in running.results:
            self._origins.stored(segment, result.changes)
        if self._reads_edge(intent.program):
            due = [one for one in intent.ranges if now >= self._trim_due.get(one.partition, 0.0)]
            self._trim_due |= {one.partition: now + TRIM_EVERY for one in due}
            self._trimmer.tell(
                [
                    Read(self._names.edge(segment), one.partition.number, one.stop, self._origins.seen(one.partition))
                    for one in due
                ]
            )

    def _learn(self, running: Running) -> None:
        seconds = time.monotonic() - running.began
        intent = running.run.intent
        records = self.weigh(intent.program, self._program(intent.program), running.results)
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
        return combining.aims(program, self._catalogue.beside(program))

    def _width(self, program: Program) -> int:
        plan = self._state.plan_of(program.id) or self._state.plan
        return plan.width if plan is not None else 0
