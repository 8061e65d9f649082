"""Spillway's own policy in a simulation: the tick of a driver, and the sizing of whoever starts pods.

What a driver learns from telemetry is learnt here too: how dear records really are, as a factor on the costs that were
believed, smoothed over `LEARN`. Segments stay what they are, so each is planned as one operator that nothing is fused
with.

Slots that are held longer than the plan needs them (the scale-down delay) work where they are: owners are balanced by
load, so a slot more relieves all others.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Mapping
from types import MappingProxyType

from spillway.controllers import sizing, tick
from spillway.controllers.costmodel.flow import Flow, Node
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Problem, Traits
from spillway.controllers.provisioning import Arrivals
from spillway.controllers.sizes import Bounds, History, Present, Recommendation, SizePolicy
from spillway.controllers.sizing import Sizing
from spillway.controllers.switching import measurements
from spillway.controllers.switching.measurements import Costs, Measurement
from spillway.model.execution import Policy as JobPolicy
from spillway.model.operators import Paradigm
from spillway.simulation.jobs import Job, Platform
from spillway.simulation.policies import Seen, SegmentSeen, SegmentWish, Wish

# Seconds. Timing 1 record in 64 is off by some per cent; over five seconds that is below one.
LEARN = 5.0
# A capacity from less work than this is mostly its error.
BUSY = 0.05


@dataclasses.dataclass(frozen=True, slots=True)
class Least:
    """What there is at all times: `workers.min` and `executors.min`, in slots and cores."""

    slots: int = 1
    cores: int = 0


class Steered:
    """Decides as Spillway does."""

    every = datetime.timedelta(milliseconds=200)

    def __init__(self, job: Job, problem: Problem, platform: Platform, policy: JobPolicy, least: Least) -> None:
        """`problem` has the costs that are believed, by operator or by segment; `job` has the segments."""
        self._platform, self._policy, self._least = platform, policy, least
        self._problem = _of_segments(job, problem)
        self._sizes = SizePolicy(
            datetime.timedelta(seconds=policy.cooldown.seconds),
            datetime.timedelta(seconds=policy.scale_down_delay.seconds),
            policy.mode,
        )
        self._history = tick.History()
        self._workers, self._executors = History(), History()
        self._factors = dict.fromkeys(job.segments, 1.0)
        self._planned_with = dict(self._factors)
        self._each: dict[str, float] = {}  # P_D of one slot
        self._paradigms: dict[str, Paradigm] = {}

    def decide(self, seen: Seen, now: datetime.datetime) -> Wish:
        """One tick."""
        for name, segment in seen.segments.items():
            if segment is not None:
                self._learn(name, segment, seen.span)
        before = self._history.provisioning.planned
        decision = tick.decide(self._observation(seen, now), self._dearer(), self._policy, self._history, now)
        self._history = decision.history
        if decision.provision.planned is not before:
            self._planned_with = dict(self._factors)
        switched = dict.fromkeys(decision.switch.operators, decision.switch.to)
        workers, executors = self._sizing(decision, seen, now)
        plan = decision.provision.plan
        segments = {
            name: SegmentWish(slots, switched.get(name) or self._paradigm(name), self._cores(name, plan, seen))
            for name, slots in _spread(workers.size, plan, seen, self._problem).items()
        }
        said = decision.switch if switched else decision.provision
        resized = [f"{what}: {size.sentence}" for what, size in (("slots", workers), ("cores", executors)) if _acts(size)]
        sentence = said.sentence if switched or not resized else "; ".join([said.sentence, *resized])
        return Wish(segments, None, executors.size, str(said.reason), sentence, plan.predicted if plan else None)

    def _paradigm(self, name: str) -> Paradigm:
        """How it runs, or is about to."""
        last = self._history.switching.last
        if last is not None and name in last.operators and self._history.visiting >= {name} - _back(last.to, name):
            return last.to
        return self._paradigms.get(name, Paradigm.RECORD)
