"""Send lines of words to a topic, as they are due: `python -m spillway.bench.lines --help`.

The schedule is absolute (`record.schedule`): what is late is sent at once, and carries the time at which it was due, so
a generator that could not keep up makes latencies longer, never shorter. What is due within one `SLICE` is sent
together: to sleep for each line alone would take a core at ten thousand a second.

Lines are rendered ahead, and the same for every run: words by Zipf's law, as people use them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from confluent_kafka import KafkaError, Producer

from spillway.bench.record import events
from spillway.bench.record.figures import quantile

VOCABULARY = 1_000  # words; their counts are the rows of the job's table
WORDS = 24  # of a line
LINES = 5_000  # that are rendered; then they come again
# Seconds. Half of it is how late a line is sent in the mean, and that is in its latency: a hundredth of a bound of half
# a second. Shorter: more turns of this loop, on cores that the job needs.
SLICE = 0.01
PATIENCE = 20.0  # seconds that a broker has for what is still on its way at the end


def rendered(count: int = LINES, *, seed: int = 7) -> list[bytes]:
    """So many lines."""
    dice = events.dice(seed)
    known = events.words()[:VOCABULARY]
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(known))))
    return [" ".join(dice.choices(known, cum_weights=weights, k=WORDS)).encode() for _ in range(count)]


class Feeder:
    """Sends lines evenly over the partitions of a topic."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        )
        self._topic = topic
        self._partitions = len(self._producer.list_topics(topic, timeout=PATIENCE).topics[topic].partitions)
        self._lines = rendered()
        self._refused: list[KafkaError] = []
        self._ended = False
        self.late: list[float] = []
        """By slice, seconds that its first line was late."""
        self.sent = 0
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)

    def pour(self, rate: float, seconds: float, start: float, first: int = 0) -> None:
        """At this rate, from a time since 1970 on, for so long or until somebody asks for the end.

        `first` is the number of the first line, so that another feeder goes on where this one ends.
        """
        offset = time.monotonic() - time.time()  # by the clock that nobody sets
        count = round(rate * seconds)
        while self.sent < count and not self._ended:
            now = time.monotonic() - offset
            due = min(count, int((now - start) * rate) + 1)
            if due > self.sent:
                self.late.append(now - start - self.sent / rate)
                for number in range(self.sent, due):
                    self._send(first + number, start + number / rate)
                self.sent = due
            self._producer.poll(0)
            ahead = start + self.sent / rate - (time.monotonic() - offset)
            time.sleep(max(SLICE, min(ahead, 0.2)))

    def finish(self) -> str:
        """Wait until the broker has all; what is wrong, if anything."""
        left = self._producer.flush(PATIENCE)
        if self._refused:
            return f"{len(self._refused)} lines were refused: {self._refused[0].str()}"
        return f"{left} lines are still on their way after {PATIENCE:.0f} s" if left else ""

    def _send(self, number: int, due: float) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    self._lines[number % len(self._lines)],
                    partition=number % self._partitions,
                    timestamp=int(due * 1000),
                    on_delivery=self._told,
                )
            except BufferError:  # the broker is behind: what is late shows in latencies
                self._producer.poll(0.05)
            else:
                return

    def _told(self, error: KafkaError | None, _: object) -> None:
        if error is not None:
            self._refused.append(error)

    def _end(self, _: int, __: FrameType | None) -> None:
        self._ended = True


def main(arguments: Sequence[str] | None = None) -> int:
    """Send, and tell how that went."""
    parser = argparse.ArgumentParser(
        "python -m spillway.bench.lines",
        description="Send lines of words to a topic at a rate, on an absolute schedule; tell how late they were.",
        epilog="example: python -m spillway.bench.lines --bootstrap localhost:9092 --topic lines --rate 9 --seconds 9",
    )
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT", help="Kafka")
    parser.add_argument("--topic", required=True, help="where they go")
    parser.add_argument("--rate", type=float, required=True, help="lines in a second")
    parser.add_argument("--seconds", type=float, required=True, help="how long")
    parser.add_argument(
        "--start", type=float, metavar="TIME", help="when the first is due, in seconds since 1970 (now)"
    )
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number of the first line (0)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write how it went there, as JSON, when it is over")
    given = parser.parse_args(arguments)
    feeder = Feeder(given.bootstrap, given.topic)
    feeder.pour(given.rate, given.seconds, given.start or time.time(), given.first)
    problem = feeder.finish()
    told = {
        "sent": feeder.sent,
        "late_p99_ms": round(quantile(feeder.late, 0.99) * 1000, 1) if feeder.late else 0.0,
        "late_most_ms": round(max(feeder.late, default=0.0) * 1000, 1),
        "problem": problem,
    }
    if given.report is not None:
        given.report.write_text(json.dumps(told), encoding="utf-8")
    sys.stderr.write(f"{json.dumps(told)}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
