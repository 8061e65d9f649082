"""What was begun is ended first: streams are not read while rows of edges are late.

A slot that takes more of its streams than their readers can follow has a queue in its edges, of rows that nobody can
add up any more, or take another way: 4000 lines waited in front of one that had 4 s of rows behind it. In the stream,
what waits is as small as it ever is, keeps its order, and can be given to batches as a whole.

Nothing waits for ever: a stream is held for `LONGEST` at most, and then read for `LEAST`, for the rows may be those of
other slots, which hold nothing. And an age alone holds nothing for long: where clocks differ, or a broker is far away,
all rows are old. What counts then is whether any are left when the client was asked twice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from spillway.runtime import task
from spillway.runtime.programs.program import Program
from spillway.runtime.slots.readers import Readers, Where

# Ages of the oldest row that was taken, in bounds: from the first on streams are held, up to the second they are read
# again.
LATE, FRESH = 0.2, 0.05
# Milliseconds: no row is late before. A turn of the loop (`pace.STEP`) and the way through a broker take some tens.
SOON = 50.0
# Polls in a row after which nothing was left: a client that is still fetching has nothing for one.
EMPTY = 2
# Bounds that streams are held at most.
LONGEST = 1.0
# Bounds that streams are read at a time, once rows were late: the first time, at least, and from when on nobody looks.
FIRST, LEAST, MOST = 0.1, 0.05, 1.0


class Holding:
    """Of one life of a slot."""

    def __init__(
        self, readers: Readers, bound: float, clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`bound`: the promise, in milliseconds."""
        self._readers, self._bound = readers, bound
        self._clock, self._monotonic = clock, monotonic
        self._since = monotonic()
        self._read = math.inf  # bounds until it looks whether rows have come late of what was read
        self._oldest_seen = 0.0  # since streams are held
        self._empty = 0  # polls in a row that have left nothing
        self._late = max(LATE, SOON / bound)
        self.on = False
        """Whether streams are held."""

    def taken(self, found: Mapping[Where, Sequence[Message]], *, emptied: bool) -> None:
        """This was taken last, and perhaps nothing was left: hold streams, or go on with them."""
        oldest = self._oldest(found)
        now = self._monotonic()
        bounds = (now - self._since) * 1000 / self._bound
        if self.on:
            self._oldest_seen = max(self._oldest_seen, oldest)
            self._empty = self._empty + 1 if emptied else 0
            if oldest <= FRESH or self._empty >= EMPTY or bounds >= LONGEST:
                self._read = _next(self._read, late=self._oldest_seen >= self._late)
                self.end()
            else:
                self._hold()  # also those that have come since
        elif bounds >= self._read or (oldest >= self._late and bounds >= LEAST):
            self.on, self._since, self._oldest_seen, self._empty = True, now, oldest, 0
            self._hold()

    def end(self) -> None:
        """Streams are read."""
        if self.on:
            self.on, self._since = False, self._monotonic()
            self._readers.go_on()

    def _hold(self) -> None:
        self._readers.hold([where for where in self._readers.places() if self.holds(where)])

    def holds(self, where: Where) -> bool:
        """Whether it is one of those that wait for rows of edges: a stream."""
        if self._readers.follows(where):
            return False
        return all(task.reads_stream(place.task.program) for place in self._readers.at(where))

    def _oldest(self, found: Mapping[Where, Sequence[Message]]) -> float:
        """The age of the oldest row of an edge, in bounds; none is no age."""
        firsts = [some[0] for where, some in found.items() if self._is_edge(where)]
        return max(map(self._age, firsts), default=0.0)

    def _is_edge(self, where: Where) -> bool:
        return any(reads_edge(place.task.program) for place in self._readers.at(where))

    def _age(self, message: Message) -> float:
        kind, at = message.timestamp()
        return 0.0 if kind == TIMESTAMP_NOT_AVAILABLE else (self._clock() * 1000 - at) / self._bound


def _next(read: float, *, late: bool) -> float:
    """For how long streams are read next: half as long as before where too much has come of that, else twice."""
    if late:
        return max(LEAST, min(FIRST, read / 2))
    return 2 * read if 2 * read < MOST else math.inf


def reads_edge(program: Program) -> bool:
    """Whether its input is made by another program."""
    return task.source_of(program) is None
