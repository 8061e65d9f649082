"""The workers of a local run: as many processes as were decided, and none is ended while it has work.

Growing: the process is started, then granted. Shrinking: the grant falls first, so the driver empties the highest
workers; each is asked to end once it has nothing.
"""

from __future__ import annotations

import datetime
import functools
import math
from collections.abc import Callable, Iterable
from datetime import timedelta

from spillway.controllers.balancing import Slot
from spillway.controllers.sizes import Bounds, Limit, Recommendation
from spillway.local.upkeep import Ended, Kept, Running
from spillway.model import observation
from spillway.model.execution import Workers as Wanted

# The most that anybody may ask for here; beyond, the machine is the limit, and long before.
MOST = 256


def slots(wanted: Wanted, cores: int) -> int:
    """Slots of each worker: as in the manifest, but never more than there are cores."""
    return min(wanted.slots, max(1, cores))


def bounds(wanted: Wanted, cores: int, fixed: int | None = None) -> Bounds:
    """How many workers there may be: as in the manifest, within the cores; `fixed` is what somebody asked for here."""
    if fixed is not None:
        return Bounds(fixed, fixed)
    each = slots(wanted, cores)
    room = max(1, cores // each)
    why = f"this machine gives {cores} core{'s' * (cores != 1)}, and a worker takes {each}"
    return Bounds(min(wanted.min, room), wanted.max, (Limit(room, why),))


def most(allowed: Bounds) -> int:
    """The most workers that there will be."""
    return min([allowed.max, *(limit.size for limit in allowed.limits)])


def needed(recommended: observation.Recommended, each: int) -> float | None:
    """The driver's recommendation in workers of so many slots; None when it can't tell."""
    return None if recommended.slots is None else math.ceil(recommended.slots / each)


def recommendation(seen: observation.Observation, each: int) -> Recommendation:
    """The same with its time."""
    return Recommendation(needed(seen.recommended, each), datetime.datetime.fromtimestamp(seen.at, datetime.UTC))


def held(slots: Iterable[observation.Slot]) -> dict[int, int]:
    """How many partitions each worker has, by its number; workers of which nothing is heard count too."""
    found: dict[int, int] = {}
    for slot in slots:
        named = Slot.named(slot.slot)
        if named is not None:
            found[named.worker] = found.get(named.worker, 0) + slot.partitions
    return found


class Workers:
    """The processes."""

    def __init__(self, start: Callable[[int], Running], clock: Callable[[], float]) -> None:
        self._start = start
        self._clock = clock
        self._kept: dict[int, Kept] = {}

    @property
    def pids(self) -> dict[int, int | None]:
        """The process ids, by number."""
        return {number: kept.pid for number, kept in sorted(self._kept.items())}

    def grow(self, count: int) -> list[int]:
        """Have at least so many; the numbers of those that were started now."""
        self._forget()
        started = []
        for number in range(count):
            if number not in self._kept:
                self._kept[number] = kept = Kept(functools.partial(self._start, number), self._clock)
                kept.start()
                started.append(number)
        return started

    def shrink(self, count: int, holding: dict[int, int]) -> list[int]:
        """Ask those beyond so many to end which have nothing any more; their numbers."""
        self._forget()
        spare = [n for n, kept in self._kept.items() if n >= count and not kept.leaving and not holding.get(n)]
        for number in spare:
            self._kept[number].ask_to_end()
        return spare

    def look(self) -> list[tuple[int, Ended]]:
        """Start those again that are due; those that have ended by themselves since the last look."""
        self._forget()
        found = [(number, kept.look()) for number, kept in sorted(self._kept.items())]
        return [(number, ended) for number, ended in found if ended is not None]

    def row(self) -> int:
        """How often in a row the unluckiest has failed to start."""
        return max((kept.row for kept in self._kept.values()), default=0)

    def ask_to_end(self) -> None:
        """Ask all to end."""
        for kept in self._kept.values():
            kept.ask_to_end()

    def gone(self) -> bool:
        """Whether none runs any more."""
        return all(kept.gone() for kept in self._kept.values())

    def stop(self, patience: timedelta) -> None:
        """End all: each that has been asked has so much time left, together."""
        self.ask_to_end()
        until = self._clock() + patience.total_seconds()
        for kept in self._kept.values():
            kept.stop(timedelta(seconds=max(0.0, until - self._clock())))
        self._kept.clear()

    def kill(self) -> None:
        """End all at once."""
        for kept in self._kept.values():
            kept.kill()
        self._kept.clear()

    def _forget(self) -> None:
        for number, kept in list(self._kept.items()):
            if kept.leaving and kept.gone():
                kept.kill()
                del self._kept[number]
