"""A job of one operator as a fluid: what `switching.decide` sees and does, tick by tick, without a clock.

Its limits: one queue, capacities that don't change, a switch that takes `DELAY`, batches that take all that waits and
are done after t_s + n/P_O. Nothing is lost, so nothing can be found out about moves.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable

from spillway.controllers.switching import decision
from spillway.controllers.switching.measurements import Costs, Measurement, Node, Observation
from spillway.controllers.switching.verdicts import Action, Decision, History
from spillway.model.execution import Policy
from spillway.model.operators import Paradigm

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
TICK = datetime.timedelta(milliseconds=200)
DELAY = datetime.timedelta(milliseconds=600)


def seconds(number: float) -> datetime.timedelta:
    return datetime.timedelta(seconds=number)


def costs(interval: float = 0.5, schedule: float = 0.1, batch: float = 0.02, record: float = 0.005) -> Costs:
    return Costs(seconds(interval), seconds(schedule), seconds(batch), seconds(record))


def measurement(
    rate: float = 500.0,
    queue: float = 0.0,
    p_d: float = 1000.0,
    p_o: float | None = 4000.0,
    at: datetime.datetime = NOON,
) -> Measurement:
    return Measurement(at, TICK, rate, queue, p_d, costs(), p_o)


@dataclasses.dataclass
class Fluid:
    """The job; `switches` are the decisions that changed something, with the seconds since the start."""

    policy: Policy
    p_d: float = 1000.0
    p_o: float = 4000.0
    costs: Costs = dataclasses.field(default_factory=costs)
    queue: float = 0.0
    paradigm: Paradigm = Paradigm.RECORD
    history: History = dataclasses.field(default_factory=History)
    now: datetime.datetime = NOON
    switches: list[tuple[float, Decision]] = dataclasses.field(default_factory=list)
    longest: float = 0.0
    _next: tuple[datetime.datetime, Paradigm] | None = None
    _busy: float = 0.0

    def run(self, rate: Callable[[float], float], length: float) -> None:
        """Go on for so many seconds; `rate` gets the seconds since the start."""
        end = self.now + seconds(length)
        while self.now < end:
            v = rate((self.now - NOON).total_seconds())
            self._flow(v)
            self.now += TICK
            self._decide(v)

    def _flow(self, v: float) -> None:
        delta = TICK.total_seconds()
        self.queue += v * delta
        if self._next and self.now >= self._next[0]:
            self.paradigm, self._next, self._busy = self._next[1], None, 0.0
        if self.paradigm is Paradigm.RECORD:
            self.queue = max(0.0, self.queue - self.p_d * delta)
        else:
            self._busy -= delta
            if self._busy <= 0:
                took = self.costs.schedule.total_seconds() + self.queue / self.p_o
                self._busy += max(took, self.costs.interval.total_seconds())
                self.queue = 0.0
        self.longest = max(self.longest, self.queue)

    def _decide(self, v: float) -> None:
        m = Measurement(self.now, TICK, v, self.queue, self.p_d, self.costs, self.p_o)
        node = Node("views", ("events",), paradigm=self.paradigm, selectivity=1.0)
        made = decision.decide(Observation((node,), {"views": m}), self.policy, self.history, self.now)
        self.history = made.history
        if made.action in (Action.TO_BATCH, Action.TO_RECORD):
            assert made.to is not None
            self.switches.append(((self.now - NOON).total_seconds(), made))
            self._next = (self.now + DELAY, made.to)
