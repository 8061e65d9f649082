"""The same trace under other policies: what people run today, each at settings that its authors or users recommend.

    static      as many slots as the plan for the highest rate has, all the time: what one does without a policy
    threshold   a slot more above 80 % utilisation, a slot less below 40 %; partitions move as Spillway's do
    keda        a Deployment for each segment, scaled by lag; a change of size rebalances its consumer group
    flink       Flink's autoscaler with its settings for quick scaling; a change of size restarts the job
    stela       congested operators first, by effective throughput; four slots in a round, and partitions move

All have the same room, start as Spillway does, and know of no batches. `spillway.bench.policies` compares the same on
traces of its own, with several seeds, and with the lag threshold that is best for each trace.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from spillway.bench.rivals.flink import FAST, Flink
from spillway.bench.rivals.keda import Keda
from spillway.bench.rivals.stela import Stela
from spillway.bench.rivals.threshold import Threshold
from spillway.controllers.planning.plan import Plan
from spillway.simulation import fluid, steered
from spillway.simulation.jobs import Job, Mechanism, Platform, Start
from spillway.simulation.policies import Policy, Static
from spillway.simulation.runs import Run
from spillway.simulation.traces import Trace

# Seconds of a pod's capacity that make lagThreshold. Below 2.5 consumers have something to spare at a steady load,
# because records of 2.5 s on average are done and not committed; 1.5 keeps 40 % free.
LAG = 1.5


def rivals(job: Job, peak: Plan, begins: Plan, trace: Trace, platform: Platform) -> Iterator[tuple[str, Run]]:
    """What comes out under each of them; `begins` is the plan that Spillway starts with."""
    platform = dataclasses.replace(platform, cores=0)
    start = {segment.name: Start(max(1, segment.parallelism)) for segment in begins.segments}
    pool = steered.pooled(job)
    nothing = dict.fromkeys(pool.segments, Start(0))
    yield "static", fluid.run(pool, trace, Static(), nothing, platform, shared=max(1, peak.slots + peak.cores))
    apart = dataclasses.replace(job, shares=frozenset())
    for name, policy, mechanism in _policies(apart, begins):
        on = dataclasses.replace(platform, mechanism=mechanism)
        yield name, fluid.run(apart, trace, policy, start, on)


def _policies(job: Job, begins: Plan) -> Iterator[tuple[str, Policy, Mechanism]]:
    each = {segment.name: segment.load.capacity / max(1, segment.parallelism) for segment in begins.segments}
    lags = {name: max(1.0, LAG * rate) if math.isfinite(rate) else math.inf for name, rate in each.items()}
    yield "threshold", Threshold(), Mechanism.MOVES
    yield "keda", Keda(lags, job.partitions), Mechanism.GROUP
    yield "flink", Flink(job.flow, job.partitions, FAST), Mechanism.RESTART
    yield "stela", Stela(job.flow), Mechanism.MOVES
