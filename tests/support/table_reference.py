"""What tables have to come to: each operator over its whole input at once, in plain Python; and a reader that checks.

No state, no order, no updates: a definition for each operator, as the books have it. Besides that, makers of the real
tables from texts as they stand in a manifest, and the ways of hypothesis to shuffle inputs.
"""

from __future__ import annotations

import collections
import copy
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spillway.expressions import relations
from spillway.expressions.relations import Relation
from spillway.model import types
from spillway.model.operators import Operator
from spillway.runtime.tables.store import Store, load

Row = tuple[Any, ...]
Record = tuple[int, Row]
Update = tuple[int, Row | None, Row | None]
Key = tuple[Any, ...]
Change = tuple[bytes, bytes | None]

MS = 1_000  # microseconds


# Definitions


def windows(timestamp: int, size: int, slide: int) -> list[int]:
    """The starts of all windows that hold a time: multiples of the slide, start inclusive, end exclusive."""
    around = timestamp // slide
    return [
        n * slide for n in range(around - size // slide - 1, around + 2) if n * slide <= timestamp < n * slide + size
    ]


VALUES: dict[str, Callable[[list[Any]], Any]] = {
    "count": lambda values: sum(value is not None for value in values),
    "sum": lambda values: sum(v for v in values if v is not None) if any(v is not None for v in values) else None,
    "avg": lambda values: (
        sum(v for v in values if v is not None) / sum(v is not None for v in values)
        if any(v is not None for v in values)
        else None
    ),
    "min": lambda values: min((v for v in values if v is not None), default=None),
    "max": lambda values: max((v for v in values if v is not None), default=None),
    "collect_set": lambda values: sorted({v for v in values if v is not None}),
}


def aggregated(
    records: Iterable[Record],
    group: Callable[[Row], Key],
    values: Sequence[tuple[str, Callable[[Row], Any]]],
    window: tuple[int, int] | None = None,
) -> dict[Key, Row]:
    """GROUP BY, and by windows where there are any."""
    groups: dict[Key, list[Row]] = collections.defaultdict(list)
    for timestamp, row in records:
        spans = [()] if window is None else [(start, start + window[0]) for start in windows(timestamp, *window)]
        for span in spans:
            groups[(*group(row), *span)].append(row)
    return {
        key: (*key, *(VALUES[name]([of(row) for row in rows]) for name, of in values)) for key, rows in groups.items()
    }


def stream_joined(
    left: Iterable[Record], right: Iterable[Record], within: int, kind: str, joined: Callable[..., Row], key: int = 0
) -> collections.Counter[Record]:
    """Definition 67: all pairs with equal keys and times within the window; for outer joins, also who has no pair."""
    left, right = list(left), list(right)
    pairs = [
        (i, j)
        for i, (t, row) in enumerate(left)
        for j, (u, other) in enumerate(right)
        if row[key] is not None and row[key] == other[key] and abs(t - u) <= within
    ]
    found = [(max(left[i][0], right[j][0]), joined(left[i][1], right[j][1])) for i, j in pairs]
    if kind in ("left", "full"):
        found += [(t, joined(row, None)) for i, (t, row) in enumerate(left) if i not in {i for i, _ in pairs}]
    if kind in ("right", "full"):
        found += [(t, joined(None, row)) for j, (t, row) in enumerate(right) if j not in {j for _, j in pairs}]
    return collections.Counter(found)


def version(updates: Iterable[tuple[int, Key, Row | None]], key: Key, timestamp: int) -> Row | None:
    """The row of a key in the table's version of a time: the latest update up to it; of equal times the last one."""
    before = [(t, i, row) for i, (t, of, row) in enumerate(updates) if of == key and t <= timestamp]
    return max(before, key=lambda update: update[:2])[2] if before else None


def table_joined(
    left: dict[Key, Row], right: dict[Key, Row], kind: str, joined: Callable[..., Row]
) -> collections.Counter[Row]:
    """Definition 74 for the newest versions."""
    rows = [joined(left[key], right[key]) for key in left if key in right and None not in key]
    lonely = [key for key in left if key not in right or None in key]
    if kind in ("left", "full"):
        rows += [joined(left[key], None) for key in lonely]
    if kind in ("right", "full"):
        rows += [joined(None, right[key]) for key in right if key not in left or None in key]
    return collections.Counter(rows)


# A reader


class Reader:
    """Folds updates as whoever reads a table does; a wrong `old` is noticed at once."""

    def __init__(self) -> None:
        self.rows: collections.Counter[Row] = collections.Counter()
        self.timed: collections.Counter[Record] = collections.Counter()

    def read(self, updates: Iterable[Update]) -> None:
        """Take old rows out and put new ones in."""
        for timestamp, old, new in updates:
            assert (old, new) != (None, None), "an update of nothing"
            assert old != new, f"an update that changes nothing: {old}"
            if old is not None:
                assert self.rows[old] > 0, f"{old} was never there; there are {+self.rows}"
                self.rows[old] -= 1
            if new is not None:
                self.rows[new] += 1
                self.timed[timestamp, new] += 1
        self.rows = +self.rows

    def by_key(self, width: int) -> dict[Key, Row]:
        """The rows by the first so many columns; two of one key are noticed."""
        found = {row[:width]: row for row in self.rows}
        assert len(found) == self.rows.total(), f"a key is there twice: {self.rows}"
        return found


# Makers


def operator(retention: str | None = None, **kind: Any) -> Operator:
    """An operator as a manifest has it."""
    parts = {"name": "it", "input": "left", **({} if retention is None else {"retention": retention}), **kind}
    return Operator.model_validate_json(json.dumps(parts))


def relation(columns: str, *key: str) -> Relation:
    """A stream of these columns, or a table where there is a key."""
    return Relation(types.parse_schema(columns), key or None)


def result(of: Operator, *inputs: Relation) -> Relation:
    """The relation that comes out."""
    found: Relation = relations._KINDS[of.kind](of, inputs)  # noqa: SLF001 - infer() would want a whole topology
    return found


def written(stores: Sequence[Store]) -> list[Change]:
    """What a commit writes."""
    return [change for store in stores for change in store.changes()]


def compacted(log: Sequence[Change]) -> list[Change]:
    """The log with the last record of each key alone."""
    last = {key: i for i, (key, _) in enumerate(log)}
    return [change for i, change in enumerate(log) if last[change[0]] == i]


def restore(stores: Sequence[Store], log: Iterable[Change]) -> None:
    """Load a changelog into new stores."""
    for key, value in log:
        load(stores, key, value)
    for store in stores:
        store.restored()


def content(stores: Sequence[Store]) -> list[Any]:
    """All that stores hold, to compare now or later."""
    return [(store.time, store.number, copy.deepcopy(dict(store.scan(10**9)))) for store in stores]


def delayed(events: Sequence[Any], delays: Sequence[int]) -> list[Any]:
    """The events in the order of their times (each one's second value) and these delays."""
    order = sorted(range(len(events)), key=lambda i: (events[i][1] + delays[i], i))
    return [events[i] for i in order]
