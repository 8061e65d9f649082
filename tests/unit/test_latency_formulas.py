"""The parts of the latency model against what is exact, and against simulations with a fixed seed.

Tolerances of simulations are a few times their own error (some 10^5 samples), and say where the model approximates.
"""

# ruff: noqa: RUF003, S311 - Greek letters are those of the papers; simulations need a seed and no secrets

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Callable, Sequence

import pytest

from spillway.controllers.latency import batches, filling, moments, queueing, service, windows
from spillway.controllers.latency.moments import NEVER, Moments
from spillway.controllers.latency.phases import Phase

SEED = 20


def close(found: Moments, mean: float, variance: float, *, within: float = 1e-9) -> bool:
    return found.mean == pytest.approx(mean, rel=within) and found.variance == pytest.approx(variance, rel=within)


# Quantiles


def test_the_normal_quantile_is_the_one_of_the_tables() -> None:
    assert moments.normal(Moments(10.0, 4.0), 0.975) == pytest.approx(10 + 2 * 1.959964, rel=1e-6)


def test_cantellis_bound_is_reached_by_the_distribution_that_it_is_tight_for() -> None:
    # 0 with probability 0.9 and 1 with 0.1: mean 0.1, variance 0.09; so all of it is within Q(0.9) = 0.1 + 3·0.3.
    assert moments.cantelli(Moments(0.1, 0.09), 0.9) == pytest.approx(1.0)


def test_a_quantile_of_what_never_happens_is_infinite() -> None:
    assert moments.normal(NEVER, 0.5) == math.inf
    assert moments.cantelli(NEVER, 0.99) == math.inf


@pytest.mark.parametrize("x", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_a_quantile_of_no_share_is_refused(x: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        moments.normal(Moments(1.0), x)


@pytest.mark.parametrize(("mean", "variance"), [(-1.0, 0.0), (0.0, -1.0), (math.nan, 0.0), (0.0, math.nan)])
def test_moments_of_no_time_are_refused(mean: float, variance: float) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        Moments(mean, variance)


# Frames


def scv(values: Sequence[float]) -> float:
    return statistics.pvariance(values) / statistics.fmean(values) ** 2


def simulated_frames(b: int, r: float, d: float, gap: Callable[[], float], frames: int = 20_000) -> filling.Filling:
    """Frames one after the other, as a worker fills them; the gap before a frame that opens belongs to nobody."""
    waits: list[float] = []
    sizes: list[int] = []
    cycles: list[float] = []
    for _ in range(frames):
        arrivals = [0.0]
        while len(arrivals) < b and (at := arrivals[-1] + gap() / r) < d:
            arrivals.append(at)
        left = arrivals[-1] if len(arrivals) == b else d
        waits += [left - at for at in arrivals]
        sizes.append(len(arrivals))
        cycles.append(left + gap() / r)
    return filling.Filling(
        Moments(statistics.fmean(waits), statistics.pvariance(waits)), statistics.fmean(sizes), scv(sizes), scv(cycles)
    )


@pytest.mark.parametrize(
    ("b", "r", "d"),
    [
        (10, 100.0, math.inf),
        (10, 100.0, 0.02),
        (10, 100.0, 0.09),
        (10, 100.0, 0.2),
        (50, 3.0, 0.1),
        (2, 5.0, 0.2),
    ],
)
def test_the_wait_in_a_frame_is_the_simulated_one(b: int, r: float, d: float) -> None:
    chance = random.Random(SEED)
    seen = simulated_frames(b, r, d, lambda: chance.expovariate(1.0))
    found = filling.fill(b, r, d)

    assert close(found.wait, seen.wait.mean, seen.wait.variance, within=0.03)
    assert found.records == pytest.approx(seen.records, rel=0.02)
    assert found.spread == pytest.approx(seen.spread, rel=0.05, abs=1e-4)
    assert found.rhythm == pytest.approx(seen.rhythm, rel=0.05)


def test_records_that_come_like_a_clock_wait_as_long_on_average_and_vary_less() -> None:
    seen = simulated_frames(20, 100.0, math.inf, lambda: 1.0, frames=100)
    found = filling.fill(20, 100.0).wait

    assert found.mean == pytest.approx(seen.wait.mean)
    assert seen.wait.variance < found.variance < 1.3 * seen.wait.variance


@pytest.mark.parametrize("b", [1, 2, 3, 10, 1000])
def test_without_a_deadline_a_frame_fills_in_its_own_time(b: int) -> None:
    found = filling.fill(b, 4.0)

    assert close(found.wait, (b - 1) / 8, (b - 1) * (b + 7) / (12 * 16))
    assert found.records == b
    assert found.spread == pytest.approx(0, abs=1e-9)
    assert found.rhythm == pytest.approx(1 / b)


@pytest.mark.parametrize("a", [0.01, 1.0, 30.0, 5_000.0, 20_000.0])
def test_a_frame_that_never_fills_leaves_by_its_deadline(a: float) -> None:
    d = 0.5
    mean, square = d * (1 + a / 2) / (1 + a), d * d * (1 + a / 3) / (1 + a)

    assert close(filling.fill(10**9, a / d, d).wait, mean, square - mean**2, within=1e-6)


def test_a_record_that_stays_alone_waits_all_of_the_deadline() -> None:
    assert filling.fill(100, 1e-9, 0.2).wait.mean == pytest.approx(0.2)
    assert filling.fill(100, 0.0, 0.2).wait == Moments(0.2)
    assert filling.fill(100, 0.0).wait == NEVER


def test_the_two_ways_to_the_poisson_distribution_meet() -> None:
    below = filling.fill(10_000, 9_999.0, 1.0)
    above = filling.fill(10_000, 10_001.0, 1.0)

    assert close(below.wait, above.wait.mean, above.wait.variance, within=0.002)


@pytest.mark.parametrize(("b", "r", "d"), [(0, 1.0, 1.0), (1, -1.0, 1.0), (1, math.inf, 1.0), (1, 1.0, -1.0)])
def test_frames_that_make_no_sense_are_refused(b: int, r: float, d: float) -> None:
    with pytest.raises(ValueError, match="makes no sense"):
        filling.fill(b, r, d)


# Queues


@pytest.mark.parametrize("load", [0.01, 0.1, 0.5, 0.8, 0.95, 0.999])
def test_a_queue_with_random_arrivals_and_services_is_exact(load: float) -> None:
    s = 0.004
    found = queueing.wait(load / s, s, 1.0, 1.0)

    assert close(found, s * load / (1 - load), s**2 * load * (2 - load) / (1 - load) ** 2)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_a_queue_with_constant_services_is_exact(load: float) -> None:
    # Pollaczek and Khinchin, and Takács: E(W²) = 2·E(W)² + λ·E(S³)/(3(1-ρ)).
    s = 2.0
    mean = s * load / (2 * (1 - load))
    variance = mean**2 + load * s**2 / (3 * (1 - load))

    assert close(queueing.wait(load / s, s, 1.0, 0.0), mean, variance)


def simulated_queue(load: float, gap: Callable[[], float], work: Callable[[], float], served: int) -> Moments:
    """Lindley: whoever comes waits for what the one before had to wait and takes, less what passed since."""
    waits: list[float] = []
    waiting = 0.0
    for _ in range(served):
        waits.append(waiting)
        waiting = max(0.0, waiting + work() - gap() / load)
    return Moments(statistics.fmean(waits), statistics.pvariance(waits))


GAMMA = {0.25: 4.0, 1.0: 1.0, 2.0: 0.5}  # the shape of a gamma distribution with this scv


@pytest.mark.parametrize(("ca", "cs"), list(itertools.product(GAMMA, GAMMA)))
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_the_queue_is_near_the_simulated_one(load: float, ca: float, cs: float) -> None:
    chance = random.Random(SEED)
    seen = simulated_queue(
        load,
        lambda: chance.gammavariate(GAMMA[ca], 1 / GAMMA[ca]),
        lambda: chance.gammavariate(GAMMA[cs], 1 / GAMMA[cs]),
        40_000,
    )
    found = queueing.wait(load, 1.0, ca, cs)

    assert found.mean == pytest.approx(seen.mean, rel=0.15)
    assert found.deviation == pytest.approx(seen.deviation, rel=0.25)


def test_one_stream_stays_as_it_is_and_many_become_random() -> None:
    assert queueing.merged([queueing.Stream(10.0, 0.1, 1)], 0.05) == pytest.approx(0.1)
    assert queueing.merged([queueing.Stream(0.001, 0.1, 10_000)], 0.05) == pytest.approx(1.0, abs=0.001)
    assert queueing.merged([], 0.05) == 1.0


@pytest.mark.parametrize("load", [1.0, 1.5, 1e300])
def test_a_queue_that_gets_more_than_it_can_do_takes_for_ever(load: float) -> None:
    assert queueing.wait(load, 1.0, 1.0, 1.0) == NEVER


def test_clockwork_waits_for_nobody() -> None:
    assert queueing.wait(0.9, 1.0, 0.0, 0.0) == Moments(0.0)


@pytest.mark.parametrize(("arrival", "service_"), [(-1.0, 1.0), (1.0, -1.0), (math.nan, 1.0), (1.0, math.inf)])
def test_variability_that_is_none_is_refused(arrival: float, service_: float) -> None:
    with pytest.raises(ValueError, match="variability of"):
        queueing.Variability(arrival, service_)


# CPU, batches, windows


@pytest.mark.parametrize(
    ("cores", "others", "slower"),
    [(1, 0.0, 1.0), (4, 3.0, 1.0), (2, 1.5, 2.0), (1, 0.75, 4.0), (1, 1.0, math.inf), (2, 5.0, math.inf)],
)
def test_a_slot_has_one_core_at_most_and_what_others_leave_at_least(cores: int, others: float, slower: float) -> None:
    assert service.slowdown(cores, others) == pytest.approx(slower)


def test_a_record_takes_half_of_a_large_frame_and_all_of_a_frame_of_one() -> None:
    assert close(service.cpu(0.3, 1e9, 0.0), 0.15, 0.09 / 12, within=1e-6)
    assert close(service.cpu(0.3, 1, 1.0), 0.3, 0.09)


def test_a_micro_batch_is_the_simulated_one() -> None:
    chance = random.Random(SEED)
    interval, rate, capacity = 1.0, 200.0, 500.0
    latencies: list[float] = []
    for _ in range(1000):
        arrivals: list[float] = []
        at = chance.expovariate(rate)
        while at < interval:
            arrivals.append(at)
            at += chance.expovariate(rate)
        done = interval + 0.05 + len(arrivals) / capacity
        latencies += [done - at for at in arrivals]
    found = batches.Engine(interval, Moments(0.05)).phases(rate, capacity)

    assert found[Phase.BATCH].mean + found[Phase.SCHEDULE].mean == pytest.approx(statistics.fmean(latencies), rel=0.01)
    assert found[Phase.BATCH].variance == pytest.approx(statistics.pvariance(latencies), rel=0.02)


def test_batches_that_take_longer_than_their_interval_never_catch_up() -> None:
    engine = batches.Engine(1.0, Moments(0.1))

    assert engine.phases(89.0, 100.0)[Phase.BATCH].finite
    assert not engine.phases(90.0, 100.0)[Phase.BATCH].finite


@pytest.mark.parametrize(("interval", "speedup"), [(0.0, 1.0), (-1.0, 1.0), (math.inf, 1.0), (1.0, 0.0)])
def test_an_engine_that_makes_no_sense_is_refused(interval: float, speedup: float) -> None:
    with pytest.raises(ValueError, match="batch engine"):
        batches.Engine(interval, speedup=speedup)


def test_the_largest_of_few_gaussians_is_exact() -> None:
    pi = math.pi
    assert windows.largest(1) == (0.0, 1.0)
    assert windows.largest(2) == pytest.approx((1 / math.sqrt(pi), 1 - 1 / pi), rel=1e-9)
    assert windows.largest(3)[0] == pytest.approx(1.5 / math.sqrt(pi), rel=1e-9)


@pytest.mark.parametrize("m", [4, 20, 100])
def test_the_largest_of_many_gaussians_is_the_simulated_one(m: int) -> None:
    chance = random.Random(SEED)
    seen = [max(chance.gauss(0, 1) for _ in range(m)) for _ in range(200_000 // m)]
    a, a_squared = windows.largest(m)

    assert a == pytest.approx(statistics.fmean(seen), abs=0.02)
    assert a_squared == pytest.approx(statistics.pvariance(seen), rel=0.1)


def test_the_largest_of_very_many_gaussians_follows_the_asymptotic_theorem() -> None:
    m = 10**9  # a = √(2·ln m) - (ln ln m + ln 4π - 2γ)/(2·√(2·ln m)), a'² = π²/(12·ln m); both from below slowly
    top = math.sqrt(2 * math.log(m))
    a, a_squared = windows.largest(m)

    assert a == pytest.approx(top - (math.log(math.log(m)) + math.log(4 * math.pi) - 2 * 0.5772) / (2 * top), rel=0.01)
    assert a_squared == pytest.approx(math.pi**2 / (12 * math.log(m)), rel=0.15)


@pytest.mark.parametrize("k", [1, 2, 7])
def test_the_turn_of_a_key_is_any_of_k(k: int) -> None:
    turns = [i * 3.0 / k for i in range(1, k + 1)]

    assert close(windows.turn(k, 3.0), statistics.fmean(turns), statistics.pvariance(turns))
