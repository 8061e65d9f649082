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
from spillway.model.streamjob import StreamJob

STOP = timedelta(seconds=5)


class Launched:
    """A driver and a worker with some slots, on a job whose topics are there.

    Attributes:
        running: the driver, and the workers.
        manifest: what they read; the driver takes changes of it over.
    """

    def __init__(self, job: StreamJob, code: Path, *, slots: int, spark: bool) -> None:
        """With `spark` the driver has one, with as many cores as slots."""
        self._job, self._code = job, code
        self._spark = ["--spark", f"local[{slots}]"] if spark else []
        self._folder = Path(tempfile.mkdtemp(prefix="spillway-deployed-"))
        self._port = 0
        self.running: list[Process] = []
        self.manifest = self._folder / "job.json"

    def start(self) -> None:
        """Start both."""
        self.manifest.write_text(self._job.model_dump_json(by_alias=True, exclude_none=True))
        (self._port,) = ports.free(1)
        self._start("spillway.runtime.driver", "--port", str(self._port), *self._spark)
        self.employ(0)

    def employ(self, number: int) -> None:
        """Start a worker."""
        self._start("spillway.runtime.worker", "--worker", str(number))

    def end(self) -> None:
        """End both: what was measured is in the topics."""
        for running in reversed(self.running):
            running.stop(STOP)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def processes(self) -> tuple[int, ...]:
        """The driver, in which batches run, and the worker."""
        return tuple(running.pid for running in self.running)

    @property
    def address(self) -> str:
        """Where the driver answers."""
        return f"127.0.0.1:{self._port}"

    def settle(self) -> None:
        """Wait until the driver says that every partition has an owner that works."""
        patience = time.monotonic() + systems.PATIENCE
        while not self._ready():
            self.look()
            time.sleep(systems.LOOK)
            if time.monotonic() > patience:
                name = self._job.metadata.name
                message = f"{name} is not ready after {systems.PATIENCE:.0f} s:\n{self.running[0].log_tail()}"
                raise EndedError(message)

    def look(self) -> None:
        """Raise if one has ended."""
        for running in self.running:
            if not running.running():
                name = self._job.metadata.name
                message = f"a process of {name} ended with {running.exit_code()}:\n{running.log_tail()}"
                raise EndedError(message)

    def _start(self, module: str, *arguments: str) -> None:
        log = self._folder / f"{module}.log"
        command = [sys.executable, "-m", module, "--job", str(self.manifest), "--code", str(self._code), *arguments]
        # What a Spark that is killed leaves behind is removed with the folder.
        environment = dict.fromkeys(("TMPDIR", "SPARK_LOCAL_DIRS"), str(self._folder))
        self.running.append(Process(command, log, folder=self._folder, environment=environment))

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.address}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


class Deployed(System):
    """A driver and a worker at work on a measured job."""

    def __init__(
        self,
        case: Case,
        bootstrap: str,
        source: str,
        *,
        slots: int = 1,
        paradigm: Paradigm = Paradigm.RECORD,
        bound: str = "50ms",
        warm: bool = True,
    ) -> None:
        """On topics that are there. Where it may run in batches, its driver has a Spark with as many cores as slots.

        That is kept `warm`, or else started when there is a burst.
        """
        super().__init__(case, bootstrap, source, slots=slots, paradigm=paradigm, bound=bound)
        if not warm:
            self.job = _cold(self.job)
        self.launched = Launched(self.job, jobs.CODE, slots=slots, spark=paradigm is not Paradigm.RECORD)

    def __enter__(self) -> Deployed:
        self._topics()
        self.launched.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.launched.end()

    @property
    def processes(self) -> tuple[int, ...]:
        """The worker."""
        return self.launched.processes[1:]

    @property
    def all_processes(self) -> tuple[int, ...]:
        """The driver, in which batches run, and the worker."""
        return self.launched.processes

    @property
    def address(self) -> str:
        """Where the driver answers."""
        return self.launched.address

    def cpu(self) -> float:
        """Seconds of processor time of the worker and its slots."""
        return processes.total(processes.cpu, [one for root in self.processes for one in processes.tree(root)])

    def driver_cpu(self) -> float:
        """The same of the driver."""
        return processes.cpu(self.all_processes[0])

    def settle(self) -> None:
        """Wait until every partition has an owner that works."""
        self.launched.settle()

    def look(self) -> None:
        """Raise if one has ended."""
        self.launched.look()


def _cold(job: StreamJob) -> StreamJob:
    execution = job.spec.execution
    executors = execution.executors.model_copy(update={"min": 0})
    spec = job.spec.model_copy(update={"execution": execution.model_copy(update={"executors": executors})})
    return job.model_copy(update={"spec": spec})
