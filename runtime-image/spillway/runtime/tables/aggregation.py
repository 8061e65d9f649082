"""An aggregate as a table: one row for each group (and window), renewed by every record (SDF 5.2.2, Algorithm 5).

Only the newest version of the table is kept. Aggregates are commutative and associative, so it doesn't depend on the
order of the input; and as Definition 64 has it, the time of a row is the largest event time in its group. An update
carries that time, so that late records don't take a reader back to an earlier version of the row.

Of a table (Definition 73), an update takes its old row back and adds its new one. A group without rows leaves the
table. Where an update changes nothing that can be seen, nothing is emitted: another `max` that is not larger tells a
reader nothing, and an upsert of the same row would cost him a record. A `count(*)` always changes.

A retention drops groups by their last event time, windows by their end, and ignores what comes later than that. The
row of a window is final then and stays with its readers; that of a group would start again from zero, so its readers
are told that it is gone.

A record on which an expression or a total raises is not in the table. Of an update, what can be counted is: the old
row is taken back even if the new one raises, because it is in the input no more. The row of the group is then renewed
with the group's next update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spillway.expressions.relations import Relation
from spillway.model.operators import Operator
from spillway.model.types import Schema
from spillway.runtime import keys
from spillway.runtime.tables import loops, rows
from spillway.runtime.tables.expiry import Expiry, retention_of
from spillway.runtime.tables.store import MEMORY, Keeping, Store
from spillway.runtime.tables.updates import Row, Update

Key = Any
Values = tuple[Any, ...]
Entry = tuple[Any, ...]  # (row as its readers have it, largest event time, state of each aggregate…)
Partial = tuple[keys.Key, Sequence[Any], int]  # key of the row, state of each aggregate, largest event time
# The error, the position of the record, its event time, and its values.
Refused = Callable[[BaseException, int, int, int, Row], None]


class Aggregation:
    """The part of an aggregate that one partition holds.

    Attributes:
        stores: the one store that it has.
        record: takes a record (timestamp, row); gives the updates. Generated; where rows come and go, like `update`.
        fold: takes many records as edges have them, (offset, index, timestamp, column…), and gives nothing.
        late: how many records came too late for their group or for one of their windows.
    """

    record: Callable[[int, Row], list[Update]]
    fold: Callable[[Iterable[Row], Refused], None]

    def __init__(
        self,
        operator: Operator,
        given: Relation,
        result: Relation,
        *,
        updates: bool | None = None,
        kept: Keeping = MEMORY,
        folds: bool = False,
    ) -> None:
        """`updates`: whether rows of the input come and go; by default where it is a table. `kept`: where rows are.

        `folds`: it is only ever asked to `fold`, and for its partials.
        """
        self._updates = given.is_table if updates is None else updates
        retention = retention_of(operator)
        loop = loops.Loop(operator, given.schema, updates=self._updates, retention=retention, folds=folds)
        self._steps = loop.steps
        self._window = loop.window
        self._time_column = given.schema.names.index("window_start") if self._window and given.is_table else None
        self.late = 0
        self._width = loop.width + (self._window is not None)
        self._stale: dict[Key, None] = {}  # keys of rows that their readers have otherwise than the states give them
        self._decimals = [(i, self._steps[i].restore) for i in loop.decimals]
        self._zeros = [steps.zero for steps in self._steps]
        self._store = self._stored(result.schema, kept)
        self.stores = (self._store,)
        self._rows, self._dirty = self._store.rows, self._store.dirty
        self._expiry = None if retention is None else Expiry(retention, kept.later(*self._key_codec(result.schema)))
        functions = loop.compiled(
            table=self,
            store=self._store,
            rows=self._rows,
            dirty=self._dirty,
            expiry=self._expiry,
            watch=self._expiry and self._expiry.watch,
            drop=self._drop,
        )
        self._finish = functions["finish"]
        if self._updates:
            self._place, self._shift = functions["place"], functions["shift"]
            self.record = self._inserted
        else:
            self.record = functions["record"]
            self.fold = functions.get("fold", self._folded)

    # Input.

    def update(self, timestamp: int, old: Row | None, new: Row | None) -> list[Update]:
        """A row of the input changed: take the old one back, add the new one.

        Windows go by the `window_start` of a table's row. Both rows of a stream that is corrected have the time of the
        update: that is why joins give such updates apart (see StreamJoin).
        """
        failure: Exception | None = None
        try:
            before = None if old is None else self._placed(timestamp, old)
        except Exception:  # the same was raised when that row came, and kept it out
            before = None
        try:
            after = None if new is None else self._placed(timestamp, new)
        except Exception as error:  # raised again, once the old row is taken back
            after, failure = None, error
        changes: dict[Key, tuple[Values | None, Values | None]] = {}
        if before is not None:
            changes = dict.fromkeys(before[0], (before[1], None))
        if after is not None:
            for key in after[0]:
                changes[key] = (before[1] if before is not None and key in changes else None, after[1])
        return self._changed(timestamp, changes, failure)

    def merge(self, key: keys.Key, given: Sequence[Any], timestamp: int) -> list[Update]:
        """Merge states that somebody else folded, for the key of a row; Decimals may be texts, as frames have them."""
        inner = key[0] if self._width == 1 else tuple(key[: self._width])
        if self._is_late(inner, timestamp):
            return []
        states = list(given)
        for i, restore in self._decimals:
            states[i] = restore(states[i])
        entry = self._living(inner, timestamp)
        old, last = (None, timestamp) if entry is None else (entry[0], max(entry[1], timestamp))
        if entry is not None:
            states = [steps.merge(*both) for steps, *both in zip(self._steps, entry[2:], states, strict=True)]
        row = self._finish(inner, states)
        gone = self._advance(timestamp)
        self._write(inner, (row, last, *states))
        return gone if row == old else [*gone, (last, old, row)]

    def _folded(self, given: Iterable[Row], refused: Refused) -> None:
        """What `fold` does where a record is in several windows."""
        for offset, index, timestamp, *values in given:
            try:
                self.record(timestamp, tuple(values))
            except Exception as error:
                refused(error, offset, index, timestamp, tuple(values))

    # Output.

    def get(self, key: keys.Key) -> Row | None:
        """The row of a key."""
        entry = self._rows.get(key[0] if self._width == 1 else tuple(key[: self._width]))
        return None if entry is None else entry[0]

    def scan(self, most: int) -> list[Row]:
        """Some rows, at most so many."""
        return [entry[0] for _, entry in self._store.scan(most) if entry[0] is not None]

    def partials(self) -> list[Partial]:
        """All states with the keys of their rows, in the order of the encoded keys: what another one can `merge`."""
        found = [(self._shown(key), entry[2:], entry[1]) for key, entry in self._rows.items()]
        return sorted(found, key=lambda partial: keys.encode(partial[0]))

    def _shown(self, key: Key) -> keys.Key:
        """The key as rows have it: a window has an end as well."""
        parts = (key,) if self._width == 1 else key
        return parts if self._window is None else (*parts, parts[-1] + self._window.size)

    # Updates of the input.

    def _inserted(self, timestamp: int, row: Row) -> list[Update]:
        return self.update(timestamp, None, row)

    def _placed(self, timestamp: int, row: Row) -> tuple[list[Key], Values]:
        """The keys of the groups that a row is in, and the values of all arguments."""
        group, arguments = self._place(row)
        if self._window is None:
            return [group[0] if self._width == 1 else group], arguments
        starts = self._window.starts(timestamp if self._time_column is None else row[self._time_column])
        return [start if self._width == 1 else (*group, start) for start in starts], arguments

    def _changed(
        self, timestamp: int, changes: dict[Key, tuple[Values | None, Values | None]], failure: Exception | None
    ) -> list[Update]:
        """Compute all groups, then write all of them: a failure of one leaves the rows of all as readers have them."""
        found: list[tuple[Key, Row | None, Entry]] = []
        for key, (before, after) in changes.items():
            if self._expiry is None:
                entry = self._rows.get(key)
            else:
                entry = self._living(key, timestamp)
                if (entry is None or self._window is not None) and self._is_late(key, timestamp):
                    continue
            if entry is None:
                if after is None:
                    continue  # its group was dropped: there is nothing to take the row back from
                entry, before = (None, timestamp, *self._zeros), None
            states = self._shift(entry[2:], before, after)
            row = None
            if states[-1] > 0:
                try:
                    row = self._finish(key, states)
                except Exception as error:  # raised again, once all states are written
                    failure = error
            found.append((key, entry[0], (row, entry[1] if entry[1] > timestamp else timestamp, *states)))
        if failure is not None:
            for key, old, new in found:
                self._stale[key] = None
                self._write(key, (old, *new[1:]))
            raise failure
        updates = self._advance(timestamp)
        for key, old, new in found:
            if self._stale:
                self._stale.pop(key, None)
            if new[-1] > 0:
                self._write(key, new)
            else:
                self._rows.pop(key, None)
                self._dirty[key] = None
            if new[0] != old:
                updates.append((new[1], old, new[0]))
        return updates

    # Entries and their time.

    def _write(self, key: Key, entry: Entry) -> None:
        if self._expiry is not None and key not in self._rows:
            self._expiry.watch(self._due(key, entry), key)
        self._rows[key] = entry
        self._dirty[key] = None

    def _living(self, key: Key, timestamp: int) -> Entry | None:
        """The entry of a key, unless it is dropped once event time has come to the timestamp."""
        entry = self._rows.get(key)
        if entry is None or self._expiry is None or self._due(key, entry) >= timestamp - self._expiry.span:
            return entry
        return None

    def _due(self, key: Key, entry: Entry) -> int:
        """The last instant that an entry is about: of its window, or that of its newest record."""
        if self._window is None:
            return int(entry[1])
        return int(key if self._width == 1 else key[-1]) + self._window.size - 1

    def _is_late(self, key: Key, timestamp: int) -> bool:
        if self._expiry is None:
            return False
        if self._due(key, (None, timestamp)) >= max(self._store.time, timestamp) - self._expiry.span:
            return False
        self.late += 1
        return True

    def _advance(self, timestamp: int) -> list[Update]:
        if self._expiry is None or timestamp <= self._store.time:
            return []
        self._store.time = timestamp
        return self._drop() if timestamp > self._expiry.next else []

    def _drop(self) -> list[Update]:
        """Drop what is due; readers are told of groups, not of windows."""
        assert self._expiry is not None  # noqa: S101 - it is asked only with a retention
        time = self._store.time
        passed = self._expiry.passed(time, self._due_now)
        gone: list[Update] = []
        for _, key in sorted(passed, key=lambda due: (due[0], self._encoded(due[1]))):
            entry = self._rows.pop(key)
            self._dirty[key] = None
            self._stale.pop(key, None)
            if self._window is None and entry[0] is not None:
                gone.append((time, entry[0], None))
        return gone

    def _due_now(self, key: Key) -> int | None:
        entry = self._rows.get(key)
        return None if entry is None else self._due(key, entry)

    # The changelog.

    def _key_codec(self, result: Schema) -> tuple[Callable[[Key], bytes], Callable[[bytes], Key]]:
        types = [column.type for column in result.columns[: self._width]]
        encode, decode = keys.encoder(types), keys.decoder(types)
        if self._width == 1:
            return lambda key: encode((key,)), lambda key: decode(key)[0]
        return encode, decode

    def _stored(self, result: Schema, kept: Keeping) -> Store:
        row = rows.restorer(result)

        def entry(key: Key, value: Any) -> Entry:
            states = value[1]
            for i, restore in self._decimals:
                states[i] = restore(states[i])
            if len(value) == 2:
                if self._stale:
                    self._stale.pop(key, None)
                return (self._finish(key, states), value[0], *states)
            self._stale[key] = None
            return (None if value[2] is None else row(value[2]), value[0], *states)

        def value(key: Key, entry: Entry) -> list[Any]:
            return [entry[1], entry[2:], entry[0]] if key in self._stale else [entry[1], entry[2:]]

        return Store(
            *self._key_codec(result),
            value,
            entry,
            restored=self._restored,
            kept=kept,
        )

    def _encoded(self, key: Key) -> bytes:
        return keys.encode((key,) if self._width == 1 else key)

    def _restored(self) -> None:
        if self._expiry is not None:
            self._expiry.clear()
            for key, entry in self._rows.items():
                self._expiry.watch(self._due(key, entry), key)


def combiner(operator: Operator, given: Relation, result: Relation) -> Aggregation:
    """One that folds the records of a batch; its `partials` are what the aggregation itself merges."""
    return Aggregation(operator.model_copy(update={"retention": None}), given, result, folds=True)
