"""From a recommended size to an action: each rule, its reason, and what it says about what lost."""

from __future__ import annotations

import dataclasses
import datetime
import math

import pytest

from spillway.controllers import sizing
from spillway.controllers.sizes import Bounds, History, Limit, Need, Present, Recommendation, SizePolicy
from spillway.controllers.sizing import Action, Reason, Sizing
from spillway.model.execution import Mode

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
POLICY = SizePolicy(cooldown=datetime.timedelta(seconds=60), scale_down_delay=datetime.timedelta(seconds=300))
BOUNDS = Bounds(1, 8)
UP, DOWN, HOLD = Action.GROW, Action.SHRINK, Action.HOLD


def _after(seconds: float) -> datetime.datetime:
    return NOON + datetime.timedelta(seconds=seconds)


def _watched(*needs: tuple[float, int], changed: float | None = None) -> History:
    """A history in which these needs were seen at these seconds, without a gap until noon."""
    found = History()
    for at in range(round(min(at for at, _ in needs)), 1, 10):
        size = next(size for start, size in reversed(needs) if start <= at)
        found = found.observe(size, _after(at), POLICY)
    return dataclasses.replace(found, changed=None if changed is None else _after(changed))


def _decide(
    size: float | None,
    present: int | Present,
    history: History | None = None,
    *,
    bounds: Bounds = BOUNDS,
    policy: SizePolicy = POLICY,
    age: float = 0,
) -> Sizing:
    there = Present(present, present) if isinstance(present, int) else present
    recommended = Recommendation(size, _after(-age))
    return sizing.decide(recommended, there, bounds, policy, history or History(), NOON)


CALM = ((-400.0, 2),)
CASES: dict[str, tuple[Sizing, tuple[Action, Reason, int]]] = {
    "what is needed is there": (_decide(3, 3), (HOLD, Reason.STEADY, 3)),
    "a burst is answered in one step": (_decide(7, 1), (UP, Reason.NEED_GREW, 7)),
    "a fraction needs a whole pod": (_decide(3.01, 3), (UP, Reason.NEED_GREW, 4)),
    "more than max is max": (_decide(20, 3), (UP, Reason.AT_MAX, 8)),
    "at max there is nothing to do but to say so": (_decide(20, 8), (HOLD, Reason.AT_MAX, 8)),
    "a quota cuts the step": (
        _decide(7, 2, bounds=Bounds(1, 8, (Limit(5, "quota"), Limit(6, "nodes")))),
        (UP, Reason.LIMITED, 5),
    ),
    "a limit below what is there takes nothing away": (
        _decide(7, 6, bounds=Bounds(1, 8, (Limit(5, "quota"),))),
        (HOLD, Reason.LIMITED, 6),
    ),
    "a limit does not cut below min": (
        _decide(7, 0, bounds=Bounds(2, 8, (Limit(1, "quota"),))),
        (UP, Reason.OUT_OF_BOUNDS, 2),
    ),
    "less is needed since long": (_decide(2, 5, _watched(*CALM)), (DOWN, Reason.NEED_FELL, 2)),
    "less is needed, observed only since now": (_decide(2, 5), (HOLD, Reason.DELAYED, 5)),
    "less is needed now, but not four minutes ago": (
        _decide(2, 5, _watched((-400, 2), (-240, 5), (-200, 2))),
        (HOLD, Reason.DELAYED, 5),
    ),
    "down goes no further than the largest need within the delay": (
        _decide(2, 7, _watched((-400, 2), (-240, 5), (-200, 3))),
        (DOWN, Reason.NEED_FELL, 5),
    ),
    "what was needed before the delay is over": (
        _decide(2, 7, _watched((-800, 7), (-400, 2))),
        (DOWN, Reason.NEED_FELL, 2),
    ),
    "within the cooldown a little more waits": (
        _decide(6, 5, _watched(*CALM, changed=-59)),
        (HOLD, Reason.COOLDOWN, 5),
    ),
    "within the cooldown a burst does not wait": (
        _decide(7, 5, _watched(*CALM, changed=-1)),
        (UP, Reason.NEED_GREW, 7),
    ),
    "a burst at the bound is no reason to call": (
        _decide(99, 8, _watched(*CALM, changed=-1)),
        (HOLD, Reason.AT_MAX, 8),
    ),
    "within the cooldown nothing shrinks": (_decide(2, 5, _watched(*CALM, changed=-59)), (HOLD, Reason.COOLDOWN, 5)),
    "within the cooldown what fits is steady": (_decide(2, 2, _watched(*CALM, changed=-5)), (HOLD, Reason.STEADY, 2)),
    "after the cooldown it goes on": (_decide(7, 2, _watched(*CALM, changed=-60)), (UP, Reason.NEED_GREW, 7)),
    "no recommendation is no load of zero": (_decide(None, 5, _watched(*CALM)), (HOLD, Reason.NO_DATA, 5)),
    "an old recommendation counts no more": (_decide(1, 5, _watched(*CALM), age=31), (HOLD, Reason.STALE_DATA, 5)),
    "an old recommendation to grow counts no more": (_decide(8, 5, age=31), (HOLD, Reason.STALE_DATA, 5)),
    "a recommendation from the future counts as little": (_decide(8, 5, age=-31), (HOLD, Reason.STALE_DATA, 5)),
    "min was raised": (_decide(None, 1, bounds=Bounds(3, 8)), (UP, Reason.OUT_OF_BOUNDS, 3)),
    "min was raised, and more is needed": (_decide(6, 1, bounds=Bounds(3, 8)), (UP, Reason.OUT_OF_BOUNDS, 6)),
    "max was lowered, whatever is measured": (_decide(8, 8, bounds=Bounds(1, 4)), (DOWN, Reason.OUT_OF_BOUNDS, 4)),
    "max was lowered within the cooldown": (
        _decide(8, 8, _watched(*CALM, changed=-1), bounds=Bounds(1, 4)),
        (HOLD, Reason.COOLDOWN, 8),
    ),
    "a job that starts gets min without any measurement": (_decide(None, 0), (UP, Reason.OUT_OF_BOUNDS, 1)),
    "executors may go to none": (
        _decide(0, 2, _watched((-400, 0)), bounds=Bounds(0, 4)),
        (DOWN, Reason.NEED_FELL, 0),
    ),
    "no growth while others still drain": (
        _decide(7, Present(3, 5), _watched(*CALM, changed=-90)),
        (HOLD, Reason.IN_PROGRESS, 3),
    ),
    "more growth while others still start": (
        _decide(7, Present(3, 2), _watched(*CALM, changed=-90)),
        (UP, Reason.NEED_GREW, 7),
    ),
    "no shrinking while others still start": (
        _decide(2, Present(5, 2), _watched(*CALM, changed=-90)),
        (HOLD, Reason.IN_PROGRESS, 5),
    ),
    "a drain that is stuck blocks growth for two minutes only": (
        _decide(7, Present(3, 5), _watched(*CALM, changed=-120)),
        (UP, Reason.NEED_GREW, 7),
    ),
    "pods that never start do not block shrinking for good": (
        _decide(2, Present(5, 2), _watched(*CALM, changed=-400)),
        (DOWN, Reason.NEED_FELL, 2),
    ),
    "advice is given and not taken": (
        _decide(7, 2, policy=dataclasses.replace(POLICY, mode=Mode.ADVISE)),
        (Action.ADVISE, Reason.NEED_GREW, 7),
    ),
    "with nothing to advise it holds": (
        _decide(2, 2, policy=dataclasses.replace(POLICY, mode=Mode.ADVISE)),
        (HOLD, Reason.STEADY, 2),
    ),
}


@pytest.mark.parametrize("sentence", CASES)
def test_the_action_its_reason_and_the_size(sentence: str) -> None:
    found, expected = CASES[sentence]
    assert (found.action, found.reason, found.size) == expected


NONSENSE: dict[str, tuple[Sizing, str]] = {
    "a recommendation that is no number": (_decide(math.nan, 3), "the recommendation is nan"),
    "a recommendation without end": (_decide(math.inf, 3), "the recommendation is inf"),
    "a negative recommendation": (_decide(-1, 3), "the recommendation is -1"),
    "bounds that cross": (_decide(3, 3, bounds=Bounds(5, 2)), "min is 5 and max is 2"),
    "a negative bound": (_decide(3, 3, bounds=Bounds(-1, 2)), "min is -1"),
    "a negative size": (_decide(3, Present(3, -1)), "-1 ready"),
    "a history without a time zone": (
        _decide(3, 3, History(changed=datetime.datetime(2026, 3, 1))),  # noqa: DTZ001 - that is the mistake
        "a time has no time zone",
    ),
    "a now without a time zone": (
        sizing.decide(None, Present(3, 3), BOUNDS, POLICY, History(), datetime.datetime(2026, 3, 1)),  # noqa: DTZ001
        "a time has no time zone",
    ),
}


@pytest.mark.parametrize("sentence", NONSENSE)
def test_nonsense_changes_nothing_and_is_told(sentence: str) -> None:
    found, wrong = NONSENSE[sentence]
    assert (found.action, found.reason, found.size) == (HOLD, Reason.INVALID, 3)
    assert wrong in dict(found.inputs)["wrong"]


LOST: dict[str, tuple[Sizing, str]] = {
    "a limit": (
        _decide(7, 2, bounds=Bounds(1, 8, (Limit(5, "quota 'pods' of the namespace"),))),
        "not 7: quota 'pods' of the namespace",
    ),
    "max": (_decide(9.5, 2), "not 10: max is 8"),
    "the cooldown": (
        _decide(6, 5, _watched(*CALM, changed=-20)),
        "not 6: the last change was 20 s ago, the cooldown has 40 s left",
    ),
    "an old need": (
        _decide(2, 7, _watched((-400, 2), (-240, 5), (-200, 3))),
        "not 2: 5 were needed 210 s ago, the scale-down delay is 300 s",
    ),
    "how old a measurement is": (_decide(4.5, 7, age=95), "not 4.5: measured 95 s ago, at most 30 s count"),
    "too short a look": (_decide(2, 5), "not 2: needs were observed for 0 s only, the scale-down delay is 300 s"),
}


@pytest.mark.parametrize("sentence", LOST)
def test_what_lost_is_told_with_its_reason(sentence: str) -> None:
    found, told = LOST[sentence]
    assert told in [str(alternative) for alternative in found.alternatives]
    assert told in str(found)


def test_a_hold_says_how_long_it_lasts_at_least() -> None:
    held = {
        _decide(6, 5, _watched(*CALM, changed=-20)).again: 40,
        _decide(2, 5, _watched((-100, 2))).again: 200,
        _decide(2, 5, _watched((-400, 5), (-240, 2))).again: 300 - 250,
        _decide(7, Present(3, 5), _watched(*CALM, changed=-90)).again: 30,
    }
    assert [left and left.total_seconds() for left in held] == list(held.values())
    assert _decide(3, 3).again is None


def test_a_change_starts_the_cooldown_and_advice_does_not() -> None:
    assert _decide(7, 2).history.changed == NOON
    assert _decide(7, 2, policy=dataclasses.replace(POLICY, mode=Mode.ADVISE)).history.changed is None
    assert _decide(2, 2).history.changed is None


def test_after_a_gap_in_the_measurements_the_scale_down_delay_starts_anew() -> None:
    history = _watched((-400, 2))
    later = sizing.decide(Recommendation(2, _after(31)), Present(5, 5), BOUNDS, POLICY, history, _after(31))

    assert later.reason is Reason.DELAYED
    assert later.history.since == _after(31)


def test_a_need_is_forgotten_when_a_newer_one_is_as_large() -> None:
    history = History()
    for second, size in enumerate([3, 5, 2, 1, 4]):
        history = history.observe(size, _after(second), POLICY)

    assert history.needs == (Need(_after(1), 5), Need(_after(4), 4))


def test_a_clock_that_was_set_back_ends_in_one_cooldown_not_in_hours_of_waiting() -> None:
    hours_ahead = dataclasses.replace(_watched(*CALM), changed=_after(7200))

    found = _decide(6, 5, hours_ahead)

    assert (found.reason, found.again) == (Reason.COOLDOWN, POLICY.cooldown)
    assert found.history.changed == NOON


def test_every_reason_is_seen_in_these_cases() -> None:
    assert {found.reason for found, _ in (*CASES.values(), *NONSENSE.values())} == set(Reason)
