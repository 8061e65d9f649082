"""The systems: ours in one paradigm or in both, and others, started and looked at in one way."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

from spillway.bench.dual import connector
from spillway.bench.dual.switches import Heard
from spillway.bench.dual.works import Work
from spillway.bench.record import events, logs, peers, processes, systems
from spillway.bench.record.deployed import Deployed
from spillway.bench.record.systems import EndedError
from spillway.local.driver import Driver, DriverError
from spillway.local.process import Process
from spillway.model.errors import SpillwayError
from spillway.model.observation import Observation, StandbyState
from spillway.model.operators import Paradigm

CORES = 2  # of the machine, for each: slots, and tasks of Spark at once
R, B, D = "R", "B", "D"
FASTEST, SECOND, BYTEWAX = "SS", "SS 1 s", "bytewax"
PARADIGMS: Mapping[str, Paradigm] = MappingProxyType({R: Paradigm.RECORD, B: Paradigm.BATCH, D: Paradigm.AUTO})
TRIGGERS: Mapping[str, str] = MappingProxyType({FASTEST: "fastest", SECOND: "1 second"})
STRUCTURED = Path(__file__).with_name("adapters") / "structured.py"
MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory, for checkpoints that others keep there
MEASURED = 120.0  # seconds in which it has to be known how fast batches are; ten on a quiet machine
ENDS = timedelta(seconds=0)


class Contestant:
    """A system at work on one topic, as `drains.Subject` has it."""

    def __init__(self, source: str, output: str) -> None:
        self.source, self.output = source, output

    def __enter__(self) -> Contestant:
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""

    @property
    def processes(self) -> tuple[int, ...]:
        """Process ids; what they have started counts too."""
        raise NotImplementedError

    def look(self) -> None:
        """Raise if it has ended."""

    def heard(self) -> Observation | None:
        """What it tells of itself, if it tells anything."""
        return None

    def news(self) -> Heard:
        """All moves and decisions that it has told of."""
        return Heard()

    def prepared(self) -> bool:
        """Whether it knows all that it has to know, after it has had some messages."""
        return True

    @property
    def switches(self) -> bool:
        """Whether it changes its paradigm by itself."""
        return False

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        return sum(processes.total(processes.cpu, processes.tree(root)) for root in self.processes)


class Ours(Contestant):
    """A job of ours: a driver, with its Spark, and a worker."""

    def __init__(self, name: str, work: Work, bootstrap: str, source: str, bound: str) -> None:
        self._name, self._head = name, work.head
        self.deployed = Deployed(work.case, bootstrap, source, slots=CORES, paradigm=PARADIGMS[name], bound=bound)
        super().__init__(source, self.deployed.output)
        self._news = Heard()

    def __enter__(self) -> Ours:
        self.deployed.__enter__()
        try:
            self.deployed.settle()
        except BaseException:
            self.deployed.__exit__()
            raise
        return self

    def __exit__(self, *told: object) -> None:
        """End it: what was measured is in the topics."""
        self.deployed.__exit__(*told)

    @property
    def client(self) -> Driver:
        """Its driver."""
        return Driver(self.deployed.address)

    @property
    def processes(self) -> tuple[int, ...]:
        """The driver and the worker."""
        return self.deployed.all_processes

    def look(self) -> None:
        """Raise if one has ended."""
        self.deployed.look()

    def heard(self) -> Observation | None:
        """What the driver tells now; None if it is too busy to."""
        try:
            seen = self.client.observation()
        except DriverError:
            return None
        self._news.moved(seen.moves)
        return seen

    def news(self) -> Heard:
        """All of this run."""
        with contextlib.suppress(DriverError):
            self._news.decided(self.client.decisions())
        self._news.done(logs.read(self.deployed.bootstrap, self.deployed.names.control, 1))
        return self._news

    @property
    def switches(self) -> bool:
        """Only if it may do both."""
        return self._name == D

    def prepared(self) -> bool:
        """Where batches are allowed: whether it is known how fast they are."""
        if not self.switches:
            return True
        seen = self.heard()
        if seen is not None and seen.standby.state is StandbyState.FAILED:
            raise EndedError(seen.standby.problem)
        try:
            return seen is not None and "P_O" in self.client.capacities(self._head)
        except DriverError:
            return False


class Other(Contestant):
    """Another system: one program."""

    def __init__(self, name: str, work: Work, bootstrap: str, source: str) -> None:
        super().__init__(source, systems.created_one(bootstrap))
        where = MEMORY if MEMORY.is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix="spillway-other-", dir=where))
        (self._folder / "campaigns.json").write_text(json.dumps(events.campaigns()))
        environment = dict.fromkeys(("TMPDIR", "SPARK_LOCAL_DIRS"), str(self._folder))
        if name == BYTEWAX:
            script = peers.ADAPTERS / peers.FILES[name]
            command = [peers.PYTHON, script, bootstrap, source, self.output, "run", work.name, self._folder]
        else:
            jars = ",".join(map(str, connector.found()))
            asked = [bootstrap, source, self.output, work.name, str(self._folder), TRIGGERS[name], jars]
            command = [Path(sys.executable), STRUCTURED, *asked]
            environment |= dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
        log = self._folder / "log"
        self._process = Process(list(map(str, command)), log, folder=self._folder, environment=environment)

    def __exit__(self, *_: object) -> None:
        """End it, with all that it has started."""
        self._process.stop(ENDS)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def processes(self) -> tuple[int, ...]:
        """The program."""
        return (self._process.pid,)

    def look(self) -> None:
        """Raise if it has ended."""
        if not self._process.running():
            message = f"it ended with {self._process.exit_code()}:\n{self._process.log_tail(30)}"
            raise EndedError(message)


@dataclasses.dataclass(frozen=True, slots=True)
class Maker:
    """Starts a system on a new topic.

    Attributes:
        name: of the system.
        work: what it has to do.
        bound: of the promise, for ours.
    """

    name: str
    work: Work
    bound: str = "500ms"

    def started(self, bootstrap: str) -> Contestant:
        """At work, or about to be."""
        source = systems.created_one(bootstrap)
        if self.name in PARADIGMS:
            return Ours(self.name, self.work, bootstrap, source, self.bound)
        return Other(self.name, self.work, bootstrap, source)


def there(names: Sequence[str], say: Callable[[str], None]) -> list[str]:
    """Those systems that can be started here; of the others it is said why not."""
    found = []
    for name in names:
        problem = ""
        if name == BYTEWAX and not peers.PYTHON.exists():
            problem = f"there is no {peers.PYTHON}: see the top of {peers.__file__} for how to make it"
        elif name in TRIGGERS:
            try:
                connector.found()
            except SpillwayError as error:
                problem = str(error)
        if problem:
            say(f"left out: {name}: {problem}")
        else:
            found.append(name)
    return found


def until_prepared(subject: Contestant) -> None:
    """Wait until it knows all that it has to know."""
    patience = time.monotonic() + MEASURED
    while not subject.prepared():
        subject.look()
        if time.monotonic() > patience:
            message = f"nobody knows how fast batches are after {MEASURED:.0f} s"
            raise EndedError(message)
        time.sleep(0.2)
