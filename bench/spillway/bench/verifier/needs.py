"""Which columns of each node somebody reads: only those are decoded and computed, so only those can raise.

As docs/explanation/programs.md has it, asked of the whole topology, from its outputs back to its sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spillway.bench.verifier import translation
from spillway.expressions import parser
from spillway.expressions.relations import Relation
from spillway.model import topology
from spillway.model.operators import Operator


def needed(graph: topology.Topology, relations: Mapping[str, Relation]) -> dict[str, frozenset[str]]:
    """By node, the columns of what it gives that somebody reads, those of a table's key included."""
    found = {node.name: set(relations[node.name].key or ()) for node in graph.nodes}
    for _, output in graph.outputs:
        found[output.input] |= set(relations[output.input].schema.names)
    for node in reversed(graph.nodes):
        if isinstance(node.part, Operator):
            for name in node.reads:
                names = set(relations[name].schema.names)
                found[name] |= _of(node.part, found[node.name], relations[name]) & names
    return {name: frozenset(names) for name, names in found.items()}


def _of(operator: Operator, wanted: set[str], given: Relation) -> set[str]:
    if operator.filter is not None:
        return wanted | names([operator.filter])
    if operator.select is not None:
        return names(text for text in operator.select if translation.name_of(text) in wanted)
    if operator.explode is not None:
        return wanted | names([operator.explode.array])
    if operator.aggregate is not None:
        used = names([*operator.aggregate.by, *operator.aggregate.values]) | set(given.key or ())
        return used | ({"window_start"} if operator.aggregate.window is not None and given.is_table else set())
    if operator.join is not None:
        return {*wanted, *operator.join.by, *(given.key or ())}
    return set(given.schema.names)  # a function of the user gets the whole record


def names(texts: Iterable[str]) -> set[str]:
    """The columns that expressions read."""
    return {name for text in texts for name in translation.columns(parser.parse_item(text)[0])}
