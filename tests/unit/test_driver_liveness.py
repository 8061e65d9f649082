"""When a slot is silent: only while others are heard, and never because the listener was away."""

from __future__ import annotations

from spillway.controllers.protocol.values import Owner
from spillway.runtime.driver.liveness import DEAF, SILENT, Liveness

A, B = Owner("w0.0", 1), Owner("w1.0", 1)
BOTH = (A, B)


def _heard(liveness: Liveness, owners: tuple[Owner, ...], start: float, end: float) -> None:
    """A report each quarter of a second, and a look after each."""
    now = start
    while now <= end:
        for owner in owners:
            liveness.heard(owner, now)
        liveness.silent(BOTH, now)
        now += 0.25


def test_who_was_not_heard_for_long_enough_is_silent_while_others_are_heard() -> None:
    liveness = Liveness()
    _heard(liveness, BOTH, 0, 1)
    _heard(liveness, (A,), 1.25, 3.75)
    assert not liveness.silent(BOTH, 1 + SILENT - 0.1)
    liveness.heard(A, 1 + SILENT)
    assert liveness.silent(BOTH, 1 + SILENT) == {B}


def test_who_is_heard_again_is_no_longer_silent() -> None:
    liveness = Liveness()
    _heard(liveness, BOTH, 0, 1)
    _heard(liveness, (A,), 1.25, 5)
    liveness.heard(B, 5.1)
    assert not liveness.silent(BOTH, 5.1)


def test_when_nothing_comes_of_anybody_nobody_is_silent() -> None:
    liveness = Liveness()
    _heard(liveness, BOTH, 0, 1)
    _heard(liveness, (), 1.25, 60)
    assert not liveness.silent(BOTH, 60.1)


def test_after_a_gap_all_begin_anew() -> None:
    liveness = Liveness()
    _heard(liveness, BOTH, 0, 1)
    _heard(liveness, (), 1.25, 60)
    liveness.heard(A, 60.25)  # the broker is back, and the first of many is heard
    assert not liveness.silent(BOTH, 60.25)
    _heard(liveness, (A,), 60.5, 60.25 + SILENT)
    assert liveness.silent(BOTH, 60.25 + SILENT) == {B}


def test_a_driver_that_was_stopped_calls_nobody_silent() -> None:
    liveness = Liveness()
    _heard(liveness, BOTH, 0, 1)
    now = 1 + 10 * SILENT
    liveness.heard(A, now)  # the first report that it reads
    assert not liveness.silent(BOTH, now)


def test_one_who_was_never_heard_has_as_long_as_all_others() -> None:
    liveness = Liveness()
    _heard(liveness, (A,), 0, SILENT - 0.5)
    assert not liveness.silent(BOTH, SILENT - 0.5)
    _heard(liveness, (A,), SILENT - 0.25, SILENT)
    assert liveness.silent(BOTH, SILENT) == {B}


def test_the_only_slot_is_never_silent() -> None:
    liveness = Liveness()
    liveness.heard(A, 0)
    assert not any(liveness.silent((A,), now / 4) for now in range(100))
    assert DEAF < SILENT  # else one that is alone would be


def test_of_whom_nothing_was_ever_heard_is_told_from_who_is_only_quiet() -> None:
    liveness = Liveness()
    liveness.heard(A, 0)
    liveness.silent(BOTH, 10)

    assert liveness.unheard(BOTH) == {B}
    liveness.heard(B, 11)
    assert not liveness.unheard(BOTH)
