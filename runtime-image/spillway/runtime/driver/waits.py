"""Which tries to move take too long, by the clock of who leads. Pure.

What was under way when a driver began to lead is as old as its lead.
"""

from __future__ import annotations

from collections.abc import Iterator

from spillway.controllers.protocol import log
from spillway.controllers.protocol.values import Partition

# Seconds. An heir reads its changelog before it is ready: at 50 MB/s, 60 s are 3 GB of one partition. The owner goes on
# meanwhile, so to wait costs nothing but the move. Shorter: large states could never move.
HEIR_LATE = 60.0
# An owner stops at once, and flushes and commits in some hundredths of a second; only behind the barrier of a takeover
# there may be more to do. Meanwhile the partition stands still, or its heir waits.
RELEASE_LATE = 10.0


class Waits:
    """Since when each step of a try is waited for."""

    def __init__(self) -> None:
        self._since: dict[tuple[Partition, int, bool], float] = {}

    def late(self, state: log.State, now: float) -> Iterator[tuple[Partition, int]]:
        """Tries whose present step takes too long, as partition and epoch."""
        under_way = {
            (place, move.epoch, move.releasing)
            for place, holding in state.holdings.items()
            if (move := holding.move) is not None and move.cut is None
        }
        self._since = {step: self._since.get(step, now) for step in under_way}
        for (place, epoch, releasing), since in self._since.items():
            if now - since >= (RELEASE_LATE if releasing else HEIR_LATE):
                yield place, epoch
