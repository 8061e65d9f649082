"""Rows with all that is known of them, and what an operator gives: a relation.

A row of a stream is *final* unless it says otherwise: it has to come out. A row of a table is the one that its key has
in the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from spillway.model.types import Schema

Values = tuple[Any, ...]
Lane = tuple[Any, ...]

NOTHING: frozenset[int] = frozenset()
EXACT: Mapping[int, float] = MappingProxyType({})


class UnverifiableError(Exception):
    """Part of a job that this verifier can't recompute; the message names it. No verdict, rather than a wrong one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        values: of all columns that somebody reads; None for the others.
        time: event time, in microseconds.
        appended: message time of the last record that it needed, in milliseconds.
        lane: rows with equal lanes stay in order: source, partition, operators on the way, keys that it was sent by.
        at: its place in the lane.
        maybe: whether it is there depends on the order of arrival.
        passing: it may be seen on the way to another row, which a join that corrects itself gives later.
        unsure: places of columns whose values depend on the order of arrival.
        slack: by place of a double, how far it may be off: sums of doubles depend on their order.
        times: so many rows are alike, and nobody behind tells them apart (`bags`); time and appended are the latest.
    """

    values: Values
    time: int
    appended: int
    lane: Lane = ()
    at: tuple[int, ...] = ()
    maybe: bool = False
    passing: bool = False
    unsure: frozenset[int] = NOTHING
    slack: Mapping[int, float] = dataclasses.field(default_factory=lambda: EXACT)
    times: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether all of it is determined."""
        return not (self.maybe or self.passing or self.unsure or self.slack)


@dataclasses.dataclass(frozen=True, slots=True)
class Relation:
    """What a node gives.

    Attributes:
        schema: its columns.
        rows: of a stream all of them, of a table the last one of each key.
        key: the columns that name a row of a table; None of a stream.
        ordered: whether the rows of a lane come in order.
        repeats: whether a row may rightly be given more than once: a join corrects it, maybe back to what it was.
        counts: columns that only ever grow from one update of a row to the next.
        clock: no event time that an operator sees of it is larger, in microseconds.
        history: the messages of a table that comes from a topic, as they came; None of what an operator gives.
        open: why nothing can be said of it, if so.
    """

    schema: Schema
    rows: tuple[Row, ...]
    key: tuple[str, ...] | None = None
    ordered: bool = True
    repeats: bool = False
    counts: frozenset[str] = frozenset()
    clock: int = 0
    history: tuple[Version, ...] | None = None
    open: str = ""

    @property
    def is_table(self) -> bool:
        """Whether rows are updated by key."""
        return self.key is not None

    def places(self, names: Iterable[str]) -> tuple[int, ...]:
        """Where columns stand."""
        of = {name: place for place, name in enumerate(self.schema.names)}
        return tuple(of[name] for name in names)


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """A message of a table's topic.

    Attributes:
        key: the values of the key, in the order in which the table names them.
        time: event time, in microseconds.
        appended: message time, in milliseconds.
        values: the row; None where it is deleted.
        place: partition and offset.
    """

    key: Values
    time: int
    appended: int
    values: Values | None
    place: tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Assumptions:
    """What the caller knows of the run, and no topic tells.

    Attributes:
        lead: milliseconds. What a table's topic held for so long before a record was appended is known to the joins
            of that record. None: nothing of the kind is known.
        none_late: no operator counted a record as late, so a retention has ignored nothing.
    """

    lead: int | None = 5_000
    none_late: bool = False
