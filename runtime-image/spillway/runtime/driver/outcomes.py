"""What has come of batches: dead letters, and how old records were when they left towards outputs.

Slots tell the same in their reports. Without it, the promise would be blind for what batches write by themselves.
"""

from __future__ import annotations

import collections
import time
from collections.abc import Callable, Iterable, Mapping

from spillway.runtime.batch.ranges import Result
from spillway.runtime.driver.observing import LATENCIES, added
from spillway.runtime.telemetry import Ages, Latency


class Outcomes:
    """Of all batches since this driver began.

    Attributes:
        letters: dead letters.
        latency: by output.
    """

    def __init__(self, bound: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`bound`: as promised, in milliseconds."""
        self._bound, self._clock = bound, clock
        self._last: collections.deque[tuple[float, Mapping[str, Latency]]] = collections.deque()
        self.letters = 0
        self.latency: dict[str, Latency] = {}

    def add(self, results: Iterable[Result]) -> None:
        """What one batch came to."""
        ages: dict[str, Ages] = {}
        for result in results:
            self.letters += result.letters
            for one in result.aged:
                ages.setdefault(one.output, Ages(self._bound)).add(one.age, one.records)
        found = {name: of.read() for name, of in ages.items()}
        for name, latency in found.items():
            self.latency[name] = added(self.latency.get(name, Latency()), latency)
        if found:
            self._last.append((self._clock(), found))

    def beside(self, others: Mapping[str, tuple[Latency, float]]) -> dict[str, tuple[Latency, float]]:
        """What slots have told of the last seconds, with what batches have written meanwhile."""
        while self._last and self._last[0][0] < self._clock() - LATENCIES:
            self._last.popleft()
        found = dict(others)
        for _, of in self._last:
            for name, latency in of.items():
                known, seconds = found.get(name, (Latency(), 0.0))
                found[name] = added(known, latency), max(seconds, LATENCIES)
        return found
