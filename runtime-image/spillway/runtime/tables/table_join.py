"""Two tables joined by their keys (SDF Definition 74): the newest version of the one with that of the other.

For each key there is at most one row on each side, so there is at most one result, and an update of either side
updates it, inserts it or deletes it. The time of a result is the larger one of its rows.

Null equals nothing: a row with a null in its key matches no other, and shows up in outer joins alone. (Of two such rows
in a full join the left one is shown, because the result is a table itself, with one row for each key.)

A retention drops rows: those with a `window_end` in their key by that, others by the time of their last update. What
comes for a row that is dropped is ignored and counted, if it is as old itself. Readers keep the results of windows,
which are final then; they are told that those of other keys are gone.
"""

from __future__ import annotations

import itertools
import operator as operator_
from collections.abc import Callable
from typing import Any

from spillway.expressions.relations import Relation
from spillway.model.operators import JoinType, Operator
from spillway.model.types import ColumnType, Schema
from spillway.runtime import keys
from spillway.runtime.tables import rows
from spillway.runtime.tables.expiry import Expiry, retention_of
from spillway.runtime.tables.pairing import Pairing
from spillway.runtime.tables.store import MEMORY, Keeping, Store
from spillway.runtime.tables.updates import Row, Update

Key = tuple[Any, ...]
Entry = tuple[int, Row]  # time of the last update, row


class TableJoin:
    """The part of a join of two tables that one partition holds.

    Attributes:
        stores: the rows of the left side, and those of the right.
        late: how many updates came too late.
    """

    def __init__(
        self, operator: Operator, left: Relation, right: Relation, result: Relation, *, kept: Keeping = MEMORY
    ) -> None:
        """`kept`: where rows are."""
        join = operator.join
        assert join is not None  # noqa: S101 - the kind of the operator says so
        self._pairing = Pairing(join, left.schema, right.schema)
        self._left_alone = join.type in (JoinType.LEFT, JoinType.FULL)
        self._right_alone = join.type in (JoinType.RIGHT, JoinType.FULL)
        self._keys = tuple(_key_of(relation.schema, join.by) for relation in (left, right))
        types = self._pairing.key_types
        self.stores = tuple(
            _store(i, types, relation.schema, self._restored, kept) for i, relation in enumerate((left, right))
        )
        retention = retention_of(operator)
        encode, decode = keys.encoder(types), keys.decoder(types)
        later = kept.later(lambda of: bytes((of[0],)) + encode(of[1]), lambda of: (of[0], decode(of[1:])))
        self._expiry = None if retention is None else Expiry(retention, later)
        self._end = join.by.index("window_end") if "window_end" in join.by else None
        names = result.key or ()
        self._order = [names.index(name) for name in join.by]
        self.late = 0

    def left(self, timestamp: int, old: Row | None, new: Row | None) -> list[Update]:
        """A row of the left table changed."""
        return self._changed(0, timestamp, old, new)

    def right(self, timestamp: int, old: Row | None, new: Row | None) -> list[Update]:
        """A row of the right table changed."""
        return self._changed(1, timestamp, old, new)

    def get(self, key: keys.Key) -> Row | None:
        """The result of a key, whose columns are in the order that the result has them in."""
        return self._result(tuple([key[place] for place in self._order]))

    def scan(self, most: int) -> list[Row]:
        """Some rows, at most so many."""
        there = itertools.chain(
            self.stores[0].rows, (key for key in self.stores[1].rows if key not in self.stores[0].rows)
        )
        results = (self._result(key) for key in there)
        return list(itertools.islice((row for row in results if row is not None), most))

    def _changed(self, side: int, timestamp: int, old: Row | None, new: Row | None) -> list[Update]:
        row = new if new is not None else old
        if row is None:
            return []
        key = self._keys[side](row)
        if self._is_late(key, timestamp) and (self._end is not None or key not in self.stores[side].rows):
            self.late += 1
            return []
        gone = self._advance(timestamp)
        own, other = self.stores[side].rows, self.stores[1 - side].rows.get(key)
        known = own.get(key)
        time = timestamp if known is None else max(timestamp, known[0])
        entry = None if new is None else (time, new)
        if entry is None:
            own.pop(key, None)
        else:
            if self._expiry is not None and known is None:
                self._expiry.watch(self._due(key, time), (side, key))
            own[key] = entry
        self.stores[side].dirty[key] = None
        if side == 0:
            before, after = self._joined(key, known, other), self._joined(key, entry, other)
        else:
            before, after = self._joined(key, other, known), self._joined(key, other, entry)
        if before != after:
            gone.append((time if other is None else max(time, other[0]), before, after))
        return gone

    def _result(self, key: Key) -> Row | None:
        """The result of a key."""
        left, right = self.stores
        return self._joined(key, left.rows.get(key), right.rows.get(key))

    def _joined(self, key: Key, left: Entry | None, right: Entry | None) -> Row | None:
        if left is not None and right is not None and None not in key:
            return self._pairing.pair(left[1], right[1])
        if left is not None and self._left_alone:
            return self._pairing.left_alone(left[1])
        if right is not None and self._right_alone:
            return self._pairing.right_alone(right[1])
        return None

    # Retention.

    def _is_late(self, key: Key, timestamp: int) -> bool:
        return self._expiry is not None and self._due(key, timestamp) < self.stores[0].time - self._expiry.span

    def _due(self, key: Key, time: int) -> int:
        end = None if self._end is None else key[self._end]
        return time if end is None else int(end) - 1

    def _due_now(self, entry: tuple[int, Key]) -> int | None:
        side, key = entry
        found = self.stores[side].rows.get(key)
        return None if found is None else self._due(key, found[0])

    def _advance(self, timestamp: int) -> list[Update]:
        clock = self.stores[0]
        if self._expiry is None or timestamp <= clock.time:
            return []
        clock.time = timestamp
        if timestamp <= self._expiry.next:
            return []
        passed = self._expiry.passed(timestamp, self._due_now)
        gone: list[Update] = []
        for _, (side, key) in sorted(passed, key=lambda due: (due[0], due[1][0], keys.encode(due[1][1]))):
            before = self._result(key)
            del self.stores[side].rows[key]
            self.stores[side].dirty[key] = None
            after = self._result(key)
            if before != after and self._end is None:
                gone.append((timestamp, before, after))
        return gone

    def _restored(self) -> None:
        """After either store: whichever comes second sees both."""
        if self._expiry is not None:
            self._expiry.clear()
            for side, store in enumerate(self.stores):
                for key, (time, _) in store.rows.items():
                    self._expiry.watch(self._due(key, time), (side, key))


def _key_of(schema: Schema, names: tuple[str, ...]) -> Callable[[Row], Key]:
    """Nulls and all: here a key names a row, whether it matches another or not."""
    places = [schema.names.index(name) for name in names]
    if len(places) == 1:
        place = places[0]
        return lambda row: (row[place],)
    return operator_.itemgetter(*places)


def _store(place: int, types: list[ColumnType], schema: Schema, restored: Callable[[], None], kept: Keeping) -> Store:
    row = rows.restorer(schema)
    return Store(
        keys.encoder(types),
        keys.decoder(types),
        lambda _, entry: entry,
        lambda _, value: (value[0], row(value[1])),
        place=place,
        restored=restored,
        kept=kept,
    )
