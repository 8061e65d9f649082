"""What `sizing` decides upon: recommendation, present size, bounds, policy, and the history between decisions."""

from __future__ import annotations

import dataclasses
import datetime

from spillway.model.execution import Mode, Policy

# Pods start within seconds and drain within a few more; a restore takes up to a minute. What takes longer is stuck
# (no node, a lost pod), and must not block the other direction for good. Shorter: a burst turns a drain around that
# was nearly done. Longer: a stuck drain delays the answer to a burst.
SETTLE = datetime.timedelta(seconds=120)
# The driver publishes each second or faster, the manager asks every few. After 30 s several in a row were lost, and a
# load can have doubled; holding is safe in both directions.
STALE = datetime.timedelta(seconds=30)
# With the usual headroom of 20 %.
URGENT = 1.25


@dataclasses.dataclass(frozen=True, slots=True)
class Recommendation:
    """How many the load needs, and when that was measured. A fraction is rounded up; None means: can't tell."""

    size: float | None
    at: datetime.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Present:
    """How many are asked for, and how many are there: more while some drain, fewer while some start."""

    asked: int
    ready: int


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    """The most that can be had at present, and what sets that: a quota, room on nodes, partitions of a topic."""

    size: int
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Bounds:
    """What the user allows, and what the surroundings do."""

    min: int
    max: int
    limits: tuple[Limit, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class SizePolicy:
    """How to act; the fields of the job's `policy` that concern sizes.

    `urgent` is 1/(1 - headroom): a need beyond that many times what is there is for a load that nobody can carry now.
    Decide more often than every `stale_after`: a longer pause is a gap, after which the scale-down delay starts anew.
    """

    cooldown: datetime.timedelta
    scale_down_delay: datetime.timedelta
    mode: Mode = Mode.APPLY
    urgent: float = URGENT
    stale_after: datetime.timedelta = STALE
    settle: datetime.timedelta = SETTLE

    @classmethod
    def of(cls, policy: Policy) -> SizePolicy:
        """The same as a manifest has it."""
        return cls(policy.cooldown.timedelta, policy.scale_down_delay.timedelta, policy.mode, 1 / (1 - policy.headroom))


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """What was needed at a time."""

    at: datetime.datetime
    size: int


@dataclasses.dataclass(frozen=True, slots=True)
class History:
    """What has to be remembered from one decision to the next.

    `needs` is a monotone deque: sizes fall from left to right, so the first is the largest need of the window, and
    what is older and smaller than a newer one is forgotten at once. `since` is when needs began to be observed
    without a gap.
    """

    changed: datetime.datetime | None = None
    since: datetime.datetime | None = None
    seen: datetime.datetime | None = None
    needs: tuple[Need, ...] = ()

    def observe(self, size: int, at: datetime.datetime, policy: SizePolicy) -> History:
        """The history with one more need; after a gap, in which a larger one may have been missed, `since` is anew."""
        gap = self.seen is None or at - self.seen > policy.stale_after
        kept = (need for need in self.needs if at - need.at <= policy.scale_down_delay and need.size > size)
        return dataclasses.replace(self, since=at if gap else self.since, seen=at, needs=(*kept, Need(at, size)))

    def until(self, now: datetime.datetime) -> History:
        """The history without a future, for when the clock was set back: else a cooldown could last for hours."""
        needs = tuple(Need(min(need.at, now), need.size) for need in self.needs)
        return History(_earlier(self.changed, now), _earlier(self.since, now), _earlier(self.seen, now), needs)


def _earlier(at: datetime.datetime | None, now: datetime.datetime) -> datetime.datetime | None:
    return None if at is None else min(at, now)
