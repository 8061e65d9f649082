"""From the sources to the outputs: moments add up along a way, and the worst way is the prediction.

A quantile μ + z·σ is no sum over segments, so the worst way to a node need not be on the worst way to an output. But a
way with both a smaller mean and a smaller variance than another to the same node stays the smaller of the two whatever
follows (also a window: μ + a·σ and a'²·σ² grow with both). So only ways that no other exceeds in both are kept.
"""
# ruff: noqa: RUF002 - sigma and rho are the symbols of the paper, and no o or p

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping

from spillway.controllers.costmodel.flow import Flow, Node
from spillway.controllers.latency import windows
from spillway.controllers.latency.moments import NEVER, ZERO, Moments
from spillway.controllers.latency.phases import Breakdown, Phase
from spillway.controllers.latency.segments import Segments
from spillway.controllers.latency.windows import Window

# Ways kept to one node. In a graph of diamonds the ways double with each; those that none exceeds stay few, but only
# nearly always, and beyond this number the ones with the smallest quantile are dropped.
MOST_WAYS = 64

Rank = Callable[[Moments], float]


@dataclasses.dataclass(frozen=True, slots=True)
class Way:
    """A way from a source to a node: each segment with its phases, and the edge out of it; and all of that together."""

    segments: tuple[tuple[str, Breakdown], ...] = ()
    moments: Moments = ZERO

    @property
    def path(self) -> tuple[str, ...]:
        """The names of its nodes, from the source on."""
        return tuple(name for name, _ in self.segments)

    @property
    def phases(self) -> Breakdown:
        """All segments together."""
        return Breakdown.total(breakdown for _, breakdown in self.segments)

    def then(self, name: str, stay: Breakdown) -> Way:
        """On to a node."""
        return Way((*self.segments, (name, stay)), self.moments + stay.moments)

    def over(self, trip: Breakdown) -> Way:
        """Out of its last node."""
        name, stay = self.segments[-1]
        return Way((*self.segments[:-1], (name, stay + trip)), self.moments + trip.moments)

    def until_window(self, window: Window, senders: int, duration: float) -> Way:
        """Until the result of a window, L = U + F (see `windows`).

        Of m records the slowest has a variance of a'²·σ²: every phase has its share in that.
        """
        if not self.moments.finite or math.isinf(duration):
            extra, a_squared = NEVER, 1.0
        else:
            a, a_squared = windows.largest(senders)
            extra = Moments(a * self.moments.deviation) + windows.turn(window.groups, duration)
        steadied = [(name, breakdown.steadied(a_squared)) for name, breakdown in self.segments]
        name, last = steadied[-1]
        steadied[-1] = (name, last + Breakdown.of({Phase.WINDOW: extra}))
        mean, variance = self.moments.mean, self.moments.variance * a_squared
        return Way(tuple(steadied), Moments(mean, variance) + extra)


def to_outputs(
    flow: Flow, segments: Segments, windows_of: Mapping[str, Window], senders: Mapping[str, int], rank: Rank
) -> tuple[Way, ...]:
    """The ways to all outputs that may be the worst, the worst by `rank` first."""
    ways: dict[str, tuple[Way, ...]] = {}
    ends: list[Way] = []
    for node in flow.nodes:
        arriving = [way.over(segments.trips[edge]) for edge, way in _arriving(flow, node, ways)] or [Way()]
        here = [way.then(node.name, segments.stays[node.name]) for way in arriving]
        window = windows_of.get(node.name)
        if window is not None:
            duration = window.groups * window.cost * segments.slowdown if window.cost else 0.0
            here = [way.until_window(window, senders[node.name], duration) for way in here]
        ways[node.name] = _worst(here, rank)
        if not node.outputs or any(not flow.readers[output.name] for output in node.outputs):
            ends += ways[node.name]
    return _worst(ends, rank)


def _arriving(flow: Flow, node: Node, ways: Mapping[str, tuple[Way, ...]]) -> Iterable[tuple[tuple[str, str], Way]]:
    """Every way over every edge into a node; an edge that is there twice is the same way twice."""
    for name in sorted(set(node.inputs)):
        for way in ways[flow.owners[name].name]:
            yield (name, node.name), way


def _worst(ways: Iterable[Way], rank: Rank) -> tuple[Way, ...]:
    """Those that no other exceeds in mean and variance; of equals the first by path."""
    kept: list[Way] = []
    highest = -1.0
    for way in sorted(ways, key=lambda way: (-way.moments.mean, -way.moments.variance, way.path)):
        if way.moments.variance > highest:
            kept.append(way)
            highest = way.moments.variance
    return tuple(sorted(kept, key=lambda way: (-rank(way.moments), way.path))[:MOST_WAYS])
