"""A slot: one life of a worker process, and the partitions that it has.

It hears every message of the control log together with whether it counted, and what the log said before it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from spillway.controllers.protocol import effects, log, messages, owner, rules
from spillway.controllers.protocol.frozen import Frozen
from spillway.controllers.protocol.values import Owner, Partition

Effects = tuple[effects.Any, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Slot:
    """One life of a slot, from the moment at which it reads its own `Join`.

    Attributes:
        me: which life.
        works: the partitions that it has.
    """

    me: Owner
    works: Frozen[Partition, owner.Work] = dataclasses.field(default_factory=Frozen)


def joined(state: log.State, message: messages.Any, process: str) -> Slot | None:
    """The slot, if this is the `Join` of its process; `state` is what the log says with it."""
    if not isinstance(message, messages.Join) or message.process != process:
        return None
    return Slot(Owner(message.slot, state.members[message.slot].incarnation))


def hear(slot: Slot, message: messages.Any, counted: bool, keep: rules.Rules = rules.ALL) -> tuple[Slot, Effects]:
    """The next message of the log."""
    if not counted:
        return slot, ()
    match message:
        case messages.Join() if message.slot == slot.me.slot:
            return fenced(slot)
        case messages.Fenced() if message.owner == slot.me:
            return fenced(slot)
        case messages.Prepare() if message.heir == slot.me:
            return slot, (effects.Warm(message.partition, message.epoch, message.program),)
        case messages.Assign() if message.owner == slot.me:
            work, asked = owner.assigned(message, keep)
            return put(slot, work), asked
        case messages.Assign() if message.partition in slot.works:
            rest = slot.works.drop(message.partition)
            return dataclasses.replace(slot, works=rest), (effects.Stop(message.partition),)
        case messages.Release() if message.partition in slot.works:
            return told(slot, message.partition, lambda work: owner.release(work, message, slot.me, keep))
        case messages.Cancel():
            forget = effects.Forget(message.partition, message.epoch)
            if message.partition not in slot.works:
                return slot, (forget,)
            after, asked = told(slot, message.partition, lambda work: owner.cancel(work, message))
            return after, (forget, *asked)
    return slot, ()


def told(slot: Slot, partition: Partition, step: Callable[[owner.Work], owner.Step]) -> tuple[Slot, Effects]:
    """One of the partitions goes a step further; one that the slot no longer has doesn't."""
    work = slot.works.get(partition)
    if work is None:
        return slot, ()
    work, asked = step(work)
    return put(slot, work), asked


def committed(slot: Slot, commit: effects.Commit, keep: rules.Rules = rules.ALL) -> tuple[Slot, Effects]:
    """A commit went through."""
    asked: Effects = ()
    for partition, upto in commit.positions:
        if work := slot.works.get(partition):
            work, more = owner.committed(work, upto, slot.me, keep)
            slot, asked = put(slot, work), asked + more
    return slot, asked


def fenced(slot: Slot) -> tuple[Slot, Effects]:
    """The broker refused a commit for good, or another process is this slot now: all is dropped."""
    stops = tuple(effects.Stop(partition) for partition in slot.works)
    return dataclasses.replace(slot, works=Frozen()), (*stops, effects.Restart())


def put(slot: Slot, work: owner.Work) -> Slot:
    """The slot with what it keeps of one partition."""
    return dataclasses.replace(slot, works=slot.works.put(work.partition, work))
