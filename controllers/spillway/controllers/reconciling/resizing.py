"""From what the driver says the load needs to replicas, and to what the driver is granted.

`sizing` decides how many there should be; this says how to get there:

1. More workers: replicas and grant rise together. The driver gives nothing to a worker that is not there yet.
2. Fewer workers: the grant falls first. The driver then empties the highest ones, and replicas follow as far down as
   workers hold nothing. What a worker holds is only believed of an observation that is fresh, and made under a grant
   that is no larger than what is wanted: under a larger one, the driver may give to it in the next moment.
3. Nothing was heard of the driver lately: replicas and grant stay as they are.

How many were decided on stands on the set of workers, beside the replicas, and is written in one request with them. A
manager that begins in between finds both as they were decided.
"""

from __future__ import annotations

import dataclasses
import datetime

from spillway.controllers import sizing
from spillway.controllers.balancing import Slot
from spillway.controllers.reconciling.observed import Observed
from spillway.controllers.reconciling.troubles import Trouble
from spillway.controllers.sizes import Bounds, History, Limit, Present, Recommendation, SizePolicy
from spillway.controllers.sizing import Action, Sizing
from spillway.model.observation import Observation
from spillway.model.status import Reason
from spillway.model.streamjob import StreamJob

# The driver publishes every 100 to 250 ms, and is asked every 2 s. After 10 s five answers are missing: it is away.
# Shorter: a driver that is planning a large job counts as gone. Longer: workers could be judged by what was long ago.
FRESH = datetime.timedelta(seconds=10)

_LIMITING = (Reason.QUOTA_EXCEEDED, Reason.UNSCHEDULABLE)


@dataclasses.dataclass(frozen=True, slots=True)
class Sized:
    """How many.

    Attributes:
        workers, executors: how many there should be.
        replicas: of the set of workers, on the way there.
        grant: workers and executors that the driver is to be told; None if nothing is to be told.
        by: the decisions.
        workers_history, executors_history: to be passed back the next time.
    """

    workers: int
    executors: int
    replicas: int
    grant: tuple[int, int | None] | None
    by: tuple[Sizing, ...]
    workers_history: History
    executors_history: History

    @property
    def again(self) -> datetime.timedelta | None:
        """How long this holds, as far as time alone can change it."""
        return min((one.again for one in self.by if one.again is not None), default=None)


def fresh(observed: Observed, now: datetime.datetime) -> Observation | None:
    """What the driver told, if that was just now."""
    heard = observed.heard
    return heard.observation if heard is not None and abs(now - heard.at) <= FRESH else None


def decide(
    job: StreamJob,
    observed: Observed,
    found: tuple[Trouble, ...],
    histories: tuple[History, History],
    now: datetime.datetime,
) -> Sized:
    """How many there should be now, and how to get there."""
    execution, seen = job.spec.execution, fresh(observed, now)
    policy, set_of = SizePolicy.of(job.spec.policy), observed.workers
    asked = execution.workers.min
    if set_of is not None:
        asked = set_of.asked if set_of.wanted_workers is None else set_of.wanted_workers
    needed = _needed(observed, seen, executors=False)
    bounds = Bounds(execution.workers.min, execution.workers.max, limits(observed, seen, found))
    ready = set_of.ready if set_of is not None else 0
    workers = sizing.decide(needed, Present(asked, ready), bounds, policy, histories[0], now)
    size = workers.size if workers.action in (Action.GROW, Action.SHRINK) else asked
    by: tuple[Sizing, ...] = (workers,)
    executors, executors_history = 0, histories[1]
    if execution.executors.max > 0:
        spark = _executors(job, observed, seen, policy, histories[1], now)
        executors_history = spark.history
        executors = spark.size if spark.action in (Action.GROW, Action.SHRINK) else spark.before
        by = (workers, spark)
    there = set_of.asked if set_of is not None else size
    replicas = max(size, there) if size >= there else _emptied(size, there, seen)
    wanted_grant = (size, executors if execution.executors.max > 0 else None)
    grant = wanted_grant if observed.heard is not None and seen is not None else None
    return Sized(size, executors, replicas, grant, by, workers.history, executors_history)


def _executors(
    job: StreamJob,
    observed: Observed,
    seen: Observation | None,
    policy: SizePolicy,
    history: History,
    now: datetime.datetime,
) -> Sizing:
    allowed, set_of = job.spec.execution.executors, observed.workers
    asked = allowed.min
    if set_of is not None and set_of.wanted_executors is not None:
        asked = set_of.wanted_executors
    there = seen.executors if seen is not None and seen.executors is not None else asked
    bounds = Bounds(allowed.min, allowed.max)
    return sizing.decide(_needed(observed, seen, executors=True), Present(asked, there), bounds, policy, history, now)


def _needed(observed: Observed, seen: Observation | None, *, executors: bool) -> Recommendation | None:
    """The driver's need, at the time when we heard it: clocks of two nodes differ."""
    if seen is None or observed.heard is None:
        return None
    size = seen.recommended.executors if executors else seen.recommended.workers
    return Recommendation(size, observed.heard.at)


def limits(observed: Observed, seen: Observation | None, found: tuple[Trouble, ...]) -> tuple[Limit, ...]:
    """What keeps workers from being as many as are needed."""
    limited = []
    set_of = observed.workers
    for trouble in found:
        if trouble.reason in _LIMITING and trouble.component == "worker" and set_of is not None:
            waiting = sum(bool(pod.unschedulable) for pod in observed.of("worker"))
            limited.append(Limit(max(0, set_of.there - waiting), trouble.message))
    if seen is not None and seen.plan is not None and seen.plan.segments and observed.accepted is not None:
        partitions = sum(segment.partitions for segment in seen.plan.segments)
        slots = observed.accepted.spec.execution.workers.slots
        why = f"the job has {partitions} partitions, and no more slots than that can work; add partitions"
        limited.append(Limit(-(-partitions // slots), why))
    return tuple(limited)


def held(seen: Observation) -> int:
    """The least number of workers, from the first, among which are all that hold something."""
    holding = [
        named.worker + 1 for slot in seen.slots if slot.partitions and (named := Slot.named(slot.slot)) is not None
    ]
    return max(holding, default=0)


def _emptied(size: int, there: int, seen: Observation | None) -> int:
    """Replicas on the way down."""
    if seen is None or not seen.leader or seen.granted is None or seen.granted > size:
        return there
    return min(there, max(size, held(seen)))
