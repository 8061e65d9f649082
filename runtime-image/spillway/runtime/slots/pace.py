"""How much a slot takes at once: as much as it is done with in about `STEP`.

What comes of a message leaves once all that were taken with it are processed, and control messages wait for that too.
Less at once would have each pay for its share of a turn of the loop: with 500 instead of 3 000 messages, a record of
5 µs took a quarter more. A message may be one record, or a frame of 10 000, and a record takes a microsecond or, with a
user's function, a second; so what a turn takes is measured, and never assumed. To wait for a core is no part of it: on
a busy machine a turn is mostly that, and less at once would only be more turns. To wait for a service is: with a
quarter of such waits counted, records of 12 ms were taken by twos and fours, and 1 % took 140 ms instead of 91.

Bytes are counted beside messages, because frames are a thousand times as much work as records, and fill up just when
much comes: by messages alone, a slot that had taken 500 of records took 345 of frames, and half a second for them.
"""

from __future__ import annotations

import os
import time

# Seconds that a turn may take. A tenth of a bound that many jobs have (100 ms); shorter gains latency only for a slot
# that has more to do than it can, and there the queue is the latency.
STEP = 0.01
# Messages, and bytes, of the first turn, when nothing is known yet: 16 frames of a few hundred rows are 100 ms.
FIRST, FIRST_ROOM = 16, 64 * 1024
# Messages, and bytes, at most: a consumer has 1 000 of each partition at hand (`intake.AHEAD`), and 16 MB in all
# (`clients.reader`), and a turn that takes all of them waits for more.
MOST, MOST_ROOM = 4_000, 8 * 1024 * 1024


# What Linux says of a thread: nanoseconds on a core, nanoseconds of waiting for one, and how often it got one.
_THREAD, _FIELDS = "/proc/thread-self/schedstat", 64
# Of the time that was not spent on a core, this part counts where nobody says how much of it was waiting for one.
UNKNOWN = 1 / 4


class Stopwatch:
    """Of the turns of one thread: the one that made it."""

    def __init__(self, path: str = _THREAD) -> None:
        """Where the kernel tells of the thread."""
        try:
            self._told = os.open(path, os.O_RDONLY)
        except OSError:
            self._told = -1
        fields = os.pread(self._told, _FIELDS, 0).split() if self._told >= 0 else []
        if not fields or not int(fields[0]):  # a kernel that does not count says nothing, or 0 of all
            self.close()
        self.begin()

    def begin(self) -> None:
        """A turn begins."""
        self._began, self._cpu, self._waited = time.perf_counter(), time.thread_time(), self._waiting()

    def read(self) -> tuple[float, float]:
        """Seconds since then, and what they would have been with a core at hand all the time."""
        seconds = time.perf_counter() - self._began
        if self._told < 0:
            cpu = time.thread_time() - self._cpu
            return seconds, cpu + UNKNOWN * max(0.0, seconds - cpu)
        return seconds, seconds - (self._waiting() - self._waited)

    def _waiting(self) -> float:
        """Seconds for which the thread has waited for a core, in its life."""
        return int(os.pread(self._told, _FIELDS, 0).split()[1]) / 1e9 if self._told >= 0 else 0.0

    def close(self) -> None:
        """It is needed no more."""
        if self._told >= 0:
            os.close(self._told)
            self._told = -1


class Pace:
    """Of one life of a slot."""

    def __init__(self) -> None:
        self.most = FIRST
        """How many messages to take in the next turn."""
        self.room = FIRST_ROOM
        """How many bytes, at least one message."""

    def took(self, count: int, weight: int, seconds: float) -> None:
        """So many messages, and so many bytes, have taken so long: twice as much next time, or half as much."""
        if seconds > STEP:
            self.most = max(1, self.most // 2)
            self.room = max(1, self.room // 2)
            return
        if count >= self.most:
            self.most = min(MOST, 2 * self.most)
        if weight >= self.room:
            self.room = min(MOST_ROOM, 2 * self.room)
