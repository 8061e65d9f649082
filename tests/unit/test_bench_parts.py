"""Which parts of a measurement are done."""

from __future__ import annotations

import pytest

from spillway.bench import parts

PARTS = ("times", "sizes")


def test_all_of_them_unless_it_is_said_which() -> None:
    assert parts.asked("planning", PARTS, None, []) == ["times", "sizes"]
    assert parts.asked("planning", PARTS, None, ["sizes"]) == ["sizes"]


def test_who_asks_for_another_one_is_told_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parts.asked("planning", PARTS, None, ["weights"])

    assert "there is no part 'weights'; there are times, sizes" in capsys.readouterr().err
