"""What is read of a topic, as whoever reads it sees it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence


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


Topics = Mapping[str, Sequence[Record]]  # by topic; of one partition in the order of their offsets
