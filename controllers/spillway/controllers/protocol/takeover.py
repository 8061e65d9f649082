"""Partitions that nobody released: of owners that are lost, of engines that died with an intent open, or of nobody.

Fence the victim's transactional id and say so in the log, then read what it committed, then give the partition to an
heir under a new epoch (rule *fence*). The heir runs the victim's program: only with that it can pass the barrier.

An open intent comes before anything else (rule *finish*). All of its positions were committed in one transaction, so
once the engine that ran it is fenced, it is either committed, and only has to be closed, or it is run again by the
engine of the present leader, which gets all of its partitions for that.
"""

from __future__ import annotations

from spillway.controllers.protocol import effects, messages, rules
from spillway.controllers.protocol.knowledge import Leader
from spillway.controllers.protocol.values import ENGINE, Holding, Owner, Partition, Range

Effects = tuple[effects.Any, ...]


def intents(me: Leader, keep: rules.Rules) -> dict[Partition, Effects]:
    """What is due for the partitions of open intents whose engine is lost; nothing else may be done with those."""
    due: dict[Partition, Effects] = {}
    for intent in me.log.intents.values() if keep.finish else ():
        mine = me.living(ENGINE)
        holdings = {part: me.log.holdings[part.partition] for part in intent.ranges}
        left = {part: holding for part, holding in holdings.items() if holding.owner != mine}
        if left and mine:
            due |= _again(me, mine, intent, left, keep)
    return due


def _again(
    me: Leader, mine: Owner, intent: messages.Intent, left: dict[Range, Holding], keep: rules.Rules
) -> dict[Partition, Effects]:
    """Close an intent that was committed, or get what is left of its partitions, to run it again."""
    found = {part: committed(me, part.partition, holding.owner, keep) for part, holding in left.items()}
    if not all(isinstance(position, int) for position in found.values()):
        return {part.partition: asked if isinstance(asked, tuple) else () for part, asked in found.items()}
    if all(isinstance(position, int) and position >= part.stop for part, position in found.items()):
        done = effects.Append(messages.Done(me.asked, intent.number))
        return {part.partition: (done,) for part in left}
    return {part.partition: (assign(me, part.partition, mine, part.start),) for part in left}


def partition(me: Leader, place: Partition, keep: rules.Rules) -> Effects:
    """What is due for a partition whose owner is lost, or that never had one."""
    holding = me.log.holdings.get(place)
    position = committed(me, place, holding.owner if holding else None, keep)
    if isinstance(position, tuple):
        return position
    target = me.wanted.get(place)
    heir = me.living(target.slot) if target else None
    if heir is None and holding and (target is None or target.slot is None):
        living = (me.living(slot) for slot in sorted(me.log.members))
        heir = next(filter(None, living), None)  # somebody has to pass the barrier before it can rest
    return (assign(me, place, heir, position),) if heir else ()


def committed(me: Leader, place: Partition, victim: Owner | None, keep: rules.Rules) -> int | Effects:
    """The committed position of a partition, or what to ask for to get it: first the fence, then the position."""
    if victim and victim not in me.fenced and keep.fence:
        return (effects.Fence(victim),)
    position = me.position(place)
    return (effects.ReadCommitted(place),) if position is None else position


def assign(me: Leader, place: Partition, heir: Owner, start: int) -> effects.Append:
    """Give a partition to an heir that begins with markers."""
    holding = me.log.holdings.get(place)
    program = holding.program if holding else me.wanted[place].program
    epoch = holding.last + 1 if holding else 1
    return effects.Append(messages.Assign(me.asked, place, epoch, heir, program, start, takeover=True))
