"""Whether names are free, where many are asked for at once.

Before a child is made somebody looks whether its name is taken: by an object that is not ours and that nobody tells us
of. For one job these are eleven requests that find nothing. Where a thousand jobs come at once, what is in a namespace
and not marked as a job's is listed now and then instead: a request for hundreds. What is marked and of another life of
the job has another owner, and the API server takes no second one.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import time
from collections.abc import Callable

from spillway.controllers.reconciling import names
from spillway.manager import kinds
from spillway.manager.cluster import Cluster
from spillway.manager.kinds import Kind

# Seconds for which a list is believed. Who makes an object of somebody else's name meanwhile has it merged with ours;
# between looking and writing that could always happen, but it should not for long.
FRESH = 2.0
# Names asked for within that time from which on a list is less work than they are.
MANY = 8
OTHERS = f"!{names.JOB}"


@dataclasses.dataclass(slots=True)
class _Place:
    """One kind in one namespace: when which names were asked for, and what was listed last."""

    asked: collections.deque[float] = dataclasses.field(default_factory=collections.deque)
    at: float = -FRESH
    taken: frozenset[str] = frozenset()
    running: asyncio.Future[None] | None = None


class Vacancies:
    """Of all namespaces."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float] = time.monotonic) -> None:
        self._cluster, self._clock = cluster, clock
        self._places: dict[tuple[str, str], _Place] = {}

    async def free(self, kind: Kind, namespace: str, name: str) -> bool:
        """Whether there is certainly no object of that name; if not, somebody has to look. Raises ClusterError."""
        if not kind.listed or kind is kinds.POD_MONITOR:
            return False
        place = self._places.setdefault((kind.name, namespace), _Place())
        now = self._clock()
        place.asked.append(now)
        while place.asked[0] < now - FRESH:
            place.asked.popleft()
        if now - place.at >= FRESH:
            if len(place.asked) < MANY:
                return False
            await self._list(place, kind, namespace)
        return name not in place.taken

    async def _list(self, place: _Place, kind: Kind, namespace: str) -> None:
        """Once for all who wait for it."""
        if place.running is None:
            place.running = asyncio.ensure_future(self._listed(place, kind, namespace))
        await asyncio.shield(place.running)

    async def _listed(self, place: _Place, kind: Kind, namespace: str) -> None:
        try:
            began = self._clock()
            found = [one["metadata"]["name"] async for one in self._cluster.all(kind, namespace, OTHERS, metadata=True)]
            place.taken, place.at = frozenset(found), began
        finally:
            place.running = None
