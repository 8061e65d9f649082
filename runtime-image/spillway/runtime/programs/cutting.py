"""From a topology and a plan's segments to programs.

A segment's head takes an edge of its own topic (or topics of the user); all others read one node within the segment.
What reads nothing by key may stand anywhere. What does begins a segment, because its rows have to be brought to the
partition of their key first. So where it reads a topic of the user, somebody has to sort that topic's records:

- a stream that a keyed operator reads, or that an output takes as it is, gets a **reading program**, with that stream
  as its head and perhaps no operator at all;
- so do streams that an operator reads together with others: a program has one input, because its position in it, and
  the offset at which it changes hands, is one number;
- so does a table that is partitioned, or joined with a table. Its topic was partitioned by whoever wrote it, with a
  partitioner and an encoding of keys that nobody here knows; the edge has ours.

A plan may name such a program itself (a stream with costs is a step of its own); what it leaves out is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from spillway.expressions import relations
from spillway.expressions.relations import Relation
from spillway.model import topology
from spillway.model.errors import TerminalError
from spillway.model.kafka import Distribution, OutputMode, Stream, Table
from spillway.model.operators import Operator, PythonKind
from spillway.model.streamjob import Spec
from spillway.model.topology import Draft, Part
from spillway.model.types import Schema
from spillway.runtime.programs import program as programs
from spillway.runtime.programs import pruning
from spillway.runtime.programs.program import MAIN, OTHER, Edge, Output, Port, Program, Step

Segments = Mapping[str, Sequence[str]]


class CutError(TerminalError):
    """Segments that can't be programs: no tree, an operator in two of them or in none."""


def cut(spec: Spec, segments: Segments, digests: Mapping[str, str] | None = None) -> tuple[Program, ...]:
    """The programs of an accepted spec, by segment, in topological order of their heads.

    Args:
        spec: as `acceptance.accept` found it right.
        segments: by name, the operators of each, its head first; a source may be a head too.
        digests: of the user's functions, by reference, as `functions.load` tells them.
    """
    return _Cut(spec, segments, digests or {}).programs()


def alone(spec: Spec) -> dict[str, tuple[str, ...]]:
    """Segments of one operator each."""
    return {operator.name: (operator.name,) for operator in spec.operators}


def _merges(operator: Operator) -> bool:
    """Whether it reads several nodes as one stream."""
    return len(pruning.main(operator)) > 1


class _Cut:
    def __init__(self, spec: Spec, segments: Segments, digests: Mapping[str, str]) -> None:
        self.spec = spec
        self.graph, _ = topology.build(Draft.of(spec))
        self.relations, _ = relations.infer(self.graph)
        self.parts: dict[str, Part] = {node.name: node.part for node in self.graph.nodes}
        self.digests = digests
        self.updates = {name: relation.is_revised for name, relation in self.relations.items()}
        self.pruned = pruning.Pruning(self.graph, self.relations, self.updates)
        self.members = {name: tuple(operators) for name, operators in segments.items()}
        self.home: dict[str, str] = {}
        for name, operators in self.members.items():
            self._settle(name, operators)
        self._add_readers()

    def programs(self) -> tuple[Program, ...]:
        """All of them."""
        missing = [operator.name for operator in self.spec.operators if operator.name not in self.home]
        if missing:
            message = f"no segment has {', '.join(missing)}"
            raise CutError(message)
        order = {node.name: i for i, node in enumerate(self.graph.nodes)}
        return tuple(self._program(name) for name in sorted(self.members, key=lambda n: order[self.members[n][0]]))

    # Segments

    def _settle(self, segment: str, operators: Sequence[str]) -> None:
        """Note where each operator is, and that the segment is a tree."""
        for i, name in enumerate(operators):
            if name not in self.parts:
                message = f"segment {segment!r} has {name!r}, which the job does not have"
                raise CutError(message)
            if self.home.setdefault(name, segment) != segment or name in operators[:i]:
                message = f"{name!r} is in segment {self.home[name]!r} already"
                raise CutError(message)
            part = self.parts[name]
            if i == 0:
                continue
            if not isinstance(part, Operator) or self._is_keyed(part):
                message = f"{name!r} can only be the head of a segment, and stands inside of {segment!r}"
                raise CutError(message)
            above = pruning.main(part)
            if len(above) != 1 or above[0] not in operators[:i]:
                message = f"segment {segment!r} is no tree: {name!r} reads {', '.join(above)}"
                raise CutError(message)
        if not operators:
            message = f"segment {segment!r} is empty"
            raise CutError(message)

    def _add_readers(self) -> None:
        taken = {output.input for output in self.spec.outputs}
        for name, part in self.parts.items():
            if isinstance(part, Operator) or name in self.home:
                continue
            readers = [reader for reader, _ in self._readers(name, through_topics=False)]
            if name in taken or any(self._is_keyed(reader) or _merges(reader) for reader in readers):
                if name in self.members:
                    message = f"the segment that reads {name!r} would have its name, which another one has"
                    raise CutError(message)
                self.members[name] = (name,)
                self.home[name] = name

    def _readers(self, name: str, *, through_topics: bool) -> Iterator[tuple[Operator, int]]:
        """The operators that read a node, and on which side; broadcast tables are read through their topics alone."""
        for operator in self.spec.operators:
            for side, names in enumerate(pruning.sides(operator)):
                if name in names and (through_topics or not (side == OTHER and self._is_broadcast(operator))):
                    yield operator, side

    def _is_broadcast(self, operator: Operator) -> bool:
        """A join of a stream with a small table of the user, of which every owner has all rows."""
        if operator.join is None or operator.join.table is None or self.relations[operator.reads[0]].is_table:
            return False
        table = self.parts[operator.join.table]
        return isinstance(table, Table) and table.distribution is Distribution.BROADCAST

    def _is_keyed(self, operator: Operator) -> bool:
        return programs.is_keyed(operator, broadcast=self._is_broadcast(operator))

    # Programs

    def _program(self, segment: str) -> Program:
        operators = [part for name in self.members[segment] if isinstance(part := self.parts[name], Operator)]
        functions = sorted({operator.python.function for operator in operators if operator.python is not None})
        return Program(
            name=segment,
            ports=tuple(self._ports(segment)),
            steps=tuple(self._step(operator, segment) for operator in operators),
            edges=tuple(self._edges(segment)),
            outputs=tuple(self._outputs(segment)),
            digests=tuple((name, self.digests.get(name, "")) for name in functions),
        )

    def _ports(self, segment: str) -> Iterator[Port]:
        head = self.parts[self.members[segment][0]]
        if not isinstance(head, Operator):
            yield self._topic(head)
        else:
            for side, names in enumerate(pruning.sides(head)):
                if side == OTHER and self._is_broadcast(head):
                    continue
                if any(name in self.home for name in names):
                    given = self.pruned.given(head, side)
                    updates = any(self.updates[name] for name in names)
                    yield Port(head.name, None, side, given.schema, updates, into=head.name)
                    if head.aggregate is not None and not updates:
                        yield self._combined(head)
                for name in names:
                    source = self.parts[name]
                    if name not in self.home and not isinstance(source, Operator):
                        yield self._topic(source)
        for name in self.members[segment]:
            part = self.parts[name]
            if isinstance(part, Operator) and self._is_broadcast(part):
                table = self.parts[part.reads[1]]
                assert isinstance(table, Table)  # noqa: S101 - it would not be broadcast
                schema = self.pruned.given(part, OTHER).schema
                yield Port(table.name, table, OTHER, schema, updates=True, into=name, broadcast=True)

    def _combined(self, head: Operator) -> Port:
        """The port of an aggregate whose records a batch has combined: rows that come and go are never combined."""
        result = self.relations[head.name]
        keys = pruning.kept(result.schema, result.key or ())
        return Port(head.name, None, MAIN, keys, updates=False, into=head.name, combined=True)

    def _topic(self, source: Stream | Table) -> Port:
        """The port of a topic, with the columns that somebody reads."""
        name, schema = source.name, self.relations[source.name].schema
        # Also columns that only readers elsewhere want: a record is one that can't be decoded wherever it is read.
        wanted = set(self.pruned.needed[name])
        if isinstance(source, Stream) and source.timestamp is not None:
            wanted.add(source.timestamp)
        if isinstance(source, Table):
            wanted |= {source.timestamp} if source.timestamp is not None else set()
            found = list(self._readers(name, through_topics=False))
            looked_up = found and all(side == OTHER and self._is_lookup(reader) for reader, side in found)
            taken = any(output.input == name for output in self.spec.outputs)
            return Port(name, source, MAIN, pruning.kept(schema, wanted), updates=True, kept=taken or not looked_up)
        return Port(name, source, MAIN, pruning.kept(schema, wanted), updates=False)

    def _is_lookup(self, operator: Operator) -> bool:
        return operator.join is not None and not self.relations[operator.reads[0]].is_table

    def _step(self, operator: Operator, segment: str) -> Step:
        sides = pruning.sides(operator)
        given = tuple(self.pruned.given(operator, side) for side in range(len(sides)))
        within = set(self.members[segment])
        reads = [n for n in sides[MAIN] if n in within or n not in self.home]
        return Step(
            operator=operator,
            reads=tuple(reads),
            given=given,
            result=self._result(operator, given),
            takes_updates=any(self.updates[name] for name in sides[MAIN]),
            updates=self.updates[operator.name],
            derived=operator.join is not None and isinstance(self.parts.get(operator.join.table or ""), Operator),
        )

    def _result(self, operator: Operator, given: tuple[Relation, ...]) -> Relation:
        """What comes out, with the columns that are there once the input has only those that are needed."""
        relation = self.relations[operator.name]
        if operator.aggregate is not None:
            return relation
        if operator.join is not None:
            rest = [column for column in given[OTHER].schema if column.name not in operator.join.by]
            return Relation(Schema((*given[MAIN].schema.columns, *rest)), relation.key)
        passes = operator.filter is not None or (
            operator.python is not None and operator.python.as_ is PythonKind.FILTER
        )
        return given[MAIN] if passes else Relation(self.pruned.schema(operator.name), relation.key)

    def _edges(self, segment: str) -> Iterator[Edge]:
        within = self.members[segment]
        found: dict[tuple[str, int], list[str]] = {}
        for name in within:
            for reader, side in self._readers(name, through_topics=False):
                if self.home[reader.name] != segment:
                    found.setdefault((reader.name, side), []).append(name)
        for (name, side), sources in found.items():
            operator = self.parts[name]
            assert isinstance(operator, Operator)  # noqa: S101 - only operators read
            updates = any(self.updates[source] for source in pruning.sides(operator)[side])
            schema = self.pruned.given(operator, side).schema
            yield Edge(name, side, tuple(sources), schema, updates, self._key(operator, sources[0]))

    def _key(self, reader: Operator, source: str) -> tuple[str, ...] | None:
        """What finds the partition of a row: what its reader groups or joins by, else the key of a table."""
        if reader.aggregate is not None:
            return reader.aggregate.by
        if reader.join is not None and self._is_keyed(reader):
            return tuple(f"`{name}`" for name in reader.join.by)
        key = self.relations[source].key
        return None if key is None else tuple(f"`{name}`" for name in key)

    def _outputs(self, segment: str) -> Iterator[Output]:
        for output in self.spec.outputs:
            if output.input in self.members[segment]:
                relation = self.relations[output.input]
                default = OutputMode.CHANGELOG if relation.is_table else OutputMode.APPEND
                key = relation.key if output.key is None else output.key
                yield Output(output.name, output.topic, output.input, relation.schema, key, output.mode or default)
