"""What came out, read from outside when nobody is in a hurry: by key, each result with the time of the broker."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from confluent_kafka import TopicPartition

from spillway.bench.dual.works import Key, Work
from spillway.bench.record import logs


class Results(NamedTuple):
    """Of one key: the counts that were told, and when (milliseconds since 1970, cut off), in the order of the times."""

    counts: npt.NDArray[np.int64]
    at: npt.NDArray[np.int64]


class Tail:
    """Reads the output of one run, as far as it goes, again and again."""

    def __init__(self, bootstrap: str, topic: str, work: Work) -> None:
        self._work, self._topic = work, topic
        self._consumer = logs.reader(bootstrap, {"fetch.queue.backoff.ms": 1, "queued.min.messages": 100_000})
        self._watch = logs.Watch(bootstrap, topic)
        self._next = [0] * logs.PARTITIONS
        self._found: dict[Key, tuple[list[int], list[int]]] = {}
        self.messages = 0
        """So many were read."""

    def ends(self) -> list[int]:
        """Where the topic ends: how much came out, without reading it."""
        return self._watch.ends()

    def read(self) -> None:
        """All that is there now; without marks of transactions, which no output of these jobs has."""
        ends = self.ends()
        deadline = time.monotonic() + logs.PATIENCE
        for number, end in enumerate(ends):
            if self._next[number] >= end:
                continue
            self._consumer.assign([TopicPartition(self._topic, number, self._next[number])])
            while self._next[number] < end:
                for message in self._consumer.consume(logs.AT_ONCE, 0.2):
                    found = logs.record(message)
                    self._next[number] = found.offset + 1
                    self._take(found)
                if time.monotonic() > deadline:
                    message = f"topic {self._topic!r}, partition {number}, was not read to its end"
                    raise logs.NotTakenError(message)

    def _take(self, record: logs.Record) -> None:
        key, count = self._work.read(record.value or b"")
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = ([], [])
        known[0].append(count)
        known[1].append(record.at)
        self.messages += 1

    def done(self) -> int:
        """What the results say in all: the sum of the largest counts of all keys."""
        if not self._work.counts:
            return self.messages
        return sum(max(counts) for counts, _ in self._found.values())

    def results(self) -> Mapping[Key, Results]:
        """By key."""
        found = {}
        for key, (counts, at) in self._found.items():
            times = np.array(at, np.int64)
            order = np.argsort(times, kind="stable")
            told = np.array(counts, np.int64)[order] if self._work.counts else np.arange(1, len(at) + 1)
            found[key] = Results(told, times[order])
        return found

    def close(self) -> None:
        """Read no more."""
        self._consumer.close()
        self._watch.close()


def last(results: Mapping[Key, Results]) -> float:
    """When the last result came, in seconds since 1970; its millisecond is over."""
    return max((int(one.at[-1]) + 1 for one in results.values()), default=0) / 1000
