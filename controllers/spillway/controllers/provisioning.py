"""When a job is planned anew, and how much of everything the plan asks for.

A plan holds until one of these, in this order:

1. There is none yet: everything is open.
2. A switch was carried out: operators now run in another paradigm, and segments begin elsewhere.
3. More comes than it was made for, by `rise` (half of the headroom, so that the other half is still free meanwhile),
   and has for `LOOK`: whoever asks for pods in the first moment of a ramp has to ask again, and `cooldown` is between.
4. Less comes, by `policy.hysteresis`. How soon that is given back is `sizing`'s business.
5. It is `REVIEW` old: costs were measured anew since.

Slots of operators that are in batches for a burst are held, for they come back; and where batches can't keep the
promise either, as many are asked for as it takes to come back under this load.

From 2 on paradigms are as they run: a switch is `switching`'s to decide. In 3 to 5 segments stay as they are; where
that is not feasible others are tried, at most every `RETHINK`. Without fresh rates of all sources the plan that there
is holds: missing data is no calm.

The load that is planned for is V, as `bursts` estimates it for each source, and where it is on a ramp (`trends`) what
it will be when pods that are asked for now have started; and what it takes to get rid of a backlog within `DRAIN`. With
L records in front of a segment that takes in g records for each one of the sources,

    R = V + max over segments of (L - V·g·bound)⁺ / (g·DRAIN)

where V·g·bound wait anyway within the promise, as those that wait for a frame or a batch do.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from spillway.controllers import explain, trends
from spillway.controllers.explain import Alternative, Reasons
from spillway.controllers.planning import planner
from spillway.controllers.planning.plan import Plan, Planned
from spillway.controllers.planning.problem import Problem, Traits
from spillway.controllers.switching import bursts, measurements
from spillway.controllers.switching.bursts import Burst
from spillway.model.execution import Policy
from spillway.model.operators import Paradigm

# A review costs some milliseconds, up to a second for the largest jobs: 1 % of a core at the most. Shorter: for
# nothing, because costs are averages over longer than this. Longer: wrong costs are believed for longer.
REVIEW = datetime.timedelta(seconds=10)
# To find out that nothing is feasible means to try everything: up to a second for large jobs. Shorter: a job without
# room has no time for anything else. Longer: a job whose load has outgrown its segments waits for others.
RETHINK = datetime.timedelta(seconds=60)
# A backlog is late already, so it should go fast; but what is started for it is idle afterwards, for the whole
# scale-down delay. Pods need about ten seconds to start, so 10 s would pay for twice the backlog. 120 s: two minutes
# of broken promise after each burst.
DRAIN = 30.0
# Eight ticks of 200 ms: by then a ramp is told from a step, and the rate of a step is known to some per cent. A pod
# needs about six times as long to start. Longer: all of it is added to the delay of a burst.
LOOK = datetime.timedelta(seconds=1.6)
# The least rise that counts: what is left of noise when a rate is smoothed over two seconds.
RISE = 0.05
# Records per second: below, shares of a rate mean nothing.
IDLE = 1.0


class Reason(Reasons):
    """Why a job was planned anew, or was not."""

    FIRST = "First", "There was no plan yet."
    SWITCHED = "Switched", "Operators changed their paradigm, so segments begin elsewhere."
    LOAD_ROSE = "LoadRose", "More comes than the plan was made for, or a backlog has to go."
    LOAD_FELL = "LoadFell", "Less comes than the plan was made for."
    REVIEW = "Review", "Costs were measured anew since the plan was made."
    LOOKING = "Looking", "More comes than the plan was made for, but not for long enough to tell how much it will be."
    STEADY = "Steady", "The plan was made for this load."
    NO_TELEMETRY = "NoTelemetry", "Nothing fresh was measured at a source, so the plan is kept."


@dataclasses.dataclass(frozen=True, slots=True)
class Arrivals:
    """What came at one source, in records per second over the last `span`, raw."""

    at: datetime.datetime
    span: datetime.timedelta
    rate: float


@dataclasses.dataclass(frozen=True, slots=True)
class Backlog:
    """What waits in front of one segment, in records."""

    segment: str
    queue: float


@dataclasses.dataclass(frozen=True, slots=True)
class History:
    """What is remembered between ticks: detectors of the sources, and the plan with what it was made for.

    `recent` has the last rates of each source, `rising` since when more comes than was planned for, `rethought` when
    other segments were last thought of. `slots` is the most that a plan asked for since operators went to batches: they
    come back, and need them then.
    """

    sources: Mapping[str, Burst] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    seen: Mapping[str, datetime.datetime] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    recent: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    rising: datetime.datetime | None = None
    rethought: datetime.datetime | None = None
    planned: Planned | None = None
    workload: Mapping[str, float] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    at: datetime.datetime | None = None
    slots: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Provision:
    """The decision. `slots` and `cores` are what is needed now; None when nobody can tell."""

    reason: Reason
    sentence: str
    inputs: explain.Inputs
    alternatives: tuple[Alternative, ...]
    planned: Planned | None
    slots: int | None
    cores: int | None
    history: History

    @property
    def plan(self) -> Plan | None:
        """The plan that holds."""
        return self.planned.plan if self.planned else None


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    """How the job runs now.

    Attributes:
        batches: the operators that run in batches.
        visiting: those of them that are there for a burst, and will come back.
        switched: when the last switch was decided that has been carried out.
    """

    batches: frozenset[str] = frozenset()
    visiting: frozenset[str] = frozenset()
    switched: datetime.datetime | None = None


def decide(
    problem: Problem,
    arrivals: Mapping[str, Arrivals | None],
    backlogs: Iterable[Backlog],
    running: Running,
    policy: Policy,
    history: History,
    now: datetime.datetime,
) -> Provision:
    """The plan that holds now; `problem` has costs as they are known, and its workload is not looked at."""
    names = sorted(node.name for node in problem.flow.sources)
    if blind := _blind(names, arrivals, now):
        return _kept(Reason.NO_TELEMETRY, f"hold: {blind}", (), history, blind=True)
    history = _remember(names, arrivals, history)
    rates = {name: _expected(name, arrivals[name], history) for name in names}
    workload = _with_backlog(rates, backlogs, problem.promise.bound, history)
    reason, why = _due(workload, running, policy, history, now)
    rising = (history.rising or now) if reason is Reason.LOAD_ROSE else None
    history = dataclasses.replace(history, rising=rising)
    if rising is not None and datetime.timedelta(0) <= now - rising < LOOK:
        return _kept(Reason.LOOKING, f"hold for {LOOK.total_seconds():g} s: {why}", _inputs(workload), history)
    if reason is Reason.STEADY:
        return _kept(reason, why, _inputs(workload), history)
    problem = dataclasses.replace(problem, workload=workload)
    planned, rethought = _plan(problem, reason, running, history, now)
    slots = planned.plan.slots if planned.plan else 0
    if running.visiting and not planned.feasible:
        slots = max(slots, _way_back(problem, running))
    history = dataclasses.replace(
        history,
        planned=planned,
        workload=MappingProxyType(workload),
        at=now,
        rising=None,
        rethought=rethought,
        slots=max(slots, history.slots) if running.visiting else slots,
    )
    sentence = f"{why}; {planned.sentence}"
    return Provision(reason, sentence, _inputs(workload), planned.alternatives, planned, *_sizes(history), history)


def _kept(reason: Reason, sentence: str, inputs: explain.Inputs, history: History, *, blind: bool = False) -> Provision:
    """The plan that there is; who sees nothing asks for nothing."""
    slots, cores = (None, None) if blind else _sizes(history)
    return Provision(reason, sentence, inputs, (), history.planned, slots, cores, history)


def _sizes(history: History) -> tuple[int | None, int | None]:
    plan = history.planned.plan if history.planned else None
    return (max(plan.slots, history.slots), plan.cores) if plan else (None, None)


def _blind(names: list[str], arrivals: Mapping[str, Arrivals | None], now: datetime.datetime) -> str:
    """What is missing, or makes no sense; nothing when all is well."""
    for name in names:
        seen = arrivals.get(name)
        if problem := measurements.late(name, seen.at if seen else None, now):
            return problem
        if seen is None:  # `late` has said so
            continue
        if problem := measurements.misdated(name, seen.at, now):
            return problem
        if not measurements.sound(seen.rate) or seen.span <= datetime.timedelta(0):
            return f"the arrival rate of `{name}` is {seen.rate} over {seen.span.total_seconds()} s"
    return ""


def _remember(names: list[str], arrivals: Mapping[str, Arrivals | None], history: History) -> History:
    """Each new measurement goes into its detector once; sources that are gone are forgotten."""
    sources: dict[str, Burst] = {}
    seen: dict[str, datetime.datetime] = {}
    recent: dict[str, tuple[float, ...]] = {}
    for name in names:
        fresh = arrivals[name]
        if fresh is None:  # `_blind` has answered then
            continue
        sources[name], seen[name] = history.sources.get(name, Burst()), fresh.at
        recent[name] = history.recent.get(name, ())
        if name not in history.seen or fresh.at > history.seen[name]:
            sources[name] = bursts.observe(sources[name], fresh.rate, fresh.span)
            recent[name] = (*recent[name], fresh.rate)[-trends.TICKS :]
    return dataclasses.replace(
        history, sources=MappingProxyType(sources), seen=MappingProxyType(seen), recent=MappingProxyType(recent)
    )


def _expected(name: str, fresh: Arrivals | None, history: History) -> float:
    """V; on a ramp, where it will be when what is asked for now has started."""
    rate, span = history.sources[name].rate, fresh.span.total_seconds() if fresh else 0.0
    return rate + trends.slope(history.recent[name], span) * trends.AHEAD


def _with_backlog(
    rates: Mapping[str, float], backlogs: Iterable[Backlog], bound: float, history: History
) -> dict[str, float]:
    """R of the docstring above, for each source in proportion to its rate."""
    plan = history.planned.plan if history.planned else None
    made_for = math.fsum(history.workload.values())
    if plan is None or made_for <= 0:
        return dict(rates)
    total = math.fsum(rates.values())
    taken = {segment.name: segment.load.rate_in / made_for for segment in plan.segments}
    extra = 0.0
    for backlog in backlogs:
        gain = taken.get(backlog.segment, 0.0)
        if gain > 0 and measurements.sound(backlog.queue):
            extra = max(extra, (backlog.queue - total * gain * bound) / (gain * DRAIN))
    if not extra:
        return dict(rates)
    shares = {name: rate / total if total else 1 / len(rates) for name, rate in rates.items()}
    return {name: rate + extra * shares[name] for name, rate in rates.items()}


def _due(
    workload: Mapping[str, float], running: Running, policy: Policy, history: History, now: datetime.datetime
) -> tuple[Reason, str]:
    """Whether to plan anew, and why; the rules are those of the module."""
    if history.planned is None or history.at is None or workload.keys() != history.workload.keys():
        return Reason.FIRST, "planned for the first time"
    if running.switched is not None and running.switched > history.at:
        return Reason.SWITCHED, f"in batches now: {', '.join(sorted(running.batches)) or 'nothing'}"
    rise, fall = 1 + max(RISE, policy.headroom / 2), 1 - policy.hysteresis
    for name, rate in sorted(workload.items()):
        before = max(history.workload[name], IDLE)
        if rate > before * rise:
            return Reason.LOAD_ROSE, f"{rate:.0f}/s to be done from `{name}`, planned were {before:.0f}/s"
    for name, rate in sorted(workload.items()):
        before = history.workload[name]
        if before > IDLE and rate < before * fall:
            return Reason.LOAD_FELL, f"{rate:.0f}/s to be done from `{name}`, planned were {before:.0f}/s"
    if now - history.at >= REVIEW:
        return Reason.REVIEW, f"the plan is {(now - history.at).total_seconds():.0f} s old"
    return Reason.STEADY, "hold: the plan was made for this load"


def _plan(
    problem: Problem, reason: Reason, running: Running, history: History, now: datetime.datetime
) -> tuple[Planned, datetime.datetime | None]:
    """The plan, with segments as they are if that will do; and when others were last thought of."""
    if reason is Reason.FIRST:
        return planner.plan(problem), None
    problem = _as_it_runs(problem, running)
    keep = history.planned.plan if history.planned and reason is not Reason.SWITCHED else None
    if keep is not None:
        kept, last = planner.plan(problem, keep=keep), history.rethought
        if kept.feasible or (last is not None and datetime.timedelta(0) <= now - last < RETHINK):
            return kept, last
        return planner.plan(problem), now
    return planner.plan(problem), history.rethought


def _way_back(problem: Problem, running: Running) -> int:
    """The slots with which those that went to batches could come back, which do not keep up there."""
    back = dataclasses.replace(running, batches=running.batches - running.visiting)
    plan = planner.plan(_as_it_runs(problem, back)).plan
    return plan.slots if plan else 0


def _as_it_runs(problem: Problem, running: Running) -> Problem:
    """Every operator is pinned to the paradigm that it runs in."""
    batches, pins = running.batches, {True: Paradigm.BATCH, False: Paradigm.RECORD}
    traits = {
        node.name: dataclasses.replace(problem.traits.get(node.name, Traits()), pinned=pins[node.name in batches])
        for node in problem.flow.nodes
        if node.name not in problem.topics
    }
    return dataclasses.replace(problem, traits=MappingProxyType(traits))


def _inputs(workload: Mapping[str, float]) -> explain.Inputs:
    return tuple((name, f"{rate:.0f}/s") for name, rate in sorted(workload.items()))
