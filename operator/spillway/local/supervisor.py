"""The driver and the workers of a run, kept running and asked how they are; and brought to rest before they end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from spillway.local import workers
from spillway.local.conditions import Conditions
from spillway.local.driver import DriverError
from spillway.local.events import Event, Kind, Look
from spillway.local.moves import Moves
from spillway.local.parts import Parts, way_out
from spillway.local.printed import Printed
from spillway.local.upkeep import Ended
from spillway.model.errors import SpillwayError
from spillway.model.observation import Observation

# Seconds for all partitions to come to rest. Each takes milliseconds, and a few at a time; the rest is for a driver
# that has to be started again first. Longer: somebody who pressed Ctrl-C thinks that it hangs.
REST = 20.0
# A part that has ended so often in a row without ever having worked won't start by itself.
TRIES = 3

# Seconds between two looks at decisions; only news is among them, and they stay for long.
DECISIONS = 1.0
# Who gets which partition is told when it has it: as a move, with the same reason.
TOLD_OTHERWISE = "assignment"
# Sentences that begin so are of a decision to do nothing: to be looked at, and no news.
NOTHING = "hold"

Tell = Callable[[Event], None]


class StartError(SpillwayError):
    """A part can't be started; the message has the end of its log, and the way out."""


class Supervisor:
    """The processes of a job, and what its driver tells.

    Attributes:
        seen: what the driver told last; None before it has told anything.
        heard: when that was, by the monotonic clock.
    """

    def __init__(self, parts: Parts, tell: Tell) -> None:
        self._parts, self._tell = parts, tell
        self._moves, self._conditions, self._printed = Moves(), Conditions(), Printed()
        self.seen: Observation | None = None
        self.heard = self._began = time.monotonic()
        self._was_ready = False
        self._look_at_decisions = 0.0
        self._heard_of: list[dict[str, Any]] = []
        self._decided: dict[str, tuple[float, str]] = {}

    @property
    def address(self) -> str:
        """Where the driver answers."""
        return self._parts.client.address

    @property
    def decided(self) -> tuple[tuple[float, str], ...]:
        """The last decision of each kind, the newest last: when, and why."""
        return tuple(self._decided.values())

    @property
    def running(self) -> bool:
        """Whether the driver was started, and not ended."""
        return self._parts.driver.lives > 0 and not self._parts.driver.leaving

    @property
    def there(self) -> int:
        """How many workers run."""
        return sum(pid is not None for pid in self._parts.workers.pids.values())

    @property
    def ready(self) -> int:
        """How many workers the driver hears of."""
        slots = self.seen.slots if self.seen is not None else ()
        heard_of = workers.held(slot for slot in slots if not slot.silent)
        return len(heard_of.keys() & self._parts.workers.pids.keys())

    def start(self) -> None:
        """Start the driver; the workers come with `grow`."""
        self._began = time.monotonic()
        self._printed.begin(self._parts.log("driver"))
        self._parts.driver.start()
        self._started("driver", f"the driver, at http://{self.address}", self._parts.driver.pid)

    def keep(self) -> None:
        """Start again what has ended by itself."""
        lives = self._parts.driver.lives
        if ended := self._parts.driver.look():
            self._ended("driver", ended, worked=self.seen is not None)
        if self._parts.driver.lives > lives:
            self._started("driver", f"the driver again, at http://{self.address}", self._parts.driver.pid)
        known = workers.held(self.seen.slots) if self.seen is not None else {}
        for number, ended in self._parts.workers.look():
            self._ended(f"worker {number}", ended, worked=number in known)
        for event in self._printed.heard(time.monotonic()):
            self._tell(event)

    def grow(self, count: int) -> None:
        """Have at least so many workers."""
        for number in range(count):
            self._printed.begin(self._parts.log(f"worker {number}"))
        for number in self._parts.workers.grow(count):
            self._started(f"worker {number}", f"worker {number}", self._parts.workers.pids[number])

    def shrink(self, count: int) -> None:
        """End those workers beyond so many that have nothing any more, once the driver gives them nothing."""
        if self.seen is None or self.seen.granted is None or self.seen.granted > count:
            return
        for number in self._parts.workers.shrink(count, workers.held(self.seen.slots)):
            text = f"worker {number} has nothing left and ends"
            self._tell(Event(Kind.ENDED, text, data={"what": f"worker {number}"}))

    def look(self, grant: int) -> bool:
        """Look at what the driver tells, and see to it that so many workers may own partitions; whether it answers."""
        try:
            seen = self._parts.client.observation()
            if seen.granted != grant:
                self._parts.client.grant(grant)
        except DriverError:
            return False
        now = time.monotonic()
        if seen.plan is not None and (self.seen is None or self.seen.plan is None or seen.plan != self.seen.plan):
            self._tell(_planned(seen))
        self.seen, self.heard = seen, now
        self._moves.heard(seen.moves, now)
        for event in (*self._moves.due(now), *self._conditions.heard(seen.conditions, now)):
            self._tell(event)
        if seen.ready and not self._was_ready and grant:
            self._tell(_ready(seen, now - self._began, self.ready))
            self._was_ready = True
        if now - self._look_at_decisions >= DECISIONS:
            self._look_at_decisions = now
            self._hear_decisions()
        return True

    def rest(self, meanwhile: Callable[[str], None]) -> int:
        """Bring every partition to rest; how many did not. `meanwhile` hears how far it is, several times a second."""
        if self.seen is None:  # no driver has told anything, so none has given anything away
            return 0
        until, told, of = time.monotonic() + REST, -1, 0
        while time.monotonic() < until:
            self.keep()
            if self.look(0):
                left = sum(slot.partitions for slot in self.seen.slots)
                if left == 0 and self.seen.granted == 0:
                    break
                of = max(of, left)
                if left != told:
                    text = f"{left} of {of} partitions left"
                    self._tell(Event(Kind.DRAINING, f"coming to rest: {text}", data={"left": left, "of": of}))
                    told = left
            meanwhile(f"{told if told >= 0 else '?'} of {of or '?'} partitions left")
        else:
            return max(told, 1)
        for event in self._moves.due(time.monotonic(), all_of_them=True):
            self._tell(event)
        self._was_ready = False
        return 0

    def end(self, meanwhile: Callable[[], None]) -> None:
        """End all processes in order."""
        self._parts.end(meanwhile)
        self.seen = None

    def kill(self) -> None:
        """End them at once."""
        self._parts.kill()

    def _hear_decisions(self) -> None:
        """Tell what was decided since the last time."""
        try:
            found = self._parts.client.decisions()
        except DriverError:
            return
        known, self._heard_of = self._heard_of, found
        # By what they say, not by their time: all that is decided in one tick has the same.
        for decision in (one for one in found if one not in known):
            at, part, sentence = (decision.get(name) for name in ("at", "part", "sentence"))
            if isinstance(at, float) and part != TOLD_OTHERWISE and sentence:
                self._decided.pop(str(part), None)
                self._decided[str(part)] = at, f"{part}: {sentence}"
                if not str(sentence).startswith(NOTHING):
                    data = {name: value for name, value in decision.items() if name != "at"}
                    self._tell(Event(Kind.DECISION, f"{part}: {sentence}", data=data))

    def _started(self, what: str, text: str, pid: int | None) -> None:
        self._tell(Event(Kind.STARTED, f"started {text}", data={"what": what, "pid": pid}))

    def _ended(self, what: str, ended: Ended, *, worked: bool) -> None:
        again = "at once" if ended.again == 0 else f"in {ended.again:.0f} s"
        advice = way_out(ended.code, ended.tail)
        log = self._parts.log(what)
        if ended.row >= TRIES and not worked:
            text = f"{what} does not start: it has ended {ended.row} times, last with exit code {ended.code}"
            message = "\n".join(
                [text + (f"; {advice}" if advice else ""), f"The end of its log, {log}:", ended.tail or "(nothing)"]
            )
            raise StartError(message)
        text = f"{what} ended by itself with exit code {ended.code}; it is started again {again}"
        lines = [text + (f" ({advice})" if advice else ""), *ended.tail.splitlines()[-6:]]
        data = {"what": what, "code": ended.code, "again_in": ended.again, "log": str(log)}
        self._tell(Event(Kind.ENDED, "\n".join(lines), Look.BAD, data))


def _planned(seen: Observation) -> Event:
    assert seen.plan is not None  # noqa: S101 - for the type checker: the caller has looked
    segments = [
        f"{' + '.join(segment.operators)} ({segment.partitions} partitions, {segment.paradigm})"
        for segment in seen.plan.segments
    ]
    data = {"number": seen.plan.number, "segments": [list(segment.operators) for segment in seen.plan.segments]}
    return Event(Kind.PLAN, f"plan {seen.plan.number}: {'; '.join(segments)}", data=data)


def _ready(seen: Observation, seconds: float, there: int) -> Event:
    partitions = sum(segment.partitions for segment in seen.segments)
    on = f"{there} worker{'s' * (there != 1)}"
    text = f"ready after {seconds:.1f} s: {partitions} partitions work on {on}"
    return Event(
        Kind.READY, text, Look.GOOD, {"partitions": partitions, "workers": there, "seconds": round(seconds, 1)}
    )
