"""What is profiled: operators, what they read, and which of them can have more tasks (SWP, section 4.1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Self

from spillway.controllers.costmodel import flow


@dataclasses.dataclass(frozen=True, slots=True)
class Operator:
    """One operator.

    Attributes:
        name: as in the topology.
        inputs: the operators that it reads; none for a source.
        parallel: whether it can have more than one task at all.
        logic_dependent: what it emits follows a logic of its own, not what comes in: the top ten each second.
        most: tasks that it can have at the most, such as the partitions of its input; None when nothing limits it.
    """

    name: str
    inputs: tuple[str, ...] = ()
    parallel: bool = True
    logic_dependent: bool = False
    most: int | None = None

    @property
    def limit(self) -> float:
        """The most tasks that it can have."""
        if not self.parallel:
            return 1
        return float("inf") if self.most is None else self.most


@dataclasses.dataclass(frozen=True, slots=True)
class Application:
    """Operators, each after all that it reads."""

    operators: tuple[Operator, ...]

    @classmethod
    def of(cls, operators: Iterable[Operator]) -> Self:
        """Refuses what is no graph without circles, as the cost model does."""
        given = {operator.name: operator for operator in operators}
        nodes = [flow.Node.operator(name, operator.inputs, flow.Costs()) for name, operator in given.items()]
        return cls(tuple(given[node.name] for node in flow.Flow(nodes).nodes))

    @property
    def sources(self) -> tuple[Operator, ...]:
        """Operators that pull from outside: the data source of the paper."""
        return tuple(operator for operator in self.operators if not operator.inputs)

    @property
    def sinks(self) -> tuple[Operator, ...]:
        """All other operators: the paper's data sinks, whether or not somebody reads them."""
        return tuple(operator for operator in self.operators if operator.inputs)

    @property
    def dominated(self) -> frozenset[str]:
        """Operators that a logic-dependent one stands before on every way from a source (Algorithm 1, line 3).

        What comes to them stays the same when more goes through the rest: they are non-scalable.
        """
        held: set[str] = set()
        emitting = {operator.name for operator in self.operators if operator.logic_dependent}
        for operator in self.sinks:
            if all(name in held or name in emitting for name in operator.inputs):
                held.add(operator.name)
        return frozenset(held)

    @property
    def scalable(self) -> tuple[Operator, ...]:
        """The sinks that R has a number for: parallel, and not dominated."""
        dominated = self.dominated
        return tuple(sink for sink in self.sinks if sink.parallel and sink.name not in dominated)
