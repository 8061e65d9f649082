"""Step 3, operator capacity (SWP, section 4.3): more tasks for the narrowest operator, and back if that doesn't pay.

    Capacity = Operator_latency · Executed_load / Window_size         (Eq. 2)

The operator with the highest capacity gets more tasks, until two changes in a row are taken back, every operator takes
records within k·MinLp, or none is narrower than the rest. An operator that was taken back is left alone until another
change was kept.

What differs from the paper: it adds one task at a time; here the operator gets as many as bring it down to the capacity
of the next one, n_i·U_i/U_next, at least one more, at most four times as many (what Eq. 1 with a slice of 0.3 can have
left it short by). Operators that are equally busy are enhanced together, since each alone would wait for the others.
None is enhanced that waits for cores (its records take longer than k·MinLp), or whose gain, U_i/U_next, would be too
small to be seen. Step 2's changes that were taken back count as revocations, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from spillway.controllers.explain import Alternative
from spillway.controllers.profiling import capability
from spillway.controllers.profiling.measurement import Deployment, Measurement
from spillway.controllers.profiling.rounds import Change, Move, State, Step

MOST = 4
REVOCATIONS = 2  # in a row, after which nothing more is tried
BUSY = 0.8  # of a task's time, the paper's own threshold of overload; below it, more tasks have nothing to do


def near(state: State, measured: Measurement) -> bool:
    """Whether every operator takes records within k·MinLp, its queue included."""
    least = state.features.latency if state.features else {}
    return all(measured.operators[name].sojourn <= state.settings.nearness * least[name] for name in least)


def thirsty(state: State, measured: Measurement, tasks: Mapping[str, int]) -> bool:
    """Whether a source is busy all the time: then the others have time because little comes, not because they can."""
    capacities = state.capacities(measured, tasks)
    return any(capacities[source.name] * (1 + state.settings.worth) >= 1 for source in state.application.sources)


def narrowest(state: State, measured: Measurement, tasks: Mapping[str, int]) -> tuple[Move | None, Alternative | None]:
    """More tasks for what holds back all others, if there is such a thing; else what it would be, and why not."""
    capacities = state.capacities(measured, tasks)
    ordered = sorted(capacities, key=lambda name: (-capacities[name], name))
    top = capacities[ordered[0]]
    # Capacities that differ by less than what counts as a change can't be told apart.
    group = tuple(name for name in ordered if capacities[name] * (1 + state.settings.worth) >= top)
    rest = max((capacities[name] for name in ordered if name not in group), default=0.0)
    growth = min(top / rest if rest else math.inf, MOST)
    rounded = growth * (1 - capability.ROUNDING)
    wanted = {name: max(math.ceil(tasks[name] * rounded), tasks[name] + 1) for name in group}
    found = capability.within(state, {**tasks, **wanted}, tasks)
    gain = min(growth, *(found[name] / tasks[name] for name in group))
    if why_not := _why_not(state, measured, group, top) or _too_little(state, gain):
        return None, Alternative(f"more {', '.join(group)}", why_not)
    lost = tuple(
        Alternative(f"more {name}", f"its tasks are busy {capacities[name]:.0%} of their time")
        for name in ordered[len(group) : len(group) + 1]
    )
    move = Move(Step.CAPACITY, Change.OPERATOR, Deployment(found), gain * measured.rate, gain, group, lost)
    return move, None


def _why_not(state: State, measured: Measurement, group: Sequence[str], top: float) -> str:
    """What speaks against more of these, whatever it would bring."""
    if top < BUSY:
        return f"its tasks are busy {top:.0%} of their time"
    if any(set(group) & set(done.move.enhanced) for done in state.revoked if done.move.step is Step.CAPACITY):
        return "more of it was tried, and taken back"
    if any(set(group) == set(done.move.enhanced) for done in state.revoked):
        return "more of it was tried, and taken back"
    least = state.features.latency if state.features else {}
    slowed = max(measured.operators[name].processing / least[name] for name in group)
    if slowed > state.settings.nearness:
        return f"records take {slowed:.1f} times as long as undisturbed: tasks wait for cores"
    return ""


def _too_little(state: State, gain: float) -> str:
    """Whether what can be hoped for is worth a round."""
    if gain <= 1:
        return "it has all tasks that are allowed"
    return f"at most {gain - 1:.1%} could come of it" if gain < 1 + state.settings.worth else ""
