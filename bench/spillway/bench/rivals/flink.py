"""Flink's autoscaler, as in its operator for Kubernetes: DS2 with terms for backlogs.

With W the metric window, S the stabilisation, C the catch-up duration, R the restart time, u* the target utilisation,
over a window of accumulated counters rate(x) = (x_last - x_first)/(t_last - t_first):

    D = rate(recordsIn) + rate(lag) of a source, Σ D_u·r(u→v) downstream, r = records out/records in
    K = lag/C of a source, Σ K_u·r(u→v) downstream
    TPR = rate(recordsIn)/busy, what the present slots can do
    T(u, restart) = K + [D·R/C] + D/u
    act when TPR < T(u_max) or TPR > T(u_min, restart) of any vertex
    f = T(u*, restart)/TPR, at least 0.4; p' = ceil(f·p), at most 200 and the number of partitions

While a source has a backlog of more than five minutes, u_max is 1 and nothing is scaled down. A smaller size is taken
only when it was wanted for the whole scale-down delay, and then the largest that was wanted in it; a change of any
other vertex takes it along at once. Metrics of before a restart count for nothing, so the next decision comes S + W
after it at the earliest. A run begins in the middle of a life: before the first look all was as in it, for W.

Flink has no logs between its operators: what is too slow holds back its source. Here it queues up in front of the slow
segment itself, so its own lag is added to K there, which Flink could not know; that helps it. Flink's correction of the
busy time of sources is left out: busy times are right here.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections import deque
from collections.abc import Mapping

from spillway.controllers.costmodel.flow import Flow
from spillway.simulation.policies import Seen, SegmentSeen, SegmentWish, Wish

MOST = 200  # job.autoscaler.vertex.max-parallelism
LEAST_FACTOR = 0.4  # 1 - job.autoscaler.scale-down.max-factor
BACKLOG = 300.0  # job.autoscaler.backlog-processing.lag-threshold
_EQUAL = 1e-9  # what differs by less is the same, and counts as beyond a bound


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """`job.autoscaler.*`, in seconds and shares; as they are by default."""

    window: float = 900.0
    stabilization: float = 300.0
    catch_up: float = 1800.0
    restart: float = 300.0
    target: float = 0.7
    most: float = 1.0
    least: float = 0.4
    scale_down_delay: float = 3600.0
    loop: float = 15.0  # of the operator; the Helm chart sets 15 s, the operator alone takes 60 s


DEFAULT = Settings()
# What the documentation gives for quick scaling: windows and catch-up of 5 minutes, a stabilisation of 1, a restart
# time of 2, and a target of 0.6 ± 0.2. It says nothing about the scale-down delay; with an hour, a run of an hour would
# never give anything back, so it is 5 minutes, like Spillway's.
FAST = Settings(300.0, 60.0, 300.0, 120.0, 0.6, 0.8, 0.4, 300.0)


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """Counters since the last restart: records in and busy seconds by vertex, lag as it is, records out of edges."""

    at: float
    came: Mapping[str, float]
    busy: Mapping[str, float]
    lag: Mapping[str, float]
    out: Mapping[str, float]


@dataclasses.dataclass(frozen=True, slots=True)
class Vertex:
    """One segment over the window: D, K and TPR."""

    demand: float
    catch_up: float
    able: float


class Flink:
    """The autoscaler of one job."""

    def __init__(self, flow: Flow, partitions: Mapping[str, int], settings: Settings = DEFAULT) -> None:
        self.flow = flow
        self.partitions = partitions
        self.settings = settings
        self.every = datetime.timedelta(seconds=settings.loop)
        self._samples: deque[Sample] = deque()
        self._start: datetime.datetime | None = None
        self._running: float | None = -math.inf  # since when
        self._smaller: dict[str, list[tuple[float, int]]] = {}  # what was wanted, by vertex, since it first was less

    def decide(self, seen: Seen, now: datetime.datetime) -> Wish:
        """One loop."""
        self._start = self._start or now - seen.span
        at = (now - self._start).total_seconds()
        known = {name: segment for name, segment in seen.segments.items() if segment is not None}
        if len(known) < len(seen.segments):
            return Wish(reason="Flink", sentence="metrics are missing")
        if any(segment.asked != segment.ready for segment in known.values()):
            self._samples.clear()
            self._running = None
            return Wish(reason="Flink", sentence="the job is restarting")
        if self._running is None:
            self._running = at
        if at < self._running + self.settings.stabilization:
            return Wish(reason="Flink", sentence="the job is stabilising")
        self._observe(known, seen.span.total_seconds(), at)
        if self._samples[-1].at - self._samples[0].at < self.settings.window - self.settings.loop / 2:
            return Wish(reason="Flink", sentence="the metric window is not full")
        return self._scaled(known, at)

    def _observe(self, known: Mapping[str, SegmentSeen], span: float, at: float) -> None:
        """One more sample of accumulated counters; those that left the window are forgotten."""
        if not self._samples and self._running == -math.inf:
            count = round(self.settings.window / self.settings.loop)
            self._samples.extend(_sample(known, at - span, (i - count) * self.settings.loop) for i in range(count + 1))
        new, last = _sample(known, at, span), self._samples[-1] if self._samples else None
        if last is not None:
            new = Sample(at, _sum(last.came, new.came), _sum(last.busy, new.busy), new.lag, _sum(last.out, new.out))
        self._samples.append(new)
        while len(self._samples) > 1 and at - self._samples[1].at >= self.settings.window - _EQUAL:
            self._samples.popleft()

    def vertices(self) -> dict[str, Vertex]:
        """D, K and TPR over the window, in topological order."""
        first, last = self._samples[0], self._samples[-1]
        span, found = last.at - first.at, dict[str, Vertex]()
        for node in self.flow.nodes:
            name = node.name
            if node.is_topic:
                continue
            came, busy = last.came[name] - first.came[name], last.busy[name] - first.busy[name]
            inner = [owner for given in node.inputs if not (owner := self.flow.owners[given]).is_topic]
            demand = max(0.0, came / span + (last.lag[name] - first.lag[name]) / span)
            catch_up = last.lag[name] / self.settings.catch_up if self.settings.catch_up else 0.0
            if inner and len(inner) == len(node.inputs):  # who reads a topic as well is measured like a source
                ratios = {given: self._ratio(given, first, last) for given in node.inputs}
                demand = sum(found[self.flow.owners[given].name].demand * r for given, r in ratios.items())
                catch_up += sum(found[self.flow.owners[given].name].catch_up * r for given, r in ratios.items())
            found[name] = Vertex(demand, catch_up, came / busy if came and busy else math.inf)
        return found

    def _ratio(self, output: str, first: Sample, last: Sample) -> float:
        """r: records out of an edge for each record that its vertex took in."""
        owner = self.flow.owners[output].name
        came = last.came[owner] - first.came[owner]
        return (last.out.get(output, 0.0) - first.out.get(output, 0.0)) / came if came else 0.0

    def required(self, vertex: Vertex, utilisation: float, *, restart: bool) -> float:
        """T(u, restart)."""
        s = self.settings
        catching = vertex.demand * s.restart / s.catch_up if restart and s.catch_up else 0.0
        return vertex.catch_up + catching + vertex.demand / utilisation

    def _scaled(self, known: Mapping[str, SegmentSeen], at: float) -> Wish:
        vertices, s = self.vertices(), self.settings
        span = self._samples[-1].at - self._samples[0].at
        rates = {name: (self._samples[-1].came[name] - self._samples[0].came[name]) / span for name in known}
        backlog = any(segment.queue > BACKLOG * max(rates[name], 1e-9) for name, segment in known.items())
        sizes, beyond = {}, []
        for name, vertex in vertices.items():
            upper = self.required(vertex, 1.0 if backlog else s.most, restart=False)
            lower = math.inf if backlog else self.required(vertex, s.least, restart=True)
            slots = known[name].asked
            sizes[name] = wanted = self.parallelism(name, vertex, slots)
            outside = vertex.able <= upper * (1 + _EQUAL) or vertex.able > lower
            if wanted < slots:
                sizes[name] = self._delayed(name, wanted, slots, at, outside=vertex.able > lower)
                outside = outside and sizes[name] < slots
            else:
                self._smaller.pop(name, None)
            if outside and sizes[name] != slots:
                beyond.append(name)
        if not beyond:
            return Wish(reason="Flink", sentence="every vertex is within its bounds")
        self._smaller.clear()
        wishes = {name: SegmentWish(size) for name, size in sizes.items()}
        told = ", ".join(f"{name} from {known[name].asked} to {sizes[name]}" for name in beyond)
        return Wish(wishes, reason="Flink", sentence=f"beyond the bounds of utilisation: {told}")

    def parallelism(self, name: str, vertex: Vertex, slots: int) -> int:
        """The p' of a vertex that has p = `slots`."""
        factor = self.required(vertex, self.settings.target, restart=True) / vertex.able
        wanted = math.ceil(max(factor, LEAST_FACTOR) * slots - _EQUAL)
        return int(min(max(1, wanted), MOST, self.partitions.get(name, MOST)))

    def _delayed(self, name: str, wanted: int, slots: int, at: float, *, outside: bool) -> int:
        """The largest size that was wanted within the scale-down delay, once that is over; until then the present."""
        if not outside and name not in self._smaller:
            return slots
        recent = self._smaller.setdefault(name, [])
        recent.append((at, wanted))
        if at - recent[0][0] < self.settings.scale_down_delay:
            return slots
        return min(slots, max(size for when, size in recent if at - when <= self.settings.scale_down_delay))


def _sample(known: Mapping[str, SegmentSeen], at: float, span: float) -> Sample:
    """What a time of this length at these rates adds to the counters; before the first look it takes away."""
    return Sample(
        at + min(0.0, span),
        {name: segment.processed * span for name, segment in known.items()},
        {name: segment.busy * span for name, segment in known.items()},
        {name: segment.queue for name, segment in known.items()},
        {output: rate * span for segment in known.values() for output, rate in segment.emitted.items()},
    )


def _sum(before: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    return {name: before.get(name, 0.0) + value for name, value in more.items()}
