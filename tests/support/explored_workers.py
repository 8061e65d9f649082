"""A worker process of the explored world: a real `protocol.slot`, what it has yet to hear, to do, and to send."""

from __future__ import annotations

from typing import NamedTuple

from explored_edges import AnyFrame
from spillway.controllers.protocol import effects, log, messages, owner, slot
from spillway.controllers.protocol.reader import Frame, Position
from spillway.controllers.protocol.rules import Rules
from spillway.controllers.protocol.slot import Slot
from spillway.controllers.protocol.values import Owner, Partition

Queues = tuple[tuple[AnyFrame, ...], ...]  # by edge partition: frames that are sent, and haven't landed


class Worker(NamedTuple):
    """One life of a worker.

    Attributes:
        slot: the real thing.
        inbox: messages of the log that it hasn't read, and that concern it.
        outbox: what it has been asked to do, in order, as far as others can see it.
        backs: edges to be read back.
        sent: by edge partition, what is under way.
    """

    slot: Slot
    inbox: tuple[messages.Any, ...]
    outbox: tuple[effects.Any, ...]
    backs: tuple[effects.ReadBack, ...]
    sent: Queues


def concerns(before: log.State, me: Owner, message: messages.Any) -> bool:
    """Whether a message that counts can matter to a slot at all; nothing that doesn't is put into its inbox."""
    if isinstance(message, messages.Join):
        return message.slot == me.slot
    if isinstance(message, messages.Fenced):
        return message.owner == me
    if isinstance(message, messages.Prepare):
        return message.heir == me
    if not isinstance(message, messages.Assign | messages.Release | messages.Cancel):
        return False
    holding = before.holdings.get(message.partition)
    return (isinstance(message, messages.Assign) and message.owner == me) or (
        holding is not None and holding.owner == me
    )


def settled(worker: Worker, asked: tuple[effects.Any, ...]) -> Worker | None:
    """What it was asked to do: what only it can see is done at once. None if it has to end."""
    for effect in asked:
        match effect:
            case effects.Restart():
                return None
            case effects.ReadBack():
                worker = worker._replace(backs=(*worker.backs, effect))
            case effects.EmitMarker():
                marker = Frame(effect.partition, effect.epoch, effect.program)
                worker = worker._replace(sent=tuple((*queue, marker) for queue in worker.sent))
            case effects.Append() | effects.Commit() | effects.Warm():
                worker = worker._replace(outbox=(*worker.outbox, effect))
    return worker


def hear(worker: Worker, keep: Rules) -> Worker | None:
    """It reads its next message."""
    inner, asked = slot.hear(worker.slot, worker.inbox[0], counted=True, keep=keep)
    return settled(worker._replace(slot=inner, inbox=worker.inbox[1:]), asked)


def process(worker: Worker, work: owner.Work, largest: int, keep: Rules) -> list[Worker]:
    """It processes one record; the frame is a new one, or the last one that is still being filled."""
    at, edge = Position(work.position, 0), work.position % len(worker.sent)
    queue = worker.sent[edge]
    frame = Frame(work.partition, work.epoch, work.program, at, at, 1)
    queues = [(*queue, frame)]
    last = queue[-1] if queue else None
    if isinstance(last, Frame) and 0 < last.count < largest and last.partition == work.partition:
        longer = Frame(last.partition, last.epoch, last.program, last.first, at, last.count + 1)
        queues.append((*queue[:-1], longer))
    found = []
    for filled in queues:
        sent = (*worker.sent[:edge], filled, *worker.sent[edge + 1 :])
        told = _told(worker._replace(sent=sent), owner.processed(work, work.position + 1, worker.slot.me, keep))
        found += [told] if told else []
    return found


def landed(worker: Worker, edge: int, keep: Rules) -> Worker | None:
    """The broker has taken its oldest frame for an edge partition, and says so."""
    frame = worker.sent[edge][0]
    worker = worker._replace(sent=(*worker.sent[:edge], worker.sent[edge][1:], *worker.sent[edge + 1 :]))
    work = worker.slot.works.get(frame.partition) if isinstance(frame, Frame) else None
    if work is None:
        return worker
    waiting = [
        sent.first.offset
        for queue in worker.sent
        for sent in queue
        if isinstance(sent, Frame) and sent.count and (sent.partition, sent.epoch) == (work.partition, work.epoch)
    ]
    return _told(worker, owner.acknowledged(work, min(waiting, default=work.position), worker.slot.me, keep))


def read_back(worker: Worker, back: effects.ReadBack, barrier: int, keep: Rules) -> Worker | None:
    """It finds its markers, and how far its predecessors have emitted."""
    worker = worker._replace(backs=tuple(other for other in worker.backs if other != back))
    work = worker.slot.works.get(back.partition)
    if work is None:
        return worker
    return _told(worker, owner.read_back(work, back.epoch, barrier, worker.slot.me, keep))


def committed(worker: Worker, commit: effects.Commit, keep: Rules) -> Worker | None:
    """Its commit went through."""
    inner, asked = slot.committed(worker.slot, commit, keep)
    return settled(worker._replace(slot=inner), asked)


def _told(worker: Worker, step: owner.Step) -> Worker | None:
    work, asked = step
    return settled(worker._replace(slot=slot.put(worker.slot, work)), asked)


def works(worker: Worker) -> list[tuple[Partition, int]]:
    """What it holds, under which epochs."""
    return [(work.partition, work.epoch) for work in worker.slot.works.values()]
