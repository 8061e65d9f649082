"""A job under a load trace: what Spillway would do minute by minute, in a simulation.

The segments are those of the plan for the highest rate, because a job that can carry that can carry all else, and in a
simulation segments stay what they are. It starts with the sizes of the first rate. All slots are one pool there,
as in a job, where partitions of all segments are spread over all slots.
"""

from __future__ import annotations

import pathlib

from spillway.cli import terminal
from spillway.cli.planning import comparisons, questions
from spillway.cli.planning.courses import Course
from spillway.cli.planning.questions import RefusedError
from spillway.controllers.planning import jobs, planner
from spillway.controllers.planning.problem import Chaining
from spillway.model.streamjob import StreamJob
from spillway.simulation import steered, traces
from spillway.simulation.jobs import Job, Platform
from spillway.simulation.traces import Trace

# A day by the second. A longer trace takes minutes to simulate, and is as well thinned out, or cut into days.
LONGEST = 86_400.0
MAX_BYTES = 64 * 2**20  # a million points of a few sources


def trace(file: pathlib.Path, asked: StreamJob, rate: str | None, sources: list[str]) -> Trace:
    """Rates of all streams: by column, else by `--source` and `--rate`; a single column without a name is for all."""
    read, columns = _read(file), dict[str, tuple[float, ...]]()
    if read.sources == (traces.ANY,) and traces.ANY not in questions.names(asked):
        named = {source.partition("=")[0] for source in sources}
        columns |= {stream.name: read.rates[traces.ANY] for stream in asked.spec.streams if stream.name not in named}
    else:
        for name in read.sources:
            questions.check_source(name, questions.names(asked), "--rates")
        columns |= read.rates
    steady = questions.rates(asked, rate, sources, columns)
    if rate is not None and all(stream.name in columns for stream in asked.spec.streams):
        message = "the trace has a rate for every stream; leave --rate out"
        raise RefusedError(message, option="--rate")
    flat = {name: (value,) * len(read.times) for name, value in steady.items()}
    found = Trace(read.times, {**flat, **columns}, read.shape)
    if not found.peak:
        message = f"{file}: all rates are 0; a plan needs records"
        raise RefusedError(message)
    return found


def rehearse(asked: StreamJob, load: Trace, chaining: Chaining, *, compare: bool = False) -> Course:
    """Plan for the highest rate, then let Spillway steer through the trace; and others too, to `compare` them."""
    peak = max(load.times, key=load.rate)
    highest = jobs.problem(asked, _rates(load, peak), chaining=chaining)
    planned = planner.plan(highest)
    if planned.plan is None:
        raise RefusedError(planned.sentence, *planned.limits)
    first = jobs.problem(asked, _rates(load, 0.0), chaining=chaining)
    begins = planner.plan(first, keep=planned.plan).plan or planned.plan
    platform, least = _platform(asked)
    simulated = Job.of(planned.plan, highest)
    only = Trace(
        load.times,
        {node.name: load.rates.get(node.name, (0.0,) * len(load.times)) for node in simulated.flow.sources},
        load.shape,
    )
    run = steered.run(begins, first, only, platform, asked.spec.policy, least, truth=simulated)
    others = dict(comparisons.rivals(simulated, planned.plan, begins, only, platform)) if compare else {}
    return Course(planned.plan, steered.pooled(simulated), only, run, others)


def _read(file: pathlib.Path) -> Trace:
    """The trace of a file, or a sentence with its line."""
    name = terminal.clean(str(file))
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        message = f"{name}: can't be read: {error.strerror}"
        raise RefusedError(message) from None
    if len(data) > MAX_BYTES:
        message = f"{name}: is larger than {MAX_BYTES // 2**20} MiB; thin it out"
        raise RefusedError(message)
    try:
        found = traces.read(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        message = f"{name}: is not UTF-8; it should be lines of seconds and rates, such as `0,1000`"
        raise RefusedError(message) from None
    except ValueError as error:
        message = f"{name}: {terminal.clean(str(error))}"
        raise RefusedError(message) from None
    if not 0 < found.length <= LONGEST:
        message = f"{name}: is {found.length:g} s long; a trace needs two points or more, and ends within 24 h"
        raise RefusedError(message)
    return found


def _rates(load: Trace, at: float) -> dict[str, float]:
    return {name: load.rate(at, name) for name in load.sources}


def _platform(asked: StreamJob) -> tuple[Platform, steered.Least]:
    """What the job may have, and what is there at all times."""
    workers, executors = asked.spec.execution.workers, asked.spec.execution.executors
    platform = Platform(
        cores=executors.min * executors.cores,
        slots_most=workers.max * workers.slots,
        cores_most=executors.max * executors.cores,
    )
    return platform, steered.Least(workers.min * workers.slots, executors.min * executors.cores)
