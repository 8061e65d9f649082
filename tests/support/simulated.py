"""Small jobs for simulations, whose numbers can be worked out by hand."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable

from spillway.controllers.costmodel.flow import Flow, Node, Output
from spillway.controllers.latency.queueing import Variability
from spillway.controllers.planning.problem import Promise
from spillway.simulation.jobs import Job
from spillway.simulation.policies import Seen, Wish
from spillway.simulation.traces import Shape, Trace

HALF_A_SECOND = Promise(0.5, 0.99)


def topic(name: str = "events") -> Node:
    """A topic that others write."""
    return Node(name, (), 0.0, 0.0, (Output(name, framed=False),))


def segment(name: str, *inputs: str, cost: float = 1e-3, selectivity: float = 1.0) -> Node:
    """Each record costs its slot so many seconds; frames cost nothing."""
    return Node(name, inputs, cost, 0.0, (Output(name, selectivity),))


def single(cost: float = 1e-3, **more: object) -> Job:
    """One segment, `work`, that reads the topic `events`: a slot does 1000 records per second."""
    steady = {"work": Variability(service=0.0)}
    return Job(Flow([topic(), segment("work", "events", cost=cost)]), HALF_A_SECOND, variability=steady, **more)  # type: ignore[arg-type]


def line(count: int, cost: float = 1e-3) -> Job:
    """Segments s0, s1 … one after the other."""
    names = ["events", *(f"s{i}" for i in range(count))]
    nodes = [segment(name, before, cost=cost) for before, name in itertools.pairwise(names)]
    return Job(Flow([topic(), *nodes]), HALF_A_SECOND)


def diamond() -> Job:
    """`split` doubles its records, `left` halves them, `right` keeps them, `end` reads both."""
    nodes = [
        segment("split", "events", selectivity=2.0),
        segment("left", "split", selectivity=0.5),
        segment("right", "split"),
        segment("end", "left", "right", cost=1e-4),
    ]
    return Job(Flow([topic(), *nodes]), HALF_A_SECOND)


def steps(*points: tuple[float, float], source: str = "events") -> Trace:
    """Rates from these times on; the last point is the end."""
    times, rates = zip(*points, strict=True)
    return Trace(times, {source: rates}, Shape.STEPS)


class Scripted:
    """A policy that wishes what a function of the seconds since the start says."""

    def __init__(self, wish: Callable[[float], Wish | None], every: float = 1.0) -> None:
        self.every = datetime.timedelta(seconds=every)
        self.wish = wish
        self.seen: list[Seen] = []
        self.times: list[datetime.datetime] = []

    def decide(self, seen: Seen, now: datetime.datetime) -> Wish:
        self.seen.append(seen)
        self.times.append(now)
        return self.wish((now - self.times[0]).total_seconds() + self.every.total_seconds()) or Wish()
