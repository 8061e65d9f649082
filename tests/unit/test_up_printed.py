"""Errors that parts print are told, once; everything else stays in their logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from spillway.local import printed
from spillway.local.printed import SAME, Printed

TIME = "2026-03-01T10:00:00.123Z"
CRASH = f"""{TIME} info w0.0: works on words/0
{TIME} error w0.0: ended by an error that nobody foresaw
Traceback (most recent call last):
  File "life.py", line 3, in run
ValueError: wrong
{TIME} warning w0: w0.0 is started again
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "worker-0.log"


def texts(seen: Printed, now: float = 0.0) -> list[str]:
    return [event.text for event in seen.heard(now)]


def add(log: Path, text: str) -> None:
    with log.open("a") as opened:
        opened.write(text)


def test_an_error_is_told_with_the_end_of_its_traceback_and_nothing_else_is(log: Path) -> None:
    seen = Printed()
    seen.begin(log)
    add(log, CRASH)

    assert texts(seen) == ["w0.0: ended by an error that nobody foresaw\nValueError: wrong"]
    assert texts(seen) == []


def test_what_earlier_runs_left_is_not_told(log: Path) -> None:
    add(log, CRASH)
    seen = Printed()
    seen.begin(log)
    add(log, f"{TIME} error w0.0: another\n")

    assert texts(seen) == ["w0.0: another"]


def test_the_same_again_and_again_is_told_once_a_minute(log: Path) -> None:
    seen = Printed()
    seen.begin(log)
    told = []
    for second in range(0, 130, 10):
        add(log, f"{TIME} error w0.0: broken\n")
        told += texts(seen, float(second))

    assert len(told) == 1 + 130 // int(SAME)


def test_a_line_that_is_being_written_is_told_when_it_is_there(log: Path) -> None:
    seen = Printed()
    seen.begin(log)
    add(log, f"{TIME} error w0.0: bro")
    assert texts(seen) == []
    add(log, "ken\n")

    assert texts(seen) == ["w0.0: broken"]


def test_of_a_flood_the_end_is_told(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printed, "AT_ONCE", 100)
    seen = Printed()
    seen.begin(log)
    add(log, "".join(f"{TIME} error w0.0: {i}\n" for i in range(1000)))

    assert texts(seen) == ["w0.0: 998", "w0.0: 999"]
