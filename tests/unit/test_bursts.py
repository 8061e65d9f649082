"""The burst detector: what it finds how soon, and how rarely it is wrong (a bounded run of the bench)."""

from __future__ import annotations

import datetime

import pytest

from spillway.bench import bursts as bench
from spillway.controllers.switching import bursts
from spillway.controllers.switching.bursts import Burst

SPAN = datetime.timedelta(milliseconds=200)


def watched(*rates: float, state: Burst | None = None) -> list[Burst]:
    found = [state or Burst()]
    for rate in rates:
        found.append(bursts.observe(found[-1], rate, SPAN))
    return found[1:]


CALM = watched(*[1000.0, 1040.0, 960.0] * 20)[-1]


def test_a_step_is_found_in_its_first_tick_with_its_new_rate() -> None:
    (found,) = watched(2000, state=CALM)
    assert found.raised
    assert found.high
    assert found.rate == pytest.approx(2000)


def test_a_small_step_takes_some_ticks_and_its_rate_is_that_since_it_began() -> None:
    found = watched(*[1300.0] * 6, state=CALM)
    first = next(i for i, state in enumerate(found) if state.raised)
    assert 1 <= first <= 4
    assert found[first].rate == pytest.approx(1300)


def test_a_rise_that_does_not_matter_is_no_burst_and_becomes_the_new_calm() -> None:
    calm = watched(*[10000.0, 10400.0, 9600.0] * 20)[-1]
    found = watched(*[11100.0] * 200, state=calm)
    assert not any(state.raised for state in found)
    assert found[-1].rate == pytest.approx(11100, rel=0.01)


def test_the_end_of_a_burst_is_found_and_the_next_one_too() -> None:
    found = watched(*[3000.0] * 20, *[1000.0] * 20, *[3000.0] * 5, state=CALM)
    assert [i for i, state in enumerate(found) if state.raised] == [0, 40]
    assert found[19].high
    assert not found[39].high


def test_one_report_that_is_late_is_no_end_of_a_burst() -> None:
    found = watched(*[3000.0] * 10, 0.0, 3000.0, state=CALM)
    assert found[-1].high


def test_a_spike_that_is_taken_back_makes_the_next_one_less_surprising() -> None:
    after = watched(2000, *[1000.0, 1040.0, 960.0] * 10, state=CALM)[-1]
    (again,) = watched(2000, state=after)
    assert not after.high
    assert after.peak > 6
    assert not again.raised


def test_nothing_is_a_burst_before_anything_was_learnt() -> None:
    assert not any(state.raised for state in watched(*[1.0, 1000.0] * (bursts.LEARN // 2)))


NOTHING, LITTLE = [0.0] * 15, [850.0, 880.0, 820.0]


@pytest.mark.parametrize(
    "before",
    [[], NOTHING, NOTHING + LITTLE * 7 + NOTHING, NOTHING + LITTLE * 20 + NOTHING, [300.0] * 4 + NOTHING, NOTHING * 20],
    ids=["nothing", "idle", "began and ended", "long before", "some messages", "long idle"],
)
def test_whatever_was_before_a_calm_load_a_large_step_is_found_within_two_ticks(before: list[float]) -> None:
    found = watched(*before, *LITTLE * 14)[-1]
    assert not found.raised
    assert any(state.raised for state in watched(11_000.0, 11_000.0, state=found))


def test_a_job_that_wakes_up_is_a_burst() -> None:
    idle = watched(*[0.0] * 50)
    assert not any(state.raised for state in idle)
    assert any(state.raised for state in watched(*[500.0] * 3, state=idle[-1]))


# Bounds with some distance to what the whole bench measures, so that another seed would pass, too.


@pytest.mark.parametrize("rate", [1000, 10000])
def test_with_poisson_arrivals_a_doubled_rate_is_found_within_a_tick_and_nothing_else(rate: float) -> None:
    assert bench.false_alarms("poisson", rate, hours=0.25, seed=7).alarms == 0
    assert bench.delays("poisson", rate, 2, trials=20, seed=7).within >= 0.95


@pytest.mark.parametrize("kind", ["on-off", "pareto"])
def test_with_bursty_arrivals_five_times_the_rate_is_found_within_a_second(kind: str) -> None:
    found = bench.delays(kind, 1000, 5, trials=20, seed=7)
    assert found.missed == 0
    assert sorted(found.delays)[len(found.delays) // 2] <= 1.0


@pytest.mark.parametrize(("kind", "most"), [("on-off", 40), ("pareto", 20)])
def test_with_bursty_arrivals_false_alarms_stay_rare(kind: str, most: float) -> None:
    found = bench.false_alarms(kind, 1000, hours=0.4, seed=7)
    assert found.alarms / found.hours <= most
    assert found.beyond <= found.alarms


def test_a_detector_that_is_too_eager_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bursts, "THRESHOLD", 2.0)
    found = bench.false_alarms("on-off", 1000, hours=0.1, seed=7)
    assert found.alarms / found.hours > 40


def test_the_bench_is_the_same_for_the_same_seed() -> None:
    once, again, other = (bench.delays("pareto", 1000, 2, trials=5, seed=seed) for seed in (3, 3, 4))
    assert once == again != other


def test_the_bench_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    bench.main(["--hours", "0.01", "--trials", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 3 * 3 * 5
    assert lines[1].startswith("poisson")
    assert "false alarms per hour:   0.0" in lines[1]
