"""Records as a fluid: a job under a trace, in steps of 100 ms.

In each step records come as the trace says, and every segment does what its slots or its batch can do, in topological
order; what it can't do waits in its log, first in, first out, and holds nobody back. So what a record waited is exact
but for half a step, and on top of it comes the base of `points`. A policy is asked as often as it wants to be, gets
what telemetry would say with errors of measuring, and what it wishes for takes the time that the platform needs.

What it leaves out: keys and partitions of different weight; records that are done again after a crash (those since
the last commit, half a second of work of one slot); ways of different length to several ends, which all get the base
of the longest. `events` has single records, and says how far this can be trusted.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence

from spillway.model.operators import Paradigm
from spillway.simulation import crews, policies, runs, wishes
from spillway.simulation.crews import Cores, Crew
from spillway.simulation.jobs import Blind, Death, Fault, Job, Platform, Slow, Start
from spillway.simulation.meters import Meter
from spillway.simulation.points import Point, Points
from spillway.simulation.policies import Policy
from spillway.simulation.runs import Event, Kind, Row, Run, SegmentRow, Totals
from spillway.simulation.stages import Stage
from spillway.simulation.telemetry import Telemetry
from spillway.simulation.traces import Trace

STEP = 0.1  # seconds; half of it is what a wait can be off. Shorter: more exact, and as much slower.
ERROR = 0.02  # of what is measured, one standard deviation: timing 1 record in 64 is off by that within a second
HOUR = 3600.0


def run(
    job: Job,
    trace: Trace,
    policy: Policy,
    start: Mapping[str, Start],
    platform: Platform | None = None,
    *,
    shared: int = 0,
    faults: Sequence[Fault] = (),
    seed: int = 0,
    error: float = ERROR,
    step: float = STEP,
    every: float = 1.0,
) -> Run:
    """A job from its start to the end of the trace.

    Args:
        job: what runs, with its true costs.
        trace: the rate of each source.
        policy: who decides.
        start: how each segment begins.
        platform: how long things take.
        shared: slots of the segments that share theirs, at the start.
        faults: what goes wrong.
        seed: of the errors of measuring, the only thing that is random.
        error: one standard deviation of what is measured, as a share of it.
        step: seconds of a step.
        every: seconds of a row of the result, a multiple of `step`.
    """
    _check(job, trace, start)
    telemetry = Telemetry(job, seed, error)
    fluid = Fluid(job, trace, start, platform or Platform(), shared)
    return fluid.run(policy, telemetry, sorted(faults, key=lambda fault: fault.at), step, every)


class Fluid:
    """The job, moment by moment; `run` is the front door."""

    def __init__(self, job: Job, trace: Trace, start: Mapping[str, Start], platform: Platform, shared: int) -> None:
        self.job, self.trace, self.platform = job, trace, platform
        self.points, self.meter = Points(job), Meter(job.promise)
        self.pool = Crew(shared, platform)
        self.cores = Cores(max(platform.cores, sum(segment.cores for segment in start.values())), platform)
        self.stages: dict[str, Stage] = {}
        for node in job.flow.nodes:
            crew = self.pool if node.name in job.shares else Crew(0, platform)
            if node.name in start and crew is not self.pool:
                crew = Crew(start[node.name].slots, platform)
            stage = self.stages[node.name] = Stage(job, node, crew, platform)
            if node.name in start:
                stage.paradigm, stage.cores_asked = start[node.name].paradigm, start[node.name].cores
        own = [stage.crew for stage in self.stages.values() if not stage.topic and stage.crew is not self.pool]
        self.crews = [*own, self.pool]
        self.of_crew = {crew: [s for s in self.stages.values() if s.crew is crew] for crew in self.crews}
        self.readers = {
            node.name: [
                (float(output.selectivity), self.stages[reader])
                for output in node.outputs
                for reader in job.flow.readers[output.name]
            ]
            for node in job.flow.nodes
        }
        self.ends = {
            node.name
            for node in job.flow.nodes
            if not node.outputs or any(not job.flow.readers[output.name] for output in node.outputs)
        }
        self.events: list[Event] = []
        self.rows: list[Row] = []
        self.slot_seconds = self.core_seconds = 0.0
        self.predicted: float | None = None
        self.blind: list[Blind] = []

    def run(self, policy: Policy, telemetry: Telemetry, faults: Sequence[Fault], step: float, every: float) -> Run:
        """All steps of the trace."""
        coming, asked, interval = list(faults), 0.0, policy.every.total_seconds()
        per_row = max(1, round(every / step))
        sent = dict.fromkeys(self.trace.sources, 0.0)
        for n in range(math.ceil(self.trace.length / step - 1e-9)):
            now, end = n * step, (n + 1) * step
            while coming and coming[0].at <= now:
                self._fail(coming.pop(0), now)
            self._advance(now)
            point = self._step(now, end, sent)
            if end - asked >= interval - step / 2:
                self.blind = [blind for blind in self.blind if now < blind.at + blind.length]
                seen = telemetry.look(
                    end - asked, self.stages, point.costs, self.crews, self.cores, self.meter.latest, self.blind
                )
                asked = end
                wish = policy.decide(seen, policies.EPOCH + datetime.timedelta(seconds=end))
                self.predicted = wish.predicted
                self.events += wishes.carry_out(wish, self.stages, self.pool, self.cores, self.platform, end)
            if (n + 1) % per_row == 0:
                self._row(end - per_row * step, end, per_row * step)
        return self._finished(sum(sent.values()), every)

    def _fail(self, fault: Fault, now: float) -> None:
        """A fault begins."""
        if isinstance(fault, Blind):
            self.blind.append(fault)
            names = (fault.segment,) if fault.segment else ()
            sentence = f"metrics of {fault.segment or 'all segments'} are missing for {fault.length:g} s"
        else:
            names, crew = (fault.segment,), self.stages[fault.segment].crew
            if isinstance(fault, Death):
                aside = crew.die(now)
                sentence = f"a slot of `{fault.segment}` dies"
            else:
                aside = crew.slow(now, fault.length, fault.speed)
                sentence = f"a slot of `{fault.segment}` works at {fault.speed:.0%} for {fault.length:g} s"
            if aside is None:
                return
            for stage in self.of_crew[crew]:
                stage.divide(aside)
        kind = {Death: "Death", Slow: "Slow", Blind: "Blind"}[type(fault)]
        self.events.append(Event(now, Kind.FAULT, names, {}, {}, kind, sentence))

    def _advance(self, now: float) -> None:
        """Slots that start, join, leave and die."""
        cores = self.cores
        if cores.starting:
            cores.advance(now)
        wanted = sum(stage.cores_asked for stage in self.stages.values() if stage.paradigm is Paradigm.BATCH)
        share = min(1.0, cores.working / wanted) if wanted else 0.0
        for stage in self.stages.values():
            stage.cores = stage.cores_asked * share if stage.paradigm is Paradigm.BATCH else 0.0
        for crew in self.crews:
            if not crew.idle:
                stages = self.of_crew[crew]
                crew.still = all(stage.paradigm is Paradigm.BATCH for stage in stages)
                for aside in crew.advance(now):
                    for stage in stages:
                        stage.reunite(aside)
                moved = crew.move(now)
                if moved is not None:
                    for stage in stages:
                        stage.divide(moved)
        for crew, aside in crews.restart(self.crews, now, self.platform):
            for stage in self.of_crew[crew]:
                stage.divide(aside)

    def _step(self, now: float, end: float, sent: dict[str, float]) -> Point:
        """Records come, and every segment does what it can."""
        middle, span, rates = (now + end) / 2, end - now, []
        for name in self.points.sources:
            until = self.trace.records(name, end)
            records = until - sent[name]
            sent[name] = until
            rates.append(records / span)
            if records > 0:
                self.stages[name].put(records, middle, middle)
        point = self.points.at(rates, tuple([stage.size for stage in self.stages.values()]))
        costs, pooled = point.costs, self._pooled(point.costs, span)
        for name, stage in self.stages.items():
            crew = stage.crew
            slots = pooled[name] if crew is self.pool else crew.main
            done = stage.step(now, end, slots, costs[name])
            if not done:
                continue
            for selectivity, reader in self.readers[name]:
                if selectivity > 0:
                    for records, born, left in done:
                        reader.put(records * selectivity, born, left)
            if name in self.ends:
                self.meter.add(done, point)
        for crew in self.crews:
            self.slot_seconds += crew.paid * span
        self.core_seconds += self.cores.asked * span
        return point

    def _pooled(self, costs: Mapping[str, float], span: float) -> dict[str, float]:
        """The slots that segments share, to each what it needs for what waits; in the same proportion if too few."""
        stages = self.of_crew[self.pool]
        if not stages:
            return {}
        wants = {stage.name: stage.wants * costs[stage.name] / span for stage in stages}
        total, there = sum(wants.values()), self.pool.main
        if total <= there:  # what comes from upstream within this step is done as well
            spare = (there - total) / len(stages)
            return {name: want + spare for name, want in wants.items()}
        return {name: want * there / total for name, want in wants.items()}

    def _row(self, at: float, end: float, length: float) -> None:
        """What the last stretch was like."""
        latency, done, within = self.meter.row()
        stages = [stage for stage in self.stages.values() if not stage.topic]
        if latency is None:
            latency = max([0.0, *(end - stage.oldest for stage in stages if stage.oldest is not None)])
        segments = {stage.name: SegmentRow(stage.crew.working, stage.paradigm, stage.queue) for stage in stages}
        self.rows.append(
            Row(
                at,
                sum(self.trace.records(name, end) - self.trace.records(name, at) for name in self.trace.sources)
                / length,
                done / length,
                latency,
                within / done if done else None,
                self.predicted,
                sum(crew.paid for crew in self.crews),
                self.cores.asked,
                sum(segment.queue for segment in segments.values()),
                segments,
            )
        )

    def _finished(self, sent: float, every: float) -> Run:
        """The totals."""
        _, _, _ = self.meter.row()
        bound, end = self.job.promise.bound, self.trace.length
        gains = self._gains()
        late = sum(stage.late(end - bound) * gains[stage.name] for stage in self.stages.values())
        counted = self.meter.done + late
        within = self.meter.within / counted if counted else 1.0
        beyond = list(runs.stretches(tuple(self.rows), bound, every))
        totals = Totals(
            sent,
            self.meter.done,
            sum(stage.queue for stage in self.stages.values()),
            within,
            within >= self.job.promise.quantile,
            self.slot_seconds / HOUR,
            self.core_seconds / HOUR,
            sum(event.kind is Kind.RESIZE for event in self.events),
            sum(event.kind is Kind.SWITCH for event in self.events),
            max((row.latency for row in self.rows), default=0.0),
            sum(beyond),
            max(beyond, default=0.0),
        )
        return Run(bound, self.job.promise.quantile, every, tuple(self.rows), tuple(self.events), totals)

    def _gains(self) -> dict[str, float]:
        """How many records of the last segments one record in front of a segment will be."""
        gains: dict[str, float] = {}
        for node in reversed(self.job.flow.nodes):
            further = sum(selectivity * gains[reader.name] for selectivity, reader in self.readers[node.name])
            gains[node.name] = further + (1.0 if node.name in self.ends else 0.0)
        return gains


def _check(job: Job, trace: Trace, start: Mapping[str, Start]) -> None:
    """Refuse what does not fit together."""
    sources = {node.name for node in job.flow.sources}
    if set(trace.sources) != sources:
        message = f"the trace has rates of {sorted(trace.sources)}, and the sources of the job are {sorted(sources)}"
        raise ValueError(message)
    missing = sorted(set(job.segments) - set(start) - job.shares)
    if missing:
        message = f"nothing is said about how {', '.join(missing)} begin; give a start for each segment"
        raise ValueError(message)
