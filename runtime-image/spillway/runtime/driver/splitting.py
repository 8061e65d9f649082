"""Where a segment is split, so that only a part of its operators runs in batches; and how it is one again. Pure.

A segment is one program, and a program runs in one paradigm. Where a *part* of its operators shall run in batches, the
segment is split at the ends of that part: the piece that has its head keeps its name and its input, and every other
piece is a segment of its own, named after its first operator, which reads an edge. A piece says in the plan what it is
a piece of (`Segment.whole`), so that whoever reads the log can put the segment together again: operators, program,
frames and deadlines are then exactly what they were.

    words + tagged + tail         one segment, and only `words` can run in batches
    words | tagged + tail         in a burst: `words` in batches, the rest record by record, an edge between them

Both are plans like all others: `rollout` finds the order in which partitions change, and drains the edge on the way
back. What is decided and believed is about whole segments, however they are split at the moment.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import msgspec

from spillway.controllers.protocol import messages
from spillway.model.operators import Operator, Paradigm
from spillway.model.streamjob import Spec
from spillway.runtime.programs import cutting, pruning
from spillway.runtime.programs.cutting import CutError
from spillway.runtime.programs.program import Program


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """What of a segment runs in batches, where not all of it does.

    Attributes:
        operators: these; with the stream that the segment begins with, if they read it.
        rest: the others, which stay record by record.
        why: what keeps the first of those, as far as anything forbids it; empty where somebody just wants it so.
        programs: of all pieces, by name.
    """

    operators: tuple[str, ...]
    rest: tuple[str, ...]
    why: str
    programs: Mapping[str, Program]

    def __str__(self) -> str:
        return f"{', '.join(self.operators)} | {', '.join(self.rest)}"


def home(segment: messages.Segment) -> str:
    """The segment that it is, or is a piece of."""
    return segment.whole[0] if segment.whole else segment.name


def pieces(plan: messages.Plan) -> dict[str, tuple[messages.Segment, ...]]:
    """By segment that is split in a plan, what it is split into."""
    found: dict[str, tuple[messages.Segment, ...]] = {}
    for one in plan.segments:
        if one.whole:
            found[home(one)] = (*found.get(home(one), ()), one)
    return found


def inside(plan: messages.Plan) -> dict[str, tuple[tuple[str, ...], frozenset[str]]]:
    """By segment as it is when nothing is split, its operators, and those of them that are planned for batches."""
    found: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}
    for one in plan.segments:
        _, before = found.get(home(one), ((), frozenset[str]()))
        mine = frozenset(one.operators) if one.paradigm is Paradigm.BATCH else frozenset[str]()
        found[home(one)] = (one.whole or one.operators, before | mine)
    return found


def whole(plan: messages.Plan) -> messages.Plan:
    """The plan with nothing split, and what was split record by record; the plan itself if nothing is.

    Raises:
        CutError: where the pieces are no segment any more; never of a plan that `split` has made.
    """
    found = pieces(plan)
    if not found:
        return plan
    ones = [one for one in plan.segments if not one.whole or one.name in found]
    ones = [
        msgspec.structs.replace(one, operators=one.whole, paradigm=Paradigm.RECORD, whole=()) if one.whole else one
        for one in ones
    ]
    return _cut(plan, ones, found)


def split(plan: messages.Plan, chosen: Mapping[str, Collection[str]]) -> messages.Plan:
    """A plan in which nothing is split, with segments so that exactly these operators of them are in batches.

    Raises:
        CutError: where no programs can be made of that.
    """
    ones: list[messages.Segment] = []
    changed = set[str]()
    for one in plan.segments:
        mine = chosen.get(one.name)
        if mine is None:
            ones.append(one)
        elif not mine or set(mine) >= set(one.operators):
            ones.append(msgspec.structs.replace(one, paradigm=Paradigm.BATCH if mine else Paradigm.RECORD))
        else:
            some = _split(plan, one, mine)
            changed |= {piece.name for piece in some if piece.whole}
            ones += some
    return _cut(plan, ones, changed) if changed else msgspec.structs.replace(plan, segments=tuple(ones))


def _split(plan: messages.Plan, segment: messages.Segment, chosen: Collection[str]) -> list[messages.Segment]:
    """The pieces of one segment, with the hash of its program for theirs."""
    operators = {operator.name: operator for operator in Spec.model_validate_json(plan.spec).operators}
    made = []
    some = _pieces(segment.operators, operators, chosen)
    for name, its in some.items():
        made.append(
            msgspec.structs.replace(
                segment,
                name=name,
                operators=its,
                paradigm=Paradigm.BATCH if its[-1] in chosen else Paradigm.RECORD,
                partitions=segment.partitions if name == segment.name else plan.width,
                whole=segment.operators if len(some) > 1 else (),
            )
        )
    return made


def _pieces(
    names: Sequence[str], operators: Mapping[str, Operator], chosen: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """The operators of a segment, which is a tree, in pieces: each has operators of one paradigm, by its head."""
    above = {
        name: next((read for read in pruning.main(operators[name]) if read in names), None)
        for name in names
        if name in operators
    }
    # A stream that is read into the segment goes with what reads it there.
    within = {*chosen} | {read for name, read in above.items() if name in chosen and read and read not in operators}
    piece: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for name in names:
        read = above.get(name)
        piece[name] = piece[read] if read is not None and (read in within) == (name in within) else name
        found.setdefault(piece[name], []).append(name)
    return {name: tuple(some) for name, some in found.items()}


def _cut(plan: messages.Plan, ones: Sequence[messages.Segment], changed: Collection[str]) -> messages.Plan:
    """The plan with these segments; those of them that changed get the hashes of their programs."""
    by_name = {one.name: one for one in ones}
    cut = programs(msgspec.structs.replace(plan, segments=tuple(ones)))
    if cut.keys() != by_name.keys():
        message = f"other segments come of it than planned: {', '.join(cut)}"
        raise CutError(message)
    segments = tuple(
        msgspec.structs.replace(by_name[name], program=program.id) if name in changed else by_name[name]
        for name, program in cut.items()
    )
    return msgspec.structs.replace(plan, segments=segments)


def programs(plan: messages.Plan) -> dict[str, Program]:
    """The programs of a plan, by segment, in topological order."""
    spec = Spec.model_validate_json(plan.spec)
    cut = cutting.cut(spec, {one.name: one.operators for one in plan.segments}, dict(plan.digests))
    return {program.name: program for program in cut}


def planned(
    plan: messages.Plan,
    paradigms: Mapping[str, Paradigm],
    decided: Mapping[str, Collection[str]],
    possible: Mapping[str, Part],
) -> messages.Plan | None:
    """The plan with segments in the paradigms in which they shall run, split where only a part can; None if it is that.

    What is split stays split in the same way until it comes back as a whole, unless somebody says so.

    Args:
        plan: as it is.
        paradigms: by segment; others stay as they are.
        decided: by segment that shall be in batches, which of its operators, where somebody has said so.
        possible: what can run there of segments that can't as a whole.
    """
    now, then = inside(plan), dict[str, frozenset[str]]()
    for name, (operators, batched) in now.items():
        to = paradigms.get(name)
        if to is Paradigm.RECORD:
            then[name] = frozenset()
        elif to is Paradigm.BATCH and decided.get(name):
            then[name] = frozenset(decided[name])
        elif to is Paradigm.BATCH and not batched:
            then[name] = frozenset(possible[name].operators if name in possible else operators)
        else:
            then[name] = batched
    left = any(not then[name] for name in pieces(plan))  # in pieces, and nobody wants that any more
    if not left and all(then[name] == batched for name, (_, batched) in now.items()):
        return None
    return split(whole(plan), then)
