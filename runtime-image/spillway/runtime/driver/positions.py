"""Where partitions are: what was committed, where topics begin and where they end."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer, KafkaException, TopicPartition

from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.model.errors import RetryError
from spillway.runtime import clients, commits
from spillway.runtime.clients import Access

PATIENCE = 10.0  # seconds for one answer of a broker


class Positions:
    """Asks brokers. Any thread may."""

    def __init__(self, access: Access, names: Names) -> None:
        self._access, self._names = access, names
        self._readers: dict[str, Consumer] = {}
        self._lock = threading.Lock()

    def committed(self, segment: str, topic: str, starts: Mapping[int, int | None]) -> dict[Partition, int]:
        """The committed positions of some partitions of a segment.

        Where nothing is committed: where the last owner started, for brokers forget what nobody renews for a week;
        where there never was one, where the topic begins.
        """
        found = commits.committed(self._reader(segment), [(topic, number) for number in starts])
        positions = {}
        for number, start in starts.items():
            position = found.get((topic, number), start)
            positions[Partition(segment, number)] = self._ends(topic, number)[0] if position is None else position
        return positions

    def ends(self, places: Iterable[tuple[Partition, str]]) -> dict[Partition, int]:
        """Where the topics of partitions end."""
        return {place: self._ends(topic, place.number)[1] for place, topic in places}

    def close(self) -> None:
        """Ask no more."""
        with self._lock:
            for reader in self._readers.values():
                reader.close()
            self._readers.clear()

    def _ends(self, topic: str, number: int) -> tuple[int, int]:
        try:
            found = self._reader("").get_watermark_offsets(TopicPartition(topic, number), timeout=PATIENCE)
        except KafkaException as error:
            message = f"topic {topic!r}, partition {number}: {error.args[0].str()}"
            raise RetryError(message) from None
        if found is None:
            message = f"no broker tells what topic {topic!r}, partition {number}, has"
            raise RetryError(message)
        return found[0], found[1]

    def _reader(self, segment: str) -> Consumer:
        """A consumer of the group of a segment; it reads nothing."""
        with self._lock:
            if segment not in self._readers:
                self._readers[segment] = clients.reader(self._access, self._names.group(segment))
            return self._readers[segment]
