"""From what was observed to where each partition shall be. Pure.

`controllers.tick` says who shall have what, `controllers.rollout` which program each partition runs and which rest;
here the two become targets of the leader, less what may not run at all: of a paused job, of topics that are missing.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Callable, Collection, Mapping

from spillway.controllers import assignment, rollout, tick
from spillway.controllers.balancing import Slot
from spillway.controllers.costmodel.flow import Node
from spillway.controllers.planning.problem import Problem
from spillway.controllers.pressure import Done
from spillway.controllers.protocol import knowledge, messages
from spillway.controllers.protocol.knowledge import Target
from spillway.controllers.protocol.values import ENGINE, Owner, Partition
from spillway.controllers.provisioning import Arrivals
from spillway.controllers.switching import measurements
from spillway.controllers.switching.measurements import Measurement
from spillway.model.execution import Mode
from spillway.model.operators import Paradigm
from spillway.runtime.batch.speed import Line
from spillway.runtime.driver import observing, splitting
from spillway.runtime.driver.believing import Beliefs
from spillway.runtime.driver.observing import Seen
from spillway.runtime.driver.splitting import Part

_SPAN = datetime.timedelta(seconds=observing.SPAN)
# What a batch costs as long as nobody has tried; without P_O nothing is switched, so it only shows in thresholds.
_UNTRIED = measurements.Costs(datetime.timedelta(seconds=1), datetime.timedelta(milliseconds=50))
# Of a slot: what a segment can have at the least, however busy all others are.
LEFT = 0.1


@dataclasses.dataclass(frozen=True, slots=True)
class Batches:
    """What is known of a segment as to batches.

    Attributes:
        can: whether it could run in batches now.
        pinned: what the manifest says.
        runs: the paradigm in which it runs.
        line: what batches take, if that was measured.
        came: what arrives; None where nobody has looked.
        queue: messages that wait; None where nobody has looked.
        part: what of it would run in batches, or does; None where all of it.
        split: whether it is in pieces now.
    """

    can: bool
    pinned: Paradigm = Paradigm.AUTO
    runs: Paradigm = Paradigm.RECORD
    line: Line | None = None
    came: Arrivals | None = None
    queue: int | None = None
    part: Part | None = None
    split: bool = False


_NEVER = Batches(can=False, pinned=Paradigm.RECORD)


def owners(
    me: knowledge.Leader, silent: Collection[Owner], leaving: Collection[Owner], granted: int | None
) -> tuple[assignment.Owner, ...]:
    """The slots that there are; those that leave, or are beyond the grant, give everything away."""
    found = []
    for name in me.log.members:
        slot, life = Slot.named(name), me.living(name)
        if slot is not None and life is not None and life not in silent:
            beyond = granted is not None and slot.worker >= granted
            found.append(assignment.Owner(slot, draining=beyond or life in leaving))
    return tuple(found)


def current(me: knowledge.Leader, there: Collection[Slot]) -> dict[Partition, Slot]:
    """Who has what, or is about to: a move that was decided is not thought over as long as it can end well."""
    found = {}
    for place in me.log.holdings:
        target = me.wanted.get(place)
        to = Slot.named(target.slot) if target and target.slot and place not in me.failed else None
        if to is None or to not in there:
            owner = me.log.owner(place)
            to = Slot.named(owner.slot) if owner and not me.lost(owner) else None
        if to is not None:
            found[place] = to
    return found


def gathered(seen: Seen, plan: messages.Plan) -> Seen:
    """What was measured, with what is split as the one segment that is decided about.

    Its pieces keep slots busy for it; what comes in and waits is what does at the piece with its head.
    """
    works = dict(seen.works)
    for name, some in splitting.pieces(plan).items():
        mine = [works.pop(one.name, observing.Work()) for one in some if one.name != name]
        if name in works:
            busy = math.fsum((works[name].busy, *(one.busy for one in mine)))
            works[name] = dataclasses.replace(works[name], busy=busy, left=sum(one.left for one in mine))
    return dataclasses.replace(seen, works=works)


def observation(
    seen: Seen,
    beliefs: Beliefs,
    topics: Mapping[str, str],
    loads: Mapping[Partition, float | None],
    slots: tuple[assignment.Owner, ...],
    owned: Mapping[Partition, Slot],
    batches: Mapping[str, Batches],
) -> tick.Observation:
    """What a tick decides upon.

    Args:
        seen: what was measured.
        beliefs: what records cost.
        topics: by stream or table.
        loads: of every partition that shall run.
        slots: all that there are.
        owned: who has what.
        batches: by segment, what is known as to batches.

    The capacity of a segment is what slots can do that have also to take what comes of it: with more of its input,
    those behind it have more to do, too.
    """
    now = datetime.datetime.fromtimestamp(seen.at, datetime.UTC)
    problem = beliefs.problem
    nodes, measured = [], {}
    for node in beliefs.segments:
        reads = tuple(name for o in node.inputs if (name := problem.flow.owners[o].name) not in problem.topics)
        work = seen.works.get(node.name)
        gain = work.left / work.came if work and work.came > 0 else None
        of = batches.get(node.name, _NEVER)
        follows = follow(node.name, of, beliefs, seen, len(slots))
        nodes.append(
            measurements.Node(
                node.name,
                reads,
                paradigm=of.runs,
                pinned=of.pinned,
                batchable=of.can,
                selectivity=gain,
                part=_part(of.part, follows),
            )
        )
        capacity = can(node.name, beliefs, seen, len(slots))
        if capacity <= 0:
            continue
        if found := _measured(work, of, _came(node, problem, seen, topics), (capacity, follows), now):
            measured[node.name] = found
    arrivals = {node.name: seen.arrivals.get(topics.get(node.name, "")) for node in problem.flow.sources}
    can_grow = len(slots) < problem.room.slots
    operators = measurements.Observation(tuple(nodes), measured, can_grow)
    return tick.Observation(operators, arrivals, loads, slots, owned)


def can(name: str, beliefs: Beliefs, seen: Seen, slots: int) -> float:
    """Records per second of a segment that slots can take in, by costs and by what they have done; 0 if unknown."""
    through = beliefs.through(name)
    if through is None:
        return 0.0
    cost, theirs = through
    return beliefs.pressure(name).capacity(_left(theirs, seen, slots), cost)


def follow(name: str, of: Batches, beliefs: Beliefs, seen: Seen, slots: int) -> float:
    """Records per second of a segment that slots could do the rest of, while a part of it is in batches.

    Infinite where all of it is, or where nobody knows what the rest costs.
    """
    rest = beliefs.rest(name, of.part) if of.part is not None else None
    if rest is None:
        return math.inf
    cost, theirs = rest
    return _left(theirs, seen, slots) / cost * beliefs.pressure(name).reached if cost > 0 else math.inf


def _left(theirs: Collection[str], seen: Seen, slots: int) -> float:
    """What some segments can have of the slots."""
    others = math.fsum(one.busy for other, one in seen.works.items() if other not in theirs)
    return max(slots - others, LEFT)


def _part(part: Part | None, follows: float) -> str:
    """Where a segment is split for batches, and what is known of that, in words."""
    if part is None:
        return ""
    why = f", for {part.why}" if part.why else ""
    does = f"; slots can do {follows:.0f}/s of what stays" if follows < math.inf else ""
    return f"split there: {part}{why}{does}"


def press(beliefs: Beliefs, seen: Seen, slots: int, batches: Mapping[str, Batches]) -> None:
    """Learn from what slots get done of segments that they have."""
    for name, of in batches.items():
        work, through = seen.works.get(name), beliefs.through(name)
        if work is None or through is None or of.runs is not Paradigm.RECORD or of.split:
            continue
        cost, theirs = through
        # What slots tell of a queue is less than there is, as messages and as far as they have fetched; but it grows.
        queue = of.queue if of.queue is not None else work.lag
        lags = [place.lag or 0 for where, place in seen.places.items() if where.segment == name]
        waiting = sum(lag > 1 for lag in lags)  # more than the end of a transaction
        wide = 2 * waiting > len(lags) or not lags
        left = _left(theirs, seen, slots)
        beliefs.press(name, Done(seen.at, work.came, left, cost, queue, slack=2.0 * len(lags), wide=wide))


def _came(node: Node, problem: Problem, seen: Seen, topics: Mapping[str, str]) -> Arrivals | None:
    """What arrives at the topic of the user that a segment reads; None if it reads none, or that is not known."""
    sources = [name for o in node.inputs if (name := problem.flow.owners[o].name) in problem.topics]
    known = [seen.arrivals.get(topics.get(name, "")) for name in sources]
    return known[0] if len(known) == 1 else None


def _measured(
    work: observing.Work | None,
    of: Batches,
    came: Arrivals | None,
    capacities: tuple[float, float],
    now: datetime.datetime,
) -> Measurement | None:
    """What is known of the queue in front of a segment, in whichever paradigm it runs.

    `capacities` are those of slots: of all of it, and of what they keep when a part is in batches.
    """
    capacity, follows = capacities
    came = of.came or came
    queue = of.queue if of.queue is not None else work.lag if work else None
    if queue is None or (came is None and work is None):
        return None
    rate = came.rate if came else work.came if work else 0.0
    span, at = (came.span, came.at) if came else (_SPAN, now)
    costs = of.line.costs(rate) if of.line else _UNTRIED
    batch_capacity = min(of.line.capacity, follows) if of.line else None
    return Measurement(at, span, rate, queue, capacity, costs, batch_capacity)


def owned(decision: assignment.Assignment, mode: Mode) -> dict[Partition, Slot]:
    """Who shall have what; a job that is only advised moves nothing for the balance."""
    found = dict(decision.owners)
    if mode is Mode.ADVISE:
        for move in decision.moves:
            if move.reason is assignment.MoveReason.BALANCE and move.source is not None:
                found[move.partition] = move.source
    return found


def targets(
    change: rollout.Rollout,
    owners: Mapping[Partition, Slot],
    batched: Callable[[Partition, str], bool],
    resting: Callable[[Partition], bool],
) -> dict[Partition, Target]:
    """Where each partition shall be; one that shall run, and has nobody to, stays where it is.

    `batched` says whether a partition shall run in batches, and can with this program: while programs change, it may
    have to go on with one that can't.
    """
    found = {}
    for place, aim in change.aims.items():
        slot = owners.get(place)
        if not aim.runs or resting(place):
            found[place] = Target(None, aim.program)
        elif batched(place, aim.program):
            found[place] = Target(ENGINE, aim.program)
        elif slot is not None:
            found[place] = Target(slot.name, aim.program)
    return found


def limit(seen: Seen, slots: int, partitions: int, *, stopping: bool) -> int:
    """How many partitions may be on the move at once.

    Those that move do nothing meanwhile, so the others have to carry the load:

        k = partitions · (1 - busy / slots), and at least 1

    Of a job that stops, all move at once.
    """
    if stopping or not slots:
        return max(1, partitions)
    busy = math.fsum(seen.busy.values())
    return max(1, int(partitions * (1 - min(1.0, busy / slots))))
