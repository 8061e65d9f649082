"""A user's own job under load: started here, or looked on while it runs elsewhere. The verifier judges it.

Latency is that of Equations 1 and 2 of the benchmark paper: from the latest event time of all records that a result is
made of until the broker has the result. Of a table these are its rows as they stand in the end; what they were on the
way, nobody can relate to records without knowing what each column means.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spillway.bench import engines
from spillway.bench.dual import courses, judging
from spillway.bench.dual.courses import Look, Run
from spillway.bench.dual.feeding import Feeder
from spillway.bench.dual.judging import Judged
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.loads import Load
from spillway.bench.engines import CORES
from spillway.bench.engines.port import used
from spillway.bench.engines.switches import Heard
from spillway.bench.record import logs, systems
from spillway.bench.record.deployed import Launched
from spillway.bench.record.logs import Watch
from spillway.bench.record.systems import EndedError
from spillway.bench.trials import columns
from spillway.bench.trials.columns import Made
from spillway.bench.trials.traces import Given
from spillway.bench.verifier import judging as verifying
from spillway.bench.verifier import topics
from spillway.bench.verifier.relations import Assumptions
from spillway.bench.verifier.verdict import Sample, Verdict
from spillway.controllers import acceptance
from spillway.local import broker as local
from spillway.local.driver import Driver, DriverError
from spillway.model.errors import SpillwayError
from spillway.model.observation import StandbyState
from spillway.model.operators import Paradigm
from spillway.model.streamjob import StreamJob
from spillway.runtime.clients import Access

QUIET = 3.0  # seconds without a new result, after which it is taken to be done: more than any batch of ours takes
PATIENCE = 120.0  # seconds for that
START = 2.0  # seconds until the first message is due
# Messages. The verifier holds them all, at 4 kB each, and takes 0.15 ms of a core for one: two minutes, and 3 GB.
MOST = 800_000


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What somebody wants to see under load.

    Attributes:
        document, job: the manifest, as it was written and as it was read.
        code: the folder of its functions.
        files: by stream, lines to send; made of columns where there are none.
        bootstrap: the Kafka of a job that runs already; None for one that is started here.
    """

    document: Mapping[str, Any]
    job: StreamJob
    code: Path
    files: Mapping[str, Path]
    bootstrap: str | None = None

    def messages(self, given: Given) -> Made:
        """What is sent; raises ValueError where a file has nothing."""
        streams = self.job.spec.streams
        return Made([columns.source(stream, self.files.get(stream.name)) for stream in streams], given.keys)


def measured(asked: Asked, system: str, given: Given, settle: float, say: Callable[[str], None], keeper: Keeper) -> Run:
    """One run, kept."""
    total = sum(phase.count for phase in given.phases)
    if total > MOST:
        message = f"{total:,} records are more than the verifier can hold ({MOST:,}): ask for less, or for less long"
        raise SpillwayError(message)
    messages = asked.messages(given)
    if asked.bootstrap is not None:
        run = _observed(asked, asked.bootstrap, messages, given, settle, say)
    else:
        run = _started(asked, system, messages, given, settle, say)
    say(courses.said(run))
    keeper.keep("run", run)
    return run


def placed(asked: Asked, system: str, bootstrap: str) -> StreamJob:
    """The job on a Kafka of ours, in the paradigm that a system stands for."""
    document = copy.deepcopy(dict(asked.document))
    spec = document["spec"]
    spec["kafka"] = {"bootstrapServers": [bootstrap]}
    execution = spec.setdefault("execution", {})
    execution["paradigm"] = str(engines.PARADIGMS[system])
    execution["workers"] = {"min": 1, "max": 1, "slots": CORES}
    accepted = acceptance.accept(document)
    if accepted.job is None:
        raise SpillwayError(accepted.message)
    return accepted.job


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    """A job of somebody that was started here: the job as it is placed, its Kafka, its processes, and the broker's."""

    job: StreamJob
    bootstrap: str
    launched: Launched
    broker: int

    @property
    def driver(self) -> Driver:
        """Its driver."""
        return Driver(self.launched.address)

    @property
    def parts(self) -> Mapping[str, int]:
        """Process ids by what each is."""
        return dict(zip(("driver", "worker"), self.launched.processes, strict=True)) | {"broker": self.broker}

    @property
    def sources(self) -> Sequence[str]:
        """The topics that are fed."""
        return [stream.topic for stream in self.job.spec.streams]


@contextlib.contextmanager
def started(asked: Asked, system: str) -> Iterator[Running]:
    """The job at work here, on a Kafka of its own, with rows in its tables."""
    with local.Broker() as broker:
        job = placed(asked, system, broker.bootstrap)
        streams, tables = job.spec.streams, job.spec.tables
        systems.created_sources(broker.bootstrap, *(stream.topic for stream in streams))
        systems.created_sources(broker.bootstrap, *(table.topic for table in tables))
        systems.created(broker.bootstrap, *{output.topic for output in job.spec.outputs})
        for table in tables:
            logs.write(broker.bootstrap, table.topic, columns.rows(table))
        spark = engines.PARADIGMS[system] is not Paradigm.RECORD
        launched = Launched(job, asked.code, slots=CORES, spark=spark)
        try:
            launched.start()
            launched.settle()
            running = Running(job, broker.bootstrap, launched, broker.pid or 0)
            if spark:
                _warm(running)
            yield running
        finally:
            launched.end()


def _started(asked: Asked, system: str, messages: Made, given: Given, settle: float, say: Callable[[str], None]) -> Run:
    with started(asked, system) as running:
        say(f"{running.job.metadata.name} works; {given.name} for {given.seconds:.0f} s")
        fed = _fed(running.job, running.bootstrap, messages, given, running.launched.look, running.parts)
        heard = Heard()
        with contextlib.suppress(DriverError):
            heard.moved(running.driver.observation().moves)
            heard.decided(running.driver.decisions())
        return _judged(asked, running.job, running.bootstrap, (system, given, settle), fed, heard)


def _observed(
    asked: Asked, bootstrap: str, messages: Made, given: Given, settle: float, say: Callable[[str], None]
) -> Run:
    """A job that runs elsewhere: only its topics are known."""
    say(f"feeding {', '.join(stream.topic for stream in asked.job.spec.streams)} on {bootstrap}")
    fed = _fed(asked.job, bootstrap, messages, given, lambda: None, {})
    return _judged(asked, asked.job, bootstrap, ("running", given, settle), fed, Heard())


@dataclasses.dataclass(frozen=True, slots=True)
class _Fed:
    load: Load
    looks: Sequence[Look]
    sent: Any
    used: Mapping[str, float]


def _fed(
    job: StreamJob, bootstrap: str, messages: Made, given: Given, look: Callable[[], None], parts: Mapping[str, int]
) -> _Fed:
    """Send the load, and wait until nothing comes any more."""
    watches = [_watch(bootstrap, topic) for topic in {output.topic for output in job.spec.outputs}]
    system = {name: process for name, process in parts.items() if name != "broker"}

    def looked() -> Look:
        look()
        return Look(time.time(), sum(watch.count() for watch in watches), sum(used(system).values()))

    with Feeder() as feeder:
        load, before = Load(time.time() + START, tuple(given.phases)), used(parts)
        pacing = feeder.pace(bootstrap, [stream.topic for stream in job.spec.streams], messages, load)
        looks = [looked()]
        while not pacing.done():
            time.sleep(courses.LOOK)
            looks.append(looked())
        sent = pacing.result()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and looks[-1].at - _changed(looks) < QUIET:
        time.sleep(courses.LOOK)
        looks.append(looked())
    for watch in watches:
        watch.close()
    took = {name: seconds - before[name] for name, seconds in used(parts).items()}
    return _Fed(load, looks, sent, {**took, "generator": sent.cpu})


def _changed(looks: Sequence[Look]) -> float:
    """When the newest result was seen, or the last message sent."""
    last = looks[-1].out
    return next((one.at for one in looks if one.out == last), looks[0].at)


def _watch(bootstrap: str, topic: str) -> Watch:
    reader = logs.reader(bootstrap)
    known = reader.list_topics(topic, timeout=logs.PATIENCE).topics[topic]
    reader.close()
    if known.error is not None:
        message = f"there is no topic {topic!r} on {bootstrap}"
        raise SpillwayError(message)
    return Watch(bootstrap, topic, len(known.partitions))


def _warm(running: Running) -> None:
    """Wait until batches could begin."""
    patience = time.monotonic() + engines.MEASURED
    while time.monotonic() < patience:
        running.launched.look()
        with contextlib.suppress(DriverError):
            standby = running.driver.observation().standby
            if standby.state is StandbyState.FAILED:
                raise EndedError(standby.problem)
            if standby.state in (StandbyState.WARM, StandbyState.OFF):
                return
        time.sleep(courses.LOOK)
    message = f"Spark is not warm after {engines.MEASURED:.0f} s"
    raise EndedError(message)


def _judged(
    asked: Asked, job: StreamJob, bootstrap: str, what: tuple[str, Given, float], fed: _Fed, heard: Heard
) -> Run:
    """What the verifier says of all that the topics hold."""
    system, _, settle = what
    access = Access(job.spec.kafka.model_copy(update={"bootstrap_servers": tuple(bootstrap.split(","))}))
    read = [*(s.topic for s in job.spec.streams), *(t.topic for t in job.spec.tables)]
    log = topics.Log()
    failure = topics.whole(access, read, [output.topic for output in job.spec.outputs], log)
    found = log.topics()
    # Here tables were loaded before the job began; elsewhere that is what the verifier takes to be known by itself.
    assumed = Assumptions(verifying.TABLES_FIRST if asked.bootstrap is None else 5_000)
    verdict, samples = verifying.sampled(job.spec, found, found, assumed, asked.code)
    judged = told(verdict, samples).since(fed.load.start)
    return Run(
        system,
        job.metadata.name,
        judged,
        fed.looks,
        fed.load,
        fed.load.start,
        fed.load.count,
        fed.sent.late,
        heard,
        failure or verdict.void,
        fed.used,
        fed.load.start + settle,
    )


def told(verdict: Verdict, samples: Sequence[Sample]) -> Judged:
    """A verdict of the verifier as a run has it: what is out of order is wrong."""
    at = np.array([sample.appended / 1000 for sample in samples], np.float64)
    took = np.array([sample.took + judging.EARLY for sample in samples], np.float64)
    order = np.argsort(at, kind="stable")
    at, took = at[order], took[order]
    wrong = verdict.wrong + verdict.reordered
    expected = sum(output.expected for output in verdict.outputs)
    return Judged(verdict.lost, wrong, verdict.duplicated, expected, verdict.records_out, at, took, at, took)
