"""Which slots are silent: nothing came of them for too long, by the clock of who listens. Pure.

Silence says something only while others are heard. If nothing comes of anybody, the broker is away, or the listener
was: then nobody is silent, because nobody could take over, and when reports come again all begin anew. If all slots
but one are gone, that one is heard.
"""

from __future__ import annotations

from collections.abc import Collection

from spillway.controllers.protocol.values import Owner

# Seconds: twelve reports in a row are missing. Shorter: a long pause of the garbage collector, or a batch
# of slow records, costs a takeover. Longer: a partition stands still for longer.
SILENT = 3.0
# Without any report, or any look, for so long, it was not the slots that were silent: one report comes each 250 ms.
DEAF = 1.5


class Liveness:
    """When each life was heard last."""

    def __init__(self) -> None:
        self._heard: dict[Owner, float] = {}
        self._alive: set[Owner] = set()
        self._last: float | None = None
        self._looked: float | None = None

    def heard(self, owner: Owner, now: float) -> None:
        """A report of a life, or its `Join`."""
        self._awake(self._last, now)
        self._last = now
        self._heard[owner] = now
        self._alive.add(owner)

    def unheard(self, living: Collection[Owner]) -> frozenset[Owner]:
        """Those of the lives of which nothing was ever heard here.

        They may have ended in order, long before we began: an end is no message, and nobody who has nothing is missed.
        """
        return frozenset(owner for owner in living if owner not in self._alive)

    def silent(self, living: Collection[Owner], now: float) -> frozenset[Owner]:
        """Those of the lives that are silent; one that was never heard is as if it were heard now."""
        self._awake(self._looked, now)
        self._looked = now
        for owner in living:
            self._heard.setdefault(owner, now)
        for owner in self._heard.keys() - set(living):
            del self._heard[owner]
        self._alive.intersection_update(living)
        if self._last is None or now - self._last >= DEAF:
            return frozenset()
        return frozenset(owner for owner in living if now - self._heard[owner] >= SILENT)

    def _awake(self, before: float | None, now: float) -> None:
        """After a gap in which nobody could be heard, all begin anew."""
        if before is not None and now - before >= DEAF:
            self._heard = dict.fromkeys(self._heard, now)
