"""The telemetry topic, read from its end: what was told before nobody needs any more."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from confluent_kafka import OFFSET_END, Consumer, KafkaError, TopicPartition

from spillway.controllers.topics import Names
from spillway.runtime import clients, telemetry
from spillway.runtime.clients import Access
from spillway.runtime.telemetry import Report, TelemetryError

AT_ONCE = 1000
GONE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)  # noqa: SLF001 - so it is called

_log = logging.getLogger(__name__)


class Telemetry:
    """A reader of reports."""

    def __init__(self, access: Access, names: Names) -> None:
        self._end = TopicPartition(names.telemetry, 0, OFFSET_END)
        self._consumer: Consumer = clients.reader(access, f"{names.prefix}telemetry")
        self._consumer.assign([self._end])
        self._unread = 0

    def read(self) -> Iterator[Report]:
        """All that has come; never waits."""
        while found := self._consumer.consume(AT_ONCE, 0):
            for message in found:
                error = message.error()
                if error is not None:
                    if error.code() in GONE:  # we were away for longer than it is kept
                        self._consumer.assign([self._end])
                    continue
                try:
                    yield telemetry.decode(message.value() or b"")
                except TelemetryError as problem:
                    self._unread += 1
                    if self._unread == 1:
                        _log.warning("%s; others are ignored without a word", problem)
            if len(found) < AT_ONCE:
                return

    def close(self) -> None:
        """Read no more."""
        self._consumer.close()
