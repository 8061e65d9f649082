"""Who listens to the slots of a job that is profiled."""

from __future__ import annotations

import collections
import threading
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

from spillway.controllers.topics import Names
from spillway.local.profiling.readings import History, Life
from spillway.model.errors import SpillwayError
from spillway.runtime import clients, frames
from spillway.runtime.clients import Access
from spillway.runtime.driver.listening import Telemetry
from spillway.runtime.telemetry import Report

LOOK = 0.05
# Reports of a life: those of a whole measurement. A slot that is gone keeps its last ones, because what it has counted
# was done.
KEPT = 600
FRAMES = 20  # of an edge, that are looked at for the size of a record
WAITED, ANSWER = 1.0, 5.0  # seconds for records, and for a broker to say what there is


class Meter:
    """Reads reports in a thread, until it is closed.

    Attributes:
        problem: why it has stopped; None while it goes on.
    """

    def __init__(self, access: Access, names: Names) -> None:
        self._access, self._names = access, names
        self._telemetry = Telemetry(access, names)
        self._of: dict[Life, collections.deque[Report]] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.problem: SpillwayError | None = None
        self._thread = threading.Thread(target=self._run, name="meter", daemon=True)
        self._thread.start()

    @property
    def history(self) -> History:
        """What every life has reported, the newest last."""
        with self._lock:
            return {life: tuple(reports) for life, reports in self._of.items()}

    @property
    def latest(self) -> dict[Life, Report]:
        """The newest report of every life."""
        with self._lock:
            return {life: reports[-1] for life, reports in self._of.items()}

    def take(self, report: Report) -> None:
        """One more."""
        with self._lock:
            reports = self._of.setdefault((report.slot, report.incarnation), collections.deque(maxlen=KEPT))
            if not reports or report.up > reports[-1].up:
                reports.append(report)

    def size(self, topic: str, partitions: int, *, framed: bool) -> float:
        """Bytes of a record of an edge, or of a message of another topic, of the last ones; 0 where there are none.

        Also where a busy broker doesn't say in time: whoever needs it asks again.
        """
        reader: Consumer = clients.reader(self._access, f"{self._names.prefix}profile")
        try:
            ends = [reader.get_watermark_offsets(TopicPartition(topic, n), ANSWER) for n in range(partitions)]
            starts = [
                TopicPartition(topic, number, max(low, high - FRAMES))
                for number, (low, high) in enumerate(ends)
                if high > low
            ]
            if not starts:
                return 0.0
            reader.assign(starts[:1])
            found = [message.value() or b"" for message in reader.consume(FRAMES, WAITED) if message.error() is None]
        except KafkaException:
            return 0.0
        finally:
            reader.close()
        if not framed:
            return sum(map(len, found)) / len(found) if found else 0.0
        read = [frames.read(value) for value in found]
        records = sum(frame.count for frame in read)
        return sum(len(bytes(frame.rows)) for frame in read) / records if records else 0.0

    def close(self) -> None:
        """Read no more."""
        self._ended.set()
        self._thread.join()
        self._telemetry.close()

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                for report in self._telemetry.read():
                    self.take(report)
                time.sleep(LOOK)
        except SpillwayError as error:
            self.problem = error
