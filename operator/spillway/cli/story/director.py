"""What is done when: a viewer that feeds the run, phase by phase, has its outputs judged, and asks for its end."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import statistics
import sys
import time
import webbrowser
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from spillway.cli.planning import sizes
from spillway.cli.story import job, narrator, phases
from spillway.cli.story.meter import Ages, Meter
from spillway.cli.story.moves import Log
from spillway.cli.story.narrator import Narrator
from spillway.cli.story.phases import Capacity, Name, Phase
from spillway.cli.story.report import Lived, Outcome
from spillway.local.driver import Driver, DriverError
from spillway.local.events import Event, Kind, Scene
from spillway.local.process import Process
from spillway.model.observation import Observation, Standby, StandbyState
from spillway.model.operators import Paradigm

WARM_UP_RATE = 300.0  # lines per second, before anything is known: a slot of a slow machine can do several times that
AHEAD = 1.5  # seconds that a feeder gets to start, and to render its lines
# Seconds of the warm-up, and of what is measured at the low rate that seems right after it: rates are means over two
# seconds, and the first ones are of cold programs, at a rate so low that little can be seen.
WARMED = 5.0
# Seconds of the low phase, at most: then the burst comes, with or without a figure for batches. A Spark takes five to
# ten to start, and some shadow batches as long again; longer, and who watches sees no switch within the first minute.
LONGEST_LOW = 32.0
SHORTEST_LOW = 6.0
SETTLES = 3.0  # seconds after a switch in which rates are of both paradigms
MEASURED = 2.0  # seconds between two looks at what batches do
LOOKS = 1.0  # seconds between two looks at how old results are
TELLS = 5.0  # seconds between two lines on how it stands
DRAINED = 30.0  # seconds in which something of what waits has to be done; else it is judged as it is
QUIET = 1.0  # seconds without anything that waits, until the outputs are looked at
ENDS = timedelta(seconds=3)  # for a feeder to send what is on its way
VERIFIED = 300.0  # seconds for the verdict


class Act(enum.Enum):
    """Where the story is."""

    STARTING = enum.auto()
    PLAYING = enum.auto()
    DRAINING = enum.auto()
    JUDGING = enum.auto()
    OVER = enum.auto()


@dataclasses.dataclass(slots=True)
class Playing:
    """A phase that is played, and its feeder.

    Attributes:
        phase: as it is meant.
        start: when its first line is due, in seconds since 1970.
        known: the capacities that its rate is chosen by.
        feeder: who sends.
        file: where that one reports.
        told: whether it was announced.
        ages: what was counted when it began.
    """

    phase: Phase
    start: float
    known: Capacity | None
    feeder: Process
    file: Path
    told: bool = False
    ages: Ages = dataclasses.field(default_factory=Ages)


class Director:
    """Shown what happens, several times a second, it does what comes next."""

    def __init__(
        self, narrator: Narrator, folder: Path, seconds: float, end: Callable[[], None], *, browser: bool
    ) -> None:
        """Feeders and the verifier keep what they print in `folder`; `end` asks the run to come to rest.

        With `browser` the page is opened there.
        """
        self._narrator, self._folder, self._seconds, self._end = narrator, folder, seconds, end
        self._browser = browser
        self._act = Act.STARTING
        self._meter, self._log = Meter(), Log()
        self._played: list[Playing] = []
        self._lived: list[Lived] = []
        self._fed = 0
        self._began = 0.0  # by the wall clock: it is told
        self._due = {"looks": 0.0, "tells": 0.0, "measured": 0.0}
        self._told_moves = 0
        self._capacity: Capacity | None = None
        self._samples: list[tuple[float, float]] = []  # V and D
        self._in_batches = 0.0  # the highest rate that batches have taken in
        self._paradigm, self._settled = Paradigm.RECORD, 0.0
        self._standby: Standby | None = None
        self._idle: list[float] = []  # shares of a core that it took while nothing ran in batches
        self._ages = Ages()
        self._since = 0.0
        self._waiting = sys.maxsize  # the fewest messages that waited since the load is over
        self._verifier: Process | None = None
        self._verdict: dict[str, Any] = {}
        self._operators: dict[str, tuple[str, ...]] = {}
        self._promise = (0.0, 0.0)
        self._problem = ""

    # A viewer of the run.

    def tell(self, event: Event) -> None:
        """What the run tells."""
        if event.kind is not Kind.STOPPED:
            self._narrator.event(event)

    def show(self, scene: Scene) -> None:
        """What comes next."""
        seen = scene.seen
        if seen is None or scene.phase not in ("running", "starting"):
            return
        self._watch(seen)
        match self._act:
            case Act.STARTING if seen.ready:
                self._begin(scene)
            case Act.PLAYING:
                self._play(scene, seen)
            case Act.DRAINING:
                self._drain(scene, seen)
            case Act.JUDGING:
                self._judge()
            case _:
                pass

    # For whoever made it.

    @property
    def judged(self) -> bool:
        """Whether the story came to its end."""
        return self._act is Act.OVER

    def close(self) -> None:
        """End feeders and the verifier, whatever they do."""
        for playing in self._played:
            playing.feeder.stop(timedelta(0))
        if self._verifier is not None:
            self._verifier.stop(timedelta(0))

    def outcome(self, *, rested: bool) -> Outcome:
        """What is left of it."""
        bound, quantile = self._promise
        chosen = next((one.known for one in self._played if one.phase.name is Name.BURST), None)
        return Outcome(
            self._verdict,
            self._problem,
            bound,
            quantile,
            self._lived,
            [group.told(self._operators) for group in self._log.groups()],
            chosen or self._capacity,
            self._standby,
            statistics.median(self._idle) if self._idle else None,
            self._began,
            rested,
        )

    # Watching.

    def _watch(self, seen: Observation) -> None:
        self._log.heard(seen.moves)
        self._promise = seen.latency.bound_ms, seen.latency.quantile
        if seen.standby.state is not StandbyState.OFF:
            self._standby = seen.standby
            batches = any(one.paradigm is Paradigm.BATCH for one in seen.segments)
            if seen.standby.cpu is not None and not batches:
                self._idle.append(seen.standby.cpu)
        if seen.plan is not None:
            self._operators |= {segment.name: segment.operators for segment in seen.plan.segments}
        now = time.monotonic()
        if now >= self._due["looks"]:
            self._due["looks"] = now + LOOKS
            self._ages = self._meter.look(slot.address for slot in seen.slots)
        groups = self._log.groups(time.time())
        for group in groups[self._told_moves :]:
            text, look, reason = narrator.moved(group)
            self._narrator.say(text, look, reason)
        self._told_moves = max(self._told_moves, len(groups))
        if self._act is Act.PLAYING and now >= self._due["tells"]:
            self._due["tells"] = now + TELLS
            self._narrator.say(narrator.standing(seen, job.HEAD), "dim")

    def _measure(self, scene: Scene, seen: Observation) -> None:
        """D and O, as they are now."""
        name = self._played[-1].phase.name
        head = next((one for one in seen.segments if one.name == job.HEAD), None)
        if head is None or not head.rate_in:
            return
        now = time.monotonic()
        if head.paradigm is not self._paradigm or head.moving:  # rates are means over some seconds: of both paradigms
            self._paradigm, self._settled = head.paradigm, now + SETTLES
        there = [slot for slot in seen.slots if not slot.silent]
        slots, known = scene.limit * self._slots(scene), self._decided(scene.driver)
        if now < self._settled or not there:
            return
        if head.paradigm is Paradigm.BATCH:
            self._in_batches = max(self._in_batches, head.rate_in)
        else:
            busy, cpu = sum(one.busy or 0.0 for one in seen.segments), sum(slot.cpu or 0.0 for slot in there)
            cold = name is Name.WARM_UP  # what clients do at their start is not what a line costs
            load = phases.Load(head.rate_in, head.lag, busy, None if cold else cpu, len(there))
            if (found := phases.record_capacity(load, slots)) is not None:
                decided = known.get("P_D", math.inf) * slots / len(there)
                self._samples = [*self._samples[-20:], (head.rate_in, found if cold else min(found, decided))]
        if (likely := phases.likely(self._samples)) is not None:
            before = self._capacity.batch if self._capacity else None
            self._capacity = Capacity(likely, max(known.get("P_O", before or 0.0), self._in_batches) or None)

    @staticmethod
    def _decided(address: str) -> dict[str, float]:
        """What the decision that is being made takes the segment to be able to do; nothing if nobody tells."""
        try:
            return Driver(address).capacities(job.HEAD)
        except DriverError:
            return {}

    @staticmethod
    def _slots(scene: Scene) -> int:
        return max(1, scene.job.spec.execution.workers.slots)

    # Playing.

    def _begin(self, scene: Scene) -> None:
        self._began = time.time()
        self._due["tells"] = time.monotonic() + TELLS
        self._act = Act.PLAYING
        self._narrator.say(f"the page: http://{scene.driver}/", "bold")
        if self._browser:
            webbrowser.open(f"http://{scene.driver}/")
        self._feed(scene, Phase(Name.WARM_UP, WARM_UP_RATE, math.inf), self._began + AHEAD)

    def _play(self, scene: Scene, seen: Observation) -> None:
        now, wall, last = time.monotonic(), time.time(), self._played[-1]
        if now >= self._due["measured"]:
            self._due["measured"] = now + MEASURED
            self._measure(scene, seen)
        if not last.feeder.running() and wall < last.start + last.phase.seconds:
            self._fail(f"the feeder ended early: {last.feeder.log_tail(3)}")
        elif not last.told:
            if wall >= last.start:
                self._announce(last)
        elif following := self._following(last, wall):
            self._feed(scene, following, max(wall + AHEAD, last.start + _finite(last.phase.seconds)))
        elif last.phase.name is Name.LAST and wall >= last.start + last.phase.seconds:
            self._ended(last, wall)
            self._act, self._since = Act.DRAINING, now

    def _following(self, last: Playing, wall: float) -> Phase | None:
        """The phase whose feeder has to be started now, if any."""
        lasted, known, name = wall - last.start, self._capacity, last.phase.name
        if not name.counts:
            if known is None and lasted > 4 * WARMED:
                self._fail("nobody could measure what a line costs")
            if known is None or lasted < WARMED:
                return None
            self._samples = []  # of the phase that begins
            following = Name.MEASURING if name is Name.WARM_UP else Name.LOW
            return Phase(following, phases.rate(following, known), math.inf)
        assert known is not None  # noqa: S101 - nothing but the warm-up is played without
        if name is Name.LOW:
            failed = self._standby is None or self._standby.state is StandbyState.FAILED
            enough = known.batch is not None or failed
            if lasted + AHEAD < (SHORTEST_LOW if enough else LONGEST_LOW):
                return None
            return self._planned(Name.BURST, known, wall)
        if lasted + AHEAD < last.phase.seconds or name is Name.LAST:
            return None
        order = list(Name)
        return self._planned(order[order.index(name) + 1], known, wall)

    def _planned(self, name: Name, known: Capacity, wall: float) -> Phase:
        first = next((one for one in self._played if one.phase.name is Name.BURST), None)
        begins = first.start if first is not None else wall + AHEAD
        lengths = phases.lengths(max(30.0, self._began + self._seconds - begins))
        return Phase(name, phases.rate(name, known), lengths[name])

    def _feed(self, scene: Scene, phase: Phase, start: float) -> None:
        """Start the feeder of a phase; what it sends begins at `start`."""
        file = self._folder / f"{phase.name.replace(' ', '-')}.json"
        seconds = phase.seconds if math.isfinite(phase.seconds) else 3600.0
        command = [sys.executable, "-P", "-m", "spillway.bench.lines", "--bootstrap", scene.bootstrap]
        command += ["--topic", job.TOPIC, "--rate", f"{phase.rate:.3f}", "--seconds", f"{seconds:.3f}"]
        command += ["--start", f"{start:.3f}", "--first", str(self._fed), "--report", str(file)]
        feeder = Process(command, file.with_suffix(".log"), folder=self._folder)
        self._played.append(Playing(phase, start, self._capacity, feeder, file))
        self._fed += int(phase.rate * _finite(phase.seconds))

    def _announce(self, playing: Playing) -> None:
        """A phase begins: the one before it is over."""
        if len(self._played) > 1:
            self._ended(self._played[-2], playing.start)
        playing.told, playing.ages = True, self._ages
        phase, known = playing.phase, playing.known
        text = f"{phase.name}: {phase.rate:,.0f} lines/s"
        if known is None or not phase.name.counts:
            self._narrator.say(f"{text}, to see what a line costs", "bold")
            return
        share = phase.rate / known.record
        details = []
        if phase.name is Name.BURST:
            details = _explained(known, self._standby)
        self._narrator.say(f"{text}, {_times(share)} what record by record can do", "bold", *details)

    def _ended(self, playing: Playing, at: float) -> None:
        """Take down how a phase was."""
        playing.feeder.stop(ENDS)
        try:
            found = json.loads(playing.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {"sent": 0, "late_p99_ms": math.nan, "problem": playing.feeder.log_tail(3) or "it told nothing"}
        if found["problem"]:
            self._problem = self._problem or f"the feeder of '{playing.phase.name}': {found['problem']}"
        phase, ages = playing.phase, self._ages.since(playing.ages)
        seconds = at - playing.start
        self._lived.append(
            Lived(phase.name, playing.start, seconds, phase.rate, found["sent"], found["late_p99_ms"], ages)
        )

    # The end.

    def _drain(self, scene: Scene, seen: Observation) -> None:
        now, waiting = time.monotonic(), sum(one.lag or 0 for one in seen.segments)
        if waiting < self._waiting or any(one.lag is None for one in seen.segments):
            self._waiting, self._since = waiting, now
        if waiting:
            self._due["drained"] = now + QUIET
            if now - self._since > DRAINED:
                self._problem = f"{waiting} messages wait, and for {DRAINED:.0f} s none of them was done"
        if self._problem or now >= self._due.setdefault("drained", now + QUIET):
            self._narrator.say("the load is over; an independent verifier recomputes all results, and judges")
            self._verify(scene)

    def _verify(self, scene: Scene) -> None:
        manifest, file = self._folder / "job.yaml", self._folder / "verdict.json"
        manifest.write_text(job.MANIFEST, encoding="utf-8")
        command = [sys.executable, "-P", "-m", "spillway.bench.verifier", "--job", str(manifest)]
        command += ["--bootstrap", scene.bootstrap, "--at-rest", "--report", str(file)]
        self._verifier = Process(command, self._folder / "verifier.log", folder=self._folder)
        self._act, self._since = Act.JUDGING, time.monotonic()
        self._due["tells"] = self._since + TELLS

    def _judge(self) -> None:
        assert self._verifier is not None  # noqa: S101 - it is who judges
        if self._verifier.running():
            now = time.monotonic()
            if now - self._since > VERIFIED:
                self._verifier.kill()
                self._fail(f"there is no verdict after {VERIFIED:.0f} s")
            elif now >= self._due["tells"]:
                self._due["tells"] = now + TELLS
                self._narrator.say(f"{self._verifier.log_tail(1) or 'it starts'} ({now - self._since:.0f} s)", "dim")
            return
        try:
            self._verdict = json.loads((self._folder / "verdict.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._problem = self._problem or f"the verifier told nothing: {self._verifier.log_tail(5)}"
        self._over()

    def _fail(self, why: str) -> None:
        """It can't go on."""
        self._problem = self._problem or why
        self._narrator.say(why, "red")
        self._over()

    def _over(self) -> None:
        if self._act is not Act.OVER:
            self._act = Act.OVER
            self._end()


def _explained(known: Capacity, standby: Standby | None) -> list[str]:
    """What was measured, and what follows from it."""
    record = f"measured here: record by record {sizes.rate(known.record)}"
    if known.batch is None:
        why = f": {standby.problem}" if standby is not None and standby.problem else ""
        return [f"{record}; nobody knows yet what batches do{why}. More slots have to do"]
    batches = f"batches {sizes.rate(known.batch)}, {known.batch / known.record:.2g} times that"
    if known.batches_win:
        return [f"{record}, {batches}"]
    return [f"{record}, {batches}: too little to gain by that; what they do under the burst decides"]


def _finite(seconds: float) -> float:
    return seconds if math.isfinite(seconds) else 0.0


def _times(share: float) -> str:
    return f"{sizes.share(share)} of" if share < 1 else f"{share:.2g} times"
