"""Programs as a change of programs sees them: what goes through which way, and how tables are kept. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from spillway.controllers.rollout import Shape, Way
from spillway.controllers.topics import Names
from spillway.expressions.relations import Relation
from spillway.runtime import task
from spillway.runtime.programs.program import Edge, Program, State


def of(programs: Sequence[Program], names: Names) -> dict[str, Shape]:
    """The shapes of all programs of a plan, by their hashes."""
    by_name = {program.name: program for program in programs}
    forms: dict[Way, str] = {}
    for program in programs:
        for edge in program.edges:
            forms[Way(edge.reader, edge.side)] = _form(edge, by_name[edge.reader])
    return {program.id: _shape(program, names, forms) for program in programs}


def _shape(program: Program, names: Names, forms: dict[Way, str]) -> Shape:
    topic = task.input_of(program, names)
    return Shape(
        program.name,
        topic,
        {way: form for way, form in forms.items() if way.reader == program.name},
        {way: forms[way] for edge in program.edges for way in [Way(edge.reader, edge.side)]},
        # A replica is read anew from the user's topic, and nothing of it is stored.
        {state.name: _kept(state, topic) for state in program.states if not state.broadcast},
    )


def _form(edge: Edge, reader: Program) -> str:
    """Columns, whether they are updates, and by what the reader's partitions are found, if it is particular."""
    operator = next((step.operator for step in reader.steps if step.name == edge.reader), None)
    by: Sequence[str] = ()
    if operator is not None and operator.aggregate is not None:
        by = operator.aggregate.by
    elif operator is not None and operator.join is not None:
        by = operator.join.by
    return f"{'updates' if edge.updates else 'records'} of {edge.schema} by {', '.join(by) or 'nothing'}"


def _kept(state: State, topic: str) -> str:
    """All that the bytes of stored rows, and the partitions that they are in, depend on.

    Not among it are costs, and the retention: that says for how long rows are kept, and not how.
    """
    operator = state.operator
    definition: dict[str, Any] = {}
    if operator is not None:
        definition = operator.model_dump(mode="json", by_alias=True, exclude_none=True, include={"aggregate", "join"})
    given = [_relation(relation) for relation in state.given] or [_relation(state.result)]
    text = json.dumps([definition, given, state.updates, state.derived, topic], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _relation(relation: Relation) -> list[Any]:
    return [str(relation.schema), None if relation.key is None else list(relation.key)]
