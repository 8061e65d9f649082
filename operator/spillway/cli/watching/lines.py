"""A run in a pipe or a log: a line for each event, and one of rates now and then; or objects, for programs."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable
from typing import Any, TextIO

import msgspec

from spillway.cli import terminal
from spillway.cli.planning import sizes
from spillway.cli.watching import samples
from spillway.local.events import Event, Kind, Look, Scene
from spillway.model.observation import Observation, Promise

RATES = 10.0  # seconds; a rate is of the last seconds, and a day of these lines is a megabyte

_LOOKS = {Look.GOOD: "green", Look.WARNING: "yellow", Look.BAD: "red"}


class Lines(terminal.Printer):
    """Prints lines."""

    def __init__(self, stream: TextIO, gone: Callable[[], None], now: Callable[[], datetime.datetime]) -> None:
        super().__init__(stream, gone)
        self._now = now
        self._rates = 0.0
        self._began = now()
        self._hinted = False

    def tell(self, event: Event) -> None:
        """A line, and its details under it."""
        for line in described(event, self._now()):
            self.put(line)

    def show(self, scene: Scene) -> None:
        """Commands to feed and to read it, once it is ready; rates, every `RATES`."""
        if not self._hinted and scene.seen is not None and scene.seen.ready:
            self._hinted = True
            for line in commands(scene, self._began):
                self.put(line)
        if scene.seen is not None and scene.seen.ready and scene.since - self._rates >= RATES:
            self._rates = scene.since
            self.put(f"{self._now():%H:%M:%S} {rates(scene.seen)}")


class Objects(Lines):
    """Prints JSON objects, one in a line: what happened, and every `RATES` what the driver tells of rates."""

    def tell(self, event: Event) -> None:
        """An object."""
        self._object({"kind": str(event.kind), "text": event.text, **event.data})

    def show(self, scene: Scene) -> None:
        """Rates, every `RATES`."""
        if scene.seen is not None and scene.since - self._rates >= RATES:
            self._rates = scene.since
            told = msgspec.to_builtins(scene.seen)
            parts = {
                name: told[name] for name in ("ready", "rate_in", "latency", "segments", "slots", "letters", "late")
            }
            self._object({"kind": str(Kind.RATES), "text": rates(scene.seen), "workers": scene.asked, **parts})

    def _object(self, fields: dict[str, Any]) -> None:
        self.put(json.dumps({"at": self._now().isoformat(timespec="milliseconds"), **fields}))


def described(event: Event, now: datetime.datetime) -> list[str]:
    """An event in lines, without anything that a terminal would obey."""
    first, *rest = event.text.splitlines() or [""]
    return [f"{now:%H:%M:%S} {terminal.clean(first)}", *(f"         {terminal.clean(line)}" for line in rest)]


def commands(scene: Scene, when: datetime.datetime) -> list[str]:
    """Commands to feed a job and to read it, whole, so that they can be copied."""
    feed = samples.feed(scene.job, scene.annotations, scene.bootstrap, when)
    named = [("feed", command) for command in feed]
    named += [("read", command) for command in samples.read(scene.job, scene.bootstrap)]
    return [f"  {what}   {terminal.clean(command)}" for what, command in named]


def look(event: Event) -> str:
    """In which colour an event is shown; empty for none."""
    return _LOOKS.get(event.look, "")


def rates(seen: Observation) -> str:
    """How a job does, in a line."""
    if not seen.rate_in and not seen.latency.rate:
        return f"no records{waiting(seen)}"
    busy = [slot.busy for slot in seen.slots if slot.busy is not None and not slot.silent]
    share = f", {sizes.share(math.fsum(busy) / len(busy))} busy" if busy else ""
    parts = [
        f"in {sizes.rate(seen.rate_in or 0.0)}, out {sizes.rate(seen.latency.rate or 0.0)}",
        kept(seen.latency),
        f"{sizes.count(len(busy), 'slot')}{share}" if busy else "",
    ]
    return "; ".join(part for part in parts if part) + waiting(seen)


def kept(promise: Promise) -> str:
    """How the promise is kept."""
    if promise.within is None:
        return "no results in the last 10 s"
    p50, p99 = (milliseconds(value) for value in (promise.p50_ms, promise.p99_ms))
    bound = sizes.duration(promise.bound_ms / 1000)
    return f"{sizes.of_all(promise.within)} within {bound} (half within {p50}, 99 % within {p99})"


def milliseconds(value: float | None) -> str:
    """A quantile of latency; what is beyond the last bucket has none."""
    return "more than a minute" if value is None else sizes.duration(value / 1000)


def waiting(seen: Observation) -> str:
    """What waits, and what was put aside."""
    lag = sum(segment.lag or 0 for segment in seen.segments)
    parts = [
        f"; {sizes.count(lag, 'message')} waiting" if lag else "",
        f"; {sizes.count(seen.letters, 'dead letter')}" if seen.letters else "",
        f"; {sizes.count(seen.late, 'record')} too late" if seen.late else "",
    ]
    return "".join(parts)
