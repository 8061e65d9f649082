"""Open loops: events are due by the clock, whatever the system does, and a late generator makes a run void."""

from __future__ import annotations

import collections

import pytest

from spillway.bench.record import events, latency, schedule
from spillway.bench.record.schedule import Pacer, Schedule


class Clock:
    """A clock that goes on when somebody sleeps or works, and wakes sleepers a little late."""

    def __init__(self, late: float = 0.0) -> None:
        self.now, self._late = 1000.0, late

    def read(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds + self._late


def _paced(plan: Schedule, clock: Clock, work: float = 0.0, stall: dict[int, float] | None = None) -> Pacer:
    pacer = Pacer(plan, wall=clock.read, clock=clock.read, sleep=clock.sleep)
    for event, due in pacer.events():
        assert due == plan.due(event)
        clock.now += work + (stall or {}).get(event, 0.0)
    return pacer


def test_event_i_is_due_at_start_plus_i_by_rate() -> None:
    plan = Schedule(100.0, 1000.0, 5)

    assert [plan.due(event) for event in range(5)] == pytest.approx([100.0, 100.001, 100.002, 100.003, 100.004])


def test_a_generator_in_time_is_not_void() -> None:
    pacer = _paced(Schedule(1001.0, 1000.0, 2000), Clock(), work=0.0002)

    late = schedule.lateness(pacer.late)
    assert late.most < 0.001
    assert not late.is_void


def test_no_event_is_sent_before_it_is_due() -> None:
    pacer = _paced(Schedule(1001.0, 1000.0, 500), Clock(late=0.00005), work=0.0001)

    assert min(pacer.late) >= 0


def test_a_hiccup_does_not_move_the_events_after_it() -> None:
    clock = Clock()
    pacer = _paced(Schedule(1001.0, 1000.0, 1000), clock, work=0.0001, stall={100: 0.05})

    assert pacer.late[101] == pytest.approx(0.05, abs=0.002)
    assert max(pacer.late[200:]) < 0.001
    assert clock.now == pytest.approx(1002.0, abs=0.01)


@pytest.mark.parametrize(("share", "void"), [(0.0005, False), (0.002, True)])
def test_a_run_is_void_if_more_than_one_event_in_a_thousand_is_late(share: float, void: bool) -> None:
    count = 10_000
    late = [0.006] * int(count * share) + [0.0001] * (count - int(count * share))

    assert schedule.lateness(late).is_void is void


def test_without_any_event_a_run_is_void() -> None:
    assert schedule.lateness([]).is_void


def _worked(arrivals: list[float], service: float, stall: tuple[float, float]) -> list[float]:
    """When each event leaves a single server that is stopped for a while."""
    free, left = 0.0, []
    for at in arrivals:
        begin = max(free, at)
        if stall[0] <= begin < sum(stall):
            begin = sum(stall)
        free = begin + service
        left.append(free)
    return left


def test_a_stalled_system_shows_in_the_reported_maximum() -> None:
    plan = Schedule(1_000_000.0, 1000.0, 12_000)
    arrivals = [plan.due(event) for event in range(plan.count)]
    left = _worked(arrivals, 0.0001, (plan.start + 5.0, 5.0))
    ends = {int(due * 1_000_000): int(at * 1000) for due, at in zip(arrivals, left, strict=True)}

    found = latency.judged(plan, {}, ends, {}, schedule.Lateness(0, 0, 0), 0.0)

    assert max(found.latencies) == pytest.approx(5000, rel=0.02)
    assert found.missing == 0
    # Half of what is measured came while nothing moved: no single bad value, but a quantile.
    assert sorted(found.latencies)[len(found.latencies) // 2] > 500


def test_a_closed_loop_would_have_hidden_the_stall() -> None:
    """Who sends the next event only when the last has left, and counts from then, reports one bad value."""
    now, seen = 0.0, []
    for _ in range(7000):
        begun = now
        (now,) = _worked([now], 0.0001, (5.0, 5.0))
        seen.append(now - begun)
        now = max(now, begun + 0.001)

    assert sum(value > 0.01 for value in seen) == 1


def test_an_event_without_output_makes_a_run_void() -> None:
    plan = Schedule(1_000_000.0, 1000.0, 4000)
    ends = {int(plan.due(event) * 1_000_000): int(plan.due(event) * 1000) + 3 for event in range(3999)}

    found = latency.judged(plan, {}, ends, {}, schedule.Lateness(0, 0, 0), 0.0)

    assert found.missing == 1
    assert found.is_void


def test_latencies_are_never_too_low_by_what_brokers_cut_off() -> None:
    plan = Schedule(1_000_000.0, 997.0, 4000)
    true = 0.0123
    ends = {int(plan.due(e) * 1_000_000): int((plan.due(e) + true) * 1000) for e in range(plan.count)}

    found = latency.judged(plan, {}, ends, {}, schedule.Lateness(0, 0, 0), 0.0)

    assert min(found.latencies) >= true * 1000 - 0.001
    assert max(found.latencies) <= true * 1000 + 1.001


def test_workloads_are_the_same_bytes_each_time() -> None:
    for make in (events.orders, events.lines, events.ads):
        first, again = make(), make()
        assert [next(first).at(7) for _ in range(50)] == [next(again).at(7) for _ in range(50)]


def test_skews_are_what_they_are_called() -> None:
    uniform, zipf = (collections.Counter(events.skewed(kind)) for kind in ("uniform", "zipf"))

    assert max(uniform.values()) < 2 * min(uniform.values())
    assert zipf[0] / zipf[9] == pytest.approx(10**events.ZIPF, rel=0.1)
    assert events.skewed("one") == [1]
