"""How many messages a slot takes at once: as many as it is done with in about `STEP`.

What comes of a message leaves once all that were taken with it are processed, and control messages wait for that too.
Fewer at once would have each pay for its share of a turn of the loop: with 500 instead of 3 000 messages, a record of
5 µs took a quarter more. A message may be one record, or a frame of 10 000, and a record takes a microsecond or, with a
user's function, a second; so what a turn takes is measured, and never assumed.
"""

from __future__ import annotations

# Seconds that a turn may take. A tenth of a bound that many jobs have (100 ms); shorter gains latency only for a slot
# that has more to do than it can, and there the queue is the latency.
STEP = 0.01
# Messages of the first turn, when nothing is known yet: frames of 10 000 records of 5 µs each take 0.8 s.
FIRST = 16
# Messages at most: a consumer has 5 000 at hand (`clients.reader`), and a turn that takes all of them waits for more.
MOST = 4_000


class Pace:
    """Of one life of a slot."""

    def __init__(self) -> None:
        self.most = FIRST
        """How many messages to take in the next turn."""

    def took(self, count: int, seconds: float) -> None:
        """A turn with so many messages has taken so long.

        Twice as many next time, or half as many: a turn of few messages that took long was mostly one in which this
        process had to wait for a core.
        """
        if seconds > STEP:
            self.most = max(1, self.most // 2)
        elif count >= self.most:
            self.most = min(MOST, 2 * self.most)
