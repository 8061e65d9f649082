"""Stela (Xu, Peng, Gupta: Stela: Enabling Stream Processing Systems to Scale-in and Scale-out On-demand, IC2E 2016).

An operator is congested when more comes than it does: input > 1.2 · processed. The effective throughput percentage of
an operator is what of the whole throughput goes through it to sinks without meeting congestion on the way,

    ETP(o) = Σ throughput of the sinks that o reaches over operators that are not congested / throughput of all sinks

Of the congested operators the one with the highest ETP gets an instance. Then all rates are projected (its processing
rate rises by the part 1/n, and with it what its readers get), and the next one is chosen, as many times as there are
new slots in a round: one for each worker (SWP 6.1.3, whose variant this is).

Both papers scale when somebody asks. Here a round is due every 30 s, the interval at which SWP collects what it
measures, and as queues wait in logs, a backlog counts as input of one round. The way in takes away from who has the
least ETP; it is done when nothing was congested for five minutes, and only where the rest stays below 80 % busy:
without that it would take away what is needed, and be worse.
"""

from __future__ import annotations

import dataclasses
import datetime

from spillway.controllers.costmodel.flow import Flow
from spillway.simulation.policies import Seen, SegmentSeen, SegmentWish, Wish

CONGESTED = 1.2
CALM = datetime.timedelta(seconds=300)
FULL = 0.8


@dataclasses.dataclass
class Operator:
    """One segment as Stela projects it."""

    slots: int
    came: float
    processed: float  # what it does
    able: float  # what it could

    @property
    def congested(self) -> bool:
        """Whether more comes than it does."""
        return self.came > CONGESTED * self.processed


class Stela:
    """Rounds of Stela on the flow of a job; `workers` is how many slots a round may add."""

    every = datetime.timedelta(seconds=30)

    def __init__(self, flow: Flow, workers: int = 4) -> None:
        self.flow = flow
        self.workers = workers
        self._calm: datetime.datetime | None = None
        self._changed: datetime.datetime | None = None

    def decide(self, seen: Seen, now: datetime.datetime) -> Wish:
        """One round."""
        known = {name: segment for name, segment in seen.segments.items() if segment is not None}
        if len(known) < len(seen.segments) or any(segment.asked != segment.ready for segment in known.values()):
            return Wish(reason="Stela", sentence="metrics are missing, or the last round is under way")
        period = seen.span.total_seconds()
        operators = {name: _operator(segment, period) for name, segment in known.items()}
        added: dict[str, int] = {}
        for _ in range(self.workers):
            name = self.next(operators)
            if name is None:
                break
            added[name] = added.get(name, 0) + 1
            self._widen(operators, name)
        if added:
            self._calm = None
            told = ", ".join(f"{name} +{count}" for name, count in sorted(added.items()))
            wishes = {name: SegmentWish(known[name].asked + count) for name, count in added.items()}
            return Wish(wishes, reason="Stela", sentence=f"congested, by effective throughput: {told}")
        self._calm = self._calm or now
        return self._narrow(known, operators, now)

    def next(self, operators: dict[str, Operator]) -> str | None:
        """The congested operator with the highest ETP, by name among equals."""
        congested = [name for name, operator in operators.items() if operator.congested]
        return min(congested, key=lambda name: (-self.etp(operators, name), name), default=None)

    def etp(self, operators: dict[str, Operator], name: str) -> float:
        """ETP(o)."""
        total = sum(operators[sink].processed for sink in operators if not self._readers(sink))
        return self._reached(operators, name) / total if total else 0.0

    def _reached(self, operators: dict[str, Operator], name: str) -> float:
        readers = self._readers(name)
        if not readers:
            return operators[name].processed
        return sum(self._reached(operators, reader) for reader in readers if not operators[reader].congested)

    def _readers(self, name: str) -> tuple[str, ...]:
        return tuple(reader for output in self.flow[name].outputs for reader in self.flow.readers[output.name])

    def _widen(self, operators: dict[str, Operator], name: str) -> None:
        """One instance more, and what follows from it for all that read it, and who reads those."""
        operator = operators[name]
        operator.able *= (operator.slots + 1) / operator.slots
        operator.slots += 1
        self._project(operators, name)

    def _project(self, operators: dict[str, Operator], name: str) -> None:
        operator = operators[name]
        more = min(operator.came, operator.able) - operator.processed
        operator.processed += max(0.0, more)
        for output in self.flow[name].outputs:
            for reader in self.flow.readers[output.name]:
                operators[reader].came += max(0.0, more) * float(output.selectivity)
                self._project(operators, reader)

    def _narrow(self, known: dict[str, SegmentSeen], operators: dict[str, Operator], now: datetime.datetime) -> Wish:
        """A slot less where the least effective throughput is, after five minutes without congestion."""
        spare = [
            name
            for name, segment in known.items()
            if segment.asked > 1 and segment.busy * segment.asked / (segment.asked - 1) < FULL
        ]
        if self._calm is None or now - self._calm < CALM or not spare:
            return Wish(reason="Stela", sentence="nothing is congested")
        name = min(spare, key=lambda name: (self.etp(operators, name), name))
        return Wish(
            {name: SegmentWish(known[name].asked - 1)},
            reason="Stela",
            sentence=f"nothing was congested for {CALM.total_seconds():.0f} s, and {name} has the least throughput",
        )


def _operator(segment: SegmentSeen, period: float) -> Operator:
    """What was measured; the backlog is input of this round. Idle slots are taken to be able to do what comes."""
    capacity = segment.capacity or 0.0
    came = segment.arrival + segment.queue / period
    return Operator(max(1, segment.ready), came, min(came, max(segment.processed, capacity)), capacity)
