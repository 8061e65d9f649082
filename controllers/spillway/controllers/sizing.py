"""From a recommended size to an action: how many workers, or executors, to ask for now.

The recommendation says what the load needs (headroom included); this says whether to act on it. It is pure, and keeps
its memory in a `History` that the caller stores and passes back.

Rules, in the order in which they are asked; the first that answers wins:

1. Input that makes no sense (naive times, bounds that cross, negative sizes) changes nothing.
2. Within the cooldown of the last change nothing changes, but for growth that is urgent (by `SizePolicy.urgent`): what
   is there can't do what comes, not even with all of its headroom.
3. A size outside the bounds goes to the bound, whatever is measured: a person asked for it.
4. Without a recommendation, or with a stale one, nothing changes. A failed measurement is not a load of zero.
5. One direction at a time: while a change is under way, only a change in the same direction is added, for at most
   `SizePolicy.settle`.
6. More is needed: to that size in one step, as far as the limits (quota, what can be scheduled) allow.
7. Less is needed: down to the largest need within the scale-down delay, once that was observed for the whole delay.
8. Else nothing changes.

With `mode: advise` rules 3, 6 and 7 end in the action `Advise`, and the history notes no change.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import math
from collections.abc import Callable

from spillway.controllers import explain
from spillway.controllers.explain import Alternative
from spillway.controllers.sizes import Bounds, History, Present, Recommendation, SizePolicy
from spillway.model.execution import Mode


class Action(enum.StrEnum):
    """What to do."""

    HOLD = "Hold"
    GROW = "Grow"
    SHRINK = "Shrink"
    ADVISE = "Advise"


class Reason(explain.Reasons):
    """Why."""

    NEED_GREW = "NeedGrew", "More is needed than there is; it is asked for in one step."
    NEED_FELL = "NeedFell", "Less was needed for the whole scale-down delay; what nobody needed is given back."
    OUT_OF_BOUNDS = "OutOfBounds", "The size is outside min and max, which were changed."
    STEADY = "Steady", "The size is what is needed."
    AT_MAX = "AtMax", "More is needed than max allows."
    LIMITED = "Limited", "More is needed than quota, cluster or partitions allow; the alternatives name the limit."
    COOLDOWN = "Cooldown", "The size was changed too short a while ago."
    DELAYED = "Delayed", "Less is needed now, but not for the whole scale-down delay yet."
    IN_PROGRESS = "InProgress", "The last change is still under way, and goes in the other direction."
    NO_DATA = "NoData", "There is no recommendation, so the size is held: missing data is not a load of zero."
    STALE_DATA = "StaleData", "The recommendation is too old to act on, so the size is held."
    INVALID = "Invalid", "The input makes no sense, so the size is held; the inputs say what is wrong."


@dataclasses.dataclass(frozen=True, slots=True)
class Sizing:
    """The decision. `size` is what should be asked for; with `Advise` it is what would be, and nothing is done.

    `again` is how long this answer holds at least, as far as time alone can change it; None if time can't.
    """

    action: Action
    reason: Reason
    before: int
    size: int
    need: int | None
    inputs: explain.Inputs
    alternatives: tuple[Alternative, ...]
    history: History
    again: datetime.timedelta | None = None

    @property
    def sentence(self) -> str:
        """Why, with the numbers of this case."""
        change = f"hold at {self.size}" if self.size == self.before else f"from {self.before} to {self.size}"
        advised = "advised only: " if self.action is Action.ADVISE else ""
        return f"{advised}{change}: {self.reason.meaning}"

    def __str__(self) -> str:
        return explain.told(self)


@dataclasses.dataclass(frozen=True, slots=True)
class _Case:
    """What the rules look at. `wanted` is the recommendation as it came, `need` what the bounds leave of it."""

    recommended: Recommendation | None
    present: Present
    bounds: Bounds
    policy: SizePolicy
    history: History
    now: datetime.datetime
    wanted: int | None
    need: int | None

    @property
    def since_change(self) -> datetime.timedelta:
        return self.now - self.history.changed if self.history.changed else datetime.timedelta.max

    @property
    def reach(self) -> int:
        """What of the need can be had; never less than min, which a person asked for."""
        most = min((limit.size for limit in self.bounds.limits), default=self.bounds.max)
        return max(self.bounds.min, min(self.need or 0, most))


@dataclasses.dataclass(frozen=True, slots=True)
class _Answer:
    """What a rule says: why, the size to ask for, what lost, and how long this holds."""

    reason: Reason
    size: int
    lost: tuple[Alternative, ...] = ()
    again: datetime.timedelta | None = None


def decide(
    recommended: Recommendation | None,
    present: Present,
    bounds: Bounds,
    policy: SizePolicy,
    history: History,
    now: datetime.datetime,
) -> Sizing:
    """What to ask for now; the rules are in the docstring of the module."""
    inputs = _inputs(recommended, present, bounds, now)
    wrong = _nonsense(recommended, present, bounds, history, now)
    if wrong:
        return Sizing(
            Action.HOLD, Reason.INVALID, present.asked, present.asked, None, (*inputs, ("wrong", wrong)), (), history
        )
    history, wanted, need = history.until(now), None, None
    if recommended and recommended.size is not None and abs(now - recommended.at) <= policy.stale_after:
        wanted = math.ceil(recommended.size)
        need = min(max(wanted, bounds.min), bounds.max)
        history = history.observe(need, now, policy)
    case = _Case(recommended, present, bounds, policy, history, now, wanted, need)
    answer = next(answer for rule in _RULES if (answer := rule(case)))
    action = Action.HOLD
    if answer.size != present.asked and policy.mode is Mode.ADVISE:
        action = Action.ADVISE
    elif answer.size != present.asked:
        action = Action.GROW if answer.size > present.asked else Action.SHRINK
        history = dataclasses.replace(history, changed=now)
    return Sizing(action, answer.reason, present.asked, answer.size, need, inputs, answer.lost, history, answer.again)


def _cooling(case: _Case) -> _Answer | None:
    """Rule 2. Where nothing is due anyway, or more than can be had, the other rules give the reason."""
    asked, bounds = case.present.asked, case.bounds
    due = case.need if case.need is not None else min(max(asked, bounds.min), bounds.max)
    if case.since_change >= case.policy.cooldown or due == asked:
        return None
    if asked < case.bounds.max and case.need is not None and case.need >= asked * case.policy.urgent:
        return None
    left = case.policy.cooldown - case.since_change
    lost = Alternative(
        f"{due}", f"the last change was {_text(case.since_change)} ago, the cooldown has {_text(left)} left"
    )
    return _Answer(Reason.COOLDOWN, asked, (lost,), left)


def _bounded(case: _Case) -> _Answer | None:
    """Rule 3. From below min it goes to the need at once, if that is more."""
    asked, bounds = case.present.asked, case.bounds
    if asked > bounds.max:
        return _Answer(Reason.OUT_OF_BOUNDS, bounds.max, (Alternative(f"{asked}", f"max is {bounds.max}"),))
    if asked < bounds.min:
        return _Answer(Reason.OUT_OF_BOUNDS, case.reach, (Alternative(f"{asked}", f"min is {bounds.min}"),))
    return None


def _blind(case: _Case) -> _Answer | None:
    """Rule 4."""
    if case.need is not None:
        return None
    if case.recommended is None or case.recommended.size is None:
        return _Answer(Reason.NO_DATA, case.present.asked)
    why = f"measured {_text(case.now - case.recommended.at)} ago, at most {_text(case.policy.stale_after)} count"
    return _Answer(Reason.STALE_DATA, case.present.asked, (Alternative(f"{case.recommended.size:g}", why),))


def _in_progress(case: _Case) -> _Answer | None:
    """Rule 5."""
    asked, ready = case.present.asked, case.present.ready
    turns = case.need is not None and (case.need - asked) * (asked - ready) < 0
    if not turns or case.since_change >= case.policy.settle:
        return None
    left = case.policy.settle - case.since_change
    why = f"{ready} are there and {asked} are asked for; waiting for at most {_text(left)} more"
    return _Answer(Reason.IN_PROGRESS, asked, (Alternative(f"{case.need}", why),), left)


def _grown(case: _Case) -> _Answer | None:
    """Rule 6. What the bounds or limits cut off is told, also when nothing is left to do."""
    asked = case.present.asked
    if case.need is None or case.wanted is None or max(case.need, case.wanted) <= asked:
        return None
    lost = [Alternative(f"{case.need}", limit.why) for limit in case.bounds.limits if limit.size < case.need]
    reason = Reason.LIMITED if case.reach < case.need else Reason.NEED_GREW
    if case.wanted > case.need:
        lost.append(Alternative(f"{case.wanted}", f"max is {case.bounds.max}"))
        reason = reason if reason is Reason.LIMITED else Reason.AT_MAX
    return _Answer(reason, max(asked, case.reach), tuple(lost))


def _shrunk(case: _Case) -> _Answer | None:
    """Rule 7."""
    asked, need, history = case.present.asked, case.need, case.history
    if need is None or need >= asked or history.since is None:
        return None
    delay, observed = case.policy.scale_down_delay, case.now - history.since
    largest = max(history.needs, key=lambda n: n.size)
    if observed < delay:
        why = f"needs were observed for {_text(observed)} only, the scale-down delay is {_text(delay)}"
        return _Answer(Reason.DELAYED, asked, (Alternative(f"{need}", why),), delay - observed)
    why = f"{largest.size} were needed {_text(case.now - largest.at)} ago, the scale-down delay is {_text(delay)}"
    lost = (Alternative(f"{need}", why),) if largest.size > need else ()
    if largest.size >= asked:
        return _Answer(Reason.DELAYED, asked, lost, delay - (case.now - largest.at))
    return _Answer(Reason.NEED_FELL, largest.size, lost)


def _steady(case: _Case) -> _Answer:
    """Rule 8."""
    return _Answer(Reason.STEADY, case.present.asked)


_RULES: tuple[Callable[[_Case], _Answer | None], ...] = (
    _cooling, _bounded, _blind, _in_progress, _grown, _shrunk, _steady,
)  # fmt: skip


def _nonsense(
    recommended: Recommendation | None, present: Present, bounds: Bounds, history: History, now: datetime.datetime
) -> str:
    """Rule 1: what is wrong with the input, or nothing."""
    times = [now, history.changed, history.since, history.seen, *(need.at for need in history.needs)]
    if recommended:
        times.append(recommended.at)
        if recommended.size is not None and not 0 <= recommended.size < math.inf:
            return f"the recommendation is {recommended.size}, and no number of pods"
    if any(at is not None and at.utcoffset() is None for at in times):
        return "a time has no time zone"
    if not 0 <= bounds.min <= bounds.max:
        return f"min is {bounds.min} and max is {bounds.max}"
    if min(present.asked, present.ready) < 0:
        return f"{present.asked} are asked for and {present.ready} ready"
    return ""


def _inputs(
    recommended: Recommendation | None, present: Present, bounds: Bounds, now: datetime.datetime
) -> tuple[tuple[str, str], ...]:
    limits = "".join(f", {limit.size} by {limit.why}" for limit in bounds.limits)
    return (
        ("recommended", f"{recommended.size} at {recommended.at.isoformat()}" if recommended else "nothing"),
        ("present", f"{present.asked} asked for, {present.ready} ready"),
        ("bounds", f"{bounds.min} to {bounds.max}{limits}"),
        ("now", now.isoformat()),
    )


def _text(span: datetime.timedelta) -> str:
    return f"{span.total_seconds():.0f} s"
