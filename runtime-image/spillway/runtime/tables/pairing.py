"""How two rows become one: the columns of the left, then those of the right that are no columns of the key.

A key is the value itself where it is one column, else the tuple; None where one of its values is null, because in SQL
null equals nothing, not even null. A row of the right alone shows its key in the columns of the left.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from spillway.model.operators import Join
from spillway.model.types import ColumnType, Schema
from spillway.runtime.tables.updates import Row

Key = Any
KeyOf = Callable[[Row], Key]


class Pairing:
    """The columns of one join.

    Attributes:
        left_key, right_key: the key of a row of each side, None with a null in it.
        pair: the row of two that match.
        left_alone, right_alone: the row of one without a partner.
        key_types: the types of the key's columns.
    """

    def __init__(self, join: Join, left: Schema, right: Schema) -> None:
        rest = [i for i, name in enumerate(right.names) if name not in join.by]
        nothing = (None,) * len(rest)
        picked = _picker(rest)
        shown = {left.names.index(name): right.names.index(name) for name in join.by}
        places = [shown.get(i) for i in range(len(left))]
        self.left_key, self.right_key = (key_of(schema, join.by) for schema in (left, right))
        self.pair: Callable[[Row, Row], Row] = lambda one, other: one + picked(other)
        self.left_alone: Callable[[Row], Row] = lambda row: row + nothing
        self.right_alone: Callable[[Row], Row] = lambda row: (
            tuple([None if i is None else row[i] for i in places]) + picked(row)
        )
        self.key_types: list[ColumnType] = [left.columns[left.names.index(name)].type for name in join.by]


def key_of(schema: Schema, names: tuple[str, ...]) -> KeyOf:
    """A function from a row to the values of these columns, or None."""
    places = [schema.names.index(name) for name in names]
    pick = operator.itemgetter(*places)
    if len(places) == 1:
        return pick

    def several(row: Row) -> Key:
        key = pick(row)
        return None if None in key else key

    return several


def _picker(places: list[int]) -> Callable[[Row], Row]:
    if not places:
        return lambda row: ()
    if len(places) == 1:
        place = places[0]
        return lambda row: (row[place],)
    if places == list(range(places[0], places[-1] + 1)):
        first, end = places[0], places[-1] + 1
        return lambda row: row[first:end]
    return operator.itemgetter(*places)
