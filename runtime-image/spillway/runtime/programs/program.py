"""What a program is, as a value: ways in, operators, ways out.

A program is a tree of operators that run as one loop. Its **ports** are where records come in: a topic of the user, or
the edge topic of its head. Its **edges** lead to other programs, its **outputs** to topics of the user.
A node of a program is a port's topic or a step; rows that it hands on have the columns of its layout, or fewer.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from typing import Any

from spillway.expressions.relations import Relation
from spillway.model.kafka import OutputMode, Stream, Table
from spillway.model.operators import Operator
from spillway.model.types import Schema

# To be raised when the same description compiles to code that computes something else: then programs of before and
# after are different programs, and changing from one to the other is a move.
COMPILER = 2

MAIN, OTHER = 0, 1  # sides of an operator: what it reads, and what it is joined with
_SIDES = ("main", "other")


@dataclasses.dataclass(frozen=True, slots=True)
class Port:
    """One way into a program.

    Attributes:
        name: of the stream or table, or of the reader for the edge that leads to it.
        source: the stream or table whose topic is read; None for an edge, and where rows are put in by hand.
        side: of the operator that takes what an edge brings, or the rows of a broadcast table.
        schema: the columns that come in.
        updates: whether rows of a table come in, or records.
        into: the step that takes what comes in here; None where the topic is a node of its own, with its readers.
        kept: whether the rows of a user's table are kept, so that readers are told what a row was before.
        broadcast: whether each owner reads all partitions of this topic beside its input.
        combined: whether keys with states come in, which a batch has made of the records of the same edge; the schema
            is that of the keys.
    """

    name: str
    source: Stream | Table | None
    side: int
    schema: Schema
    updates: bool
    into: str | None = None
    kept: bool = False
    broadcast: bool = False
    combined: bool = False

    @property
    def label(self) -> str:
        """A name that no other port of the program has: of the topic, or of the side of the step that it leads to."""
        if self.into is None or (self.source is not None and not self.broadcast):
            return self.name
        return f"{self.into}.combined" if self.combined else f"{self.into}.{_SIDES[self.side]}"


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """An operator at its place.

    Attributes:
        operator: as the manifest has it.
        reads: the node of this program that it reads; None for a head that reads an edge.
        given: the relation that it takes on each side, with the columns that it needs.
        result: what it gives, with the columns that somebody reads.
        takes_updates: whether old and new rows come in.
        updates: whether old and new rows go out.
        derived: whether an operator makes the table that it looks up.
    """

    operator: Operator
    reads: tuple[str, ...]
    given: tuple[Relation, ...]
    result: Relation
    takes_updates: bool
    updates: bool
    derived: bool = False

    @property
    def name(self) -> str:
        """The name of the operator."""
        return self.operator.name

    @property
    def is_lookup(self) -> bool:
        """Whether records look up rows of a table."""
        return self.operator.join is not None and self.operator.join.table is not None and self.given[0].key is None

    @property
    def has_state(self) -> bool:
        """Whether a table object belongs to it."""
        return self.operator.aggregate is not None or self.operator.join is not None


@dataclasses.dataclass(frozen=True, slots=True)
class Edge:
    """What goes to another program.

    Attributes:
        reader: the head of that program; the topic of the edge is named after it.
        side: of the reader.
        sources: the nodes whose rows go there; more than one where the reader reads them as one stream.
        schema: the columns that the reader needs.
        updates: whether old and new rows go there.
        key: expressions over a row of the source: what the reader's partitions are found by. None where any will do:
            the sender then takes one that depends on its own partition alone, so that repeated rows go the same way.
    """

    reader: str
    side: int
    sources: tuple[str, ...]
    schema: Schema
    updates: bool
    key: tuple[str, ...] | None

    @property
    def label(self) -> str:
        """A name that no other edge of the program has."""
        return f"{self.reader}.{_SIDES[self.side]}"


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """What goes to a topic of the user: all columns of a node, as JSON, by this key.

    `mode` is changelog for upserts and deletes by key; append for every record, and every new row of a table.
    """

    name: str
    topic: str
    source: str
    schema: Schema
    key: tuple[str, ...] | None
    mode: OutputMode

    @property
    def label(self) -> str:
        """A name that nothing else in the program has."""
        return f"{self.name}.output"


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """What a table object is built from: one for each partition of the program's input.

    `operator` is None for the rows of a user's table, which a reading program keeps. `updates` says whether old and
    new rows come in, `broadcast` whether it looks up a replica that the owner's partitions share, and `derived` whether
    the rows that it looks up come from an operator.
    """

    name: str
    operator: Operator | None
    given: tuple[Relation, ...]
    result: Relation
    updates: bool
    broadcast: bool = False
    derived: bool = False


@dataclasses.dataclass(frozen=True)
class Program:
    """A tree of operators with its ways in and out; steps come after what they read.

    `digests` are those of the user's functions, by reference.
    """

    name: str
    ports: tuple[Port, ...]
    steps: tuple[Step, ...]
    edges: tuple[Edge, ...]
    outputs: tuple[Output, ...]
    digests: tuple[tuple[str, str], ...] = ()

    @functools.cached_property
    def id(self) -> str:
        """The content address: equal for programs that do the same under the same names, on every machine."""
        text = json.dumps(self.described(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def states(self) -> tuple[State, ...]:
        """Every table that it needs."""
        shared = {port.into for port in self.ports if port.broadcast}
        kept = [
            State(port.name, None, (), Relation(port.schema, port.source.key), updates=True)
            for port in self.ports
            if port.kept and isinstance(port.source, Table)
        ]
        return (
            *kept,
            *(
                State(s.name, s.operator, s.given, s.result, s.takes_updates, s.name in shared, s.derived)
                for s in self.steps
                if s.has_state
            ),
        )

    def step(self, name: str) -> Step:
        """The step of that name."""
        return next(step for step in self.steps if step.name == name)

    def described(self) -> dict[str, Any]:
        """Everything that determines what it does, as plain data. What something costs doesn't."""
        return {
            "compiler": COMPILER,
            "name": self.name,
            "ports": [_port(port) for port in self.ports],
            "steps": [_step(step) for step in self.steps],
            "edges": [{**dataclasses.asdict(edge), "schema": str(edge.schema)} for edge in self.edges],
            "outputs": [{**dataclasses.asdict(out), "schema": str(out.schema)} for out in self.outputs],
            "functions": [list(pair) for pair in self.digests],
        }


def _port(port: Port) -> dict[str, Any]:
    source = port.source
    if source is not None:
        read = source.model_dump(mode="json", by_alias=True, exclude={"costs"}, exclude_none=True)
    return {
        "name": port.name,
        "source": None if source is None else {"type": type(source).__name__, **read},
        "side": port.side,
        "schema": str(port.schema),
        "updates": port.updates,
        "into": port.into,
        "kept": port.kept,
        "broadcast": port.broadcast,
        "combined": port.combined,
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "operator": step.operator.model_dump(
            mode="json", by_alias=True, exclude={"costs", "paradigm"}, exclude_none=True
        ),
        "reads": list(step.reads),
        "given": [_relation(relation) for relation in step.given],
        "result": _relation(step.result),
        "updates": [step.takes_updates, step.updates],
        "derived": step.derived,
    }


def _relation(relation: Relation) -> list[Any]:
    return [str(relation.schema), None if relation.key is None else list(relation.key)]


def is_keyed(operator: Operator, *, broadcast: bool) -> bool:
    """Whether its input has to come partitioned by key; `broadcast`: it joins a table that every owner has."""
    return operator.aggregate is not None or (operator.join is not None and not broadcast)
