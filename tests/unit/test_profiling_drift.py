"""When a profile is no longer true: each rule, in the order in which they are asked."""

from __future__ import annotations

import dataclasses
import datetime
import math

import pytest

from profiled import LINE
from spillway.controllers.profiling import drift
from spillway.controllers.profiling.application import Application, Operator
from spillway.controllers.profiling.drift import Baseline, Observed, Patience, Verdict, Watch

Why = drift.DriftReason
NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
BASELINE = Baseline(LINE, "6 nodes", 1000.0, 0.5)
CALM = Observed(LINE, "6 nodes", 800.0, 10.0, 0.05)
LATE = dataclasses.replace(CALM, latency=0.6)
FULL = dataclasses.replace(CALM, queue=6000.0)
PATIENCE = Patience()
OTHER = Application.of([Operator("in"), Operator("out", ("in",))])


def _after(seconds: float) -> datetime.datetime:
    return NOON + datetime.timedelta(seconds=seconds)


def _decide(observed: Observed | None, watch: Watch | None = None, at: float = 0) -> Verdict:
    return drift.decide(BASELINE, observed, PATIENCE, watch or Watch(), _after(at))


LONG = Watch(_after(-300), _after(-10))
CASES: dict[str, tuple[Verdict, bool, Why]] = {
    "all is well": (_decide(CALM), False, Why.HOLDS),
    "more nodes": (_decide(dataclasses.replace(CALM, platform="8 nodes")), True, Why.RESIZED),
    "fewer operators": (_decide(dataclasses.replace(CALM, application=OTHER)), True, Why.REDEPLOYED),
    "late since now": (_decide(LATE), False, Why.WAITING),
    "late for five minutes": (_decide(LATE, LONG), True, Why.DRIFTED),
    "a long queue for five minutes": (_decide(FULL, LONG), True, Why.DRIFTED),
    "late for almost five minutes": (_decide(LATE, Watch(_after(-299), _after(-10))), False, Why.WAITING),
    "late, and nobody looked for a while": (_decide(LATE, Watch(_after(-400), _after(-120))), False, Why.WAITING),
    "late, and somebody looked in the future": (_decide(LATE, Watch(_after(-400), _after(60))), False, Why.WAITING),
    "well again after five minutes": (_decide(CALM, LONG), False, Why.HOLDS),
    "more comes than was promised": (
        _decide(dataclasses.replace(FULL, arrival=1001.0), LONG), False, Why.OVERLOADED,
    ),
    "nothing was observed": (_decide(None, LONG), False, Why.UNKNOWN),
    "a latency that is no number": (_decide(dataclasses.replace(CALM, latency=math.nan), LONG), False, Why.UNKNOWN),
    "a negative queue": (_decide(dataclasses.replace(CALM, queue=-1.0), LONG), False, Why.UNKNOWN),
    "no end of records": (_decide(dataclasses.replace(CALM, arrival=math.inf), LONG), False, Why.UNKNOWN),
    "a time without a zone": (
        drift.decide(BASELINE, LATE, PATIENCE, LONG, NOON.replace(tzinfo=None)), False, Why.UNKNOWN,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("verdict", "again", "reason"), CASES.values(), ids=CASES.keys())
def test_the_profile(verdict: Verdict, again: bool, reason: Why) -> None:
    assert (verdict.again, verdict.reason) == (again, reason)
    assert verdict.sentence


def test_waiting_says_for_how_long_it_has_waited() -> None:
    (lost,) = _decide(LATE, Watch(_after(-120), _after(-10))).alternatives

    assert str(lost) == "not profiling again: records take 0.6 s, bound 0.5 s for 120 s, 300 s count"


def test_one_good_observation_begins_the_period_anew() -> None:
    calm = _decide(CALM, LONG)

    assert _decide(LATE, calm.watch, 10).watch.since == _after(10)
