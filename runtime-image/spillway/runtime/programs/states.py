"""The table objects of a program: made for each partition of its input."""

from __future__ import annotations

from typing import Any

from spillway.runtime.programs.program import MAIN, OTHER, State
from spillway.runtime.tables.aggregation import Aggregation
from spillway.runtime.tables.lookup_join import LookupJoin, Replica
from spillway.runtime.tables.source_table import SourceTable
from spillway.runtime.tables.store import MEMORY, Keeping
from spillway.runtime.tables.stream_join import StreamJoin
from spillway.runtime.tables.table_join import TableJoin


def replica(state: State) -> Replica:
    """The rows of a broadcast table, once for all partitions of an owner."""
    assert state.operator is not None  # noqa: S101 - only joins look up replicas
    return Replica(state.operator, state.given[MAIN], state.given[OTHER])


def made(state: State, shared: Replica | None = None, kept: Keeping = MEMORY) -> Any:
    """An empty table object; of a join with a broadcast table, on the replica that its owner's partitions share.

    `kept` is where rows are. Records that wait in joins of streams, and histories of rows, stay in memory
    whatever it is: they are found by ranges of time, and a retention bounds them.
    """
    operator = state.operator
    if operator is None:
        return SourceTable(state.result, kept=kept)
    if operator.aggregate is not None:
        return Aggregation(operator, state.given[MAIN], state.result, updates=state.updates, kept=kept)
    assert operator.join is not None  # noqa: S101 - nothing else has a state
    left, right = state.given
    if operator.join.stream is not None:
        return StreamJoin(operator, left, right, state.result)
    if left.is_table:
        return TableJoin(operator, left, right, state.result, kept=kept)
    if state.broadcast and shared is None:
        shared = replica(state)
    return LookupJoin(operator, left, right, state.result, derived=state.derived, replica=shared, kept=kept)
