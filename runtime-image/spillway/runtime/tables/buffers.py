"""Records of a stream that wait for partners: by key, in the order of their event times."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

from spillway.model.types import Schema
from spillway.runtime import keys
from spillway.runtime.tables import codecs
from spillway.runtime.tables.expiry import Expiry
from spillway.runtime.tables.pairing import KeyOf
from spillway.runtime.tables.store import Store
from spillway.runtime.tables.updates import Row

Key = Any


class Waiting:
    """A record in a buffer.

    Attributes:
        number: which it is: the offset of SDF Definition 67, which tells equal records apart.
        alone: readers have it without a partner.
    """

    __slots__ = ("alone", "number", "row", "time")

    def __init__(self, number: int, time: int, row: Row, *, alone: bool) -> None:
        self.number, self.time, self.row, self.alone = number, time, row, alone

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Waiting) and self._all == other._all

    __hash__ = None  # type: ignore[assignment] # it changes

    @property
    def _all(self) -> tuple[int, int, Row, bool]:
        return self.number, self.time, self.row, self.alone


class Buffer:
    """The records of one side of a join.

    Attributes:
        store: by number.
    """

    def __init__(self, schema: Schema, key_of: KeyOf, *, place: int, retention: int | None, reach: int) -> None:
        """`reach`: for so long after its time a record may still be asked for by one that is not late."""
        self._key_of = key_of
        self._reach = reach
        self._index: dict[Key, tuple[list[int], list[Waiting]]] = {}
        self._expiry = None if retention is None else Expiry(retention)
        restored = codecs.restorer(schema)
        decode = keys.decoder(())
        self.store = Store(
            lambda key: keys.encode((key,)),
            lambda key: decode(key)[0],
            lambda _, waiting: (waiting.time, waiting.alone, waiting.row),
            lambda key, value: Waiting(key, value[0], restored(value[2]), alone=value[1]),
            place=place,
            restored=self._restored,
        )

    def add(self, key: Key, time: int, row: Row, *, alone: bool) -> None:
        """Keep a record."""
        number = self.store.number
        self.store.number = number + 1
        waiting = Waiting(number, time, row, alone=alone)
        self.store.rows[number] = waiting
        self.store.dirty[number] = None
        self._place(key, waiting)

    def between(self, key: Key, first: int, last: int) -> Sequence[Waiting]:
        """The records of a key with times from first to last, both included, in the order of their times."""
        found = self._index.get(key)
        if found is None:
            return ()
        times, waiting = found
        return waiting[bisect.bisect_left(times, first) : bisect.bisect_right(times, last)]

    def paired(self, waiting: Waiting) -> None:
        """A record is alone no more."""
        waiting.alone = False
        self.store.dirty[waiting.number] = None

    def drop(self, time: int) -> None:
        """Drop what no record can reach any more that is in time, now that event time is `time`."""
        if self._expiry is None or time <= self._expiry.next:
            return
        for _, number in self._expiry.passed(time, self._due):
            waiting = self.store.rows.pop(number)
            self.store.dirty[number] = None
            key = self._key_of(waiting.row)
            times, there = self._index[key]
            # Due in the order of times: it is the first one, or stands beside it with the same time.
            place = there.index(waiting, 0, bisect.bisect_right(times, waiting.time))
            del times[place], there[place]
            if not times:
                del self._index[key]

    def _due(self, number: int) -> int | None:
        waiting = self.store.rows.get(number)
        return None if waiting is None else waiting.time + self._reach

    def _place(self, key: Key, waiting: Waiting) -> None:
        found = self._index.get(key)
        if found is None:
            self._index[key] = ([waiting.time], [waiting])
        else:
            times, there = found
            place = bisect.bisect_right(times, waiting.time)
            times.insert(place, waiting.time)
            there.insert(place, waiting)
        if self._expiry is not None:
            self._expiry.watch(waiting.time + self._reach, waiting.number)

    def _restored(self) -> None:
        self._index.clear()
        if self._expiry is not None:
            self._expiry.clear()
        for number in sorted(self.store.rows):
            waiting = self.store.rows[number]
            self._place(self._key_of(waiting.row), waiting)
