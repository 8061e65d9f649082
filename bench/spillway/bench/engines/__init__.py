"""Systems under test: ours in one paradigm or in both, and others, started and looked at in one way.

port        what every system looks like from outside
ours        R, B and D: a job that may only run record by record, only in batches, or both
others      Structured Streaming, bytewax, Quix Streams, PyFlink
connector   the jars that Structured Streaming needs for Kafka
switches    what a driver of ours tells, and what can be read off it
adapters    the programs of the others
"""

from __future__ import annotations

import dataclasses
import importlib.util
import time
from collections.abc import Callable, Sequence

from spillway.bench.engines import others
from spillway.bench.engines.others import BYTEWAX, FASTEST, PLAIN, PYFLINK, QUIX, SECOND, Program
from spillway.bench.engines.ours import CORES, PARADIGMS, B, D, Ours, R
from spillway.bench.engines.port import Engine
from spillway.bench.record import jobs, systems
from spillway.bench.record.systems import EndedError
from spillway.bench.workloads.work import Work

__all__ = [
    "BYTEWAX",
    "CORES",
    "FASTEST",
    "NAMES",
    "PARADIGMS",
    "PLAIN",
    "PYFLINK",
    "QUIX",
    "SECOND",
    "B",
    "D",
    "Engine",
    "Maker",
    "R",
    "there",
    "until_prepared",
]

MEASURED = 120.0  # seconds in which it has to be known how fast batches are; ten on a quiet machine
TITLES = {
    R: "Spillway, record by record alone",
    B: "Spillway, in batches alone",
    D: "Spillway, both, switching by itself",
    **{name: port.title for name, port in others.PORTS.items()},
}
NAMES = tuple(TITLES)
NEED_SPARK = (B, D, FASTEST, SECOND, PLAIN)


@dataclasses.dataclass(frozen=True, slots=True)
class Maker:
    """Starts a system on new topics.

    Attributes:
        name: of the system.
        work: what it has to do.
        bound: of the promise, for ours.
    """

    name: str
    work: Work
    bound: str = "500ms"

    def started(self, bootstrap: str) -> Engine:
        """At work, or about to be."""
        source = systems.run_name()
        sources = jobs.topics(source, self.work.streams)
        systems.created_sources(bootstrap, *sources)
        return self.made(bootstrap, source, sources)

    def made(self, bootstrap: str, source: str, sources: Sequence[str]) -> Engine:
        """On these topics, which it makes of `source` and the names of its streams."""
        if self.name in PARADIGMS:
            return Ours(self.name, self.work, bootstrap, source, sources, self.bound)
        return Program(self.name, self.work.name, bootstrap, sources)


def problem(name: str, work: Work) -> str:
    """Why a system can't do a workload here; empty if it can."""
    if name in NEED_SPARK and importlib.util.find_spec("pyspark") is None:
        return "it needs Spark: pip install 'spillway[spark]'"
    return "" if name in PARADIGMS else others.able(name, work)


def there(names: Sequence[str], work: Work, say: Callable[[str], None]) -> list[str]:
    """Those systems that can do a workload here; of the others it is said why not."""
    found = []
    for name in names:
        if why := problem(name, work):
            say(f"left out: {name}: {why}")
        else:
            found.append(name)
    return found


def until_prepared(subject: Engine) -> None:
    """Wait until it knows all that it has to know."""
    patience = time.monotonic() + MEASURED
    while not subject.prepared():
        subject.look()
        if time.monotonic() > patience:
            message = f"nobody knows how fast batches are after {MEASURED:.0f} s"
            raise EndedError(message)
        time.sleep(0.2)
