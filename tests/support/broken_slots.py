"""Slots that break a rule, to be run in processes of their own: what tests say of right ones must not hold for them."""

from __future__ import annotations

from multiprocessing.connection import Connection

from spillway.controllers.protocol import reader
from spillway.runtime.slots import process
from spillway.runtime.slots.settings import Settings
from spillway.runtime.task import Task


def forgetful(settings: Settings, pipe: Connection) -> None:
    """A slot that forgets the tables of its predecessors."""
    Task.load = lambda *_: None  # type: ignore[method-assign]
    process.run(settings, pipe)


def credulous(settings: Settings, pipe: Connection) -> None:
    """A slot that applies every frame, also those that it has."""
    reader.read = lambda *_: reader.Reading(reader.Verdict.APPLY, reader.NOTHING, ())
    process.run(settings, pipe)
