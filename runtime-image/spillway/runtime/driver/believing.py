"""What records cost, and how many come of one: as it is believed, corrected by what is measured. Pure.

Planning speaks of segments here: what is fused stays fused while a job runs, but for bursts in which a part of it is in
batches. What a segment is measured to cost is kept as a factor on what was believed, because time is measured for a
segment as a whole, and planning wants it divided into records and frames:

    factor = what a record takes of a slot / what the plan said it would, times the factor of that plan

Of a segment that may be split, what would stay with slots is its share of the time that was measured operator by
operator while it was whole, and reading an edge; once it was split, what its pieces took.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from types import MappingProxyType

from spillway.controllers.costmodel import chaining
from spillway.controllers.costmodel.flow import Flow, Node
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Problem, Traits
from spillway.controllers.protocol import messages
from spillway.model.operators import Paradigm
from spillway.runtime.driver.observing import Rates, Work
from spillway.runtime.driver.splitting import Part
from spillway.runtime.programs.program import Program
from spillway.simulation import jobs

# Seconds over which costs are smoothed: timing 1 record in 64 is off by some per cent, over five seconds by below one.
LEARN = 5.0
# With much to do, a record costs less than with little, when each turn of the loop is for a few. What is learnt then is
# what a burst has to be judged by, and soon; and it is not forgotten in the calm after it.
LEARN_SOON, MUCH = 1.0, 0.3
BUSY = 0.02  # of a slot; what is measured of less work is mostly its error
# Seconds of work that wait in front of a segment whose slots do all that they can, and for how long they have: rates
# are over two seconds, and what was before must not count.
WAITS, LONG = 0.25, 2.5
# Seconds of a slot to take a row from a frame, as long as nobody has measured what reads that edge.
ROW = 2e-6
SAME = 0.01  # costs that differ by less are the same: a plan with headroom does not depend on a per cent


class Beliefs:
    """What is known of the segments of one plan."""

    def __init__(self, asked: Problem, plan: messages.Plan) -> None:
        """`asked` has the operators with what they are believed to cost."""
        self._problem = _of_segments(asked, plan)
        self._factors: dict[str, float] = {}
        self._gains: dict[str, float] = {}  # by output
        self._each: dict[str, float] = {}
        self._seen_busy: set[str] = set()
        self._pressed: dict[str, float] = {}  # since when
        self._reached: dict[str, float] = {}
        self._whole: dict[str, Work] = {}  # what segments did last when they had something to do
        self._known = self._problem
        self._made_with: dict[str, float] = {}
        self._gained_with: dict[str, float] = {}
        self._planned: Plan | None = None
        self._planned_with: dict[str, float] = {}

    @property
    def problem(self) -> Problem:
        """What planning is asked, with costs as they are known by now."""
        changed = _differ(self._factors, self._made_with) or _differ(self._gains, self._gained_with)
        if changed:
            self._made_with, self._gained_with = dict(self._factors), dict(self._gains)
            self._known = dataclasses.replace(
                self._problem, flow=Flow(self._corrected(node) for node in self._problem.flow.nodes)
            )
        return self._known

    @property
    def segments(self) -> tuple[Node, ...]:
        """The segments as planning sees them; topics are none."""
        return tuple(node for node in self._known.flow.nodes if node.name not in self._known.topics)

    def planned(self, plan: Plan | None) -> None:
        """This plan was made of the problem as it was last."""
        if plan is not self._planned:
            self._planned, self._planned_with = plan, dict(self._made_with)

    def learn(self, works: Mapping[str, Work], seconds: float) -> None:
        """What was measured, so many seconds after the last time."""
        for name, work in works.items():
            cost = work.cost
            if cost is None or work.busy < BUSY or not 0 < cost < math.inf:
                continue
            share = 1 - math.exp(-max(0.0, seconds) / (LEARN_SOON if work.busy >= MUCH else LEARN))
            each = 1 / cost
            self._whole[name] = work
            if work.busy >= MUCH:
                self._seen_busy.add(name)
            elif name in self._seen_busy and each < self._each[name]:
                continue
            self._each[name] = _smoothed(self._each.get(name), each, share)
            believed = self._believed(name)
            if believed:
                self._factors[name] = self._planned_with.get(name, 1.0) * believed / self._each[name]
            self._learn_gains(name, work, share)

    def each(self, name: str) -> float | None:
        """Records per second of one slot: as measured, else as believed."""
        return self._each.get(name) or self._believed(name)

    def press(self, name: str, went: float, could: float, queue: float, now: float) -> None:
        """Compare what a segment does with what it could do by its costs, while more waits than it gets done.

        A slot spends time on more than records: on clients, on commits, waiting for a core or for a broker.
        """
        if could <= 0 or queue < WAITS * max(went, 1.0):
            self._pressed.pop(name, None)
        elif now - self._pressed.setdefault(name, now) >= LONG:
            self._reached[name] = _smoothed(self._reached.get(name), min(1.0, went / could), 0.2)

    def reached(self, name: str) -> float:
        """The share of what a segment could do by its costs that it gets done when it is pressed; 1 if it never was."""
        return self._reached.get(name, 1.0)

    def through(self, name: str) -> tuple[float, frozenset[str]] | None:
        """Seconds of slots for one record that a segment takes in, with all that comes of it; and whose they are.

            c(s) = sum over s and all segments n behind it of (records of n for one of s) / (records per second of n)

        None where nothing is known of one of them.
        """
        flow = self._known.flow
        amounts = {name: 1.0}
        seconds = 0.0
        for node in flow.nodes:
            if node.name not in amounts:
                continue
            each = self.each(node.name)
            if each is None:
                return None
            seconds += amounts[node.name] / each
            for output in node.outputs:
                for reader in flow.readers[output.name]:
                    amounts[reader] = amounts.get(reader, 0.0) + amounts[node.name] * float(output.selectivity)
        return (seconds, frozenset(amounts)) if seconds > 0 else None

    def rest(self, name: str, part: Part) -> tuple[float, frozenset[str]] | None:
        """What slots have to do for one record of a segment of which a part is in batches, with all that comes of it.

            c(rest) = sum over pieces p that stay of (records of p for one of s) · c_p + what is behind s

        None where nothing is known of one of them. See `through`.
        """
        through, each, work = self.through(name), self.each(name), self._whole.get(name)
        if through is None or each is None or work is None:
            return None
        seconds, theirs = through
        stay = [program for one, program in part.programs.items() if not set(part.operators) >= _names(program)]
        spent = math.fsum(_spent(flow) for flow in work.flows.values())
        mine = 0.0
        for program in stay:
            reads = work.flows.get(program.steps[0].name) if program.steps and program.name != name else None
            rows = reads.came / work.came if reads is not None else 1.0
            if program.name in self._each and program.name != name:
                mine += rows / self._each[program.name]
            elif spent > 0:
                share = math.fsum(_spent(work.flows.get(label, Rates())) for label in _labels(program)) / spent
                mine += share / each + rows * ROW
            else:
                return None
        return max(0.0, seconds - 1 / each) + mine, theirs | {program.name for program in stay}

    def _believed(self, name: str) -> float | None:
        found = next((one for one in self._planned.segments if one.name == name), None) if self._planned else None
        each = found.load.capacity / found.parallelism if found else 0.0
        return each if 0 < each < math.inf else None

    def _learn_gains(self, name: str, work: Work, share: float) -> None:
        node = next((node for node in self._problem.flow.nodes if node.name == name), None)
        for output in node.outputs if node else ():
            flow = work.flows.get(output.name)
            if flow is not None:
                gain = flow.went / work.came
                self._gains[output.name] = _smoothed(self._gains.get(output.name), gain, share)

    def _corrected(self, node: Node) -> Node:
        dearer = jobs.dearer(node, self._factors.get(node.name, 1.0))
        outputs = tuple(
            dataclasses.replace(output, selectivity=self._gains.get(output.name, output.selectivity))
            for output in dearer.outputs
        )
        return dataclasses.replace(dearer, outputs=outputs)


def _names(program: Program) -> set[str]:
    return {step.name for step in program.steps}


def _labels(program: Program) -> set[str]:
    """Of all that a program does but for reading."""
    ways = {edge.label for edge in program.edges} | {output.label for output in program.outputs}
    return _names(program) | ways


def _spent(flow: Rates) -> float:
    """Seconds per second that one place of a program takes."""
    return flow.came * (flow.cost or 0.0)


def _smoothed(before: float | None, now: float, share: float) -> float:
    return now if before is None else before + share * (now - before)


def _differ(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return any(abs(value - other.get(name, 0.0)) > SAME * max(abs(value), 1e-9) for name, value in one.items())


def _of_segments(asked: Problem, plan: messages.Plan) -> Problem:
    """The problem with a plan's segments for operators: none is fused with another, nor taken apart."""
    nodes = {node.name for node in asked.flow.nodes} - asked.topics
    groups = {one.name: one.operators for one in plan.segments if nodes.issuperset(one.operators)}
    flow = chaining.fused(asked.flow, groups)
    traits = {
        name: dataclasses.replace(asked.traits.get(name, Traits()), keyed=True, pinned=Paradigm.RECORD, batchable=False)
        for name in (node.name for node in flow.nodes)
        if name in nodes  # what is fused into another is no node any more, and planning wants to hear of none such
    }
    return dataclasses.replace(asked, flow=flow, traits=MappingProxyType(traits))
