"""Committed positions are asked for again while a broker that has just begun sends us elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from spillway.runtime import commits


class _Consumer:
    """Answers with these errors, one after the other, and then with an offset."""

    def __init__(self, *codes: int) -> None:
        self._codes = list(codes)

    def committed(self, asked: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        assert timeout > 0
        if self._codes:
            raise KafkaException(KafkaError(self._codes.pop(0)))
        return [TopicPartition(at.topic, at.partition, 7) for at in asked]


def _asked(consumer: Any) -> dict[tuple[str, int], int]:
    return commits.committed(consumer, [("t", 0)])


def test_another_coordinator_is_waited_for() -> None:
    found = _asked(_Consumer(KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS))

    assert found == {("t", 0): 7}


def test_what_waiting_does_not_mend_is_raised() -> None:
    with pytest.raises(KafkaException):
        _asked(_Consumer(KafkaError.GROUP_AUTHORIZATION_FAILED))
