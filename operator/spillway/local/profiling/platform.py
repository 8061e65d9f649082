"""A job on this machine that runs what profiling deploys, and tells what came of it.

Each deployment is a resize of the running job: what is in flight is done first, workers are started or ended, the
driver deals partitions out and changes frames, and then it is fed again. So nothing of one deployment is measured in
the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from spillway.controllers.profiling.measurement import Deployment, Measurement
from spillway.controllers.topics import Names, Topic
from spillway.local import workers
from spillway.local.broker import Broker
from spillway.local.driver import DriverError
from spillway.local.parts import Parts
from spillway.local.profiling import feeding, jobs, readings
from spillway.local.profiling.feeding import Feeder
from spillway.local.profiling.jobs import Profiled
from spillway.local.profiling.loading import Load
from spillway.local.profiling.meter import Meter
from spillway.local.profiling.readings import Totals
from spillway.local.profiling.records import Records
from spillway.local.state import State
from spillway.model import observation
from spillway.model.errors import SpillwayError
from spillway.runtime import admin, clients
from spillway.runtime.clients import Access

LOOK = 0.1
PATIENCE = 60.0  # seconds for a deployment to run; a worker starts within two
REPORTED = 0.6  # seconds until slots have told of a moment: two reports
# Frames where nothing is said, and when they leave at the latest: large enough that frames cost next to nothing, and
# a part of the bound that all edges of a job together don't use up.
FRAME, DEADLINE, PART = 100, 0.02, 0.05
FILLS = 0.3  # seconds for frames whose size is what is measured: after that they leave anyway
MOST_FAIL = 0.05  # of the records of an operator
# A source topic is read at once and never again.
_SHORT = {"retention.bytes": str(64 * 2**20), "segment.bytes": str(16 * 2**20)}
_BROKER = {"log.retention.check.interval.ms": "5000"}  # so that what was read does not fill the disk


class ProfileError(SpillwayError):
    """The job does not run as it should; the message says what is wrong."""


class Local:
    """The port of profiling: a broker, a driver that is directed, workers, and who feeds them."""

    def __init__(
        self,
        made: Callable[[str], Profiled],
        records: Sequence[Records],
        state: State,
        code: Path | None,
        cores: int,
        wait: Callable[[float], None],
        tell: Callable[[str], None],
    ) -> None:
        """`made` makes the copy of the job for a broker; `wait` is called for every pause, and may raise."""
        self._made, self._records, self._wait, self._tell = made, records, wait, tell
        self._state = state
        self._parts = Parts(state, 1, None, code, cores, directed=True)
        self._broker = Broker(state.broker, settings=_BROKER)
        self._feeder: Feeder | None = None
        self._meter: Meter | None = None
        self._loads: Load | None = None
        self._profiled: Profiled | None = None
        self._took: dict[str, float] = {}  # seconds of a slot for a record of any head, by segment
        self._sizes: dict[str, float] = {}

    @property
    def profiled(self) -> Profiled:
        """What is profiled."""
        assert self._profiled is not None  # noqa: S101 - known from the start on
        return self._profiled

    @property
    def waiting(self) -> float:
        """Records that are not done."""
        return self._load.in_flight

    # The port of profiling.

    def deploy(self, deployment: Deployment) -> None:
        """Run this, and feed it, until it is steady."""
        self._load.drain()
        running = sum(pid is not None for pid in self._parts.workers.pids.values())
        started = self._parts.workers.grow(deployment.total)
        if started:
            self._tell(f"{len(started)} more slot{'s' * (len(started) != 1)}, {running + len(started)} in all")
        bound = self.profiled.job.spec.latency.bound.seconds
        deadline = FILLS if deployment.frames else min(DEADLINE, bound * PART)
        self._direct(deployment, deadline)
        self._shrink(deployment.total)
        self._load.begin(deployment, self._took, deadline * self.profiled.depth)

    def measure(self, seconds: float) -> Measurement | None:
        """What it does for so long; None where nobody told anything."""
        begin = time.time()
        while time.time() < begin + seconds:
            self._load.steer()
        end = time.time()
        while time.time() < end + REPORTED:
            self._load.steer()
        history, segments, rest = self._listening.history, self.profiled.segments, self._load.rest
        if not history:
            return None
        self._look_at_sizes()
        found = readings.measurement(history, segments, (begin, end), rest, self._sizes)
        now = readings.totals(history, segments, end)
        self._check(found, readings.totals(history, segments, begin), now)
        ratio = readings.visits(segments, now, rest)
        self._took = {name: ratio[name] * reading.processing for name, reading in found.operators.items()}
        return found

    # Beginning and end.

    def begin(self) -> None:
        """Start all of it but the workers."""
        self._tell("starting Kafka")
        self._broker.start()
        made = self._profiled = self._made(self._broker.bootstrap)
        wide = made.partitions
        self._state.write_job(made.document)
        access = Access(made.job.spec.kafka, None, "spillway-profile")
        wanted = {stream.topic: Topic(stream.topic, wide, _SHORT) for stream in made.job.spec.streams}
        wanted |= {
            table.topic: Topic(table.topic, wide, {"cleanup.policy": "compact"}) for table in made.job.spec.tables
        }
        outputs = (output.topic for output in made.job.spec.outputs)
        wanted |= {topic: Topic(topic, wide, _SHORT) for topic in outputs if topic not in wanted}
        admin.create(clients.admin(access), wanted.values())
        aside = set(jobs.tables(made.job, made.segments.values()))
        feeding.fill(access, [one for one in self._records if one.topic in aside])
        self._tell("starting the job")
        self._parts.driver.start()
        self._until(self._led, "the driver does not lead")
        self._meter = Meter(access, Names.of(made.job))
        streams = [one for one in self._records if one.topic not in aside]
        self._feeder = Feeder(access, streams, wide)
        self._loads = Load(made, self._feeder, self._meter, self._pause)

    def _led(self) -> str:
        try:
            seen = self._parts.client.observation()
        except DriverError:
            return "it does not answer yet"
        wrong = [one.message for one in seen.conditions if one.type == "Accepted" and not one.status]
        if wrong:
            raise ProfileError(wrong[0])
        return "" if seen.leader and seen.plan is not None else "it has no plan yet"

    def end(self) -> None:
        """End all of it in order; nothing is kept, so nothing has to be stored."""
        self._hush()
        try:
            self._parts.end(lambda: time.sleep(LOOK))
        finally:
            self._parts.kill()
            self._broker.close()

    def kill(self) -> None:
        """The same at once."""
        self._parts.kill()
        self._broker.kill()
        self._hush()

    def _hush(self) -> None:
        for part in (self._feeder, self._meter):
            if part is not None:
                part.close()

    # A deployment.

    def _direct(self, deployment: Deployment, deadline: float) -> None:
        frames = {name: deployment.frames.get(name, FRAME) for name in deployment.tasks}
        asked = observation.Deployment(observation.VERSION, dict(deployment.tasks), frames, deadline)
        self._parts.client.deploy(asked)

        def missing() -> str:
            try:
                told = self._parts.client.deployed()
            except DriverError:
                return "the driver does not answer"
            return told.missing if told.deployment == asked else "the driver has not heard of it"

        self._until(missing, "the deployment does not run")

    def _shrink(self, total: int) -> None:
        """End workers beyond so many that have nothing any more."""
        self._parts.workers.shrink(total, workers.held(self._parts.client.observation().slots))

    # What is known.

    def _look_at_sizes(self) -> None:
        """How large records are: looked at once for each segment, as soon as there are some."""
        meter, names = self._listening, Names.of(self.profiled.job)
        wide = self.profiled.partitions
        for name, one in self.profiled.segments.items():
            if self._sizes.get(name):
                continue
            reader = next(iter(one.readers.values()), None)
            outputs = {out.name: out.topic for out in self.profiled.job.spec.outputs}
            if reader is not None:
                self._sizes[name] = meter.size(names.edge(reader), wide, framed=True)
            elif one.outputs:
                self._sizes[name] = meter.size(outputs[one.outputs[0]], wide, framed=False)

    def _check(self, found: Measurement, begin: Totals, end: Totals) -> None:
        """Refuse to go on where what operators cost can't be told: nothing comes to one, or it raises on most of it."""
        fed = ", ".join(f"{one.topic}: {one.origin}" for one in self._records)
        own = f"feed it with records of yours: --records FILE, or --bootstrap HOST:PORT (now {fed})"
        none = [name for name, reading in found.operators.items() if not reading.rate_in]
        if none and not found.stopped:
            message = f"no record gets to {', '.join(none)}, so nobody can tell what it costs; {own}"
            raise ProfileError(message)
        for name in self.profiled.segments:
            came, failed = end.came[name] - begin.came[name], end.failed[name] - begin.failed[name]
            if came > 0 and failed > MOST_FAIL * came:
                message = (
                    f"{name} raises on {failed / came:.0%} of its records, and a dead letter costs something else than"
                    f" a record; `spillway up` and `spillway dead` say why, or {own}"
                )
                raise ProfileError(message)

    # Beside all of that.

    @property
    def _listening(self) -> Meter:
        assert self._meter is not None  # noqa: S101 - it is there from the start on
        return self._meter

    @property
    def _load(self) -> Load:
        assert self._loads is not None  # noqa: S101 - it is there from the start on
        return self._loads

    def _until(self, missing: Callable[[], str], what: str) -> None:
        """Wait until nothing is missing."""
        deadline = time.monotonic() + PATIENCE
        why = ""
        while time.monotonic() < deadline:
            if not (why := missing()):
                return
            self._pause()
        message = f"{what} after {PATIENCE:.0f} s: {why}"
        raise ProfileError(message)

    def _pause(self) -> None:
        """A moment; whoever has ended meanwhile ends the profile, too."""
        self._wait(LOOK)
        for part in (self._feeder, self._meter):
            if part is not None and part.problem is not None:
                raise part.problem
        if ended := self._parts.driver.look():
            msg = "the driver"
            raise _ended(msg, ended.tail)
        for number, ended in self._parts.workers.look():
            msg = f"worker {number}"
            raise _ended(msg, ended.tail)
        self._broker.explain_end()


def _ended(who: str, tail: str) -> ProfileError:
    return ProfileError(f"{who} ended by itself. The end of its log:\n{tail or '(nothing)'}")


def words(cores: int) -> str:
    """The platform, in words that differ where it does."""
    return f"{cores} core{'s' * (cores != 1)}"
