"""How many executors Spark should have, by what runs in batches and by how long that takes. Pure.

The engine runs one batch after the other, so what counts is the share of its time that batches take with the executors
that there are:

    busy      = sum over segments in batches of (V + L / DRAIN) / P_O
    executors = there * busy / (1 - headroom)

where V records per second arrive, L wait, and P_O is what batches were measured to do. A task works on whole
partitions, so more cores than partitions are of no use. Whoever grants them looks after the pace (`sizing`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from spillway.controllers.provisioning import DRAIN
from spillway.model.execution import Executors


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """What a segment that runs in batches, or is about to, asks of them.

    Attributes:
        segment: its name.
        partitions: of its input.
        rate: records per second that arrive; None where nobody knows.
        queue: records that wait.
        capacity: records per second that batches do with the executors that there are; None where nobody knows.
    """

    segment: str
    partitions: int
    rate: float | None = None
    queue: int | None = None
    capacity: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """So many, and why as one sentence."""

    executors: int
    sentence: str


def needed(size: Executors, headroom: float, loads: Sequence[Load], there: int) -> Need:
    """For these loads, with so many executors there; within what the job allows."""
    if size.max == 0:
        return Need(0, "no executors: executors.max is 0")
    if not loads:
        return _within(size, 0, "nothing runs in batches")
    names = ", ".join(load.segment for load in loads)
    known = [load for load in loads if load.rate is not None and load.capacity]
    if not there or not known:
        return _within(size, max(1, there), f"nobody has measured yet what batches of {names} take")
    busy = math.fsum((load.rate + (load.queue or 0) / DRAIN) / load.capacity for load in known)  # type: ignore[operator]
    useful = math.ceil(max(load.partitions for load in loads) / size.cores)
    wanted = max(1, math.ceil(there * busy / max(1 - headroom, 0.1)))
    why = f"batches of {names} take {busy:.0%} of the time of {there}"
    if wanted > useful:
        return _within(size, useful, f"{why}, and more cores than partitions would have nothing to do")
    return _within(size, wanted, why)


def _within(size: Executors, count: int, why: str) -> Need:
    found = min(max(count, size.min), size.max)
    bound = (
        f"; executors.min is {size.min}" if found > count else f"; {count} would be, and executors.max is {size.max}"
    )
    what = f"{found} executor{'s' * (found != 1)}"
    return Need(found, f"{what}: {why}{bound if found != count else ''}")
