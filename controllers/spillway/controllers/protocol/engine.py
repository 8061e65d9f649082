"""The batch engine: an owner like a slot, which works in intents instead of records.

It runs inside the driver that leads, and dies with it: its incarnation is the leader's number. For each micro-batch

    propose --Append(Intent)--> counted in the log --Run--> ran --Commit--> committed --Append(Done)--> closed

and what is left open by a dead predecessor is run again with its exact ranges as soon as the engine has all of its
partitions, before anything else is done with them (rule *finish*). Outputs come from many producers of executors, so
that nothing orders them behind the markers of the driver: after a takeover nothing runs before the markers are read
back. While an intent is open its end is a barrier for its partitions, so that they are released only at its end.

Below the barrier of a takeover rows aren't combined: their frames have positions, and repeat nothing (rule *barrier*).
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from spillway.controllers.protocol import effects, log, messages, owner, rules, slot
from spillway.controllers.protocol.slot import Effects, Slot
from spillway.controllers.protocol.values import ENGINE, Owner, Partition, Range, Reach


@dataclasses.dataclass(frozen=True, slots=True)
class Engine:
    """The batch engine of one leader.

    Attributes:
        slot: its life, and the partitions that it has.
        proposed: the intent that it has asked for, until that is read back.
        running: the numbers of intents that it was told to run, until it reads that they are done.
    """

    slot: Slot
    proposed: messages.Intent | None = None
    running: frozenset[int] = frozenset()


def of(leader: int) -> Engine:
    """The engine of a leader."""
    return Engine(Slot(Owner(ENGINE, leader)))


def hear(
    engine: Engine, state: log.State, message: messages.Any, counted: bool, keep: rules.Rules = rules.ALL
) -> tuple[Engine, Effects]:
    """The next message of the log; `state` is what the log says with it."""
    if message == engine.proposed:
        engine = dataclasses.replace(engine, proposed=None)
    if not counted:
        return engine, ()
    inner, asked = slot.hear(engine.slot, message, counted, keep)
    engine, more = _open(dataclasses.replace(engine, slot=inner), state, keep)
    return engine, asked + more


def read_back(
    engine: Engine, state: log.State, back: effects.ReadBack, barrier: int, keep: rules.Rules = rules.ALL
) -> tuple[Engine, Effects]:
    """The markers of a takeover are there, and something of what is below `barrier` has been emitted.

    The end of an open intent is a barrier from now on, not only once the intent runs: that waits for the markers of its
    other partitions, and this one must not be released meanwhile.
    """
    intent = state.intent_of(back.partition)
    ranges = intent.ranges if intent else ()
    barrier = max([barrier, *(part.stop for part in ranges if part.partition == back.partition)])
    inner, asked = slot.told(
        engine.slot, back.partition, lambda work: owner.read_back(work, back.epoch, barrier, engine.slot.me, keep)
    )
    engine, more = _open(dataclasses.replace(engine, slot=inner), state, keep)
    return engine, asked + more


def _open(engine: Engine, state: log.State, keep: rules.Rules) -> tuple[Engine, Effects]:
    """Run what is open and can run: all of its partitions are here, and their markers."""
    asked: list[effects.Any] = []
    engine = dataclasses.replace(engine, running=engine.running & {*state.intents})
    for number, intent in sorted(state.intents.items()):
        works = [engine.slot.works.get(part.partition) for part in intent.ranges]
        ready = all(work and work.barrier is not None for work in works)
        if number in engine.running or not ready:
            continue
        if not keep.finish and intent.owner != engine.slot.me:
            continue
        epochs = tuple((work.partition, work.epoch) for work in works if work)
        asked.append(effects.Run(intent, epochs))
        inner = _bounded(engine.slot, intent)
        engine = dataclasses.replace(engine, slot=inner, running=engine.running | {number})
    return engine, tuple(asked)


def propose(
    engine: Engine,
    state: log.State,
    ends: Mapping[Partition, int],
    combine: bool,
    tables: tuple[Reach, ...] = (),
) -> tuple[Engine, Effects]:
    """The next intent: of these partitions, those that the engine has and that are free, up to these offsets.

    They are of one segment; `combine` says whether its program can, `tables` how far those are read that it looks up.
    While the program changes, some have the old one and some the new one: an intent runs one, that of which more is
    waiting. A partition that is to be released is free too as long as it hasn't passed its barrier. From now on the end
    of its range is that barrier: the intent may count, and nobody knows before it is read back.
    """
    free = [work for work in _free(engine, state, ends) if ends[work.partition] > work.position]
    if engine.proposed or not free:
        return engine, ()
    waiting = collections.Counter[str]()
    for work in free:
        waiting[work.program] += ends[work.partition] - work.position
    program = max(waiting, key=lambda one: (waiting[one], one))
    free = [work for work in free if work.program == program]
    ranges = tuple(Range(work.partition, work.position, ends[work.partition]) for work in free)
    together = combine and all(work.passed for work in free)
    intent = messages.Intent(state.leader, state.intent + 1, engine.slot.me, program, ranges, together, tables)
    inner = _bounded(engine.slot, intent)
    return dataclasses.replace(engine, slot=inner, proposed=intent), (effects.Append(intent),)


def _free(engine: Engine, state: log.State, asked: Iterable[Partition]) -> Iterator[owner.Work]:
    """Those of the partitions that the engine can work on now."""
    for partition in sorted(asked):
        work = engine.slot.works.get(partition)
        if work and work.processes and work.barrier is not None and not state.intent_of(partition):
            yield work


def _bounded(inner: Slot, intent: messages.Intent) -> Slot:
    """The ends of an intent are barriers of its partitions."""
    for part in intent.ranges:
        work = inner.works.get(part.partition)
        if work and work.barrier is not None:
            inner = slot.put(inner, work._replace(barrier=max(work.barrier, part.stop)))
    return inner


def ran(engine: Engine, intent: messages.Intent) -> tuple[Engine, Effects]:
    """The broker has all outputs of an intent."""
    if intent.number not in engine.running:
        return engine, ()
    return engine, (effects.Commit(tuple((part.partition, part.stop) for part in intent.ranges), intent.number),)


def committed(
    engine: Engine, leader: int, commit: effects.Commit, keep: rules.Rules = rules.ALL
) -> tuple[Engine, Effects]:
    """A commit went through; if it ends an intent, that is done."""
    inner = engine.slot
    asked: Effects = (effects.Append(messages.Done(leader, commit.intent)),) if commit.intent else ()
    for partition, upto in commit.positions if commit.intent else ():
        if work := inner.works.get(partition):
            inner = slot.put(inner, work._replace(position=upto, acknowledged=upto))
    inner, more = slot.committed(inner, commit, keep)
    return dataclasses.replace(engine, slot=inner), asked + more
