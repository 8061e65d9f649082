"""Quantities survive being written and read again, and are ordered as their amounts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzzing
from spillway.model.quantities import Duration, MemorySize

pytestmark = pytest.mark.fuzz

DURATIONS = st.from_regex(r"[0-9]{1,9}(\.[0-9]{1,9})?(ns|us|ms|s|m|h)", fullmatch=True)
MEMORY = st.from_regex(r"[0-9]{1,12}(Ki|Mi|Gi|Ti|k|M|G|T)?", fullmatch=True)
TEXTS = st.one_of(st.tuples(st.just(Duration), DURATIONS), st.tuples(st.just(MemorySize), MEMORY))


@fuzzing.cases(300)
@given(TEXTS)
def test_what_is_read_is_written_so_that_it_reads_the_same(case: tuple[type[Duration | MemorySize], str]) -> None:
    kind, text = case
    value = kind.parse(text)
    assert kind.parse(str(value)) == value


@fuzzing.cases(100)
@given(st.integers(0, 10**18 - 1))
def test_every_amount_of_a_few_decades_can_be_written_and_read(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))) == Duration(nanoseconds)


@fuzzing.cases(100)
@given(DURATIONS, DURATIONS)
def test_durations_are_ordered_as_their_amounts(one: str, other: str) -> None:
    first, second = Duration.parse(one), Duration.parse(other)
    assert (first < second) == (first.amount < second.amount)
    assert (first == second) == (first.amount == second.amount)


@fuzzing.cases(200)
@given(st.text())
def test_any_text_is_a_quantity_or_refused_in_a_short_sentence(text: str) -> None:
    for kind in (Duration, MemorySize):
        refused = ""
        try:
            kind.parse(text)
        except ValueError as error:
            refused = str(error) or "for no reason"
        assert not refused or re.fullmatch(r".{2,40} is not an? .{4,20}; write an? .{20,150}", refused)
