"""A queue of a fluid: first in, first out, and every part of it knows when it was born."""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import NamedTuple


class Parcel(NamedTuple):
    """Records that came together. Of what came or left within a step the middle of its time counts for all.

    Attributes:
        records: how many; a part of a record is nothing unusual in a fluid.
        born: when they came into the first log of the job.
        came: when they came here, or when they left.
    """

    records: float
    born: float
    came: float


class Lane:
    """Parcels in the order in which they came."""

    __slots__ = ("parcels", "records")

    def __init__(self) -> None:
        self.parcels: deque[Parcel] = deque()
        self.records: float = 0.0

    def put(self, records: float, born: float, came: float) -> None:
        """Add to the end."""
        self.parcels.append(Parcel(records, born, came))
        self.records += records

    def serve(self, start: float, end: float, pace: float) -> list[Parcel]:
        """What leaves from `start` to `end` at `pace` records per second.

        The n records of a parcel leave one after the other, n/(2·pace) after its turn on average; but none before it
        came, so without a queue they leave as they come.
        """
        parcels = self.parcels
        room, at, done = pace * (end - start), start, []
        while parcels and room > 0:
            records, born, came = parcels[0]
            if records <= room:
                parcels.popleft()
            else:
                parcels[0] = Parcel(records - room, born, came)
                records = room
            takes = records / pace
            middle = at + takes / 2
            done.append(Parcel(records, born, came if middle < came else middle))
            at += takes
            room -= records
            self.records -= records
        if not parcels:
            self.records = 0.0
        return done

    def before(self, at: float, most: float) -> list[Parcel]:
        """What came until then, but no more than so many records: what a batch takes."""
        parcels, room, taken = self.parcels, most, []
        while parcels and room > 0 and parcels[0].came <= at:
            records, born, came = parcels[0]
            if records <= room:
                taken.append(parcels.popleft())
            else:
                taken.append(Parcel(room, born, came))
                parcels[0] = Parcel(records - room, born, came)
                records = room
            room -= records
            self.records -= records
        if not parcels:
            self.records = 0.0
        return taken

    def take(self, share: float) -> Lane:
        """A lane with this share of every parcel, which is no longer here."""
        other = Lane()
        if share >= 1:
            self.parcels, other.parcels = other.parcels, self.parcels
        else:
            other.parcels = deque(Parcel(n * share, born, came) for n, born, came in self.parcels)
            self.parcels = deque(Parcel(n * (1 - share), born, came) for n, born, came in self.parcels)
        other.recount()
        self.recount()
        return other

    def join(self, other: Lane) -> None:
        """Take all of another lane in, each parcel where it belongs by when it came.

        What was parted by `take` becomes one parcel again: else each move would double those of a long queue.
        """
        joined: deque[Parcel] = deque()
        for parcel in heapq.merge(self.parcels, other.parcels, key=lambda parcel: (parcel.came, parcel.born)):
            if joined and joined[-1][1:] == parcel[1:]:
                joined.append(parcel._replace(records=joined.pop().records + parcel.records))
            else:
                joined.append(parcel)
        self.parcels = joined
        self.recount()

    def recount(self) -> None:
        """Count anew, so that rounding doesn't add up."""
        self.records = math.fsum(parcel.records for parcel in self.parcels)
