"""The programs of all plans that the log has, by the hashes that stand there."""

from __future__ import annotations

from collections.abc import Mapping

from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.values import Partition
from spillway.controllers.rollout import Shape
from spillway.controllers.topics import Names
from spillway.runtime import task
from spillway.runtime.driver import shapes
from spillway.runtime.programs.program import Program
from spillway.runtime.slots import library


class Catalogue:
    """Cut once for each plan."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._plans: dict[int, messages.Plan] = {}
        self._programs: dict[int, dict[str, Program]] = {}  # by plan and segment
        self._by_hash: dict[str, Program] = {}
        self.shapes: Mapping[str, Shape] = {}
        """By the hash that the log knows a program by."""
        self.tried: Mapping[str, Program] = {}
        """Pieces that segments may be split into, by name: what the head of one would do in batches is measured."""

    def learn(self, state: log.State) -> None:
        """Take in the plans of the log; others are forgotten."""
        if {number: id(plan) for number, plan in state.plans.items()} == {n: id(p) for n, p in self._plans.items()}:
            return
        programs = {}
        for number, plan in state.plans.items():
            known = self._programs.get(number) if self._plans.get(number) == plan else None
            programs[number] = known or {program.name: program for program in library.programs(plan)}
        self._plans, self._programs = dict(state.plans), programs
        self._by_hash, found = {}, {}
        for number in sorted(programs):
            # Another version of the compiler gives other hashes; what others see of a program stays the same.
            hashes = {segment.name: segment.program for segment in self._plans[number].segments}
            for shape in shapes.of(tuple(programs[number].values()), self._names).values():
                found[hashes[shape.segment]] = shape
                self._by_hash[hashes[shape.segment]] = programs[number][shape.segment]
        self.shapes = found

    def planned(self, state: log.State) -> Mapping[str, Program]:
        """The programs of the last plan, by segment."""
        return self._programs.get(max(state.plans), {}) if state.plans else {}

    def program(self, name: str) -> Program | None:
        """A program by its hash."""
        found = self._by_hash.get(name)
        return found or next((program for program in self.tried.values() if program.id == name), None)

    def beside(self, program: Program) -> Mapping[str, Program]:
        """The programs of the last plan that has it, by segment; of a piece that is only tried, whatever there may be.

        Not those of the last plan: a piece goes on with its ranges while that is one segment again already, and those
        who read it then are in the plan before.
        """
        for number in sorted(self._programs, reverse=True):
            if self._programs[number].get(program.name) is program:
                return self._programs[number]
        last = self._programs[max(self._programs)] if self._programs else {}
        return {**self.tried, **last}

    def input(self, state: log.State, place: Partition) -> str:
        """The topic that a partition is of."""
        holding = state.holdings.get(place)
        program = self._by_hash.get(holding.program) if holding else self.planned(state).get(place.segment)
        return self._names.edge(place.segment) if program is None else task.input_of(program, self._names)
