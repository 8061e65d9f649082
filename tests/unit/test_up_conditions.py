"""Conditions are told when they turn and stay so."""

from __future__ import annotations

import observations
from spillway.local.conditions import STAYS, WELL, Conditions
from spillway.local.events import Look
from spillway.model.observation import Condition

MISSING = Condition("Topics", False, "Missing", "topic 'lines' does not exist; create it")
THERE = Condition("Topics", True, "Complete", "every topic is there")


def test_that_all_is_well_is_no_news() -> None:
    conditions = Conditions()

    assert conditions.heard(observations.WELL, 0.0) == []
    assert conditions.heard(observations.WELL, 10.0) == []
    assert {condition.type for condition in observations.WELL} == set(WELL)


def test_what_is_passed_through_is_no_news() -> None:
    conditions = Conditions()

    assert conditions.heard([MISSING], 0.0) == []
    assert conditions.heard([THERE], STAYS / 2) == []
    assert conditions.heard([MISSING], STAYS) == []
    assert conditions.heard([MISSING], STAYS * 1.9) == []


def test_what_stays_wrong_is_told_once_and_that_it_is_well_again_too() -> None:
    conditions = Conditions()
    conditions.heard([MISSING], 0.0)

    (event,) = conditions.heard([MISSING], STAYS)
    assert event.text == "Topics is false (Missing): topic 'lines' does not exist; create it"
    assert event.look is Look.WARNING
    assert conditions.heard([MISSING], 2 * STAYS) == []

    conditions.heard([THERE], 3 * STAYS)
    (event,) = conditions.heard([THERE], 4 * STAYS)
    assert event.look is Look.GOOD


def test_other_words_for_the_same_are_no_news() -> None:
    conditions = Conditions()
    conditions.heard([MISSING], 0.0)
    conditions.heard([MISSING], STAYS)
    reworded = Condition("Topics", False, "Missing", "topics 'lines' and 'word-counts' do not exist; create them")

    assert conditions.heard([reworded], 2 * STAYS) == []
    assert conditions.heard([reworded], 4 * STAYS) == []
