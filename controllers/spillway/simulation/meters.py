"""How long what is done has taken: the clock of a simulation."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from spillway.controllers.planning.problem import Promise
from spillway.simulation.lanes import Parcel
from spillway.simulation.points import Point

_STANDARD = statistics.NormalDist()


class Meter:
    """Latencies of what the last segments have done: what a parcel waited, and the base on top of that."""

    def __init__(self, promise: Promise) -> None:
        self.promise = promise
        self.done = self.within = 0.0
        self.latest: float | None = None  # the latency of the last row in which anything was done
        self._deviations = _STANDARD.inv_cdf(promise.quantile)
        self._row = Counted()
        self._point: Point | None = None
        self._at_once = self._quantile = 0.0

    def add(self, parcels: Sequence[Parcel], point: Point) -> None:
        """Records that are done."""
        bound, row = self.promise.bound, self._row
        if point is not self._point:
            self._point, self._at_once = point, point.within(bound)
            self._quantile = point.quantile(self._deviations)
        if parcels:
            row.tail = max(row.tail, self._quantile)
        for records, born, left in parcels:
            wait = left - born
            row.done += records
            row.within += records * (self._at_once if wait <= 0 else point.within(bound - wait))
            row.waits.append((wait, records))

    def row(self) -> tuple[float | None, float, float]:
        """What was done since the last row: its latency, None of nothing; records; and those within the bound.

        The quantile of a sum is taken to be the sum of the quantiles: nearly right where one of the two is small,
        else too much, never too little for a wait and a base that are independent.
        """
        row, self._row = self._row, Counted()
        self.done += row.done
        self.within += row.within
        latency = quantile(row.waits, self.promise.quantile) + row.tail if row.done else None
        self.latest = latency
        return latency, row.done, row.within


@dataclasses.dataclass(slots=True)
class Counted:
    """What a row has so far: seconds waited with how many records, and the highest base at the quantile."""

    waits: list[tuple[float, float]] = dataclasses.field(default_factory=list)
    done: float = 0.0
    within: float = 0.0
    tail: float = 0.0


def quantile(waits: list[tuple[float, float]], share: float) -> float:
    """What this share of the records waited at the most, in seconds."""
    waits.sort()
    left = share * sum([records for _, records in waits])
    for wait, records in waits:
        left -= records
        if left <= 0:
            return max(0.0, wait)
    return max(0.0, waits[-1][0]) if waits else 0.0
