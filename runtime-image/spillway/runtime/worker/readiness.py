"""Whether a worker is ready: every slot has joined, and all partitions that it has are worked on."""

from __future__ import annotations

from collections.abc import Iterable

from spillway.runtime.worker.supervisor import Seat

# Seconds; after as many the driver takes a slot that tells nothing for dead.
SILENT = 3.0


def missing(seats: Iterable[Seat], now: float) -> list[str]:
    """Why the worker is not ready, for people; nothing if it is. `now` is by the monotonic clock."""
    found = []
    for seat in seats:
        life = seat.life
        report = None if life is None else life.report
        if life is None:
            found.append(f"{seat.name} is not running")
        elif report is None:
            found.append(f"{seat.name} has not joined yet")
        elif now - life.told > SILENT:
            found.append(f"{seat.name} has told nothing for {now - life.told:.0f} s")
        elif report.leaving:
            found.append(f"{seat.name} is leaving")
        elif idle := sum(not place.working for place in report.places):
            found.append(f"{seat.name} does not work on {idle} of its {len(report.places)} partitions yet")
    return found
