"""What a worker and a driver can do next, each seen alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import explored_drivers as drivers
import explored_workers as workers
from explored_config import Config
from explored_drivers import Driver
from explored_workers import Worker
from spillway.controllers.protocol import effects, knowledge, owner
from spillway.controllers.protocol.knowledge import Leader, Target
from spillway.controllers.protocol.values import ENGINE, Partition


class Offer(NamedTuple):
    """Something that can happen, seen from one process.

    Attributes:
        text: in words.
        kind: what it needs from the others.
        part: what the process becomes, where that doesn't depend on the others; None if it ends.
        what: what the others need to know.
        faults, moves, late: what it costs.
    """

    text: str
    kind: str
    part: Any = None
    what: Any = None
    faults: int = 0
    moves: int = 0
    late: int = 0


def of_worker(worker: Worker, config: Config) -> Iterator[Offer]:
    """What a worker can do."""
    me, keep = worker.slot.me, config.keep
    if worker.inbox:
        yield Offer(f"{me} reads {worker.inbox[0]}", "local", workers.hear(worker, keep))
    for work in worker.slot.works.values():
        if work.processes and work.position < config.records[work.partition.number]:
            text = f"{me} processes record {work.position} of {work.partition}"
            yield from (Offer(text, "local", after) for after in workers.process(worker, work, config.frame, keep))
        if not worker.outbox:
            for effect in owner.due(work, keep):
                yield _commit(worker, effect, config)
    for edge, queue in enumerate(worker.sent):
        if queue:
            after = workers.landed(worker, edge, keep)
            yield Offer(f"a frame of {me} lands: {queue[0]}", "land", after, (edge, queue[0]))
    for back in worker.backs:
        yield Offer(f"{me} reads back {back.partition}", "back", None, back)
    if worker.outbox:
        yield from _outbox(worker, worker.outbox[0], config)
    if "slot dies" in config.kinds:
        yield Offer(f"{me} dies", "end", faults=1)
    if "slot doubles" in config.kinds:
        yield Offer(f"another process is {me.slot}, while {me} lives", "double", faults=1)


def _commit(worker: Worker, commit: effects.Any, config: Config) -> Offer:
    after = workers.committed(worker, commit, config.keep) if isinstance(commit, effects.Commit) else None
    return Offer(f"{worker.slot.me} commits", "commit", after, (worker.slot.me, commit))


def _outbox(worker: Worker, effect: effects.Any, config: Config) -> Iterator[Offer]:
    me, rest = worker.slot.me, worker._replace(outbox=worker.outbox[1:])
    match effect:
        case effects.Append():
            yield Offer(f"{me} writes {effect.message}", "append", rest, effect.message)
        case effects.Commit():
            yield _commit(rest, effect, config)
        case effects.Warm():
            yield from _warm(str(me), rest, owner.prepared(effect.partition, effect.epoch, me), late=0)
            yield from _warm(str(me), rest, owner.prepared(effect.partition, effect.epoch, me, "no"), late=1)


def _warm(name: str, part: Any, ready: effects.Append, late: int) -> Iterator[Offer]:
    yield Offer(f"{name} writes {ready.message}", "append", part, ready.message, late=late)


def of_driver(driver: Driver, config: Config) -> Iterator[Offer]:
    """What a driver can do."""
    me, keep, name = driver.leader, config.keep, driver.leader.driver
    if driver.inbox:
        yield Offer(f"{name} reads {driver.inbox[0]}", "local", drivers.hear(driver, keep))
    for edge, queue in enumerate(driver.sent):
        if queue:
            yield Offer(
                f"a marker of {name} lands: {queue[0]}", "land", drivers.marker_landed(driver, edge), (edge, queue[0])
            )
    for number, task in enumerate(driver.tasks):
        for edge, queue in enumerate(task.sent):
            if queue:
                after = drivers.task_landed(driver, number, edge, keep)
                yield Offer(f"a frame of a task of {name} lands: {queue[0]}", "land", after, (edge, queue[0]))
        if "task again" in config.kinds:
            yield Offer(f"{name} runs a task again", "retry", drivers.retried(driver, number), number, faults=1)
    for back in driver.backs:
        yield Offer(f"{name} reads back {back.partition}", "back", None, back)
    if driver.outbox:
        yield from _asked(driver, driver.outbox[0], config)
    elif me.leads:
        ends = (
            {work.partition: _end(work, config) for work in driver.engine.slot.works.values()} if driver.engine else {}
        )
        after = drivers.proposes(driver, ends, config.combine, keep) if ends else None
        if after:
            yield Offer(f"{name} picks the next ranges", "local", after)
    if me.leads:
        yield from _decided(driver, config)
    if "driver dies" in config.kinds:
        yield Offer(f"{name} dies", "end", faults=1)


def _end(work: owner.Work, config: Config) -> int:
    return min(work.position + config.batch, config.records[work.partition.number])


def _asked(driver: Driver, effect: effects.Any, config: Config) -> Iterator[Offer]:
    """The next thing that it has been asked for."""
    me, keep, name = driver.leader, config.keep, driver.leader.driver
    rest = driver._replace(outbox=driver.outbox[1:])
    match effect:
        case effects.Append():
            yield Offer(f"{name} writes {effect.message}", "append", rest, effect.message)
        case effects.Fence():
            after = drivers.told(rest, knowledge.fenced(me, effect.owner), keep)
            yield Offer(f"{name} fences {effect.owner}", "fence", after, effect.owner)
        case effects.ReadCommitted():
            yield Offer(f"{name} reads the committed offset of {effect.partition}", "look", rest, effect.partition)
        case effects.Commit() if driver.engine:
            after = drivers.committed(rest, effect, keep)
            yield Offer(f"the engine of {name} commits", "commit", after, (driver.engine.slot.me, effect))
        case effects.Warm() if driver.engine:
            it, place, epoch = driver.engine.slot.me, effect.partition, effect.epoch
            yield from _warm(name, rest, owner.prepared(place, epoch, it), late=0)
            yield from _warm(name, rest, owner.prepared(place, epoch, it, "no"), late=1)


def _decided(driver: Driver, config: Config) -> Iterator[Offer]:
    """What the driver is told by others than brokers: what is wanted, who is silent, what takes too long."""
    me, keep, name = driver.leader, config.keep, driver.leader.driver

    def told(text: str, after: Leader, kind: str = "local", what: Any = None, moves: int = 0, late: int = 0) -> Offer:
        return Offer(f"{name} {text}", kind, drivers.told(driver, after, keep), what, moves=moves, late=late)

    slots = tuple(f"w{i}" for i in range(config.slots))
    for suspect in drivers.suspects(driver, slots):
        yield told(f"gives up {suspect}", knowledge.silent(me, suspect), "suspect", suspect)
    for silent in sorted(me.silent - me.fenced):
        yield told(f"hears of {silent} again", knowledge.heard(me, silent), "heard", silent)
    for place, target in me.wanted.items():
        for to in (*slots, ENGINE) if config.engine else slots:
            if config.moves and (to != target.slot or config.changes):
                program = chr(ord(target.program) + 1) if config.changes else target.program
                wanted = {**me.wanted, place: Target(to, program)}
                yield told(f"wants {place} at {to}", knowledge.want(me, wanted), moves=1)
            if to != target.slot and target.slot and me.living(target.slot) is None and me.living(to):
                wanted = {**me.wanted, place: Target(to, target.program)}
                yield told(f"wants {place} at {to} instead", knowledge.want(me, wanted))
    for place, holding in me.log.holdings.items() if config.late else ():
        move = holding.move
        if move and move.cut is None and (place, move.epoch) not in me.late:
            yield told(f"finds the move of {place} late", knowledge.late(me, place, move.epoch), late=1)


PLACES = tuple(Partition("s", number) for number in range(9))
