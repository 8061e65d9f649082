"""The copy of a job that is profiled, and what profiling has to know of its segments. Pure.

Each operator is a segment of its own, so that what its slots do is what it does alone. A stream whose records have to
be brought to the partition of their key first is a segment, too, as in any plan.

An operator that reads a topic is a source, in the words of profiling: it pulls from outside. It fetches no frames.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from spillway.controllers import acceptance, topics
from spillway.controllers.planning import jobs as planned
from spillway.controllers.profiling.application import Application, Operator
from spillway.model.errors import TerminalError
from spillway.model.operators import Paradigm
from spillway.model.streamjob import StreamJob
from spillway.runtime.programs import cutting
from spillway.runtime.programs.program import Program

SUFFIX = "-profile"
LONGEST_NAME = 40  # of a StreamJob, as the model has it
# Partitions of every topic and edge. 12 can be shared out evenly by 1, 2, 3, 4, 6 and 12 slots, which is what few cores
# have; more, and frames fill slower, because each pair of partitions has a frame of its own.
PARTITIONS = 12
# Of a full slot. What records take is learnt with less than this, so the first guess should be below it, and not far.
LIGHT = 0.1
# Records per second of the first light load. Fewer, and a round has too few to tell a mean; more, and who feeds is as
# busy as who is measured.
LEAST_LIGHT, MOST_LIGHT = 50.0, 20_000.0


class UnfitError(TerminalError):
    """The job can't be profiled; the message says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    """One segment of the job, as its counts are named.

    Attributes:
        name: of its operator, or of the stream that it reads into an edge.
        topic: of the user, that it reads; empty where it reads an edge.
        ports: labels of what comes in.
        result: label of what comes out of it, whoever takes that.
        readers: by label of an edge, the segment that reads it.
        outputs: names of the outputs that it writes.
    """

    name: str
    topic: str
    ports: tuple[str, ...]
    result: str
    readers: Mapping[str, str]
    outputs: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Profiled:
    """What is profiled.

    Attributes:
        document: the copy of the manifest.
        job: the same, accepted.
        segments: by name, each after those that it reads.
        partitions: of every topic and edge.
    """

    document: Mapping[str, Any]
    job: StreamJob
    segments: Mapping[str, Segment]
    partitions: int = PARTITIONS

    def application(self) -> Application:
        """The operators of profiling."""
        inputs: dict[str, list[str]] = {name: [] for name in self.segments}
        for one in self.segments.values():
            for reader in one.readers.values():
                if one.name not in inputs[reader]:
                    inputs[reader].append(one.name)
        return Application.of(Operator(name, tuple(reads), most=self.partitions) for name, reads in inputs.items())

    @property
    def heads(self) -> tuple[Segment, ...]:
        """Those that read a topic of the user."""
        return tuple(one for one in self.segments.values() if one.topic)

    @property
    def depth(self) -> int:
        """Edges on the longest way."""
        levels: dict[str, int] = {}
        for operator in self.application().operators:
            levels[operator.name] = 1 + max((levels[name] for name in operator.inputs), default=-1)
        return max(levels.values(), default=0)

    def fan_out(self, topic: str) -> int:
        """How many read a topic of the user: a message is a record for each."""
        return sum(one.topic == topic for one in self.heads)

    def light(self) -> float:
        """Records per second of all heads together that keep no operator busy, by what is believed of them."""
        rates = {stream.name: 1000.0 for stream in self.job.spec.streams}
        asked = planned.problem(self.job, rates)
        costs = [
            float(node.cpu) + float(node.fetch) + sum(float(o.selectivity) * float(o.emit) for o in node.outputs)
            for node in asked.flow.nodes
            if node.name not in asked.topics
        ]
        return min(MOST_LIGHT, max(LEAST_LIGHT, LIGHT / max(costs))) if costs and max(costs) > 0 else LEAST_LIGHT


def profiled(document: Mapping[str, Any], bootstrap: str, partitions: int = PARTITIONS) -> Profiled:
    """The copy of a job on a broker of ours: it has a name of its own, runs record by record, and never stops."""
    found = copy.deepcopy(dict(document))
    name = str(found["metadata"]["name"])[: LONGEST_NAME - len(SUFFIX)].rstrip("-") + SUFFIX
    found["metadata"] = {"name": name, "namespace": found["metadata"].get("namespace", "default")}
    spec = found["spec"]
    spec["kafka"] = {"bootstrapServers": [bootstrap]}
    given = spec.get("execution") or {}
    # As wide as that, whatever the job has: `topics.width` follows from the slots that there may be.
    slots = partitions // topics.EACH_SLOT
    execution = {"paradigm": str(Paradigm.RECORD), "workers": {"min": 1, "max": slots, "slots": 1}}
    spec["execution"] = {key: given[key] for key in ("delivery", "state") if key in given} | execution
    spec["policy"] = {"mode": "apply"}
    for operator in spec["operators"]:
        operator.pop("paradigm", None)
    verdict = acceptance.accept(found)
    if verdict.job is None:
        message = f"the copy that would be profiled is no job: {verdict.message}"
        raise UnfitError(message)
    return Profiled(found, verdict.job, segments(verdict.job), partitions)


def segments(job: StreamJob) -> dict[str, Segment]:
    """The segments of a job with each operator in one of its own."""
    programs = cutting.cut(job.spec, cutting.alone(job.spec))
    return {program.name: _segment(program) for program in programs}


def _segment(program: Program) -> Segment:
    ports = [port for port in program.ports if not port.broadcast and not port.combined]
    topic = next((port.source.topic for port in ports if port.source is not None), "")
    return Segment(
        program.name,
        topic,
        tuple(port.label for port in ports),
        program.steps[-1].name if program.steps else ports[0].label,
        {edge.label: edge.reader for edge in program.edges},
        tuple(output.name for output in program.outputs),
    )


def tables(job: StreamJob, segments: Iterable[Segment]) -> tuple[str, ...]:
    """Topics of tables that every slot reads beside its work: they are filled before anything begins."""
    heads = {one.topic for one in segments}
    return tuple(table.topic for table in job.spec.tables if table.topic not in heads)
