"""What is read of a topic, as whoever reads it sees it."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One message.

    Attributes:
        partition, offset: where it stands.
        key, value: as they are.
        time: its timestamp, in milliseconds since 1970: the broker's with LogAppendTime, else the producer's.
    """

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    time: int


class Packed:
    """The messages of one partition, in the order of their offsets: as bytes, and made into records one at a time.

    An object for each took 700 bytes where a message has 40, and a demonstration writes millions of them.
    """

    def __init__(self, partition: int) -> None:
        self._partition = partition
        self._offsets, self._times = array("q"), array("q")
        self._begins, self._lengths = array("q"), array("i")  # of a message; of its key and its value, -1 for None
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[Record]:
        return map(self._at, range(len(self)))

    @property
    def first(self) -> int | None:
        """The first offset; None without any message."""
        return self._offsets[0] if self._offsets else None

    def find(self, offset: int) -> Record | None:
        """The message at an offset."""
        place = bisect.bisect_left(self._offsets, offset)
        return self._at(place) if place < len(self) and self._offsets[place] == offset else None

    def is_next(self, offset: int) -> bool:
        """Whether it is behind all that are there."""
        return not self._offsets or offset > self._offsets[-1]

    def add(self, offset: int, key: bytes | None, value: bytes | None, time: int) -> None:
        """One more, behind the others."""
        self._offsets.append(offset)
        self._times.append(time)
        self._begins.append(len(self._bytes))
        for part in (key, value):
            self._lengths.append(-1 if part is None else len(part))
            self._bytes += part or b""

    def _at(self, place: int) -> Record:
        begin, key_length, value_length = self._begins[place], self._lengths[2 * place], self._lengths[2 * place + 1]
        middle = begin + max(0, key_length)
        key = None if key_length < 0 else bytes(self._bytes[begin:middle])
        value = None if value_length < 0 else bytes(self._bytes[middle : middle + value_length])
        return Record(self._partition, self._offsets[place], key, value, self._times[place])


class Packs(Collection[Record]):
    """Those of a topic, partition by partition."""

    def __init__(self, parts: Iterable[Packed]) -> None:
        self._parts = tuple(parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Record]:
        return itertools.chain.from_iterable(self._parts)

    def __contains__(self, one: object) -> bool:
        return any(record == one for record in self)


Topics = Mapping[str, Collection[Record]]  # by topic; of one partition in the order of their offsets
