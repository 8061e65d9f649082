"""How long decisions take, and how good they are: `python -m spillway.bench.decisions [assignment|scheduling|sizing]`.

Pure decisions, so one process and no cluster. Times are the best of some runs: what else the machine does only ever
adds. Shares are exact for their seed.
"""

from __future__ import annotations

import datetime
import functools
import random
import sys
import time
from collections.abc import Callable, Iterable

from spillway.bench import parts, single_server
from spillway.controllers import assignment, sizing
from spillway.controllers.assignment import Owner
from spillway.controllers.balancing import Slot
from spillway.controllers.protocol.values import Partition
from spillway.controllers.scheduling import Grain, Item, RecordScheduler
from spillway.controllers.sizes import Bounds, History, Present, Recommendation, SizePolicy
from spillway.model.quantities import Duration

MICRO = 1_000  # nanoseconds
SEED = 1
PARTITIONS, WORKERS, SLOTS = 10_000, 100, 2
# The rates of LAT Fig. 7(c) relative to what one server does: normal, moderate and high overload.
OVERLOADS = (0.8, 1.36, 1.8)


def main() -> None:
    """Run what was asked for, or everything."""
    for name in parts.asked("decisions", _PARTS, __doc__):
        _say(f"\n{name}")
        _PARTS[name]()


def _assignment() -> None:
    """10 000 partitions over 200 owners, in the situations that a driver meets."""
    draw = random.Random(SEED)  # noqa: S311 - a load, no secret
    owners = assignment.slots(WORKERS, SLOTS)
    uneven = [Owner(Slot(w, s), draw.uniform(0.5, 2)) for w in range(WORKERS) for s in range(SLOTS)]
    _row("loads", "situation", "ms", "moves", "fullest before", "after")
    kinds: dict[str, Callable[[], float]] = {
        "alike": lambda: 1.0,
        "exponential": lambda: draw.expovariate(1),
        "Pareto 1.3": lambda: draw.paretovariate(1.3),
    }
    for name, load in kinds.items():
        loads: dict[Partition, float | None] = {Partition(f"s{i % 4}", i): load() for i in range(PARTITIONS)}
        drifted: dict[Partition, float | None] = {p: (of or 0) * draw.uniform(0.5, 1.5) for p, of in loads.items()}
        now = assignment.decide(loads, owners, {}).owners
        crowded = {p: Slot(draw.randrange(5), 0) for p in loads}
        cases: dict[str, tuple[dict[Partition, float | None], Iterable[Owner], dict[Partition, Slot]]] = {
            "first": (loads, owners, {}),
            "nothing to do": (loads, owners, dict(now)),
            "loads drifted by half": (drifted, owners, dict(now)),
            "10 workers more": (loads, assignment.slots(WORKERS + 10, SLOTS), dict(now)),
            "10 workers fewer": (loads, assignment.slots(WORKERS, SLOTS, wanted=WORKERS - 10), dict(now)),
            "all on 5 of 200": (loads, owners, crowded),
            "first, 200 capacities": (loads, uneven, {}),
        }
        for situation, (of, to, current) in cases.items():
            found = assignment.decide(of, to, current)
            took = _best(functools.partial(assignment.decide, of, to, current), 3)
            before, after = f"{found.fullest_before:.2f}", f"{found.fullest_after:.2f}"
            _row(name, situation, f"{took * 1e3:.0f}", str(len(found.moves)), before, after)


def _scheduling() -> None:
    """Shares on time in overload, beside other queues, and what one record costs to schedule."""
    names = ("fifo", "edf", "dover", "spillway", "spillway, coarse")
    _row("records of 50 us, bound 50 ms", "offered", "fluid", *names)
    grain = Grain.of_promise(Duration.parse("50ms"))
    for offered in OVERLOADS:
        load = single_server.Load(60_000, 50 * MICRO / offered, 50_000 * MICRO, 50 * MICRO, jitter=0.2)
        found = single_server.shares(load, SEED, grain)
        fluid = f"{load.fluid():.3f}"
        _row("one by one", f"{load.offered:.2f}", fluid, *(f"{found[name]:.3f}" for name in names))
    _row("2 us in memory, a fifth on disk", "offered", "fluid", *names)
    for how, jitter, batch in (("batches of 5 ms", 0.0, 5000 * MICRO), ("one by one", 0.2, 0)):
        for disk in (10, 20, 50, 100):
            load = single_server.Load(
                60_000, 2.5 * MICRO, 20_000 * MICRO, 2 * MICRO, disk * MICRO, dear=0.2, jitter=jitter, batch=batch
            )
            found = single_server.shares(load, SEED, Grain.of_promise(Duration.parse("20ms")))
            shares = (f"{found[name]:.3f}" for name in names)
            _row(f"{disk} us on disk, {how}", f"{load.offered:.2f}", f"{load.fluid():.3f}", *shares)
    _row("cost of one record", "waiting", "insert us", "next us")
    for name, unit in (("exact", 1), ("coarse", 50_000 * MICRO)):
        for waiting in (100, 1_000, 10_000):
            insert, take = _per_record(Grain(unit), waiting)
            _row(name, str(waiting), f"{insert * 1e6:.1f}", f"{take * 1e6:.1f}")


def _per_record(grain: Grain, waiting: int) -> tuple[float, float]:
    """Seconds of insert and next while about so many wait, as a bound of 500 ms would hold them."""
    draw = random.Random(SEED)  # noqa: S311 - a load, no secret
    steps, step = 5_000, 500_000 * MICRO // waiting
    scheduler = RecordScheduler(grain)
    items = [
        Item(500_000 * MICRO + i * step - draw.randrange(100_000 * MICRO), draw.randrange(step), i)
        for i in range(waiting + steps)
    ]
    for item in items[:waiting]:
        scheduler.insert(item)
    insert = take = 0.0
    for i, item in enumerate(items[waiting:]):
        start = time.perf_counter()
        scheduler.insert(item)
        middle = time.perf_counter()
        scheduler.next(i * step)
        insert, take = insert + middle - start, take + time.perf_counter() - middle
    return insert / steps, take / steps


def _sizing() -> None:
    """One decision with a full window."""
    now = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
    policy = SizePolicy(datetime.timedelta(seconds=60), datetime.timedelta(seconds=300))
    bounds, history, second = Bounds(1, 1000), History(), datetime.timedelta(seconds=1)
    for i in range(290):
        history = history.observe(1000 - 3 * i, now - (290 - i) * second, policy)
    args = Recommendation(1, now), Present(1000, 1000), bounds, policy, history, now
    took = _best(lambda: [sizing.decide(*args) for _ in range(100)], 5) / 100
    _row("one decision", f"{len(history.needs)} needs", f"{took * 1e6:.0f} us")


def _best(what: Callable[[], object], runs: int) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        what()
        times.append(time.perf_counter() - start)
    return min(times)


def _row(name: str, *cells: str) -> None:
    _say(f"{name:34}" + "".join(f"{cell:>{24 if i == 0 else 18}}" for i, cell in enumerate(cells)))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


_PARTS: dict[str, Callable[[], None]] = {"assignment": _assignment, "scheduling": _scheduling, "sizing": _sizing}

if __name__ == "__main__":
    main()
