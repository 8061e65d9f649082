"""Which columns somebody reads: only those are decoded, computed, sent and kept.

This is asked of the whole topology, not of one program: so what is computed, and on which record an expression raises,
does not depend on where the topology is cut into programs. As in Spark, an item of a select that nobody reads is not
computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spillway import expressions
from spillway.expressions.relations import Relation
from spillway.model.kafka import Output
from spillway.model.operators import Operator
from spillway.model.topology import Topology
from spillway.model.types import Schema
from spillway.runtime.programs.program import MAIN


class Pruning:
    """The columns that are needed.

    Attributes:
        needed: by node, those of its output that somebody reads, and the key of a table.
        wanted: by reader and side, those of its input that it reads.
    """

    def __init__(self, graph: Topology, relations: Mapping[str, Relation], updates: Mapping[str, bool]) -> None:
        """Of an accepted topology; `updates` says of a node whether its rows come and go."""
        self._relations = relations
        self._updates = updates
        self.needed: dict[str, frozenset[str]] = {}
        self.wanted: dict[tuple[str, int], frozenset[str]] = {}
        found: dict[str, set[str]] = {node.name: set(relations[node.name].key or ()) for node in graph.nodes}
        outputs: Iterable[Output] = [output for _, output in graph.outputs]
        for output in outputs:
            found[output.input] |= set(relations[output.input].schema.names)
        for node in reversed(graph.nodes):
            self.needed[node.name] = frozenset(found[node.name])
            if not isinstance(node.part, Operator):
                continue
            for side, names in enumerate(sides(node.part)):
                wanted = frozenset(self._wants(node.part, side))
                self.wanted[node.name, side] = wanted
                for name in names:
                    found[name] |= wanted & set(relations[name].schema.names)

    def schema(self, node: str) -> Schema:
        """The columns of a node that somebody reads, in their order."""
        return kept(self._relations[node].schema, self.needed[node])

    def given(self, operator: Operator, side: int) -> Relation:
        """What an operator takes on a side."""
        relation = self._relations[sides(operator)[side][0]]
        return Relation(kept(relation.schema, self.wanted[operator.name, side]), relation.key)

    def _wants(self, operator: Operator, side: int) -> set[str]:
        given = self._relations[sides(operator)[side][0]]
        schema, needed = given.schema, self.needed[operator.name]
        names = set(schema.names)
        if operator.filter is not None:
            return set(expressions.check_condition(operator.filter, schema).columns) | (needed & names)
        if operator.select is not None:
            items = [expressions.check_item(text, schema) for text in operator.select]
            return {name for item in items if item.name in needed for name in item.columns}
        if operator.explode is not None:
            return {*expressions.check(operator.explode.array, schema).columns, *(needed & names)}
        if operator.aggregate is not None:
            values = [expressions.check_aggregate(text, schema) for text in operator.aggregate.values]
            groups = [expressions.check_item(text, schema) for text in operator.aggregate.by]
            used = {name for value in values for name in value.columns} | {n for item in groups for n in item.columns}
            # Rows that come and go stand in the windows of their own time.
            if operator.aggregate.window is not None and self._updates[sides(operator)[side][0]]:
                used.add("window_start")
            return used | set(given.key or ())
        if operator.join is not None:
            return {*operator.join.by, *(given.key or ()), *(needed & names)}
        return names  # a function of the user gets the whole record


def sides(operator: Operator) -> tuple[tuple[str, ...], ...]:
    """What an operator reads, by side."""
    if operator.join is not None:
        return (operator.reads[:1], operator.reads[1:])
    return (operator.reads,)


def kept(schema: Schema, names: Iterable[str]) -> Schema:
    """Some columns of a schema, in its order."""
    wanted = frozenset(names)
    return Schema(tuple(column for column in schema if column.name in wanted))


def main(operator: Operator) -> tuple[str, ...]:
    """What it reads on its main side."""
    return sides(operator)[MAIN]
