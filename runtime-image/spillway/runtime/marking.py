"""Takeovers: markers ahead of everything, then how far predecessors have emitted (rules *marker* and *barrier*)."""

from __future__ import annotations

from collections.abc import Iterator

from spillway.controllers.protocol import effects
from spillway.controllers.topics import Names
from spillway.runtime import reading_back, task
from spillway.runtime.clients import Access
from spillway.runtime.emitter import Emitter, Mark
from spillway.runtime.programs.program import Program
from spillway.runtime.reading_back import Question


class Marking:
    """What one owner has on its way: a slot, or the batch engine."""

    def __init__(self, access: Access, names: Names, emitter: Emitter, group: str) -> None:
        self._names, self._emitter = names, emitter
        self._reader = reading_back.Reader(access, group)
        self._markers: list[tuple[Mark, Question]] = []
        self._asked: set[effects.ReadBack] = set()

    @property
    def busy(self) -> bool:
        """Whether an answer is waited for."""
        return bool(self._asked)

    def mark(self, effect: effects.EmitMarker, program: Program, width: int) -> None:
        """Put markers on all partitions that the program may write."""
        for send in task.markers(program, self._names, effect.partition.number, effect.epoch, width):
            self._emitter.send(*send)

    def ask(self, effect: effects.ReadBack, program: Program, width: int) -> None:
        """How far predecessors have come; asked once the markers are there."""
        origin = task.origin_of(program, task.input_of(program, self._names))
        edges = tuple((self._names.edge(edge.reader), width) for edge in program.edges)
        self._asked.add(effect)
        self._markers.append((self._emitter.mark(), Question(effect.partition, effect.epoch, origin, edges)))

    def found(self) -> Iterator[tuple[effects.ReadBack, int]]:
        """What was asked for, and the barrier; raises what can't be read."""
        if self._markers:
            self._emitter.serve()
        while self._markers and self._markers[0][0].done:
            self._reader.ask(self._markers.pop(0)[1])
        while not self._reader.results.empty():
            match self._reader.results.get():
                case reading_back.Found(partition, epoch, barrier):
                    back = effects.ReadBack(partition, epoch)
                    self._asked.discard(back)
                    yield back, barrier
                case reading_back.Failed(error):
                    raise error

    def close(self) -> None:
        """End the thread."""
        self._reader.close()
