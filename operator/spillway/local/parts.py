"""The processes of a job on this machine: its driver and its workers, and how each is started."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

from spillway.local import ports
from spillway.local.driver import Driver
from spillway.local.process import Process
from spillway.local.state import State
from spillway.local.upkeep import Kept
from spillway.local.workers import Workers

# Seconds that a worker gives its slots to hand over what they have. By then the driver has brought all to rest, so
# this is only for when it could not.
GRACE = 10
WORKERS_END = timedelta(seconds=GRACE + 3)
DRIVER_ENDS = timedelta(seconds=8)

# What people can do about an end: a part of the log, and the sentence for it.
WAYS_OUT = (
    ("No module named 'confluent_kafka'", "install what jobs run on: pip install 'spillway[demo]'"),
    ("No module named", "something that it imports is not installed where `spillway` is"),
    ("Address already in use", "one of its ports was taken meanwhile: start again"),
    ("MemoryError", "this machine has no memory left for it: end other programs, or give the job fewer --workers"),
    ("exit code 137", "somebody killed it: mostly the system, when memory ran out"),
)


class Parts:
    """The processes of a job."""

    def __init__(
        self,
        state: State,
        slots: int,
        secret: Path | None,
        code: Path | None,
        cores: int,
        port: int = 0,
        *,
        directed: bool = False,
    ) -> None:
        """Each worker has so many slots; `secret` holds the credentials for Kafka, `code` the user's functions.

        Batches may use so many `cores`, where Spark is installed. The driver answers at `port`, if that is free; one
        that is `directed` decides nothing, and has no batches.
        """
        self._directed = directed
        self._state, self._slots, self._secret, self._cores = state, slots, secret, cores
        self.client = Driver(f"{ports.LOOPBACK}:{port or ports.free(1)[0]}")
        self.set(code)

    def set(self, code: Path | None) -> None:
        """With what code those that are started from now on run; for when none does."""
        self.code = code
        self.driver = Kept(self._started_driver, time.monotonic)
        self.workers = Workers(self._started_worker, time.monotonic)

    def end(self, meanwhile: Callable[[], None]) -> None:
        """End workers, then the driver, which goes on to move what they give away; `meanwhile` is called now and then.

        Who has nothing left ends at once.
        """
        self.workers.ask_to_end()
        until = time.monotonic() + WORKERS_END.total_seconds()
        while not self.workers.gone() and time.monotonic() < until:
            meanwhile()
        self.workers.stop(timedelta(0))
        self.driver.stop(DRIVER_ENDS)

    def kill(self) -> None:
        """End all at once."""
        self.workers.kill()
        self.driver.kill()

    def log(self, what: str) -> Path:
        """The log of `driver`, or of `worker 0`."""
        return self._state.log(what.replace(" ", "-"))

    def _started_driver(self) -> Process:
        host, _, port = self.client.address.rpartition(":")
        if ports.taken(int(port)):
            port = str(ports.free(1)[0])
            self.client.address = f"{host}:{port}"
        how = ["--spark", f"local[{self._cores}]"] if importlib.util.find_spec("pyspark") else []
        if self._directed:
            how = ["--directed"]
        # A Spark that is ended while it starts leaves what it had in temporary directories; so they are ours.
        scratch = self._state.scratch / "driver"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        environment = dict.fromkeys(("TMPDIR", "SPARK_LOCAL_DIRS"), str(scratch))
        return self._started("driver", ["--host", host, "--port", port, *how], environment)

    def _started_worker(self, number: int) -> Process:
        options = ["--worker", str(number), "--slots", str(self._slots), "--port", "0", "--grace", str(GRACE)]
        options += ["--scratch", str(self._state.scratch)]
        return self._started(f"worker {number}", options)

    def _started(self, what: str, options: list[str], environment: Mapping[str, str] | None = None) -> Process:
        module = what.partition(" ")[0]
        job = ["--job", str(self._state.job)]
        code = [] if self.code is None else ["--code", str(self.code)]
        secret = [] if self._secret is None else ["--secret", str(self._secret)]
        # Without the folder that it works in on Python's path: what lies there is no module of anybody.
        command = [sys.executable, "-P", "-m", f"spillway.runtime.{module}", *job, *options, *code, *secret]
        log = self.log(what)
        return Process(command, log, folder=log.parent, environment=environment)


def way_out(code: int | None, tail: str) -> str:
    """What to do about an end; empty if nobody knows."""
    text = f"{tail}\nexit code {code}"
    return next((sentence for sign, sentence in WAYS_OUT if sign in text), "")
