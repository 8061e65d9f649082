"""From what a driver knows to what it tells: the parts of `observation`. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from types import MappingProxyType

from spillway.controllers.protocol import log
from spillway.controllers.protocol.values import Holding, Owner, Partition
from spillway.controllers.provisioning import Provision
from spillway.model import observation
from spillway.model.execution import Latency as Promised
from spillway.model.operators import Paradigm
from spillway.runtime.driver import observing
from spillway.runtime.driver.conditions import Kind, Reason, condition
from spillway.runtime.driver.executors import Need
from spillway.runtime.driver.observing import Rates, Seen
from spillway.runtime.driver.paradigms import Paradigms
from spillway.runtime.driver.reports import Reports
from spillway.runtime.programs.program import Program
from spillway.runtime.telemetry import Latency

_SHOWN = 6  # partitions in a message; more are counted


def plan(state: log.State) -> observation.Plan | None:
    """The plan as the log has it."""
    if state.plan is None:
        return None
    segments = tuple(
        observation.PlannedSegment(
            one.name,
            one.operators,
            one.paradigm,
            one.parallelism,
            one.frame,
            dict(one.deadlines),
            one.program,
            one.partitions,
            one.whole,
        )
        for one in state.plan.segments
    )
    return observation.Plan(state.plan.number, segments)


def slots(
    state: log.State, reports: Reports, seen: Seen, silent: Collection[Owner], leaving: Collection[Owner]
) -> tuple[observation.Slot, ...]:
    """Every life that is not over."""
    held: dict[Owner, int] = {}
    for place in state.holdings:
        if owner := state.owner(place):
            held[owner] = held.get(owner, 0) + 1
    found = []
    for name in sorted(state.members):
        life = state.living(name)
        if life is None:
            continue
        last = reports.last(life)
        found.append(
            observation.Slot(
                life.slot,
                life.incarnation,
                life in silent,
                life in leaving,
                seen.busy.get(life),
                seen.cpu.get(life),
                last.report.memory if last else None,
                held.get(life, 0),
                last.report.address if last else "",
            )
        )
    return tuple(found)


def segments(
    state: log.State, seen: Seen, programs: Mapping[str, Program], paradigms: Paradigms
) -> tuple[observation.Segment, ...]:
    """The segments of the plan, at work."""
    found = []
    for one in state.plan.segments if state.plan else ():
        work = seen.works.get(one.name)
        moving = sum(_is_moving(h) for place, h in state.holdings.items() if place.segment == one.name)
        program = programs.get(one.name)
        steps = [step.name for step in program.steps] if program else []
        operators = tuple(_operator(name, work.flows.get(name) if work else None) for name in steps)
        known = paradigms.known.get(one.name)
        found.append(
            observation.Segment(
                one.name,
                work.came if work else None,
                work.left if work and not (known and known.runs is Paradigm.BATCH) else None,  # batches don't count it
                work.lag if work else None,
                work.busy if work else None,
                one.partitions,
                work.working if work else 0,
                moving,
                operators,
                known.runs if known else Paradigm.RECORD,
                paradigms.batch(one.name),
                dict(work.phases) if work else {},
            )
        )
    return tuple(found)


def _is_moving(holding: Holding) -> bool:
    move = holding.move
    return move is not None and not (move.heir is None and move.cut is not None)


def _operator(name: str, rates: Rates | None) -> observation.Operator:
    if rates is None:
        return observation.Operator(name, None, None, None, None)
    micros = rates.cost * 1e6 if rates.cost is not None else None
    return observation.Operator(name, rates.came, rates.went, rates.errors, micros)


def promise(promised: Promised, seen: Seen) -> observation.Promise:
    """The promise, and how it is kept."""
    total, longest = Latency(), 0.0
    outputs = {}
    for name, (latency, seconds) in sorted(seen.latencies.items()):
        total, longest = observing.added(total, latency), max(longest, seconds)
        outputs[name] = _latency(latency, seconds)
    of_all = _latency(total, longest)
    bound = promised.bound.seconds * 1e3
    return observation.Promise(
        promised.quantile, bound, of_all.within, of_all.p50_ms, of_all.p99_ms, of_all.rate, outputs
    )


def _latency(latency: Latency, seconds: float) -> observation.Latency:
    if seconds <= 0:
        return observation.Latency(None, None, None, None)
    within = latency.within / latency.count if latency.count else None
    return observation.Latency(
        within, _finite(latency.quantile(0.5)), _finite(latency.quantile(0.99)), latency.count / seconds
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def rate_in(seen: Seen) -> float | None:
    """Records per second of all topics of the user that are read into the job."""
    known = [arrivals.rate for arrivals in seen.arrivals.values() if arrivals is not None]
    return math.fsum(known) if known else None


def recommended(provision: Provision | None, each: int, need: Need | None = None) -> observation.Recommended:
    """What the load needs, in slots, in workers of so many slots, and in executors where Spark has some of its own."""
    executors = need.executors if need is not None else None
    more = f"; {need.sentence}" if need is not None else ""
    if provision is None:
        return observation.Recommended(None, None, "Starting", f"nothing was decided yet{more}", executors)
    workers = None if provision.slots is None else math.ceil(provision.slots / each)
    sentence = f"{provision.sentence}{more}"
    return observation.Recommended(provision.slots, workers, str(provision.reason), sentence, executors)


def idle(
    state: log.State, seen: Seen, programs: Mapping[str, Program], resting: Collection[Partition]
) -> list[Partition]:
    """Partitions of the plan that shall run, and on which nobody works."""
    found = []
    for one in state.plan.segments if state.plan else ():
        for number in range(one.partitions):
            place = Partition(one.name, number)
            told = seen.places.get(place)
            if place not in resting and one.name in programs and (told is None or not told.working):
                found.append(place)
    return found


def halted(seen: Seen) -> dict[Partition, str]:
    """Partitions whose owners say why they do not go on."""
    return {where: place.problem for where, place in sorted(seen.places.items()) if place.problem}


def ended(reports: Reports, state: log.State) -> dict[str, str]:
    """Why the life before that of a slot has ended, where that was lately."""
    lives = [owner for name in state.members if (owner := state.living(name))]
    last = {owner: heard.report.problem for owner in lives if (heard := reports.last(owner))}
    return {owner.slot: problem for owner, problem in last.items() if problem}


def assigned(
    waiting: list[Partition],
    failed: Mapping[Partition, str],
    slots: int,
    halts: Mapping[Partition, str] = MappingProxyType({}),
    ends: Mapping[str, str] = MappingProxyType({}),
) -> observation.Condition:
    """Whether every partition that shall has an owner that works; what nobody but a person can mend comes first."""
    if halts:
        place, why = next(iter(halts.items()))
        more = f" (and {len(halts) - 1} more)" if len(halts) > 1 else ""
        return condition(Kind.ASSIGNED, False, Reason.HALTED, f"{place}{more}: {why}")
    if failed:
        place, why = next(iter(failed.items()))
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        return condition(Kind.ASSIGNED, not waiting, Reason.MOVES_FAIL, f"{place}{more}: {why}")
    if not waiting:
        return condition(Kind.ASSIGNED, True, Reason.WORKING)
    if not slots:
        return condition(Kind.ASSIGNED, False, Reason.NO_SLOTS, "no slot has joined; start workers")
    shown = ", ".join(map(str, waiting[:_SHOWN])) + (f" and {len(waiting) - _SHOWN} more" * (len(waiting) > _SHOWN))
    last = "".join(f"; {slot} began anew: {why}" for slot, why in ends.items())
    return condition(Kind.ASSIGNED, False, Reason.STARTING, f"nobody works yet on {shown}{last}")
