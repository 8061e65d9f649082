"""The driver of a job: it observes, decides, applies and reports, five times a second, and hears the log in between."""

from __future__ import annotations

import dataclasses
import logging
import queue
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from spillway.controllers import rollout, topics
from spillway.controllers.protocol import knowledge, messages
from spillway.controllers.protocol.frozen import Frozen
from spillway.controllers.protocol.knowledge import Target
from spillway.controllers.protocol.leader import FAILURES
from spillway.controllers.protocol.reasons import Reason as Cancelled
from spillway.controllers.protocol.values import ENGINE, Owner, Partition
from spillway.controllers.rollout import Rollout
from spillway.controllers.topics import Names
from spillway.model.errors import TerminalError
from spillway.model.execution import Mode
from spillway.model.observation import Deployed, Deployment, StandbyState, SwitchAnswer, SwitchOrder
from spillway.model.operators import Paradigm
from spillway.model.streamjob import Spec, StreamJob
from spillway.runtime import clients
from spillway.runtime.clients import Access
from spillway.runtime.driver import observing, plans, splitting, steering, supply, switches
from spillway.runtime.driver.batching import Batching
from spillway.runtime.driver.catalogue import Catalogue
from spillway.runtime.driver.changing import Changes
from spillway.runtime.driver.directed import UNDIRECTED, Directed
from spillway.runtime.driver.draining import Ends
from spillway.runtime.driver.hands import Hands
from spillway.runtime.driver.journal import Journal
from spillway.runtime.driver.leading import Counted, Leading
from spillway.runtime.driver.listening import Telemetry
from spillway.runtime.driver.liveness import Liveness
from spillway.runtime.driver.manifest import Manifest
from spillway.runtime.driver.observing import Seen
from spillway.runtime.driver.paradigms import Paradigms
from spillway.runtime.driver.recording import Recorder
from spillway.runtime.driver.reports import Reports
from spillway.runtime.driver.retries import Retries
from spillway.runtime.driver.shadows import Shadows
from spillway.runtime.driver.standby import Resizable, Standby
from spillway.runtime.driver.steersman import Steersman
from spillway.runtime.driver.supply import Supplies
from spillway.runtime.driver.switches import Switched
from spillway.runtime.driver.waits import Waits

TICK = 0.2  # seconds, as `controllers.tick` is made for
# Seconds that the loop waits for a message of the log. What hands have done is heard so much later: part of a takeover.
WAIT = 0.02
SOON = 0.002  # the same while a batch is on its way, of which each step waits for the one before
TURN = 0.05  # seconds between two ticks while an edge is drained: its writers do nothing until that is done
LOOK = 1.0  # seconds between two looks at the manifest
AGAIN = 1.0  # seconds until a start that failed is tried again
_MEANINGS = {str(reason): reason.meaning for reason in Cancelled}
_BEGAN = time.time() - time.monotonic()

_log = logging.getLogger(__name__)


class DeposedError(TerminalError):
    """Another driver leads."""


def clock() -> float:
    """Seconds since 1970, as they were when this process began, and from there on without a jump."""
    return _BEGAN + time.monotonic()


@dataclasses.dataclass(frozen=True, slots=True)
class Files:
    """Where a driver finds its job: the manifest, the user's functions, and the credentials for Kafka."""

    job: Path
    code: Path | None = None
    secret: Path | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Batches:
    """How micro-batches can be run.

    Attributes:
        start: starts a Spark for a job, with so many executors; takes some seconds.
        executors: whether it has some that somebody has to grant.
    """

    start: Callable[[StreamJob, int], Resizable]
    executors: bool = False


class Driver:
    """One life of a driver that leads, or asks to. One thread calls it; but anybody may look at it, and `grant`.

    Attributes:
        names: of the job's topics.
        catalogue: all programs.
        changes: which manifest is used.
        supplies: what is the matter with the topics.
        steersman: who shall have what.
        batching: the batch engine.
        seen: what was measured last.
        change: how far a change of programs is.
        silent: lives of which nothing was heard for too long.
        granted: how many workers may own partitions; None as long as nobody has said.
    """

    def __init__(self, files: Files, job: StreamJob, batches: Batches | None = None, *, directed: bool = False) -> None:
        """Read the log, and ask to lead. `job` is what the manifest says now. Raises what may pass as well.

        `batches` is None where there is no Spark, and everything runs record by record. One that is `directed` runs
        what `direct` says, each operator in a segment of its own, and decides nothing.
        """
        access = Access(job.spec.kafka, files.secret, "spillway-driver")
        client = clients.admin(access)
        # Without these topics nobody can lead; the others have to wait for a plan.
        supply.look(client, job, (), topics.width(job), {})
        self.names = Names.of(job)
        self._hands = Hands()
        self.catalogue = Catalogue(self.names)
        self.changes = Changes(Manifest(files.job, files.code), job, client, self._hands, apart=directed)
        self.supplies, self.steersman = (
            Supplies(client, self._hands),
            (Directed if directed else Steersman)(self._hands),
        )
        self.reports, self.journal, self.retries = Reports(), Journal(), Retries()
        self._waits, self._liveness, self._ends = Waits(), Liveness(), Ends(self._hands)
        self.seen = Seen(clock(), {}, {}, {}, {}, {}, {}, {})
        self.change: Rollout | None = None
        self.silent: frozenset[Owner] = frozenset()
        self.granted: int | None = None
        self._returning = 0  # the number of the plan that goes back to the one before
        self._next = self._looked = 0.0
        self._splits: messages.Plan | None = None  # a plan that waits for topics of its pieces
        self._ordered: queue.SimpleQueue[Switched] = queue.SimpleQueue()
        self._telemetry = Telemetry(access, self.names)
        self.leading = Leading(access, self.names, f"driver-{uuid.uuid4()}", self._hands)
        self.recorder = Recorder(self.names, self.leading.send)
        start = batches.start if batches is not None else None
        # With the manifest as it is then: executors of a Spark that runs stay as they were.
        standby = Standby(
            None if start is None else lambda count: start(self.job, count),
            executors=batches is not None and batches.executors,
        )
        self.batching = Batching(access, self.names, self.catalogue, self.leading.positions, standby)
        self.batching.begin(self.leading.write, files.code, job.spec)
        positions = self.leading.positions
        self.paradigms = Paradigms(self.batching, Shadows(self.batching, positions), positions)
        self.leading.begin(lambda place: self.catalogue.input(self.leading.state, place), self.batching.lead)
        self._planned()

    @property
    def job(self) -> StreamJob:
        """The manifest that is used."""
        return self.changes.job

    @property
    def leaving(self) -> frozenset[Owner]:
        """Lives that want to give everything away."""
        lasts = ((owner, self.reports.last(owner)) for owner in self.reports.owners())
        return frozenset(owner for owner, last in lasts if last and last.report.leaving)

    def grant(self, workers: int, executors: int | None = None) -> None:
        """So many workers may own partitions, and Spark have so many executors. Any thread may say so."""
        self.granted = workers
        if executors is not None:
            self.batching.standby.grant(executors)
        self._next = 0.0

    def direct(self, deployment: Deployment) -> None:
        """Run this, each operator on slots of its own. Any thread may say so; a driver that decides itself ignores it.

        What was asked for shows in `deployed` of its view.
        """
        if isinstance(self.steersman, Directed):
            self.steersman.direct(deployment)
            self._next = 0.0

    @property
    def deployed(self) -> Deployed:
        """How far that is carried out."""
        if not isinstance(self.steersman, Directed):
            return UNDIRECTED
        return self.steersman.deployed(self.leading.state, self.seen)

    def order(self, order: SwitchOrder) -> SwitchAnswer:
        """Run operators in another paradigm, because a person says so. Any thread may.

        What is decided goes on: a segment in batches comes back when record by record has been the better for a while.
        """
        told = self.batching.standby.told
        cold = self.job.spec.execution.executors.min == 0 and self.batching.standby.possible
        warm = told.state is StandbyState.WARM
        standby = "" if warm or (cold and not told.problem) else told.problem or f"Spark is {told.state}"
        policy, plan = self.job.spec.policy, self.leading.state.plan
        found, change = switches.answer(
            order, plan, self.paradigms.known, self.paradigms.cuts.judged, policy.mode, standby
        )
        if found.done:
            to = Paradigm(order.to)
            self._ordered.put(Switched(switches.Reason.ORDERED, found.sentence, tuple(change), to, change))
            self._next = 0.0
        return found

    def rests(self, place: Partition) -> bool:
        """Whether a partition may not run, whatever is planned: a pause, no workers, or a topic that is missing."""
        if self.job.spec.policy.paused or self.granted == 0:
            return True
        aim = self.change.aims.get(place) if self.change else None
        program = self.catalogue.program(aim.program) if aim else None
        return program is not None and self.supplies.found.stops(program)

    def _batches(self, place: Partition, program: str) -> bool:
        """Whether a partition is to run a program in batches."""
        return self.paradigms.batches(place, self.catalogue.program(program), self.job.spec)

    def run(self, ended: Callable[[], bool], report: Callable[[Driver], None]) -> None:
        """Until it is told to end; `report` is called with each tick. Raises DeposedError if another one leads."""
        while not ended():
            self._hear()
            now = clock()
            if now >= self._next:
                self._next = now + TICK
                self._observe(now)
                if self.leading.me.leads:
                    self._change(now)
                    self._apply(now)
                    self._think()
                report(self)
            self.leading.due()
            if self.leading.me.deposed:
                state = self.leading.state
                message = f"another driver leads now, {state.driver} as number {state.leader}"
                raise DeposedError(message)

    def close(self) -> None:
        """There is nothing to hand over: workers go on, and another driver finds everything in the log."""
        self._hands.close()
        self.paradigms.close()
        self.batching.close()
        self.leading.close()
        self._telemetry.close()

    def _hear(self) -> None:
        """Whatever has come: from slots, from the log, and from hands."""
        for report in self._telemetry.read():
            now = clock()
            self.reports.take(report, now)
            self._liveness.heard(Owner(report.slot, report.incarnation), now)
        for counted in self.leading.hear(SOON if self.batching.busy else WAIT):
            if counted.counts:
                self._counted(counted, clock())
            self.batching.heard(counted.message, self.leading.state, counted=counted.counts)
        before = self.steersman.decision
        self._hands.answers()
        decided = self.steersman.decision
        if decided is not None and decided is not before and decided.switch.switches:
            self._next = 0.0
        self.batching.step()

    def _counted(self, counted: Counted, now: float) -> None:
        """A message that changed what the log says."""
        self.journal.read(counted.before, counted.message, now, self.steersman.why, self.steersman.switched)
        match counted.message:
            case messages.Plan():
                self._planned()
            case messages.Join(slot):
                if life := self.leading.state.living(slot):
                    self._liveness.heard(life, now)
                self._next = 0.0
            case messages.Assign(partition=place):
                self.retries.moved(place)
            case messages.Cancel() if counted.message.reason in FAILURES:
                self._failed(counted, counted.message, now)

    def _planned(self) -> None:
        """The log has another plan, which is carried out at once: for a switch that is under way."""
        plan, self._next = self.leading.state.plan, 0.0
        self.catalogue.learn(self.leading.state)
        self.supplies.planned(plan)
        if plan is not None:
            state = self.leading.state
            of_segments = {self.catalogue.input(state, Partition(s.name, 0)): s.partitions for s in plan.segments}
            self.steersman.planned(plan, self.job, of_segments)

    def _observe(self, now: float) -> None:
        """Measure, and notice who and what is gone."""
        me, state, living = self.leading.me, self.leading.state, self._living()
        self.reports.keep(living)
        self.silent = self._liveness.silent(living, now)
        for owner in sorted(self.silent - me.silent):
            _log.warning("nothing was heard of %s for too long", owner)
            self.leading.tell(lambda me, owner=owner: knowledge.silent(me, owner))  # type: ignore[misc]
        for owner in sorted(me.silent - self.silent):
            self.leading.tell(lambda me, owner=owner: knowledge.heard(me, owner))  # type: ignore[misc]
        for place, epoch in self._waits.late(state, now):
            self.leading.tell(lambda me, place=place, epoch=epoch: knowledge.late(me, place, epoch))  # type: ignore[misc]
        for place, holding in state.holdings.items():
            if self.leading.me.lost(holding.owner):
                self.journal.lost(place, now, silent=holding.owner in self.silent)
        seen = observing.look(self.reports, state, self.catalogue.planned(state), now)
        while not self._ordered.empty():
            ordered = self._ordered.get()
            self.steersman.order(ordered)
            self._record(ordered, now)
        batched = self.paradigms.batched
        if state.plan is not None:
            self.paradigms.cuts.look(state.plan, self.job.spec)
            parts = self.paradigms.cuts.possible.values()
            self.catalogue.tried = {name: one for part in parts for name, one in part.programs.items()}
        asked = self.steersman.asks
        self.paradigms.look(state, self.catalogue.planned(state), self.job.spec, seen, asked=asked)
        for switched in self.paradigms.interrupted(batched, state):
            self.steersman.switched |= dict.fromkeys(switched.operators, switched.sentence)
            self._record(switched, now)
        self.seen = self.paradigms.added(seen)

    def _record(self, switched: Switched, now: float) -> None:
        """One that nobody decided by what was measured; each of them is news."""
        self.recorder.record("switching", switched, now, (str(switched.reason), str(now)), switched.more)

    def _change(self, now: float) -> None:
        """Which plan is to hold, and how far it is carried out."""
        state, shapes = self.leading.state, self.catalogue.shapes
        if now >= self._looked + LOOK:
            self._looked = now
            self._look(now)
        change = rollout.decide(state, shapes, self._ends.known, self.seen.positions, self.leading.unsettled())
        self.change = change
        self.recorder.record("rollout", change, now)
        if change.reason is rollout.Reason.DRAINING:
            self._next = min(self._next, now + TURN)
        self._ends.ask(change.asks, lambda place: self.catalogue.input(state, place), self.leading.positions)
        policy = self.job.spec.policy
        if not self.leading.is_written(messages.Plan):
            plan = self.changes.due(state, shapes)
            if plan is None and state.plan and change.reason is rollout.Reason.DONE and policy.mode is Mode.APPLY:
                tuned = splitting.planned(
                    state.plan,
                    self.paradigms.wanted(self.steersman.paradigms),
                    self.steersman.parts,
                    self.paradigms.cuts.possible,
                )
                tuned = self._supplied(tuned) or self.steersman.retuned(now)
                plan = plans.numbered(tuned, state.leader, state.plan.number + 1) if tuned else None
            if plan is not None:
                self.leading.write(plan)

    def _supplied(self, plan: messages.Plan | None) -> messages.Plan | None:
        """A plan, once there are the topics that pieces in it read and store."""
        edges = (
            {self.names.edge(one.name) for one in plan.segments if one.name != splitting.home(one)} if plan else set()
        )
        self._splits = plan if plan is not None and not self.supplies.has(edges) else None
        if self._splits is not None:
            self._looked = 0.0
        return None if self._splits is not None else plan

    def _look(self, now: float) -> None:
        """At the manifest, and at the topics."""
        state = self.leading.state
        plan, programs = state.plan, self.catalogue.planned(state)
        running, width = self.job, topics.width(self.job)
        if plan is not None:
            running, width = running.model_copy(update={"spec": Spec.model_validate_json(plan.spec)}), plan.width
            if self.supplies.grown(plan, programs):
                self.changes.again()
        # Edges are made ahead for pieces that there may be: a burst can't wait for that.
        ahead = {**self.catalogue.tried, **(splitting.programs(self._splits) if self._splits else {}), **programs}
        if self.supplies.look(running, tuple(ahead.values()), width, now) and self.changes.waits:
            self.changes.again()
        self.changes.consider(state, self.catalogue.shapes, self.supplies.before)

    def _apply(self, now: float) -> None:
        """Tell the leader what is wanted; what has failed lately is left alone for a while."""
        me, change = self.leading.me, self.change
        if change is None:
            return
        if self.steersman.decision is not None:
            self.recorder.take(self.steersman.decision, now)
        wanted: Frozen[Partition, Target] = Frozen(
            steering.targets(change, self.steersman.owners, self._batches, self.rests)
        )
        limit = steering.limit(self.seen, len(me.log.members), len(change.aims), stopping=self.granted == 0)
        if limit != me.limit:
            self.leading.tell(lambda me: dataclasses.replace(me, limit=limit))
        same = {place for place in me.failed if wanted.get(place) == me.wanted.get(place)}
        waiting = self.retries.waiting(same, now)
        if wanted != me.wanted or me.failed != waiting:
            self.leading.tell(lambda me: dataclasses.replace(knowledge.want(me, wanted), failed=waiting))

    def _living(self) -> list[Owner]:
        """The lives that the log knows, and that are not over by it."""
        state = self.leading.state
        return [owner for slot in state.members if (owner := state.living(slot))]

    def _think(self) -> None:
        """About who shall have what. The last decision has to be applied: it says who is about to have what."""
        aims = self.change.aims if self.change else {}
        plan = self.leading.state.plan
        planned = {one.name: one.partitions for one in plan.segments} if plan else {}
        # Also of those that rest until an edge is drained it is known ahead who gets them.
        soon = [p for p, aim in aims.items() if aim.runs or p.number < planned.get(p.segment, 0)]
        runs = [p for p in soon if not self._batches(p, aims[p].program) and not self.rests(p)]
        loads = {place: self.seen.loads.get(place) for place in runs}
        state = self.leading.state
        holders = {state.owner(place) for place in state.holdings}
        # Who has something is believed to live until it is silent; who has nothing gets something once it is heard of.
        absent = self._liveness.unheard(self._living()) - holders
        slots = (self.silent | absent, self.leaving, self.granted)
        known = self.paradigms.known
        self.steersman.think(self.seen, self.leading.me, loads, slots, known, self.job.spec.policy)

    def _failed(self, counted: Counted, message: messages.Cancel, now: float) -> None:
        """A move was given up. If slots can't run what was planned last, the job goes back to what it ran before."""
        place, state = message.partition, self.leading.state
        holding = counted.before.holdings[place]
        move, plan = holding.move, state.plan
        why = (move.problem if move else "") or _MEANINGS.get(message.reason, message.reason)
        _log.warning("%s could not be moved: %s", place, why)
        self.retries.failed(place, why, now)
        if move is not None and move.heir is not None and move.heir.slot == ENGINE:
            self.steersman.give_up(place.segment, why)
        new = move is not None and move.program != holding.program
        if message.reason != Cancelled.HEIR_FAILED or not new or plan is None or not self.leading.me.leads:
            return
        others = [one for one in state.plans.values() if not plans.same(one, plan)]
        if not others or plan.number == self._returning or self.leading.is_written(messages.Plan):
            return
        before = max(others, key=lambda one: one.number)
        self._returning = plan.number + 1
        if (before.spec, before.digests) != (plan.spec, plan.digests):
            self.changes.give_up(before, why)
        for name in splitting.pieces(plan):
            self.steersman.give_up(name, why)
        self.leading.write(plans.numbered(before, state.leader, self._returning))
