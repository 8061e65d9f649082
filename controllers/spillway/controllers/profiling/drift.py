"""Recalibration (SWP, section 4.4): when a profile is no longer true, and profiling begins again.

Rules, in the order in which they are asked; the first that answers wins:

1. What was observed is missing or makes no sense, or the time has no zone: nothing is known, and nothing remembered.
2. The platform was resized: all steps again.
3. The application was deployed anew: all steps again.
4. More comes in than the profile ever promised: a queue is no wonder then, and says nothing about the profile.
5. The queue or the latency is beyond its threshold, and was in every observation since `period`: the data changed.
6. It is beyond, but not for so long yet: wait.
7. Else the profile holds.

Thresholds: the latency is its bound; the queue is the records that the profiled throughput does in `queue` seconds, so
that one number fits jobs of any size.
"""

from __future__ import annotations

import dataclasses
import datetime
import math

from spillway.controllers.explain import Alternative, Inputs, Reasons
from spillway.controllers.profiling.application import Application


class DriftReason(Reasons):
    """Why to profile again, or not."""

    UNKNOWN = "Unknown", "What was observed is missing or makes no sense, so it is not held against the profile."
    RESIZED = "Resized", "The platform is another one than was profiled."
    REDEPLOYED = "Redeployed", "The application is another one than was profiled."
    OVERLOADED = "Overloaded", "More comes in than the profile promises to do; that is no fault of the profile."
    DRIFTED = "Drifted", "A load that the profile promises to do is no longer done: the data has changed."
    WAITING = "Waiting", "The threshold is exceeded, but not for the whole period yet."
    HOLDS = "Holds", "What was promised is done."


@dataclasses.dataclass(frozen=True, slots=True)
class Baseline:
    """What a profile is true for, and what it promises.

    Attributes:
        application: that was profiled.
        platform: that it was profiled on, in words that differ when it is resized, such as "6 nodes of 2 cores".
        throughput: records per second.
        bound: of the latency, in seconds.
    """

    application: Application
    platform: str
    throughput: float
    bound: float


@dataclasses.dataclass(frozen=True, slots=True)
class Patience:
    """When a deviation counts.

    Attributes:
        queue: seconds that the profiled throughput would take for what waits. Less: each burst is a drift.
        period: for how long without a break. Less: noise is a drift. More: a promise is broken for longer.
        gap: between two observations; after a longer one it is not known what was in between.
    """

    queue: float = 5.0
    period: datetime.timedelta = datetime.timedelta(minutes=5)
    gap: datetime.timedelta = datetime.timedelta(minutes=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Observed:
    """The job as it is now: records per second that come in, records that wait, seconds that one takes."""

    application: Application
    platform: str
    arrival: float
    queue: float
    latency: float


@dataclasses.dataclass(frozen=True, slots=True)
class Watch:
    """What is remembered between two decisions: since when a threshold is exceeded, and when somebody last looked."""

    since: datetime.datetime | None = None
    seen: datetime.datetime | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """The decision; `watch` is to be passed back with the next observation."""

    again: bool
    reason: DriftReason
    sentence: str
    inputs: Inputs
    alternatives: tuple[Alternative, ...]
    watch: Watch


def decide(
    baseline: Baseline, observed: Observed | None, patience: Patience, watch: Watch, now: datetime.datetime
) -> Verdict:
    """Whether to profile again; the rules are in the docstring of the module."""
    if observed is None or not _sound(observed) or now.utcoffset() is None:
        return Verdict(False, DriftReason.UNKNOWN, "hold: nothing sensible was observed", (), (), Watch())
    inputs = (
        ("arrival", f"{observed.arrival:.4g} records/s, profiled {baseline.throughput:.4g}"),
        ("queue", f"{observed.queue:.4g} records, threshold {baseline.throughput * patience.queue:.4g}"),
        ("latency", f"{observed.latency:.3g} s, bound {baseline.bound:.3g} s"),
    )
    if observed.platform != baseline.platform:
        sentence = f"profile again: the platform was {baseline.platform!r} and is {observed.platform!r}"
        return Verdict(True, DriftReason.RESIZED, sentence, inputs, (), Watch())
    if observed.application != baseline.application:
        sentence = "profile again: the operators are not those that were profiled"
        return Verdict(True, DriftReason.REDEPLOYED, sentence, inputs, (), Watch())
    if observed.arrival > baseline.throughput:
        sentence = f"hold: {observed.arrival:.4g} records/s come in, {baseline.throughput:.4g} are promised"
        return Verdict(False, DriftReason.OVERLOADED, sentence, inputs, (), Watch(None, now))
    beyond = _beyond(baseline, observed, patience)
    if not beyond:
        return Verdict(False, DriftReason.HOLDS, "hold: what was promised is done", inputs, (), Watch(None, now))
    watched = watch.seen is not None and datetime.timedelta(0) <= now - watch.seen <= patience.gap
    since = watch.since if watched and watch.since is not None else now
    if now - since < patience.period:
        lost = Alternative("profiling again", f"{beyond} for {_text(now - since)}, {_text(patience.period)} count")
        return Verdict(False, DriftReason.WAITING, f"hold: {beyond}", inputs, (lost,), Watch(since, now))
    sentence = f"profile again: {beyond}, for {_text(now - since)}"
    return Verdict(True, DriftReason.DRIFTED, sentence, inputs, (), Watch(since, now))


def _beyond(baseline: Baseline, observed: Observed, patience: Patience) -> str:
    """Which threshold is exceeded, or nothing."""
    if observed.latency > baseline.bound:
        return f"records take {observed.latency:.3g} s, bound {baseline.bound:.3g} s"
    if observed.queue > baseline.throughput * patience.queue:
        return f"{observed.queue:.4g} records wait, more than {patience.queue:g} s of work"
    return ""


def _sound(observed: Observed) -> bool:
    return all(0 <= value < math.inf for value in (observed.arrival, observed.queue, observed.latency))


def _text(span: datetime.timedelta) -> str:
    return f"{span.total_seconds():.0f} s"
