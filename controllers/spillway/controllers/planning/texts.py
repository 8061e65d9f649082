"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import Final

from spillway.controllers.costmodel import exact
from spillway.controllers.explain import Inputs
from spillway.controllers.planning.problem import Problem

MOST_DIGITS = 1e-9  # seconds; what is shorter is no time, and its digits would leave the floats
# Where people set what may be had.
WORKERS: Final = "workers.max \N{MULTIPLICATION SIGN} workers.slots"
EXECUTORS: Final = "executors.max \N{MULTIPLICATION SIGN} executors.cores"


def rounded(time: float, digits: int) -> float:
    """Down to so many digits: nobody reads more."""
    if not MOST_DIGITS < time < math.inf:
        return time
    unit = 10.0 ** (math.floor(math.log10(time)) + 1 - digits)
    return float(f"{math.floor(time / unit * (1 + 1e-9)) * unit:.{digits}g}")


def seconds(time: float) -> str:
    """0.0123 is 12.3 ms."""
    if math.isinf(time):
        return "for ever"
    if time >= 1:
        return f"{time:.3g} s" if time < 1000 else f"{time:.0f} s"
    return f"{time * 1e3:.3g} ms" if time >= 1e-3 else f"{time * 1e6:.3g} µs"


def rate(records: float) -> str:
    """434000 is 434 000/s."""
    return f"{records:,.0f}".replace(",", " ") + "/s" if records >= 10 else f"{records:.3g}/s"


def share(part: float) -> str:
    """0.99 is 99 %."""
    return f"{part * 100:.4g} %"


def count(number: float, what: str) -> str:
    """1 slot, 2 slots."""
    return f"{number:g} {what}" if number == 1 else f"{number:g} {what}s"


def cost(slots: float, cores: float) -> str:
    """What a plan costs."""
    return count(slots, "slot") if not cores else f"{count(slots, 'slot')} and {count(cores, 'core')}"


def load(problem: Problem, factor: float) -> str:
    """So many times the workload."""
    if len(problem.workload) == 1:
        return rate(factor * exact.approximate(exact.exact(next(iter(problem.workload.values())))))
    return f"{share(factor)} of the load"


def inputs(problem: Problem) -> Inputs:
    """What a plan depends on, but for costs."""
    rates = [f"{name} {rate(exact.approximate(exact.exact(r)))}" for name, r in sorted(problem.workload.items())]
    promise, room = problem.promise, problem.room
    return (
        ("workload", ", ".join(rates)),
        ("promise", f"{share(promise.quantile)} within {seconds(promise.bound)}"),
        ("room", cost(room.slots, room.cores)),
        ("headroom", share(problem.headroom)),
        ("chaining", str(problem.chaining)),
        ("batches", "none" if problem.schedule is None else f"{seconds(problem.schedule.mean)} to schedule one"),
    )
