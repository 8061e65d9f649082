"""How far the predecessors of a partition have emitted: read back from its own output edges (rule *barrier*).

All of what is left of an edge is read: it is trimmed behind its readers, also now, but never of what somebody may have
to find here. The owner may process meanwhile. Only headers of frames are looked at.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from spillway.controllers.protocol.values import Partition
from spillway.runtime import clients, failpoints, frames, scans
from spillway.runtime.clients import Access
from spillway.runtime.frames import Frame


class Question(NamedTuple):
    """How far owners before this epoch have emitted.

    Attributes:
        partition, epoch: who asks.
        origin: how frames name the input.
        edges: the topics that its program writes to, with how many partitions each has.
    """

    partition: Partition
    epoch: int
    origin: str
    edges: tuple[tuple[str, int], ...]


class Found(NamedTuple):
    """The answer: something of what is below `barrier` stands on an edge, and nothing of what is above."""

    partition: Partition
    epoch: int
    barrier: int


class Failed(NamedTuple):
    """An edge can't be read."""

    error: BaseException


def reach(frame: Frame, question: Question) -> int:
    """How far a frame says that a predecessor has come; 0 if it says nothing of that."""
    number = question.partition.number
    if frame.combined is not None:
        ends = (
            source.stop
            for source in frame.combined.sources
            if source.epoch < question.epoch and source.partition == (question.origin, number)
        )
        return max(ends, default=0)
    theirs = (frame.source, frame.partition) == (question.origin, number) and frame.epoch < question.epoch
    return frame.last.offset + 1 if theirs and frame.count else 0


class Reader:
    """Reads back beside the loop; `results` has the answers."""

    def __init__(self, access: Access, group: str) -> None:
        self._access, self._group = access, group
        self._asked: queue.SimpleQueue[Question | None] = queue.SimpleQueue()
        self.results: queue.SimpleQueue[Found | Failed] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="read back", daemon=True)
        self._thread.start()

    def ask(self, question: Question) -> None:
        """Find out, once the markers of this epoch have arrived."""
        self._asked.put(question)

    def close(self) -> None:
        """End the thread."""
        self._asked.put(None)

    def _run(self) -> None:
        try:
            while (first := self._asked.get()) is not None:
                asked = [first]
                while not self._asked.empty() and (more := self._asked.get()) is not None:
                    asked.append(more)
                self._answer(asked)
        except BaseException as error:
            self.results.put(Failed(error))

    def _answer(self, asked: Sequence[Question]) -> None:
        edges = sorted({(topic, number) for one in asked for topic, width in one.edges for number in range(width)})
        barriers = dict.fromkeys(asked, 0)
        if edges:
            self._scan(edges, barriers)
        failpoints.reached("edges read back")
        for question, barrier in barriers.items():
            self.results.put(Found(question.partition, question.epoch, barrier))

    def _scan(self, edges: Sequence[tuple[str, int]], barriers: dict[Question, int]) -> None:
        of: Mapping[tuple[str, int], list[Question]] = {
            edge: [one for one in barriers if edge[0] in dict(one.edges)] for edge in edges
        }
        consumer = clients.restorer(self._access, self._group, trimmed=True)
        try:
            clients.know(consumer, *sorted({topic for topic, _ in edges}))
            for place, messages, _ in scans.whole(consumer, edges):
                for message in messages:
                    frame = frames.read(message.value())
                    for question in of[place]:
                        barriers[question] = max(barriers[question], reach(frame, question))
        finally:
            consumer.close()
