"""Slots that break a rule, to be run in processes of their own: what tests say of right ones must not hold for them."""

from __future__ import annotations

import dataclasses
import functools
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

import armed_slots
from spillway.controllers.protocol import owner, reader, slot
from spillway.controllers.protocol.rules import ALL, Rules
from spillway.runtime import clients
from spillway.runtime.emitter import Emitter, Mark
from spillway.runtime.slots import life, process
from spillway.runtime.slots.settings import Settings
from spillway.runtime.task import Task


@dataclasses.dataclass(frozen=True)
class Odd:
    """What is unusual about a slot: which rules it breaks, and what makes a rare interleaving a sure one.

    Attributes:
        rules: of the protocol, those that it keeps.
        flush: whether a commit waits for what was sent before.
        order: whether its producer is idempotent.
        alone: whether each message is a request of its own, so that many are under way.
        linger: milliseconds for which the client keeps what is to be sent; a life that is over sends it all the same.
        restore: seconds that it takes to get a partition without tables ready, once that is its own.
        commit: seconds from one commit to the next.
        point: where it ends or stops, the first time.
        signal: how.
    """

    rules: Rules = ALL
    flush: bool = True
    order: bool = True
    alone: bool = False
    linger: int = 1
    restore: float = 0.0
    commit: float = life.COMMIT_EVERY
    point: str = ""
    signal: signal.Signals = signal.SIGKILL


def odd(how: Odd, settings: Settings, pipe: Connection) -> None:
    """A slot with these oddities."""
    if how.rules != ALL:
        for module, names in ((slot, ("hear", "committed")), (owner, ("processed", "acknowledged", "read_back"))):
            for name in names:
                setattr(module, name, functools.partial(getattr(module, name), keep=how.rules))
        reader.read = functools.partial(reader.read, keep=how.rules)
    if not how.flush:
        Mark.done = property(lambda _: True)  # type: ignore[assignment,method-assign]
    if how.restore:
        restored = Task.restored

        def slowly(task: Task) -> None:
            time.sleep(0 if task.changelogs else how.restore)
            restored(task)

        Task.restored = slowly  # type: ignore[assignment,method-assign]
    made = clients.Producer  # type: ignore[attr-defined]

    def producer(config: dict[str, Any]) -> Any:
        if "transactional.id" in config:
            return made(config)
        more: dict[str, Any] = {"linger.ms": how.linger}
        if how.alone:
            more["batch.num.messages"] = 1
        if not how.order:
            more["enable.idempotence"] = False
        return made({**config, **more})

    clients.Producer = producer  # type: ignore[attr-defined]
    if how.linger > 1:
        Emitter.abandon = lambda self: self.flush(2.0)  # type: ignore[assignment,method-assign]
    life.COMMIT_EVERY = how.commit
    if how.point:
        armed_slots.signals(how.signal, how.point, 1)
    process.run(settings, pipe)


def forgetful(settings: Settings, pipe: Connection) -> None:
    """A slot that forgets the tables of its predecessors."""
    Task.load = lambda *_: None  # type: ignore[method-assign]
    process.run(settings, pipe)


def credulous(settings: Settings, pipe: Connection) -> None:
    """A slot that applies every frame, also those that it has."""
    reader.read = lambda *_: reader.Reading(reader.Verdict.APPLY, reader.NOTHING, ())
    process.run(settings, pipe)
