"""What a StreamJob asks of planning: its topology as a flow with costs, its promise, and what may be had.

- An operator is a node. Its costs are what was measured, else what is declared, else typical ones (`typical`).
- A stream with costs is a node too, the paper's spout: it has nothing to fetch. Other streams, and tables, are topics:
  they cost nothing, and reading them is part of what their readers cost for a record, declared or typical.
- But the records of a topic lie in the partitions that their writers chose. Where a keyed operator reads a stream,
  somebody has to bring each record to the partition of its key first, and where an output takes a stream as it is,
  somebody has to copy it; and who reads several as one reads one topic. So then the stream becomes a segment of its
  own. A table is joined by its own key, which its topic is partitioned by, and stays a topic.
- Keyed are aggregates, joins of two streams, and joins with a table unless every owner has all of its rows. They merge
  state, which stays with record workers, so they never run in batches.
- A table that every owner has all rows of is no input: nothing flows along that edge, each slot reads the topic beside
  its work. That costs its updates on every slot, and is left out.
- Every record in an output topic is a message of its own, so for each output that takes it, an operator pays s·c_emit
  for a record, whatever its frames; the paper's sinks send nothing.
- Nothing waits for the end of a window: aggregates give every change at once. So there is no window phase.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from spillway.controllers.costmodel import exact
from spillway.controllers.costmodel import flow as flows
from spillway.controllers.costmodel.flow import Costs, Flow, Slot
from spillway.controllers.planning import typical
from spillway.controllers.planning.problem import Chaining, Problem, Promise, Room, Traits
from spillway.expressions import relations
from spillway.model import topology
from spillway.model.kafka import Distribution, Stream, Table
from spillway.model.operators import Operator, Paradigm, PythonKind
from spillway.model.streamjob import StreamJob
from spillway.model.topology import Draft, Part

_NOTHING: Mapping[str, Costs] = MappingProxyType({})
_MANY = 6  # names in a sentence; more are counted


def problem(
    job: StreamJob,
    rates: Mapping[str, float],
    *,
    chaining: Chaining = Chaining.AUTO,
    measured: Mapping[str, Costs] = _NOTHING,
) -> Problem:
    """The question that an accepted job asks at these rates.

    Args:
        job: as `acceptance.accept` gave it.
        rates: records per second by stream or table; a stream that is left out sends nothing, as does a table.
        chaining: which operators may be one segment.
        measured: costs by stream or operator, which come before the declared ones.
    """
    return _Translation(job, measured).problem(rates, chaining)


def assumed(job: StreamJob, measured: Mapping[str, Costs] = _NOTHING) -> tuple[str, ...]:
    """What a plan of this job stands on that nobody declared or measured, in sentences."""
    return tuple(_Translation(job, measured).assumed())


class _Translation:
    """One job, with what flows between its parts."""

    def __init__(self, job: StreamJob, measured: Mapping[str, Costs]) -> None:
        self.spec = job.spec
        self.measured = measured
        graph, _ = topology.build(Draft.of(job.spec))
        self.relations, _ = relations.infer(graph)
        self.parts: dict[str, Part] = {node.name: node.part for node in graph.nodes}
        self.operators = [node.part for node in graph.nodes if isinstance(node.part, Operator)]
        self.inputs = {operator.name: self._inputs(operator) for operator in self.operators}
        self.steps = {name: why for name in self.parts if (why := self._why_a_step(name)) is not None}
        read = {name for inputs in self.inputs.values() for name in inputs}
        self.topics = frozenset(read - self.steps.keys())

    def problem(self, rates: Mapping[str, float], chaining: Chaining) -> Problem:
        """The question at these rates."""
        execution = self.spec.execution
        nodes = [*map(self._topic, sorted(self.topics)), *map(self._step, self.steps)]
        executors = execution.executors.max * execution.executors.cores
        return Problem(
            flow=Flow(nodes),
            workload={node.name: rates.get(node.name, 0.0) for node in nodes if node.is_source},
            promise=Promise(self.spec.latency.bound.seconds, self.spec.latency.quantile),
            room=Room(execution.workers.max * execution.workers.slots, executors),
            topics=self.topics,
            traits={name: self._traits(self.parts[name]) for name in self.steps},
            headroom=self.spec.policy.headroom,
            slot=Slot(sharing=execution.workers.slots),
            hop=typical.HOP,
            schedule=typical.SCHEDULE if executors else None,
            chaining=chaining,
        )

    def assumed(self) -> Iterator[str]:
        """Sentences, what matters most first."""
        unknown = [name for name in self.steps if self._lacks(name, "cpu", "fetch", "emit")]
        if unknown:
            yield f"typical costs of {_listed(unknown)}; declare `costs` to plan with your own"
        guessed: dict[str, list[str]] = {}
        for operator in self.operators:
            if typical.is_guess(operator) and self._lacks(operator.name, "selectivity"):
                guessed.setdefault(_given(operator), []).append(operator.name)
        for given, names in guessed.items():
            yield f"{_listed(names)}: {given}; declare `costs.selectivity` where it is otherwise"
        yield from (f"{name} is a step of its own: {why}" for name, why in self.steps.items() if why)
        yield f"the log takes {typical.HOP.mean * 1e3:.1f} ms from one segment to the next"
        if self.spec.execution.executors.max:
            least, most = (round(seconds * 1e3) for seconds in typical.SCHEDULE_RANGE)
            yield f"a micro-batch takes {least} to {most} ms beside its records, and a core does as much as a slot"

    # What flows

    def _inputs(self, operator: Operator) -> tuple[str, ...]:
        """Everything that an operator reads, but a table that every owner has all rows of."""
        return operator.reads[:1] if self._is_broadcast(operator) else operator.reads

    def _is_broadcast(self, operator: Operator) -> bool:
        """A join of a stream with a table of the user that is small; what is computed is partitioned by its key."""
        if operator.join is None or operator.join.table is None or self.relations[operator.reads[0]].is_table:
            return False
        table = self.parts[operator.join.table]
        return isinstance(table, Table) and table.distribution is Distribution.BROADCAST

    def _is_keyed(self, operator: Operator) -> bool:
        return operator.aggregate is not None or (operator.join is not None and not self._is_broadcast(operator))

    def _why_a_step(self, name: str) -> str | None:
        """Why this is a node that works: empty where that needs no words, None for a topic that is only read."""
        part = self.parts[name]
        if isinstance(part, Operator) or (isinstance(part, Stream) and (part.costs or name in self.measured)):
            return ""
        if any(output.input == name for output in self.spec.outputs):
            return "an output takes it as it is"
        for reader in self.operators:
            if isinstance(part, Stream) and name in (reader.inputs or ()):
                return f"{reader.name} reads it together with others, so somebody has to bring them together"
            joins_by_its_key = isinstance(part, Table) and reader.join is not None
            if name in self.inputs[reader.name] and self._is_keyed(reader) and not joins_by_its_key:
                return f"{reader.name} reads it by key, so somebody has to sort its records into partitions"
        return None

    def _traits(self, part: Part) -> Traits:
        if not isinstance(part, Operator):
            return Traits(pinned=self.spec.execution.paradigm)
        keyed, pinned = self._is_keyed(part), part.paradigm or self.spec.execution.paradigm
        if pinned is Paradigm.BATCH and keyed and not _insists(part):
            pinned = Paradigm.RECORD
        return Traits(keyed=keyed, pinned=pinned, batchable=not keyed)

    # What it costs

    def _topic(self, name: str) -> flows.Node:
        size = typical.record_size(self.relations[name].schema, named=True)
        return flows.Node(name, (), 0.0, 0.0, (flows.Output(name, record_size=size, framed=False),))

    def _step(self, name: str) -> flows.Node:
        """What it sends to output topics is part of its cpu: s·c_emit for each of them."""
        costs = self._costs(name)
        takers = sum(output.input == name for output in self.spec.outputs)
        sent = exact.exact(costs.selectivity) * exact.exact(costs.emit) * takers
        costs = dataclasses.replace(costs, cpu=exact.exact(costs.cpu) + sent)
        return flows.Node.operator(name, self.inputs.get(name, ()), costs)

    def _costs(self, name: str) -> Costs:
        """Measured, else declared, else typical, field by field."""
        if name in self.measured:
            return self.measured[name]
        part, schema = self.parts[name], self.relations[name].schema
        if isinstance(part, Table):
            return typical.source(schema)
        if isinstance(part, Stream):
            return Costs.declared(part.costs, typical.source(schema), is_source=True)
        known = None if part.costs is None else part.costs.selectivity
        reads = not self.topics.isdisjoint(self.inputs[name])
        typically = typical.operator(part, schema, keyed=self._is_keyed(part), reads=reads, selectivity=known)
        return Costs.declared(part.costs, typically)

    def _lacks(self, name: str, *fields: str) -> bool:
        """Whether nobody said what these cost."""
        part = self.parts[name]
        declared = None if isinstance(part, Table) else part.costs
        asked = [field for field in fields if field != "fetch" or isinstance(part, Operator)]
        return name not in self.measured and any(getattr(declared, field, None) is None for field in asked)


def _insists(operator: Operator) -> bool:
    """Whether `batch` was written for this very operator, and can't be meant for a part of it.

    For a whole job it means: all that may run in batches. An aggregate combines in batches, and merges all the same.
    """
    return operator.paradigm is Paradigm.BATCH and operator.aggregate is None


def _given(operator: Operator) -> str:
    """What is assumed of its selectivity."""
    if operator.filter is not None or (operator.python is not None and operator.python.as_ is PythonKind.FILTER):
        return "every record gets through"
    gives = typical.records_out(operator)
    return f"{gives:g} record{'s' * (gives != 1)} out for one in"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return ", ".join(names[:_MANY]) + more
