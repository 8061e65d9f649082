"""Other systems: one program each, which imports nothing of ours (`adapters`), and how it is started.

    name       system                            where it lives
    SS         Spark Structured Streaming        our own environment; the connector for Kafka is fetched
    SS 1 s     the same with a trigger of 1 s
    SS plain   the same as it comes: nothing set
    bytewax    bytewax                           `peers`
    quix       Quix Streams                      `peers`
    pyflink    Flink SQL through PyFlink         `flink`, with its connector for Kafka
    pyflink ds PyFlink's DataStream              the same

The environments are of their own, because what they need can't be locked together with ours. How they are made is said
in docs/how-to/benchmark.md, and how each is set in docs/explanation/tuning.md.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from pathlib import Path

from spillway.bench.engines import connector
from spillway.bench.engines.port import Asked, Engine
from spillway.bench.record import events, systems
from spillway.bench.record.systems import EndedError
from spillway.bench.workloads.work import Work
from spillway.local.process import Process

ADAPTERS = Path(__file__).with_name("adapters")
KEPT = Path.home() / ".cache/spillway"
PEERS, FLINK = (KEPT / name / "bin/python" for name in ("peers", "flink"))
FASTEST, SECOND, PLAIN = "SS", "SS 1 s", "SS plain"
BYTEWAX, QUIX, PYFLINK, DATASTREAM = "bytewax", "quix", "pyflink", "pyflink ds"
MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory, for checkpoints that others keep there
ENDS = timedelta(seconds=0)


@dataclasses.dataclass(frozen=True, slots=True)
class Port:
    """How a system is started.

    Attributes:
        title: for people.
        works: the workloads that its adapter knows.
        command: from what is asked to a command line.
        problem: why it can't be started here; empty if it can.
    """

    title: str
    works: Collection[str]
    command: Callable[[Asked], list[str]]
    problem: Callable[[], str]


class Program(Engine):
    """Another system at work."""

    def __init__(self, name: str, work: str, bootstrap: str, sources: Collection[str]) -> None:
        super().__init__(tuple(sources), systems.created_one(bootstrap))
        where = MEMORY if MEMORY.is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix="spillway-other-", dir=where))
        (self._folder / "campaigns.json").write_text(json.dumps(events.campaigns()))
        environment = dict.fromkeys(("TMPDIR", "SPARK_LOCAL_DIRS"), str(self._folder))
        environment |= dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), sys.executable)
        asked = Asked(bootstrap, self.sources, self.output, work, str(self._folder), systems.run_name())
        log = self._folder / "log"
        self._process = Process(PORTS[name].command(asked), log, folder=self._folder, environment=environment)

    def __exit__(self, *_: object) -> None:
        """End it, with all that it has started."""
        self._process.stop(ENDS)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def parts(self) -> Mapping[str, int]:
        """The program."""
        return {"program": self._process.pid}

    def look(self) -> None:
        """Raise if it has ended."""
        if not self._process.running():
            message = f"it ended with {self._process.exit_code()}:\n{self._process.log_tail(30)}"
            raise EndedError(message)


def able(name: str, work: Work) -> str:
    """Why a system can't do a workload here; empty if it can."""
    port = PORTS[name]
    if work.name not in port.works:
        return f"its adapter does not know {work.title}"
    return port.problem()


def _structured(trigger: str) -> Callable[[Asked], list[str]]:
    def command(asked: Asked) -> list[str]:
        jars = connector.listed(connector.STRUCTURED)
        return [sys.executable, str(ADAPTERS / "structured.py"), *asked.arguments(), trigger, jars]

    return command


def _no_connector() -> str:
    return connector.problem(connector.STRUCTURED)


def _flink(api: str) -> Callable[[Asked], list[str]]:
    def command(asked: Asked) -> list[str]:
        return [str(FLINK), str(ADAPTERS / "flink.py"), *asked.arguments(), connector.listed(connector.FLINK), api]

    return command


def _no_flink() -> str:
    return _missing("FLINK")() or connector.problem(connector.FLINK)


def _in(python: Path, script: str) -> Callable[[Asked], list[str]]:
    return lambda asked: [str(python), str(ADAPTERS / script), *asked.arguments()]


def _missing(python: str) -> Callable[[], str]:
    def problem() -> str:
        there: Path = globals()[python]
        return "" if there.exists() else f"there is no {there}: docs/how-to/benchmark.md says how to make it"

    return problem


_SPARKS = ("lines", "split", "grep", "ads", "averages", "pairs", "q1", "q2", "q5", "q7", "q8")
PORTS: Mapping[str, Port] = {
    FASTEST: Port("Spark Structured Streaming, tuned", _SPARKS, _structured("fastest"), _no_connector),
    SECOND: Port("the same, a batch a second", _SPARKS, _structured("1 second"), _no_connector),
    PLAIN: Port("Spark Structured Streaming as it comes", _SPARKS, _structured("plain"), _no_connector),
    BYTEWAX: Port(
        "bytewax",
        ("words", "orders", "lines", "split", "grep", "ads", "averages", "pairs", "q1", "q2", "q5", "q7", "q8"),
        _in(PEERS, "wax.py"),
        _missing("PEERS"),
    ),
    QUIX: Port(
        "Quix Streams",
        ("words", "orders", "lines", "split", "grep", "ads", "averages", "q1", "q2", "q5", "q7"),
        _in(PEERS, "quix.py"),
        _missing("PEERS"),
    ),
    PYFLINK: Port("Flink SQL, through PyFlink", _SPARKS, _flink("sql"), _no_flink),
    DATASTREAM: Port("PyFlink DataStream, Python functions", ("lines", "split"), _flink("datastream"), _no_flink),
}
