"""Spillway beside other policies, on the same simulated job: `python -m spillway.bench.policies [--seeds 2] [TRACE …]`.

The job has three segments that a planner would make of it: `parse` and `enrich`, which may run in batches, and
`counts`, which merges state and may not. Every policy sees the same telemetry (with errors of 2 %, from the seed), and
begins with the same slots, which the planner chose for the first rate; each may have the same 64. Frames and deadlines
are those of the plan for the highest rate. What differs beside the decisions:

- how a change is carried out. Spillway, thresholds and Stela move partitions (200 ms each), KEDA's consumer groups
  rebalance (3 s for what moves), Flink restarts the job (30 s);
- Spillway's slots are one pool, as partitions of all segments are spread over all of them; the others have slots for
  each segment. `static` is the plan for the highest rate of the trace, and never changes;
- batches, which only Spillway has: `WARM` executor cores are always there, and paid for, and up to eight may be had.

KEDA's lag threshold is chosen for each trace, as the best of `GRID`, with the first seed: so it knows the trace before.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from spillway.bench.rivals import flink, keda, stela, threshold
from spillway.controllers.costmodel.flow import Costs, Flow, Node, Output
from spillway.controllers.latency.moments import Moments
from spillway.controllers.planning import planner
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Problem, Promise, Room, Traits
from spillway.model.execution import Policy as JobPolicy
from spillway.simulation import fluid, shapes, steered, traces
from spillway.simulation.jobs import Job, Mechanism, Platform, Start
from spillway.simulation.policies import Policy, Static
from spillway.simulation.runs import Run
from spillway.simulation.traces import Trace

FOLDER = Path(__file__).parents[2] / "traces"
# Records per second, low and high; a random walk over a factor of ten would be no noise.
RATES: Mapping[str, tuple[float, float]] = {
    "steps": (20_000, 200_000),
    "diurnal": (20_000, 200_000),
    "bursts": (20_000, 200_000),
    "flash": (20_000, 200_000),
    "noise": (60_000, 180_000),
}
PROMISE = Promise(0.5, 0.99)
SLOTS, CORES = 64, 8
HOP = Moments(0.003, 0.003**2)
SCHEDULE = Moments(0.05, 0.02**2)  # 40 to 60 ms for a warm session
WARM = 4  # `executors.min`: about what a burst needs until pods have started
# What a core does beside what a slot does, an assumption: the paper on two paradigms has 2.1 to 3.2 for its workloads.
# With vectorised functions it can be more, with functions of single rows it is less.
SPEEDUP = 2.5
# Seconds of a pod's capacity that are one lagThreshold; from 2.5 on pods would be full before one is added.
GRID = (0.5, 1.0, 1.75, 2.5)


def problem(rate: float, speedup: float = SPEEDUP, cores: int = CORES) -> Problem:
    """What the planner is asked.

    Costs of records are those of Python functions: JSON, a lookup, and a merge of counts; those of frames are the ones
    of Table 4.2 of the thesis on streaming data flows.
    """
    each = Costs(fetch=7.4e-6, emit=2.6e-6, record_size=100)
    operators = [
        Node.operator("parse", ("events",), dataclasses.replace(each, cpu=60e-6, selectivity=0.35)),
        Node.operator("enrich", ("parse",), dataclasses.replace(each, cpu=100e-6)),
        Node.operator("counts", ("enrich",), dataclasses.replace(each, cpu=25e-6, selectivity=0.1)),
    ]
    topic = Node("events", (), 0.0, 0.0, (Output("events", record_size=200, framed=False),))
    return Problem(
        Flow([topic, *operators]),
        {"events": rate},
        PROMISE,
        Room(SLOTS, cores),
        topics=frozenset({"events"}),
        traits={
            "parse": Traits(keyed=True, speedup=speedup),
            "enrich": Traits(keyed=True, speedup=speedup),
            "counts": Traits(keyed=True, batchable=False),
        },
        partitions={"events": SLOTS},
        headroom=JobPolicy().headroom,
        hop=HOP,
        schedule=SCHEDULE if cores else None,
    )


@functools.cache
def planned(rate: float) -> Plan:
    """The plan for a rate, record by record."""
    made = planner.plan(problem(rate, cores=0)).plan
    if made is None:
        message = f"nothing could be planned for {rate:.0f}/s"
        raise RuntimeError(message)
    return made


def load(name: str) -> Trace:
    """A trace of those that are committed."""
    return traces.read((FOLDER / f"{name}.csv").read_text()).to("events")


def drawn(name: str) -> str:
    """The file of a trace, as it was drawn."""
    low, high = RATES[name]
    return traces.write(shapes.BUILT_IN[name](low, high, shapes.HOUR, 1))


def job(trace: Trace, asked: Problem) -> Job:
    """What runs, with frames and deadlines for the highest rate: what a person would set once and for all."""
    return dataclasses.replace(Job.of(planned(trace.peak), asked), shares=frozenset())


def spillway(trace: Trace, seed: int, speedup: float = SPEEDUP, cores: int = CORES) -> Run:
    """Ours."""
    platform = Platform(cores=min(WARM, cores), cores_most=cores, slots_most=SLOTS)
    rate = trace.rate(0.0)
    asked = problem(rate, speedup, cores)
    least = steered.Least(1, min(WARM, cores))
    truth = job(trace, asked)
    return steered.run(planned(rate), asked, trace, platform, JobPolicy(), least, truth=truth, seed=seed)


def rival(policy: Policy, trace: Trace, seed: int, mechanism: Mechanism, rate: float | None = None) -> Run:
    """Another policy, from the plan for the first rate of the trace (or another one) on."""
    made = planned(trace.rate(0.0) if rate is None else rate)
    start = {segment.name: Start(segment.parallelism) for segment in made.segments}
    platform = Platform(mechanism=mechanism, slots_most=SLOTS)
    return fluid.run(job(trace, problem(trace.peak, cores=0)), trace, policy, start, platform, seed=seed)


def capacities(trace: Trace) -> dict[str, float]:
    """Records per second of one slot of each segment."""
    made = planned(trace.peak)
    return {segment.name: segment.load.capacity / segment.parallelism for segment in made.segments}


def _keda(trace: Trace, seed: int, seconds: float) -> Run:
    limits = {name: able * seconds for name, able in capacities(trace).items()}
    return rival(keda.Keda(limits, {"parse": SLOTS}), trace, seed, Mechanism.GROUP)


def _flink(trace: Trace, seed: int, settings: flink.Settings) -> Run:
    made = planned(trace.peak)
    return rival(flink.Flink(made.flow, {"parse": SLOTS}, settings), trace, seed, Mechanism.RESTART)


def best_of_keda(trace: Trace) -> float:
    """The threshold of `GRID` with the largest share within the bound; of those that are equal, the cheapest."""
    runs = {seconds: _keda(trace, 0, seconds).totals for seconds in GRID}
    return min(runs, key=lambda seconds: (-round(runs[seconds].within, 3), runs[seconds].hours))


def policies(trace: Trace) -> dict[str, Callable[[int], Run]]:
    """All policies by name; each is run with a seed."""
    seconds = best_of_keda(trace)
    flow = planned(trace.peak).flow
    return {
        "Spillway": lambda seed: spillway(trace, seed),
        "Spillway, record by record": lambda seed: spillway(trace, seed, cores=0),
        "thresholds": lambda seed: rival(threshold.Threshold(), trace, seed, Mechanism.MOVES),
        "Stela": lambda seed: rival(stela.Stela(flow), trace, seed, Mechanism.MOVES),
        "Flink, defaults": lambda seed: _flink(trace, seed, flink.DEFAULT),
        "Flink, fast": lambda seed: _flink(trace, seed, flink.FAST),
        f"KEDA, {seconds:g} s": lambda seed: _keda(trace, seed, seconds),
        "static, for the peak": lambda seed: rival(Static(), trace, seed, Mechanism.MOVES, trace.peak),
    }


def table(name: str, seeds: int, say: Callable[[str], None]) -> None:
    """All policies under one trace, as a table in Markdown, line by line."""
    trace = load(name)
    say(f"### {name}\n")
    say("| policy | within the bound | slot-hours | core-hours | resizes | switches | worst | late | recovery |")
    say("|---|---|---|---|---|---|---|---|---|")
    for policy, run in policies(trace).items():
        say(row(policy, [run(seed) for seed in range(seeds)]))
    say("")


def row(policy: str, found: Sequence[Run]) -> str:
    """The mean of all seeds, and how far they lie apart where that can be seen."""
    totals = [run.totals for run in found]
    cells = [
        _cell([100 * one.within for one in totals], 2, " %"),
        _cell([one.slot_hours for one in totals], 1),
        _cell([one.core_hours for one in totals], 1),
        _cell([float(one.resizes) for one in totals], 0),
        _cell([float(one.switches) for one in totals], 0),
        _cell([one.worst for one in totals], 1, " s"),
        _cell([one.late for one in totals], 0, " s"),
        _cell([one.recovery for one in totals], 0, " s"),
    ]
    kept = all(one.kept for one in totals)
    return f"| {f'**{policy}**' if kept else policy} | {' | '.join(cells)} |"


def _cell(values: Sequence[float], digits: int, unit: str = "") -> str:
    if not all(math.isfinite(value) for value in values):
        return "for ever"
    middle, apart = statistics.fmean(values), (max(values) - min(values)) / 2
    spread = f" ± {apart:.{digits}f}" if round(apart, digits) else ""
    return f"{middle:.{digits}f}{spread}{unit}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, or draw the traces anew."""
    parser = argparse.ArgumentParser(prog="python -m spillway.bench.policies", description=__doc__)
    parser.add_argument("traces", nargs="*", metavar="TRACE", help=f"of {', '.join(RATES)}; all, if none is named")
    parser.add_argument("--seeds", type=int, default=2, help="how often each policy is run")
    parser.add_argument("--draw", action="store_true", help="write the traces into bench/traces, and do nothing else")
    options = parser.parse_args(arguments)
    names = options.traces or list(RATES)
    if unknown := [name for name in names if name not in RATES]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(RATES)}")
    for name in names:
        if options.draw:
            (FOLDER / f"{name}.csv").write_text(drawn(name))
        else:
            table(name, options.seeds, _say)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
