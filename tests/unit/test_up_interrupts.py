"""Ctrl-C: the first is a wish, the second an order."""

from __future__ import annotations

import os
import signal
import time

import pytest

from spillway.local import interrupts as interrupts_module
from spillway.local.interrupts import Interrupts


def send(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_is_counted_and_ends_a_wait(number: signal.Signals) -> None:
    with Interrupts() as interrupts:
        began = time.monotonic()
        send(number)
        interrupts.wait(10)

        assert interrupts.count == 1
        assert time.monotonic() - began < 5


def test_after_the_first_a_wait_is_one_again() -> None:
    with Interrupts() as interrupts:
        send()
        interrupts.wait(1)
        began = time.monotonic()
        interrupts.wait(0.05)

        assert time.monotonic() - began >= 0.04


def test_the_second_raises_wherever_it_comes() -> None:
    with Interrupts() as interrupts:
        send()
        interrupts.wait(0.1)
        interrupts.wait(interrupts_module.ECHO)
        with pytest.raises(KeyboardInterrupt):
            send()
        send()  # a third tears nothing

        assert interrupts.count == 3


def test_what_only_echoes_the_first_is_no_second() -> None:
    with Interrupts() as interrupts:
        send()
        send(signal.SIGTERM)

        assert interrupts.count == 1


def test_the_first_raises_where_nothing_can_be_torn() -> None:
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.raising():
            send()
        with pytest.raises(KeyboardInterrupt), interrupts.raising():  # it was asked for before
            pytest.fail("reached")


def test_somebody_may_ask_from_within() -> None:
    with Interrupts() as interrupts:
        interrupts.ask()
        interrupts.ask()

        assert interrupts.count == 1


def test_afterwards_signals_are_what_they_were() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
