"""Which partitions of a segment are in the next batch: with `mostInTime`, those that can be on time are first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from spillway.controllers import overload
from spillway.controllers.protocol import log, owner
from spillway.controllers.protocol.values import Partition
from spillway.model.execution import Overload
from spillway.model.streamjob import Spec
from spillway.runtime.driver.positions import Positions

Heads = Mapping[Partition, bool]


class Turns:
    """Of one engine."""

    def __init__(self, positions: Positions) -> None:
        self._positions = positions
        self._bound = 0.0
        self._spec = ""

    def hear(self, state: log.State) -> None:
        """What the log says: of its plan, what is promised, and wanted in overload."""
        if state.plan is None or state.plan.spec == self._spec:
            return
        self._spec = state.plan.spec
        spec = Spec.model_validate_json(self._spec)
        in_time = spec.policy.overload is Overload.MOST_IN_TIME
        self._bound = spec.latency.bound.seconds if in_time else 0.0

    def heads(self, works: Iterable[owner.Work], inputs: Sequence[tuple[Partition, str]]) -> Heads:
        """Of which partitions the next message can be on time; asks brokers, and nothing where all are alike."""
        if not self._bound or len(inputs) < 2:
            return {}
        since = self._positions.since(inputs, time.time() - overload.LATE * self._bound)
        return {work.partition: work.position >= since[work.partition] for work in works if work.partition in since}

    def first(
        self, works: Mapping[Partition, owner.Work], ends: Mapping[Partition, int], heads: Heads
    ) -> set[Partition]:
        """Those whose turn it is. One that has to be released soon waits for nothing."""
        waiting = {place: ends[place] - work.position for place, work in works.items()}
        leaving = {place for place, work in works.items() if work.leaving}
        return overload.ranges_first(waiting, heads) | leaving
