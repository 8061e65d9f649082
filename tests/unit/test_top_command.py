"""`spillway top`: all jobs at one look. What a cluster adds is in `tests/api`."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

import asked
from spillway.cli.asking import overviews
from spillway.cli.main import app
from spillway.cli.planning import sheets
from spillway.local import state
from spillway.model.observation import Condition


def top(*arguments: str, **environment: str) -> Result:
    result = CliRunner(env={"COLUMNS": "100", **environment}).invoke(app, ["top", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_jobs_of_this_machine_are_shown_as_their_drivers_tell(tmp_path: Path) -> None:
    folder = tmp_path / "default" / "ysb"
    with asked.driver(asked.BURST) as driver, state.held(folder) as held:
        held.tell(driver=driver.address)
        shown = top(SPILLWAY_STATE=str(tmp_path))
        listed = json.loads(top("-o", "json", SPILLWAY_STATE=str(tmp_path)).stdout)
        elsewhere = top("-n", "another", SPILLWAY_STATE=str(tmp_path))

    assert shown.exit_code == 0
    head, line = shown.stdout.splitlines()
    assert head.split() == ["job", "promise", "p99", "in", "waits", "runs", "workers", "spark"]
    assert line.startswith("default/ysb  kept 100 %")
    assert "mixed" in line
    assert (listed[0]["job"], listed[0]["where"], listed[0]["ready"]) == ("default/ysb", "here", True)
    assert "no job runs" in elsewhere.stderr


def test_a_run_whose_driver_is_silent_is_among_them(tmp_path: Path) -> None:
    with state.held(tmp_path / "default" / "ysb") as held:
        held.tell(driver="127.0.0.1:1")
        shown = top(SPILLWAY_STATE=str(tmp_path))

    assert shown.exit_code == 0
    assert "does not answer" in shown.stdout


@pytest.mark.parametrize("width", [80, 120])
def test_names_are_whole_and_what_is_wrong_has_room(width: int) -> None:
    seen = asked.moments()[asked.BURST].seen
    wrong = "Unschedulable: " + "no node has room " * 10
    rows = [
        dataclasses.replace(overviews.observed(seen, "cluster"), job="analytics/tolls", workers="2/2", executors="1/1"),
        overviews.Row("analytics/campaigns", "cluster", ready=False, promise="broken", workers="0/1", why=wrong),
    ]
    out = io.StringIO()
    sheets.put(sheets.console(out, width), overviews.drawn(rows))
    shown = out.getvalue()
    assert "analytics/tolls" in shown
    assert shown.count("analytics/campaigns") == 2
    assert shown.count("no node has room") + shown.count("no node has\nroom") >= 8
    assert "…" not in shown


def test_where_nothing_runs_that_is_said(tmp_path: Path) -> None:
    shown = top(SPILLWAY_STATE=str(tmp_path))
    assert shown.exit_code == 0
    assert "no job runs here, and no cluster is named" in shown.stderr


def _status(**conditions: str) -> dict[str, object]:
    listed = [
        {"type": kind, "status": said.partition(" ")[0], "reason": said.partition(" ")[2], "message": "so it is"}
        for kind, said in conditions.items()
    ]
    metadata = {"namespace": "ns", "name": "j"}
    return {"metadata": metadata, "status": {"conditions": listed, "workers": {"summary": "1/2"}}}


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        ({"Ready": "True Running", "Degraded": "False Healthy"}, ""),
        ({"Ready": "False Unschedulable", "Accepted": "False InvalidField"}, "InvalidField: so it is"),
        ({"Ready": "Unknown DriverUnavailable"}, "DriverUnavailable: so it is"),
        ({"Ready": "True Running", "Degraded": "True DeadLetters"}, "DeadLetters: so it is"),
    ],
)
def test_the_first_thing_that_is_wrong_speaks(conditions: dict[str, str], why: str) -> None:
    assert overviews.stated(_status(**conditions), None).why == why


def test_a_job_that_nobody_has_looked_at_is_no_job_without_problems() -> None:
    row = overviews.stated({"metadata": {"namespace": "ns", "name": "j"}}, None)
    assert (row.ready, row.why) == (None, "the operator has not looked at it yet")


def test_numbers_that_move_come_from_the_driver_and_sizes_from_the_status() -> None:
    seen = asked.moments()[asked.BURST].seen
    row = overviews.stated(_status(Ready="True Running", LatencyMet="False Missed"), seen)
    assert row.workers == "1/2"
    assert (row.rate, row.promise) == (seen.rate_in, "kept")  # of the last seconds, where the status says minutes
    alone = overviews.stated(_status(LatencyMet="False Missed"), None)
    assert (alone.rate, alone.promise) == (None, "broken")


def test_names_and_messages_steer_no_terminal() -> None:
    seen = asked.moments()[asked.CALM].seen
    wrong = Condition("Topics", False, "TopicMissing", "\x1b[2Jgone")
    row = overviews.observed(msgspec.structs.replace(seen, ready=False, conditions=(wrong,)), "here")
    out = io.StringIO()
    sheets.put(sheets.console(out, 100), overviews.drawn([row]))
    assert "\x1b[2J" not in out.getvalue()
    assert "TopicMissing" in out.getvalue()
