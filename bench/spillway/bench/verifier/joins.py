"""Joins by their definitions, over all rows at once.

What is not determined, and said so:

| join | what depends on the order of arrival |
|---|---|
| streams, with a retention | a record that may have been too late is only a maybe, with all its pairs |
| streams, left, right or full | a record may be seen alone before its partner comes: those rows are *passing* |
| stream and table | which messages of the table were there when the record came: the columns that differ are unsure |
| the same, corrected | in the end that of all messages, if the record is kept so long; earlier results are passing |
| stream and a table that an operator gives | when its rows had which values: the table's columns are unsure |
| tables, with a retention | a row that may have been dropped is only a maybe |
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import itertools
from collections.abc import Iterable, Sequence

from spillway.bench.verifier.relations import NOTHING, Assumptions, Lane, Relation, Row, Values, Version
from spillway.model.operators import AsOf, Join, JoinType, Operator
from spillway.model.types import Schema


class Pairs:
    """How two rows become one: the left columns, then those of the right that are not joined by."""

    def __init__(self, join: Join, left: Schema, right: Schema) -> None:
        self.left = tuple(left.names.index(name) for name in join.by)
        self.right = tuple(right.names.index(name) for name in join.by)
        self._width = len(left.columns)
        self._rest = tuple(i for i, name in enumerate(right.names) if name not in join.by)

    def left_key(self, row: Row) -> Values:
        """The values that a left row is joined by."""
        return tuple(row.values[place] for place in self.left)

    def right_key(self, row: Row) -> Values:
        """Those of a right row."""
        return tuple(row.values[place] for place in self.right)

    def values(self, left: Values | None, right: Values | None) -> Values:
        """The columns of both; of a right row alone, its key stands on the left."""
        rest = (None,) * len(self._rest) if right is None else tuple(right[place] for place in self._rest)
        if left is None:
            shown = dict(zip(self.left, (right[place] for place in self.right), strict=True)) if right else {}
            left = tuple(shown.get(place) for place in range(self._width))
        return (*left, *rest)

    def joined(self, left: Row | None, right: Row | None, **more: bool) -> Row:
        """The row of both."""
        sides = [row for row in (left, right) if row is not None]
        unsure = (left.unsure if left is not None else NOTHING) | self.moved(right.unsure if right is not None else ())
        slack = dict(left.slack) if left is not None else {}
        if right is not None:
            slack |= {self._width + i: right.slack[p] for i, p in enumerate(self._rest) if p in right.slack}
        return Row(
            self.values(None if left is None else left.values, None if right is None else right.values),
            max(row.time for row in sides),
            max(row.appended for row in sides),
            maybe=more.get("maybe", False) or any(row.maybe for row in sides),
            passing=more.get("passing", False) or any(row.passing for row in sides),
            unsure=unsure,
            slack=slack,
        )

    def moved(self, places: Iterable[int]) -> frozenset[int]:
        """Places of columns of a right row, as those of the joined one."""
        known = set(places)
        return frozenset(self._width + i for i, place in enumerate(self._rest) if place in known)

    @property
    def rest(self) -> frozenset[int]:
        """The columns that come from the right."""
        return frozenset(range(self._width, self._width + len(self._rest)))


def streams(operator: Operator, left: Relation, right: Relation, schema: Schema, assumed: Assumptions) -> Relation:
    """All pairs with equal keys and times at most `within` apart; in outer joins who has no partner as well."""
    join = _join(operator)
    assert join.within is not None  # noqa: S101 - a rule of the model says so
    within = join.within.amount // 1000
    clock = max(left.clock, right.clock)
    lefts, rights = (_judged(side.rows, operator, clock, assumed) for side in (left, right))
    pairs = Pairs(join, left.schema, right.schema)
    by_key: dict[Values, list[Row]] = collections.defaultdict(list)
    for row in sorted(rights, key=lambda row: row.time):
        by_key[pairs.right_key(row)].append(row)
    times = {key: [row.time for row in rows] for key, rows in by_key.items()}
    met: dict[int, bool] = {}  # by row: whether it surely has a partner
    rows = []
    for row in lefts:
        key = pairs.left_key(row)
        if None in key or key not in by_key:
            continue
        first = bisect.bisect_left(times[key], row.time - within)
        end = bisect.bisect_right(times[key], row.time + within)
        for other in by_key[key][first:end]:
            rows.append(pairs.joined(row, other))
            for one, partner in ((row, other), (other, row)):
                met[id(one)] = met.get(id(one), False) or not partner.maybe
    if join.type in (JoinType.LEFT, JoinType.FULL):
        rows += [_alone(pairs.joined(row, None), met.get(id(row))) for row in lefts]
    if join.type in (JoinType.RIGHT, JoinType.FULL):
        rows += [_alone(pairs.joined(None, row), met.get(id(row))) for row in rights]
    return Relation(
        schema,
        tuple(rows),
        ordered=False,
        repeats=left.repeats or right.repeats,
        clock=clock,
        open=left.open or right.open,
    )


def _alone(row: Row, met: bool | None) -> Row:
    """A record without a partner; seen on the way if it has one, and a maybe if that one is."""
    return row if met is None else dataclasses.replace(row, passing=met, maybe=row.maybe or not met)


def _judged(rows: Iterable[Row], operator: Operator, clock: int, assumed: Assumptions) -> list[Row]:
    """The records; those that may be late for the retention as maybes."""
    if operator.retention is None or assumed.none_late:
        return list(rows)
    horizon = clock - operator.retention.amount // 1000
    return [dataclasses.replace(row, maybe=True) if row.time < horizon else row for row in rows]


def look_up(
    operator: Operator, left: Relation, table: Relation, schema: Schema, corrects: bool, assumed: Assumptions
) -> Relation:
    """Each record with the table's row of its time, or the newest; `corrects`: joined again when that comes late."""
    join = _join(operator)
    pairs = Pairs(join, left.schema, table.schema)
    made = Relation(
        schema,
        (),
        ordered=left.ordered and not corrects,
        repeats=left.repeats or corrects,
        clock=max(left.clock, table.clock),
        open=left.open or table.open,
    )
    look = _Lookup(operator, pairs, table, corrects, left.clock, assumed)
    rows = [found for row in _judged(left.rows, operator, left.clock, assumed) for found in look.joined(row)]
    return dataclasses.replace(made, rows=tuple(rows))


class _Lookup:
    """What a record may meet."""

    def __init__(
        self, operator: Operator, pairs: Pairs, table: Relation, corrects: bool, clock: int, assumed: Assumptions
    ) -> None:
        join = _join(operator)
        self._pairs, self._corrects, self._assumed = pairs, corrects, assumed
        self._inner = join.type is JoinType.INNER
        # A record that is older may be gone from the join's buffer before the version of its time comes.
        self._kept = None if operator.retention is None else clock - operator.retention.amount // 1000
        self._derived = table.history is None
        order = [(table.key or ()).index(name) for name in join.by]
        versions: dict[Values, list[Version]] = collections.defaultdict(list)
        for version in sorted(table.history or (), key=lambda v: v.place):
            versions[tuple(version.key[i] for i in order)].append(version)
        self._histories = {key: _History(of_key, join.as_of is AsOf.LATEST) for key, of_key in versions.items()}

    def joined(self, row: Row) -> list[Row]:
        """The results of one record, of which at most one is not passing."""
        key = self._pairs.left_key(row)
        if row.unsure & set(self._pairs.left):
            return self._one(row, [None], unsure=self._pairs.rest, maybe=self._inner)
        if None in key:
            return self._one(row, [None])
        if self._derived:
            return self._one(row, [None], unsure=self._pairs.rest, maybe=self._inner)
        history = self._histories.get(key)
        possible = [None] if history is None else history.possible(row, self._assumed.lead)
        if self._corrects and (self._kept is None or row.time >= self._kept):
            final = possible[-1]
            passing = [one for one in _different(possible[:-1]) if one != final]
            return [*self._one(row, [final]), *(r for one in passing for r in self._one(row, [one], passing=True))]
        return self._one(row, _different(possible))

    def _one(
        self,
        row: Row,
        possible: Sequence[Values | None],
        *,
        unsure: frozenset[int] = NOTHING,
        maybe: bool = False,
        passing: bool = False,
    ) -> list[Row]:
        """The record with one of these; what they differ in is unsure."""
        there = [one for one in possible if one is not None]
        if self._inner and not there and not maybe:
            return []
        values = [self._pairs.values(row.values, one) for one in (there if self._inner and there else possible)]
        differing = NOTHING
        if len(values) > 1:
            differing = frozenset(place for place in self._pairs.rest if len({repr(v[place]) for v in values}) > 1)
        lane: Lane = (*row.lane, self._pairs.left_key(row))
        return [
            dataclasses.replace(
                row,
                values=values[-1],
                lane=lane,
                maybe=row.maybe or maybe or (self._inner and len(there) < len(possible)),
                passing=row.passing or passing,
                unsure=row.unsure | unsure | differing,
            )
        ]


class _History:
    """The messages of one key of a table, in the order in which they came."""

    def __init__(self, versions: Sequence[Version], latest: bool) -> None:
        self._versions, self._latest = versions, latest
        # Of each message, the earliest append of it and all after it: it never goes back, so it can be searched.
        earliest = itertools.accumulate((version.appended for version in reversed(versions)), min)
        self._appended = list(earliest)[::-1]
        # Of equal times the last one counts: it stands behind, and is found.
        self._by_time = sorted(versions, key=lambda version: version.time)
        self._times = [version.time for version in self._by_time]

    def possible(self, row: Row, lead: int | None) -> list[Values | None]:
        """What a record may meet: after what is surely there, each further message may have come before it or not."""
        sure = 0 if lead is None else bisect.bisect_right(self._appended, row.appended - lead)
        if sure == len(self._versions):
            place = len(self._times) if self._latest else bisect.bisect_right(self._times, row.time)
            return [self._by_time[place - 1].values if place else None]
        newest: Version | None = None
        found: list[Values | None] = [None] if sure == 0 else []
        for number, version in enumerate(self._versions, 1):
            fits = self._latest or version.time <= row.time
            if fits and (newest is None or newest.time <= version.time):
                newest = version
            if number >= sure:
                found.append(None if newest is None else newest.values)
        return found


def _different(possible: Sequence[Values | None]) -> list[Values | None]:
    return list({repr(one): one for one in possible}.values())


def tables(operator: Operator, left: Relation, right: Relation, schema: Schema, assumed: Assumptions) -> Relation:
    """The newest rows of both, by the key of both."""
    join = _join(operator)
    pairs = Pairs(join, left.schema, right.schema)
    clock = max(left.clock, right.clock)
    lefts = {pairs.left_key(row): row for row in left.rows}
    rights = {pairs.right_key(row): row for row in right.rows}
    by_end = join.by.index("window_end") if "window_end" in join.by else None
    horizon = None if operator.retention is None else clock - operator.retention.amount // 1000

    def dropped(key: Values, row: Row) -> bool:
        if horizon is None:
            return False
        if by_end is not None and key[by_end] is not None:
            return bool(key[by_end] - 1 < horizon) and not assumed.none_late
        return row.time < horizon

    wants_left = join.type in (JoinType.LEFT, JoinType.FULL)
    wants_right = join.type in (JoinType.RIGHT, JoinType.FULL)
    rows = []
    for key in {**lefts, **rights}:
        one, other = lefts.get(key), rights.get(key)
        if None in key:
            # Null equals nothing; of two such rows in a full join the left one is shown.
            one, other = (one, None) if one is not None and wants_left else (None, other)
        doubtful = any(row is not None and (row.maybe or dropped(key, row)) for row in (one, other))
        if doubtful:
            rows.append(_doubtful(pairs, one, other))
        elif (one and other) or (one and wants_left) or (other and wants_right):
            rows.append(pairs.joined(one, other))
    unhistoried = Relation(schema, tuple(rows), left.key, ordered=False, clock=clock)
    kept = (left.counts | right.counts) if join.type is JoinType.INNER else frozenset[str]()
    return dataclasses.replace(unhistoried, counts=kept, open=left.open or right.open)


def _doubtful(pairs: Pairs, one: Row | None, other: Row | None) -> Row:
    row = pairs.joined(one, other, maybe=True)
    return dataclasses.replace(row, unsure=row.unsure | frozenset(range(len(row.values))) - frozenset(pairs.left))


def _join(operator: Operator) -> Join:
    assert operator.join is not None  # noqa: S101 - the kind of the operator says so
    return operator.join
