"""From the sources to the outputs: moments add up along a way, and the worst way is the prediction.

A quantile μ + z·σ is no sum over segments, so the worst way to a node need not be on the worst way to an output. But a
way with both a smaller mean and a smaller variance than another to the same node stays the smaller of the two whatever
follows (also a window: μ + a·σ and a'²·σ² grow with both). So only ways that no other exceeds in both are kept.
"""
# ruff: noqa: RUF002 - sigma and rho are the symbols of the paper, and no o or p

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from spillway.controllers.costmodel.flow import Flow
from spillway.controllers.latency import windows
from spillway.controllers.latency.moments import NEVER, Moments
from spillway.controllers.latency.phases import Breakdown, Phase
from spillway.controllers.latency.segments import Edge, Segments
from spillway.controllers.latency.windows import Window

# Ways kept to one node. In a graph of diamonds the ways double with each; those that none exceeds stay few, but only
# nearly always, and beyond this number the ones with the smallest quantile are dropped.
MOST_WAYS = 64

Rank = Callable[[float, float], float]  # of mean and variance


@dataclasses.dataclass(frozen=True, slots=True)
class Way:
    """A way from a source to a node: each segment with its phases, and the edge out of it; and all of that together."""

    segments: tuple[tuple[str, Breakdown], ...]
    moments: Moments

    @property
    def path(self) -> tuple[str, ...]:
        """The names of its nodes, from the source on."""
        return tuple(name for name, _ in self.segments)

    @property
    def phases(self) -> Breakdown:
        """All segments together."""
        return Breakdown.total(breakdown for _, breakdown in self.segments)


class Ending(NamedTuple):
    """What a window adds to a way: L = U + F (see `windows`); its result waits `extra` more than its records.

    Of m records the slowest has a variance of a'²·σ²: every phase so far has its share in that.
    """

    extra: Moments
    a_squared: float


class Trail(NamedTuple):
    """A way as a search needs it: two numbers, and where it came from."""

    mean: float
    variance: float
    path: tuple[str, ...]
    before: Trail | None
    edge: Edge | None
    ending: Ending | None


class Close(NamedTuple):
    """A window at a node: how many send to it, and how long all its groups take."""

    window: Window
    senders: int
    duration: float

    def after(self, mean: float, variance: float) -> Ending:
        """What it adds to records with these moments."""
        if math.isinf(mean) or math.isinf(self.duration):
            return Ending(NEVER, 1.0)
        a, a_squared = windows.largest(self.senders)
        return Ending(Moments(a * math.sqrt(variance)) + windows.turn(self.window.groups, self.duration), a_squared)


def closes(windows_of: Mapping[str, Window], senders: Mapping[str, int], slowdown: float) -> Mapping[str, Close]:
    """Every window with what is known of the plan around it."""
    return {
        name: Close(window, senders[name], window.groups * window.cost * slowdown if window.cost else 0.0)
        for name, window in windows_of.items()
    }


def to_outputs(flow: Flow, segments: Segments, closing: Mapping[str, Close], rank: Rank) -> tuple[Way, ...]:
    """The ways to all outputs that may be the worst, the worst by `rank` first."""
    stays = {name: breakdown.moments for name, breakdown in segments.stays.items()}
    trips = {edge: breakdown.moments for edge, breakdown in segments.trips.items()}
    return tuple(_retold(trail, segments) for trail in trails(flow, stays, trips, closing, rank))


def trails(
    flow: Flow,
    stays: Mapping[str, Moments],
    trips: Mapping[Edge, Moments],
    closing: Mapping[str, Close],
    rank: Rank,
) -> tuple[Trail, ...]:
    """The same without what happens on the way."""
    known: dict[str, list[Trail]] = {}
    ends: list[Trail] = []
    for node in flow.nodes:
        name, stay, close = node.name, stays[node.name], closing.get(node.name)
        here: list[Trail] = []
        if node.is_source:
            here.append(_next(name, stay.mean, stay.variance, None, None, close))
        for output in dict.fromkeys(node.inputs):
            trip = trips[output, name]
            mean, variance = trip.mean + stay.mean, trip.variance + stay.variance
            here += [
                _next(name, before.mean + mean, before.variance + variance, before, (output, name), close)
                for before in known[flow.owners[output].name]
            ]
        known[name] = _worst(here, rank)
        if not node.outputs or any(not flow.readers[output.name] for output in node.outputs):
            ends += known[name]
    return tuple(_worst(ends, rank))


def _next(
    name: str, mean: float, variance: float, before: Trail | None, edge: Edge | None, close: Close | None
) -> Trail:
    """On to a node, and, if it has one, until the result of its window."""
    path = (*before.path, name) if before else (name,)
    if close is None:
        return Trail(mean, variance, path, before, edge, None)
    ending = close.after(mean, variance)
    variance = ending.a_squared * variance + ending.extra.variance
    return Trail(mean + ending.extra.mean, variance, path, before, edge, ending)


def _worst(found: list[Trail], rank: Rank) -> list[Trail]:
    """Those that no other exceeds in mean and variance; of equals the first by path."""
    if len(found) == 1:
        return found
    kept: list[Trail] = []
    highest = -1.0
    for trail in sorted(found, key=lambda trail: (-trail.mean, -trail.variance, trail.path)):
        if trail.variance > highest:
            kept.append(trail)
            highest = trail.variance
    if len(kept) == 1:
        return kept
    return sorted(kept, key=lambda trail: (-rank(trail.mean, trail.variance), trail.path))[:MOST_WAYS]


def _retold(end: Trail, segments: Segments) -> Way:
    """A trail with the phases of every segment on it."""
    steps: list[Trail] = []
    step: Trail | None = end
    while step is not None:
        steps.append(step)
        step = step.before
    told: list[tuple[str, Breakdown]] = []
    for step in reversed(steps):
        if step.edge is not None:
            name, stay = told[-1]
            told[-1] = (name, stay + segments.trips[step.edge])
        told.append((step.path[-1], segments.stays[step.path[-1]]))
        if step.ending is not None:
            a_squared, extra = step.ending.a_squared, step.ending.extra
            told = [(name, breakdown.steadied(a_squared)) for name, breakdown in told]
            name, stay = told[-1]
            told[-1] = (name, stay + Breakdown.of({Phase.WINDOW: extra}))
    third = math.fsum(moments.third for _, breakdown in told for moments in breakdown.phases.values())
    return Way(tuple(told), Moments(end.mean, end.variance, third))
