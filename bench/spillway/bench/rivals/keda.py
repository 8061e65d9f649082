"""KEDA's scaler for Kafka, and the horizontal pod autoscaler (HPA) that it feeds.

    lag = Σ over partitions of (latest - committed offset), at most lagThreshold · partitions
    wanted = ceil(lag / lagThreshold), nothing changes while lag/(lagThreshold·n) is within 1 ± 0.1

The HPA asks every 15 s. With its default behaviour it may, within 15 s, double the pods or add four of them, whichever
is more, and takes away only what nobody wanted for 300 s.

Lag is counted from committed offsets, and consumers commit every five seconds (`auto.commit.interval.ms`), so records
of 2.5 s on average are lag though they are done. That is what keeps pods at a steady load: with a threshold of s
seconds of a pod's capacity, pods are 100 %·s/2.5 busy. Below s = 2.5 that leaves room; from there on it lets queues
grow until they make up for the rest. So s is what has to be chosen, and `bench.policies` takes the best of a grid.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping

from spillway.simulation.policies import Seen, SegmentSeen, SegmentWish, Wish

COMMIT = 5.0  # seconds, Kafka's default
TOLERANCE = 0.1
STABLE = datetime.timedelta(seconds=300)
PERIOD = datetime.timedelta(seconds=15)


class Keda:
    """One ScaledObject for each segment, with its lagThreshold in records."""

    every = PERIOD

    def __init__(self, thresholds: Mapping[str, float], partitions: Mapping[str, int]) -> None:
        self.thresholds = thresholds
        self.partitions = partitions
        self._wanted: dict[str, list[tuple[datetime.datetime, int]]] = {}

    def decide(self, seen: Seen, now: datetime.datetime) -> Wish:
        """Each segment by itself; without metrics the HPA does nothing."""
        wishes: dict[str, SegmentWish] = {}
        why: list[str] = []
        for name, segment in seen.segments.items():
            if segment is None:
                continue
            slots = self.slots(name, segment, now)
            if slots != segment.asked:
                wishes[name] = SegmentWish(slots)
                why.append(f"{name} has a lag of {lag(segment):.0f}, and {self.thresholds[name]:.0f} is for one pod")
        return Wish(wishes, reason="Keda", sentence="; ".join(why))

    def slots(self, name: str, segment: SegmentSeen, now: datetime.datetime) -> int:
        """What the HPA sets."""
        threshold, current = self.thresholds[name], max(1, segment.asked)
        most = self.partitions.get(name, math.inf)
        found = min(lag(segment), threshold * most)
        wanted = current
        if abs(found / (threshold * current) - 1) > TOLERANCE:
            wanted = max(1, math.ceil(found / threshold - 1e-9))
        recent = [(at, size) for at, size in self._wanted.get(name, []) if now - at < STABLE]
        self._wanted[name] = recent = [*recent, (now, wanted)]
        if wanted > current:
            return min(wanted, max(2 * current, current + 4))
        return min(current, max(size for _, size in recent))


def lag(segment: SegmentSeen) -> float:
    """What waits, and what is done and not committed: half a commit interval on average over all partitions."""
    return segment.queue + segment.processed * COMMIT / 2
