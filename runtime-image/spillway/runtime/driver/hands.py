"""What takes its time beside the loop: fencing, reading positions, looking at topics, planning.

The loop goes on meanwhile, so that a move that is under way waits for nothing. What comes out is told by the loop
itself (`answers`), so that nothing else changes what it knows.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaException

from spillway.model.errors import SpillwayError

T = TypeVar("T")
Answer = Callable[[], None]
Task = Callable[[], Answer]

# Threads. With four, slots that die together are fenced together, and nobody waits for a look at topics. They wait for
# brokers, and cost nothing.
HANDS = 4
AGAIN = 1.0  # seconds until what went wrong is tried again: a broker that is restarted takes some

_log = logging.getLogger(__name__)


class Hands:
    """Some threads that do what is given to them."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._again: list[tuple[float, Task]] = []
        for number in range(HANDS):
            threading.Thread(target=self._work, name=f"hand {number}", daemon=True).start()

    def do(
        self, what: Callable[[], T], then: Callable[[T], None], otherwise: Callable[[Exception], None] | None = None
    ) -> None:
        """Do it; then the loop tells. What goes wrong is told too; where nobody asks for that, it is tried again."""

        def task() -> Answer:
            try:
                found = what()
            except (SpillwayError, KafkaException) as error:
                wrong = error
            else:
                return lambda: then(found)
            if otherwise is not None:
                return lambda: otherwise(wrong)
            _log.warning("%s; tried again", wrong)
            return lambda: self._again.append((time.monotonic() + AGAIN, task))

        self._tasks.put(task)

    def answers(self) -> None:
        """Tell what was done since; called by the loop."""
        due = [task for at, task in self._again if at <= time.monotonic()]
        self._again = [(at, task) for at, task in self._again if task not in due]
        for task in due:
            self._tasks.put(task)
        while True:
            try:
                answer = self._answers.get_nowait()
            except queue.Empty:
                return
            answer()

    def close(self) -> None:
        """Do nothing more; what waits for a broker now is left to itself."""
        for _ in range(HANDS):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                self._answers.put(task())
            except Exception as error:  # what nobody foresaw ends the loop, and not only this thread
                self._answers.put(_raiser(error))


def _raiser(error: Exception) -> Answer:
    def answer() -> None:
        raise error

    return answer
