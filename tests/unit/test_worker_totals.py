"""Counters of a worker only ever grow, whatever becomes of its slots and their partitions."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spillway.runtime.telemetry import VERSION, Flow, Place, Report
from spillway.runtime.worker.totals import Totals


def report(
    slot: str = "w0.0", life: int = 1, came: int = 0, late: int = 0, epoch: int = 1, held: bool = True, **more: Any
) -> Report:
    places = (Place("counts", 0, epoch, "p", True, 0, 0, late=late),) if held else ()
    flows = {"counts": {"counts": Flow(came=came)}} if held else {}
    return Report(VERSION, slot, life, f"{slot}#{life}", 0.0, 0.0, places=places, flows=flows, **more)


CAME, LATE, CPU = ("came", "counts", "counts"), ("late", "counts"), ("cpu", "w0.0")


def test_reports_of_one_life_are_not_added_up() -> None:
    totals = Totals()
    for came in (10, 10, 25):
        totals.take("p", report(came=came))

    assert totals.read()[CAME] == 25


def test_slots_are_added_up() -> None:
    totals = Totals()
    totals.take("p", report("w0.0", came=10))
    totals.take("q", report("w0.1", came=5))

    assert totals.read()[CAME] == 15


def test_a_new_life_counts_from_zero_also_if_it_has_counted_more_by_its_first_report() -> None:
    totals = Totals()
    totals.take("p", report(life=1, came=10))
    totals.take("q", report(life=2, came=40))

    assert totals.read()[CAME] == 50


def test_what_is_of_the_process_goes_on_in_its_next_life() -> None:
    totals = Totals()
    totals.take("p", report(life=1, cpu=3.0))
    totals.take("p", report(life=2, cpu=4.0))
    totals.take("q", report(life=3, cpu=0.5))

    assert totals.read()[CPU] == 4.5


def test_a_partition_that_goes_away_takes_nothing_with_it() -> None:
    totals = Totals()
    totals.take("p", report(came=10, late=3))
    totals.take("p", report(held=False))

    assert (totals.read()[CAME], totals.read()[LATE]) == (10, 3)


def test_a_partition_that_comes_back_counts_from_zero() -> None:
    totals = Totals()
    totals.take("p", report(late=3, epoch=1))
    totals.take("p", report(late=1, epoch=2))

    assert totals.read()[LATE] == 4


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 4), st.integers(0, 1000), st.integers(0, 1000), st.booleans()),
        max_size=40,
    )
)
def test_no_counter_ever_goes_back(told: list[tuple[int, int, int, int, bool]]) -> None:
    totals, before = Totals(), dict[tuple[str, ...], float]()
    for slot, life, came, late, held in told:
        totals.take("p", report(f"w0.{slot}", life, came, late, held=held, letters=late, cpu=came))
        now = dict(totals.read())
        assert all(now[key] >= value for key, value in before.items())
        before = now
