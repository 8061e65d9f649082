"""Which parts of segments can run in batches where the whole can't: candidates are cut, and judged like programs."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Collection, Mapping, Sequence

from spillway.controllers.protocol import messages
from spillway.model.operators import Paradigm
from spillway.model.streamjob import Spec
from spillway.runtime.driver import splitting
from spillway.runtime.driver.splitting import Part
from spillway.runtime.programs import pruning
from spillway.runtime.programs.cutting import CutError
from spillway.runtime.programs.program import Program

Can = Callable[[Program, Spec], str]  # why a program can't run in batches; empty if it can


class Cuts:
    """Looks once for each plan and spec. Any thread may ask.

    Attributes:
        possible: by segment that can't run in batches as a whole, the longest part from its head on that can.
    """

    def __init__(self, can: Can) -> None:
        self._can = can
        self._lock = threading.RLock()
        self._plan: messages.Plan | None = None
        self._judge: _Judge | None = None
        self.possible: Mapping[str, Part] = {}

    def look(self, plan: messages.Plan, spec: Spec) -> None:
        """This plan holds, and this spec."""
        with self._lock:
            if self._judge is not None and self._plan is plan and self._judge.spec is spec:
                return
            self._plan, fused = plan, splitting.whole(plan)
            if self._judge is not None and self._judge.spec == spec and _alike(self._judge.plan, fused):
                return
            self._judge = judge = _Judge(self._can, fused, spec)
            self.possible = {one.name: part for one in fused.segments if (part := judge.longest(one)) is not None}

    def part(self, name: str, operators: Collection[str]) -> Part | None:
        """How these operators of a segment would run in batches; None if they can't."""
        with self._lock:
            return self._judge.of(name, operators)[1] if self._judge else None

    def judged(self, name: str, operators: Collection[str]) -> tuple[str, tuple[str, ...]]:
        """Why operators of a segment can't run in batches, as a sentence with the way out; or nothing, and which would.

        With those goes the stream that they read.
        """
        with self._lock:
            if self._judge is None:
                return "nothing is planned yet", ()
            _, part = self._judge.of(name, operators)
            return ("", part.operators) if part else (self._judge.refused(name, operators), ())


class _Judge:
    """Of one plan, in which nothing is split."""

    def __init__(self, can: Can, plan: messages.Plan, spec: Spec) -> None:
        self._can, self.plan, self.spec = can, plan, spec
        self._segments = {one.name: one for one in plan.segments}
        self._pinned = {one.name for one in spec.operators if _paradigm(one.paradigm, spec) is Paradigm.RECORD}
        self._reads = {one.name: pruning.main(one) for one in spec.operators}
        self._known: dict[tuple[str, frozenset[str]], tuple[str, Part | None]] = {}

    def of(self, name: str, operators: Collection[str]) -> tuple[str, Part | None]:
        """Why they can't run in batches, or how they would."""
        key = name, frozenset(operators)
        if key not in self._known:
            self._known[key] = self._judged(self._segments[name], key[1]) if name in self._segments else ("", None)
        return self._known[key]

    def _judged(self, segment: messages.Segment, chosen: frozenset[str]) -> tuple[str, Part | None]:
        if held := self._held(segment, chosen):
            return f"{held!r} is pinned to record", None
        try:
            made = splitting.split(self.plan, {segment.name: chosen})
            programs = splitting.programs(made)
        except CutError as error:
            return str(error), None
        mine = [one for one in made.segments if one.name == segment.name or one.whole == segment.operators]
        batched = [one for one in mine if one.paradigm is Paradigm.BATCH]
        for one in batched:
            if why := self._can(programs[one.name], self.spec):
                return why, None
        there = {operator for one in batched for operator in one.operators}
        ordered = tuple(name for name in segment.operators if name in there)
        rest = tuple(name for name in segment.operators if name not in there)
        return "", Part(ordered, rest, "", {one.name: programs[one.name] for one in mine})

    def refused(self, name: str, operators: Collection[str]) -> str:
        """The sentence."""
        why, _ = self.of(name, operators)
        segment = self._segments[name]
        if self._held(segment, operators):
            sentence = f"{why}; take `paradigm` out of the manifest"
        elif set(operators) >= {one for one in segment.operators if one in self._reads}:
            sentence = f"{name!r} can't run in batches: {why}"
        else:
            asked = [one for one in segment.operators if one in operators]
            itself = "itself" if len(asked) == 1 else "themselves"
            sentence = f"{', '.join(asked)} can't run in batches by {itself}: {why}"
        can = self.longest(segment)
        return f"{sentence}; {_names(can.operators)} alone can" if can else sentence

    def longest(self, segment: messages.Segment) -> Part | None:
        """The longest part of a segment from its head on that can run in batches; None if all of it can, or nothing."""
        names = [name for name in segment.operators if name in self._reads]  # without the stream that it may begin with
        if not names or self.of(segment.name, names)[1] is not None:
            return None
        free: list[str] = []
        for name in names:
            if name not in self._pinned and self._follows(name, names, free):
                free.append(name)
        found = self.of(segment.name, free)[1] if free else None
        if free and found is None:
            found = self._as_far_as_it_goes(segment, names, free)
        if found is None or not found.rest:
            return None
        return dataclasses.replace(found, why=self._hindrance(segment, found))

    def _as_far_as_it_goes(self, segment: messages.Segment, names: Sequence[str], free: Sequence[str]) -> Part | None:
        taken: list[str] = []
        for name in free:
            if self._follows(name, names, taken) and self.of(segment.name, [*taken, name])[1] is not None:
                taken.append(name)
        return self.of(segment.name, taken)[1] if taken else None

    def _follows(self, name: str, names: Sequence[str], taken: Collection[str]) -> bool:
        """Whether all that it reads within the segment is taken."""
        return all(read in taken for read in self._reads[name] if read in names)

    def _hindrance(self, segment: messages.Segment, part: Part) -> str:
        first = part.rest[0]
        if first in self._pinned:
            return f"{first!r} is pinned to record"
        why, _ = self.of(segment.name, [*(name for name in part.operators if name in self._reads), first])
        return f"with {first!r}, {why}"

    def _held(self, segment: messages.Segment, operators: Collection[str]) -> str | None:
        """The first of some operators that has to run record by record."""
        return next((name for name in segment.operators if name in operators and name in self._pinned), None)


def _paradigm(of_operator: Paradigm | None, spec: Spec) -> Paradigm:
    return of_operator or spec.execution.paradigm


def _alike(one: messages.Plan, other: messages.Plan) -> bool:
    return (one.spec, one.digests, one.width, _operators(one)) == (
        other.spec,
        other.digests,
        other.width,
        _operators(other),
    )


def _operators(plan: messages.Plan) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.name, one.operators) for one in plan.segments]


def _names(operators: Sequence[str]) -> str:
    return ", ".join(operators)
