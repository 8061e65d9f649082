"""A cluster that runs operators as the experiments on stepwise profiling (SWP, section 6) had them, without a clock.

Machines have cores. A task is a thread: for a record of operator i it needs c_i seconds of a core and waits w_i seconds
for something else (a service, a disk). Tasks are spread evenly over the machines, and records over the tasks of an
operator. With x records per second from all sources, operator i gets r_i = a_i + v_i·x; the part a_i doesn't grow with
x, because an operator before it emits at a pace of its own (a logic-dependent one). On machine m with k tasks:

    rho_m = (h·k + Σ_i k_i,m·r_i·c_i/n_i) / cores        h: what a task costs by being there (polling, acknowledging)
    L_i,m = w_i + c_i/(1 - rho_m^6)/(1 - 1.2·locked)     a busy machine makes each record take longer, so does a lock
    U_i,m = L_i,m·r_i/n_i <= 1                           a task does one record at a time

Throughput is the largest x that keeps to that, or what the source is allowed. Sources pull as much as fits in flight
(`pending` for each task of a source): where a task behind them is the narrow place, records wait until that is full,
and their latency is what is in flight divided by the throughput (Little). Else they wait as in an M/M/n queue
(Sakasegawa's approximation).

Its limits: machines are alike, a record costs what its operator costs on average, keys are spread evenly, the network
is no limit. Where the paper gives numbers they are here; all other costs are ours.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from spillway.controllers.profiling.application import Application, Operator
from spillway.controllers.profiling.measurement import Deployment, Measurement, Reading

SHARPNESS = 6  # of the slowdown: 1.1 at 70 %, 1.4 at 80 %, 2.1 at 90 %, as time slices on two cores have it
RETRIES = 1.2  # who finds the lock taken tries again, which takes time of the one that has it
FULL = 0.999  # a task as busy as that has a queue that grows until pending is full
SAMPLES = 20  # as the paper: 30 s each over 10 min


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """What an operator really costs.

    Attributes:
        cpu: c, seconds of a core for one record.
        wait: w, seconds that a record takes beside.
        selectivity: records out for one in.
        emits: records per second at a pace of its own, for a logic-dependent operator.
        locked: its cpu is spent with a lock that all such tasks of a machine share, as for random numbers.
        fetch: seconds of a core for one frame taken in.
        send: seconds of a core for one frame sent.
    """

    cpu: float
    wait: float = 0.0
    selectivity: float = 1.0
    emits: float | None = None
    locked: bool = False
    fetch: float = 0.0
    send: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Machines:
    """What there is to run on: six small machines, as in section 6.2.

    Attributes:
        count: how many.
        cores: of each, beside what its own services take.
        idle: h, cores that a task takes by being there.
    """

    count: int = 6
    cores: float = 2.0
    idle: float = 0.05


@dataclasses.dataclass(frozen=True, slots=True)
class Flowing:
    """A deployment in its steady state, without noise: by operator, averaged over its tasks."""

    throughput: float
    latency: float
    rates: Mapping[str, float]
    processing: Mapping[str, float]
    sojourn: Mapping[str, float]
    busy: Mapping[str, float]  # of the busiest task


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Operators with what they cost, on machines."""

    application: Application
    works: Mapping[str, Work]
    machines: Machines = dataclasses.field(default_factory=Machines)
    pending: int = 500
    record_size: float = 200.0

    @cached_property
    def flow(self) -> tuple[tuple[float, float], ...]:
        """By operator, in the application's order: a and v of what comes in; a source's is its share of x."""
        found: dict[str, tuple[float, float]] = {}
        sent: dict[str, tuple[float, float]] = {}
        sources = self.application.sources
        for operator in self.application.operators:
            work = self.works[operator.name]
            came = [sent[name] for name in operator.inputs] or [(0.0, 1 / len(sources))]
            a, v = sum(part[0] for part in came), sum(part[1] for part in came)
            found[operator.name] = (a, v)
            sent[operator.name] = (a * work.selectivity, v * work.selectivity)
            if work.emits is not None:
                sent[operator.name] = (work.emits, 0.0)
        return tuple(found[operator.name] for operator in self.application.operators)

    def throughput(self, tasks: Mapping[str, int]) -> float:
        """The largest x that no task and no machine is too narrow for."""
        return self._most(self._placed(tasks), tasks)

    def carries(self, tasks: Mapping[str, int], x: float) -> bool:
        """Whether so many records per second are not too many."""
        return self._fits(self._placed(tasks), tasks, x)

    def steady(self, deployment: Deployment) -> Flowing:
        """What it comes to when nobody changes anything."""
        tasks, placed = deployment.tasks, self._placed(deployment.tasks)
        most = self._most(placed, tasks)
        x = most if deployment.rate is None else min(most, deployment.rate)
        names = [operator.name for operator in self.application.operators]
        rates, processing, busy = {}, {}, {}
        if not x:
            return Flowing(0.0, math.inf, dict.fromkeys(names, 0.0), {}, {}, {})
        spans = self._spans(placed, tasks, x, deployment.frames)
        for i, name in enumerate(names):
            a, v = self.flow[i]
            rates[name] = a + v * x
            held = [(placed[m][i], span) for m, span in enumerate(spans[i]) if placed[m][i]]
            processing[name] = sum(k * span for k, span in held) / tasks[name]
            busy[name] = max(span for _, span in held) * rates[name] / tasks[name]
        queues = {name: _queued(processing[name], busy[name], tasks[name]) for name in names}
        sources = {source.name for source in self.application.sources}
        sojourn = {name: processing[name] + (0.0 if name in sources else queues[name]) for name in names}
        behind = [name for name in names if name not in sources]
        jam = max(behind, key=busy.__getitem__, default="")
        latency = self._longest(sojourn)
        if x >= FULL * most and jam and busy[jam] > max(FULL, *(busy[name] for name in sources)):
            # The jammed queue holds all that is in flight and is elsewhere in no queue.
            flying = self.pending * sum(tasks[name] for name in sources)
            sojourn |= {name: processing[name] for name in behind}
            sojourn[jam] = max(processing[jam], flying / x - self._longest(sojourn) + processing[jam])
            latency = max(flying / x, self._longest(sojourn))
        return Flowing(x, latency, rates, processing, sojourn, busy)

    def _longest(self, sojourn: Mapping[str, float]) -> float:
        """The longest way through the graph."""
        until: dict[str, float] = {}
        for operator in self.application.operators:
            until[operator.name] = sojourn[operator.name] + max((until[i] for i in operator.inputs), default=0.0)
        return max(until.values())

    def _placed(self, tasks: Mapping[str, int]) -> list[list[int]]:
        """Tasks by machine and operator: evenly, those left over to the machines with the least to do so far.

        Operators whose tasks do most come first, so that the light ones fill what these leave uneven.
        """
        weights = [
            v * self.works[operator.name].cpu / tasks[operator.name]
            for operator, (_, v) in zip(self.application.operators, self.flow, strict=True)
        ]
        machines = [[0] * len(weights) for _ in range(self.machines.count)]
        given = [0.0] * self.machines.count
        for i in sorted(range(len(weights)), key=lambda i: -weights[i]):
            each, rest = divmod(tasks[self.application.operators[i].name], self.machines.count)
            for place, m in enumerate(sorted(range(self.machines.count), key=given.__getitem__)):
                machines[m][i] = each + (place < rest)
            for m, machine in enumerate(machines):
                given[m] += weights[i] * machine[i]
        return machines

    def _spans(
        self, placed: Sequence[Sequence[int]], tasks: Mapping[str, int], x: float, frames: Mapping[str, int]
    ) -> list[list[float]]:
        """L by operator and machine at x, infinite where a machine has too much to do."""
        cpus = [self.cpu(operator, frames) for operator in self.application.operators]
        loads = [
            (a + v * x) * cpu / tasks[operator.name]
            for operator, cpu, (a, v) in zip(self.application.operators, cpus, self.flow, strict=True)
        ]
        works = [self.works[operator.name] for operator in self.application.operators]
        spans: list[list[float]] = [[] for _ in works]
        for machine in placed:
            asked = self.machines.idle * sum(machine) + sum(k * load for k, load in zip(machine, loads, strict=True))
            rho = asked / self.machines.cores
            slow = 1 / (1 - rho**SHARPNESS) if rho < 1 else math.inf
            held = sum(k * load for k, load, work in zip(machine, loads, works, strict=True) if work.locked)
            for i, (work, cpu) in enumerate(zip(works, cpus, strict=True)):
                others = RETRIES * (held - loads[i]) if work.locked and machine[i] else 0.0
                spans[i].append(work.wait + cpu * slow / (1 - others) if others < 1 else math.inf)
        return spans

    def cpu(self, operator: Operator, frames: Mapping[str, int]) -> float:
        """Seconds of a core for one record, with its share of the frames: Eq. 3.8 of the cost model."""
        work = self.works[operator.name]
        into = [frames.get(name, 1) for name in operator.inputs]
        fetch = work.fetch * sum(1 / size for size in into) / len(into) if into else 0.0
        return work.cpu + fetch + work.selectivity * work.send / frames.get(operator.name, 1)

    def _most(self, placed: Sequence[Sequence[int]], tasks: Mapping[str, int]) -> float:
        """Bisection: what is too much stays too much when there is more."""
        low, high = 0.0, self.roof(tasks)
        for _ in range(30):
            middle = (low + high) / 2
            if self._fits(placed, tasks, middle):
                low = middle
            else:
                high = middle
        return low

    def _fits(self, placed: Sequence[Sequence[int]], tasks: Mapping[str, int], x: float) -> bool:
        spans = self._spans(placed, tasks, x, {})
        for i, operator in enumerate(self.application.operators):
            a, v = self.flow[i]
            each = (a + v * x) / tasks[operator.name]
            if each and any(placed[m][i] and span * each > 1 for m, span in enumerate(spans[i])):
                return False
        return True

    def roof(self, tasks: Mapping[str, int]) -> float:
        """What x is certainly not above: each task undisturbed, and all cores used for records only."""
        found, asked, always = math.inf, 0.0, self.machines.idle * sum(tasks.values())
        for operator, (a, v) in zip(self.application.operators, self.flow, strict=True):
            cpu = self.cpu(operator, {})
            asked, always = asked + v * cpu, always + a * cpu
            if v:
                span = cpu + self.works[operator.name].wait
                found = min(found, (tasks[operator.name] / span - a) / v)
        cores = self.machines.cores * self.machines.count
        return max(0.0, min(found, (cores - always) / asked))


def _queued(span: float, busy: float, tasks: int) -> float:
    """Seconds in an M/M/n queue."""
    rho = min(busy, FULL)
    return float(span * rho ** (math.sqrt(2 * (tasks + 1)) - 1) / (tasks * (1 - rho)))


@dataclasses.dataclass
class Simulated:
    """The port of profiling, for a cluster. What it measures depends on seed, deployment and turn, and nothing else.

    Attributes:
        cluster: the truth.
        seed: of the noise.
        noise: relative deviation of one sample of throughput or latency.
        bias: relative deviation that all samples of one deployment have in common.
    """

    cluster: Cluster
    seed: int = 0
    noise: float = 0.02
    bias: float = 0.005
    deployment: Deployment | None = None
    deployments: int = 0
    _turn: int = 0

    def deploy(self, deployment: Deployment) -> None:
        """Run with these from now on."""
        self.deployment, self._turn = deployment, 0
        self.deployments += 1

    def measure(self, seconds: float) -> Measurement:
        """Samples with noise around the steady state."""
        if self.deployment is None:
            message = "nothing is deployed, so there is nothing to measure"
            raise ValueError(message)
        steady = self.cluster.steady(self.deployment)
        if not steady.throughput:
            nothing = dict.fromkeys(steady.rates, Reading(0.0, 0.0, 0.0))
            return Measurement(seconds, (0.0,) * SAMPLES, (seconds,) * SAMPLES, nothing)
        tasks = sorted(self.deployment.tasks.items())
        key = f"{self.seed} {tasks} {self.deployment.rate} {sorted(self.deployment.frames.items())}"
        common = random.Random(key).gauss(1, self.bias)  # noqa: S311 - a simulation, not a secret
        rng = random.Random(f"{key} {self._turn}")  # noqa: S311 - a simulation, not a secret
        self._turn += 1

        def one(value: float) -> float:
            return max(0.0, value * common * rng.gauss(1, self.noise))

        readings = {}
        for operator in self.cluster.application.operators:
            name, work, frames = operator.name, self.cluster.works[operator.name], self.deployment.frames
            error = self.noise / math.sqrt(SAMPLES)
            exact, rate = steady.processing[name], steady.rates[name] * common * rng.gauss(1, error)
            given = work.selectivity if work.emits is None or not rate else work.emits / rate
            into = [frames.get(i, 1) for i in operator.inputs]
            readings[name] = Reading(
                rate_in=rate,
                rate_out=rate * given * rng.gauss(1, error),
                processing=exact * rng.gauss(1, error),
                processing_error=exact * error,
                sojourn=steady.sojourn[name] * rng.gauss(1, error),
                record_size=self.cluster.record_size,
                frame_in=len(into) / sum(1 / size for size in into) if into else None,
                frame_out=float(frames.get(name, 1)),
                skew=max(1.0, steady.busy[name] / (exact * steady.rates[name] / self.deployment.tasks[name])),
            )
        throughput = tuple(one(steady.throughput) for _ in range(SAMPLES))
        latency = tuple(one(steady.latency) for _ in range(SAMPLES))
        return Measurement(seconds, throughput, latency, readings)


def optimum(
    cluster: Cluster, most: Mapping[str, int], known: Iterable[Mapping[str, int]] = ()
) -> tuple[dict[str, int], float]:
    """The best throughput over all task counts up to `most`, whatever the latency: by trying them.

    Left out is only what can't be better than what was found already: an operator with so few tasks that it alone is
    too narrow, and counts that `roof` or one look at `carries` rule out. `known` counts are tried first.
    """
    names = [operator.name for operator in cluster.application.operators]
    alike = ({name: min(most[name], size) for name in names} for size in range(1, max(most.values()) + 1))
    tried = [dict(tasks) for tasks in (*known, *alike)]
    found = max(((tasks, cluster.throughput(tasks)) for tasks in tried), key=lambda pair: pair[1])

    def alone(operator: Operator, count: int) -> float:
        a, v = cluster.flow[cluster.application.operators.index(operator)]
        span = cluster.cpu(operator, {}) + cluster.works[operator.name].wait
        return (count / span - a) / v if v else math.inf

    def grown(taken: dict[str, int], rest: Sequence[Operator]) -> None:
        nonlocal found
        if rest:
            operator, *others = rest
            for count in range(1, most[operator.name] + 1):
                if alone(operator, count) > found[1]:
                    grown({**taken, operator.name: count}, others)
        elif cluster.roof(taken) > found[1] and cluster.carries(taken, found[1] * (1 + 1e-6)):
            found = (taken, cluster.throughput(taken))

    grown({}, cluster.application.operators)
    return found
