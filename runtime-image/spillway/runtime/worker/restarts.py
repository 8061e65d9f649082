"""When a slot that ended by itself is started again: soon at first, then less and less so.

    pause before the n-th start in a row = 0 for the first, then min(2^(n-2), 10) s

A row is over when a process has worked for `STABLE`.
"""

from __future__ import annotations

# Seconds. A process that worked for so long did not fail to start, so the next pause is the first again. Longer: a
# crash every now and then would count as a row of them.
STABLE = 60.0
# A broker that was away is found again within this; shorter would fill the control log with joins.
LONGEST = 10.0


class Restarts:
    """Of one slot."""

    def __init__(self) -> None:
        self._row = 0

    def pause(self, ran: float) -> float:
        """Seconds until the next start, after a process that ran for so many."""
        self._row = 1 if ran >= STABLE else self._row + 1
        # Above 2^4 the bound holds anyhow, and a number as large as a year of crashes would give is none to compute.
        return 0.0 if self._row == 1 else min(LONGEST, 2.0 ** min(self._row - 2, 4))
