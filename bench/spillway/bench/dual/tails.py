"""What came out, read from outside when nobody is in a hurry: by key, each result with the time of the broker."""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from confluent_kafka import TopicPartition

from spillway.bench.record import logs
from spillway.bench.workloads.work import Floats, Key, Numbers, Work

NEWEST = 40  # results of a partition by which it is judged how far a system is
SOON = 1.0  # seconds for them
NEARLY = 0.9  # of them: a few tell of keys that come seldom


class Results(NamedTuple):
    """Of one key, in the order of the times.

    Attributes:
        counts: that were told.
        at: when, in milliseconds since 1970, cut off.
        amounts: what was told besides; None where nothing was.
    """

    counts: Numbers
    at: Numbers
    amounts: Floats | None = None


class Tail:
    """Reads the output of one run, as far as it goes, again and again."""

    def __init__(self, bootstrap: str, topic: str, work: Work) -> None:
        self._work, self._topic = work, topic
        self._consumer = logs.reader(bootstrap, {"fetch.queue.backoff.ms": 1, "queued.min.messages": 100_000})
        self._watch = logs.Watch(bootstrap, topic)
        self._next = [0] * logs.PARTITIONS
        # Arrays: as lists, a hundred million results are 10 GB.
        self._found: dict[Key, tuple[array[int], array[int], array[float]]] = {}
        self._most: dict[Key, int] = {}
        self.messages = 0
        """So many were read."""

    def ends(self) -> list[int]:
        """Where the topic ends: how much came out, without reading it."""
        return self._watch.ends()

    def read(self) -> None:
        """All that is there now, as long as more comes; without marks of transactions, which no output here has."""
        ends = self.ends()
        for number, end in enumerate(ends):
            if self._next[number] >= end:
                continue
            self._consumer.assign([TopicPartition(self._topic, number, self._next[number])])
            deadline = time.monotonic() + logs.PATIENCE
            while self._next[number] < end:
                for message in self._consumer.consume(logs.AT_ONCE, 0.2):
                    found = logs.record(message)
                    self._next[number] = found.offset + 1
                    self._take(found)
                    deadline = time.monotonic() + logs.PATIENCE
                if time.monotonic() > deadline:
                    message = f"topic {self._topic!r}, partition {number}, was not read to its end"
                    raise logs.NotTakenError(message)

    def _take(self, record: logs.Record) -> None:
        if record.value is None:  # a row that is gone, of a system that tells of tables so
            return
        told = self._work.read(record.value)
        key, count = told.key, told.n
        known = self._found.get(key)
        if known is None:
            known = self._found[key] = (array("q"), array("q"), array("d"))
        known[0].append(count)
        known[1].append(record.at)
        known[2].append(told.amount)
        if count > self._most.get(key, 0):
            self._most[key] = count
        self.messages += 1

    def done(self) -> int:
        """What the results say in all: the sum of the largest counts of all keys."""
        return sum(self._most.values()) if self._work.counts else self.messages

    def results(self) -> Mapping[Key, Results]:
        """By key."""
        found = {}
        for key, (counts, at, amounts) in self._found.items():
            times = np.frombuffer(at, np.int64)
            order = np.argsort(times, kind="stable")
            told = np.frombuffer(counts, np.int64)[order] if self._work.counts else np.arange(1, len(at) + 1)
            some = None if math.isnan(amounts[0]) else np.frombuffer(amounts, np.float64)[order]
            found[key] = Results(told, times[order], some)
        return found

    def frontier(self, expected: Mapping[Key, Numbers]) -> float | None:
        """How many messages are done, as the newest results tell; None while there are none.

        A result that says that its key has come n times says that its n-th message is done, and with it about all
        before that. So nobody has to read everything to know how far a system is: that would cost a core, in a run in
        which it is needed. Where results are no counts, each is one message.
        """
        ends = self.ends()
        if not self._work.counts:
            counting = sum(map(len, expected.values()))
            sent = max((int(numbers[-1]) for numbers in expected.values()), default=0) + 1
            return sum(ends) / counting * sent if counting and sum(ends) else None
        told = self._newest(ends, expected)
        return float(np.mean([np.quantile(some, NEARLY) for some in told])) + 1 if told else None

    def _newest(self, ends: Sequence[int], expected: Mapping[Key, Numbers]) -> list[list[int]]:
        """By partition, the messages that its last results tell of; none where they tell of none."""
        at = {number: max(0, end - NEWEST) for number, end in enumerate(ends) if end}
        told: dict[int, list[int]] = {number: [] for number in at}
        self._consumer.assign([TopicPartition(self._topic, number, begin) for number, begin in at.items()])
        deadline = time.monotonic() + SOON
        while any(at[number] < ends[number] for number in at) and time.monotonic() < deadline:
            for message in self._consumer.consume(NEWEST, 0.05):
                record = logs.record(message)
                at[record.partition] = record.offset + 1
                read = self._work.read(record.value or b"{}")
                if (wanted := expected.get(read.key)) is not None and 0 < read.n <= len(wanted):
                    told[record.partition].append(int(wanted[read.n - 1]))
        return [some for some in told.values() if some]

    def close(self) -> None:
        """Read no more."""
        self._consumer.close()
        self._watch.close()


def last(results: Mapping[Key, Results]) -> float:
    """When the last result came, in seconds since 1970; its millisecond is over."""
    return max((int(one.at[-1]) + 1 for one in results.values()), default=0) / 1000
