"""Programs and tasks of the measured jobs, in memory: what a slot would make of them."""

from __future__ import annotations

import itertools

from spillway.bench.record import events, jobs, logs
from spillway.bench.record.events import Message
from spillway.bench.record.jobs import Case
from spillway.controllers import topics
from spillway.model.streamjob import StreamJob
from spillway.runtime import functions
from spillway.runtime.functions import Function
from spillway.runtime.programs import cutting, states
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.task import Task


def messages(workload: str, count: int) -> list[Message]:
    """The first events of a workload."""
    some = itertools.islice(logs.EVENTS[workload](), count)
    return [Message(number, event.at(events.START_MS + number)) for number, event in enumerate(some)]


def loaded(job: StreamJob) -> dict[str, Function]:
    """The functions that a job names."""
    names = {operator.python.function for operator in job.spec.operators if operator.python is not None}
    return {name: functions.load(name, jobs.CODE) for name in sorted(names)}


def loops(job: StreamJob, case: Case, *, sampled: int = 64) -> dict[str, Loop]:
    """Every program of a job, by its segment."""
    known = loaded(job)
    cut = cutting.cut(job.spec, case.segments, {name: function.digest for name, function in known.items()})
    return {program.name: Loop(program, known, sampled=sampled) for program in cut}


def task(loop: Loop, job: StreamJob, partition: int = 0) -> Task:
    """A program on a partition, with empty tables."""
    made = {state.name: states.made(state) for state in loop.program.states}
    return Task(loop, made, partition, 1, topics.Names.of(job), topics.width(job))
