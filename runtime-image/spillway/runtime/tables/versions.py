"""Rows of a table with their history: the version of any time (SDF Definitions 56 to 58).

Of an evolving table only the modified keys of each version are kept: for each key, the times at which it changed and
its row from then on. The row at t is the one with the largest time <= t. A deletion is a version too, without a row:
it keeps an older update that comes later from bringing the row back. An update with the time of another replaces it.

`Versions` keeps them as long as somebody may ask: those after the horizon, and of each key the one before. `Newest`
keeps one for each key, for joins with `asOf: latest`.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable
from typing import Any

from spillway.model import types
from spillway.model.types import ColumnType, Schema
from spillway.runtime import keys
from spillway.runtime.tables import rows
from spillway.runtime.tables.expiry import Expiry
from spillway.runtime.tables.store import MEMORY, NEVER, Entry, Keeping, Store
from spillway.runtime.tables.updates import Row

Key = Any
Version = tuple[Key, int]
History = tuple[list[int], list[Row | None]]  # times in order, and the row from each on; None: deleted

FOREVER = 2**63  # the time of a next version that isn't there: after all that a column can hold


class Versions:
    """All versions of the rows of a table.

    Attributes:
        store: one entry for each version; of what was before its time less the retention, some may be gone.
    """

    def __init__(self, schema: Schema, key_types: list[ColumnType], *, retention: int | None = None) -> None:
        self._histories: dict[Key, History] = {}
        self._expiry = None if retention is None else Expiry(retention)
        self._asked: dict[object, int] = {}
        self.store: Store = _VersionStore(self._histories, schema, key_types, self._restored)

    def at(self, key: Key, timestamp: int) -> Row | None:
        """The row of a key at a time."""
        history = self._histories.get(key)
        if history is None:
            return None
        place = bisect.bisect_right(history[0], timestamp)
        return history[1][place - 1] if place else None

    def newest(self, key: Key) -> int:
        """The time of the newest version of a row."""
        history = self._histories.get(key)
        return NEVER if history is None else history[0][-1]

    def update(self, key: Key, timestamp: int, row: Row | None) -> tuple[Row | None, int]:
        """Put a version in its place; gives the row that was there at its time, and the time of the next version."""
        times, rows = self._histories.get(key, ([], []))
        place = bisect.bisect_right(times, timestamp)
        before = rows[place - 1] if place else None
        until = times[place] if place < len(times) else FOREVER
        self.store.put((key, timestamp), (row,))
        self.store.dirty[key, timestamp] = None
        if self._expiry is not None:
            self._watch(key, timestamp)
            if place and times[place - 1] < timestamp:
                self._watch(key, times[place - 1])
        return before, until

    def seen(self, reader: object, time: int) -> None:
        """A reader asks for nothing older than the retention before this time; drop what no reader asks for."""
        if self._expiry is None:
            return
        self._asked[reader] = time
        if time <= self._expiry.next:
            return
        self.store.time = max(self.store.time, min(self._asked.values()))
        for _, version in self._expiry.passed(self.store.time, self._due):
            self.store.put(version, None)
            self.store.dirty[version] = None

    def left(self, reader: object) -> None:
        """A reader asks no more."""
        self._asked.pop(reader, None)

    def _due(self, version: Version) -> int | None:
        """A version is due when the next one is, a deletion at once: where nothing is left, there is no row either."""
        key, timestamp = version
        times, rows = self._histories.get(key, ([], []))
        place = bisect.bisect_left(times, timestamp)
        if place == len(times) or times[place] != timestamp:
            return None
        if rows[place] is None:
            return timestamp
        return times[place + 1] if place + 1 < len(times) else None

    def _watch(self, key: Key, timestamp: int) -> None:
        due = self._due((key, timestamp))
        if due is not None and self._expiry is not None:
            self._expiry.watch(due, (key, timestamp))

    def _restored(self) -> None:
        if self._expiry is not None:
            self._expiry.clear()
            for key, (times, _) in self._histories.items():
                for timestamp in times:
                    self._watch(key, timestamp)


class Newest:
    """The newest version of each row of a table.

    Attributes:
        store: by key.
    """

    def __init__(
        self,
        schema: Schema,
        key_types: list[ColumnType],
        *,
        retention: int | None = None,
        kept: Keeping = MEMORY,
    ) -> None:
        """`kept`: where rows are."""
        self._expiry = None if retention is None else Expiry(retention, kept.later(*_key_codec(key_types)))
        self._asked: dict[object, int] = {}
        restore = rows.restorer(schema)
        self.store = Store(
            *_key_codec(key_types),
            lambda _, entry: entry,
            lambda _, value: (value[0], None if value[1] is None else restore(value[1])),
            restored=self._restored,
            kept=kept,
        )

    def at(self, key: Key, timestamp: int) -> Row | None:
        """The row of a key, whatever the time."""
        found = self.store.rows.get(key)
        return None if found is None else found[1]

    def newest(self, key: Key) -> int:
        """The time of the version that there is."""
        known = self.store.rows.get(key)
        return NEVER if known is None else int(known[0])

    def update(self, key: Key, timestamp: int, row: Row | None) -> tuple[Row | None, int]:
        """Take a version if it is the newest; gives the row that was, and when the next one begins."""
        known = self.store.rows.get(key)
        if known is not None and known[0] > timestamp:
            return known[1], known[0]
        self.store.rows[key] = (timestamp, row)
        self.store.dirty[key] = None
        if row is None and self._expiry is not None:
            self._expiry.watch(timestamp, key)
        return None if known is None else known[1], FOREVER

    def seen(self, reader: object, time: int) -> None:
        """Deletions older than the retention are forgotten."""
        if self._expiry is None:
            return
        self._asked[reader] = time
        if time <= self._expiry.next:
            return
        self.store.time = max(self.store.time, min(self._asked.values()))
        for _, key in self._expiry.passed(self.store.time, self._due):
            if self.store.rows.pop(key, None) is not None:
                self.store.dirty[key] = None

    def left(self, reader: object) -> None:
        """A reader asks no more."""
        self._asked.pop(reader, None)

    def _due(self, key: Key) -> int | None:
        known = self.store.rows.get(key)
        return None if known is None or known[1] is not None else int(known[0])

    def _restored(self) -> None:
        if self._expiry is not None:
            self._expiry.clear()
            for key, (timestamp, row) in self.store.rows.items():
                if row is None:
                    self._expiry.watch(timestamp, key)


class _VersionStore(Store):
    """A store whose entries are the versions in the histories, by key and time."""

    def __init__(
        self,
        histories: dict[Key, History],
        schema: Schema,
        key_types: list[ColumnType],
        restored: Callable[[], None],
    ) -> None:
        encode, decode = _key_codec([*key_types, types.TIMESTAMP])
        restore = rows.restorer(schema)
        single = len(key_types) == 1
        super().__init__(
            encode if single else lambda version: encode((*version[0], version[1])),
            decode if single else lambda key: ((found := decode(key))[:-1], found[-1]),
            lambda _, entry: entry,
            lambda _, value: (None if value[0] is None else restore(value[0]),),
            restored=restored,
        )
        self._histories = histories
        self._versions = 0

    def current(self, key: Version) -> Entry | None:
        """The version as (row,), because a deletion is one too."""
        times, rows = self._histories.get(key[0], ([], []))
        place = bisect.bisect_left(times, key[1])
        return (rows[place],) if place < len(times) and times[place] == key[1] else None

    def put(self, key: Version, entry: Entry | None) -> None:
        """Set a version, or remove it."""
        of, timestamp = key
        times, rows = self._histories.setdefault(of, ([], []))
        place = bisect.bisect_left(times, timestamp)
        there = place < len(times) and times[place] == timestamp
        if entry is None:
            if there:
                del times[place], rows[place]
                self._versions -= 1
            if not times:
                del self._histories[of]
        elif there:
            rows[place] = entry[0]
        else:
            times.insert(place, timestamp)
            rows.insert(place, entry[0])
            self._versions += 1

    def scan(self, most: int) -> list[tuple[Version, Entry]]:
        """Some versions, at most so many."""
        versions = (
            ((key, timestamp), (row,))
            for key, (times, rows) in self._histories.items()
            for timestamp, row in zip(times, rows, strict=True)
        )
        return list(itertools.islice(versions, most))

    def __len__(self) -> int:
        return self._versions


def _key_codec(key_types: list[ColumnType]) -> tuple[Callable[[Key], bytes], Callable[[bytes], Key]]:
    """For keys as joins have them: the value itself where it is one."""
    encode, decode = keys.encoder(key_types), keys.decoder(key_types)
    if len(key_types) > 1:
        return encode, decode
    return lambda key: encode((key,)), lambda key: decode(key)[0]
