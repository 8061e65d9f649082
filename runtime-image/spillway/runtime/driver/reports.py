"""What slots have told lately, life by life. Pure: the times at which reports came are told, too.

Counts grow within a life, so a rate is the difference of two reports of it. A life that began within the span counts
from nothing.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator
from typing import NamedTuple

from spillway.controllers.protocol.values import Owner, Partition
from spillway.runtime.telemetry import Place, Report

# Seconds for which reports are kept: latencies are told over 10 s, and a report comes each 250 ms.
KEPT = 10.5


class Heard(NamedTuple):
    """A report, and when it came, by the clock of the driver."""

    at: float
    report: Report


class Span(NamedTuple):
    """Two reports of a life: all that happened between them took so many seconds by its own clock."""

    seconds: float
    old: Report
    new: Report


class Reports:
    """The last reports of each life."""

    def __init__(self) -> None:
        self._of: dict[Owner, collections.deque[Heard]] = {}

    def take(self, report: Report, at: float) -> None:
        """One more; one that comes late, or twice, is nothing new."""
        history = self._of.setdefault(Owner(report.slot, report.incarnation), collections.deque())
        if history and report.up <= history[-1].report.up:
            return
        history.append(Heard(at, report))
        while history[0].at < at - KEPT:
            history.popleft()

    def keep(self, living: Collection[Owner]) -> None:
        """Forget all others."""
        for owner in self._of.keys() - set(living):
            del self._of[owner]

    def last(self, owner: Owner) -> Heard | None:
        """The newest report of a life."""
        history = self._of.get(owner)
        return history[-1] if history else None

    def owners(self) -> Iterator[Owner]:
        """The lives that have told anything."""
        yield from self._of

    def span(self, owner: Owner, seconds: float) -> Span | None:
        """The newest report, and one that is about so many seconds older; None before there are two."""
        history = self._of.get(owner)
        if not history:
            return None
        new = history[-1].report
        old = next((heard.report for heard in reversed(history) if heard.report.up <= new.up - seconds), None)
        if old is None and new.up <= seconds:
            old = Report(new.version, new.slot, new.incarnation, new.process, new.at - new.up, 0.0)
        old = old or history[0].report
        return Span(new.up - old.up, old, new) if new.up > old.up else None

    def places(self, owner: Owner, seconds: float) -> Iterator[tuple[float, Place, Place]]:
        """Each partition that a life has, as it is and as it was up to so many seconds before, and how long ago."""
        history = self._of.get(owner)
        if not history:
            return
        new = history[-1].report
        now = {(_where(place), place.epoch): place for place in new.places}
        for heard in history:
            if heard.report.up < new.up - seconds:
                continue
            for old in heard.report.places:
                place = now.pop((_where(old), old.epoch), None)
                if place is not None and new.up > heard.report.up:
                    yield new.up - heard.report.up, old, place


def _where(place: Place) -> Partition:
    return Partition(place.segment, place.number)
