"""A leader that decides nothing: one plan, every partition to a slot, and that is all.

What is measured is the record paradigm, so nothing may move while it runs, and frames and deadlines have to be those
that the measurement is about. Everything else that a slot hears and tells is as a driver would have it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

from confluent_kafka import Producer

from spillway.bench.record import programs
from spillway.bench.record.jobs import Case
from spillway.controllers import topics
from spillway.controllers.protocol import messages
from spillway.controllers.protocol.values import Owner, Partition
from spillway.model.operators import Paradigm
from spillway.model.streamjob import StreamJob
from spillway.runtime import admin, clients, control
from spillway.runtime.clients import Access
from spillway.runtime.programs.program import Program

NUMBER = 1  # under which it leads; its plan and its epochs have the same
PATIENCE = 30.0


class LeaderError(Exception):
    """A slot did not come, or the log was not written."""


class Leader:
    """Leads a job that has no driver."""

    def __init__(self, job: StreamJob, case: Case, sources: int) -> None:
        """`sources`: partitions of the user's topics."""
        self._job, self._segments, self._sources = job, case.segments, sources
        self._access = Access(job.spec.kafka)
        self._names = topics.Names.of(job)
        self._width = topics.width(job)
        loops = programs.loops(job, case)
        self.programs: tuple[Program, ...] = tuple(loop.program for loop in loops.values())

    def prepare(self) -> None:
        """Make the job's own topics."""
        readers = [program.name for program in self.programs if self._reads_edge(program)]
        tables = {name: self.partitions(program) for program in self.programs for name in self._tables(program)}
        admin.create(clients.admin(self._access), topics.needed(self._job, readers, tables))

    def lead(self, slots: Sequence[str], frame: int, deadline: float, *, apart: bool = False) -> None:
        """Wait until the slots have joined, and give them everything, in turn; `apart`: each segment has its own."""
        log = control.ControlLog(self._access, self._names)
        producer = clients.emitter(self._access)
        self._write(producer, messages.Lead(NUMBER, "bench"), self._plan(frame, deadline))
        deadline_of_joins = time.monotonic() + PATIENCE
        while len((state := log.restored()).members) < len(slots):
            if time.monotonic() > deadline_of_joins:
                message = f"of slots {', '.join(slots)}, {', '.join(state.members) or 'none'} came"
                raise LeaderError(message)
            time.sleep(0.05)
        log.close()
        lives = [Owner(slot, state.members[slot].incarnation) for slot in slots]
        all_of_them, each = itertools.cycle(lives), len(lives) // len(self.programs)
        owners = {
            program.name: itertools.cycle(lives[number * each : (number + 1) * each]) if apart else all_of_them
            for number, program in enumerate(self.programs)
        }
        assigned = [
            messages.Assign(
                NUMBER,
                Partition(program.name, number),
                NUMBER,
                next(owners[program.name]),
                program.id,
                start=0,
                takeover=True,
            )
            for program in self.programs
            for number in range(self.partitions(program))
        ]
        self._write(producer, *assigned)

    def partitions(self, program: Program) -> int:
        """Of its input."""
        return self._width if self._reads_edge(program) else self._sources

    def _plan(self, frame: int, deadline: float) -> messages.Plan:
        segments = tuple(
            messages.Segment(
                program.name,
                tuple(self._segments[program.name]),
                program.id,
                Paradigm.RECORD,
                self.partitions(program),
                1,
                frame,
                tuple((source, deadline) for edge in program.edges for source in edge.sources),
            )
            for program in self.programs
        )
        spec = self._job.spec.model_dump_json(by_alias=True, exclude_none=True)
        digests = {name: digest for program in self.programs for name, digest in program.digests}
        return messages.Plan(NUMBER, NUMBER, spec, self._width, segments, tuple(sorted(digests.items())))

    def _write(self, producer: Producer, *told: messages.Any) -> None:
        for one in told:
            topic, partition, key, value = control.record(self._names, one)
            producer.produce(topic, value, key, partition)
        if producer.flush(PATIENCE):
            message = "the broker does not take what stands in the control log"
            raise LeaderError(message)

    @staticmethod
    def _reads_edge(program: Program) -> bool:
        return any(port.source is None for port in program.ports)

    def _tables(self, program: Program) -> list[str]:
        own = [program.name] if self._reads_edge(program) else []
        return list(dict.fromkeys([*(state.name for state in program.states), *own]))
