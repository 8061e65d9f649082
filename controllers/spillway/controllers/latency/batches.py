"""Segments that work in micro-batches: the operation stream of DO, Eq. 2 and 3.

    t_O = t_out + t_sync + t_proc + t_trans,   t_sync = t_wait + t_schedule

A batch starts every T seconds with what came since the last one, V·T records, so a record waits for the next anywhere
between 0 and T. Then the operations are scheduled, which takes the same time for any size, and then all wait until
the whole batch is done, at P_O records per second:

    batch      t_wait + t_proc = uniform(0, T) + V·T/P_O        T/2 + V·T/P_O,   T²/12 + c_a²·V·T/P_O²
    schedule   t_schedule                                       as measured

V·T is the mean of how many come, and c_a²·V·T its variance (c_a² = 1: Poisson). t_out, what a record waits outside, is
nothing as long as t_schedule + V·T/P_O < T, and grows for ever otherwise. t_trans is the network's.
"""

from __future__ import annotations

import dataclasses
import math

from spillway.controllers.latency.moments import NEVER, ZERO, Moments, uniform
from spillway.controllers.latency.phases import Phase


@dataclasses.dataclass(frozen=True, slots=True)
class Engine:
    """The batch engine as it was measured.

    Attributes:
        interval: T, seconds from the start of one batch to that of the next.
        schedule: t_schedule, what a batch takes beside its records.
        speedup: 1/K = P_O/P_D, how many records a core of it does while a worker slot does one. 1 by default: that
            batches are faster is to be measured, never assumed.
    """

    interval: float
    schedule: Moments = ZERO
    speedup: float = 1.0

    def __post_init__(self) -> None:
        for name in ("interval", "speedup"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                message = f"the {name} of the batch engine is {value}; it must be a finite number above 0"
                raise ValueError(message)

    def phases(self, rate: float, capacity: float, arrival_scv: float = 1.0) -> dict[Phase, Moments]:
        """Batch and schedule for V = `rate` and P_O = `capacity`, which is infinite when records cost nothing."""
        processing = rate * self.interval / capacity
        if self.schedule.mean + processing >= self.interval:
            return {Phase.BATCH: NEVER, Phase.SCHEDULE: self.schedule}
        varies = Moments(processing, arrival_scv * processing / capacity)  # c_a²·V·T/P_O²
        return {Phase.BATCH: uniform(0.0, self.interval) + varies, Phase.SCHEDULE: self.schedule}
