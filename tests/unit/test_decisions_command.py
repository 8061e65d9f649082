"""`spillway decisions`: what was decided, and what comes."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import asked
from fake_driver import FakeDriver
from spillway.cli.asking import news, places
from spillway.cli.asking.news import News
from spillway.cli.asking.places import Asked, AwayError
from spillway.cli.main import app
from spillway.local import state

PRINTED, FAILED, UNREADABLE = 0, 1, 2
NOON = datetime.datetime(2026, 3, 1, 12, 5, tzinfo=datetime.UTC)


def decisions(driver: FakeDriver, *arguments: str) -> Result:
    command = ["decisions", "ysb", "--driver", driver.address, *arguments]
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, command)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def reasons(result: Result) -> list[str]:
    assert result.exit_code == PRINTED, result.output
    return [line.split()[3].rstrip(":") for line in result.stdout.splitlines()]


def one(**fields: Any) -> dict[str, Any]:
    found = {"at": NOON.timestamp(), "part": "switching", "reason": "Busy", "sentence": "hold: it is", "inputs": {}}
    return {**found, "alternatives": [], **fields}


def test_each_is_a_line_and_the_newest_is_the_last() -> None:
    with asked.driver(asked.BURST) as driver:
        result = decisions(driver)

    assert reasons(result) == ["BelowPoint", "LoadRose", "Burst", "Busy"]
    last = result.stdout.splitlines()[-1]
    assert re.match(r"2026-03-0\d \d\d:\d\d:\d\d switching Busy: hold: `views` stays in batches, \d+/s arrive", last)


def test_one_part_alone_and_the_newest_alone() -> None:
    with asked.driver(asked.BURST) as driver:
        assert reasons(decisions(driver, "--part", "provisioning")) == ["LoadRose"]
        assert len(reasons(decisions(driver, "--part", "provisioning", "--part", "switching"))) == 4
        assert reasons(decisions(driver, "--part", "switching", "--limit", "2")) == ["Burst", "Busy"]


def test_json_is_an_object_in_each_line_with_all_that_the_driver_tells() -> None:
    with asked.driver(asked.BURST) as driver:
        found = [json.loads(line) for line in decisions(driver, "-o", "json").stdout.splitlines()]

    burst = found[2]
    assert re.fullmatch(r"2026-03-01T12:01:\d\d\.\d{3}Z", burst["at"])
    assert (burst["part"], burst["to"], burst["operators"]) == ("switching", "batch", ["views", "fields", "joined"])
    assert burst["inputs"]["P_D"] == "24000/s"
    assert burst["alternatives"][0].keys() == {"what", "whyNot"}


def test_where_nothing_was_decided_that_is_said() -> None:
    with asked.driver() as driver:
        result = decisions(driver, "--part", "rollout")

    assert (result.exit_code, result.stdout, result.stderr) == (PRINTED, "", "nothing of that was decided yet\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--part", "weather"], "Invalid value for '--part'"),
        (["--limit", "0"], "Invalid value for '--limit'"),
        (["--since", "yesterday"], "'yesterday' is no time; write 30m or 2h, or 2026-11-18T10:00:00Z"),
    ],
    ids=str,
)
def test_a_wrong_call_is_said(arguments: list[str], said: str) -> None:
    with asked.driver() as driver:
        result = decisions(driver, *arguments)

    assert result.exit_code == UNREADABLE
    assert said in " ".join(result.stderr.split())


def test_older_ones_need_to_know_where_kafka_is() -> None:
    with asked.driver() as driver:
        result = decisions(driver, "--since", "2h")

    assert result.exit_code == FAILED
    assert "--since reads the job's topic, and only a run on this machine tells where its Kafka is" in result.stderr


# A line


def test_a_line_of_today_has_no_date_and_nothing_that_a_terminal_obeys() -> None:
    told = one(reason="\x1b[2J", sentence="a\nb\x07", part="\x1b")

    assert news.line(told, NOON, io.StringIO()) == "12:05:00 \\x1b \\x1b[2J: a\\nb\\x07"
    assert news.line(told, NOON + datetime.timedelta(days=1), io.StringIO()).startswith("2026-03-01 12:05:00 ")


def test_at_a_terminal_it_is_folded_so_that_times_stand_alone() -> None:
    told = one(sentence="hold: `views` stays in batches, 59705/s arrive and record by record has room for 19200/s")

    assert news.line(told, NOON, io.StringIO(), 60) == (
        "12:05:00 switching Busy: hold: `views` stays in batches,\n"
        "         59705/s arrive and record by record has room for\n"
        "         19200/s"
    )
    assert news.line(told, NOON, io.StringIO(), 3).startswith("12:05:00 switching Busy:\n")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_where_there_are_colours_what_changes_something_stands_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")

    assert "\x1b[36mswitching Burst\x1b[0m: " in news.line(one(reason="Burst"), NOON, Screen(), 80)
    assert "\x1b[2mswitching Busy\x1b[0m: " in news.line(one(), NOON, Screen(), 80)


# What comes


@contextlib.contextmanager
def run(folder: Path, driver: FakeDriver) -> Iterator[None]:
    """A run on this machine."""
    with state.held(folder) as held:
        held.tell(driver=driver.address)
        yield


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news, "TURN", 0.01)


@pytest.mark.usefixtures("quick")
def test_what_comes_is_told_once_and_what_was_there_is_not_told_again(tmp_path: Path) -> None:
    with asked.driver() as driver, run(tmp_path, driver):
        told = News(places.find(Asked("ysb", state=tmp_path), contextlib.ExitStack()))
        known = told.first()
        assert known == driver.decisions
        more = told.more(pytest.fail)

        driver.decisions = [*known, one(reason="Burst"), one(reason="InProgress")]
        assert [next(more)["reason"], next(more)["reason"]] == ["Burst", "InProgress"]
        driver.decisions = [one(reason="BurstPassed")]  # another driver, which knows nothing of what was before
        assert next(more)["reason"] == "BurstPassed"


@pytest.mark.usefixtures("quick")
def test_a_driver_that_is_started_again_elsewhere_is_found_there(tmp_path: Path) -> None:
    said: list[str] = []
    with state.held(tmp_path) as held:
        with asked.driver() as first:
            held.tell(driver=first.address)
            told = News(places.find(Asked("ysb", state=tmp_path), contextlib.ExitStack()))
            told.first()
            more = told.more(said.append)
        with asked.driver() as second:
            held.tell(driver=second.address)
            second.decisions = [one(reason="Burst")]

            assert next(more)["reason"] == "Burst"
    assert len(said) == 1
    assert said[0].endswith("; waiting for it")


@pytest.mark.usefixtures("quick")
def test_it_ends_with_the_run(tmp_path: Path) -> None:
    said: list[str] = []
    with asked.driver() as driver, run(tmp_path, driver):
        told = News(places.find(Asked("ysb", state=tmp_path), contextlib.ExitStack()))
        told.first()

    assert list(told.more(said.append)) == []
    assert said == ["the run of default/ysb has ended"]


def test_of_another_job_nothing_is_told(tmp_path: Path) -> None:
    with asked.driver() as driver, run(tmp_path, driver), pytest.raises(AwayError, match="runs default/ysb, not"):
        News(places.find(Asked("ads", state=tmp_path), contextlib.ExitStack())).first()
