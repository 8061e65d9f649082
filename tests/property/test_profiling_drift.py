"""Drift is found when it is there, and not when there is only noise."""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from fuzzing import cases
from profiled import LINE
from spillway.controllers.profiling import drift

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


def _watched(latencies: Mapping[int, float], queues: Mapping[int, float]) -> list[drift.Verdict]:
    """Verdicts each ten seconds."""
    baseline = drift.Baseline(LINE, "here", 1000.0, 0.5)
    watch, verdicts = drift.Watch(), []
    for i in sorted(latencies):
        observed = drift.Observed(LINE, "here", 900.0, queues[i], latencies[i])
        now = NOON + datetime.timedelta(seconds=10 * i)
        verdicts.append(drift.decide(baseline, observed, drift.Patience(), watch, now))
        watch = verdicts[-1].watch
    return verdicts


@cases(20)
@given(st.integers(0, 2**32))
def test_noise_is_no_drift(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a load, not a secret
    # One in ten observations is beyond the bound, for three hours: thirty in a row have a chance of 10^-30.
    latencies = {i: 0.8 if rng.random() < 0.1 else 0.2 for i in range(1080)}
    queues = {i: max(0.0, rng.gauss(1000, 1000)) for i in latencies}

    assert not any(verdict.again for verdict in _watched(latencies, queues))


@cases(30)
@given(st.integers(0, 200), st.integers(0, 2**32), st.booleans())
def test_a_real_shift_is_found_when_its_period_is_over(begins: int, seed: int, late: bool) -> None:
    rng = random.Random(seed)  # noqa: S311 - a load, not a secret
    latencies = {i: rng.uniform(0.6, 2) if late and i >= begins else rng.uniform(0.1, 0.4) for i in range(begins + 60)}
    # Or a fifth less is done than comes in: 180 records a second more are waiting.
    queues = {i: 0.0 if late or i < begins else 1800.0 * (i - begins) for i in latencies}
    verdicts = _watched(latencies, queues)
    crossed = next(i for i in latencies if i >= begins and (latencies[i] > 0.5 or queues[i] > 5000))
    found = next(i for i, verdict in enumerate(verdicts) if verdict.again)

    assert 10 * (found - crossed) == 300
