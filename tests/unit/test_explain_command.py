"""`spillway explain`: why a job runs as it does, for people and for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import asked
from fake_driver import FakeDriver
from spillway.cli.asking import accounts, told
from spillway.cli.main import app
from spillway.controllers.switching import rules, verdicts
from spillway.local import state
from spillway.model.observation import Condition, Move, MoveKind, Standby, StandbyState
from spillway.model.operators import Paradigm

SHOWN, FAILED, UNREADABLE = 0, 1, 2
ESCAPE = "\x1b[2J\x1b]0;owned\x07\n"


def explain(*arguments: str) -> Result:
    result = CliRunner(env={"COLUMNS": "80", "TZ": "UTC"}).invoke(app, ["explain", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def of(driver: FakeDriver, *arguments: str) -> Result:
    return explain("ysb", "--driver", driver.address, *arguments)


def text(driver: FakeDriver) -> str:
    result = of(driver)
    assert result.exit_code == SHOWN, result.output
    return str(result.stdout)


def folded(driver: FakeDriver) -> str:
    """The same without line breaks."""
    return " ".join(text(driver).split())


def answer(driver: FakeDriver) -> Any:
    result = of(driver, "-o", "json")
    assert result.exit_code == SHOWN, result.output
    return json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


# Golden texts


def test_in_calm_times_it_says_what_would_make_batches_better() -> None:
    with asked.driver(asked.CALM) as driver:
        shown = re.sub(r"\d\d:\d\d:\d\d", "00:00:00", text(driver))

    assert shown == GOLDEN_CALM


def test_in_a_burst_it_says_why_and_since_when_there_are_batches_and_what_brings_it_back() -> None:
    with asked.driver(asked.BURST) as driver:
        shown = re.sub(r"\d\d:\d\d:\d\d", "00:00:00", text(driver))

    assert shown == GOLDEN_BURST


GOLDEN_CALM = """\
default/ysb  99 % within 500 ms                                running  00:00:00

promise  kept: 100 % within 500 ms over the last 10 s, 2.95 k/s out
         half within 9.35 ms, 99 % within 14.3 ms
spark    warm, so batches can begin at once (610 MiB, 1 % of a core)

views  record by record
  views, fields, joined, as one program
  V    arrives           9.07 k/s  █▋······················
  P_D  record by record    24 k/s  ████▍···················
  P_O  in batches         130 k/s  ████████████████████████
  L    waits                    0  ························ of 6 262, L_up
  batches take over when more than 6 262 records wait (L_up; now 0), or when so
  much more than 24 k/s (P_D) comes that they will before a first batch is done

counts  record by record
  comes in 2.95 k/s   waits 49 messages
  a record takes 1.62 ms queue, 80 µs cpu, 1.41 ms network
  not in batches: 'counts' can't run in batches: it keeps a table

switching
  since 00:00:00  BelowPoint
    hold: the queue of `views`, 0, is not beyond L_up, 6262
    not batches: 222 ms instead of 5 ms

provisioning
  now  Steady
    hold: the plan was made for this load
    not 1 slot: counts would be busy for 96 % of the time, and 80 % are the most
  00:00:00  LoadRose
    9041/s to be done from `events`, planned were 1/s; 2 slots for 9 041/s
    not 1 slot for `views`: it would be 84 % full

assignment
  nothing was decided yet

rollout
  nothing was decided yet
"""

GOLDEN_BURST = """\
default/ysb  99 % within 500 ms                                running  00:00:00

promise  kept: 100 % within 500 ms over the last 10 s, 19.8 k/s out
         half within 299 ms, 99 % within 465 ms
spark    warm, so batches can begin at once (610 MiB, 90 % of a core)

views  in batches since 00:00:00
  views, fields, joined, as one program
  because 7141 records wait in front of `views`, and its rate stepped up to
  59705/s, beyond its 24000/s
  V    arrives           60.4 k/s  ███████████▏············
  P_D  record by record    24 k/s  ████▍···················
  P_O  in batches         130 k/s  ████████████████████████
  L    waits                    0  ························ of 6 070, L_down
  the last batch, at 00:00:00: 15 030 records in 176 ms, one every 250 ms
  record by record takes over again once its 24 k/s (P_D) leave room for what
  arrives, and fewer than 6 070 wait as a backlog (L_down), both for 10 s or
  longer

counts  record by record
  comes in 19.8 k/s   waits 331 messages
  a record takes 1.62 ms queue, 80 µs cpu, 1.41 ms network
  not in batches: 'counts' can't run in batches: it keeps a table

switching
  since 00:00:00  Busy
    hold: `views` stays in batches, 60407/s arrive and record by record has room
    for 19200/s
    not record by record: its latency grows with the queue
  00:00:00  Burst
    to batches: views; 7141 records wait in front of `views`, and its rate
    stepped up to 59705/s, beyond its 24000/s
    not record by record: 303 ms for a record that arrives now, and 375 ms in
    batches
    not only scaling out: new workers need seconds to start, and the queue grows
    meanwhile

provisioning
  now  Switched
    in batches now: views, fields, joined
    not 1 slot: counts would be busy for 96 % of the time, and 80 % are the most
  00:00:00  LoadRose
    9041/s to be done from `events`, planned were 1/s; 2 slots for 9 041/s
    not 1 slot for `views`: it would be 84 % full

assignment
  nothing was decided yet

rollout
  nothing was decided yet
"""


# What it says


def test_after_the_burst_it_says_why_it_has_come_back() -> None:
    with asked.driver(asked.AFTER) as driver:
        shown = folded(driver)

    assert re.search(r"views record by record since \d\d:\d\d:\d\d", shown)
    assert "because `views` is calm" in shown
    assert "BurstPassed" in shown


@pytest.mark.parametrize("second", [asked.CALM, asked.BURST, asked.AFTER])
def test_it_fits_the_screen(second: int) -> None:
    with asked.driver(second) as driver:
        assert max(map(len, text(driver).splitlines())) <= 80


def test_what_somebody_should_see_to_is_named() -> None:
    with asked.driver() as driver:
        assert "look at" not in text(driver)
        missing = Condition("Topics", False, "TopicMissing", "topic 'ads' does not exist; create it")
        driver.seen = msgspec.structs.replace(driver.seen, conditions=(*driver.seen.conditions, missing))

        assert "look at Topics (TopicMissing): topic 'ads' does not exist; create it" in folded(driver)


@pytest.mark.parametrize(
    ("standby", "said"),
    [
        (Standby(StandbyState.OFF), "off: no segment may run in batches, or pyspark is not installed"),
        (Standby(StandbyState.OFF, "no executors are granted"), "off: no executors are granted"),
        (Standby(StandbyState.STARTING), "starting; batches can begin when it is warm"),
        (Standby(StandbyState.FAILED, "no Java; install one"), "failed: no Java; install one"),
        (Standby(StandbyState.WARM, "", 7.0, 610 * 2**20, 0.02), "warm, so batches can begin at once (610 MiB, 2 %"),
        (Standby(StandbyState.WARM), "warm, so batches can begin at once"),
    ],
    ids=str,
)
def test_it_says_whether_batches_could_begin(standby: Standby, said: str) -> None:
    with asked.driver() as driver:
        driver.seen = msgspec.structs.replace(driver.seen, standby=standby)

        assert said in folded(driver)


def test_a_promise_that_is_broken_is_called_so_and_none_where_nothing_came_out() -> None:
    with asked.driver() as driver:
        whole = driver.seen.latency
        driver.seen = msgspec.structs.replace(driver.seen, latency=msgspec.structs.replace(whole, within=0.98996))
        assert "broken: 98.99 % within 500 ms" in folded(driver)
        assert answer(driver)["promise"]["kept"] is False

        nothing = msgspec.structs.replace(whole, within=None, p50_ms=None, p99_ms=None)
        driver.seen = msgspec.structs.replace(driver.seen, latency=nothing)
        assert "nothing came out in the last 10 s" in folded(driver)
        assert answer(driver)["promise"]["kept"] is None


def test_where_nothing_can_be_thought_of_a_segment_it_says_why() -> None:
    with asked.driver() as driver:
        blind = {"point": "counts", "reason": "NoTelemetry", "sentence": "hold: no telemetry from `counts` yet"}
        assert driver.deciding is not None
        driver.deciding["switching"]["verdicts"].append(blind)

        assert "waits 49 messages hold: no telemetry from `counts` yet" in folded(driver)


def test_before_anything_is_decided_it_says_that() -> None:
    with asked.driver() as driver:
        driver.decisions, driver.deciding = [], None
        driver.seen = msgspec.structs.replace(driver.seen, plan=None, segments=(), ready=False)

        assert text(driver).count("nothing was decided yet") == len(accounts.PARTS)
        assert "not ready" in text(driver)
        assert not driver.orders  # nobody is asked about segments that are not there


def test_it_only_asks_and_never_orders() -> None:
    with asked.driver() as driver:
        text(driver)

        assert driver.orders
        assert all(order.dry_run for order in driver.orders)
        assert {order.operators for order in driver.orders} == {("views", "fields", "joined"), ("counts",)}


def test_nothing_of_what_a_driver_says_steers_the_terminal() -> None:
    with asked.driver(asked.BURST) as driver:
        for decision in driver.decisions:
            decision["sentence"] += ESCAPE
            decision["reason"] += ESCAPE
            decision["alternatives"] = [{"what": ESCAPE, "whyNot": ESCAPE}]
        wrong = Condition("Topics", False, ESCAPE, ESCAPE)
        segments = tuple(msgspec.structs.replace(segment, name=ESCAPE) for segment in driver.seen.segments)
        standby = Standby(StandbyState.FAILED, ESCAPE)
        driver.seen = msgspec.structs.replace(driver.seen, conditions=(wrong,), segments=segments, standby=standby)

        shown = text(driver)

    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\\x1b[2J" in shown


# JSON


def test_json_has_it_all() -> None:
    with asked.driver(asked.BURST) as driver:
        found = answer(driver)

    assert found.keys() == {
        "job", "at", "ready", "promise", "standby", "attention", "segments", "decisions",
    }  # fmt: skip
    views, counts = found["segments"]
    assert views["paradigm"] == "batch"
    assert views["why"].startswith("to batches: ")
    assert re.fullmatch(r"2026-03-01T\d\d:\d\d:\d\d\.\d{3}Z", views["since"])
    assert views["numbers"].keys() == {"V", "P_D", "P_O", "L", "L_switch", "L_up", "L_down", "T_ms"}
    assert all(isinstance(value, float) for value in views["numbers"].values())
    assert views["other"] == {
        "paradigm": "record", "possible": True, "hindrance": "", "better_when": views["other"]["better_when"],
    }  # fmt: skip
    assert (counts["numbers"], counts["since"], counts["other"]["possible"]) == (None, None, False)
    assert counts["other"]["hindrance"] == asked.NEVER
    assert found["decisions"].keys() == set(accounts.PARTS)
    assert found["decisions"]["switching"]["now"]["reason"] == "Busy"
    assert found["decisions"]["switching"]["last_change"]["reason"] == "Burst"
    assert found["decisions"]["switching"]["last_change"]["alternatives"][0].keys() == {"what", "whyNot"}
    assert found["decisions"]["rollout"] == {"now": None, "since": None, "last_change": None}


# Who can't be asked


def test_a_job_that_does_not_run_here_is_said_with_the_ways_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPILLWAY_STATE", str(tmp_path))
    with state.held(tmp_path / "shop" / "ads") as other:
        other.tell(driver="127.0.0.1:1")
        result = explain("ysb", "-n", "shop")

    assert result.exit_code == FAILED
    assert "job shop/ysb does not run on this machine; here run shop/ads." in result.stderr
    for way in ("`spillway up FILE`", "--state DIR", "on a cluster", "--driver HOST:PORT"):
        assert way in result.stderr


def test_a_job_is_found_by_its_name_its_namespace_and_its_manifest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPILLWAY_STATE", str(tmp_path / "state"))
    manifest = Path(__file__).parents[2] / "examples" / "ysb.yaml"
    with asked.driver() as driver, state.held(tmp_path / "state" / "default" / "ysb") as held:
        assert "is being started" in explain("ysb").stderr
        held.tell(driver=driver.address)

        for arguments in (["ysb"], ["default/ysb"], ["ysb", "-n", "default"], [str(manifest)]):
            assert explain(*arguments).exit_code == SHOWN, arguments
        assert explain("elsewhere", "--state", str(held.folder)).exit_code == FAILED  # it is another job's
        driver.seen = msgspec.structs.replace(driver.seen, job="default/elsewhere")
        assert explain("elsewhere", "--state", str(held.folder)).exit_code == SHOWN


def test_another_job_at_the_address_is_not_taken_for_this_one() -> None:
    with asked.driver() as driver:
        result = explain("ads", "--driver", driver.address)

    assert result.exit_code == FAILED
    assert f"the driver at {driver.address} runs default/ysb, not default/ads" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Ads!"], "'Ads!' is neither a job's name nor a file"),
        (["ads.yaml"], "'ads.yaml' is neither a job's name nor a file"),
        (["shop/ads", "-n", "default"], "shop/ads names another namespace"),
        (["ads", "-n", "../x"], "'../x' is no namespace"),
        (["\x1bads"], "'\\x1bads' is neither"),
    ],
    ids=str,
)
def test_a_wrong_call_is_said(arguments: list[str], said: str) -> None:
    result = explain(*arguments)

    assert result.exit_code == UNREADABLE
    assert said in " ".join(result.stderr.split())


def test_a_driver_that_does_not_answer_is_a_line() -> None:
    result = explain("ysb", "--driver", "127.0.0.1:1")

    assert result.exit_code == FAILED
    assert result.stderr.startswith("spillway: the driver at 127.0.0.1:1 does not answer")
    assert result.stderr.count("\n") == 1


def test_decisions_that_can_t_be_read_are_a_line() -> None:
    with asked.driver() as driver:
        driver.decisions = [{"at": "noon"}]
        result = of(driver)

    assert result.exit_code == FAILED
    assert "the driver tells decisions that can't be read here" in result.stderr


# Why a segment is where it is


def decided(at: float, to: str, *operators: str) -> told.Decision:
    return told.Decision("Burst", f"because of {at:g}", part="switching", at=at, operators=operators, to=to)


@pytest.mark.parametrize(
    ("told_before", "why"),
    [
        ([decided(100, "batch", "views")], "because of 100"),
        ([decided(90, "batch", "joined"), decided(100, "record", "views")], "because of 90"),
        ([decided(100, "batch", "counts")], "its paradigm changed"),
        ([decided(60, "batch", "views")], "its paradigm changed"),  # another switch, long ago
        ([decided(103, "batch", "views")], "its paradigm changed"),  # it had moved before
        ([], "its paradigm changed"),
    ],
)
def test_a_move_is_explained_by_the_decision_that_has_caused_it(told_before: list[told.Decision], why: str) -> None:
    moment = asked.moments()[asked.BURST]
    moves = (
        Move(20.0, MoveKind.SWITCH, "views/0", "batch", "w0.0", 1.0, "an earlier one, back"),
        Move(101.0, MoveKind.SWITCH, "views/0", "w0.0", "batch", 12.0, "its paradigm changed"),
        Move(102.0, MoveKind.SWITCH, "views-of-others/0", "w0.0", "batch", 12.0, "of another segment"),
        Move(102.0, MoveKind.RESIZE, "views/1", "w0.0", "batch", 12.0, "no switch"),
    )
    seen = msgspec.structs.replace(moment.seen, moves=moves)

    found = accounts.account(seen, told_before, told.Deciding(), {})

    assert (found.stays[0].since, found.stays[0].why) == (101.0, why)


@pytest.mark.parametrize(
    ("v", "p_o", "said"),
    [
        (9e3, None, "nobody has measured yet how fast batches are"),
        (9e3, 24e3 * rules.GAIN, "batches would not help, however long the queue"),
        (140e3, 130e3, "batches would not help: they do 130 k/s (P_O), and 140 k/s arrive (V)"),
        (9e3, 130e3, "batches take over when more than 6 253 records wait"),
    ],
)
def test_what_would_make_batches_better_follows_the_rules(v: float, p_o: float | None, said: str) -> None:
    inputs = {"V": f"{v:.0f}/s", "P_D": "24000/s", "L": "12", "L_switch": "5211", "L_up": "6253", "L_down": "4169"}
    inputs |= {"P_O": "unknown" if p_o is None else f"{p_o:.0f}/s", "T": "250 ms"}
    verdict = told.Decision("BelowPoint", "hold", inputs, point="views")
    seen = asked.moments()[asked.CALM].seen

    found = accounts.account(seen, [], told.Deciding(told.Switching("BelowPoint", "hold", verdicts=(verdict,))), {})

    assert said in found.stays[0].better
    assert found.stays[1].better == ""


@given(st.dictionaries(st.sampled_from(["V", "P_D", "P_O", "L", "L_switch", "L_up", "L_down", "T"]), st.text()))
def test_numbers_that_are_none_are_unknown(inputs: dict[str, str]) -> None:
    verdict = told.Decision("BelowPoint", "hold", {**inputs, "L_up": inputs.get("L_up", "")}, point="views")
    seen = asked.moments()[asked.CALM].seen

    found = accounts.account(seen, [], told.Deciding(told.Switching("BelowPoint", "", verdicts=(verdict,))), {})

    assert found.stays[0].runs is Paradigm.RECORD


def test_every_reason_either_changes_something_or_not() -> None:
    switching = {reason for reason in verdicts.Reason if accounts.acts(told.Decision(reason, "", part="switching"))}

    assert {str(reason) for reason in switching} == set(asked.SWITCHES)
