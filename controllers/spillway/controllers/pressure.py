"""What slots get done of a segment, beside what they could do by what its records cost.

Costs are timed while records are taken in, and a slot spends its time on more: on clients and commits, waiting for a
broker, for a core, or for its next share of one. A CPU limit stops a process for some tens of milliseconds in each
hundred, and where these fall says little about records: a cost can then be far too low (they fell between records) or
far too high (into the few that were timed). So what was really done is believed besides. With c seconds of slots for a
record, and l slots that are left for the segment,

    P_D = l · max(reached / c, best)

1. Nothing is done at all: that is for want of something else than capacity (a move, a program that starts, a broker
   that is away), and says nothing.
2. *Pressed*: what waits has grown lately, by more than is done in `WAITS`, and does for `LONG`. What is done is then
   what can be done: reached, the share of what costs promise, goes to went·c/l; and best is that, whatever was once
   done. A queue that stands still waits for something else: for a person, where a record halts its partition, or for
   nothing, where a transaction ends it. One that shrinks may be that of one partition, while others have nothing.
3. Else what is done can be done, and perhaps more. best, per slot, is at least went/l, and reached at least went·c/l.

What is planned with, `slowed`, follows reached as long as records wait in most partitions. If they do in few, the load
is uneven, and more slots would have nothing to do.

A share that nothing has pressed for long goes back to 1 by and by: whoever was slowed down by a neighbour, and has
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
# Of the most that has waited lately: below, the queue does not grow any more. What waits was seen to go up and down by
# a quarter while it grew from nothing to 9000 within 15 seconds: with 0.9 that was never growth for long enough.
STILL: Final = 0.5
# Seconds within which it has grown, at the least; twice as long at the most. Shorter: a load that is 2 % too
# much is never noticed. Longer: what a burst has left counts long after it.
LATELY: Final = 10.0
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
        queue: what waits; None where nobody knows.
        slack: so much may wait and mean nothing: in each partition, the end of a transaction.
        wide: whether something waits in most partitions.
    """

    at: float
    went: float
    left: float
    cost: float
    queue: float | None
    slack: float = 0.0
    wide: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """The least and the most that has waited, in the last `LATELY` seconds to twice as many."""

    since: float = -math.inf
    now: tuple[float, float] = (math.inf, -math.inf)
    before: tuple[float, float] = (math.inf, -math.inf)

    def with_(self, queue: float, at: float) -> Range:
        """With what waits now."""
        fresh = Range(at, (queue, queue), self.now) if not 0 <= at - self.since < LATELY else self
        low, high = fresh.now
        return dataclasses.replace(fresh, now=(min(low, queue), max(high, queue)))

    def grown(self, queue: float) -> float:
        """By how much it has grown to what waits now, if it still does."""
        still = queue >= STILL * max(self.now[1], self.before[1])
        return queue - min(self.now[0], self.before[0]) if still else 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Pressure:
    """What is remembered of a segment. `Pressure()` has seen nothing.

    Attributes:
        reached: the share of what costs promise that is reached.
        slowed: the same, as it is planned with.
        best: records per second and slot that were once done, and nothing has refuted since.
        since: since when it is pressed; None if it is not.
        at: when something was learnt last.
        waited: how much has waited lately.
    """

    reached: float = 1.0
    slowed: float = 1.0
    best: float = 0.0
    since: float | None = None
    at: float | None = None
    waited: Range = dataclasses.field(default_factory=Range)

    def capacity(self, left: float, cost: float) -> float:
        """P_D: records per second that slots can do."""
        return left * max(self.reached / cost, self.best)


def observe(before: Pressure, done: Done) -> Pressure:
    """Take one moment into account; the rules are those of the module."""
    per_slot = done.went / done.left if done.left > 0 else math.nan
    if not all(math.isfinite(number) for number in (done.at, per_slot, done.cost)) or done.cost <= 0:
        return before
    queue = done.queue if done.queue is not None and math.isfinite(done.queue) else 0.0
    found = dataclasses.replace(before, at=done.at, waited=before.waited.with_(queue, done.at))
    if done.went <= 0:
        return dataclasses.replace(found, since=None)
    seconds = max(0.0, done.at - before.at) if before.at is not None else 0.0
    share = max(LEAST, min(1.0, per_slot * done.cost))
    much = max(WAITS * max(done.went, 1.0), done.slack)
    if found.waited.grown(queue) < much:
        reached, slowed = (max(_back(one, seconds), share) for one in (before.reached, before.slowed))
        return dataclasses.replace(found, reached=reached, slowed=slowed, best=max(before.best, per_slot), since=None)
    since = done.at if before.since is None else before.since
    if done.at - since < LONG:
        return dataclasses.replace(found, since=since)
    part = 1 - math.exp(-seconds / LEARN)
    reached = before.reached + part * (share - before.reached)
    slowed = before.slowed + part * (share - before.slowed) if done.wide else max(before.slowed, share)
    return dataclasses.replace(found, reached=reached, slowed=slowed, best=per_slot, since=since)


def _back(share: float, seconds: float) -> float:
    return 1 - (1 - share) * math.pow(0.5, seconds / FORGET)
