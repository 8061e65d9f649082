"""One job on this machine, from its start to its end in order: what the manager does on a cluster.

The loop, five times a second: take edits, start again what ended, look at what the driver tells, decide sizes, carry
them out, show it. The driver runs the job; this only keeps processes, and says how many workers there may be.
"""

from __future__ import annotations

import datetime
import os
import time

from spillway.controllers import acceptance
from spillway.local import code, edits, workers
from spillway.local.edits import Edit, Refusal, Source
from spillway.local.events import Event, Kind, Look, Scene, Viewer
from spillway.local.interrupts import AT_ONCE, Interrupts
from spillway.local.kafka import Kafka, Where
from spillway.local.parts import Parts
from spillway.local.sizes import Sizes
from spillway.local.state import State
from spillway.local.supervisor import Supervisor
from spillway.model.errors import RetryError, SpillwayError

TICK = 0.2  # seconds; a person sees no difference to shorter ones, and each is a small request or two
EDITS = 0.5
SIZES = 1.0


class RunError(SpillwayError):
    """The job can't be run; the message says what to do."""


class Run:
    """A run of one job."""

    def __init__(
        self,
        first: Edit,
        where: Where,
        fixed: int | None,
        state: State,
        viewer: Viewer,
        interrupts: Interrupts,
        *,
        page: int = 0,
    ) -> None:
        """With `fixed` workers, or as many as are needed; the driver's page is at port `page`, or any that is free."""
        self._version, self._job = first, first.job
        self._state, self._viewer, self._interrupts = state, viewer, interrupts
        self._began = time.monotonic()
        self._kafka = Kafka(where, state, viewer.tell)
        self._sizes = Sizes(first.job, where.cores, fixed, viewer.tell)
        slots = workers.slots(first.job.spec.execution.workers, where.cores)
        self._parts = Parts(state, slots, where.secret, None, where.cores, page)
        self._supervisor = Supervisor(self._parts, viewer.tell)
        self._refused: tuple[str, ...] = ()
        self._due = {"edits": 0.0, "sizes": 0.0}

    def until_interrupted(self, source: Source) -> bool:
        """Run it until somebody asks for its end; whether everything came to rest then."""
        left = 0
        try:
            with self._interrupts.raising():
                self._prepare()
            self._supervisor.start()
            while not self._interrupts.count:
                self._step(source)
                self._interrupts.wait(TICK)
            left = self._supervisor.rest(self._waiting)
            self._supervisor.end(lambda: self._waiting("ending"))
        except KeyboardInterrupt:
            if self._interrupts.count >= AT_ONCE:
                self._supervisor.kill()
                self._kafka.kill()
                raise
        finally:
            self._supervisor.kill()  # nothing, after an end in order
            self._kafka.end()
        text = "stopped; the next start goes on where this one was"
        if left:
            text = f"stopped, and {left} partitions did not come to rest; the next start takes them over"
        self._viewer.tell(Event(Kind.STOPPED, text, Look.WARNING if left else Look.GOOD, {"left": left}))
        return left == 0

    def _prepare(self) -> None:
        """What is needed before anything of the job can run."""
        self._show("starting Kafka" if self._kafka.ours else f"looking at {self._kafka.bootstrap}")
        self._kafka.start(self._job)
        self._state.tell(
            pid=os.getpid(),
            since=f"{datetime.datetime.now().astimezone():%Y-%m-%d %H:%M:%S}",
            bootstrap=self._kafka.bootstrap,
            driver=self._supervisor.address,
        )
        self._show("looking at topics and code")
        if wrong := self._adopt(self._version):
            raise RunError("\n".join(wrong))

    def _adopt(self, version: Edit) -> tuple[str, ...]:
        """Make a version the one that runs; or say why not, and leave everything as it is."""
        document = self._kafka.placed(version.document)
        placed = acceptance.accept(document)
        if placed.job is None:
            return tuple(map(str, placed.mistakes))
        if wrong := self._kafka.fit(placed.job):
            return wrong
        folder = None if version.code is None else code.kept(version.code, self._state.code)
        restarts = folder != self._parts.code and self._supervisor.running
        if restarts:
            text = "the functions changed: driver and workers come to rest, and start again with the new code"
            self._viewer.tell(Event(Kind.NOTE, text))
            self._supervisor.rest(self._waiting)
            self._supervisor.end(lambda: self._waiting("ending what runs the old code"))
        self._state.write_job(document)
        self._version, self._job = version, placed.job
        if folder != self._parts.code:
            self._parts.set(folder)
        if restarts and not self._interrupts.count:
            self._supervisor.start()
        return ()

    def _step(self, source: Source) -> None:
        now = time.monotonic()
        if now >= self._due["edits"]:
            self._due["edits"] = now + EDITS
            self._take(source.look())
        self._kafka.keep()
        self._supervisor.keep()
        self._supervisor.look(0 if self._job.spec.policy.paused else self._sizes.asked)
        if now >= self._due["sizes"]:
            self._due["sizes"] = now + SIZES
            self._sizes.decide(
                self._job, self._supervisor.seen, self._supervisor.ready, datetime.datetime.now(datetime.UTC)
            )
            self._supervisor.grow(self._sizes.asked)
            self._supervisor.shrink(self._sizes.asked)
        self._show("paused" if self._job.spec.policy.paused else "")

    def _take(self, found: Edit | Refusal | None) -> None:
        """Take an edit over, or say what is wrong with it."""
        if found is None:
            return
        if isinstance(found, Refusal):
            wrong = found.lines
        else:
            try:
                wrong = edits.refused(self._version.job, found.job) or self._adopt(found)
            except (RetryError, code.CodeError, OSError) as error:
                wrong = (str(error),)
        self._refused = wrong
        if wrong:
            text = "\n".join(["the edit is not taken, what was there goes on:", *wrong])
            self._viewer.tell(Event(Kind.REFUSED, text, Look.BAD, {"mistakes": list(wrong)}))
        else:
            self._viewer.tell(Event(Kind.EDITED, "the edit is taken; the driver carries it out", Look.GOOD))

    def _waiting(self, phase: str) -> None:
        self._show(phase)
        self._interrupts.wait(TICK / 2)

    def _show(self, phase: str) -> None:
        seen = self._supervisor.seen
        if not phase:
            phase = "running" if seen is not None and seen.ready else "starting"
        self._viewer.show(
            Scene(
                job=self._job,
                annotations=self._version.annotations,
                phase=phase,
                since=time.monotonic() - self._began,
                bootstrap=self._kafka.bootstrap,
                ours=self._kafka.ours,
                driver=self._supervisor.address,
                asked=self._sizes.asked,
                there=self._supervisor.there,
                limit=self._sizes.most(self._job),
                seen=seen,
                age=time.monotonic() - self._supervisor.heard,
                decided=self._supervisor.decided,
                sizing=self._sizes.last,
                refused=self._refused,
                folder=str(self._state.folder),
            )
        )
