"""Takeovers of the batch engine: markers ahead of everything, and then how far its predecessors have emitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spillway.controllers.protocol import effects
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.runtime import failpoints, task
from spillway.runtime.clients import Access
from spillway.runtime.emitter import Emitter, Mark
from spillway.runtime.programs.program import Program
from spillway.runtime.slots import reading_back
from spillway.runtime.slots.reading_back import Question


class Marking:
    """What one engine has on its way."""

    def __init__(self, access: Access, names: Names) -> None:
        self._names = names
        self._emitter = Emitter(access)
        self._reader = reading_back.Reader(access, f"{names.prefix}batch")
        self._markers: list[tuple[Mark, effects.ReadBack, Question]] = []
        self._asked: dict[tuple[Partition, int], effects.ReadBack] = {}

    @property
    def busy(self) -> bool:
        """Whether an answer is waited for."""
        return bool(self._markers or self._asked)

    def mark(self, effect: effects.EmitMarker, program: Program, width: int) -> None:
        """Put markers on all partitions that the program may write."""
        for send in task.markers(program, self._names, effect.partition.number, effect.epoch, width):
            self._emitter.send(*send)

    def ask(self, effect: effects.ReadBack, program: Program, width: int) -> None:
        """How far predecessors have come; asked once the markers are there."""
        origin = task.origin_of(program, task.input_of(program, self._names))
        edges: Sequence[tuple[str, int]] = [(self._names.edge(edge.reader), width) for edge in program.edges]
        question = Question(effect.partition, effect.epoch, origin, tuple(edges))
        self._markers.append((self._emitter.mark(), effect, question))

    def found(self) -> Iterator[tuple[effects.ReadBack, int]]:
        """What was asked for, and the barrier; raises what can't be read."""
        self._emitter.serve()
        while self._markers and self._markers[0][0].done:
            _, back, question = self._markers.pop(0)
            self._asked[question.partition, question.epoch] = back
            failpoints.reached("batch marked")
            self._reader.ask(question)
        while not self._reader.results.empty():
            match self._reader.results.get():
                case reading_back.Found(partition, epoch, barrier):
                    failpoints.reached("batch read back")
                    yield self._asked.pop((partition, epoch)), barrier
                case reading_back.Failed(error):
                    raise error

    def close(self) -> None:
        """End the thread; what is not sent is thrown away."""
        self._reader.close()
        self._emitter.abandon()
