"""Point queries, where drivers, workers and slots have to agree: which tables can be asked, and by which columns.

A table is asked by the columns that bring a row to its partition: those that an aggregate groups by, or a join of two
tables is made by. Nothing else can be asked: lookups and joins of streams keep rows of what they read, none of their
own, a table of the user lies as its topic does, and an aggregate without groups has one row and no key.
"""

from __future__ import annotations

from spillway.expressions.relations import Relation
from spillway.model.operators import Operator
from spillway.runtime.programs.program import MAIN, State

LONGEST_KEY = 2000  # characters: with 16 open questions of 4 bytes each, less than a pipe takes at once


def columns(operator: Operator, main: Relation, result: Relation) -> tuple[str, ...]:
    """What the table of an operator is asked by; empty if it can't be. `main` is what it reads on its main side."""
    if operator.aggregate is not None:
        return result.schema.names[: len(operator.aggregate.by)]
    return tuple(operator.join.by) if operator.join is not None and main.is_table else ()


def by(state: State) -> tuple[str, ...]:
    """The same of a table of a program; its result has these columns, for they are of its key."""
    return () if state.operator is None else columns(state.operator, state.given[MAIN], state.result)
