"""Jobs whose programs change, without slots or a broker: edges hold rows by their form, partitions do as they shall.

What is simplified: one partition never dies, and a message of the leader counts at once or a step later.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence

from spillway.controllers import rollout
from spillway.controllers.protocol import log, messages
from spillway.controllers.protocol.frozen import Frozen
from spillway.controllers.protocol.values import Holding, Owner, Partition, Try
from spillway.controllers.rollout import Shape, Way
from spillway.model.operators import Paradigm

WIDTH = 2
SLOT = Owner("w0.0", 1)


def plan(number: int, programs: Mapping[str, Shape]) -> messages.Plan:
    """A plan of these programs, by hash."""
    segments = tuple(
        messages.Segment(shape.segment, (shape.segment,), program, Paradigm.RECORD, WIDTH, 1)
        for program, shape in programs.items()
    )
    return messages.Plan(1, number, "{}", WIDTH, segments)


def job(edges: Mapping[tuple[str, str], str], version: str = "1") -> dict[str, Shape]:
    """Programs of a job by hash: who writes to whom, in which form; who is written to by nobody reads a topic."""
    names = sorted({name for edge in edges for name in edge})
    found = {}
    for name in names:
        reads = {Way(name, 0): form for (_, reader), form in edges.items() if reader == name}
        writes = {Way(reader, 0): form for (writer, reader), form in edges.items() if writer == name}
        shape = Shape(name, f"edge.{name}" if reads else f"topic.{name}", reads, writes)
        found[f"{name}@{version}"] = shape
    return found


@dataclasses.dataclass
class World:
    """A job at work.

    Attributes:
        shapes: of all programs that were ever planned.
        state: what the log says.
        rows: by partition of an edge, the form of each row.
        position: how far the reader of each has come.
        wrong: what should not have happened.
    """

    shapes: dict[str, Shape]
    state: log.State
    rows: dict[Partition, list[tuple[Way, str]]]
    position: dict[Partition, int]
    wrong: list[str]
    ends: dict[Partition, int]

    @classmethod
    def of(cls, programs: Mapping[str, Shape]) -> World:
        """All partitions are at work."""
        state = log.State(plans=Frozen({1: plan(1, programs)}))
        world = cls(dict(programs), state, {}, {}, [], {})
        for program, shape in programs.items():
            for number in range(WIDTH):
                world.hold(Partition(shape.segment, number), program)
        return world

    def replan(self, programs: Mapping[str, Shape]) -> None:
        """Another plan; old ones stay."""
        last = self.state.plan
        number = last.number + 1 if last else 1
        self.shapes |= programs
        plans = self.state.plans.put(number, plan(number, programs))
        self.state = dataclasses.replace(self.state, plans=plans)

    def hold(self, place: Partition, program: str) -> None:
        """A partition gets an owner."""
        was = self.state.holdings.get(place)
        epoch = was.last + 1 if was else 1
        self._put(place, Holding(SLOT, epoch, program, self.at(place), epoch))

    def rest(self, place: Partition) -> None:
        """A partition comes to rest."""
        was = self.state.holdings[place]
        move = Try(was.last + 1, None, was.program, ready=True, releasing=True, cut=self.at(place))
        self._put(place, was._replace(last=was.last + 1, move=move))

    def give_up(self, place: Partition, program: str) -> None:
        """A partition is given up to one that is to run this program, and has not taken it yet."""
        self.rest(place)
        holding = self.state.holdings[place]
        assert holding.move is not None
        self._put(place, holding._replace(move=holding.move._replace(heir=SLOT, program=program)))

    def at(self, place: Partition) -> int:
        return self.position.get(place, 0)

    def rests(self, place: Partition) -> bool:
        return self.state.owner(place) is None

    def decide(self) -> rollout.Rollout:
        """One decision, and a look at the ends that it asks for."""
        positions = {place: self.at(place) for place in self.state.holdings}
        found = rollout.decide(self.state, self.shapes, self.ends, positions)
        self.ends = {p: self.ends.get(p, len(self.rows.get(p, ()))) for p in found.asks}
        return found

    def works(self, place: Partition, dice: random.Random) -> None:
        """An owner takes the next row, if there is one, and writes to all of its edges."""
        if self.rests(place):
            return
        shape = self.shapes[self.state.holdings[place].program]
        if shape.reads:
            waiting = self.rows.get(place, [])[self.at(place) :]
            if not waiting:
                return
            way, form = waiting[0]
            if shape.reads.get(way) != form:
                self.wrong.append(f"{place} runs {self.state.holdings[place].program} and meets {way} as {form}")
            self.position[place] = self.at(place) + 1
        for way, form in shape.writes.items():
            self.rows.setdefault(Partition(way.reader, dice.randrange(WIDTH)), []).append((way, form))

    def step(self, dice: random.Random, *, follow: bool = True) -> bool:
        """Some partitions work, and one does as it shall; whether there was anything left to do."""
        for place in dice.sample(sorted(self.state.holdings), k=min(3, len(self.state.holdings))):
            self.works(place, dice)
        found = self.decide()
        todo = [place for place, aim in found.aims.items() if not self.does(place, aim)]
        if todo and follow:
            place = dice.choice(todo)
            aim = found.aims[place]
            if not aim.runs or not self.rests(place):
                self.rest(place)
            if aim.runs:
                self.hold(place, aim.program)
        return bool(todo or found.left)

    def does(self, place: Partition, aim: rollout.Aim) -> bool:
        """Whether a partition does already what it shall."""
        holding = self.state.holdings.get(place)
        if holding is None:
            return not aim.runs
        return self.rests(place) if not aim.runs else not self.rests(place) and holding.program == aim.program

    def settle(self, dice: random.Random, most: int = 2000) -> Sequence[str]:
        """Until all is as planned; what went wrong."""
        for _ in range(most):
            if not self.step(dice):
                return self.wrong
        return [*self.wrong, f"not done after {most} steps: {self.decide().sentence}"]

    def _put(self, place: Partition, holding: Holding) -> None:
        self.state = dataclasses.replace(self.state, holdings=self.state.holdings.put(place, holding))
