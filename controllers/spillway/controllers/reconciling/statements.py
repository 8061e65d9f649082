"""The conditions of a job: what is so, why, and what to do.

No message has a number that moves by itself: a condition is written when something changes, not when time passes.
Where several things are wrong, the first in this order speaks: what keeps pods from existing, what keeps them from
running, what the driver says, what is merely not there yet.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Mapping

from spillway.controllers.reconciling import names, resizing
from spillway.controllers.reconciling.observed import Observed, Reach
from spillway.controllers.reconciling.resizing import Sized
from spillway.controllers.reconciling.troubles import Trouble
from spillway.controllers.sizing import Action
from spillway.controllers.sizing import Reason as Because
from spillway.model import observation
from spillway.model.observation import Observation, StandbyState
from spillway.model.status import Condition, ConditionStatus, ConditionType, Reason

MAX_MESSAGE = 1024

TRUE, FALSE, UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN


@dataclasses.dataclass(frozen=True, slots=True)
class Says:
    """A condition before its times."""

    status: ConditionStatus
    reason: Reason
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """How the promise was kept over the last minutes; None where nothing arrived."""

    share: float | None


def conditions(
    observed: Observed,
    found: tuple[Trouble, ...],
    sized: Sized | None,
    kept: Kept,
    now: datetime.datetime,
) -> tuple[Condition, ...]:
    """All six, with the times of those whose status stays."""
    seen = resizing.fresh(observed, now)
    said = {
        ConditionType.ACCEPTED: _accepted(observed, seen),
        ConditionType.READY: _ready(observed, found, seen),
        ConditionType.LATENCY_MET: _latency_met(observed, sized, kept),
        ConditionType.SCALING: _scaling(observed, sized, seen),
        ConditionType.PAUSED: _paused(observed, seen),
        ConditionType.DEGRADED: _degraded(observed, found, seen),
    }
    before = {condition.type: condition for condition in observed.conditions}
    return tuple(_dated(kind, says, before, observed.generation, now) for kind, says in said.items())


def _dated(
    kind: ConditionType,
    says: Says,
    before: Mapping[ConditionType, Condition],
    generation: int,
    now: datetime.datetime,
) -> Condition:
    known = before.get(kind)
    message = says.message if len(says.message) <= MAX_MESSAGE else says.message[: MAX_MESSAGE - 2] + " …"
    if known is not None and known.status is says.status:
        if (known.reason, known.message, known.observed_generation) == (says.reason, message, generation):
            return known  # nothing to check again, of a thousand jobs at rest
        since = known.last_transition_time
    else:
        since = f"{now:%Y-%m-%dT%H:%M:%SZ}"
    return Condition(
        type=kind,
        status=says.status,
        reason=says.reason,
        message=message,
        last_transition_time=since,
        observed_generation=generation,
    )


def _accepted(observed: Observed, seen: Observation | None) -> Says:
    if not observed.verdict.accepted:
        goes_on = ""
        if observed.accepted is not None:
            goes_on = f"; generation {observed.accepted_generation} goes on"
        return Says(FALSE, observed.verdict.reason, _cut(observed.verdict.message, goes_on))
    if seen is not None and seen.generation >= observed.accepted_generation:
        told = _told(seen)
        refused, rolled = told.get("Accepted"), told.get("RollOut")
        if refused is not None and not refused.status and refused.reason in _REFUSED:
            return Says(FALSE, _REFUSED[refused.reason], refused.message)
        if rolled is not None and rolled.reason == "RolledBack":
            return Says(FALSE, Reason.ROLLED_BACK, rolled.message)
    return Says(TRUE, Reason.VALID, observed.verdict.message)


# What a driver's `Accepted` may say, in our words.
_REFUSED = {
    "NotAccepted": Reason.INVALID_TOPOLOGY,
    "NotCompatible": Reason.NOT_COMPATIBLE,
    "CodeMissing": Reason.CODE_MISSING,
    "RolledBack": Reason.ROLLED_BACK,
}
# What its `Topics` may say.
_TOPICS = {
    "TopicMissing": Reason.TOPIC_MISSING,
    "TopicMadeAnew": Reason.STOPPED,
    "TopicUnfit": Reason.TOPIC_MISSING,
}


def _ready(observed: Observed, found: tuple[Trouble, ...], seen: Observation | None) -> Says:
    if observed.accepted is None:
        return Says(FALSE, Reason.NOT_ACCEPTED, "no version of the spec was ever accepted, so nothing runs")
    if seen is not None and seen.ready:
        if seen.granted == 0 or observed.accepted.spec.policy.paused:
            return Says(TRUE, Reason.RUNNING, "every partition rests, as it is meant to")
        return Says(TRUE, Reason.RUNNING, "every partition has an owner")
    blocking = _first(found, seen)
    if seen is None and _was_ready(observed) and any(pod.ready for pod in observed.of(names.WORKER)):
        why = blocking.message if blocking is not None else "nothing was heard of the driver lately"
        return Says(UNKNOWN, Reason.DRIVER_UNAVAILABLE, _cut(why, "; workers go on, nothing is resized or switched"))
    if blocking is not None:
        return Says(FALSE, blocking.reason, blocking.message)
    if trouble := _by_driver(observed, seen):
        return trouble
    if trouble := _by_kafka(observed):
        return trouble
    return Says(FALSE, Reason.STARTING, _starting(observed, seen))


def _was_ready(observed: Observed) -> bool:
    known = next((one for one in observed.conditions if one.type is ConditionType.READY), None)
    return known is not None and known.status is not FALSE


def _first(found: Iterable[Trouble], seen: Observation | None) -> Trouble | None:
    """What stands in the way of being ready: with a driver that answers, what is wrong with it can't be."""
    return next((one for one in found if seen is None or one.component != names.DRIVER), None)


def _by_driver(observed: Observed, seen: Observation | None) -> Says | None:
    if observed.code_missing:
        text = f"ConfigMap {observed.code_missing} with the Python functions does not exist; create it"
        return Says(FALSE, Reason.CODE_MISSING, text)
    told = _told(seen) if seen is not None else {}
    topics = told.get("Topics")
    if topics is not None and not topics.status and topics.reason in _TOPICS:
        return Says(FALSE, _TOPICS[topics.reason], topics.message)
    unreachable = topics is not None and topics.reason == "Looking" and topics.message
    if topics is not None and unreachable and observed.broker.reach is not Reach.REACHED:
        return Says(FALSE, Reason.KAFKA_UNREACHABLE, topics.message)
    accepted = told.get("Accepted")
    if accepted is not None and accepted.reason == "CodeMissing":
        return Says(FALSE, Reason.CODE_MISSING, accepted.message)
    assigned = told.get("Assigned")
    if assigned is not None and not assigned.status and assigned.reason == "Halted":
        return Says(FALSE, Reason.HALTED, assigned.message)
    if assigned is not None and not assigned.status and assigned.reason == "NoSlots" and _ready_workers(observed) == 0:
        return Says(FALSE, Reason.WORKERS_UNAVAILABLE, "no worker is ready yet")
    return None


def _by_kafka(observed: Observed) -> Says | None:
    broker = observed.broker
    if broker.reach in (Reach.UNREACHABLE, Reach.REFUSED):
        return Says(FALSE, Reason.KAFKA_UNREACHABLE, broker.problem)
    if broker.reach is Reach.NO_CREDENTIALS:
        return Says(FALSE, Reason.CREDENTIALS_MISSING, broker.problem)
    if broker.missing:
        return Says(FALSE, Reason.TOPIC_MISSING, "; ".join(broker.missing))
    return None


def _starting(observed: Observed, seen: Observation | None) -> str:
    if seen is not None:
        return "the driver leads; partitions get their owners" if seen.leader else "the driver takes the lead"
    if not observed.of(names.DRIVER):
        return "the driver's pod is being made"
    return "the driver's pod starts"


def _latency_met(observed: Observed, sized: Sized | None, kept: Kept) -> Says:
    if observed.accepted is None or kept.share is None:
        return Says(UNKNOWN, Reason.NO_DATA, "no record arrived lately, so there is nothing to measure")
    promise = observed.accepted.spec.latency
    shown = f"{promise.quantile:.4%}".rstrip("0%").rstrip(".")
    if kept.share >= promise.quantile:
        return Says(TRUE, Reason.MET, f"at least {shown} % of the last minutes' records were within {promise.bound}")
    text = f"fewer than {shown} % of the last minutes' records were within {promise.bound}"
    limited = next((by for by in (sized.by if sized else ()) if by.reason in (Because.AT_MAX, Because.LIMITED)), None)
    if limited is not None:
        lost = "; ".join(alternative.why_not for alternative in limited.alternatives)
        return Says(FALSE, Reason.INFEASIBLE, f"{text}, and more can't be had: {lost or limited.reason.meaning}")
    return Says(FALSE, Reason.MISSED, text)


def _scaling(observed: Observed, sized: Sized | None, seen: Observation | None) -> Says:
    if sized is None:
        return Says(FALSE, Reason.STEADY, "nothing runs")
    told = _told(seen) if seen is not None else {}
    rolled = told.get("RollOut")
    if rolled is not None and not rolled.status and rolled.reason in ("Rolling", "Draining"):
        return Says(TRUE, Reason.ROLLING_OUT, rolled.message)
    if sized.replicas > sized.workers:
        return Says(TRUE, Reason.MOVING, f"workers beyond {sized.workers} are being emptied")
    set_of = observed.workers
    if set_of is None or not set_of.settled or set_of.there != sized.replicas or set_of.ready < sized.workers:
        return Says(TRUE, Reason.MOVING, f"on the way to {sized.workers} workers")
    if seen is not None and any(segment.moving for segment in seen.segments):
        return Says(TRUE, Reason.MOVING, "partitions change hands")
    for by in sized.by:
        if by.action is Action.ADVISE:
            return Says(FALSE, Reason.ADVISING, f"{by.size} instead of {by.before} would be asked for")
        if by.reason in (Because.AT_MAX, Because.LIMITED):
            lost = "; ".join(alternative.why_not for alternative in by.alternatives)
            return Says(FALSE, Reason.AT_LIMIT, lost or by.reason.meaning)
    for by in sized.by:
        if by.reason in (Because.COOLDOWN, Because.DELAYED, Because.IN_PROGRESS):
            return Says(FALSE, Reason.COOLDOWN, by.reason.meaning)
    return Says(FALSE, Reason.STEADY, "sizes and paradigms are as they should be")


def _paused(observed: Observed, seen: Observation | None) -> Says:
    if observed.accepted is None or not observed.accepted.spec.policy.paused:
        return Says(FALSE, Reason.NOT_PAUSED, "policy.paused is false")
    at_rest = seen is not None and seen.leader and not any(slot.partitions for slot in seen.slots)
    if at_rest:
        return Says(TRUE, Reason.DRAINED, "everything is committed and nothing moves")
    return Says(FALSE, Reason.DRAINING, "what is in flight is being finished and committed")


def _degraded(observed: Observed, found: tuple[Trouble, ...], seen: Observation | None) -> Says:
    if observed.accepted is None:
        return Says(FALSE, Reason.HEALTHY, "nothing runs")
    if found:
        return Says(TRUE, found[0].reason, found[0].message)
    if observed.code_missing:
        text = f"ConfigMap {observed.code_missing} with the Python functions does not exist; create it"
        return Says(TRUE, Reason.CODE_MISSING, text)
    if seen is None:
        if observed.broker.reach not in (Reach.UNKNOWN, Reach.REACHED) and (kafka := _by_kafka(observed)):
            return Says(TRUE, kafka.reason, kafka.message)
        if observed.heard is None and not _was_ready(observed):
            return Says(FALSE, Reason.HEALTHY, "nothing is missing so far")
        driver = observed.of(names.DRIVER)
        text = "nothing was heard of the driver lately; workers go on, sizes are held as they are"
        return Says(TRUE, Reason.NO_TELEMETRY if any(p.ready for p in driver) else Reason.DRIVER_UNAVAILABLE, text)
    if trouble := _by_driver(observed, seen):
        return Says(TRUE, trouble.reason, trouble.message)
    if observed.broker.missing and not seen.ready:
        return Says(TRUE, Reason.TOPIC_MISSING, "; ".join(observed.broker.missing))
    if seen.standby.state is StandbyState.FAILED:
        return Says(TRUE, Reason.BATCH_UNAVAILABLE, seen.standby.problem)
    if _errors(seen):
        return Says(TRUE, Reason.DEAD_LETTERS, "records are put aside; see them: spillway dead")
    return Says(FALSE, Reason.HEALTHY, "nothing is missing")


def _errors(seen: Observation) -> bool:
    return any(operator.errors for segment in seen.segments for operator in segment.operators)


def _ready_workers(observed: Observed) -> int:
    return sum(pod.ready for pod in observed.of(names.WORKER))


def _told(seen: Observation) -> dict[str, observation.Condition]:
    return {condition.type: condition for condition in seen.conditions}


def _cut(text: str, end: str) -> str:
    room = MAX_MESSAGE - len(end)
    return (text if len(text) <= room else text[: room - 2] + " …") + end
