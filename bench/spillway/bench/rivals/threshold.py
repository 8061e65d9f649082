"""Scaling by thresholds: a slot more where utilisation is above one, a slot less where it is below another.

Above 0.8 is what the paper on stepwise profiling compares with (SWP 6.1.3). That one widens only the fullest operator
in each round; here every segment beyond the threshold is widened, which is never slower. It has no way down, so the
lower threshold and the cooldowns are those that people use with it.

    n' = n + 1   for busy > 0.8, `UP` after the last change of the segment at the earliest
    n' = n - 1   for busy < 0.4, `DOWN` after it; then busy·n/(n-1) is still below 0.8 from n = 2 on
"""

from __future__ import annotations

import dataclasses
import datetime

from spillway.simulation.policies import Seen, SegmentWish, Wish

# A slot needs eight seconds until it works, and a measurement that is about it another period. Shorter: a second step
# before the first one has told anything. Longer: only slower.
UP = datetime.timedelta(seconds=30)
# As the horizontal pod autoscaler of Kubernetes waits before it takes anything away.
DOWN = datetime.timedelta(seconds=300)


@dataclasses.dataclass
class Threshold:
    """Utilisation thresholds, one step at a time."""

    high: float = 0.8
    low: float = 0.4
    every: datetime.timedelta = datetime.timedelta(seconds=15)

    def __post_init__(self) -> None:
        self._changed: dict[str, datetime.datetime] = {}

    def decide(self, seen: Seen, now: datetime.datetime) -> Wish:
        """Each segment by itself."""
        wishes: dict[str, SegmentWish] = {}
        why: list[str] = []
        for name, segment in seen.segments.items():
            if segment is None or segment.asked != segment.ready:
                continue
            since = now - self._changed.setdefault(name, now - DOWN)
            full, empty = segment.busy > self.high and since >= UP, segment.busy < self.low and since >= DOWN
            step = 1 if full else -1 if empty and segment.asked > 1 else 0
            if step:
                self._changed[name] = now
                wishes[name] = SegmentWish(segment.asked + step)
                why.append(f"{name} is {segment.busy:.0%} busy")
        return Wish(wishes, reason="Threshold", sentence="; ".join(why))
