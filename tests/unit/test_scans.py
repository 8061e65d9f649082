"""Partitions are read to the end of each, however messages and ends of several come mixed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, KafkaError

from spillway.model.errors import RetryError
from spillway.runtime import clients, scans

END = KafkaError._PARTITION_EOF  # noqa: SLF001 - so it is called
PASSING = (KafkaError.LEADER_NOT_AVAILABLE,)
A, B = ("a", 0), ("b", 3)


@dataclasses.dataclass(frozen=True)
class Said:
    """A message, or an error in the place of one."""

    place: tuple[str, int]
    at: int
    code: int | None = None

    def topic(self) -> str:
        return self.place[0]

    def partition(self) -> int:
        return self.place[1]

    def offset(self) -> int:
        return self.at

    def error(self) -> KafkaError | None:
        return None if self.code is None else KafkaError(self.code, retriable=self.code in PASSING)


class Told:
    """Stands in for a consumer: what it has to say, look by look."""

    def __init__(self, *looks: Sequence[Said]) -> None:
        self._looks = [list(look) for look in looks]
        self.waited: list[float] = []

    def assign(self, places: Sequence[Any]) -> None:
        self.assigned = [(place.topic, place.partition) for place in places]

    def poll(self, seconds: float) -> Said | None:
        self.waited.append(seconds)
        self._rest = self._looks.pop(0)
        return self._rest.pop(0) if self._rest else None

    def consume(self, count: int, seconds: float) -> list[Said]:
        self.waited.append(seconds)
        found, self._rest = self._rest[:count], self._rest[count:]
        return found


def whole(told: Told) -> list[tuple[tuple[str, int], list[int], int]]:
    pieces = scans.whole(cast("Consumer", told), [A, B])
    return [(place, [message.offset() or 0 for message in messages], at) for place, messages, at in pieces]


def test_all_is_read_until_the_end_of_each_partition_was_seen() -> None:
    told = Told([Said(A, 4), Said(B, 0), Said(A, 5), Said(A, 6, END)], [], [Said(A, 6)], [Said(B, 2), Said(B, 5, END)])

    assert whole(told) == [(A, [4, 5], 6), (B, [0], 1), (A, [6], 7), (B, [2], 5)]
    assert told.assigned == [A, B]


def test_an_empty_partition_ends_where_the_next_message_will_be() -> None:
    assert whole(Told([Said(A, 9, END), Said(B, 0, END)])) == [(A, [], 9), (B, [], 0)]


def test_what_passes_is_waited_for_and_what_does_not_is_said() -> None:
    passing, lasting = Said(A, 0, PASSING[0]), Said(B, 0, KafkaError.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(RetryError, match="topic 'b', partition 3, can't be read"):
        whole(Told([passing], [lasting]))


def test_only_the_first_message_is_waited_for() -> None:
    told = Told([Said(A, 0), Said(A, 1), Said(A, 2)], [])

    assert [message.offset() for message in clients.arrived(cast("Consumer", told), 2, 0.5)] == [0, 1]
    assert clients.arrived(cast("Consumer", told), 2, 0.5) == []
    assert told.waited == [0.5, 0, 0.5]
