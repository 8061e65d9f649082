"""Two other ways to find task counts, as SWP (section 6.1.3) runs them beside its own: for comparison only.

Both begin with one task for each operator, and never take anything back.

- `threshold`: the operator with the highest capacity (Eq. 2) gets one task more, if it is above 0.8.
- `stela`: the operator that is congested and matters most gets one task more, up to as many times in a round as there
  are machines, on projected rates. An operator is congested when more than 1.2 times of what it does comes in. It
  matters by its effective throughput percentage: the share of the whole throughput that leaves by those outputs that
  it reaches without meeting another congested operator. When nothing is congested, a source gets the task.

Stela needs what *would* come in. In a system that bounds what is in flight, nothing more comes in than is done, and
Stela would see no congestion at all; so here it is given what its producers could send if nothing behind them held
them back. It is also given the busiest task's capacity, as stepwise profiling is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from spillway.controllers.profiling.application import Application
from spillway.controllers.profiling.machine import Platform
from spillway.controllers.profiling.measurement import Deployment, Measurement

OVERLOADED = 0.8  # SWP, section 6.1.3
CONGESTED = 1.2  # the congestion rate of Stela's own experiments

Tasks = dict[str, int]
Rival = Callable[[Application, Measurement, Tasks, int], Tasks]


def scale(platform: Platform, application: Application, rival: Rival, rounds: int, machines: int) -> list[Tasks]:
    """The tasks of every round."""
    tasks, done = {operator.name: 1 for operator in application.operators}, []
    for _ in range(rounds):
        done.append(tasks)
        platform.deploy(Deployment(tasks))
        measured = platform.measure(60.0)
        if measured is None or measured.stopped:
            break
        tasks = rival(application, measured, tasks, machines)
    return done


def threshold(application: Application, measured: Measurement, tasks: Tasks, machines: int) -> Tasks:
    """One task more for the most overloaded operator."""
    del machines
    capacities = {o.name: measured.operators[o.name].capacity(tasks[o.name]) for o in application.operators}
    busiest = max(capacities, key=lambda name: (capacities[name], name))
    return {**tasks, busiest: tasks[busiest] + 1} if capacities[busiest] > OVERLOADED else tasks


def stela(application: Application, measured: Measurement, tasks: Tasks, machines: int) -> Tasks:
    """A task more for each of as many machines as there are, to the highest effective throughput percentage."""
    projection = _Projection.of(application, measured, tasks)
    found = dict(tasks)
    for _ in range(machines):
        target = projection.target(application)
        projection = projection.with_one_more(target, found[target])
        found[target] += 1
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class _Projection:
    """By operator: the rate that it could do, and the records that come out for one in.

    A logic-dependent operator emits what it emits; Stela doesn't know such operators, and takes its ratio for granted.
    """

    able: Mapping[str, float]
    selectivity: Mapping[str, float]

    @classmethod
    def of(cls, application: Application, measured: Measurement, tasks: Tasks) -> _Projection:
        able, selectivity = {}, {}
        for operator in application.operators:
            reading = measured.operators[operator.name]
            able[operator.name] = reading.rate_in / max(reading.capacity(tasks[operator.name]), 1e-9)
            selectivity[operator.name] = reading.rate_out / reading.rate_in if reading.rate_in else 0.0
        return cls(able, selectivity)

    def with_one_more(self, name: str, tasks: int) -> _Projection:
        """The operator does (n+1)/n of what it did."""
        return dataclasses.replace(self, able={**self.able, name: self.able[name] * (tasks + 1) / tasks})

    def target(self, application: Application) -> str:
        """Who gets the next task."""
        done: dict[str, float] = {}
        congested: set[str] = set()
        for operator in application.operators:
            name, came = operator.name, sum(done[i] * self.selectivity[i] for i in operator.inputs)
            done[name] = min(came, self.able[name]) if operator.inputs else self.able[name]
            if came > CONGESTED * done[name]:
                congested.add(name)
        if not congested:
            return min((source.name for source in application.sources), key=lambda name: (self.able[name], name))
        readers: dict[str, list[str]] = {operator.name: [] for operator in application.operators}
        for operator in application.operators:
            for name in operator.inputs:
                readers[name].append(operator.name)
        ends = [name for name, read_by in readers.items() if not read_by]

        def reached(name: str) -> set[str]:
            free = [reader for reader in readers[name] if reader not in congested]
            return {name} if not readers[name] else set().union(*(reached(reader) for reader in free))

        total = sum(done[end] for end in ends) or 1.0
        shares = {name: sum(done[end] for end in reached(name)) / total for name in congested}
        return max(sorted(congested), key=lambda name: (shares[name], -self.able[name]))
