"""Logs of single records: what `events` works on, and what has become of all of them in the end."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable

from spillway.model.operators import Paradigm
from spillway.simulation.jobs import Death

Origin = tuple[str, int]  # a segment, and the number of its input partition
Place = tuple[str, str, int]  # an output, who reads it, and the number of the partition there


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One record on one edge: its number, when the first of its ancestors came, and its place in its origin."""

    number: int
    born: float
    position: int


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """Records of one origin, in its order; None are topics, which nobody here sends, so nobody sends them again."""

    came: float
    origin: Origin | None
    records: tuple[Record, ...]


class Partition:
    """The input log of one partition, how far its owner has got, and what is not committed yet.

    Attributes:
        log: all frames that came.
        next: the frame that is worked on, or will be.
        known: by origin, the highest position whose record had its effect.
        effects: the numbers of the records that had theirs since the last commit.
        buffers: what was emitted, and did not leave yet.
        opened: how many frames were begun, so that a deadline knows whether its frame is still there.
        owner: the slot that works on it.
        epoch: rises with each owner, so that what an earlier one had planned counts for nothing.
        still: whether it has no owner at the moment.
        due: a commit waits for the end of the frame.
        after: what waits for the end of the frame, and a commit.
    """

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number
        self.log: list[Frame] = []
        self.next = self.owner = self.epoch = 0
        self.known: dict[Origin, int] = {}
        self.effects: list[int] = []
        self.buffers: dict[Place, list[Record]] = {}
        self.opened: dict[Place, int] = {}
        self.still = self.due = False
        self.after: Callable[[], None] | None = None
        self._stored: tuple[int, dict[Origin, int]] = (0, {})

    @property
    def waits(self) -> bool:
        """Whether there is something to work on, and somebody to do it."""
        return not self.still and self.next < len(self.log)

    def is_new(self, frame: Frame, record: Record) -> bool:
        """Whether the record has not had its effect yet."""
        return frame.origin is None or record.position > self.known.get(frame.origin, -1)

    def store(self) -> list[int]:
        """State and position together; the numbers of the records whose effects are now for good."""
        self._stored = self.next, dict(self.known)
        effects, self.effects, self.due = self.effects, [], False
        return effects

    def restore(self) -> None:
        """What was not committed is gone."""
        self.next, known = self._stored
        self.known = dict(known)
        self.effects, self.due, self.after = [], False, None
        self.buffers.clear()


@dataclasses.dataclass(frozen=True, slots=True)
class Resize:
    """A segment has other slots from then on; partitions that change their owner stand still for the pause."""

    at: float
    segment: str
    slots: int


@dataclasses.dataclass(frozen=True, slots=True)
class Switch:
    """A segment goes to the other paradigm."""

    at: float
    segment: str
    to: Paradigm


Change = Resize | Switch | Death


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of all records.

    Attributes:
        latencies: of the results, in the order in which they were delivered for the first time.
        lost: records that never had their effect in a segment.
        repeated: records that had it more than once.
        skipped: records that came a second time, and were known.
        delivered_again: results that were delivered more than once.
    """

    latencies: tuple[float, ...]
    lost: int
    repeated: int
    skipped: int
    delivered_again: int

    @property
    def mean(self) -> float:
        """Seconds."""
        return statistics.fmean(self.latencies)

    def quantile(self, share: float) -> float:
        """What this share of the results took at the most, in seconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
