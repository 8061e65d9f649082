"""Lines for a word count that is at work, and what they come to."""

from __future__ import annotations

import collections
import random
import time

import msgspec

from running_job import RunningJob

WORDS = [letter * 3 for letter in "abcdefghijklmnopqrstuvwxyz"]


class Fed:
    """Lines for a word count, some at a time, and what they come to."""

    def __init__(self, job: RunningJob, seed: int = 7) -> None:
        self.job, self.dice = job, random.Random(seed)  # noqa: S311 - a load, no secret
        self.right: collections.Counter[str] = collections.Counter()
        self.topic = job.job.spec.streams[0].topic

    def some(self, lines: int = 500) -> None:
        """Into both partitions."""
        for partition in range(2):
            made = [" ".join(self.dice.choices(WORDS, k=5)) for _ in range(lines)]
            self.right.update(word for line in made for word in line.split())
            self.job.feed(self.topic, [line.encode() for line in made], partition)

    def meanwhile(self, seconds: float) -> None:
        """Keep feeding while the driver does its work."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.some(50)
            self.job.driver.step(0.02)


def counted(job: RunningJob) -> dict[str, int]:
    """What a reader of the upserts ends with; counts only ever grow."""
    found: dict[str, int] = {}
    for _, value in job.output("result"):
        row = msgspec.json.decode(value or b"")
        found[row["word"]] = max(found.get(row["word"], 0), row["occurrences"])
    return found
