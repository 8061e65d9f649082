"""Quantiles by three moments: right for queues, where the normal distribution is a quarter too low."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from spillway.controllers.costmodel.flow import Flow, Node, Setting
from spillway.controllers.latency import gamma, moments, prediction, queueing, service
from spillway.controllers.latency.moments import Moments
from spillway.controllers.latency.queueing import Variability

SERVICE = 0.012
COUNT = 60_000


def simulated(share: float, *, varies: bool, regular: bool) -> list[float]:
    """How long records take on one slot, by Lindley's recursion."""
    dice = random.Random(3)  # noqa: S311 - a queue, no secret
    found, waits = [], 0.0
    for _ in range(COUNT):
        takes = dice.expovariate(1 / SERVICE) if varies else SERVICE
        found.append(waits + takes)
        gap = SERVICE / share if regular else dice.expovariate(share / SERVICE)
        waits = max(0.0, waits + takes - gap)
    return found


def predicted(share: float, *, varies: bool, regular: bool) -> prediction.Prediction:
    flow = Flow([Node("work", (), SERVICE, 0.0, ())])
    variability = {"work": Variability(0.0 if regular else 1.0, 1.0 if varies else 0.0)}
    return prediction.predict(
        flow, {"work": Setting(1)}, {"work": share / SERVICE}, variability=variability, observed=True
    )


QUEUES = [
    (share, varies, regular) for share in (0.2, 0.5, 0.75) for varies in (False, True) for regular in (False, True)
]


@pytest.mark.parametrize(("share", "varies", "regular"), [one for one in QUEUES if one[1] or not one[2]])
def test_a_tail_is_as_long_as_that_of_a_real_queue(share: float, varies: bool, regular: bool) -> None:
    seen = sorted(simulated(share, varies=varies, regular=regular))
    p99 = seen[COUNT * 99 // 100]
    says = predicted(share, varies=varies, regular=regular)

    assert says.likely(0.99) == pytest.approx(p99, rel=0.1)
    assert says.quantile(0.99) < 0.85 * p99  # what the normal distribution says of it
    assert moments.cantelli(says.ways[0].moments, 0.99) > p99


def test_third_moments_of_a_wait_are_those_of_the_textbook() -> None:
    """M/M/1: who waits does so for an exponentially distributed time, as long as a service through what is left."""
    load, d = 0.6, 1 / (1 - 0.6)
    found = queueing.wait(load, 1.0, 1.0, 1.0)
    mean, second, third = load * d, load * 2 * d**2, load * 6 * d**3
    assert found.third == pytest.approx(third - 3 * mean * second + 2 * mean**3)


def test_third_moments_of_service_are_those_of_a_gamma_distribution_and_of_a_place_in_a_frame() -> None:
    assert service.cpu(2.0, 1.0, 0.0).third == pytest.approx(0.0, abs=1e-12)
    assert service.cpu(2.0, 1.0, 1.0).third == pytest.approx(2 * 2.0**3)  # an exponential distribution
    places = [2.0 * (k + 1) / 5 for k in range(5)]
    mean = statistics.fmean(places)
    assert service.cpu(2.0, 5.0, 0.0).third == pytest.approx(
        statistics.fmean((one - mean) ** 3 for one in places), abs=1e-12
    )


def test_third_moments_add_up_and_never_stay_where_nothing_happens() -> None:
    assert (Moments(1.0, 1.0, 2.0) + Moments(2.0, 3.0, 4.0)).third == 6.0
    assert Moments(math.inf, 1.0, 5.0).third == 0.0


@pytest.mark.parametrize(
    ("shape", "x"), [(0.05, 0.99), (0.5, 0.9), (1.0, 0.5), (3.0, 0.99), (400.0, 0.999), (9e3, 0.6)]
)
def test_quantiles_of_the_gamma_distribution_are_its_own(shape: float, x: float) -> None:
    t = gamma.quantile(shape, x)
    step = t / 20_000
    area = math.fsum(
        math.exp((shape - 1) * math.log(u) - u - math.lgamma(shape)) * step
        for u in (step * (i + 0.5) for i in range(20_000))
    )
    assert gamma.below(shape, t) == pytest.approx(x, abs=1e-9)
    if shape >= 1:  # below, what is added up is endless at 0
        assert area == pytest.approx(x, abs=1e-3)


def test_an_exponential_distribution_has_its_own_quantiles() -> None:
    assert moments.likely(Moments(2.0, 4.0, 16.0), 0.99) == pytest.approx(-2 * math.log(0.01))


@pytest.mark.parametrize("x", [0.5, 0.9, 0.99, 0.999])
def test_nothing_jumps_where_a_tail_gets_short(x: float) -> None:
    """Between gamma and its expansion, and between that and the normal distribution."""
    at = 2 / math.sqrt(gamma.MOST)
    above, below = (moments.likely(Moments(1.0, 0.01, skew * 1e-3), x) for skew in (at * 1.001, at * 0.999))
    assert above == pytest.approx(below, rel=1e-4)
    assert moments.likely(Moments(1.0, 0.01, 1e-12), x) == pytest.approx(moments.normal(Moments(1.0, 0.01), x))
    assert moments.likely(Moments(1.0), x) == 1.0
