"""Step 2, platform capability (SWP, section 4.2): more tasks for sources and sinks until the platform gives no more.

Algorithm 2 compares T with T_b, the best so far, by the t-test of `significance`:

- T rose: it is the new base. The latency is beyond its bound: enhance the sinks, else the sources (lines 1 to 7).
- T did not change, or fell to no less than alpha·T_b: the other side's turn, on top of what there is (lines 8 to 14,
  27 to 32).
- T fell below alpha·T_b: back to the best deployment, and throttle the sources (lines 23 to 26).
- throttled: done when the latency is within its bound, else throttle more (lines 15 to 20).

What differs; all of it rests on Eq. 2, which every round measures anyway, and saves rounds:

1. How many tasks. The paper adds one task to the sources, or R to the sinks. Here each round *aims* at g·T_b: operator
   i has n_i·U_i busy tasks now (U_i is its capacity by Eq. 2), so it gets n_i·U_i·g. What R was rounded off comes
   back, and the number of rounds is a logarithm.
2. Which side. Whoever can't reach the aim is enhanced, sources and sinks together if it is both. One at a time, every
   second round would show no change, because the other side had become the narrow one. A side that is not busy gets
   no turn.
3. How far. g = 3 while nobody is disturbed, 1.5 while records take up to a quarter longer than undisturbed, 1.2 up to
   k·MinLp, and nothing beyond: then tasks wait for cores, not for records. The paper's steps don't know how near the
   limit is, and overshoot it.
4. Back. A long step that was too long is halved (its geometric middle). One that brought more, but far less than it
   aimed at, is followed by what n_i·U_i·g makes of its own measurement, tasks without work taken away: an idle task
   costs, too. The others' turn follows only a short step, and once; whatever does not win is not the result.

Throttling sets a rate, a share of T_b, less each time. It has the effect of the paper's limit on the data in flight,
and every platform has it. It begins loose and is not loosened again (lines 33 to 35), and it is the last step, not one
before step 3: a throttled source hides which operator is narrow.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from spillway.controllers.explain import Alternative
from spillway.controllers.profiling.measurement import Deployment, Measurement
from spillway.controllers.profiling.rounds import Change, Move, State, Step

# By the largest Lp/MinLp, g. Nobody is disturbed at 1.03, as exactly as a mean of some hundred records tells. With
# tripling, six rounds reach 80 times the first deployment. Longer: the platform is overrun before it shows that it is
# full. Shorter: more rounds.
STRIDES = ((1.03, 3.0), (1.25, 1.5))
SHORTEST = 1.2
# Of a task, that may be missing: capacities are measured to about 1 %, and without this an operator that is just full
# would get a task more than it needs, every other time.
ROUNDING = 0.02
EXACT = 1e-9  # of a number of tasks: a quotient that was multiplied again is not always what it was
REACHED = 0.8  # of the aim; below, something else than tasks is scarce
# Of T_b. A queue is as long as 1/(1-rho): at 98 % some fifty services, far below most bounds. A bound that isn't kept
# at 75 % is not missed because of queues.
THROTTLES = (0.98, 0.94, 0.87, 0.75)


def start(state: State, tasks: Mapping[str, int]) -> Move:
    """The first deployment under full load."""
    return Move(Step.CAPABILITY, Change.START, Deployment(within(state, tasks, dict.fromkeys(tasks, 1))))


def onward(state: State, measured: Measurement, move: Move) -> Move | None:
    """After a success: the next aim, or None where it is not in sight.

    Where the last aim was missed by much, operators give back what they don't need; where tasks wait for cores, that
    is all that can still help.
    """
    growth, tasks = stride(state, measured), move.deployment.tasks
    if growth > 1 and measured.rate >= REACHED * move.aim:
        return enhanced(state, measured, tasks, growth)
    fewer = enhanced(state, measured, tasks, SHORTEST, shrink=True)
    return fewer if fewer and (growth > 1 or fewer.deployment.total < move.deployment.total) else None


def halved(state: State, measured: Measurement, tasks: Mapping[str, int], aim: float) -> Move | None:
    """The geometric middle between these tasks and those that had this aim; None where the step was short anyway."""
    if aim < STRIDES[-1][1] * measured.rate:
        return None
    move = enhanced(state, measured, tasks, math.sqrt(aim / measured.rate))
    return dataclasses.replace(move, change=Change.HALF) if move else None


def turned(state: State, measured: Measurement, move: Move) -> Move | None:
    """A short step changed little: others are narrow now, and it is their turn; what was enhanced stays."""
    if move.growth > SHORTEST or move.change is Change.TURN:
        return None
    turn = enhanced(state, measured, move.deployment.tasks, SHORTEST)
    if turn is None or set(turn.enhanced) <= set(move.enhanced):
        return None
    return dataclasses.replace(turn, change=Change.TURN)


def throttled(state: State, measured: Measurement, tasks: Mapping[str, int]) -> Move | None:
    """The best deployment with sources held back, more than last time; None when that was tried enough."""
    before = sum(done.move.change is Change.THROTTLE for done in state.rounds[state.best :])
    if before >= len(THROTTLES):
        return None
    rate = THROTTLES[before] * measured.rate
    return Move(Step.CAPABILITY, Change.THROTTLE, Deployment(dict(tasks), rate), rate)


def enhanced(
    state: State, measured: Measurement, tasks: Mapping[str, int], growth: float, *, shrink: bool = False
) -> Move | None:
    """From these tasks, what would reach `growth` times their throughput; None when it was tried, or changes nothing.

    With `shrink`, operators also give back what they would not need.
    """
    capacities = state.capacities(measured, tasks)
    busy = {name: tasks[name] * capacities[name] * (1 - ROUNDING) for name in state.growing}
    growth = min(growth, _reached(state, tasks, busy, shrink=shrink))
    wanted = {**tasks, **_wanted(tasks, busy, growth, shrink=shrink)}
    lost = [
        Alternative(f"more {name}", f"its tasks are busy {capacities[name]:.0%} of their time")
        for name in state.growing
        if wanted[name] == tasks[name] and not shrink
    ]
    found = within(state, wanted, tasks)
    if found == dict(tasks) or any(found == done.move.deployment.tasks for done in state.rounds if done.stressed):
        return None
    more = tuple(name for name, count in found.items() if count > tasks[name])
    change = _side(state, more) if more else Change.SETTLED
    return Move(Step.CAPABILITY, change, Deployment(found), growth * measured.rate, growth, more, tuple(lost))


def _wanted(tasks: Mapping[str, int], busy: Mapping[str, float], growth: float, *, shrink: bool) -> dict[str, int]:
    """n_i·U_i·g of each, and no less than it has, unless they may shrink."""
    return {
        name: max(1 if shrink else tasks[name], math.ceil(share * growth * (1 - EXACT))) for name, share in busy.items()
    }


def _reached(state: State, tasks: Mapping[str, int], busy: Mapping[str, float], *, shrink: bool) -> float:
    """The largest g for which all tasks together are no more than allowed; infinite where nothing limits them.

    What is wanted changes where n_i·U_i·g is a whole number, so only these are tried. A growth that is cut to what fits
    leaves everybody in proportion; one that is asked for and then cut operator by operator leaves who is narrowest as
    narrow as before, and all that the others got is idle.
    """
    most = state.settings.tasks
    if most is None:
        return math.inf
    others = sum(count for name, count in tasks.items() if name not in busy)
    steps = sorted(
        {count / share for share in busy.values() if share > 0 for count in range(1, most + 1)}, reverse=True
    )
    fits = (g for g in steps if others + sum(_wanted(tasks, busy, g, shrink=shrink).values()) <= most)
    return next(fits, math.inf)  # nothing fits: then it is cut operator by operator


def stride(state: State, measured: Measurement) -> float:
    """The factor g to the next aim; 1 where there is none."""
    least = state.features.latency if state.features else {}
    slowed = max(measured.operators[name].processing / least[name] for name in state.growing)
    if slowed > state.settings.nearness:
        return 1.0
    return next((growth for most, growth in STRIDES if slowed <= most), SHORTEST)


def within(state: State, wanted: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """What is allowed of that: each operator's own limit, and all of them together.

    Where the sum is too large, the growth of all is cut by the same share, so that they stay in proportion.
    """
    limits = {operator.name: operator.limit for operator in state.application.operators}
    capped = {name: int(min(count, limits[name])) for name, count in wanted.items()}
    most = state.settings.tasks
    if most is None or sum(capped.values()) <= most:
        return capped
    base = {name: min(count, now[name]) for name, count in capped.items()}
    share = (most - sum(base.values())) / (sum(capped.values()) - sum(base.values()))
    return {name: base[name] + math.floor((count - base[name]) * share) for name, count in capped.items()}


def _side(state: State, names: tuple[str, ...]) -> Change:
    """Which side of the flow these operators are on."""
    sources = {source.name for source in state.application.sources}
    if sources.issuperset(names):
        return Change.SOURCES
    return Change.BOTH if sources.intersection(names) else Change.SINKS
