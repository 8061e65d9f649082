"""How old records are when they leave a slot, and where their time went: the phases of the latency model.

    queue     from when a message was sent, or appended where its topic says so, until the slot took it
    cpu       until what came of it was made, and of all others that were taken with it
    wait      in a frame, for others or for its deadline
    network   of outputs: until readers can see them; at-least-once as the client measures it, else until the commit

Together they are the age of a record when readers see what became of it, over all segments that it goes through: what
an edge takes of the network is in the queue of its reader. Means are right, and nothing else: a turn is asked for its
first and last message, and a frame for its rows together.
"""

from __future__ import annotations

import collections
import time
from collections.abc import Callable

from spillway.controllers.latency.phases import Phase
from spillway.runtime import task
from spillway.runtime.slots.place import Made
from spillway.runtime.telemetry import Ages, Latency, Spent

# Milliseconds since 1970 are cut off, which takes half of one in the mean.
CUT = 0.5


class Times:
    """The sums of one life of a slot."""

    def __init__(
        self,
        bound: float,
        clock: Callable[[], float] = time.time,
        meter: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`bound`: the promise, in milliseconds."""
        self._clock, self._meter = clock, meter
        self._ages = collections.defaultdict[str, Ages](lambda: Ages(bound))
        self._at = self._began = 0.0
        self._sums: dict[tuple[str, Phase], list[float]] = {}

    def begin(self) -> None:
        """Messages were taken just now."""
        self._at, self._began = self._clock() * 1000, self._meter()

    def add(self, segment: str, spent: task.Spent) -> None:
        """What came of them is handed over, as far as it does not wait."""
        if spent.records:
            queue = spent.records * (self._at - CUT) - spent.stamps
            self._add(segment, Phase.QUEUE, spent.records, queue / 1000)
            self._add(segment, Phase.CPU, spent.records, spent.records * (self._meter() - self._began))
        if spent.rows:
            self._add(segment, Phase.WAIT, spent.rows, spent.seconds)

    def sent(self, made: Made, network: float | None) -> None:
        """Outputs are on their way, and each takes so many seconds from there; None if nobody knows."""
        self._left(made, made.at, network)

    def stored(self, made: Made) -> None:
        """Outputs were committed."""
        now = self._clock() * 1000
        self._left(made, now, (now - made.at) / 1000)

    def _left(self, made: Made, now: float, network: float | None) -> None:
        self._ages[made.output].add(now - made.earliest, made.records)
        if network is not None:
            self._add(made.segment, Phase.NETWORK, made.records, made.records * network)

    def latency(self) -> dict[str, Latency]:
        """How old records were, by output."""
        return {name: ages.read() for name, ages in self._ages.items()}

    def phases(self) -> dict[str, dict[str, Spent]]:
        """Where their time went, by segment."""
        found: dict[str, dict[str, Spent]] = {}
        for (segment, phase), (records, seconds) in self._sums.items():
            found.setdefault(segment, {})[phase] = Spent(int(records), seconds)
        return found

    def _add(self, segment: str, phase: Phase, records: int, seconds: float) -> None:
        sums = self._sums.setdefault((segment, phase), [0, 0.0])
        sums[0] += records
        sums[1] += max(0.0, seconds)  # clocks of others may be ahead
