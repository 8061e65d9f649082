"""What should be of a job, from everything that was seen of it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable
from datetime import timedelta

from spillway.controllers.reconciling import names, resizing, statements, troubles
from spillway.controllers.reconciling.observed import Observed
from spillway.controllers.reconciling.resizing import Sized
from spillway.controllers.reconciling.statements import Kept
from spillway.controllers.sizes import History
from spillway.controllers.sizing import Action
from spillway.model.observation import MoveKind, Observation
from spillway.model.operators import Paradigm
from spillway.model.status import (
    Condition,
    ConditionStatus,
    ConditionType,
    LastDecision,
    OperatorStatus,
    Reason,
    Size,
    Status,
)
from spillway.model.streamjob import StreamJob

# As long as a driver is there it is asked every 2 s. A burst is answered by the driver itself, within a tick; this is
# how soon pods are asked for, of the ten seconds that they need to start. Shorter: for nothing. Longer: shows.
LOOK = timedelta(seconds=2)
# Where nothing is to be asked, a change of a pod or of the manifest wakes us. This is for what no event tells.
RESYNC = timedelta(seconds=60)
# What "over the last minutes" means of the promise. Shorter: one burst turns the condition back and forth. Longer:
# who looks after a repair still sees it broken.
WINDOW = timedelta(minutes=3)
MIXED = "mixed"


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """How the promise was kept around one moment."""

    at: datetime.datetime
    within: float
    rate: float


@dataclasses.dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered from one decision to the next; losing it delays scaling down, and nothing else."""

    workers: History = dataclasses.field(default_factory=History)
    executors: History = dataclasses.field(default_factory=History)
    samples: tuple[Sample, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """What is to be there: from this all children follow.

    Attributes:
        job: the manifest that runs.
        generation: of it.
        replicas: of the set of workers.
        workers, executors: how many were decided on.
    """

    job: StreamJob
    generation: int
    replicas: int
    workers: int
    executors: int


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """Something to tell people."""

    reason: str
    message: str
    warning: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """The decision.

    Attributes:
        shape: what is to be there; None where nothing is.
        grant: workers and executors to tell the driver; None for nothing.
        status: of the StreamJob.
        events: to tell.
        again: when to look again, at the latest.
        memory: to be passed back the next time.
    """

    shape: Shape | None
    grant: tuple[int, int | None] | None
    status: Status
    events: tuple[Event, ...]
    again: timedelta
    memory: Memory


def decide(observed: Observed, memory: Memory, now: datetime.datetime) -> Decision:
    """What should be."""
    found, job = troubles.all_of(observed), observed.accepted
    seen = resizing.fresh(observed, now)
    samples = _samples(memory.samples, seen, now)
    shape, sized, grant = None, None, None
    memory = dataclasses.replace(memory, samples=samples)
    if job is not None:
        sized = resizing.decide(job, observed, found, (memory.workers, memory.executors), now)
        memory = Memory(sized.workers_history, sized.executors_history, samples)
        shape = Shape(job, observed.accepted_generation, sized.replicas, sized.workers, sized.executors)
        grant = sized.grant if seen is not None and _tell(sized, seen) else None
    conditions = statements.conditions(observed, found, sized, Kept(_share(samples)), now)
    status = _status(observed, conditions, sized, seen, now)
    events = (*_turned(observed.conditions, conditions), *_resized(sized))
    return Decision(shape, grant, status, events, _again(observed, sized), memory)


def _tell(sized: Sized, seen: Observation) -> bool:
    """Whether the driver has another grant. What executors it was granted it does not tell; it is told with each."""
    return sized.grant is not None and (
        seen.granted != sized.grant[0] or any(by.action in (Action.GROW, Action.SHRINK) for by in sized.by)
    )


def _samples(before: tuple[Sample, ...], seen: Observation | None, now: datetime.datetime) -> tuple[Sample, ...]:
    kept = tuple(sample for sample in before if now - sample.at <= WINDOW)
    if seen is None or seen.latency.within is None or not seen.latency.rate:
        return kept
    return (*kept, Sample(now, seen.latency.within, seen.latency.rate))


def _share(samples: Iterable[Sample]) -> float | None:
    """The share of records that were on time, over all samples."""
    samples = tuple(samples)
    total = sum(sample.rate for sample in samples)
    return sum(sample.within * sample.rate for sample in samples) / total if total else None


def _status(
    observed: Observed,
    conditions: tuple[Condition, ...],
    sized: Sized | None,
    seen: Observation | None,
    now: datetime.datetime,
) -> Status:
    before = observed.status if observed.status is not None else Status()
    operators = _operators(observed, seen) if seen is not None else before.operators
    paradigms = sorted({str(operator.paradigm) for operator in operators})
    workers, executors = Size(), Size()
    if sized is not None:
        workers = _size(sized.workers, observed.workers.ready if observed.workers is not None else 0)
        there = seen.executors if seen is not None and seen.executors is not None else 0
        executors = _size(sized.executors, there)
    return Status(
        observed_generation=observed.generation,
        conditions=conditions,
        paradigm=paradigms[0] if len(paradigms) == 1 else MIXED if paradigms else "",
        operators=operators,
        workers=workers,
        executors=executors,
        decision=_last(before.decision, sized, seen, now),
    )


def _size(wanted: int, present: int) -> Size:
    return Size(wanted=wanted, present=present, summary=f"{present}/{wanted}")


def _operators(observed: Observed, seen: Observation) -> tuple[OperatorStatus, ...]:
    """In which paradigm each operator of the manifest runs, in its order."""
    runs: dict[str, Paradigm] = {}
    paradigms = {segment.name: segment.paradigm for segment in seen.segments}
    for segment in seen.plan.segments if seen.plan is not None else ():
        runs |= dict.fromkeys(segment.operators, paradigms.get(segment.name, segment.paradigm))
    spec = observed.accepted.spec if observed.accepted is not None else None
    listed = [operator.name for operator in spec.operators] if spec is not None else []
    return tuple(OperatorStatus(name=name, paradigm=runs[name]) for name in listed if name in runs)


def _last(
    before: LastDecision | None, sized: Sized | None, seen: Observation | None, now: datetime.datetime
) -> LastDecision | None:
    """The newest of: a resize that is decided now, the last switch, and what was last before."""
    for by in sized.by if sized is not None else ():
        if by.action in (Action.GROW, Action.SHRINK):
            why = seen.recommended.sentence if seen is not None else ""
            return _decided(now, "resize", f"{by.sentence} {why}".strip())
    switches = [move for move in seen.moves if move.kind is MoveKind.SWITCH] if seen is not None else []
    if switches:
        at = datetime.datetime.fromtimestamp(switches[-1].at, datetime.UTC)
        if before is None or _stamp(at) > before.at:
            return _decided(at, "switch", switches[-1].reason)
    return before


def _decided(at: datetime.datetime, action: str, message: str) -> LastDecision:
    cut = message if len(message) <= statements.MAX_MESSAGE else message[: statements.MAX_MESSAGE - 2] + " …"
    return LastDecision(at=_stamp(at), action=action, message=cut)


def _stamp(at: datetime.datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


# Where True is what people hope for; of the others, neither is worth a warning but for Degraded.
_HOPED = {ConditionType.ACCEPTED, ConditionType.READY, ConditionType.LATENCY_MET}
# A start passes through these, and nobody wants to be told.
_QUIET = {Reason.STARTING, Reason.NO_DATA, Reason.HEALTHY, Reason.STEADY, Reason.NOT_PAUSED, Reason.COOLDOWN}


def _turned(before: tuple[Condition, ...], after: tuple[Condition, ...]) -> Iterable[Event]:
    """An event for each condition that has another status or reason."""
    known = {condition.type: (condition.status, condition.reason) for condition in before}
    for condition in after:
        if known.get(condition.type) == (condition.status, condition.reason):
            continue
        if condition.reason in _QUIET or condition.type is ConditionType.SCALING:
            continue
        bad = condition.status is ConditionStatus.FALSE and condition.type in _HOPED
        bad = bad or (condition.type is ConditionType.DEGRADED and condition.status is ConditionStatus.TRUE)
        if condition.type is ConditionType.DEGRADED and not bad:
            continue
        yield Event(str(condition.reason), f"{condition.type}: {condition.message}", warning=bad)


def _resized(sized: Sized | None) -> Iterable[Event]:
    for what, by in zip(("workers", "executors"), sized.by if sized is not None else (), strict=False):
        if by.action in (Action.GROW, Action.SHRINK):
            yield Event("Resized", f"{what}: {by}")


def _again(observed: Observed, sized: Sized | None) -> timedelta:
    """The driver's pod wakes us when it comes; once it is there, it is asked."""
    if any(pod.phase == "Running" for pod in observed.of(names.DRIVER)):
        return LOOK
    held = sized.again if sized is not None and sized.again is not None and sized.again > timedelta() else RESYNC
    return min(RESYNC, max(LOOK, held))
