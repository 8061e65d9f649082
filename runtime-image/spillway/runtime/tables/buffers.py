"""Records of a stream that wait for partners: by key, in the order of their event times.

Records are numbered as they come, which tells equal ones apart; they are the offsets of SDF Definition 67. Entries are
plain tuples of plain values, because Python's garbage collector soon leaves those alone: with an object for each record
it took a third of the time of a join.
"""

from __future__ import annotations

import bisect
from collections.abc import MutableMapping, Sequence
from typing import Any

from spillway.model.types import Schema
from spillway.runtime import keys
from spillway.runtime.tables import rows
from spillway.runtime.tables.expiry import Expiry
from spillway.runtime.tables.pairing import KeyOf
from spillway.runtime.tables.store import Store
from spillway.runtime.tables.updates import Row

Key = Any
Waiting = tuple[int, Row, bool]  # event time, record, whether readers have it without a partner


class Buffer:
    """The records of one side of a join.

    Attributes:
        store: by number.
        waiting: what it holds.
    """

    def __init__(self, schema: Schema, key_of: KeyOf, *, place: int, retention: int | None, reach: int) -> None:
        """`reach`: for so long after its time a record may still be asked for by one that is not late."""
        self._key_of = key_of
        self._reach = reach
        self._index: dict[Key, tuple[list[int], list[int]]] = {}  # times in order, and the number of each
        self._expiry = None if retention is None else Expiry(retention)
        restored = rows.restorer(schema)
        decode = keys.decoder(())
        self.store = Store(
            lambda number: keys.encode((number,)),
            lambda key: decode(key)[0],
            lambda _, waiting: waiting,
            lambda _, value: (value[0], restored(value[1]), value[2]),
            place=place,
            restored=self._restored,
        )
        self.waiting: MutableMapping[int, Waiting] = self.store.rows

    def add(self, key: Key, time: int, row: Row, *, alone: bool) -> None:
        """Keep a record."""
        store = self.store
        number = store.number
        store.number = number + 1
        self.waiting[number] = (time, row, alone)
        store.dirty[number] = None
        self._place(key, time, number)

    def between(self, key: Key, first: int, last: int) -> Sequence[int]:
        """The numbers of the records of a key with times from first to last, both included, in their order."""
        found = self._index.get(key)
        if found is None:
            return ()
        times, numbers = found
        start = bisect.bisect_left(times, first)
        # Mostly the records that are there are no later than the one that asks.
        return numbers[start:] if times[-1] <= last else numbers[start : bisect.bisect_right(times, last)]

    def mark(self, number: int, *, alone: bool) -> None:
        """A record has its first partner, or lost its last one."""
        time, row, _ = self.waiting[number]
        self.waiting[number] = (time, row, alone)
        self.store.dirty[number] = None

    def take(self, key: Key, time: int, row: Row) -> Waiting | None:
        """Take out one record that is equal to this one, if there is any: its facts were corrected."""
        for number in self.between(key, time, time):
            if self.waiting[number][1] == row:
                return self._remove(key, number)
        return None

    def drop(self, time: int) -> None:
        """Drop what no record can reach any more that is in time, now that event time is `time`."""
        if self._expiry is None or time <= self._expiry.next:
            return
        for _, number in self._expiry.passed(time, self._due):
            self._remove(self._key_of(self.waiting[number][1]), number)

    def _remove(self, key: Key, number: int) -> Waiting:
        waiting = self.waiting.pop(number)
        self.store.dirty[number] = None
        times, numbers = self._index[key]
        # It stands among those of the same time.
        place = numbers.index(number, bisect.bisect_left(times, waiting[0]))
        del times[place], numbers[place]
        if not times:
            del self._index[key]
        return waiting

    def _due(self, number: int) -> int | None:
        waiting = self.waiting.get(number)
        return None if waiting is None else waiting[0] + self._reach

    def _place(self, key: Key, time: int, number: int) -> None:
        found = self._index.get(key)
        if found is None:
            self._index[key] = ([time], [number])
        elif time >= found[0][-1]:
            found[0].append(time)
            found[1].append(number)
        else:
            place = bisect.bisect_right(found[0], time)
            found[0].insert(place, time)
            found[1].insert(place, number)
        if self._expiry is not None:
            self._expiry.watch(time + self._reach, number)

    def _restored(self) -> None:
        self._index.clear()
        if self._expiry is not None:
            self._expiry.clear()
        for number in sorted(self.waiting):
            time, row, _ = self.waiting[number]
            self._place(self._key_of(row), time, number)
