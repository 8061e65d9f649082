"""Processor time for each record, inside of a process that does nothing else."""

from __future__ import annotations

import time

from spillway.model import kafka
from spillway.runtime.clients import Access

WARM = 0.2  # of the records: until then, clients learn where partitions are, and caches fill


class Meter:
    """Processor time for each record, from the end of the warm-up on."""

    def __init__(self, count: int) -> None:
        self._count, self._from = count, int(count * WARM)
        self._start: tuple[int, float] | None = None
        self.done = 0

    def add(self, records: int) -> bool:
        """So many more; whether there are more to come."""
        self.done += records
        if self._start is None and self.done >= self._from:
            self._start = (self.done, time.process_time())
        return self.done < self._count

    def micros(self) -> float:
        """For each record."""
        records, seconds = self._start or (self.done, 0.0)
        if self.done - records < self._count / 2:
            message = f"{self.done - records} of {self.done} records came after the warm-up: too few for a figure"
            raise ValueError(message)
        return (time.process_time() - seconds) / (self.done - records) * 1e6


def access(bootstrap: str) -> Access:
    """How the clients of a slot reach the broker."""
    return Access(kafka.Kafka(bootstrap_servers=(bootstrap,)))
