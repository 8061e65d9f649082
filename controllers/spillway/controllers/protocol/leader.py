"""The driver's side: who shall have which partition, and the next step towards that.

The leader is told what happened (`knowledge`), and asked what is `due`: all of that follows from what the log says,
what is wanted and who is silent, so a new leader goes on where the last one stopped, and starts with what that one left
half done. What was asked for is not asked for again until it is answered: a message by being read back, everything else
by being told. For each partition, the first of these that applies:

1. An open intent of an engine that is lost is closed, or run again (`takeover`).
2. A cut: the heir gets the partition; if that is lost, the slot that is wanted now.
3. An owner that is lost, or a partition that never had one: it is taken over (`takeover`).
4. A try to move that can't end well is given up (`Cancel`), with the reason. If it failed, the partition is left alone
   until something is wanted anew: to try again is a decision, and not one of this module.
5. An heir that is ready: the owner is asked to release.
6. A wanted slot or program that isn't there yet: a move begins, as long as fewer than `limit` are under way.

A resize, a switch of the paradigm and a change of the program differ in nothing but the target.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from spillway.controllers.protocol import effects, messages, rules, takeover
from spillway.controllers.protocol.knowledge import Leader, Target
from spillway.controllers.protocol.reasons import Reason
from spillway.controllers.protocol.values import ENGINE, Holding, Partition, Try

Effects = tuple[effects.Any, ...]
FAILURES = (Reason.HEIR_FAILED, Reason.HEIR_LATE, Reason.RELEASE_LATE)


def lead(me: Leader) -> tuple[Leader, Effects]:
    """Ask to lead. Whether that counts shows when the message is read back; who isn't first, or is followed, ends."""
    asked = me.log.leader + 1
    ask = effects.Append(messages.Lead(asked, me.driver))
    return dataclasses.replace(me, asked=asked, pending=me.pending | {ask}), (ask,)


def due(me: Leader, keep: rules.Rules = rules.ALL) -> tuple[Leader, Effects]:
    """What to do now; call it after everything that was told."""
    if not me.leads:
        return me, ()
    me = _tidied(me)
    waits = {getattr(message, "partition", None) for message in _written(me.pending)}
    intents = takeover.intents(me, keep)
    room = me.limit - sum(_moving(holding) for holding in me.log.holdings.values()) - _begun(me.pending)
    asked = dict.fromkeys(_ends(me)) if keep.tell else {}  # ordered, and each only once
    for place in sorted({*me.log.holdings, *me.wanted} - waits):
        steps = intents[place] if place in intents else _step(me, place, room, keep)
        room -= _begun(steps)
        asked |= dict.fromkeys(steps)
    new = tuple(effect for effect in asked if effect not in me.pending)
    cancelled = [message for message in _written(new) if isinstance(message, messages.Cancel)]
    failed = {message.partition for message in cancelled if message.reason in FAILURES}
    return dataclasses.replace(me, pending=me.pending.union(new), failed=me.failed | failed), new


def _written(asked: Iterable[effects.Any]) -> Iterator[messages.Any]:
    return (effect.message for effect in asked if isinstance(effect, effects.Append))


def _begun(asked: Iterable[effects.Any]) -> int:
    """How many moves begin with this."""
    return sum(isinstance(message, messages.Prepare) for message in _written(asked))


def _ends(me: Leader) -> Effects:
    """Tell those who were fenced, as long as the log takes them for living."""
    over = [owner for owner in sorted(me.fenced) if owner.slot != ENGINE and owner == me.log.living(owner.slot)]
    return tuple(effects.Append(messages.Fenced(me.asked, owner)) for owner in over)


def _moving(holding: Holding) -> bool:
    """Whether a try to move is under way; a partition that rests has arrived."""
    move = holding.move
    return move is not None and not (move.heir is None and move.cut is not None)


def _step(me: Leader, place: Partition, room: int, keep: rules.Rules) -> Effects:
    """Rules 2 to 6 for one partition."""
    holding, target = me.log.holdings.get(place), me.wanted.get(place)
    if holding is None:
        return takeover.partition(me, place, keep) if target and target.slot else ()
    move = holding.move
    if move and move.cut is not None:
        return _cut(me, place, move, move.cut, target)
    if me.lost(holding.owner):
        return takeover.partition(me, place, keep)
    if move:
        reason = _hopeless(me, place, move, target)
        if reason:
            return (effects.Append(messages.Cancel(me.asked, place, move.epoch, reason)),)
        ready = move.ready and not move.releasing
        return (effects.Append(messages.Release(me.asked, place, move.epoch)),) if ready else ()
    there = target is None or target == (holding.owner.slot, holding.program)
    if target is None or there or place in me.failed or room < 1:
        return ()
    heir = me.living(target.slot)
    if heir is None and target.slot is not None:
        return ()
    return (effects.Append(messages.Prepare(me.asked, place, holding.last + 1, heir, target.program)),)


def _cut(me: Leader, place: Partition, move: Try, cut: int, target: Target | None) -> Effects:
    """Rule 2."""
    heir, program = move.heir, move.program
    if heir is None or me.lost(heir):
        heir, program = (me.living(target.slot), target.program) if target else (None, program)
    if heir is None:
        return ()
    return (effects.Append(messages.Assign(me.asked, place, move.epoch, heir, program, cut, takeover=False)),)


def _hopeless(me: Leader, place: Partition, move: Try, target: Target | None) -> Reason | None:
    """Rule 4: why a try can't end well."""
    if move.problem:
        return Reason.HEIR_FAILED
    if move.heir and me.lost(move.heir):
        return Reason.HEIR_LOST
    if target and target != (move.heir.slot if move.heir else None, move.program):
        return Reason.UNWANTED
    if (place, move.epoch) in me.late:
        return Reason.RELEASE_LATE if move.releasing else Reason.HEIR_LATE
    return None


def _tidied(me: Leader) -> Leader:
    """Without what is known of owners that have nothing any more, and of tries that are over."""
    if not (me.silent or me.fenced or me.late or me.failed or me.committed):
        return me
    holdings = me.log.holdings
    owners = {holding.owner for holding in holdings.values()}
    owners |= {owner for slot in (*me.log.members, ENGINE) if (owner := me.log.living(slot))}
    under_way = {(place, holding.move.epoch) for place, holding in holdings.items() if holding.move}
    committed = me.committed
    for place, known in committed.items():
        if known.epoch != me.epoch(place):
            committed = committed.drop(place)
    return dataclasses.replace(
        me,
        silent=me.silent & owners,
        fenced=me.fenced & owners,
        late=me.late & under_way,
        failed=me.failed & set(me.wanted),
        committed=committed,
    )
