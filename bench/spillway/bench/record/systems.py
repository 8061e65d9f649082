"""The system under test: a job in slot processes, on a real broker, as it is deployed; looked at from outside."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import multiprocessing.connection
import multiprocessing.process
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from spillway.bench.record import events, jobs, logs, processes
from spillway.bench.record.jobs import Case
from spillway.bench.record.leader import Leader
from spillway.controllers import topics
from spillway.controllers.topics import Topic
from spillway.local import broker as local
from spillway.model import kafka
from spillway.model.operators import Paradigm
from spillway.model.streamjob import StreamJob
from spillway.runtime import admin, clients, telemetry
from spillway.runtime.slots import messages, process
from spillway.runtime.slots.settings import Settings

PATIENCE = 120.0
LOOK = 0.02

_runs = itertools.count(1)


class EndedError(Exception):
    """A slot ended, or does not work."""


@contextlib.contextmanager
def broker() -> Iterator[str]:
    """A broker for all runs of a measurement; its address."""
    with local.Broker(lasting=True) as running:
        yield running.bootstrap


def created(bootstrap: str, *names: str) -> None:
    """Topics of the user, whose messages have the time at which they were appended.

    (Not as a setting of the broker: others keep event times in the messages of their own topics.)
    """
    settings = {"message.timestamp.type": "LogAppendTime"}
    client = clients.admin(clients.Access(kafka.Kafka(bootstrap_servers=(bootstrap,))))
    admin.create(client, [Topic(name, logs.PARTITIONS, settings) for name in names])


def created_sources(bootstrap: str, *names: str) -> None:
    """Topics whose messages have the time at which they were due, and are kept, however long ago that was."""
    client = clients.admin(clients.Access(kafka.Kafka(bootstrap_servers=(bootstrap,))))
    settings = {"message.timestamp.type": "CreateTime", "retention.ms": "-1"}
    admin.create(client, [Topic(name, logs.PARTITIONS, settings) for name in names])


def created_one(bootstrap: str) -> str:
    """A new topic for results."""
    name = f"out.{next(_runs)}"
    created(bootstrap, name)
    return name


def run_name() -> str:
    """A name that no other run of this broker has."""
    return f"run{next(_runs)}"


class System:
    """A job at work in slots that have all of its partitions."""

    def __init__(
        self,
        case: Case,
        bootstrap: str,
        source: str,
        *,
        slots: int = 1,
        frame: int = 1,
        deadline: float = 0.0,
        paradigm: Paradigm = Paradigm.RECORD,
        bound: str = "50ms",
        policy: Mapping[str, Any] = MappingProxyType({}),
        apart: bool = False,
    ) -> None:
        """On a topic that is there; `frame` and `deadline` (seconds) of all its edges.

        `apart`: each segment has slots of its own, as many as the others. Slots alone can only work record by record.
        """
        self.case, self.bootstrap, self.source = case, bootstrap, source
        self.run = run_name()
        self.job: StreamJob = jobs.job(
            case, bootstrap, self.run, source, slots=slots, paradigm=paradigm, bound=bound, policy=policy
        )
        self.names = topics.Names.of(self.job)
        self.output = self.job.spec.outputs[0].topic
        self._leader = Leader(self.job, case, logs.PARTITIONS)
        self._slots = tuple(f"w0.{number}" for number in range(slots))
        self._frame, self._deadline, self._apart = frame, deadline, apart
        self.reports: dict[str, telemetry.Report] = {}
        """The last one of each slot."""
        self._pipes: list[multiprocessing.connection.Connection] = []
        self._processes: list[multiprocessing.process.BaseProcess] = []

    def __enter__(self) -> System:
        self._topics()
        context = multiprocessing.get_context("spawn")
        for slot in self._slots:
            ours, theirs = context.Pipe()
            started = context.Process(target=process.run, args=(Settings(self.job, slot, jobs.CODE), theirs))
            started.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(started)
        self._leader.lead(self._slots, self._frame, self._deadline, apart=self._apart)
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it: what was measured is in the topics, and nobody needs the rest."""
        for started in self._processes:
            started.kill()
            started.join()
        for pipe in self._pipes:
            pipe.close()

    def _topics(self) -> None:
        """All of the job, the user's and its own; tables are full."""
        created(self.bootstrap, self.output)
        for table in self.job.spec.tables:
            created(self.bootstrap, table.topic)
            logs.write(self.bootstrap, table.topic, events.campaign_rows())
        self._leader.prepare()

    @property
    def processes(self) -> tuple[int, ...]:
        """Process ids of the slots."""
        return tuple(started.pid or 0 for started in self._processes)

    @property
    def width(self) -> int:
        """How many partitions each edge has."""
        return topics.width(self.job)

    def cpu(self) -> float:
        """Seconds of processor time of all slots so far."""
        return processes.total(processes.cpu, self.processes)

    def settle(self) -> None:
        """Wait until every partition is worked on."""
        wanted = sum(self._leader.partitions(program) for program in self._leader.programs)
        patience = time.monotonic() + PATIENCE
        while sum(place.working for report in self.reports.values() for place in report.places) < wanted:
            self.look()
            time.sleep(LOOK)
            if time.monotonic() > patience:
                message = f"{self.run}: not all of {wanted} partitions are worked on after {PATIENCE:.0f} s"
                raise EndedError(message)

    def look(self) -> None:
        """Hear what slots tell, so that pipes don't fill up; raise if one has ended."""
        for pipe in self._pipes:
            with contextlib.suppress(EOFError, OSError):
                while pipe.poll():
                    told = pipe.recv()
                    if isinstance(told, messages.Told):
                        self.reports[told.report.slot] = told.report
        for started in self._processes:
            if not started.is_alive():
                message = f"slot process {started.pid} of {self.run} ended with {started.exitcode}"
                raise EndedError(message)
