"""Platforms for tests of profiling: an exact one whose arithmetic fits in a head, and ones that go wrong.

The limits of the exact one: no queues, no noise, no cores; operators are as fast as their tasks allow, up to a ceiling
of the platform, beyond which each task too many costs 1 % of the throughput.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from spillway.bench.clusters import Cluster, Machines, Work
from spillway.controllers.profiling import machine
from spillway.controllers.profiling.application import Application, Operator
from spillway.controllers.profiling.measurement import Deployment, Measurement, Reading
from spillway.controllers.profiling.rounds import Settings, State

LINE = Application.of([Operator("in"), Operator("work", ("in",)), Operator("out", ("work",))])
SPANS = {"in": 0.001, "work": 0.004, "out": 0.002}
SETTINGS = Settings(bound=1.0)


@dataclasses.dataclass
class Exact:
    """Each operator does n/span records per second; all together at most `ceiling`; latency is `latency` when full."""

    application: Application = LINE
    spans: Mapping[str, float] = dataclasses.field(default_factory=lambda: SPANS)
    ceiling: float = 1e6
    latency: float = 0.1
    deployments: list[Deployment] = dataclasses.field(default_factory=list)

    def deploy(self, deployment: Deployment) -> None:
        self.deployments.append(deployment)

    def rate(self, tasks: Mapping[str, int]) -> float:
        """What comes through."""
        possible = min(count / self.spans[name] for name, count in tasks.items())
        surplus = sum(tasks.values()) - sum(math.ceil(self.ceiling * span) for span in self.spans.values())
        return possible if possible <= self.ceiling else self.ceiling * max(0.0, 1 - 0.01 * max(0, surplus))

    def measure(self, seconds: float) -> Measurement | None:
        deployed = self.deployments[-1]
        most = self.rate(deployed.tasks)
        rate = most if deployed.rate is None else min(most, deployed.rate)
        full = rate >= most
        readings = {
            name: Reading(rate, rate, span, sojourn=self.latency if full else span) for name, span in self.spans.items()
        }
        latency = self.latency if full else sum(self.spans.values())
        return Measurement(seconds, (rate * 0.999, rate, rate * 1.001), (latency,) * 3, readings)


@dataclasses.dataclass
class Broken(Exact):
    """What it measures goes through `spoil`, which gets the number of the measurement, from 0."""

    spoil: Callable[[int, Measurement | None], Measurement | None] = lambda _, measured: measured
    measured: int = 0

    def measure(self, seconds: float) -> Measurement | None:
        self.measured += 1
        return self.spoil(self.measured - 1, super().measure(seconds))


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Up to six operators that read some before them, on up to five machines."""
    operators: list[Operator] = []
    works: dict[str, Work] = {}
    for i in range(draw(st.integers(1, 6))):
        names = [operator.name for operator in operators]
        inputs = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))) if names else ()
        logic = bool(inputs) and draw(st.integers(0, 5)) == 0
        most = draw(st.none() | st.integers(1, 20))
        operators.append(Operator(f"op{i}", inputs, draw(st.integers(0, 5)) > 0, logic, most))
        works[f"op{i}"] = Work(
            draw(st.floats(1e-5, 5e-3)),
            draw(st.floats(0, 5e-3)),
            draw(st.floats(0.1, 5)),
            draw(st.floats(1, 100)) if logic else None,
        )
    machines = Machines(draw(st.integers(1, 5)), draw(st.floats(0.5, 8)), draw(st.floats(0.0, 0.2)))
    return Cluster(Application.of(operators), works, machines)


def finished(state: State) -> machine.Finished:
    """The end of a state that is at its end."""
    end = machine.next_step(state)
    assert isinstance(end, machine.Finished), end
    return end


def profiled(platform: machine.Platform, application: Application = LINE, settings: Settings = SETTINGS) -> State:
    """A profile from nothing to its end."""
    return machine.run(platform, machine.begin(application, settings))
