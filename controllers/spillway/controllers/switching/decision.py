"""One decision per tick: which range of operators changes its paradigm, if any.

In this order:

1. A paused job holds.
2. While the last switch is under way nothing else is decided, for at most `PATIENCE`.
3. Every operator with a queue that works record by record, and every range that runs in batches, has its verdict
   (`rules`), and a hold where its telemetry is missing, late or senseless.
4. Switches to batches come first, then those back, then refusals, then holds; among equals the order of `Reason`, and
   then the topological one. One switch per tick; the next one is 100 to 250 ms away.

With `mode: advise` a switch ends in the action `Advise`, and is not noted as done.
"""

from __future__ import annotations

import dataclasses
import datetime
from types import MappingProxyType

from spillway.controllers.switching import bursts, measurements, ranges, rules
from spillway.controllers.switching.bursts import Burst
from spillway.controllers.switching.measurements import Observation
from spillway.controllers.switching.verdicts import Action, Decision, History, Pause, Reason, Switch, Verdict
from spillway.model.execution import Mode, Policy
from spillway.model.operators import Paradigm

# Prepare, switch, run takes one interval and some commits: about a second. After ten the driver that was to do it has
# died or is stuck, and the decision is made anew. Shorter: a slow switch is decided twice. Longer: a burst elsewhere
# waits for one that is stuck.
PATIENCE = datetime.timedelta(seconds=10)

_NONE = datetime.timedelta(0)
_TO = {Action.TO_BATCH: Paradigm.BATCH, Action.TO_RECORD: Paradigm.RECORD}


def decide(observation: Observation, policy: Policy, history: History, now: datetime.datetime) -> Decision:
    """What should change now; the rules are in the docstring of the module. Never raises for what was measured."""
    history = _remember(observation, history, now)
    if policy.paused:
        return _decision(_job(Reason.PAUSED, "hold: the job is paused"), (), policy, history, now)
    if left := _under_way(observation, history, now):
        last = history.last
        names = ", ".join(last.operators) if last else ""
        verdict = _job(Reason.IN_PROGRESS, f"hold: {names} still on the way to another paradigm", left)
        return _decision(verdict, (), policy, history, now)
    verdicts = [*_records(observation, policy, history, now)]
    back, calm = _batches(observation, policy, history, now)
    verdicts += back
    history = dataclasses.replace(history, calm=calm)
    if not verdicts:
        verdicts = [_job(Reason.NO_OPERATORS, "hold: no operator of the job has a queue in front of it")]
    order = list(Reason)
    chosen = min(verdicts, key=lambda verdict: order.index(verdict.reason))
    return _decision(chosen, tuple(verdicts), policy, history, now)


def _decision(
    chosen: Verdict, verdicts: tuple[Verdict, ...], policy: Policy, history: History, now: datetime.datetime
) -> Decision:
    """The verdict that speaks for the job, as its decision; a switch is noted, unless it is only advised."""
    action, to = chosen.action, _TO.get(chosen.action)
    if to is not None and policy.mode is Mode.ADVISE:
        action = Action.ADVISE
    elif to is not None:
        history = _noted(Switch(chosen.operators, to, now), chosen.point, history)
    return Decision(
        action,
        chosen.reason,
        chosen.point or None,
        chosen.operators if to else (),
        to,
        chosen.sentence,
        chosen.inputs,
        chosen.alternatives,
        verdicts,
        history,
        chosen.instead,
        chosen.again,
    )


def _noted(switch: Switch, point: str, history: History) -> History:
    """The history with a switch: its queues are no longer calm, and the next pause of its range is known."""
    calm = {name: since for name, since in history.calm.items() if name not in switch.operators}
    pauses, before = dict(history.pauses), history.pauses.get(point)
    if switch.to is Paradigm.BATCH:
        pauses[point] = Pause(rules.pause(before, switch.at))
    else:
        of_range = {name: pauses.get(name, Pause(rules.CALM)) for name in switch.operators}
        pauses.update({name: Pause(pause.length, switch.at) for name, pause in of_range.items()})
    return dataclasses.replace(history, last=switch, calm=MappingProxyType(calm), pauses=MappingProxyType(pauses))


def _job(reason: Reason, sentence: str, again: datetime.timedelta | None = None) -> Verdict:
    """A hold for the whole job."""
    return Verdict("", Action.HOLD, reason, sentence, again=again)


def _remember(observation: Observation, history: History, now: datetime.datetime) -> History:
    """Each new and sound measurement goes into its detector once; operators that are gone are forgotten."""
    states: dict[str, Burst] = {}
    seen: dict[str, datetime.datetime] = {}
    for node in observation.nodes:
        name, m = node.name, observation.measured.get(node.name)
        if name in history.bursts and name in history.seen:
            states[name], seen[name] = history.bursts[name], history.seen[name]
        if m is None or measurements.late(name, m.at, now) or measurements.wrong(name, m, now):
            continue
        if name not in seen or m.at > seen[name]:
            states[name] = bursts.observe(states.get(name, Burst()), m.rate, m.span)
            seen[name] = m.at
    return dataclasses.replace(history, bursts=MappingProxyType(states), seen=MappingProxyType(seen))


def _under_way(observation: Observation, history: History, now: datetime.datetime) -> datetime.timedelta | None:
    """How long the last switch may still take, if not all of its operators have got there."""
    last = history.last
    if last is None or (last.at.tzinfo is None) != (now.tzinfo is None):
        return None
    nodes = observation.by_name
    waits = any(name in nodes and nodes[name].paradigm is not last.to for name in last.operators)
    return last.at + PATIENCE - now if waits and _NONE <= now - last.at < PATIENCE else None


def _blind(observation: Observation, name: str, now: datetime.datetime) -> Verdict | None:
    """A hold where there is nothing to decide on."""
    m = observation.measured.get(name)
    if why := measurements.late(name, m.at if m else None, now):
        return Verdict(name, Action.HOLD, Reason.NO_TELEMETRY, f"hold: {why}")
    if m is not None and (why := measurements.wrong(name, m, now)):
        return Verdict(name, Action.HOLD, Reason.INVALID, f"hold: {why}")
    return None


def _records(observation: Observation, policy: Policy, history: History, now: datetime.datetime) -> list[Verdict]:
    """The verdicts of operators that work record by record."""
    return [
        _blind(observation, node.name, now)
        or rules.record_by_record(observation, node.name, history.bursts[node.name], policy.hysteresis)
        for node in observation.nodes
        if node.is_head and node.paradigm is not Paradigm.BATCH and node.pinned is not Paradigm.BATCH
    ]


def _batches(
    observation: Observation, policy: Policy, history: History, now: datetime.datetime
) -> tuple[list[Verdict], MappingProxyType[str, datetime.datetime]]:
    """The verdicts of ranges that run in batches, and since when each of their queues is calm."""
    verdicts, calm = [], {}
    for names in ranges.running(observation):
        of_heads = []
        for head in ranges.heads(observation, names) or names[:1]:
            verdict = _blind(observation, head, now) or rules.in_batches(
                head, observation.measured[head], history.bursts[head], policy.hysteresis
            )
            if verdict.action is Action.TO_RECORD:
                calm[head] = history.calm.get(head, now)
            of_heads.append(verdict)
        pauses = [history.pauses[name].length for name in names if name in history.pauses]
        verdicts.append(_back(names, of_heads, calm, max(pauses, default=rules.CALM), now))
    return verdicts, MappingProxyType(calm)


def _back(
    names: tuple[str, ...],
    of_heads: list[Verdict],
    calm: dict[str, datetime.datetime],
    pause: datetime.timedelta,
    now: datetime.datetime,
) -> Verdict:
    """The verdict of a range: the first of its queues that is against coming back, else how long all have been calm."""
    against = [verdict for verdict in of_heads if verdict.action is not Action.TO_RECORD]
    if against:
        return against[0]
    first = of_heads[0]
    left = pause - min(now - calm[verdict.point] for verdict in of_heads)
    if left > _NONE:
        return dataclasses.replace(
            first,
            action=Action.HOLD,
            reason=Reason.CALMING,
            sentence=f"hold: {first.sentence}; back in {left.total_seconds():.0f} s if that stays",
            operators=(),
            again=left,
        )
    sentence = f"back to record by record: {', '.join(names)}; {first.sentence}"
    return dataclasses.replace(first, sentence=sentence, operators=names)
