"""Shares in time: of all events that came once a run had begun, whatever became of them."""

from __future__ import annotations

import pytest

from spillway.bench.record import latency, overload
from spillway.bench.record.schedule import Lateness, Schedule

LATE = Lateness(0.0, 0.0, 0.0)
SCHEDULE = Schedule(1_000.0, 10.0, 60)  # two seconds of warm-up, then 40 events


def _ends(after: dict[int, float]) -> dict[int, int]:
    """When events came out, by how many seconds after they were due."""
    return {int(SCHEDULE.due(n) * 1_000_000): int((SCHEDULE.due(n) + s) * 1000) for n, s in after.items()}


def test_what_is_missing_or_late_is_not_in_time() -> None:
    first = int(latency.WARM * SCHEDULE.rate)
    found = overload.judged(SCHEDULE, _ends({first + n: 0.1 if n < 10 else 2.0 for n in range(20)}), LATE)

    assert found.in_time == pytest.approx(10 / 40)


def test_what_a_slot_does_is_what_came_out_while_events_came() -> None:
    found = overload.judged(SCHEDULE, _ends(dict.fromkeys(range(60), 0.05)), LATE)

    assert found.in_time == 1
    assert found.done == pytest.approx(10, rel=0.05)


def test_a_share_below_what_is_wanted_is_missed_and_in_order_none_is_asked() -> None:
    shares = {(name, load): [0.5] for load in overload.LOADS for name in overload.CASES}
    found = {one.name: str(one.verdict) for one in overload._figures(shares)}  # noqa: SLF001

    assert found["P3 overload 1.36, mostInTime: in time"] == "missed"
    assert found["P3 overload 1.36, mostInTime, sums: in time"] == "reached"
    assert found["P3 overload 1.8, keepOrder: in time"] == "shown"
    assert found["P3 overload 0.8, mostInTime: in time"] == "reached"
