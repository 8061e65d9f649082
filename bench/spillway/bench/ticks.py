"""How long one tick of a driver takes: `python -m spillway.bench.ticks`.

A job of 50 operators in a chain with side branches, every one a segment of its own with a queue in front, and 256
partitions over its slots; Poisson arrivals whose rate doubles in the middle. A tick is all that is decided each 100
to 250 ms: switching, planning where it is due, and assignment. Planning is due when the load changes, and every ten
seconds; so the median is of a tick without, and the largest of one with it.
"""

from __future__ import annotations

import datetime
import random
import statistics
import sys
import time

from spillway.controllers import assignment, tick
from spillway.controllers.balancing import Slot
from spillway.controllers.costmodel.flow import Costs, Flow, Node
from spillway.controllers.latency.moments import Moments
from spillway.controllers.planning.problem import Chaining, Problem, Promise, Room
from spillway.controllers.protocol.values import Partition
from spillway.controllers.provisioning import Arrivals
from spillway.controllers.switching import measurements
from spillway.controllers.switching.measurements import Measurement
from spillway.model.execution import Policy
from spillway.model.operators import Paradigm

SEED, OPERATORS, PARTITIONS, TICKS = 1, 50, 256, 400
SPAN = datetime.timedelta(milliseconds=200)
RATE = 20_000.0
START = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


def problem(operators: int, draw: random.Random) -> Problem:
    """A chain with side branches, each operator a segment."""
    nodes = [Node.operator("events", (), Costs(1e-6, 0, 2e-6, 1, 100))]
    for i in range(operators - 1):
        reads = nodes[max(0, len(nodes) - draw.randrange(1, 4))].name
        costs = Costs(draw.uniform(1e-6, 9e-6), 7e-6, 2e-6, draw.uniform(0.6, 1.1), 100)
        nodes.append(Node.operator(f"o{i}", (reads,), costs))
    return Problem(
        Flow(nodes),
        {"events": RATE},
        Promise(2.0, 0.99),
        Room(400, 16),
        headroom=0.2,
        hop=Moments(0.001, 1e-6),
        chaining=Chaining.NEVER,
    )


def main() -> None:
    """Run, and print what ticks took."""
    draw = random.Random(SEED)  # noqa: S311 - a load, no secret
    job, policy, history = problem(OPERATORS, draw), Policy(), tick.History()
    names = [node.name for node in job.flow.nodes]
    partitions = [Partition(names[i % OPERATORS], i) for i in range(PARTITIONS)]
    owners = assignment.slots(64, 1)
    current: dict[Partition, Slot] = {}
    took: list[tuple[float, str]] = []
    for n in range(TICKS):
        now = START + n * SPAN
        rate = RATE * (2 if n > TICKS / 2 else 1)
        nodes, measured = _telemetry(job, rate, draw, now)
        observation = tick.Observation(
            measurements.Observation(nodes, measured),
            {"events": Arrivals(now, SPAN, _count(rate, draw))},
            {p: draw.gauss(1, 0.05) for p in partitions},
            owners,
            current,
        )
        begin = time.perf_counter()
        decision = tick.decide(observation, job, policy, history, now)
        took.append((time.perf_counter() - begin, str(decision.provision.reason)))
        history, current = decision.history, dict(decision.assignment.owners)
    for reason in sorted({reason for _, reason in took}):
        times = [seconds * 1e3 for seconds, of in took if of == reason]
        _say(f"{reason:12} {len(times):4} ticks, median {statistics.median(times):7.2f} ms, most {max(times):7.2f} ms")
    times = [seconds * 1e3 for seconds, _ in took]
    quantiles = statistics.quantiles(times, n=100)
    _say(f"{'all':12} {len(times):4} ticks, median {statistics.median(times):7.2f} ms, p95 {quantiles[94]:.2f} ms")


def _telemetry(
    job: Problem, rate: float, draw: random.Random, now: datetime.datetime
) -> tuple[tuple[measurements.Node, ...], dict[str, Measurement]]:
    costs = measurements.Costs(SPAN, datetime.timedelta(milliseconds=50))
    nodes = tuple(
        measurements.Node(node.name, node.inputs, paradigm=Paradigm.RECORD, selectivity=0.9) for node in job.flow.nodes
    )
    return nodes, {
        node.name: Measurement(now, SPAN, _count(rate, draw), draw.uniform(0, 100), 3 * RATE, costs, 4 * RATE)
        for node in job.flow.nodes
    }


def _count(rate: float, draw: random.Random) -> float:
    mean = rate * SPAN.total_seconds()
    return max(0.0, draw.gauss(mean, mean**0.5)) / SPAN.total_seconds()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
