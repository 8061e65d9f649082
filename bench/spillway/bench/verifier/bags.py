"""Rows that nobody tells apart: counted instead of kept, so that millions of words are as many rows as there are words.

What an explode gives is such a bag when all that reads it, through filters, selects and other explodes, are aggregates
that only count, or look for the least or largest value: to them it matters which values there are, and how often, but
not where from, in which order, or when. Windows and retentions look at the time of each row, so there must be none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spillway.bench.verifier.relations import Row, Values
from spillway.expressions import parser, syntax
from spillway.model.operators import Aggregate, Operator
from spillway.model.topology import Topology

_COUNTING = {"count", "count_if", "min", "max"}


def exploding(graph: Topology) -> frozenset[str]:
    """The operators that give a bag."""
    shown = {output.input for _, output in graph.outputs}
    readers = graph.readers
    nodes = {node.name: node for node in graph.nodes}

    def is_bag(name: str) -> bool:
        if name in shown or not readers.get(name):
            return False
        for reader in readers[name]:
            part = nodes[reader].part
            if not isinstance(part, Operator):
                return False
            if part.aggregate is not None:
                if part.retention is not None or not _only_counts(part.aggregate):
                    return False
            elif (part.filter is None and part.select is None and part.explode is None) or not is_bag(reader):
                return False
        return True

    return frozenset(
        node.name
        for node in graph.nodes
        if isinstance(node.part, Operator) and node.part.explode is not None and is_bag(node.name)
    )


def _only_counts(aggregate: Aggregate) -> bool:
    if aggregate.window is not None:
        return False
    calls = [parser.parse_item(text)[0] for text in aggregate.values]
    return all(isinstance(call, syntax.Call) and call.name in _COUNTING for call in calls)


def counted(found: Iterable[tuple[Row, Values, Sequence[object]]]) -> list[Row]:
    """One row for all that are alike; given rows without doubts, the values of each that are kept, and its elements."""
    times: dict[Values, int] = {}
    last: dict[Values, tuple[int, int]] = {}
    for row, kept, elements in found:
        when = row.time, row.appended
        for one in elements:
            values = (*kept, one)
            times[values] = times.get(values, 0) + row.times
            before = last.setdefault(values, when)
            if before < when:
                last[values] = when
    return [Row(values, *last[values], times=count) for values, count in times.items()]
