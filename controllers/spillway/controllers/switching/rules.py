"""What is wrong or right with one operator that works record by record, or with one range that runs in batches.

An operator with a queue, record by record; the first that answers wins:

1. The queue is not beyond L_up, and no burst will bring it there before a first batch is done: hold.
2. The queue will be below the switch point before a first batch is done, or within `PAYBACK`: hold.
3. Batches are forbidden for it: refuse.
4. P_O is not known: refuse.
5. P_O is not above P_D by `GAIN`: refuse.
6. P_O is not above V, and more workers may be had, who would do more than batches: refuse.
7. Else its range goes to batches. Where neither keeps up and no workers may be had, it is the better of two that fall
   behind: what waits is done sooner, and less of it has to be shed.

A range in batches comes back when each of its queues, for `CALM` without a break (more after a relapse: `pause`):

1. has a rate that leaves room: V ≤ (1 - max(δ, `ROOM`))·P_D;
2. is below L_down, without what merely gathers for the next batch; or P_D is not below P_O.

Number 1 isn't in the paper. Without it a burst flaps: a batch empties the queue, so L < L_down while V > P_D still.
Nor is the second half of 2. L_switch weighs a queue record by record against batches that begin with none (Eq. 5), so a
backlog keeps a range in batches; but whoever is faster works it off sooner, too, and once more slots have started that
is often not the batches any more.
"""

from __future__ import annotations

import dataclasses
import datetime

from spillway.controllers.explain import Alternative
from spillway.controllers.switching import point, ranges
from spillway.controllers.switching.bursts import Burst
from spillway.controllers.switching.measurements import Measurement, Observation
from spillway.controllers.switching.point import Point
from spillway.controllers.switching.verdicts import Action, Instead, Pause, Reason, Verdict

# Of P_D. Shadow calibration of a few batches is off by about 10 %, timing 1 record in 64 by about 5 %; a gain below
# 20 % may be none. Lower: switches that cost a pause and bring nothing. Higher: help that is there is refused.
GAIN = 1.2
# Of P_D, the least distance between the rates at which a range goes and comes back, however small δ is. A rate around
# the threshold by 5 %, and a P_D that is wrong by 5 %, must not be both.
ROOM = 0.1
# How long record by record must be the better paradigm before a range comes back. Going early costs a pause of the
# range now and another one at the next burst; staying costs a latency that is still that of batches, half an interval
# and the scheduling. Bursts come in groups with pauses of seconds. 1 s: a switch per burst of a group. 60 s: a minute
# of half a second instead of milliseconds after every burst.
CALM = datetime.timedelta(seconds=10)
# A burst so soon after a range came back belongs to the same group: the pause was too short, and is doubled.
RELAPSE = datetime.timedelta(seconds=60)
# What doubling ends at: under the worst of loads a range comes back less than 30 times an hour.
LONGEST = datetime.timedelta(seconds=120)

# Seconds. A queue that is gone sooner is not worth a switch, which pauses the range twice, there and back, for some
# hundred milliseconds each; what a pause has gathered would be the next reason to go. Shorter: a range that comes back
# under load goes again at once. Longer: late records wait for what batches would have done with.
PAYBACK = 3.0

_COSTS_OF_WAITING = "its latency grows with the queue"
_NEEDS_SECONDS = "new workers need seconds to start, and the queue grows meanwhile"
_NO_MORE = "no more workers may be had"


@dataclasses.dataclass(frozen=True, slots=True)
class _Case:
    """One queue: V, P_D, P_O, L and the switch point."""

    name: str
    m: Measurement
    burst: Burst
    point: Point

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        m, p_o = self.m, self.m.batch_capacity
        return (
            ("V", f"{self.burst.rate:.0f}/s"),
            ("P_D", f"{m.record_capacity:.0f}/s"),
            ("P_O", "unknown" if p_o is None else f"{p_o:.0f}/s"),
            ("L", f"{m.queue:.0f}"),
            ("L_switch", f"{self.point.switch:.0f}"),
            ("L_up", f"{self.point.up:.0f}"),
            ("L_down", f"{self.point.down:.0f}"),
            ("T", f"{m.costs.interval.total_seconds() * 1000:.0f} ms"),
        )

    @property
    def latencies(self) -> tuple[str, str]:
        """What a record that arrives now would take, record by record and in batches (Eq. 4 and 5)."""
        m, p_o = self.m, self.m.batch_capacity
        record = f"{point.latency_record(m.queue, m.record_capacity, m.costs) * 1000:.0f} ms"
        return (
            record,
            f"{point.latency_batch(m.queue, self.burst.rate, p_o, m.costs) * 1000:.0f} ms" if p_o else "unknown",
        )

    @property
    def surplus(self) -> float:
        """By how much the queue grows per second as long as V and P_D stay."""
        return self.burst.rate - self.m.record_capacity


def _case(name: str, m: Measurement, burst: Burst, hysteresis: float) -> _Case:
    return _Case(
        name, m, burst, point.switch_point(burst.rate, m.record_capacity, m.batch_capacity, m.costs, hysteresis)
    )


def record_by_record(observation: Observation, name: str, burst: Burst, hysteresis: float) -> Verdict:
    """Whether an operator that works record by record should go to batches; the rules are those of the module."""
    case = _case(name, observation.measured[name], burst, hysteresis)
    m, up, switch = case.m, case.point.up, case.point.switch
    first = point.first_results(m.costs)
    coming = burst.high and case.surplus > 0 and m.queue + case.surplus * first > up
    by_record, by_batch = case.latencies
    if not (m.queue > up or coming):
        why = f"{by_batch} instead of {by_record}"
        sentence = f"hold: the queue of `{name}`, {m.queue:.0f}, is not beyond L_up, {up:.0f}"
        return _hold(case, Reason.BELOW_POINT, sentence, Alternative("batches", why))
    shrinks = -case.surplus
    patience = max(first, PAYBACK)
    if not coming and shrinks > 0 and m.queue - switch < shrinks * patience:
        sentence = f"hold: the queue of `{name}`, {m.queue:.0f}, shrinks by {shrinks:.0f} per second"
        why = f"the queue is below the switch point in {max(0.0, m.queue - switch) / shrinks * 1000:.0f} ms"
        return _hold(case, Reason.DRAINING, sentence, Alternative("batches", why))
    return _refusal(observation, case) or _to_batch(observation, case, m.queue > up)


def _to_batch(observation: Observation, case: _Case, beyond: bool) -> Verdict:
    m, name = case.m, case.name
    operators = ranges.switch_range(observation, name)
    by_record, by_batch = case.latencies
    queue = f"{m.queue:.0f} records wait in front of `{name}`"
    if beyond:
        reason, why = Reason.QUEUE_BEYOND_POINT, f"{queue}, more than L_up, {case.point.up:.0f}"
    else:
        reason = Reason.BURST
        why = f"{queue}, and its rate stepped up to {case.burst.rate:.0f}/s, beyond its {m.record_capacity:.0f}/s"
    lost = (
        Alternative("record by record", f"{by_record} for a record that arrives now, and {by_batch} in batches"),
        Alternative("only scaling out", _NEEDS_SECONDS if observation.can_grow else _NO_MORE),
    )
    parts = "".join(f"; {observation[one].part}" for one in operators if observation[one].part)
    return Verdict(
        name,
        Action.TO_BATCH,
        reason,
        f"to batches: {', '.join(operators)}; {why}{parts}",
        operators,
        case.inputs,
        lost,
    )


def _refusal(observation: Observation, case: _Case) -> Verdict | None:
    """Why batches would not help (rules 3 to 6), or None."""
    m, p_o, v, name = case.m, case.m.batch_capacity, case.burst.rate, case.name
    if not ranges.switch_range(observation, name):
        reason, why = Reason.BATCHES_FORBIDDEN, "a pin or its state forbids them"
    elif p_o is None:
        reason, why = Reason.BATCHES_UNMEASURED, "nobody has measured yet how fast they are"
    elif p_o <= m.record_capacity * GAIN:
        why = f"they do {p_o:.0f}/s, no more than {GAIN} times the {m.record_capacity:.0f}/s record by record"
        reason = Reason.BATCHES_NO_FASTER
    elif p_o <= v and observation.can_grow:
        reason, why = Reason.BATCHES_TOO_SLOW, f"they do {p_o:.0f}/s, and {v:.0f}/s arrive"
    else:
        return None
    times = f"to {max(v / m.record_capacity, 1.0):.1f} times the capacity or more"
    instead, what = (
        (Instead.SCALE_OUT, f"scale out {times}")
        if observation.can_grow
        else (Instead.SHED, f"{_NO_MORE}; shed, or raise workers.max")
    )
    part = f"; {observation[name].part}" if observation[name].part else ""
    sentence = f"refused: batches for `{name}`, {why}{part}; {what}"
    lost = (Alternative("batches", why), Alternative("waiting", _COSTS_OF_WAITING))
    return Verdict(name, Action.REFUSE, reason, sentence, (), case.inputs, lost, instead)


def _hold(case: _Case, reason: Reason, sentence: str, *lost: Alternative) -> Verdict:
    return Verdict(case.name, Action.HOLD, reason, sentence, (), case.inputs, lost)


def pause(before: Pause | None, now: datetime.datetime) -> datetime.timedelta:
    """How long a range that goes to batches now must be calm before it comes back.

    `CALM`; twice the pause before, up to `LONGEST`, if that has ended in a relapse. So a load with bursts that are
    always a little further apart than the pause makes fewer switches each time.
    """
    if before is None or before.returned is None or now - before.returned >= RELAPSE:
        return CALM
    return min(LONGEST, 2 * before.length)


def in_batches(name: str, m: Measurement, burst: Burst, hysteresis: float) -> Verdict:
    """Whether record by record would do for a queue in front of batches. In favour is not yet time to come back."""
    case = _case(name, m, burst, hysteresis)
    room = (1 - max(hysteresis, ROOM)) * m.record_capacity
    if burst.rate > room:
        sentence = (
            f"hold: `{name}` stays in batches, {burst.rate:.0f}/s arrive and record by record has room for {room:.0f}/s"
        )
        return _hold(case, Reason.BUSY, sentence, Alternative("record by record", _COSTS_OF_WAITING))
    left = point.waiting(m.queue, burst.rate, m.batch_capacity, m.costs) if m.batch_capacity else m.queue
    outgrown = m.batch_capacity is not None and m.record_capacity >= m.batch_capacity
    if left >= case.point.down and not outgrown:
        sentence = (
            f"hold: `{name}` stays in batches, its backlog, {left:.0f}, is not below L_down, {case.point.down:.0f}"
        )
        why = "with this backlog it would be no faster"
        return _hold(case, Reason.BATCHES_FASTER, sentence, Alternative("record by record", why))
    soon = point.latency_record(left, m.record_capacity, m.costs) * 1000
    why = f"{case.latencies[1]} instead of {soon:.0f} ms"
    sentence = f"`{name}` is calm: {burst.rate:.0f}/s arrive, and record by record does {m.record_capacity:.0f}/s"
    return Verdict(
        name,
        Action.TO_RECORD,
        Reason.BURST_PASSED,
        sentence,
        (name,),
        case.inputs,
        (Alternative("batches", why),),
    )
