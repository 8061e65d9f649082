"""What batches write counts for the promise like what slots write."""

from __future__ import annotations

from spillway.runtime.batch.ranges import Aged, Result, Times
from spillway.runtime.driver.observing import LATENCIES
from spillway.runtime.driver.outcomes import Outcomes
from spillway.runtime.telemetry import Ages, Latency

BOUND = 500.0


def ran(*aged: Aged, letters: int = 0) -> Result:
    return Result(0, (), 10, letters, 10, 10, Times(0.1, 0.0, 0.0, 0.1), aged=aged)


def counted(*ages: float) -> Latency:
    found = Ages(BOUND)
    for age in ages:
        found.add(age, 1)
    return found.read()


def test_late_records_of_batches_are_late() -> None:
    outcomes = Outcomes(BOUND, lambda: 0.0)
    outcomes.add([ran(Aged("out", 100.0, 7), Aged("out", 900.0, 3)), ran(Aged("rest", 1.0, 1))])
    latency, seconds = outcomes.beside({})["out"]
    assert (latency.count, latency.within, seconds) == (10, 7, LATENCIES)
    assert outcomes.beside({})["rest"][0].count == 1


def test_they_stand_beside_what_slots_have_told() -> None:
    outcomes = Outcomes(BOUND, lambda: 0.0)
    outcomes.add([ran(Aged("out", 900.0, 1))])
    found = outcomes.beside({"out": (counted(1.0, 2.0), 8.0), "other": (counted(3.0), 8.0)})
    assert (found["out"][0].count, found["out"][0].within) == (3, 2)
    assert found["other"] == (counted(3.0), 8.0)


def test_what_was_long_ago_counts_in_the_sums_alone() -> None:
    now = 0.0
    outcomes = Outcomes(BOUND, lambda: now)
    outcomes.add([ran(Aged("out", 900.0, 5), letters=2)])
    now = LATENCIES + 1
    assert outcomes.beside({}) == {}
    assert outcomes.latency["out"].count == 5
    assert outcomes.letters == 2
