"""How much is fed, when sources are to take as many as they can. Pure.

Nothing holds a source back but what is there to be read, and edges are logs that take anything: fed without a limit, a
source runs ahead of all behind it, and its rate says nothing about theirs. So what is in flight is held to what is done
in `PENDING` seconds, as systems with acknowledgements hold it to a number of records:

    fed per second = T · (1 + (T·p - in flight) / (T·p)),   between 0 and 2·T,   p = PENDING + what only waits

with T what gets all the way. As long as less is in flight, more is fed, up to twice as much; once the narrowest
operator is busy all the time, T is what that does, and no more comes than goes. A load that is asked for is the most
that is fed: where it turns out to be too much, what has gathered would take longer to be done than the measurement.

What waits in frames, in the log and for a core is no work, and in flight all the same; nobody knows how long that is.
But as long as all that may be in flight is, and no slot is busy all the time, it is longer than was thought: then more
may be.

T is the most of the last seconds: where nothing is fed for a moment because too much was in flight, what is done then
says nothing about what could be.
"""

from __future__ import annotations

import dataclasses
import math

# Of work, beside what records wait in frames. Reports tell how it was a quarter of a second ago, so with less the
# narrowest operator would run dry now and then; with more, each deployment takes longer to fill and to empty.
PENDING = 0.8
STEEPEST = 2.0
# Records in flight, and records per second, that are always allowed: else nothing would ever begin.
FEW, LEAST = 20.0, 20.0
FORGETS = 4.0  # seconds after which a throughput that is not seen again counts for a third


# A slot that has work for less of its time waits for records. Loops that are never idle tell some per cent less than
# all, because what they do beside records is not counted.
BUSY = 0.8
USED = 0.7  # of what may be in flight; below, it is not this that holds records back
GROWS, LONGEST = 0.5, 4.0  # seconds of waiting more that are allowed for in each second, and in all


@dataclasses.dataclass(slots=True)
class Pilot:
    """Of one deployment.

    Attributes:
        able: T.
        waits: seconds that a record only waits on its way, as far as that is known.
    """

    able: float = 0.0
    waits: float = 0.0

    def fed(self, throughput: float, in_flight: float, busiest: float, seconds: float) -> float:
        """Records per second to feed, so many seconds after the last time; `busiest` is a share of a slot's time."""
        self.able = max(throughput, self.able * math.exp(-seconds / FORGETS))
        pending = max(self.able * (PENDING + self.waits), FEW)
        if busiest < BUSY and in_flight > USED * pending:
            self.waits = min(LONGEST, self.waits + GROWS * seconds)
        return max(self.able, LEAST) * max(0.0, min(STEEPEST, 1 + (pending - in_flight) / pending))


def settled(samples: list[float], within: float) -> bool:
    """Whether the last rates are the same, but for so much."""
    return min(samples) > 0 and max(samples) <= min(samples) * (1 + within)
