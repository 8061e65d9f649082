"""The load of a job that is profiled: who feeds it, how much is taken in, and how much is on its way.

What is in flight is what was fed, and what operators have sent one another, less what was taken in, since a moment at
which nothing was: so a deployment begins with `begin`, once the one before it is drained.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from spillway.controllers.profiling.measurement import Deployment
from spillway.local.profiling import piloting, readings
from spillway.local.profiling.feeding import Feeder
from spillway.local.profiling.jobs import Profiled
from spillway.local.profiling.meter import Meter
from spillway.local.profiling.piloting import Pilot

DRAINED = 20.0  # seconds for what is in flight to be done; then it is counted as it is
RESTED = 0.7  # seconds without anything in flight: slots send what waits for a full frame every half second
# Seconds until a load is steady: rates are of the last two reports, so sooner it can't be seen; a load that never is
# steady is measured as it is.
SETTLES, UNSETTLED, SAMPLE, SAMPLES = 1.2, 8.0, 0.4, 4
SAME = 0.1  # of a rate: samples of half a second wander by that much
FIRST = 100.0  # records per second of the first load of all, when nobody knows how long a record takes
GRACE = 1.0  # seconds until what slots tell is of this load
SOME = 0.7  # of what slots could do by what was measured last, to begin with
# A throughput is over so many seconds, and how it was so many ago: a report comes each quarter.
SPAN, AGO = 0.75, 0.3


class Load:
    """What flows through a job."""

    def __init__(self, profiled: Profiled, feeder: Feeder, meter: Meter, pause: Callable[[], None]) -> None:
        """`pause` is called for each moment of waiting, and may raise."""
        self._profiled, self._feeder, self._meter, self._pause = profiled, feeder, meter, pause
        self._topics = [topic for topic in feeder.fed if profiled.fan_out(topic)]
        self._asked: float | None = None
        self._feeds = self._steers_from = self._fed_before = 0.0
        self._pilot, self._steered = Pilot(), 0.0
        self._begun = False
        self.rest = readings.totals({}, profiled.segments, 0.0)
        """What was counted when nothing was in flight."""

    def drain(self) -> None:
        """Feed nothing more, and wait until nothing is in flight."""
        self._begun = False
        self._feeder.rest()
        deadline = time.monotonic() + DRAINED
        since: float | None = None
        while time.monotonic() < deadline:
            if self.in_flight >= 0.5:
                since = None
            elif since is None:
                since = time.monotonic()
            elif time.monotonic() - since >= RESTED:
                return
            self._pause()

    def begin(self, deployment: Deployment, took: Mapping[str, float], framed: float) -> None:
        """Feed until throughput is steady, or until what is asked for has come for long enough.

        `took` is what a record of any head takes of slots, by segment, as far as that was measured; `framed` are
        seconds that it may wait in frames on its way.
        """
        self.rest = readings.totals(self._meter.history, self._profiled.segments, time.time())
        self._fed_before, self._asked, self._begun = self._fed(), deployment.rate, True
        self._feed(_first(deployment, took))
        began = time.monotonic()
        self._steers_from = self._steered = began + GRACE
        self._pilot = Pilot(self._feeds, framed)
        samples, reached = list[float](), None
        while (now := time.monotonic()) < began + UNSETTLED:
            while time.monotonic() < now + SAMPLE:
                self.steer()
            samples.append(self.throughput)
            if reached is None and deployment.rate is not None and self._feeds >= deployment.rate:
                reached = now
            if reached is not None:
                if now >= reached + SETTLES:
                    return
            elif now >= self._steers_from + SETTLES and piloting.settled(samples[-SAMPLES:], SAME):
                return

    def steer(self) -> None:
        """A moment; and see to it that enough is fed, and not more than is done."""
        self._pause()
        if self._begun and time.monotonic() >= self._steers_from:
            now = time.monotonic()
            rate = self._pilot.fed(self.throughput, self.in_flight, self.busiest, now - self._steered)
            self._steered = now
            self._feed(rate if self._asked is None else min(rate, self._asked))

    @property
    def throughput(self) -> float:
        """Records per second of all heads that get all the way, just now."""
        history, now = self._meter.history, time.time() - AGO
        new, old = (readings.totals(history, self._profiled.segments, at) for at in (now, now - SPAN))
        return readings.throughput(self._profiled.segments, old, new, self.rest, SPAN)

    @property
    def busiest(self) -> float:
        """The share of its time that the busiest slot is, just now."""
        history, now = self._meter.history, time.time() - AGO
        new, old = (readings.totals(history, self._profiled.segments, at) for at in (now, now - SPAN))
        shares = (
            (busy - old.busy[name].get(life, busy)) / SPAN for name, of in new.busy.items() for life, busy in of.items()
        )
        return max(shares, default=0.0)

    @property
    def in_flight(self) -> float:
        """Records that are not done."""
        now = readings.totals(self._meter.history, self._profiled.segments, time.time())
        return readings.in_flight(self._profiled.segments, self._fed() - self._fed_before, now, self.rest)

    def _feed(self, rate: float) -> None:
        """So many records per second of all heads together; a message of a topic is one for each that reads it."""
        self._feeds = rate
        each = rate / len(self._topics)
        self._feeder.set({topic: each / self._profiled.fan_out(topic) for topic in self._topics})

    def _fed(self) -> float:
        """Records that were fed to heads."""
        return float(sum(count * self._profiled.fan_out(topic) for topic, count in self._feeder.fed.items()))


def _first(deployment: Deployment, took: Mapping[str, float]) -> float:
    """Somewhat less than what slots could do by what was measured last, and no more than is asked for."""
    shares = [took.get(name, 0.0) / tasks for name, tasks in deployment.tasks.items()]
    able = SOME / max(shares) if max(shares) > 0 else FIRST
    return able if deployment.rate is None else min(able, deployment.rate)
