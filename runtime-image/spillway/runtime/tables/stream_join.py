"""Two streams joined within a span of time (SDF Definitions 67 and 70): emit at once, update later.

Records r and s match where their keys are equal and |r.t - s.t| <= within. Each pair is a result of its own, with the
time max(r.t, s.t), however many equal records there are: results are known by the numbers of their records, as the
thesis does it by offsets.

In an outer join, a record that finds no partner goes out alone at once, (r, null). When its first partner comes, that
result is updated to the pair; further partners give further results. So an inner join only ever inserts, and whoever
folds the updates of an outer one has its result for the input so far, in whatever order that came.

A stream may be corrected itself, where it is the result of another outer join: its records are then taken back with
all results that they had.

A retention bounds the buffers: a record that comes later than that is ignored and counted, and one that is in time
finds every partner that was, because records are kept for `within` and the retention. Event time is the largest of
both sides: else one side that stands still would let the buffer of the other grow for ever. So the retention has to
cover how far the two sides may be apart, as well as how late records are.
"""

from __future__ import annotations

from collections.abc import Callable

from spillway.expressions.relations import Relation
from spillway.model.operators import JoinType, Operator
from spillway.runtime.tables.buffers import Buffer
from spillway.runtime.tables.expiry import MICROSECOND, retention_of
from spillway.runtime.tables.pairing import KeyOf, Pairing
from spillway.runtime.tables.updates import Row, Update


class StreamJoin:
    """The part of a join of two streams that one partition holds.

    Attributes:
        stores: the records of the left side, and those of the right.
        corrects: whether results are updated later, or only ever inserted.
        late: how many records came too late.
    """

    def __init__(
        self, operator: Operator, left: Relation, right: Relation, result: Relation, *, apart: bool = True
    ) -> None:
        """`apart`: whether updates whose rows have different times go out as a delete and an insert, each at its time.

        Readers that go by time need that: the row that is taken back is in another window, or met another version of a
        table. Where there are none, one update does.
        """
        join = operator.join
        assert join is not None  # noqa: S101 - the kind of the operator says so
        assert join.within is not None  # noqa: S101 - a rule of the model says so
        pairing = Pairing(join, left.schema, right.schema)
        within = join.within.amount // MICROSECOND
        self._retention = retention_of(operator)
        lefts, rights = (
            Buffer(relation.schema, key_of, place=i, retention=self._retention, reach=within)
            for i, (relation, key_of) in enumerate([(left, pairing.left_key), (right, pairing.right_key)])
        )
        left_alone = pairing.left_alone if join.type in (JoinType.LEFT, JoinType.FULL) else None
        right_alone = pairing.right_alone if join.type in (JoinType.RIGHT, JoinType.FULL) else None
        self._left = _Side(within, lefts, rights, pairing.left_key, pairing.pair, left_alone, right_alone, apart)
        flipped = _flipped(pairing.pair)
        self._right = _Side(within, rights, lefts, pairing.right_key, flipped, right_alone, left_alone, apart)
        self._buffers = lefts, rights
        self.stores = (lefts.store, rights.store)
        self.corrects = join.type is not JoinType.INNER
        self.late = 0

    def left(self, timestamp: int, row: Row) -> list[Update]:
        """A record of the left stream."""
        return [] if self._is_late(timestamp) else self._left.record(timestamp, row)

    def right(self, timestamp: int, row: Row) -> list[Update]:
        """A record of the right stream."""
        return [] if self._is_late(timestamp) else self._right.record(timestamp, row)

    def left_update(self, timestamp: int, old: Row | None, new: Row | None) -> list[Update]:
        """A result of another join, which the left stream is, was corrected; both rows have this time."""
        return [] if self._is_late(timestamp) else self._left.update(timestamp, old, new)

    def right_update(self, timestamp: int, old: Row | None, new: Row | None) -> list[Update]:
        """The same on the right."""
        return [] if self._is_late(timestamp) else self._right.update(timestamp, old, new)

    def _is_late(self, timestamp: int) -> bool:
        if self._retention is None:
            return False
        clock = self.stores[0]
        if timestamp < clock.time - self._retention:
            self.late += 1
            return True
        if timestamp > clock.time:
            clock.time = timestamp
            for buffer in self._buffers:
                buffer.drop(timestamp)
        return False


class _Side:
    """One side as it sees the other."""

    def __init__(
        self,
        within: int,
        own: Buffer,
        other: Buffer,
        key_of: KeyOf,
        pair: Callable[[Row, Row], Row],
        alone: Callable[[Row], Row] | None,
        other_alone: Callable[[Row], Row] | None,
        apart: bool,
    ) -> None:
        self._apart = apart
        self._within = within
        self._own, self._other = own, other
        self._key_of, self._pair = key_of, pair
        self._alone, self._other_alone = alone, other_alone

    def record(self, timestamp: int, row: Row) -> list[Update]:
        """The results with all partners that are there, or that it has none."""
        key = self._key_of(row)
        if key is None:
            return [] if self._alone is None else [(timestamp, None, self._alone(row))]
        updates: list[Update] = []
        for number in self._other.between(key, timestamp - self._within, timestamp + self._within):
            time, partner, alone = self._other.waiting[number]
            old = None
            if alone and self._other_alone is not None:
                old = self._other_alone(partner)
                self._other.mark(number, alone=False)
                if self._apart and time < timestamp:
                    updates.append((time, old, None))
                    old = None
            updates.append((time if time > timestamp else timestamp, old, self._pair(row, partner)))
        alone = not updates and self._alone is not None
        if alone and self._alone is not None:
            updates.append((timestamp, None, self._alone(row)))
        self._own.add(key, timestamp, row, alone=alone)
        return updates

    def update(self, timestamp: int, old: Row | None, new: Row | None) -> list[Update]:
        """Take the results of one record back, and give those of another."""
        updates = [] if old is None else self._taken_back(timestamp, old)
        return updates if new is None else [*updates, *self.record(timestamp, new)]

    def _taken_back(self, timestamp: int, row: Row) -> list[Update]:
        """Without the record, its results are not there; partners that had no other are alone again."""
        key = self._key_of(row)
        taken = None if key is None else self._own.take(key, timestamp, row)
        if self._alone is not None and (key is None or (taken is not None and taken[2])):
            return [(timestamp, self._alone(row), None)]
        updates: list[Update] = []
        if taken is None:
            return updates
        for number in self._other.between(key, timestamp - self._within, timestamp + self._within):
            time, partner, _ = self._other.waiting[number]
            updates.append((max(time, timestamp), self._pair(row, partner), None))
            if self._other_alone is None or self._own.between(key, time - self._within, time + self._within):
                continue
            self._other.mark(number, alone=True)
            updates.append((time, None, self._other_alone(partner)))
        return updates


def _flipped(pair: Callable[[Row, Row], Row]) -> Callable[[Row, Row], Row]:
    return lambda right, left: pair(left, right)
