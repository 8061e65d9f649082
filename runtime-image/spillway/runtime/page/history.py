"""The last minutes of a job in samples of a second, so that a page has its past when it is opened. Pure.

It is kept by the driver, and starts anew with it: for longer, there are the metrics.
"""

from __future__ import annotations

import collections

import msgspec

from spillway.model.observation import Observation
from spillway.model.operators import Paradigm

VERSION = 1
# Ten minutes: a burst with what was before it and after it. Some hundred bytes each: next to nothing in the driver, and
# on localhost at once in the browser. Longer is what Prometheus is for.
SECONDS = 600


class Stretch(msgspec.Struct, frozen=True):
    """A segment in one second.

    Attributes:
        name: of the segment.
        paradigm: in which most of its partitions run.
        rate_in: records per second that it takes in.
        lag: messages of its input that wait.
        busy: slots that it keeps busy.
    """

    name: str
    paradigm: Paradigm
    rate_in: float | None
    lag: int | None
    busy: float | None


class Sample(msgspec.Struct, frozen=True):
    """A job in one second.

    Attributes:
        at: when that was; seconds since 1970.
        within: the share of the last 10 s that was within the bound; None without records.
        p50_ms, p99_ms: half, and 99 % of them, were no older; None without records, and beyond the last bucket (65 s).
        rate_in: records per second over all sources.
        rate_out: records per second over all outputs.
        segments: as they worked.
    """

    at: float
    within: float | None
    p50_ms: float | None
    p99_ms: float | None
    rate_in: float | None
    rate_out: float | None
    segments: tuple[Stretch, ...]


class Past(msgspec.Struct, frozen=True):
    """What `GET /v1/history` answers.

    Attributes:
        version: of this format.
        samples: at most one for each second, the newest last.
    """

    version: int
    samples: tuple[Sample, ...]


class History:
    """The last samples."""

    def __init__(self, seconds: int = SECONDS) -> None:
        self._samples: collections.deque[Sample] = collections.deque(maxlen=seconds)

    def take(self, seen: Observation) -> Sample | None:
        """The sample of an observation; None within the same second as the last one, or before it."""
        if self._samples and int(seen.at) <= int(self._samples[-1].at):
            return None
        found = sample(seen)
        self._samples.append(found)
        return found

    @property
    def past(self) -> Past:
        """All that is kept."""
        return Past(VERSION, tuple(self._samples))


def sample(seen: Observation) -> Sample:
    """What is kept of an observation."""
    latency = seen.latency
    return Sample(
        seen.at,
        latency.within,
        latency.p50_ms,
        latency.p99_ms,
        seen.rate_in,
        latency.rate,
        tuple(Stretch(one.name, one.paradigm, one.rate_in, one.lag, one.busy) for one in seen.segments),
    )
