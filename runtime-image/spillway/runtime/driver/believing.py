"""What records cost, and how many come of one: as it is believed, corrected by what is measured. Pure.

Planning speaks of segments here: what is fused stays fused while a job runs, but for bursts in which a part of it is in
batches. What a segment is measured to cost is kept as a factor on what was believed, because time is measured for a
segment as a whole, and planning wants it divided into records and frames:

    factor = what a record takes of a slot / what the plan said it would, times the factor of that plan

What slots get done of a segment may be less than that promises, or more (`controllers.pressure`); what is planned is
for slots as they are.

Of a segment that may be split, what would stay with slots is its share of the time that was measured operator by
operator while it was whole, and reading an edge; once it was split, what its pieces took.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from types import MappingProxyType

from spillway.controllers import pressure
from spillway.controllers.costmodel import chaining
from spillway.controllers.costmodel.flow import Flow, Node
from spillway.controllers.planning.plan import Plan
from spillway.controllers.planning.problem import Problem, Traits
from spillway.controllers.pressure import Done, Pressure
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
# Of a slot; what is measured of less work is mostly its error. But no more than that: whoever was busy for less has at
# least done what came in so much time.
BUSY = 0.02
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
        self._pressures: dict[str, Pressure] = {}
        self._whole: dict[str, Work] = {}  # what segments did last when they had something to do
        self._known = self._problem
        self._made_with: dict[str, float] = {}
        self._made_for: dict[str, float] = {}
        self._gained_with: dict[str, float] = {}
        self._planned: Plan | None = None
        self._planned_with: dict[str, float] = {}
        self._planned_for: dict[str, float] = {}

    @property
    def problem(self) -> Problem:
        """What planning is asked, with costs as they are known by now."""
        slow = self._slow()
        changed = _differ(self._factors, self._made_with) or _differ(self._gains, self._gained_with)
        if changed or _differ(slow, self._made_for):
            self._made_with, self._gained_with, self._made_for = dict(self._factors), dict(self._gains), slow
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
            self._planned_for = dict(self._made_for)

    def learn(self, works: Mapping[str, Work], seconds: float) -> None:
        """What was measured, so many seconds after the last time."""
        for name, work in works.items():
            cost = work.cost
            if cost is None or not 0 < cost < math.inf:
                continue
            if work.busy < BUSY:
                self._learn_least(name, work)
                continue
            share = 1 - math.exp(-max(0.0, seconds) / (LEARN_SOON if work.busy >= MUCH else LEARN))
            each = 1 / cost
            self._whole[name] = work
            if work.busy >= MUCH:
                self._seen_busy.add(name)
            elif name in self._seen_busy and each < self._each[name]:
                continue
            self._learn_each(name, _smoothed(self._each.get(name), each, share))
            self._learn_gains(name, work, share)

    def each(self, name: str) -> float | None:
        """Records per second of one slot: as measured, else as believed."""
        return self._each.get(name) or self._believed(name)

    def press(self, name: str, done: Done) -> None:
        """Compare what is done of a segment with what its costs promise."""
        self._pressures[name] = pressure.observe(self._pressures.get(name, Pressure()), done)

    def pressure(self, name: str) -> Pressure:
        """What was learnt of that."""
        return self._pressures.get(name, Pressure())

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
        return each * self._planned_for.get(name, 1.0) if 0 < each < math.inf else None

    def _learn_least(self, name: str, work: Work) -> None:
        """A segment with little to do: it can at least what it did, in so much time."""
        least = work.came / BUSY
        if (known := self.each(name)) is not None and known < least:
            self._learn_each(name, least)

    def _learn_each(self, name: str, each: float) -> None:
        self._each[name] = each
        if believed := self._believed(name):
            self._factors[name] = self._planned_with.get(name, 1.0) * believed / each

    def _slow(self) -> dict[str, float]:
        """How many times as long as its costs say each segment takes in slots as they are.

        What slows a segment down slows those behind it, which have the same slots, and have not been pressed because
        less comes through.
        """
        found: dict[str, float] = {}
        for name, one in self._pressures.items():
            through = self.through(name)
            for behind in through[1] if through is not None else ():
                found[behind] = max(found.get(behind, 1.0), 1 / one.slowed)
        return found

    def _learn_gains(self, name: str, work: Work, share: float) -> None:
        node = next((node for node in self._problem.flow.nodes if node.name == name), None)
        for output in node.outputs if node else ():
            flow = work.flows.get(output.name)
            if flow is not None:
                gain = flow.went / work.came
                self._gains[output.name] = _smoothed(self._gains.get(output.name), gain, share)

    def _corrected(self, node: Node) -> Node:
        dearer = jobs.dearer(node, self._factors.get(node.name, 1.0) * self._made_for.get(node.name, 1.0))
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
