"""One life of a slot, from its `Join` on: the loop, and everything that `protocol.slot` asks for.

The loop reads like this: poll, work, send, hear, commit, tell. Nothing in it waits for a commit, a restore or a broker:
what takes long is done by threads beside it, whose results are looked at once around the loop. What was emitted is on
its way at once. Only the loop hears acknowledgements, so that marks need no locks.

A life ends with `GoneError` when it was fenced, or when nobody knows what became of a commit. Everything that it had is
dropped then, and the process begins another one.
"""

from __future__ import annotations

import functools
import logging
import math
import time
import uuid
from collections.abc import Callable, Iterable, Sequence

from spillway.controllers.protocol import effects, log, messages, owner, slot
from spillway.controllers.protocol.slot import Slot
from spillway.controllers.protocol.values import LONGEST_TEXT, Owner, Partition
from spillway.controllers.topics import Names
from spillway.model.errors import NotReadyError
from spillway.model.execution import Delivery, OnError
from spillway.runtime import control, failpoints, task
from spillway.runtime.clients import Access
from spillway.runtime.commits import Change, Committer, GoneError, Snapshot, identity
from spillway.runtime.control import ControlLog
from spillway.runtime.emitter import TO_ANY, Emitter
from spillway.runtime.marking import Marking
from spillway.runtime.programs.program import Program
from spillway.runtime.slots import keeping, preparing
from spillway.runtime.slots.caution import Caution
from spillway.runtime.slots.counting import Counting
from spillway.runtime.slots.halts import Halts
from spillway.runtime.slots.lanes import Lanes
from spillway.runtime.slots.library import Library, policy
from spillway.runtime.slots.lookout import Lookout
from spillway.runtime.slots.outputs import Outputs
from spillway.runtime.slots.pace import Pace, Stopwatch
from spillway.runtime.slots.parting import Parting
from spillway.runtime.slots.place import Made, Place
from spillway.runtime.slots.preparing import Preparer, Want
from spillway.runtime.slots.readers import Readers
from spillway.runtime.slots.settings import Settings
from spillway.runtime.slots.storing import Step, Storing
from spillway.runtime.slots.times import Times
from spillway.runtime.slots.trimming import EVERY as TRIM_EVERY
from spillway.runtime.slots.trimming import Read, Trimmer
from spillway.runtime.task import NEVER, Filling

logger = logging.getLogger(__name__)

# Seconds from one commit to the next. What is repeated after a crash is what came since; each commit costs some
# milliseconds of a broker, and the encoding of what changed in the loop.
COMMIT_EVERY = 0.5
# With exactly-once, readers see results only after a commit, so this is part of the latency. A commit takes about 10 ms
# when 10 ms lie between two; shorter than both together would only make a queue.
COMMIT_EXACTLY_ONCE = 0.03
# Seconds that a poll waits for a record; control messages wait for it too. Shorter: an idle slot costs more.
IDLE = 0.02
# Seconds for a broker to take the `Join` and give it back.
JOIN = 60.0


class Life:
    """One life; `step` is once around the loop."""

    def __init__(
        self,
        settings: Settings,
        access: Access,
        library: Library,
        stopped: Callable[[], bool] = lambda: False,
        why: str = "",
    ) -> None:
        """Join: from here on any earlier life of this slot is dead to all, and `why` that ended is said.

        `stopped`: nobody wants that any more.
        """
        spec = settings.job.spec
        self.names = Names.of(settings.job)
        self._access, self._library = access, library
        self._caution = Caution(settings.ledger, settings.suspects)
        self._exactly = spec.execution.delivery is Delivery.EXACTLY_ONCE
        self._every = COMMIT_EXACTLY_ONCE if self._exactly else COMMIT_EVERY
        self.process = f"{settings.slot}.{uuid.uuid4().hex[:12]}"
        outputs = Outputs(access)
        batch = outputs.batch(output.topic for output in spec.outputs)
        self.emitter = Emitter(access, batch, timed=True)
        self._log = ControlLog(access, self.names)
        self.state = self._log.restored()
        self.machine = self._joined(settings.slot, stopped, why)
        failpoints.reached("joined")
        self._storing = Storing(Committer(access, identity(self.names.prefix, *self.machine.me), batch))
        failpoints.reached("initialised")
        self.readers = Readers(access, f"{self.names.prefix}slots")
        self._pace, self._turn = Pace(), Stopwatch()
        bound = spec.latency.bound.seconds * 1000
        self._lanes = Lanes(self.readers, bound)
        self._preparer = Preparer(access, self.names, library, outputs, keeping.of(settings))
        self._marking = Marking(access, self.names, self.emitter, f"{self.names.prefix}slots")
        self._trimmer = Trimmer(access, self.names)
        self.places: dict[Partition, Place] = {}
        self._started: dict[Partition, float] = {}
        self._flushing: dict[Place, None] = {}
        self._parting = Parting(self._append)
        self._lookout = Lookout(access, self.names)
        self._halts = Halts(self, self._lookout)
        self._fails = False  # whether the plan says that a bad record halts its partition
        self._fill()
        self.waiting: dict[Partition, str] = {}
        self.times = Times(bound)
        self.counting = Counting()
        self.letters = 0
        self.busy = 0.0
        self._commit_due = time.monotonic() + self._every
        self._trim_due = time.monotonic() + TRIM_EVERY

    # The loop.

    def step(self) -> None:
        """Once around."""
        room = self.emitter.has_room()
        found = self._lanes.poll(self._patience(), self._pace.most, self._pace.room) if room else {}
        if found:
            self._turn.begin()
            self.times.begin()
            failpoints.reached("polled")
        worked: dict[Place, None] = {}
        for where, some in found.items():
            for place in self.readers.at(where):
                self._caution.take(place, self._lanes.due(place, some))
                worked[place] = None
                if place.bound is not None and some[-1].offset() >= place.bound:
                    self._halts.halt(place, place.problem)
            self.readers.follow(where, some)
        if found:
            failpoints.reached("processed")
        self._send(worked)
        if found:
            failpoints.reached("sent")
            took, own = self._turn.read()
            self.busy += took
            self._pace.took(self._lanes.came, self._lanes.weight, own)
        self.emitter.serve()
        self._hear()
        self._look()
        self._halts.look()
        self._flush()
        self._commit()

    def _patience(self) -> float:
        """How long to wait for a record."""
        due = min((place.task.due for place in self.places.values()), default=NEVER)
        return IDLE if due == NEVER else max(0.0, min(IDLE, due - time.monotonic()))

    def _send(self, worked: Iterable[Place]) -> None:
        """What has come out of these, and what has waited long enough elsewhere."""
        now = time.monotonic()
        for place in worked:
            self._send_of(place, now)
        for place in tuple(self.places.values()):
            if place.task.due <= now:
                self._send_of(place, now)

    def _send_of(self, place: Place, now: float, *, whole: bool = False) -> None:
        """What has come out of one; `whole`: with all that waits for a full frame."""
        work, send = place.task, self.emitter.send
        made = work.frames(now, whole=whole or self._fails)
        if self._fails and (bad := work.bad) is not None:
            self._halts.undo(place, bad)
            self._drop(place)
            return
        for topic, partition, key, value in made:
            send(topic, partition, key, value)
        segment = place.partition.segment
        for name, sends, earliest in work.results():
            results = Made(segment, name, len(sends), earliest, time.time() * 1000)
            if self._exactly:
                place.hold(results, [Change(topic, TO_ANY, key, value) for topic, _, key, value in sends])
            else:
                self.emitter.send_all(sends)
                self.times.sent(results, self.emitter.network)
        for topic, partition, key, value in work.letters():
            self.letters += 1
            send(topic, partition, key, value)
        self.times.add(segment, work.spent)
        work.looked()

    # The control log.

    def _joined(self, name: str, stopped: Callable[[], bool], why: str) -> Slot:
        """Write `Join`, and read the log up to it."""
        self._append(messages.Join(name, self.process, why[:LONGEST_TEXT]))
        failpoints.reached("joining")
        deadline = time.monotonic() + JOIN
        while time.monotonic() < deadline and not stopped():
            self.emitter.serve()
            for _, message in self._log.read(0.1):
                self.state, _ = log.read(self.state, message)
                machine = slot.joined(self.state, message, self.process)
                if machine is not None:
                    return machine
        problem = f"topic {self.names.control!r} did not take that slot {name} is there within {JOIN:.0f} s"
        raise NotReadyError(problem)

    def _append(self, message: messages.Any) -> None:
        self.emitter.send(*control.record(self.names, message))

    def _hear(self) -> None:
        """Messages of the log, in their order, each after everything that was processed before it."""
        leaving = any(work.leaving and work.processes for work in self.machine.works.values())
        if leaving:
            self._processed()
        for _, message in self._log.read():
            self._processed()
            before = self.state.plan
            self.state, counted = log.read(self.state, message)
            if self.state.plan is not before:
                self._fill()
            self.machine, asked = slot.hear(self.machine, message, counted)
            self._carry_out(asked)
            failpoints.reached("heard")

    def _processed(self) -> None:
        """Tell the machine where everything is."""
        for partition, place in tuple(self.places.items()):
            work = self.machine.works.get(partition)
            if work is not None and place.working and work.position != place.next:
                self.told(partition, functools.partial(owner.processed, position=place.next, me=self.me))

    def _carry_out(self, asked: Sequence[effects.Any]) -> None:
        for effect in asked:
            match effect:
                case effects.Append(messages.Released() as message):
                    self._parting.say(message)
                case effects.Append(message):
                    self._append(message)
                    failpoints.reached("warmed")
                case effects.Warm():
                    self._preparer.warm(self._want(effect.partition, effect.epoch, effect.program))
                case effects.Forget():
                    self._preparer.forget(self._want(effect.partition, effect.epoch, ""))
                case effects.EmitMarker():
                    self._marking.mark(effect, *self._wide(effect.program))
                    failpoints.reached("marked")
                case effects.ReadBack():
                    self._marking.ask(effect, *self._wide(self.machine.works[effect.partition].program))
                case effects.Start():
                    self._start(effect)
                case effects.Stop():
                    self._stop(effect.partition)
                case effects.Flush():
                    if (place := self.places.get(effect.partition)) is not None:  # else it is undone, and goes back
                        self._flushing[place] = None
                case effects.Commit():
                    pass  # whatever is acknowledged is in a snapshot, and all of those are stored
                case effects.Restart():
                    problem = f"{self.machine.me} was replaced"
                    raise GoneError(problem)

    def _want(self, partition: Partition, epoch: int, program: str) -> Want:
        return Want(partition, epoch, program, self._width, self.state)

    def _wide(self, program: str) -> tuple[Program, int]:
        return self._library.loop(self.state, program).program, self._width

    @property
    def _width(self) -> int:
        """How many partitions the edges have."""
        return self.state.plan.width if self.state.plan is not None else 0

    # Partitions come and go.

    def _start(self, effect: effects.Start) -> None:
        """Go on with what was stopped, else get it ready first."""
        place = self.places.get(effect.partition)
        if place is not None and place.task.epoch == effect.epoch:
            self.go_on(place)
            return
        if place is not None:
            self._drop(place)
        self._started[effect.partition] = time.monotonic()
        self._preparer.finish(self._want(effect.partition, effect.epoch, effect.program))
        failpoints.reached("assigned")

    def _finished(self, done: preparing.Finished) -> None:
        """A task is ready; unless it is somebody else's by now, it is read from where it stands.

        Who is asked to release before that, and to go on after all, has asked for it twice.
        """
        work, place = self.machine.works.get(done.partition), self.places.get(done.partition)
        if work is None or work.epoch != done.epoch or (place is not None and place.task.epoch == done.epoch):
            done.task.close()
            return
        took = time.monotonic() - self._started.pop(done.partition)
        self.waiting.pop(done.partition, None)
        logger.info("%s: works on %s from %d on, after %.0f ms", self.me, done.partition, work.position, took * 1000)
        place = Place(done.partition, done.task, done.replicas, work.position, took, done.done)
        self.places[done.partition] = place
        self._fill()
        if done.replicas is not None:
            self.readers.add_replicas(done.task.program.id, done.replicas)
        self._halts.restored(place)
        place.working = work.processes
        if place.working:
            self._read(place)
        failpoints.reached("taken")

    def _read(self, place: Place) -> None:
        self._lanes.reads(place)
        self.readers.add(place)
        self._halts.reads(place)

    def _stop(self, partition: Partition) -> None:
        place = self.places.get(partition)
        if place is None:
            return
        if place.working:
            place.working = False
            self.readers.leave(place)
            failpoints.reached("stopped")
        if partition not in self.machine.works:
            self._drop(place)

    def _drop(self, place: Place) -> None:
        self._halts.released(place)
        self._flushing.pop(place, None)
        if place.working:
            place.working = False
            self.readers.leave(place)
        del self.places[place.partition]
        self.counting.leave(place)
        place.close()
        failpoints.reached("dropped")

    def _fill(self) -> None:
        """Frames are as large as the plan says now; a program that is in no plan any more leaves its frames at once."""
        plan = self.state.plan
        if plan is not None:
            steered = policy(plan)
            self._fails = steered.on_error is OnError.FAIL
            self._lanes.obey(steered, self.places.values())
        fillings = {one.program: Filling(one.frame, dict(one.deadlines)) for one in plan.segments} if plan else {}
        for place in self.places.values():
            place.task.fill(fillings.get(place.task.program.id, Filling()))

    # What can't go on: see `halts`.

    def told(self, partition: Partition, step: Callable[[owner.Work], owner.Step]) -> None:
        """One of the partitions goes a step further in the protocol."""
        self.machine, asked = slot.told(self.machine, partition, step)
        self._carry_out(asked)

    def pause(self, place: Place) -> None:
        """Process nothing more of a partition; what it has done is stored."""
        if place.working:
            place.working = False
            self.readers.leave(place)
        self._flushing[place] = None

    def go_on(self, place: Place) -> None:
        """Process again, from where it stands."""
        self._halts.released(place)
        place.bound, place.again = None, math.inf
        place.working = True
        self._read(place)

    def stores(self, partition: Partition) -> bool:
        """Whether something of a partition is on its way to be stored."""
        return self._storing.has(partition)

    def restore(self, partition: Partition) -> None:
        """Get a task of a partition ready, as it was committed."""
        work = self.machine.works[partition]
        self._started[partition] = time.monotonic()
        self._preparer.finish(self._want(partition, work.epoch, work.program))

    # What threads have done.

    def _look(self) -> None:
        while not self._preparer.results.empty():
            match self._preparer.results.get():
                case preparing.Warmed(partition, epoch, problem):
                    self._carry_out((owner.prepared(partition, epoch, self.me, problem),))
                case preparing.Finished() as done:
                    self._finished(done)
                case preparing.Waits(partition, epoch, problem):
                    work = self.machine.works.get(partition)
                    if work is not None and work.epoch == epoch:
                        self.waiting[partition] = problem
                case preparing.Failed(error):
                    raise error
        for back, barrier in self._marking.found():
            self._processed()
            step = functools.partial(owner.read_back, epoch=back.epoch, barrier=barrier, me=self.me)
            self.told(back.partition, step)
            failpoints.reached("read back")

    # Commits.

    def _commit(self) -> None:
        """What is stored is told, what has arrived is stored, and now and then a snapshot is taken."""
        stored = self._storing.stored()
        if stored is not None:
            failpoints.reached("stored")
            self.machine, asked = slot.committed(self.machine, effects.Commit(stored.positions))
            for partition, upto in stored.positions:
                if (place := self.places.get(partition)) is not None:
                    place.stored = max(place.stored, upto)
            self._carry_out(asked)
            for made in stored.made:
                self.times.stored(made)
            if stored.reads:
                self._trimmer.tell(stored.reads)
        arrived = self._storing.arrived()
        if arrived is not None:
            failpoints.reached("acknowledged")
            self._processed()
            for partition, upto in arrived.positions:
                self.told(partition, functools.partial(owner.acknowledged, position=upto, me=self.me))
        self._flushing |= self._parting.look(self.places, self.stores)
        if time.monotonic() >= self._commit_due and not self._storing.waits:
            self._commit_due = time.monotonic() + self._every
            for place in [place for place in self.places.values() if place.working]:
                self._send_of(place, time.monotonic(), whole=True)
            self._snapshot([place for place in self.places.values() if place.working])

    def _flush(self) -> None:
        """Partitions are to be released: everything of them goes out, and is stored as soon as it has arrived.

        All at once, for each commit takes some milliseconds, and a slot that leaves has hundreds of partitions.
        """
        if not self._flushing:
            return
        flushing, self._flushing = self._flushing, {}
        for place in flushing:
            self._send_of(place, time.monotonic(), whole=True)
        # What hasn't changed since the last one is still on its way.
        self._snapshot([place for place in flushing if self.places.get(place.partition) is place])
        failpoints.reached("flushed")

    def _snapshot(self, places: Sequence[Place]) -> None:
        """Store what has changed."""
        found = [(place, snapshot) for place in places if (snapshot := place.snapshot()) is not None]
        if not found:
            return
        whole = Snapshot(
            [change for _, snapshot in found for change in snapshot.changes],
            [position for _, snapshot in found for position in snapshot.positions],
        )
        at = tuple((place.partition, place.next) for place, _ in found)
        reads: list[Read] = []
        if time.monotonic() >= self._trim_due:
            self._trim_due = time.monotonic() + TRIM_EVERY
            reads = [place.read() for place, _ in found if task.source_of(place.task.program) is None]
        made = [one for place, _ in found for one in place.given()]
        self._storing.add(Step(whole, self.emitter.mark(), at, reads, made))
        failpoints.reached("snapshot taken")

    # The end.

    @property
    def me(self) -> Owner:
        """Which life."""
        return self.machine.me

    @property
    def empty(self) -> bool:
        """Whether it has no partition: what it has released and nobody else got rests, and needs nobody."""
        return all(self.state.owner(partition) != self.me for partition in self.machine.works)

    def drain(self, seconds: float) -> None:
        """Process nothing more, and store all that was: who comes next repeats nothing."""
        for place in tuple(self.places.values()):
            if place.working:
                place.working = False
                self.readers.leave(place)
                self._send_of(place, time.monotonic(), whole=True)
        self._snapshot(tuple(self.places.values()))
        deadline = time.monotonic() + seconds
        while not self._storing.idle and time.monotonic() < deadline:
            self.emitter.serve(0.01)
            self._storing.stored()
            self._storing.arrived()
        failpoints.reached("drained")

    def close(self) -> None:
        """End threads and clients; what is not sent is thrown away."""
        self.emitter.abandon()
        self._turn.close()
        self._preparer.close()
        self._lookout.close()
        self._marking.close()
        self._trimmer.close()
        self._storing.close()
        self.readers.close()
        self._log.close()
