"""What a policy gets to see: the counters of a simulated job, with the errors of measuring, and holes."""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping, Sequence

from spillway.model.operators import Paradigm
from spillway.simulation.crews import Cores, Crew
from spillway.simulation.jobs import Blind, Job
from spillway.simulation.policies import Seen, SegmentSeen
from spillway.simulation.stages import Counters, Stage


class Telemetry:
    """Counts from one look to the next; `error` is one standard deviation of what is measured, as a share of it."""

    def __init__(self, job: Job, seed: int, error: float) -> None:
        self.job = job
        self.error = error
        self.dice = random.Random(f"telemetry {seed}")  # noqa: S311 - a simulation, no secret

    def look(
        self,
        span: float,
        stages: Mapping[str, Stage],
        costs: Mapping[str, float],
        crews: Sequence[Crew],
        cores: Cores,
        latency: float | None,
        missing: Sequence[Blind],
    ) -> Seen:
        """The time since the last look; what is counted begins anew."""
        dark = {blind.segment for blind in missing}
        segments: dict[str, SegmentSeen | None] = {}
        sources: dict[str, float | None] = {}
        for name, stage in stages.items():
            seen, stage.seen = stage.seen, Counters()
            hidden = None in dark or name in dark
            if self.job.flow[name].is_source:
                sources[name] = None if hidden else self._measured(seen.came / span)
            if not stage.topic:
                segments[name] = None if hidden else self._segment(stage, seen, span, costs[name], cores)
        return Seen(
            datetime.timedelta(seconds=span),
            segments,
            sources,
            None if None in dark else latency,
            (sum(crew.asked for crew in crews), sum(crew.working for crew in crews)),
            (cores.asked, cores.working),
        )

    def _segment(self, stage: Stage, seen: Counters, span: float, cost: float, cores: Cores) -> SegmentSeen:
        crew = stage.crew
        in_batches = stage.paradigm is Paradigm.BATCH
        able = stage.cores if in_batches else cores.working
        done = self._measured(seen.done / span)
        workers = stage.cores if in_batches else crew.working
        busy = self._measured(seen.busy / span / workers) if workers else 0.0
        possible = stage.name in self.job.batchable and able > 0 and cost > 0
        return SegmentSeen(
            self._measured(seen.came / span),
            done,
            {output.name: done * float(output.selectivity) for output in self.job.flow[stage.name].outputs},
            min(1.0, busy),
            stage.queue,
            crew.asked,
            crew.working,
            round(stage.cores) if in_batches else 0,
            stage.paradigm,
            stage.switching,
            self._measured(able * stage.speedup / cost) if possible else None,
        )

    def _measured(self, value: float) -> float:
        return value * max(0.0, self.dice.gauss(1, self.error)) if value else 0.0
