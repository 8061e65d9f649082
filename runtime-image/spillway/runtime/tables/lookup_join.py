"""A stream that looks up rows of a table (SDF Definitions 68 and 69): each record meets the row of its time.

The record at t meets the version of t: the row of the latest update up to t, none before the first one and none after
a deletion. A version is found wherever it stands, so late records need no care, and late updates of the table land in
their place. With `asOf: latest` a record meets the newest row, whatever its time.

A record that comes before its version of the table goes out at once, with what the table has; nobody waits. What the
thesis adds for such updates (end of 5.2.3) is to keep the records and to join them again: emit eagerly, update later.
That needs a bound, so it is done for as long as a `retention` says, and not at all without one: then each record is
joined once, and a table that is read late is late. Joins with a replica are never corrected, because they have to give
the same in both paradigms, and batches keep no records.

Rows of a topic's table are in the order of their times. Those of an operator (`derived`) are in the order in which
they come: an aggregate gives its newest row, and that is the one from now on, even if an older record made it.

A retention also bounds the versions: kept are those after event time less the retention, and the one before. Records
that are older than that are ignored and counted. Event time is that of the stream, because only records ask. A replica
goes by the slowest partition of those that it has seen records of: one without any must not keep all versions.
"""

from __future__ import annotations

from typing import Protocol

from spillway.expressions.relations import Relation
from spillway.model.operators import AsOf, JoinType, Operator
from spillway.model.types import Schema
from spillway.runtime.tables.buffers import Buffer
from spillway.runtime.tables.expiry import retention_of
from spillway.runtime.tables.pairing import Key, Pairing
from spillway.runtime.tables.store import MEMORY, NEVER, Keeping, Store
from spillway.runtime.tables.updates import Row, Update
from spillway.runtime.tables.versions import Newest, Versions

Record = tuple[int, Row]


class _Timed(Protocol):
    time: int


class _Clock:
    """The event time of a join that stores nothing itself."""

    time = NEVER


class LookupJoin:
    """The part of a join of a stream with a table that one partition holds.

    Attributes:
        replica: the rows of the table; several joins may share them.
        stores: its own ones: the table, unless it is shared, and the records that may have to be joined again.
        corrects: whether `table` gives updates of results; results are then to be read as inserts.
        late: how many records came too late.
    """

    def __init__(
        self,
        operator: Operator,
        left: Relation,
        right: Relation,
        result: Relation,
        *,
        derived: bool = False,
        replica: Replica | None = None,
        kept: Keeping = MEMORY,
    ) -> None:
        """How the table is read.

        `derived`: its rows come from an operator, not from a topic. `replica`: its rows are those of a broadcast table,
        which somebody else updates; without it, the join has its own. `kept`: where those are, if only the newest are.
        """
        join = operator.join
        assert join is not None  # noqa: S101 - the kind of the operator says so
        self._pairing = Pairing(join, left.schema, right.schema)
        self._alone = self._pairing.left_alone if join.type is JoinType.LEFT else None
        self._retention = retention_of(operator)
        self.replica = Replica(operator, left, right, derived=derived, kept=kept) if replica is None else replica
        self._rows = self.replica.rows
        self.corrects = replica is None and self._retention is not None and join.as_of is not AsOf.LATEST
        self._buffer = self._buffered(left.schema) if self.corrects else None
        own = [] if replica is not None else [self._rows.store]
        self.stores: tuple[Store, ...] = (*own, *([self._buffer.store] if self._buffer else []))
        self._clock: _Timed = self.stores[0] if self.stores else _Clock()
        self.late = 0

    def record(self, timestamp: int, row: Row) -> list[Record]:
        """The record with its row of the table."""
        if self._retention is not None and self._is_late(timestamp):
            return []
        key = self._pairing.left_key(row)
        found = None if key is None else self._rows.at(key, timestamp)
        if self._buffer is not None and key is not None:
            self._buffer.add(key, timestamp, row, alone=False)
        joined = self._joined(row, found)
        return [] if joined is None else [(timestamp, joined)]

    def update(self, timestamp: int, old: Row | None, new: Row | None) -> list[Update]:
        """A record of a stream that is corrected; both rows have this time."""
        if self._retention is not None and self._is_late(timestamp):
            return []
        before = None if old is None else self._taken_back(timestamp, old)
        after = [] if new is None else self.record(timestamp, new)
        if not after:
            return [] if before is None else [(timestamp, before, None)]
        return [] if before == after[0][1] else [(timestamp, before, after[0][1])]

    def table(self, timestamp: int, old: Row | None, new: Row | None) -> list[Update]:
        """A row of the table changed; `old` needs to hold no more than the key. Gives updates of earlier results."""
        changed = self.replica.update(timestamp, old, new)
        if changed is None or self._buffer is None:
            return []
        key, before, since, until = changed
        if before == new:
            return []
        found = [self._buffer.waiting[number] for number in self._buffer.between(key, since, until - 1)]
        updates = [(time, self._joined(row, before), self._joined(row, new)) for time, row, _ in found]
        return [update for update in updates if update[1] != update[2]]

    def close(self) -> None:
        """The partition is somebody else's now: a shared replica need not keep versions for it."""
        self._rows.left(self)

    def _taken_back(self, timestamp: int, row: Row) -> Row | None:
        """What became of a record that is taken back."""
        key = self._pairing.left_key(row)
        if key is None:
            return self._joined(row, None)
        if self._buffer is not None and self._buffer.take(key, timestamp, row) is None:
            return None
        return self._joined(row, self._rows.at(key, timestamp))

    def _joined(self, row: Row, found: Row | None) -> Row | None:
        if found is not None:
            return self._pairing.pair(row, found)
        return None if self._alone is None else self._alone(row)

    def _buffered(self, schema: Schema) -> Buffer:
        return Buffer(schema, self._pairing.left_key, place=1, retention=self._retention, reach=0)

    def _is_late(self, timestamp: int) -> bool:
        assert self._retention is not None  # noqa: S101 - it is asked only with a retention
        if timestamp < max(self._clock.time, self._rows.store.time) - self._retention:
            self.late += 1
            return True
        if timestamp > self._clock.time:
            self._clock.time = timestamp
            self._rows.seen(self, timestamp)
            if self._buffer is not None:
                self._buffer.drop(timestamp)
        return False


class Replica:
    """The rows of a table, for the joins of all partitions that an owner has.

    Attributes:
        rows: their versions, or the newest ones.
        store: where they are.
    """

    def __init__(
        self, operator: Operator, left: Relation, right: Relation, *, derived: bool = False, kept: Keeping = MEMORY
    ) -> None:
        """`kept`: where rows are, if only the newest ones are; histories are in memory."""
        self._derived = derived
        join = operator.join
        assert join is not None  # noqa: S101 - the kind of the operator says so
        pairing = Pairing(join, left.schema, right.schema)
        retention = retention_of(operator)
        self.rows: Versions | Newest = (
            Newest(right.schema, pairing.key_types, retention=retention, kept=kept)
            if join.as_of is AsOf.LATEST
            else Versions(right.schema, pairing.key_types, retention=retention)
        )
        self.store = self.rows.store
        self._key = pairing.right_key

    def update(self, timestamp: int, old: Row | None, new: Row | None) -> tuple[Key, Row | None, int, int] | None:
        """Put a version in its place: its key, the row that was there, its time, that of the next one; None: no key."""
        row = new if new is not None else old
        key = None if row is None else self._key(row)
        if key is None:
            return None
        if self._derived:
            timestamp = max(timestamp, self.rows.newest(key))
        before, until = self.rows.update(key, timestamp, new)
        return key, before, timestamp, until
