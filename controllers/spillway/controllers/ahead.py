"""What of a partition is processed ahead of its position, and what was set aside before that.

    position         gap          done           gap          done        what comes
       |------ set aside ------|=========|--- set aside ---|=========|----------->

Everything below the position is processed; of what is above, the ranges that are done are listed. Whoever goes on with
the partition begins at the position and leaves those ranges out: nothing is lost, and nothing is processed twice. If
the list should be lost, records are repeated, never missed.

The list is committed with the position, in the text that Kafka keeps beside each committed offset: both are there, or
neither, and whoever reads the one gets the other.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable

Stretch = tuple[int, int]  # offsets from the first up to, without, the second

# How a note begins; one of somebody else's tools says nothing to us.
MARK = "done ahead:"
# Characters of a note after which no further gap is begun. Brokers take 4096 (`offset.metadata.max.bytes`), and the
# numbers of the last gap and range can still become longer.
FULL = 3_800


class Ahead:
    """Of one partition."""

    __slots__ = ("_starts", "_stops", "position")

    def __init__(self, position: int, done: Iterable[Stretch] = ()) -> None:
        self.position = position
        self._starts: list[int] = []
        self._stops: list[int] = []
        for start, stop in done:
            self.passed(start, stop)

    @property
    def done(self) -> tuple[Stretch, ...]:
        """The ranges above the position that are done, in their order, with gaps between them."""
        return tuple(zip(self._starts, self._stops, strict=True))

    @property
    def top(self) -> int:
        """Nothing from here on is done."""
        return self._stops[-1] if self._stops else self.position

    @property
    def count(self) -> int:
        """Offsets above the position that are done."""
        return sum(self._stops) - sum(self._starts)

    @property
    def full(self) -> bool:
        """Whether there is no room for another gap."""
        return len(self.note()) > FULL

    def __bool__(self) -> bool:
        """Whether anything is done ahead."""
        return bool(self._starts)

    def has(self, offset: int) -> bool:
        """Whether a message is processed."""
        at = bisect.bisect_right(self._starts, offset)
        return offset < self.position or (at > 0 and offset < self._stops[at - 1])

    def gap(self, upto: int) -> Stretch | None:
        """The first stretch that was set aside below an offset."""
        if self.position >= upto:
            return None
        return self.position, min(upto, self._starts[0]) if self._starts else upto

    def passed(self, start: int, stop: int) -> None:
        """A stretch is processed."""
        if start <= self.position:
            self.position = max(self.position, stop)
        elif start < stop:
            self._add(start, stop)
        while self._starts and self._starts[0] <= self.position:
            self.position = max(self.position, self._stops[0])
            del self._starts[0], self._stops[0]

    def jump(self, position: int) -> None:
        """Somebody has said that everything below is to be taken for processed."""
        self.passed(self.position, position)

    def note(self) -> str:
        """The list, as text."""
        return write(self.position, self.done)

    def _add(self, start: int, stop: int) -> None:
        """What touches is one range."""
        first = bisect.bisect_left(self._stops, start)
        last = bisect.bisect_right(self._starts, stop)
        if first < last:
            start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
        self._starts[first:last] = [start]
        self._stops[first:last] = [stop]


def write(position: int, done: Iterable[Stretch]) -> str:
    """The note to be committed with a position: after it by turns how much was set aside, and how much is done."""
    above = [(max(start, position), stop) for start, stop in done if stop > position]
    if not above:
        return ""
    ends = [position, *itertools.chain.from_iterable(above)]
    return MARK + " ".join(str(stop - start) for start, stop in itertools.pairwise(ends))


def read(position: int, note: str | None) -> tuple[Stretch, ...]:
    """The ranges that a note lists; none if it is not ours: then all from the position on is processed."""
    if not note or not note.startswith(MARK):
        return ()
    words = note.removeprefix(MARK).split(" ")
    if len(words) % 2 or not all(word.isascii() and word.isdecimal() for word in words):
        return ()
    ends = list(itertools.accumulate(map(int, words), initial=position))
    return tuple(zip(ends[1::2], ends[2::2], strict=True))
