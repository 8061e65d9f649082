"""A job as it is deployed: a driver and a worker, started by their own commands, and nobody of the bench in between.

What its segments, frames and deadlines are, the driver plans. The worker counts with its slots; the driver apart.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from datetime import timedelta
from pathlib import Path

from spillway.bench.record import jobs, processes, systems
from spillway.bench.record.jobs import Case
from spillway.bench.record.systems import EndedError, System
from spillway.local import ports
from spillway.local.process import Process
from spillway.model.operators import Paradigm

STOP = timedelta(seconds=5)


class Deployed(System):
    """A driver and a worker at work on one job."""

    def __init__(
        self,
        case: Case,
        bootstrap: str,
        source: str,
        *,
        slots: int = 1,
        appended: bool = True,
        paradigm: Paradigm = Paradigm.RECORD,
        bound: str = "50ms",
    ) -> None:
        """On a topic that is there. Where it may run in batches, its driver has a Spark with as many cores as slots."""
        super().__init__(case, bootstrap, source, slots=slots, appended=appended, paradigm=paradigm, bound=bound)
        self._spark = [] if paradigm is Paradigm.RECORD else ["--spark", f"local[{slots}]"]
        self._folder = Path(tempfile.mkdtemp(prefix="spillway-deployed-"))
        self._running: list[Process] = []
        self._port = 0

    def __enter__(self) -> Deployed:
        self._topics()
        manifest = self._folder / "job.json"
        manifest.write_text(self.job.model_dump_json(by_alias=True, exclude_none=True))
        (self._port,) = ports.free(1)
        common = ["--job", str(manifest), "--code", str(jobs.CODE)]
        self._start("spillway.runtime.driver", *common, "--port", str(self._port), *self._spark)
        self._start("spillway.runtime.worker", *common, "--worker", "0")
        return self

    def __exit__(self, *_: object) -> None:
        """End it: what was measured is in the topics."""
        for running in reversed(self._running):
            running.stop(STOP)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def processes(self) -> tuple[int, ...]:
        """The worker."""
        return tuple(running.pid for running in self._running[1:])

    @property
    def all_processes(self) -> tuple[int, ...]:
        """The driver, in which batches run, and the worker."""
        return tuple(running.pid for running in self._running)

    @property
    def address(self) -> str:
        """Where the driver answers."""
        return f"127.0.0.1:{self._port}"

    def cpu(self) -> float:
        """Seconds of processor time of the worker and its slots."""
        return processes.total(processes.cpu, [one for root in self.processes for one in processes.tree(root)])

    def driver_cpu(self) -> float:
        """The same of the driver."""
        return processes.cpu(self._running[0].pid)

    def settle(self) -> None:
        """Wait until the driver says that every partition has an owner that works."""
        patience = time.monotonic() + systems.PATIENCE
        while not self._ready():
            self.look()
            time.sleep(systems.LOOK)
            if time.monotonic() > patience:
                message = f"{self.run} is not ready after {systems.PATIENCE:.0f} s:\n{self._running[0].log_tail()}"
                raise EndedError(message)

    def look(self) -> None:
        """Raise if one has ended."""
        for running in self._running:
            if not running.running():
                message = f"a process of {self.run} ended with {running.exit_code()}:\n{running.log_tail()}"
                raise EndedError(message)

    def _start(self, module: str, *arguments: str) -> None:
        log = self._folder / f"{module}.log"
        command = [sys.executable, "-m", module, *arguments]
        # What a Spark that is killed leaves behind is removed with the folder.
        environment = dict.fromkeys(("TMPDIR", "SPARK_LOCAL_DIRS"), str(self._folder))
        self._running.append(Process(command, log, folder=self._folder, environment=environment))

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.address}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
