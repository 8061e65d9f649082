"""How much a slot takes at once: as much as it is done with in about `STEP`.

What comes of a message leaves once all that were taken with it are processed, and control messages wait for that too.
Less at once would have each pay for its share of a turn of the loop: with 500 instead of 3 000 messages, a record of
5 µs took a quarter more. A message may be one record, or a frame of 10 000, and a record takes a microsecond or, with a
user's function, a second; so what a turn takes is measured, and never assumed.

Bytes are counted beside messages, because frames are a thousand times as much work as records, and fill up just when
much comes: by messages alone, a slot that had taken 500 of records took 345 of frames, and half a second for them.
"""

from __future__ import annotations

# Seconds that a turn may take. A tenth of a bound that many jobs have (100 ms); shorter gains latency only for a slot
# that has more to do than it can, and there the queue is the latency.
STEP = 0.01
# What a turn takes is processor time, for on a busy machine most of it is waiting for a core, and less at once would
# only be more turns. But a function may wait for a service, so of what a clock says this part counts, too.
WAITING = 1 / 4
# Messages, and bytes, of the first turn, when nothing is known yet: 16 frames of a few hundred rows are 100 ms.
FIRST, FIRST_ROOM = 16, 64 * 1024
# Messages, and bytes, at most: a consumer has 1 000 of each partition at hand (`intake.AHEAD`), and 16 MB in all
# (`clients.reader`), and a turn that takes all of them waits for more.
MOST, MOST_ROOM = 4_000, 8 * 1024 * 1024


class Pace:
    """Of one life of a slot."""

    def __init__(self) -> None:
        self.most = FIRST
        """How many messages to take in the next turn."""
        self.room = FIRST_ROOM
        """How many bytes, at least one message."""

    def took(self, count: int, weight: int, seconds: float, cpu: float) -> None:
        """A turn with so many messages, and so many bytes, has taken so long, and so much processor time.

        Twice as much next time, or half as much.
        """
        if max(cpu, WAITING * seconds) > STEP:
            self.most = max(1, self.most // 2)
            self.room = max(1, self.room // 2)
            return
        if count >= self.most:
            self.most = min(MOST, 2 * self.most)
        if weight >= self.room:
            self.room = min(MOST_ROOM, 2 * self.room)
