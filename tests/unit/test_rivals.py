"""The rivals do what their authors say, number by number."""

from __future__ import annotations

import dataclasses

import pytest

import simulated
from spillway.bench.rivals import flink, keda, stela, threshold
from spillway.controllers.costmodel.flow import Flow
from spillway.simulation.policies import SegmentSeen
from telemetry import after, seen, segment

SINGLE = simulated.single().flow

# Threshold


def test_above_the_upper_threshold_a_segment_gets_one_slot_and_then_waits() -> None:
    policy = threshold.Threshold()
    sizes = []
    for at in range(0, 75, 15):
        wish = policy.decide(seen(work=segment(4, busy=0.95)), after(at))
        sizes.append(wish.segments["work"].slots if wish.segments else None)

    assert sizes == [5, None, 5, None, 5]


def test_below_the_lower_threshold_it_gives_one_back_after_five_minutes_at_the_earliest() -> None:
    policy = threshold.Threshold()
    policy.decide(seen(work=segment(4, busy=0.95)), after(0))

    early = policy.decide(seen(work=segment(5, busy=0.1)), after(285))
    later = policy.decide(seen(work=segment(5, busy=0.1)), after(300))

    assert not early.segments
    assert later.segments["work"].slots == 4


@pytest.mark.parametrize(
    "what",
    [segment(4, busy=0.6), segment(1, busy=0.0), segment(5, busy=0.95, ready=4), None],
    ids=["between the thresholds", "the last slot", "on the way", "no metrics"],
)
def test_nothing_is_due(what: SegmentSeen | None) -> None:
    assert not threshold.Threshold().decide(seen(work=what), after(0)).segments


# KEDA


def _keda(seconds: float = 1.0) -> keda.Keda:
    return keda.Keda({"work": 1000 * seconds}, {"work": 16})


@pytest.mark.parametrize(
    ("slots", "queue", "processed", "expected"),
    {
        "nothing waits and nothing comes": (1, 0, 0, 1),
        "a lag of three thresholds": (2, 3000, 0, 3),
        "a part counts as a whole": (2, 2500, 0, 3),
        "within the tolerance": (10, 10_900, 0, 10),
        "just beyond it": (10, 11_100, 0, 12),
        "at most double": (6, 50_000, 0, 12),
        "or four more": (2, 50_000, 0, 6),
        "at most the partitions": (12, 50_000, 0, 16),
        "what is done and not committed is lag": (2, 0, 2000, 5),
    }.values(),
)
def test_wanted_is_lag_through_threshold_as_far_as_the_behaviour_allows(
    slots: int, queue: float, processed: float, expected: int
) -> None:
    assert _keda().slots("work", segment(slots, processed, queue=queue), after(0)) == expected


def test_fewer_are_taken_once_nobody_wanted_more_for_five_minutes() -> None:
    policy, current, sizes = _keda(), 1, []
    for at in range(0, 615, 15):
        current = policy.slots("work", segment(current, queue=5000 if at < 30 else 1000), after(at))
        sizes.append(current)

    assert sizes[1] == 5
    assert sizes[15 // 15 + 300 // 15 - 1] == 5
    assert sizes[15 // 15 + 300 // 15] == 1


# Stela


def _chain(**rates: tuple[float, float, float]) -> dict[str, stela.Operator]:
    return {name: stela.Operator(1, *of) for name, of in rates.items()}


def test_the_effective_throughput_is_that_of_the_sinks_that_are_reached_without_congestion() -> None:
    flow = Flow(
        [
            simulated.topic(),
            simulated.segment("a", "events"),
            simulated.segment("b", "a"),
            simulated.segment("c", "a"),
            simulated.segment("d", "c"),
        ]
    )
    operators = _chain(a=(100, 100, 100), b=(100, 60, 60), c=(100, 40, 40), d=(40, 40, 40))
    policy = stela.Stela(flow)

    assert policy.etp(operators, "b") == pytest.approx(0.6)
    assert policy.etp(operators, "d") == pytest.approx(0.4)
    assert policy.etp(operators, "c") == pytest.approx(0.4)
    assert policy.etp(operators, "a") == 0.0  # both ways are congested
    assert policy.next(operators) == "b"


def test_a_slot_is_projected_to_all_that_read_so_that_the_next_bottleneck_is_found_in_the_same_round() -> None:
    policy = stela.Stela(simulated.line(2).flow, workers=3)
    tight = seen(
        s0=segment(1, 3000, 1000, busy=1.0, out="s0"),
        s1=segment(1, 1000, 1000, busy=1.0, out="s1"),
    )

    wish = policy.decide(tight, after(30))

    # s0 alone is congested. With 2000/s it still is, but s1 behind it now has the higher ETP of the two; then s0 again.
    assert {name: s.slots for name, s in wish.segments.items()} == {"s0": 3, "s1": 2}


def test_what_is_not_congested_by_a_fifth_stays() -> None:
    policy = stela.Stela(SINGLE)

    assert not policy.decide(seen(30, work=segment(1, 1190, 1000, busy=1.0)), after(0)).segments
    assert policy.decide(seen(30, work=segment(1, 1210, 1000, busy=1.0)), after(30)).segments["work"].slots == 2


def test_after_five_calm_minutes_who_has_the_least_throughput_gives_a_slot_back_if_the_rest_has_room() -> None:
    policy = stela.Stela(simulated.line(2).flow)
    calm = seen(30, s0=segment(4, 1000, 1000, busy=0.25, out="s0"), s1=segment(2, 1000, 1000, busy=0.7, out="s1"))
    wishes = [policy.decide(calm, after(at)).segments for at in range(0, 330, 30)]

    assert not any(wishes[:10])
    assert {name: s.slots for name, s in wishes[10].items()} == {"s0": 3}


# Flink

RATE = 1000.0
AT_TARGET = 10 * RATE / 0.7 / 10  # records per second of a slot, ten of which are 70 % busy


def _burst(factor: float, settings: flink.Settings) -> tuple[int, int]:
    """Seconds until the first change after a step, and the parallelism that it takes; p is 10, and at the target."""
    policy, slots, queue = flink.Flink(SINGLE, {}, settings), 10, 0.0
    able = slots * RATE / 0.7 / 10
    calm = segment(slots, RATE, RATE, busy=RATE / able)
    loop = settings.loop
    assert not policy.decide(seen(loop, work=calm), after(0)).segments
    for i in range(1, 200):
        arrival = RATE * factor
        processed = min(arrival, able)
        queue += (arrival - processed) * loop
        now = seen(loop, work=segment(slots, arrival, processed, busy=processed / able, queue=queue))
        wish = policy.decide(now, after(i * loop))
        if wish.segments:
            return round(i * loop), wish.segments["work"].slots
    return -1, slots


@pytest.mark.parametrize(
    ("factor", "quick", "slow"),
    [
        (1.5, (720, 16), (720, 16)),
        (2, (300, 16), (300, 16)),
        (3, (150, 16), (180, 17)),
        (5, (75, 16), (120, 19)),
        (10, (30, 16), (60, 20)),
        (20, (15, 16), (60, 30)),
    ],
)
def test_the_first_answer_to_a_burst_is_sized_by_the_window_and_not_by_the_burst(
    factor: float, quick: tuple[int, int], slow: tuple[int, int]
) -> None:
    assert _burst(factor, flink.DEFAULT) == quick
    assert _burst(factor, dataclasses.replace(flink.DEFAULT, loop=60.0)) == slow


def test_the_required_capacity_has_a_term_for_the_backlog_and_one_for_the_restart() -> None:
    policy = flink.Flink(SINGLE, {})
    vertex = flink.Vertex(demand=700.0, catch_up=50.0, able=1000.0)

    assert policy.required(vertex, 0.7, restart=False) == pytest.approx(50 + 1000)
    assert policy.required(vertex, 0.7, restart=True) == pytest.approx(50 + 700 * 300 / 1800 + 1000)


@pytest.mark.parametrize(
    ("vertex", "slots", "expected"),
    [
        (flink.Vertex(700.0, 0.0, 1000.0), 10, 12),  # 1116.7/1000: the restart costs a ninth
        (flink.Vertex(10.0, 0.0, 1000.0), 10, 4),  # never less than 0.4 at once
        (flink.Vertex(10_000.0, 0.0, 1000.0), 10, 32),  # as many as there are partitions
    ],
)
def test_parallelism_is_scaled_by_what_is_required_within_its_bounds(
    vertex: flink.Vertex, slots: int, expected: int
) -> None:
    assert flink.Flink(SINGLE, {"work": 32}).parallelism("work", vertex, slots) == expected


def test_downstream_demand_is_that_of_the_sources_times_the_ratios() -> None:
    policy = flink.Flink(simulated.diamond().flow, {})
    measured = {
        "split": segment(1, 100, 100, out="split", selectivity=2.0),
        "left": segment(1, 200, 200, out="left", selectivity=0.5),
        "right": segment(1, 200, 200, out="right"),
        "end": segment(1, 250, 250, out="end"),
    }
    for at in range(0, 45, 15):
        policy.decide(seen(15.0, **measured), after(at))

    assert policy.vertices()["end"].demand == pytest.approx(300, rel=0.01)  # and not the 250 that it got


def test_after_its_own_restart_it_is_blind_for_stabilisation_and_window() -> None:
    policy = flink.Flink(SINGLE, {})
    sizes: list[int] = []
    for at in range(0, 2400, 15):
        burst = segment(10, 9000, 9000, busy=1.0, queue=100.0 * at, ready=5 if at < 30 else 10)
        wish = policy.decide(seen(work=burst), after(at))
        sizes.append(at if wish.segments else 0)

    first = next(at for at in sizes if at)
    assert first == pytest.approx(30 + 300 + 900, abs=30)


def test_nothing_is_given_back_before_the_delay_is_over_and_then_the_largest_that_was_wanted() -> None:
    policy = flink.Flink(SINGLE, {}, flink.FAST)
    for at in range(0, 1200, 15):
        rate = 1000.0 if at < 400 else 500.0
        wish = policy.decide(seen(work=segment(10, rate, rate, busy=rate / 10_000)), after(at))
        if wish.segments:
            break

    assert at == pytest.approx(flink.FAST.scale_down_delay, abs=15)
    assert wish.segments["work"].slots == 4
