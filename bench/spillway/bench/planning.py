"""How good plans are and how long they take: `python -m spillway.bench.planning [exhaustive|times]`.

- `exhaustive`: random small topologies, for which everything is tried; how often that finds something cheaper.
- `times`: chains, trees and graphs of 10, 50 and 256 operators, planned anew, and resized to a tenth more load.

Decisions are pure, so one process and no cluster. Times are those of the processor, the best of three: what else the
machine does only adds.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable

from spillway.bench import exhaustive, parts, small_topologies
from spillway.controllers.planning import planner
from spillway.controllers.planning.problem import Problem

TOPOLOGIES = 2000
SIZES = (10, 50, 256)
RUNS = 3


def main() -> None:
    """Run what was asked for, or everything."""
    for name in parts.asked("planning", _PARTS, __doc__):
        _PARTS[name]()


def compare() -> None:
    """Plans of small topologies, beside what trying everything finds."""
    figures = dict.fromkeys(("as cheap", "cheaper found", "missed", "wrong", "not all tried"), 0)
    feasible, slowest = 0, 0.0
    for seed in range(TOPOLOGIES):
        problem = small_topologies.small(seed)
        start = time.process_time()
        decision = planner.plan(problem)
        slowest = max(slowest, time.process_time() - start)
        plan, below = decision.plan, None
        if decision.feasible and plan is not None:
            feasible += 1
            below = plan.slots + plan.cores
            if wrong := exhaustive.right(problem, plan):
                figures["wrong"] += 1
                _say(f"  {seed}: {wrong}")
        best = exhaustive.cheapest(problem, below=below, hints=plan)
        figures["not all tried"] += not best.complete and best.cost is None
        kind = "as cheap" if best.cost is None else "missed" if below is None else "cheaper found"
        figures[kind] += 1
        if best.cost is not None:
            _say(f"  {seed}: {best.cost} is enough, planned were {below}")
    _say(f"{TOPOLOGIES} topologies, {feasible} of them feasible, slowest plan {slowest * 1e3:.0f} ms")
    for name, figure in figures.items():
        _say(f"  {name:14}{figure:6}  {figure / TOPOLOGIES:8.2%}")


def measure() -> None:
    """How long plans take."""
    _say(f"{'operators':>10} {'shape':6} {'segments':>9} {'slots':>6} {'cores':>6} {'plan ms':>9} {'resize ms':>10}")
    for kind in ("chain", "tree", "graph"):
        for size in SIZES:
            problem = small_topologies.large(kind, size)
            plan = planner.plan(problem).plan
            if plan is None:
                continue
            more = _more(problem)
            anew = _best(lambda problem=problem: planner.plan(problem))  # type: ignore[misc]
            kept = _best(lambda more=more, plan=plan: planner.plan(more, keep=plan))  # type: ignore[misc]
            _say(
                f"{size:10} {kind:6} {len(plan.segments):9} {plan.slots:6} {plan.cores:6} "
                f"{anew * 1e3:9.0f} {kept * 1e3:10.1f}"
            )


def _more(problem: Problem) -> Problem:
    workload = {name: float(rate) * 1.1 for name, rate in problem.workload.items()}
    return dataclasses.replace(problem, workload=workload)


def _best(what: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        what()
        times.append(time.process_time() - start)
    return min(times)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


_PARTS: dict[str, Callable[[], None]] = {"exhaustive": compare, "times": measure}

if __name__ == "__main__":
    main()
