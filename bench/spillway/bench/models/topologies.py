"""The topologies of stepwise profiling (SWP, section 6.1.1) as running jobs: operators that wait, as services do.

Shapes and ratios of times are those of `bench.topologies`, which has the paper's where it gives some; times are longer
by a factor, so that two cores have more than enough for all that doesn't wait: a slot that waits takes next to nothing.
What an operator with a pace of its own sends is a share of what comes here: in these jobs every record is answered at
once. How many slots there may be stands for how large the platform is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from spillway.bench import topologies
from spillway.bench.clusters import Cluster
from spillway.local import code
from spillway.local import state as states
from spillway.local.profiling import jobs
from spillway.local.profiling.platform import Local
from spillway.local.profiling.records import Records

PARTITIONS = 24  # shared out evenly by 1, 2, 3, 4, 6, 8 and 12 slots, and within a tenth by most others
RECORDS = 10_000
# Records of a thousand that an operator lets through are told by their number; each operator looks at other digits.
MODULE = "waits"
_CODE = """
import time

def _kept(number, salt, share):
    return (number * 2654435761 + salt * 40503) % 4294967296 < share * 4294967296
"""
_FUNCTION = """

def {name}(record):
    time.sleep({wait!r})
    return {result}
"""
# Of operators with a pace of their own, records out for one in.
PACE = {"counter": 0.02, "op6": 0.05, "op8": 0.3, "op9": 0.5, "op10": 0.5}


@dataclasses.dataclass(frozen=True, slots=True)
class Topology:
    """One of them.

    Attributes:
        name: of the paper.
        cluster: the simulated one, whose shape and times it has.
        factor: by which all times are longer.
        slots: that there may be.
        bound: of the latency, in seconds.
    """

    name: str
    cluster: Cluster
    factor: float
    slots: int
    bound: float

    def waits(self) -> dict[str, float]:
        """Seconds that a record takes, by operator."""
        return {name: self.factor * (work.cpu + work.wait) for name, work in self.cluster.works.items()}

    def gains(self) -> dict[str, float]:
        """Records out for one in, by operator."""
        return {
            name: work.selectivity if work.emits is None else PACE[name] for name, work in self.cluster.works.items()
        }

    def visits(self) -> dict[str, float]:
        """Records that come to each operator, for one that comes to any source."""
        found: dict[str, float] = {}
        gains, sources = self.gains(), self.cluster.application.sources
        for operator in self.cluster.application.operators:
            came = sum(found[name] * gains[name] for name in operator.inputs)
            found[operator.name] = came if operator.inputs else 1 / len(sources)
        return found

    def document(self) -> dict[str, Any]:
        """The job."""
        operators: list[dict[str, Any]] = []
        for operator in self.cluster.application.operators:
            reads: dict[str, Any] = {"input": f"in-{operator.name}"}
            if operator.inputs:
                several = len(operator.inputs) > 1
                reads = {"inputs": list(operator.inputs)} if several else {"input": operator.inputs[0]}
            function = {"function": f"{MODULE}:{operator.name}", "as": "flatMap", "returns": "id bigint"}
            operators.append({"name": operator.name, **reads, "python": function})
        read = {name for operator in self.cluster.application.operators for name in operator.inputs}
        ends = [operator.name for operator in self.cluster.application.operators if operator.name not in read]
        return {
            "apiVersion": "spillway.dev/v1alpha1",
            "kind": "StreamJob",
            "metadata": {"name": self.name.replace(" ", "-"), "namespace": "bench"},
            "spec": {
                "kafka": {"bootstrapServers": ["localhost:9092"]},
                "latency": {"bound": f"{round(self.bound * 1000)}ms", "quantile": 0.99},
                "streams": [
                    {"name": f"in-{source.name}", "topic": f"in-{source.name}", "columns": "id bigint"}
                    for source in self.cluster.application.sources
                ],
                "operators": operators,
                "outputs": [{"name": f"out-{name}", "input": name, "topic": f"out-{name}"} for name in ends],
            },
        }

    def code(self) -> str:
        """The functions."""
        text, gains = _CODE, self.gains()
        for salt, (name, wait) in enumerate(self.waits().items(), 1):
            gain = gains[name]
            result = f"[record] * {round(gain)}" if gain >= 1 else f"[record] * _kept(record['id'], {salt}, {gain!r})"
            text += _FUNCTION.format(name=name, wait=wait, result=result)
        return text

    def fed(self) -> tuple[Records, ...]:
        """Records for every source, each with a number."""
        values = [b'{"id":%d}' % number for number in range(RECORDS)]
        return tuple(
            Records(f"in-{source.name}", values, None, table=False, origin="numbers")
            for source in self.cluster.application.sources
        )


def linear() -> Topology:
    """A source and three operators in a row."""
    return Topology("linear", topologies.linear(), 6.0, 11, 0.5)


def star() -> Topology:
    """Two sources, one operator that gets both, two that get half of that."""
    return Topology("star", topologies.star(), 3.0, 14, 0.5)


def diamond() -> Topology:
    """Four operators beside one another, of which two take five times as long."""
    return Topology("diamond", topologies.diamond(), 3.0, 17, 0.5)


def word_count(*, synthetic: bool = False) -> Topology:
    """Texts are parsed, split into 12 words each, and counted; the synthetic one lets each wait first."""
    name = "synthetic word count" if synthetic else "word count"
    return Topology(name, topologies.word_count(synthetic=synthetic), 20.0, 15 if synthetic else 14, 0.5)


def sentiment() -> Topology:
    """Eleven operators, eight stages deep."""
    return Topology("sentiment", topologies.sentiment(), 20.0, 20, 1.0)


@contextlib.contextmanager
def running(topology: Topology, tell: Callable[[str], None]) -> Iterator[Local]:
    """The platform that runs it, with all that it needs; nothing is left of it."""
    folder = Path(tempfile.mkdtemp(prefix="spillway-models-"))
    try:
        (folder / "code").mkdir()
        (folder / "code" / f"{MODULE}.py").write_text(topology.code(), encoding="utf-8")
        (folder / "state").mkdir()
        with states.held(folder / "state") as held:
            functions = code.kept(folder / "code", held.code)
            made = Local(
                lambda bootstrap: jobs.profiled(topology.document(), bootstrap, PARTITIONS),
                topology.fed(), held, functions, os.cpu_count() or 1, time.sleep, tell,
            )  # fmt: skip
            try:
                made.begin()
                yield made
            finally:
                made.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def held_by(partitions: int, slots: int) -> float:
    """Slots' worth of work that so many can share out: the busiest has one partition more than the least busy."""
    return partitions / -(-partitions // slots)


def able(topology: Topology, tasks: Mapping[str, int], spans: Mapping[str, float]) -> float:
    """Records per second of all sources that these slots can do, by what each record takes."""
    visits = topology.visits()
    return min(
        held_by(PARTITIONS, tasks[name]) / (visits[name] * spans[name]) for name in tasks if visits[name] * spans[name]
    )
