"""A driver of the explored world: a real leader and its real batch engine, and the tasks that the engine runs."""

from __future__ import annotations

from typing import NamedTuple

from explored_edges import PARTS, AnyFrame
from explored_workers import Queues
from spillway.controllers.protocol import effects, engine, knowledge, leader, log, messages, slot
from spillway.controllers.protocol.engine import Engine
from spillway.controllers.protocol.frozen import Frozen
from spillway.controllers.protocol.knowledge import Leader, Target
from spillway.controllers.protocol.reader import Combined, Frame, Position, Source
from spillway.controllers.protocol.rules import Rules
from spillway.controllers.protocol.values import Owner, Partition


class Task(NamedTuple):
    """An intent at work: producers of its own, so that nothing orders its frames behind those of the driver."""

    intent: messages.Intent
    sent: Queues


class Driver(NamedTuple):
    """One life of a driver.

    Attributes:
        leader: the real thing.
        engine: the real thing, once it leads.
        inbox: messages of the log that it hasn't read.
        outbox: what it has been asked to do, in order, as far as others can see it.
        backs: edges to be read back.
        sent: by edge partition, markers under way.
        tasks: intents at work.
    """

    leader: Leader
    engine: Engine | None
    inbox: tuple[messages.Any, ...]
    outbox: tuple[effects.Any, ...]
    backs: tuple[effects.ReadBack, ...]
    sent: Queues
    tasks: tuple[Task, ...] = ()


def born(name: str, state: log.State, limit: int, edges: int) -> Driver:
    """A new driver: it has read the log to its end, wants what is there or under way, and asks to lead."""
    wanted = {}
    for partition, holding in state.holdings.items():
        wanted[partition] = Target(holding.owner.slot, holding.program)
        if holding.move:
            wanted[partition] = Target(holding.move.heir.slot if holding.move.heir else None, holding.move.program)
    asking, asked = leader.lead(knowledge.want(Leader(name, limit, state), wanted))
    return Driver(asking, None, (), asked, (), ((),) * edges)


def settled(driver: Driver, asked: tuple[effects.Any, ...], keep: Rules) -> Driver | None:
    """What it was asked to do, and what is due then; None if it has to end."""
    if driver.leader.deposed:
        return None
    me, due = leader.due(driver.leader, keep)
    if me is not driver.leader:
        driver = driver._replace(leader=me)
    for effect in (*asked, *due):
        match effect:
            case effects.Restart():
                return None
            case effects.ReadBack():
                driver = driver._replace(backs=(*driver.backs, effect))
            case effects.EmitMarker():
                marker = Frame(effect.partition, effect.epoch, effect.program)
                driver = driver._replace(sent=tuple((*queue, marker) for queue in driver.sent))
            case effects.Run():
                driver = driver._replace(tasks=(*driver.tasks, _task(driver, effect)))
            case effects.Append() | effects.Commit() | effects.Warm() | effects.Fence() | effects.ReadCommitted():
                driver = driver._replace(outbox=(*driver.outbox, effect))
    return driver


def _task(driver: Driver, run: effects.Run) -> Task:
    """The frames that an intent makes, whoever runs it."""
    epochs = dict(run.epochs)
    queues: list[list[AnyFrame]] = [[] for _ in driver.sent]
    if run.intent.combined:
        sources = tuple(Source(p, epochs[p], start, stop) for p, start, stop in run.intent.ranges)
        for edge, queue in enumerate(queues):
            mine = tuple(s for s in sources if any(r % len(queues) == edge for r in range(s.start, s.stop)))
            queue += [Combined(mine, run.intent.program, part, PARTS) for part in range(PARTS) if mine]
    else:
        for partition, start, stop in run.intent.ranges:
            for record in range(start, stop):
                at = Position(record, 0)
                frame = Frame(partition, epochs[partition], run.intent.program, at, at, 1)
                queues[record % len(queues)].append(frame)
    return Task(run.intent, tuple(tuple(queue) for queue in queues))


def hear(driver: Driver, keep: Rules) -> Driver | None:
    """It reads its next message."""
    me, counted = knowledge.read(driver.leader, driver.inbox[0], keep)
    runs = driver.engine
    asked: slot.Effects = ()
    if runs is None and me.leads:
        runs = engine.of(me.asked)
    elif runs is not None:
        runs, asked = engine.hear(runs, me.log, driver.inbox[0], counted, keep)
    return settled(driver._replace(leader=me, engine=runs, inbox=driver.inbox[1:]), asked, keep)


def proposes(driver: Driver, ends: dict[Partition, int], combine: bool, keep: Rules) -> Driver | None:
    """Its engine picks the next ranges, if there are any."""
    if driver.engine is None or not driver.leader.leads:
        return None
    runs, asked = engine.propose(driver.engine, driver.leader.log, ends, combine)
    return settled(driver._replace(engine=runs), asked, keep) if asked else None


def marker_landed(driver: Driver, edge: int) -> Driver:
    """The broker has taken its oldest marker for an edge partition."""
    sent = (*driver.sent[:edge], driver.sent[edge][1:], *driver.sent[edge + 1 :])
    return driver._replace(sent=sent)


def task_landed(driver: Driver, number: int, edge: int, keep: Rules) -> Driver | None:
    """The broker has taken the oldest frame of a task; with the last one, the intent has run."""
    task = driver.tasks[number]
    sent = (*task.sent[:edge], task.sent[edge][1:], *task.sent[edge + 1 :])
    others = (*driver.tasks[:number], *driver.tasks[number + 1 :])
    if any(sent):
        left = (*driver.tasks[:number], task._replace(sent=sent), *driver.tasks[number + 1 :])
        return driver._replace(tasks=left)
    runs, asked = engine.ran(driver.engine, task.intent) if driver.engine else (None, ())
    return settled(driver._replace(tasks=others, engine=runs), asked, keep)


def retried(driver: Driver, number: int) -> Driver:
    """The engine believes a task dead and runs it again, while the first attempt still sends."""
    task = driver.tasks[number]
    works = driver.engine.slot.works if driver.engine else Frozen[Partition, object]()
    epochs = tuple((part.partition, driver.leader.epoch(part.partition)) for part in task.intent.ranges if works)
    again = _task(driver, effects.Run(task.intent, epochs))
    return driver._replace(tasks=(*driver.tasks[:number], again, *driver.tasks[number + 1 :]))


def read_back(driver: Driver, back: effects.ReadBack, barrier: int, keep: Rules) -> Driver | None:
    """It finds its markers, and how far its predecessors have emitted."""
    driver = driver._replace(backs=tuple(other for other in driver.backs if other != back))
    if driver.engine is None:
        return driver
    runs, asked = engine.read_back(driver.engine, driver.leader.log, back, barrier, keep)
    return settled(driver._replace(engine=runs), asked, keep)


def committed(driver: Driver, commit: effects.Commit, keep: Rules) -> Driver | None:
    """A commit of its engine went through: of an intent, or of a partition that is released."""
    if driver.engine is None:
        return driver
    runs, asked = engine.committed(driver.engine, driver.leader.asked, commit, keep)
    return settled(driver._replace(engine=runs), asked, keep)


def told(driver: Driver, me: Leader, keep: Rules) -> Driver | None:
    """Its leader has learnt something."""
    return settled(driver._replace(leader=me), (), keep)


def suspects(driver: Driver, slots: tuple[str, ...]) -> list[Owner]:
    """Owners in slots that it could give up."""
    if not driver.leader.leads:
        return []
    holdings = driver.leader.log.holdings.values()
    owners = {holding.owner for holding in holdings}
    owners |= {holding.move.heir for holding in holdings if holding.move and holding.move.heir}
    return sorted(owner for owner in owners if owner.slot in slots and not driver.leader.lost(owner))
