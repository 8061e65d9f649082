"""A table that comes from a topic: rows by key, as messages say; here they become updates with the row before.

The newest row of a key is that of the largest time, and of equal times the last one (SDF Definition 58). A message
that is older than what is there changes nothing for readers of the newest version; a temporal join reads the messages
themselves (`LookupJoin.table`).
"""

from __future__ import annotations

import operator

from spillway.expressions.relations import Relation
from spillway.runtime import keys
from spillway.runtime.tables.store import MEMORY, Keeping
from spillway.runtime.tables.updates import Row, Update
from spillway.runtime.tables.versions import FOREVER, Newest

# How long a deletion is remembered, so that an older row that comes late doesn't bring it back. Kafka itself forgets it
# after a day (delete.retention.ms): who reads the topic from its start later than that doesn't know of it either.
DAY = 86_400_000_000  # microseconds


class SourceTable:
    """The rows of one partition of the topic.

    Attributes:
        stores: the one store that it has.
        late: how many messages were older than the row that they were for.
    """

    def __init__(self, relation: Relation, *, kept: Keeping = MEMORY) -> None:
        """`kept`: where rows are."""
        names = relation.key or ()
        # Here null is a value like all others: it names a row, and doesn't have to match one.
        self._key = operator.itemgetter(*(relation.schema.names.index(name) for name in names))
        types = [column.type for name in names for column in relation.schema if column.name == name]
        self._rows = Newest(relation.schema, types, retention=DAY, kept=kept)
        self._width = len(names)
        self.stores = (self._rows.store,)
        self.late = 0

    def update(self, timestamp: int, key_row: Row, new: Row | None) -> list[Update]:
        """A message: a row that holds at least the key, and the row itself, None to delete it."""
        key = self._key(key_row)
        before, until = self._rows.update(key, timestamp, new)
        if until < FOREVER:
            self.late += 1
            return []
        if timestamp > self._rows.store.time:
            self._rows.store.time = timestamp
            self._rows.seen(self, timestamp)
        return [] if before == new else [(timestamp, before, new)]

    def get(self, key: keys.Key) -> Row | None:
        """The row of a key."""
        return self._rows.at(key[0] if self._width == 1 else tuple(key), 0)

    def scan(self, most: int) -> list[Row]:
        """Some rows, at most so many."""
        return [row for _, (_, row) in self._rows.store.scan(most) if row is not None]
