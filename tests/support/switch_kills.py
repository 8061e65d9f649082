"""Kills whatever takes part in a switch, at each of its steps, and measures how long nothing comes out.

Drivers and slots die by themselves at failpoints that are armed ahead of the switch (`armed_by_file`). Spark's JVM, one
of its Python workers, the worker with all its slots, and the broker are killed from outside, when the control log has
the step.
"""

from __future__ import annotations

import collections
import contextlib
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import armed_by_file
import kept_spark
from spillway.local.broker import Broker
from spillway.runtime.batch import machine
from switched_job import PARTITIONS, Step, SwitchedJob

WITHIN = 60.0  # seconds for a step to be come by, or for everything to be right again after a kill
GOES_ON = 60.0  # seconds for lines of every partition to come out again
TRIES = 5  # switches in which a step has to be come by: which intents are open when a move begins is up to chance


class Kill(NamedTuple):
    """Somebody who dies in a switch.

    Attributes:
        victim: driver, slot, worker, jvm, python or broker.
        to: where the switch goes.
        points: after which steps, all of which one has to come by, the last one being that at which it dies.
        more: points at which the next lives of the same victim die.
    """

    victim: str
    to: str
    points: tuple[str, ...]
    more: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.victim} to {self.to} after {', '.join(self.points)}{''.join(f', then {p}' for p in self.more)}"


class Gap(NamedTuple):
    """Seconds from a kill until something comes out that went in after it: of any partition, and of each."""

    first: float
    last: float


def of(victim: str, to: str, *points: str) -> list[Kill]:
    """A kill for each; `a>b` are two that have to be come by."""
    return [Kill(victim, to, tuple(point.split(">"))) for point in points]


class Killing:
    """A job, and those who die in it.

    Attributes:
        hit: the kills that were carried out.
    """

    def __init__(
        self,
        folder: Path,
        broker: Broker,
        spark: kept_spark.Running | None,
        broken: Mapping[str, str] | None = None,
    ) -> None:
        """`spark` is None if drivers have one of their own; `broken` is added to the environment of processes."""
        self._armed = folder / "armed"
        self._armed.mkdir()
        self._broker, self._spark = broker, spark
        self._environment = {armed_by_file.FOLDER: str(self._armed), **(broken or {})}
        if spark is not None:
            self._environment[kept_spark.ADDRESS] = spark.address
        self._to = "record"
        self.hit: list[Kill] = []
        self._gaps: dict[str, list[Gap]] = collections.defaultdict(list)

    def start(self, job: SwitchedJob) -> None:
        """The processes of a job."""
        self.driver(job)
        self.worker(job)

    def driver(self, job: SwitchedJob) -> None:
        """A driver."""
        job.job.start("driver", "--spark", "local[2]", script="switched_driver.py", environment=self._environment)

    def worker(self, job: SwitchedJob) -> None:
        """A worker."""
        job.job.start("worker", "--worker", "0", script="switched_worker.py", environment=self._environment)

    def all(self, job: SwitchedJob, kills: Iterable[Kill]) -> None:
        """Each of them, in switches there and back."""
        for kill in kills:
            for _ in range(TRIES):
                if self._to == kill.to:
                    self._to = "record" if kill.to == "batch" else "batch"
                    job.settle(self._to, WITHIN)
                self._to = kill.to
                if self.one(job, kill):
                    break
            else:
                message = f"nobody came by: {kill}"
                raise AssertionError(message)
            self.hit.append(kill)

    def one(self, job: SwitchedJob, kill: Kill) -> bool:
        """Kill somebody in a switch, and wait until it is through and all goes on; whether the step was come by."""
        at = self._at_failpoint(job, kill) if kill.victim in ("driver", "slot") else self._at_step(job, kill)
        job.settle(kill.to, WITHIN)
        if at is None:
            return False
        _until(
            lambda: job.came(at, PARTITIONS - 1) and job.came(at, 0), GOES_ON, f"nothing came out after: {kill}", job
        )
        times = [found - at for n in range(PARTITIONS) if (found := job.came(at, n)) is not None]
        self._gaps[kill.victim].append(Gap(min(times), max(times)))
        return True

    def told(self) -> str:
        """How long nothing came, by victim."""
        lines = [f"killed at {len(self.hit)} points"]
        for victim, gaps in sorted(self._gaps.items()):
            firsts, lasts = [gap.first for gap in gaps], [gap.last for gap in gaps]
            lines.append(
                f"  {victim:7} {len(gaps):3} kills; until the first result {statistics.median(firsts):.2f} s"
                f" (largest {max(firsts):.2f}), until one of each partition {statistics.median(lasts):.2f} s"
                f" (largest {max(lasts):.2f})"
            )
        return "\n".join(lines)

    def _at_failpoint(self, job: SwitchedJob, kill: Kill) -> float | None:
        armed_by_file.arm(self._armed, kill.victim, kill.points)
        gone = lambda: not armed_by_file.armed(self._armed, kill.victim)  # noqa: E731
        if not job.order(kill.to, unless=gone):
            # It came by in a move that it decided itself, before it could be asked for this one.
            if kill.victim == "driver":
                self._next_driver(job)
            return None
        deadline = time.monotonic() + WITHIN
        while armed_by_file.armed(self._armed, kill.victim):
            if job.log.is_at(kill.to) or time.monotonic() > deadline:
                # What comes after the last assignment, such as the first intents, may take a moment more.
                if not _came(lambda: not armed_by_file.armed(self._armed, kill.victim), 2.0):
                    armed_by_file.disarm(self._armed, kill.victim)
                    return None
                break
            time.sleep(0.005)
        at = time.monotonic()
        for point in kill.more:
            self._again(job, kill, point)
        if kill.victim == "driver":
            self._next_driver(job)
        return at

    def _again(self, job: SwitchedJob, kill: Kill, point: str) -> None:
        """The next life dies too."""
        armed_by_file.arm(self._armed, kill.victim, (point,))
        if kill.victim == "driver":
            self._next_driver(job)
        gone = lambda: not armed_by_file.armed(self._armed, kill.victim)  # noqa: E731
        _until(gone, WITHIN, f"nobody came by {point!r} after: {kill}", job)

    def _next_driver(self, job: SwitchedJob) -> None:
        _until(lambda: not job.job.processes["driver"].running(), WITHIN, "the driver goes on", job)
        job.job.kill("driver")  # what is left of it here
        self.driver(job)

    def _at_step(self, job: SwitchedJob, kill: Kill) -> float | None:
        (kind,) = kill.points
        step = Step(kind, "" if kind in ("Intent", "Done") else kill.to)
        after = len(job.log.steps)
        job.order(kill.to)
        if not job.log.wait(step, after, 2.0 if step.to == "" else WITHIN):
            return None
        at = time.monotonic()
        match kill.victim:
            case "worker":
                job.job.kill("worker")
                self.worker(job)
            case "broker":
                self._broker.kill()
                self._broker.start()
            case "jvm":
                if not _killed(self._jvm(job)):
                    return None
            case "python":
                if not self._one_python(job):
                    return None
        return at

    def _jvm(self, job: SwitchedJob) -> int:
        if self._spark is not None:
            return self._spark.jvm
        tree = machine.tree(job.job.processes["driver"].pid)
        return next(pid for pid in tree if b"SparkSubmit" in _command(pid))

    def _one_python(self, job: SwitchedJob) -> bool:
        """Kill a process in which Spark's tasks run, not that off which they are forked."""
        daemons = [pid for pid in machine.tree(self._jvm(job)) if _DAEMON in _command(pid)]
        workers = [pid for pid in daemons if _parent(pid) in daemons]
        return bool(workers) and _killed(workers[0])


def _killed(pid: int) -> bool:
    """Kill a process; not one that is dead since the kill before, because nobody has needed it meanwhile."""
    if pid:  # none is 0, which would be all of us
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            return True
    return False


# As a module that is run: the JVM has its name among its settings, too.
_DAEMON = b"-m\0spillway.runtime.batch.daemon"


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _came(holds: Callable[[], object], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _until(holds: Callable[[], object], seconds: float, problem: str, job: SwitchedJob) -> None:
    assert _came(holds, seconds), f"{problem}\n{job.log.last()}\n{job.job.log()}"
