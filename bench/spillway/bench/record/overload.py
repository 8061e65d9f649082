"""How many records are in time when a slot is given more than it can do, by `policy.overload` (LAT 5.2, Fig. 7c).

Loads are multiples of what the slot does, which is measured in each round with the same job and a load that is surely
too much. No policy can have more in time than the *fluid bound*, what it can do through what it is offered. Wanted:

- set aside, or left out: 95 % of the fluid bound in overload, and within 1 % of `keepOrder` when there is none;
- with order kept, where only whole partitions can be put off: 95 % of what the partitions that fit in are of all.

What is lost or repeated is not asked here: tests do (`test_overload.py`, `test_lanes.py`).
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import math
import multiprocessing
import time
from collections.abc import Callable, Mapping
from typing import Any

from spillway.bench.record import figures, jobs, latency, logs, systems
from spillway.bench.record.figures import Figure
from spillway.bench.record.jobs import Case
from spillway.bench.record.schedule import Lateness, Schedule
from spillway.bench.record.systems import System

LOADS = (0.8, 1.36, 1.8)  # as in the paper, and `bench.decisions scheduling`
BOUND = 0.5  # seconds
# Records a second that no slot can do, with a function that takes two milliseconds.
TOO_MANY = 1_000.0
OF_FLUID, SAME = 0.95, 0.01

MOST = {"overload": "mostInTime"}
CASES: Mapping[str, tuple[Case, Mapping[str, Any]]] = {
    "keepOrder": (jobs.SLOW, {}),
    "mostInTime": (jobs.SLOW, MOST),
    "mostInTime, drop": (jobs.SLOW, MOST | {"drop": True}),
    "keepOrder, sums": (jobs.SLOW_SUMS, {}),
    "mostInTime, sums": (jobs.SLOW_SUMS, MOST),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """What one run has shown.

    Attributes:
        in_time: the share of all events that came out within the bound.
        done: records a second that came out while events came, once it had begun.
        lateness: of the generator.
    """

    in_time: float
    done: float
    lateness: Lateness


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """Every policy at every load, in turn."""
    each = seconds / rounds / (len(CASES) * len(LOADS) + 1)
    asked = [(name, load) for load in LOADS for name in CASES]
    found: dict[tuple[str, float], list[float]] = {case: [] for case in asked}
    # Of one segment, also for two: frames of the second one wait behind all that the consumer has read ahead for the
    # first, so what came out of a short overload says little; and beside two milliseconds it costs nothing.
    capacities: list[float] = []
    late: list[Lateness] = []
    with systems.broker() as bootstrap:
        for number, (name, load) in figures.in_turn(asked, rounds):
            if len(capacities) == number:
                capacities.append(run(bootstrap, jobs.SLOW, {}, TOO_MANY, each).done)
                done(f"round {number + 1} of {rounds}: {capacities[-1]:.0f} records/s")
            one = run(bootstrap, *CASES[name], load * capacities[-1], each)
            found[name, load].append(one.in_time)
            late.append(one.lateness)
            done(f"round {number + 1} of {rounds}: {name} at {load}: {one.in_time:.3f} in time, {one.done:.0f}/s")
    return [figures.of("P3 overload, what a slot does", capacities, "records/s"), *_figures(found), _generator(late)]


def run(bootstrap: str, case: Case, policy: Mapping[str, Any], rate: float, seconds: float) -> Run:
    """One job with a slot of its own, and events at a rate."""
    source = systems.created_one(bootstrap)
    context = multiprocessing.get_context("spawn")
    with (
        System(case, bootstrap, source, bound=f"{BOUND * 1000:.0f}ms", policy=policy, deadline=0.01) as system,
        concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as others,
    ):
        system.settle()
        schedule = Schedule(time.time() + latency.BEFORE, rate, int(rate * (latency.WARM + seconds)))
        pacing = others.submit(logs.pace, bootstrap, source, case.workload, schedule)
        while not pacing.done() or time.time() < schedule.due(schedule.count) + BOUND + 0.1:
            system.look()
            time.sleep(0.05)
        ends = latency.dues(logs.read(bootstrap, system.output))
        return judged(schedule, ends, pacing.result())


def judged(schedule: Schedule, ends: Mapping[int, int], late: Lateness) -> Run:
    """Of all events that came once it had begun; `ends` says when each came out, in milliseconds."""
    first = int(latency.WARM * schedule.rate)
    wanted = [int(schedule.due(event) * 1_000_000) for event in range(first, schedule.count)]
    in_time = sum(due in ends and ends[due] + 1 - due / 1000 <= BOUND * 1000 for due in wanted)
    start, end = schedule.due(first) * 1000, schedule.due(schedule.count) * 1000
    done = sum(start <= at < end for at in ends.values()) / (end - start) * 1000
    return Run(in_time / len(wanted), done, late)


def _figures(found: Mapping[tuple[str, float], list[float]]) -> list[Figure]:
    made = []
    for (name, load), shares in found.items():
        fluid = min(1.0, 1 / load)
        note = f"fluid bound {fluid:.3f}"
        if load <= 1:
            kept = found["keepOrder, sums" if name.endswith("sums") else "keepOrder", load]
            least = None if name.startswith("keepOrder") else figures.spread(kept).median - SAME
        elif name.startswith("keepOrder"):
            least = None
        elif name.endswith("sums"):
            fit = math.floor(logs.PARTITIONS / load) / logs.PARTITIONS
            least, note = OF_FLUID * fit, f"{note}; of {logs.PARTITIONS} partitions {fit:.3f} fit in"
        else:
            least = OF_FLUID * fluid
        made.append(figures.of(f"P3 overload {load:g}, {name}: in time", shares, "of all", least=least, note=note))
    return made


def _generator(late: list[Lateness]) -> Figure:
    return figures.of("P3 overload, lateness of the generator, p99.9", [one.p999 * 1000 for one in late], "ms")
