"""What each output of a job has to hold, from the records of its sources alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from spillway.bench.verifier import aggregates, bags, joins, needs, sources, steps
from spillway.bench.verifier.calls import Caller
from spillway.bench.verifier.engine import Engine
from spillway.bench.verifier.records import Topics
from spillway.bench.verifier.relations import Assumptions, Relation
from spillway.expressions import relations as schemas
from spillway.model import topology
from spillway.model.kafka import Distribution, Output, OutputMode, Stream
from spillway.model.operators import AsOf, Operator
from spillway.model.streamjob import Spec
from spillway.model.topology import Draft


@dataclasses.dataclass(frozen=True, slots=True)
class Expected:
    """What one output has to hold.

    Attributes:
        output: as the job has it.
        mode: what its topic holds.
        key: columns of the message key; none where messages have none.
        relation: what its input gives.
    """

    output: Output
    mode: OutputMode
    key: tuple[str, ...]
    relation: Relation


def expected(spec: Spec, topics: Topics, assumed: Assumptions, code: Path | None = None) -> tuple[Expected, ...]:
    """Compute every output; raises UnverifiableError where that can't be done rightly."""
    walk = _Walk(spec, topics, assumed, code)
    try:
        found = walk.all()
    finally:
        walk.engine.close()
    return tuple(_output(output, found[output.input]) for output in spec.outputs)


def _output(output: Output, relation: Relation) -> Expected:
    default = OutputMode.CHANGELOG if relation.is_table else OutputMode.APPEND
    return Expected(output, output.mode or default, output.key or relation.key or (), relation)


class _Walk:
    """All nodes, each after what it reads."""

    def __init__(self, spec: Spec, topics: Topics, assumed: Assumptions, code: Path | None) -> None:
        self._graph, _ = topology.build(Draft.of(spec))
        self._schemas, _ = schemas.infer(self._graph)
        self._needed = needs.needed(self._graph, self._schemas)
        self._topics, self._assumed = topics, assumed
        self._small = {t.name for t in spec.tables if t.distribution is Distribution.BROADCAST}
        self._bags = bags.exploding(self._graph)
        self._caller = Caller(code)
        self.engine = Engine()

    def all(self) -> Mapping[str, Relation]:
        """The relation of every node."""
        found: dict[str, Relation] = {}
        for node in self._graph.nodes:
            schema = self._schemas[node.name].schema
            if isinstance(node.part, Operator):
                found[node.name] = self._operator(node.part, [found[name] for name in node.reads])
            else:
                records = self._topics.get(node.part.topic, ())
                needed = self._needed[node.name]
                if isinstance(node.part, Stream):
                    found[node.name] = sources.stream(node.part, schema, needed, records)
                else:
                    found[node.name] = sources.table(node.part, schema, needed, records)
        return found

    def _operator(self, operator: Operator, given: list[Relation]) -> Relation:
        schema = self._schemas[operator.name].schema
        if operator.join is not None:
            left, right = given
            if operator.join.stream is not None:
                return joins.streams(operator, left, right, schema, self._assumed)
            if left.is_table:
                return joins.tables(operator, left, right, schema, self._assumed)
            return joins.look_up(operator, left, right, schema, self._corrects(operator), self._assumed)
        one = steps.merged(operator.reads, given)
        if operator.aggregate is not None:
            revised = any(self._schemas[name].is_revised for name in operator.reads)
            return aggregates.aggregated(operator, one, schema, revised, self.engine, self._assumed)
        if operator.filter is not None:
            return steps.filtered(operator, one, self.engine)
        if operator.select is not None:
            return steps.selected(operator, one, schema, self._needed[operator.name], self.engine)
        if operator.explode is not None:
            return steps.exploded(operator, one, schema, self.engine, bag=operator.name in self._bags)
        return steps.called(operator, one, schema, self._caller)

    def _corrects(self, operator: Operator) -> bool:
        """Whether a look-up joins a record again when its version of the row comes later."""
        join = operator.join
        return (
            join is not None
            and join.table not in self._small
            and operator.retention is not None
            and join.as_of is not AsOf.LATEST
        )
