"""Figure S3: what it costs that keys are not alike. Two segments; the second adds up by key, behind an edge by key.

All records on one key, and Zipf's law with exponent 1.2, against all keys alike. The loss is that of throughput, by
processor time, which other work on the machine does not change: a job gets so much through as its busiest slot.

- *one slot*: it has everything, so only what a record costs may change.
- *two slots*: one of them gets all of the one key. Nobody moves partitions here, so this is what a job loses before it
  has been balanced anew.
- *balanced*: the same under a driver that moves partitions by their load, after it has had some seconds for that.

Wanted: at most a fifth less than with all keys alike, once it is balanced.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import time
from collections.abc import Callable

from spillway.bench.record import drains, figures, jobs, logs, processes, systems
from spillway.bench.record.deployed import Deployed
from spillway.bench.record.figures import Figure

KINDS = ("uniform", "zipf", "one")
FRAME, DEADLINE = 1_000, 0.01
LOSS = 0.2
SLOTS = (1, 2)
# Of the load in which a driver balances: a tenth of what two slots can do, which leaves the machine time for the rest,
# and seconds for it to do so, and seconds that count.
RATE, SETTLES, COUNTS = 20_000.0, 15.0, 8.0


def main(seconds: float, rounds: int, done: Callable[[str], None]) -> list[Figure]:
    """Every kind with one slot and with two, in turn."""
    count = int(seconds * 2_500)
    cases = [f"{kind}, {_slots(slots)}" for slots in SLOTS for kind in KINDS]
    found: dict[str, list[float]] = {case: [] for case in cases}
    with systems.broker() as bootstrap:
        for number, case in figures.in_turn(cases, rounds):
            kind, slots = case.split(", ")
            micros = _drained(bootstrap, kind, count, int(slots[0]))
            found[case].append(micros)
            done(f"round {number + 1} of {rounds}: {case}: {micros:.3f} µs")
        balanced: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for number, kind in figures.in_turn(KINDS, rounds):
            micros = _balanced(bootstrap, kind)
            balanced[kind].append(micros)
            done(f"round {number + 1} of {rounds}: {kind}, 2 slots, balanced: {micros:.3f} µs")
    return [
        *(figures.of(f"S3 {case}: busiest slot", values, "µs/record") for case, values in found.items()),
        *(
            figures.of(
                f"S3 {kind}, {_slots(slots)}: loss of throughput",
                _losses(found[f"{KINDS[0]}, {_slots(slots)}"], found[f"{kind}, {_slots(slots)}"]),
                "of it",
                most=LOSS if slots == 1 else None,
            )
            for slots in SLOTS
            for kind in KINDS[1:]
        ),
        *(figures.of(f"S3 {kind}, balanced: busiest slot", values, "µs/record") for kind, values in balanced.items()),
        *(
            figures.of(
                f"S3 {kind}, balanced: loss of throughput",
                _losses(balanced[KINDS[0]], balanced[kind]),
                "of it",
                most=LOSS,
            )
            for kind in KINDS[1:]
        ),
    ]


def _drained(bootstrap: str, kind: str, count: int, slots: int) -> float:
    source = systems.created_one(bootstrap)
    with systems.System(jobs.SUMS, bootstrap, source, slots=slots, frame=FRAME, deadline=DEADLINE) as system:
        return drains.drained(system, bootstrap, kind, count, int).busiest


def _balanced(bootstrap: str, kind: str) -> float:
    source, context = systems.created_one(bootstrap), multiprocessing.get_context("spawn")
    with (
        Deployed(jobs.SUMS, bootstrap, source, slots=2, bound="500ms") as system,
        concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as others,
    ):
        system.settle()
        pouring = others.submit(logs.pour, bootstrap, source, kind, RATE, SETTLES + COUNTS + 1)
        time.sleep(SETTLES)
        (worker,) = system.processes
        slots = [one for one in processes.tree(worker) if one != worker]
        before, since = [processes.cpu(one) for one in slots], time.monotonic()
        time.sleep(COUNTS)
        taken = max(processes.cpu(one) - earlier for one, earlier in zip(slots, before, strict=True))
        passed = time.monotonic() - since
        pouring.result()
        return taken / (RATE * passed) * 1e6


def _losses(alike: list[float], other: list[float]) -> list[float]:
    return [1 - ratio for ratio in figures.ratios(alike, other)]


def _slots(count: int) -> str:
    return f"{count} slot{'s' * (count > 1)}"
