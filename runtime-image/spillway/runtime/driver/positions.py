"""Where partitions are: what was committed, where topics begin and where they end."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from spillway.controllers.ahead import Stretch
from spillway.controllers.protocol.values import Partition, Reach
from spillway.controllers.topics import Names
from spillway.model.errors import RetryError
from spillway.runtime import clients, commits
from spillway.runtime.clients import Access

PATIENCE = 10.0  # seconds for one answer of a broker


class Positions:
    """Asks brokers. Any thread may."""

    def __init__(self, access: Access, names: Names) -> None:
        self._access, self._names = access, names
        self._admin = clients.admin(access)
        self._readers: dict[str, Consumer] = {}
        self._lock = threading.Lock()

    def committed(self, segment: str, topic: str, starts: Mapping[int, int | None]) -> dict[Partition, int]:
        """The committed positions of some partitions of a segment.

        Where nothing is committed: where the last owner started, for brokers forget what nobody renews for a week;
        where there never was one, where the topic begins.
        """
        found = commits.committed(self._reader(segment), [(topic, number) for number in starts])
        known = {number: found.get((topic, number), start) for number, start in starts.items()}
        lacking = {(topic, number) for number, position in known.items() if position is None}
        begins = self._listed(lacking, OffsetSpec.earliest())
        return {
            Partition(segment, number): begins[topic, number] if position is None else position
            for number, position in known.items()
        }

    def ahead(self, segment: str, topic: str, numbers: Iterable[int]) -> dict[Partition, tuple[Stretch, ...]]:
        """What is committed as done ahead of the positions of some partitions, where anything is."""
        found = commits.ahead(self._reader(segment), [(topic, number) for number in numbers])
        return {Partition(segment, number): done for (_, number), done in found.items()}

    def ends(self, places: Iterable[tuple[Partition, str]], *, committed: bool = False) -> dict[Partition, int]:
        """Where the topics of partitions end; `committed`: where what can be read ends, ahead of open transactions."""
        asked = {place: (topic, place.number) for place, topic in places}
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        found = self._listed(asked.values(), OffsetSpec.latest(), isolation)
        return {place: found[where] for place, where in asked.items()}

    def since(self, places: Iterable[tuple[Partition, str]], when: float) -> dict[Partition, int]:
        """The first offset of each partition that came since then, in seconds since 1970; its end, if none has."""
        asked = {place: (topic, place.number) for place, topic in places}
        found = self._listed(asked.values(), OffsetSpec.for_timestamp(int(when * 1000)))
        none = {where for where in asked.values() if found[where] < 0}
        found |= self._listed(none, OffsetSpec.latest())
        return {place: found[where] for place, where in asked.items()}

    def reaches(self, topics: Iterable[str]) -> tuple[Reach, ...]:
        """Where all partitions of some topics end, as far as they can be read."""
        where = []
        for topic in sorted(topics):
            told = self._admin.list_topics(topic, timeout=PATIENCE).topics[topic]
            where += [(topic, number) for number in sorted(told.partitions)]
        found = self._listed(where, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)
        return tuple(Reach(topic, number, found[topic, number]) for topic, number in where)

    def bounds(self, places: Sequence[tuple[Partition, str]]) -> dict[Partition, tuple[int, int]]:
        """Where the topics of partitions begin, and where what can be read of them ends."""
        begins = self._listed([(topic, place.number) for place, topic in places], OffsetSpec.earliest())
        ends = self.ends(places, committed=True)
        return {place: (begins[topic, place.number], ends[place]) for place, topic in places}

    def _listed(
        self,
        where: Iterable[tuple[str, int]],
        spec: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[tuple[str, int], int]:
        asked = {TopicPartition(topic, number): spec for topic, number in where}
        found = {}
        for topic in {at.topic for at in asked}:
            # Else the client would hear of partitions that were added when it asks by itself, every ten seconds.
            self._admin.list_topics(topic, timeout=PATIENCE)
        answers = self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=PATIENCE) if asked else {}
        for at, answer in answers.items():
            try:
                found[at.topic, at.partition] = answer.result(timeout=2 * PATIENCE).offset
            except (KafkaException, TimeoutError) as error:
                message = f"nobody tells what topic {at.topic!r}, partition {at.partition}, has: {error}"
                raise RetryError(message) from None
        return found

    def _reader(self, segment: str) -> Consumer:
        """A consumer of the group of a segment; it reads nothing."""
        with self._lock:
            if segment not in self._readers:
                self._readers[segment] = clients.reader(self._access, self._names.group(segment))
            return self._readers[segment]
