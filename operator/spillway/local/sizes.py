"""How many workers there are: the driver's recommendation, made into a number by the same `sizing` as on a cluster."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from spillway.controllers import sizing
from spillway.controllers.sizes import Bounds, History, Present, SizePolicy
from spillway.controllers.sizing import Action, Reason, Sizing
from spillway.local import workers
from spillway.local.events import Event, Kind, Look
from spillway.model.observation import Observation
from spillway.model.streamjob import StreamJob

# What a person wants to know even though nothing is done.
HELD_BACK = (Reason.AT_MAX, Reason.LIMITED, Reason.OUT_OF_BOUNDS, Reason.INVALID)


class Sizes:
    """The size of a run over time.

    Attributes:
        asked: how many workers there should be.
        last: the last decision.
    """

    def __init__(self, job: StreamJob, cores: int, fixed: int | None, tell: Callable[[Event], None]) -> None:
        self._cores, self._fixed, self._tell = cores, fixed, tell
        self._history = History()
        self._told: tuple[Action, Reason, int] | None = None
        self.last: Sizing | None = None
        self.asked = self.bounds(job).min

    def bounds(self, job: StreamJob) -> Bounds:
        """How few and how many there may be."""
        return workers.bounds(job.spec.execution.workers, self._cores, self._fixed)

    def most(self, job: StreamJob) -> int:
        """How many there may be, with everything that limits them."""
        allowed = self.bounds(job)
        return min([allowed.max, *(limit.size for limit in allowed.limits)])

    def decide(self, job: StreamJob, seen: Observation | None, ready: int, now: datetime.datetime) -> None:
        """Decide anew; `ready` workers are there."""
        each = workers.slots(job.spec.execution.workers, self._cores)
        policy = SizePolicy.of(job.spec.policy)
        recommended = workers.recommendation(seen, each) if seen is not None else None
        present = Present(self.asked, ready)
        self.last = last = sizing.decide(recommended, present, self.bounds(job), policy, self._history, now)
        self._history = last.history
        if last.action in (Action.GROW, Action.SHRINK):
            self.asked = last.size
        news = (last.action, last.reason, last.size)
        if news != self._told and (last.action is not Action.HOLD or last.reason in HELD_BACK):
            self._tell(_event(last, seen))
        self._told = news


def _event(decided: Sizing, seen: Observation | None) -> Event:
    why = f" ({seen.recommended.sentence})" if seen is not None and seen.recommended.sentence else ""
    lost = "".join(f"; {alternative}" for alternative in decided.alternatives)
    data = {
        "action": str(decided.action),
        "reason": str(decided.reason),
        "before": decided.before,
        "size": decided.size,
        "need": decided.need,
    }
    look = Look.WARNING if decided.reason in HELD_BACK else Look.PLAIN
    return Event(Kind.SIZES, f"workers: {decided.sentence.rstrip('.')}{why}{lost}", look, data)
