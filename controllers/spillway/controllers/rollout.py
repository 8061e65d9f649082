"""How programs change while a job runs: which program each partition is to run now, and which has to rest.

A *way* leads into an edge: to one side of the segment that reads it. Its *form* says what its rows are: columns, key,
records or updates. A partition whose program changes, though the forms of all its ways stay as they are, simply moves.
Where a way is removed or gets another form, the rows that wait in the log can be read by the old program alone, so

1. who writes it in the old form comes to rest;
2. its reader works with the old program until it has come to the end that the edge had when the last writer rested;
3. the reader gets its new program, or rests for good if nothing takes its place;
4. when all partitions of the reader have, the writers start with their new programs.

A reader in step 2 is a writer of further edges, and goes on to write them; so whole chains are emptied in the order of
the topology, without anybody knowing that order: each partition looks at its neighbours alone. What was decided
follows from the log and the ends of edges, so that another driver goes on in the middle; and since a change that was
given up is only a change to the programs of before, going back is the same. One change at a time is under way (`done`).

Positions and tables are kept by name. So a segment of the same name has to read the same topic, and a table of the same
name has to be kept in the same way, or the change is refused; a new name is always possible. Segments that would have
to wait for one another, because they change places, are refused too.
"""

from __future__ import annotations

import dataclasses
import graphlib
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from spillway.controllers import explain
from spillway.controllers.explain import Reasons
from spillway.controllers.protocol import log
from spillway.controllers.protocol.values import Holding, Partition

_MANY = 6  # partitions in a sentence; more are counted


class Way(NamedTuple):
    """One side of the segment that reads an edge."""

    reader: str
    side: int

    def __str__(self) -> str:
        return f"{self.reader}.{('main', 'other')[self.side]}"


def _nothing() -> Mapping[Way, str]:
    return MappingProxyType({})


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """A program, as far as others have to do with it.

    Attributes:
        segment: whose.
        input: the topic that it reads.
        reads: the form of each way into its edge; empty where it reads a topic of the user.
        writes: the form of each way into the edges of others.
        states: by name, how its tables are kept.
    """

    segment: str
    input: str
    reads: Mapping[Way, str] = dataclasses.field(default_factory=_nothing)
    writes: Mapping[Way, str] = dataclasses.field(default_factory=_nothing)
    states: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))


class Aim(NamedTuple):
    """What one partition shall do now.

    Attributes:
        program: what it shall run.
        runs: whether it shall; else it rests.
    """

    program: str
    runs: bool


class Reason(Reasons):
    """How far a change of programs is."""

    DONE = "Done", "Every partition runs the program of the plan."
    ROLLING = "Rolling", "Partitions get their new programs, a few at a time."
    DRAINING = "Draining", "An edge is removed, or its rows change, so it is read to its end first."


@dataclasses.dataclass(frozen=True, slots=True)
class Rollout:
    """The decision.

    Attributes:
        aims: what each partition shall do; those of segments that are no more are among them.
        asks: partitions of edges nobody writes to any more in the old form: their ends are to be looked up from now on.
        left: partitions that don't run the program of the plan yet, or are still to come to rest for good.
    """

    reason: Reason
    sentence: str
    aims: Mapping[Partition, Aim]
    asks: frozenset[Partition]
    left: tuple[Partition, ...]

    @property
    def inputs(self) -> explain.Inputs:
        """What it looked at."""
        return (("partitions", f"{len(self.aims)}"), ("left", f"{len(self.left)}"))

    @property
    def alternatives(self) -> tuple[explain.Alternative, ...]:
        """None: the order is the only right one."""
        return ()


def decide(
    state: log.State,
    shapes: Mapping[str, Shape],
    ends: Mapping[Partition, int],
    positions: Mapping[Partition, int],
    unsettled: Collection[Partition] = (),
) -> Rollout:
    """What each partition shall do now.

    Args:
        state: what the log says; its last plan is where all shall get.
        shapes: by program, of all plans that the log has.
        ends: of the partitions that were asked for: where their edge ended, read after they were asked for.
        positions: how far owners have come, under the epochs that the log has.
        unsettled: partitions about which the leader has written something that it hasn't read back.
    """
    return _Change(state, shapes, ends, positions, frozenset(unsettled)).decided()


def done(state: log.State, shapes: Mapping[str, Shape]) -> bool:
    """Whether another plan may follow: the last change is done, and every edge that is written is in somebody's hands.

    What is half done can only go on, or back to the plan before: in a third one, rows that wait for a program that was
    to come might need the one before it, whose readers have changed already. And a partition that nobody ever had says
    nothing of the form of the rows that wait for it.
    """
    wrote = {
        way.reader
        for holding in state.holdings.values()
        for program in _programs(holding)
        if program in shapes
        for way in shapes[program].writes
    }
    planned = {segment.name: segment for segment in (state.plan.segments if state.plan else ())}
    for place, holding in state.holdings.items():
        segment = planned.get(place.segment)
        if not _rests(holding) if segment is None else _programs(holding) != (segment.program,):
            return False
    return all(
        Partition(name, number) in state.holdings
        for name, segment in planned.items()
        if name in wrote
        for number in range(segment.partitions)
    )


def refused(old: Iterable[Shape], new: Iterable[Shape]) -> tuple[str, ...]:
    """Why programs can't follow on those that there are, in sentences that say the way out; nothing if they can."""
    before, after = tuple(old), {shape.segment: shape for shape in new}
    found: dict[str, None] = {}  # ordered, and each only once
    states = {name: kept for shape in after.values() for name, kept in shape.states.items()}
    for shape in before:
        now = after.get(shape.segment)
        if now is not None and now.input != shape.input:
            found[
                f"{shape.segment!r} reads topic {now.input!r}, and read {shape.input!r} before: positions in one mean"
                " nothing in the other; give the operator another name"
            ] = None
        for name, kept in shape.states.items():
            if states.get(name, kept) != kept:
                found[
                    f"the table of {name!r} would be kept in another way, in which what is stored can't be read; give"
                    " the operator another name"
                ] = None
    if not found and (circle := _circle(before, after)):
        found[f"{', '.join(circle)} change places, and each would have to wait for the other; rename one of them"] = (
            None
        )
    return tuple(found)


def _circle(before: Iterable[Shape], after: Mapping[str, Shape]) -> list[str]:
    """Segments that wait for one another: a writer waits for the reader of a way that changes."""
    forms = {way: form for shape in after.values() for way, form in shape.reads.items()}
    waits: dict[str, set[str]] = {}
    old = tuple(before)
    changed = {way for shape in old for way, form in shape.reads.items() if forms.get(way) != form}
    for shape in (*old, *after.values()):
        waits.setdefault(shape.segment, set()).update(way.reader for way in shape.writes if way in changed)
    try:
        graphlib.TopologicalSorter(waits).prepare()
    except graphlib.CycleError as error:
        return sorted(set(error.args[1]))
    return []


def _programs(holding: Holding) -> tuple[str, ...]:
    """The programs that a partition runs, or may be about to."""
    move = holding.move
    if move is None or move.heir is None or move.program == holding.program:
        return (holding.program,)
    return (move.program,) if move.cut is not None else (holding.program, move.program)


def _rests(holding: Holding) -> bool:
    """Whether nobody has it, and nobody is to get it."""
    move = holding.move
    return move is not None and move.cut is not None and move.heir is None


class _Change:
    """One decision; what is looked up often is put at hand."""

    def __init__(
        self,
        state: log.State,
        shapes: Mapping[str, Shape],
        ends: Mapping[Partition, int],
        positions: Mapping[Partition, int],
        unsettled: frozenset[Partition],
    ) -> None:
        self.state, self.shapes, self.unsettled = state, shapes, unsettled
        self.ends, self.positions = ends, positions
        segments = state.plan.segments if state.plan else ()
        self.wanted = {segment.name: segment for segment in segments}
        self.forms = {
            way: form
            for segment in segments
            if segment.program in shapes
            for way, form in shapes[segment.program].reads.items()
        }
        self.of_segment: dict[str, list[tuple[Partition, Holding]]] = {}
        self.writers: dict[Way, list[tuple[Partition, Holding]]] = {}  # those that write it, but not as it shall be
        for place, holding in state.holdings.items():
            self.of_segment.setdefault(place.segment, []).append((place, holding))
            stale = {
                way
                for program in _programs(holding)
                for way, form in self._shape(program).writes.items()
                if self.forms.get(way) != form
            }
            for way in stale:
                self.writers.setdefault(way, []).append((place, holding))
        self.asks: set[Partition] = set()
        self._ready: dict[Way, bool] = {}
        self._done: dict[Partition, bool] = {}

    def decided(self) -> Rollout:
        """All of it."""
        places = {
            *self.state.holdings,
            *(Partition(name, n) for name, segment in self.wanted.items() for n in range(segment.partitions)),
        }
        aims = {place: self._aim(place) for place in sorted(places)}
        left = tuple(place for place, aim in aims.items() if not self._arrived(place, aim))
        stale = [place for place in left if self._changes_input(place)]
        if not left:
            reason, sentence = Reason.DONE, "every partition runs the program of the plan"
        elif stale or any(not aims[place].runs for place in left):
            what = f"; {_listed(stale)} still to be read to the end" if stale else ""
            reason, sentence = Reason.DRAINING, f"{len(left)} of {len(aims)} partitions to change{what}"
        else:
            reason, sentence = Reason.ROLLING, f"{len(left)} of {len(aims)} partitions to change: {_listed(left)}"
        return Rollout(reason, sentence, MappingProxyType(aims), frozenset(self.asks), left)

    def _aim(self, place: Partition) -> Aim:
        """What one partition shall do; the rules are those of the module."""
        holding, new = self.state.holdings.get(place), self._new(place)
        if holding is None:
            return Aim(new, all(map(self._is_ready, self._shape(new).writes)))
        old = _programs(holding)[-1] if holding.move and holding.move.cut is not None else holding.program
        ways = {*self._shape(old).writes, *self._shape(new).writes}
        if old == new:
            return Aim(new, not _rests(holding) or all(map(self._is_ready, ways)))
        if not self._changes_input(place):
            if not new:
                return Aim(old, runs=False)  # it read a topic of the user, and nobody does that any more
            if all(map(self._is_ready, ways)):
                return Aim(new, runs=True)
            stale = any(self.forms.get(way) != form for way, form in self._shape(old).writes.items())
            return Aim(old, not stale)
        drained = self._is_drained(place, holding)
        if drained is None:
            return Aim(old, not _rests(holding))
        if not drained:
            return Aim(old, runs=True)
        follows = bool(new) and all(map(self._is_ready, ways))
        return Aim(new, runs=True) if follows else Aim(old, runs=False)

    def _new(self, place: Partition) -> str:
        """The program that it shall run in the end; empty if none."""
        segment = self.wanted.get(place.segment)
        return segment.program if segment and place.number < segment.partitions else ""

    def _shape(self, program: str) -> Shape:
        return self.shapes.get(program, _UNKNOWN)

    def _changes_input(self, place: Partition) -> bool:
        """Whether the rows that wait for it can be read by its old program alone."""
        holding = self.state.holdings.get(place)
        reads = [self._shape(program).reads for program in _programs(holding)] if holding else []
        return any(self.forms.get(way) != form for of in reads for way, form in of.items())

    def _is_drained(self, place: Partition, holding: Holding) -> bool | None:
        """Whether it has read all rows of the old forms; None while nobody can tell."""
        ways = {way for program in _programs(holding) for way in self._shape(program).reads}
        writers = [writer for way in ways for writer in self.writers.get(way, ())]
        if place in self.unsettled:
            return None
        if not all(self._is_done(who, writer) for who, writer in writers):
            return False
        if not writers and _rests(holding):
            return True  # whoever wrote has gone on, and waited for that
        self.asks.add(place)
        end = self.ends.get(place)
        move = holding.move
        position = move.cut if move and move.cut is not None else self.positions.get(place)
        return None if end is None or position is None else position >= end

    def _is_done(self, place: Partition, holding: Holding) -> bool:
        """Whether a writer has come to rest, and won't be woken up to read the rest of its own edge."""
        if place not in self._done:
            self._done[place] = False  # should it come back here: it waits for itself
            rests = _rests(holding) and place not in self.unsettled
            self._done[place] = rests and (not self._changes_input(place) or self._is_drained(place, holding) is True)
        return self._done[place]

    def _is_ready(self, way: Way) -> bool:
        """Whether somebody may write it as it shall be: its readers have changed."""
        if way not in self._ready:
            readers = self.of_segment.get(way.reader, ())
            self._ready[way] = all(self._has_changed(place, holding, way) for place, holding in readers)
        return self._ready[way]

    def _has_changed(self, place: Partition, holding: Holding, way: Way) -> bool:
        if place in self.unsettled:
            return False
        if all(self._shape(program).reads.get(way) == self.forms.get(way) for program in _programs(holding)):
            return True
        gone = not self._new(place)
        return gone and _rests(holding) and self._is_drained(place, holding) is True

    def _arrived(self, place: Partition, aim: Aim) -> bool:
        """Whether it has got where it shall be in the end."""
        holding, new = self.state.holdings.get(place), self._new(place)
        if holding is None:
            return aim.runs  # nobody ever had it, so there is nothing to change
        if not new:
            return _rests(holding) and not aim.runs
        # Also not while it is on its way, given up with its old program and not yet taken with the new one.
        return {holding.program, *_programs(holding)} == {new} and aim.runs


# A program that no plan in the log has: nobody can run it, and nothing is known of it.
_UNKNOWN = Shape("", "")


def _listed(places: Collection[Partition]) -> str:
    shown = [str(place) for place in places][:_MANY]
    more = f" and {len(places) - len(shown)} more" if len(places) > len(shown) else ""
    return ", ".join(shown) + more
