"""What a round under full load means, and what follows from it.

In this order:

1. A throttled round that keeps the bound ends profiling; one that doesn't is followed by a stronger throttle.
2. Throughput rose, or stayed with fewer tasks: this is the best deployment now, and step 2 goes on from it.
3. It did not: at alpha·T_b and above it is the others' turn, on top of what was enhanced; else back to the best one,
   and half the step.
4. The bound is kept, all operators take records within k·MinLp, and no source is all they wait for: done.
5. Fewer than two changes in a row were taken back, and an operator is narrower than all others: step 3.
6. The bound is not kept: throttle.
7. Else there is nothing left to try.
"""

from __future__ import annotations

from spillway.controllers.explain import Alternative
from spillway.controllers.profiling import capability, capacity, significance
from spillway.controllers.profiling.measurement import Measurement
from spillway.controllers.profiling.rounds import Change, End, Move, Reason, Round, State, Step

KEPT = (Reason.FIRST, Reason.GREW, Reason.LEANER)  # what makes a deployment the best one


def judged(state: State, measured: Measurement) -> tuple[Reason, str]:
    """How this deployment compares to the best one before, and the same with numbers."""
    move, rate = state.move, f"{measured.rate:.4g} records/s"
    if move.change is Change.THROTTLE:
        kept = measured.took <= state.settings.bound
        return Reason.KEPT_BOUND if kept else Reason.MISSED_BOUND, f"{rate}, latency {milliseconds(measured.took)}"
    if not state.best:
        return Reason.FIRST, rate
    best, before = state.rounds[state.best - 1].move.deployment, state.measured_best()
    change = measured.rate / before.rate - 1
    said = f"{rate}, {change:+.0%} to the best before"
    certain = significance.p_value(measured.throughput, before.throughput) < state.settings.significance
    if certain and abs(change) >= state.settings.worth:
        return Reason.GREW if change > 0 else Reason.FELL, said
    if move.deployment.total < best.total:
        return Reason.LEANER, f"{said}, with {best.total - move.deployment.total} tasks fewer"
    return Reason.FLAT, said


def loser(state: State, measured: Measurement, reason: Reason) -> tuple[Alternative, ...]:
    """The deployment that is not kept: this one, or the best one before; none where there was nothing to compare."""
    if not state.best or state.move.change is Change.THROTTLE:
        return ()
    best, before, this = state.rounds[state.best - 1].move.deployment, state.measured_best(), state.move.deployment
    if reason is Reason.LEANER:
        return (Alternative(str(best), f"{best.total} tasks do no more than {this.total}"),)
    if reason is Reason.GREW:
        return (Alternative(str(best), f"{before.rate:.4g} records/s against {measured.rate:.4g}"),)
    return (Alternative(str(this), f"{measured.rate:.4g} records/s against {before.rate:.4g}"),)


def follows(state: State, last: Round) -> Move | End:
    """What to do after the last round, which is noted in the state already."""
    best, measured = state.rounds[state.best - 1], state.measured_best()
    tasks = best.move.deployment.tasks
    if last.reason in (Reason.KEPT_BOUND, Reason.MISSED_BOUND):
        return _after_throttle(state, last)
    if (move := _further(state, last, best)) is not None:
        return move
    kept = measured.took <= state.settings.bound
    if kept and capacity.near(state, measured) and not capacity.thirsty(state, measured, tasks):
        return _over(state, measured, None)
    narrow, lost = capacity.narrowest(state, measured, tasks)
    if narrow is not None and len(state.revoked) < capacity.REVOCATIONS:
        return narrow
    throttle = None if kept else capability.throttled(state, measured, tasks)
    return throttle or _over(state, measured, lost)


def milliseconds(seconds: float) -> str:
    """As people read it."""
    return f"{seconds * 1e3:.3g} ms"


def _after_throttle(state: State, last: Round) -> Move | End:
    """Rule 1."""
    took = last.measurement.took if last.measurement else 0.0
    if last.reason is Reason.KEPT_BOUND:
        return End(Reason.THROTTLED, f"held to {last.move.aim:.4g} records/s, records take {milliseconds(took)}")
    tasks = state.rounds[state.best - 1].move.deployment.tasks
    least = f"{capability.THROTTLES[-1]:.0%} of what the platform can do"
    over = End(Reason.TOO_SLOW, f"records take {milliseconds(took)} even at {least}")
    return capability.throttled(state, state.measured_best(), tasks) or over


def _further(state: State, last: Round, best: Round) -> Move | None:
    """Rules 2 and 3: how step 2 goes on, if it does. A half step was the end of it: more was tried before."""
    move, measured, top = last.move, last.measurement, state.measured_best()
    if move.step is not Step.CAPABILITY or move.change is Change.HALF or measured is None:
        return None
    if not last.kept:
        little = measured.rate >= state.settings.alpha * top.rate
        turn = capability.turned(state, measured, move) if little else None
        return turn or capability.halved(state, top, best.move.deployment.tasks, move.aim)
    onward = capability.onward(state, measured, move)
    before = next((done for done in reversed(state.rounds[: state.best - 1]) if done.kept), None)
    if onward or before is None or before.measurement is None or measured.rate >= capability.REACHED * move.aim:
        return onward
    return capability.halved(state, before.measurement, before.move.deployment.tasks, move.aim)


def _over(state: State, measured: Measurement, lost: Alternative | None) -> End:
    """Why nothing more is tried."""
    alternatives = (lost,) if lost else ()
    if len(state.revoked) >= capacity.REVOCATIONS:
        return End(Reason.REVOKED, f"{len(state.revoked)} changes in a row did not pay", alternatives)
    if capacity.near(state, measured):
        k = state.settings.nearness
        return End(Reason.SCALED, f"all operators take records within {k:g} times their least latency", alternatives)
    why = f": {lost.why_not}" if lost else ""
    return End(Reason.NO_GAIN, f"more tasks for one operator alone would not help{why}", alternatives)
