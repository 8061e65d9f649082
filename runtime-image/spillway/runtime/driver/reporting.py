"""The state of a driver as it is told: put together after each tick, and read by whoever asks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from spillway.controllers import rollout
from spillway.controllers.protocol import log
from spillway.controllers.protocol.values import Partition
from spillway.model.observation import VERSION, Condition, Deployed, MoveKind, Observation
from spillway.model.streamjob import StreamJob
from spillway.runtime.driver import executors, observing, telling
from spillway.runtime.driver.conditions import Kind, Reason, condition
from spillway.runtime.driver.directed import UNDIRECTED
from spillway.runtime.driver.driver import Driver, clock
from spillway.runtime.driver.executors import Load, Need
from spillway.runtime.programs.program import Program
from spillway.runtime.telemetry import Latency

_CHANGES = {
    rollout.Reason.DONE: Reason.DONE,
    rollout.Reason.ROLLING: Reason.ROLLING,
    rollout.Reason.DRAINING: Reason.DRAINING,
}


class View(NamedTuple):
    """What can be told at one moment.

    Attributes:
        observation: as JSON has it.
        state: what the log says.
        programs: of the plan, by segment.
        addresses: where the workers of slots answer, by slot.
        moves: how many partitions changed hands since the driver began, by kind.
        ticked: when the last tick was.
        switches: how many were decided since then, by paradigm and reason.
        pauses: of moves, as the journal has them.
        latency: of what batches wrote, by output.
        deployed: of a driver that is directed, how far it is.
    """

    observation: Observation
    state: log.State
    programs: Mapping[str, Program]
    addresses: Mapping[str, str]
    moves: Mapping[MoveKind, int]
    ticked: float
    switches: Mapping[tuple[str, str], int] = MappingProxyType({})
    pauses: Mapping[MoveKind, tuple[Sequence[int], float]] = MappingProxyType({})
    latency: Mapping[str, Latency] = MappingProxyType({})
    deployed: Deployed = UNDIRECTED


def starting(job: StreamJob, problem: str = "") -> View:
    """Before there is anything to tell."""
    name = f"{job.metadata.namespace}/{job.metadata.name}"
    seen = observing.Seen(clock(), {}, {}, {}, {}, {}, {}, {})
    told = Observation(
        VERSION, job=name, at=seen.at, leader=0, ready=False, granted=None, plan=None, slots=(), segments=(),
        latency=telling.promise(job.spec.latency, seen), rate_in=None, letters=0, late=0,
        recommended=telling.recommended(None, 1),
        conditions=(condition(Kind.LEADING, False, Reason.FOLLOWS, problem),),
        generation=job.metadata.generation,
    )  # fmt: skip
    return View(told, log.State(), {}, {}, {}, seen.at)


def view(driver: Driver) -> View:
    """What can be told now."""
    state, seen, job = driver.leading.state, driver.seen, driver.job
    programs = driver.catalogue.planned(state)
    slots = telling.slots(state, driver.reports, seen, driver.silent, driver.leaving)
    resting = {place for place, aim in (driver.change.aims if driver.change else {}).items() if not aim.runs}
    resting |= {place for place in _places(state) if driver.rests(place) or driver.batching.works(place)}
    idle = telling.idle(state, seen, programs, resting)
    leads = driver.leading.me.leads
    present = sum(not slot.silent for slot in slots)
    conditions = (
        driver.changes.accepted,
        driver.supplies.found.condition,
        condition(Kind.LEADING, leads, Reason.LEADS if leads else Reason.FOLLOWS),
        telling.assigned(
            idle,
            driver.retries.reasons(),
            present,
            telling.halted(seen),
            telling.ended(driver.reports, state),
        ),
        _change(driver),
        _paused(driver),
    )
    living = [owner for name in state.members if (owner := state.living(name))]
    decision = driver.steersman.decision
    told = Observation(
        VERSION,
        job=f"{job.metadata.namespace}/{job.metadata.name}",
        at=seen.at,
        leader=state.leader if leads else 0,
        ready=leads and state.plan is not None and not idle and driver.supplies.found.condition.status,
        granted=driver.granted,
        plan=telling.plan(state),
        slots=slots,
        segments=telling.segments(state, seen, programs, driver.paradigms),
        latency=telling.promise(job.spec.latency, seen),
        rate_in=telling.rate_in(seen),
        letters=observing.letters(driver.reports, living) + driver.batching.outcomes.letters,
        late=sum(place.late for place in seen.places.values()),
        recommended=telling.recommended(
            decision.provision if decision else None, job.spec.execution.workers.slots, _need(driver)
        ),
        moves=tuple(driver.journal.moves),
        conditions=conditions,
        standby=driver.batching.standby.told,
        generation=driver.changes.generation,
        executors=driver.batching.standby.executors,
    )
    addresses = {slot.slot: slot.address for slot in slots}
    switches, journal = dict(driver.recorder.switches), driver.journal
    latency = dict(driver.batching.outcomes.latency)
    return View(
        told, state, programs, addresses, dict(journal.counts), clock(), switches, dict(journal.pauses), latency,
        driver.deployed,
    )  # fmt: skip


def _need(driver: Driver) -> Need | None:
    """The executors that the load needs; None where Spark has none of its own."""
    there = driver.batching.standby.executors
    if there is None:
        return None
    spec, loads = driver.job.spec, driver.paradigms.loads(driver.leading.state)
    asked = [Load("what may run in batches", 1)] if driver.steersman.asks and not loads else []
    return executors.needed(spec.execution.executors, spec.policy.headroom, [*loads, *asked], there)


def _places(state: log.State) -> list[Partition]:
    segments = state.plan.segments if state.plan else ()
    return [Partition(segment.name, number) for segment in segments for number in range(segment.partitions)]


def _change(driver: Driver) -> Condition:
    change = driver.change
    if change is None:
        return condition(Kind.ROLL_OUT, False, Reason.STARTING)
    return condition(Kind.ROLL_OUT, change.reason is rollout.Reason.DONE, _CHANGES[change.reason], change.sentence)


def _paused(driver: Driver) -> Condition:
    if driver.job.spec.policy.paused:
        return condition(Kind.PAUSED, True, Reason.PAUSED)
    if driver.granted == 0:
        return condition(Kind.PAUSED, True, Reason.NO_WORKERS)
    return condition(Kind.PAUSED, False, Reason.RUNNING)


class Board:
    """The last view; written by the loop, read by all threads that answer."""

    def __init__(self, first: View) -> None:
        self._lock = threading.Lock()
        self._view = first

    @property
    def view(self) -> View:
        """The last one."""
        with self._lock:
            return self._view

    def put(self, view: View) -> None:
        """A newer one."""
        with self._lock:
            self._view = view
