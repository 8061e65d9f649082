"""The owner's side of one partition: get it, work, release it at a record boundary.

    (nothing) --Assign--> WORKING --Release--> FLUSHING --acknowledged--> COMMITTING --committed--> LEFT --> (nothing)
                             ^                                                                       |
                             +---------------------------- Cancel -----------------------------------+

The loop that processes records tells where it is (`processed`) before it hears a message, so a stop is at once, and at
a record boundary. It tells what the broker has acknowledged (`acknowledged`) and asks now and then for a commit
(`due`), which covers acknowledged records alone (rule *flush*).

After a takeover the owner begins with markers (rule *marker*), reads back how far its predecessors have emitted, and
releases only once it has passed that (rule *barrier*). It may process meanwhile.

`LEFT` means that `Released` is written, not that it counts: `Cancel` may stand before it in the log. Then the owner
goes on from where it stopped, and its `Released` counts for nothing.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from spillway.controllers.protocol import effects, messages, rules
from spillway.controllers.protocol.values import LONGEST_TEXT, Owner, Partition


class Phase(enum.IntEnum):
    """How far the owner is in releasing."""

    WORKING = 0
    FLUSHING = 1
    COMMITTING = 2
    LEFT = 3


class Work(NamedTuple):
    """What an owner keeps of one of its partitions.

    Attributes:
        partition: which.
        epoch: under which it has it.
        program: what it runs.
        position: the next input offset to process.
        acknowledged: the broker has all outputs of what is below.
        committed: what is below is committed.
        barrier: the position to pass before it may release or combine; None until it is read back.
        leaving: the try to move that it is asked to make room for; 0 if there is none.
        phase: how far that is.
    """

    partition: Partition
    epoch: int
    program: str
    position: int
    acknowledged: int
    committed: int
    barrier: int | None = 0
    leaving: int = 0
    phase: Phase = Phase.WORKING

    @property
    def processes(self) -> bool:
        """Whether it goes on to process records."""
        return self.phase is Phase.WORKING

    @property
    def passed(self) -> bool:
        """Whether it has passed all that its predecessors have emitted."""
        return self.barrier is not None and self.position >= self.barrier


Step = tuple[Work, tuple[effects.Any, ...]]


def assigned(message: messages.Assign, keep: rules.Rules = rules.ALL) -> Step:
    """Get a partition."""
    at, epoch = message.start, message.epoch
    work = Work(message.partition, epoch, message.program, at, at, at, None if message.takeover else 0)
    start = effects.Start(message.partition, epoch, message.program, at)
    if not message.takeover:
        return work, (start,)
    if not keep.marker:
        return work, (effects.ReadBack(message.partition, epoch), start)
    marker = effects.EmitMarker(message.partition, epoch, message.program)
    return work, (marker, effects.ReadBack(message.partition, epoch), start)


def release(work: Work, message: messages.Release, me: Owner, keep: rules.Rules = rules.ALL) -> Step:
    """Make room for a try to move, as soon as that is right."""
    return advanced(work._replace(leaving=message.epoch), me, keep)


def cancel(work: Work, message: messages.Cancel) -> Step:
    """Go on, if this was the try to make room for."""
    if work.leaving != message.epoch:
        return work, ()
    start = effects.Start(work.partition, work.epoch, work.program, work.position)
    return work._replace(leaving=0, phase=Phase.WORKING), () if work.processes else (start,)


def processed(work: Work, position: int, me: Owner, keep: rules.Rules = rules.ALL) -> Step:
    """Everything below `position` is processed; what came out may still be buffered."""
    return advanced(work._replace(position=position), me, keep)


def acknowledged(work: Work, position: int, me: Owner, keep: rules.Rules = rules.ALL) -> Step:
    """The broker has all outputs of what is below `position`."""
    return advanced(work._replace(acknowledged=max(position, work.acknowledged)), me, keep)


def read_back(work: Work, epoch: int, barrier: int, me: Owner, keep: rules.Rules = rules.ALL) -> Step:
    """The predecessors have emitted something of what is below `barrier`, and nothing above."""
    if work.epoch != epoch or work.barrier is not None:
        return work, ()
    return advanced(work._replace(barrier=barrier if keep.barrier else 0), me, keep)


def committed(work: Work, position: int, me: Owner, keep: rules.Rules = rules.ALL) -> Step:
    """State and position are committed up to here."""
    return advanced(work._replace(committed=max(position, work.committed)), me, keep)


def due(work: Work, keep: rules.Rules = rules.ALL) -> tuple[effects.Any, ...]:
    """The commit that can be made now, if there is anything to commit."""
    upto = work.acknowledged if keep.flush else work.position
    return (effects.Commit(((work.partition, upto),)),) if work.processes and upto > work.committed else ()


def advanced(work: Work, me: Owner, keep: rules.Rules = rules.ALL) -> Step:
    """Release further, as far as that can go now."""
    asked: list[effects.Any] = []
    if work.leaving and work.processes and work.passed:
        asked.append(effects.Stop(work.partition))
        work = work._replace(phase=Phase.FLUSHING)
        if work.acknowledged < work.position:
            asked.append(effects.Flush(work.partition))
    if work.phase is Phase.FLUSHING and (work.acknowledged >= work.position or not keep.flush):
        work = work._replace(phase=Phase.COMMITTING)
        if work.committed < work.position:
            asked.append(effects.Commit(((work.partition, work.position),)))
    if work.phase is Phase.COMMITTING and work.committed >= work.position:
        work = work._replace(phase=Phase.LEFT)
        asked.append(effects.Append(messages.Released(work.partition, work.leaving, me, work.position)))
    return work, tuple(asked)


def prepared(partition: Partition, epoch: int, me: Owner, problem: str = "") -> effects.Append:
    """What to write when a program is ready, or can't be."""
    return effects.Append(messages.Prepared(partition, epoch, me, problem[:LONGEST_TEXT]))
