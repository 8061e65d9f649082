"""What slots get done of a segment, beside what they could do by what its records cost.

Costs are timed while records are taken in, and a slot spends its time on more: on clients and commits, waiting for a
broker, for a core, or for its next share of one. A CPU limit stops a process for some tens of milliseconds in each
hundred, and where these fall says little about records: a cost can then be far too low (they fell between records) or
far too high (into the few that were timed). So what was really done is believed besides. With c seconds of slots for a
record, and l slots that are left for the segment,

    P_D = l · max(reached / c, best)

1. Nothing is done at all: that is for want of something else than capacity (a move, a program that starts, a broker
   that is away), and says nothing.
2. *Pressed*, because more waits than is done in `WAITS`, and has for `LONG`: what is done is what can be done. reached,
   the share of what costs promise, goes to went·c/l; and best is that, whatever was once done.
3. Else what is done can be done, and perhaps more. best, per slot, is at least went/l, and reached at least went·c/l.

A reached that nothing has pressed for long goes back to 1 by and by: whoever was slowed down by a neighbour, and has
more slots than needed ever since, would otherwise never find out that the neighbour is gone.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Final

# Seconds of work that wait in front of a segment whose slots do all that they can. Shorter: what gathers within a turn
# of the loop counts. Longer: a promise of half a second is broken before anything is learnt.
WAITS: Final = 0.25
# Seconds for which it has waited: rates are over two, and what was before must not count.
LONG: Final = 2.5
# Seconds in which what is done under pressure is believed: a few ticks.
LEARN: Final = 1.0
# Seconds in which half of what is missing to 1 is forgotten. Shorter: a job whose slots have half a core each is made
# smaller, is pressed, and grows again, several times an hour. Longer: a neighbour of an hour costs slots for a day.
FORGET: Final = 1800.0
# Of what costs promise: a slot that gets less than this done isn't slow, it hangs.
LEAST: Final = 0.001


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """What is done of a segment at one moment.

    Attributes:
        at: when, in seconds.
        went: records per second that slots have taken in.
        left: slots that are left for it.
        cost: seconds of a slot for a record, with all that comes of it.
        queue: records that wait; None where nobody knows.
    """

    at: float
    went: float
    left: float
    cost: float
    queue: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class Pressure:
    """What is remembered of a segment. `Pressure()` has seen nothing.

    Attributes:
        reached: the share of what costs promise that is reached.
        best: records per second and slot that were once done, and nothing has refuted since.
        since: since when more waits than is done; None if it does not.
        at: when something was learnt last.
    """

    reached: float = 1.0
    best: float = 0.0
    since: float | None = None
    at: float | None = None

    def capacity(self, left: float, cost: float) -> float:
        """P_D: records per second that slots can do."""
        return left * max(self.reached / cost, self.best)


def observe(before: Pressure, done: Done) -> Pressure:
    """Take one moment into account; the rules are those of the module."""
    per_slot = done.went / done.left if done.left > 0 else math.nan
    if not all(math.isfinite(number) for number in (done.at, per_slot, done.cost)) or done.cost <= 0:
        return before
    if done.went <= 0:
        return dataclasses.replace(before, since=None)
    seconds = max(0.0, done.at - before.at) if before.at is not None else 0.0
    share = max(LEAST, min(1.0, per_slot * done.cost))
    if done.queue is None or not done.queue >= WAITS * max(done.went, 1.0):  # what is no number is nothing
        back = 1 - (1 - before.reached) * 0.5 ** (seconds / FORGET)
        return Pressure(max(back, share), max(before.best, per_slot), None, done.at)
    since = done.at if before.since is None else before.since
    if done.at - since < LONG:
        return dataclasses.replace(before, since=since, at=done.at)
    part = 1 - math.exp(-seconds / LEARN)
    return Pressure(before.reached + part * (share - before.reached), per_slot, since, done.at)
