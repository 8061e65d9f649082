"""Who feeds a job that is profiled: a thread that sends at a rate, evenly over all partitions.

It sends in steps of some milliseconds; what it is late by, it makes up for in the next one, but for what is more than
`LATE`: after a pause of the machine there is no burst.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

from spillway.local.profiling.records import Records
from spillway.model.errors import SpillwayError
from spillway.runtime.clients import Access
from spillway.runtime.emitter import TO_ANY, Emitter

STEP = 0.005
LATE = 0.1
# Messages handed over at once; in between somebody has to hear of acknowledgements, or the client's queue is full.
MOST = 2_000
FLUSH = 10.0

_Send = tuple[str, int, bytes | None, bytes | None]


class Feeder:
    """Sends records of streams, until it is closed.

    Attributes:
        problem: why it has stopped; None while it goes on.
    """

    def __init__(self, access: Access, streams: Sequence[Records], partitions: int) -> None:
        """Each topic has so many partitions. Nothing is sent before there is a rate."""
        self._emitter = Emitter(access)
        self._sends = {one.topic: _turns(one, partitions) for one in streams}
        self._rates: dict[str, float] = {}
        self._fed = dict.fromkeys(self._sends, 0)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.problem: SpillwayError | None = None
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)
        self._thread.start()

    def set(self, rates: Mapping[str, float]) -> None:
        """Send so many messages per second into each topic from now on; none into others."""
        with self._lock:
            self._rates = dict(rates)

    @property
    def fed(self) -> dict[str, int]:
        """How many messages were sent, by topic."""
        with self._lock:
            return dict(self._fed)

    def rest(self) -> None:
        """Send nothing more, and wait until what was sent has arrived."""
        self.set({})
        deadline = time.monotonic() + FLUSH
        while self._emitter.waiting and time.monotonic() < deadline:
            time.sleep(STEP)

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join()
        self._emitter.abandon()

    def _run(self) -> None:
        try:
            self._send()
        except SpillwayError as error:
            self.problem = error

    def _send(self) -> None:
        owed = dict.fromkeys(self._sends, 0.0)
        last = time.monotonic()
        while not self._ended.is_set():
            now = time.monotonic()
            passed, last = min(now - last, LATE), now
            with self._lock:
                rates = dict(self._rates)
            for topic, sends in self._sends.items():
                rate = rates.get(topic, 0.0)
                owed[topic] = owed[topic] + rate * passed if rate else 0.0
                due = int(owed[topic])
                owed[topic] -= due
                while due:
                    some = min(due, MOST)
                    self._emitter.send_all(itertools.islice(sends, some))
                    self._emitter.serve()
                    due -= some
                    with self._lock:
                        self._fed[topic] += some
            self._emitter.serve()
            time.sleep(max(0.0, STEP - (time.monotonic() - now)))


def fill(access: Access, tables: Sequence[Records]) -> None:
    """The rows of tables, once."""
    emitter = Emitter(access)
    for one in tables:
        emitter.send_all((one.topic, TO_ANY, key, value) for key, value in zip(one.keys or (), one.values, strict=True))
    emitter.flush(FLUSH)


def _turns(records: Records, partitions: int) -> Iterator[_Send]:
    """Its messages, round and round, each into the next partition; those with keys where the client puts them."""
    keys = records.keys or itertools.repeat(None, len(records.values))
    pairs = list(zip(keys, records.values, strict=True))
    numbers = itertools.cycle(range(partitions)) if records.keys is None else itertools.repeat(TO_ANY)
    topic = records.topic
    return ((topic, number, key, value) for number, (key, value) in zip(numbers, itertools.cycle(pairs), strict=False))
