"""Each alert fires when it should, stays silent when it shouldn't, and leads to a page that says what to do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

import prometheus_programs

TOP = Path(__file__).parents[2]
FILES = sorted((TOP / "charts" / "spillway" / "alerts").glob("*.yaml"))
RUNBOOKS = TOP / "docs" / "runbooks"
RULES = [rule for path in FILES for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
J = 'namespace="ads", spillway_dev_job="clicks"'


def promise(within: float, quantile: float = 0.99) -> dict[str, str]:
    """1000 records a minute for seven hours, of which so many are in time."""
    return {
        f'spillway_latency_seconds_count{{{J}, output="r", pod="w0"}}': "0+1000x420",
        f'spillway_within_bound_total{{{J}, output="r", pod="w0"}}': f"0+{1000 * within:.0f}x420",
        f'spillway_latency_quantile{{{J}, pod="d"}}': f"{quantile}x420",
    }


def flow(arrive: str, leave: str, batch: str = "0x420") -> dict[str, str]:
    """What comes in, and what has left."""
    return {
        f"spillway_arrival_rate{{{J}}}": arrive,
        f'spillway_latency_seconds_count{{{J}, output="r"}}': leave,
        f'spillway_segment_paradigm{{{J}, segment="s", paradigm="batch"}}': batch,
    }


def manager(jobs: str, age: str = "5x420") -> dict[str, str]:
    """What the operator tells: how many jobs it has, and how long ago it was done with one."""
    values = {"jobs": jobs, "last_pass_age_seconds": age}
    return {f'spillway_manager_{name}{{instance="m", pod="m"}}': value for name, value in values.items()}


def said(kind: str, value: str, job: str = "clicks") -> dict[str, str]:
    """A condition, as the operator tells it."""
    return {f'spillway_job_condition{{namespace="ads", job="{job}", type="{kind}"}}': value}


class Case(NamedTuple):
    """A story: series as promtool writes them, a value each minute; when one looks; whether the alert fires."""

    alert: str
    series: dict[str, str]
    fires: bool
    minute: int = 415


CASES = {
    "a quarter of the records is late": Case("SpillwayPromiseBroken", promise(0.75), True),
    "one record in a hundred is late, as was promised": Case("SpillwayPromiseBroken", promise(0.99), False),
    "7 % are late, which is bad but not sudden": Case("SpillwayPromiseBroken", promise(0.93), False),
    "7 % are late for hours": Case("SpillwayPromiseAtRisk", promise(0.93), True),
    "2 % are late for hours": Case("SpillwayPromiseAtRisk", promise(0.98), False),
    "hardly one is in time of which half should be": Case("SpillwayPromiseBroken", promise(0.1, 0.5), True),
    "less than half are in time of which half should be": Case("SpillwayPromiseBroken", promise(0.4, 0.5), False),
    "nothing flows, so nothing is late": Case(
        "SpillwayPromiseBroken",
        {**promise(0), f'spillway_latency_seconds_count{{{J}, output="r", pod="w0"}}': "9x420"}, False,
    ),
    "it was bad an hour ago, and is good again": Case(
        "SpillwayPromiseBroken",
        {
            **promise(0),
            f'spillway_within_bound_total{{{J}, output="r", pod="w0"}}': "0+1000x360 360000+0x30 360000+1000x30",
        },
        False,
    ),
    "a partition is without an owner": Case("SpillwayJobNotReady", {f"spillway_job_ready{{{J}}}": "1x5 0x415"}, True),
    "a job is not ready for moments": Case("SpillwayJobNotReady", {f"spillway_job_ready{{{J}}}": "1x411 0x9"}, False),
    "there is no driver, and the operator says so": Case("SpillwayJobNotReady", said("Ready", "0x420"), True),
    "the driver says that all is well, and the operator is late to know": Case(
        "SpillwayJobNotReady", {f"spillway_job_ready{{{J}}}": "1x420", **said("Ready", "0x420")}, False
    ),
    "a job is paused": Case("SpillwayJobNotReady", {**said("Ready", "0x420"), **said("Paused", "1x420")}, False),
    "the lag grows for an hour": Case(
        "SpillwayLagGrowing", {f'spillway_lag_messages{{{J}, segment="s"}}': "0x350 0+2000x70"}, True, 400
    ),
    "the lag of a burst shrinks again": Case(
        "SpillwayLagGrowing", {f'spillway_lag_messages{{{J}, segment="s"}}': "0x395 50000-1000x25"}, False
    ),
    "a lag is always the same": Case(
        "SpillwayLagGrowing", {f'spillway_lag_messages{{{J}, segment="s"}}': "5000x420"}, False
    ),
    "records come in, and none goes out any more": Case(
        "SpillwayNoOutput", flow("100x420", "0+6000x380 2280000x40"), True
    ),
    "records come in and go out": Case("SpillwayNoOutput", flow("100x420", "0+6000x420"), False),
    "nothing comes in": Case("SpillwayNoOutput", flow("100x380 0x40", "0+6000x380 2280000x40"), False),
    "no record ever left: a filter may take them all": Case("SpillwayNoOutput", flow("100x420", "0x420"), False),
    "all runs in batches, which count later": Case(
        "SpillwayNoOutput", flow("100x420", "0+6000x380 2280000x40", "1x420"), False
    ),
    "a job switches every five minutes": Case(
        "SpillwaySwitchesTooOften",
        {f'spillway_switch_decisions_total{{{J}, to="batch", reason="Burst"}}': "0+0.2x420"}, True,
    ),
    "two bursts in an hour": Case(
        "SpillwaySwitchesTooOften",
        {f'spillway_switch_decisions_total{{{J}, to="batch", reason="Burst"}}': "0x390 1x15 2x15"}, False,
    ),
    "records can't be processed": Case(
        "SpillwayDeadLettersGrowing", {f"spillway_dead_letters_total{{{J}}}": "0x390 0+5x30"}, True
    ),
    "there are old dead letters": Case(
        "SpillwayDeadLettersGrowing", {f"spillway_dead_letters_total{{{J}}}": "70x420"}, False
    ),
    "a slot ends every two minutes": Case(
        "SpillwaySlotsRestarting",
        {f'spillway_slot_ends_total{{{J}, slot="w0.0", how="signal"}}': "0x390 0+0.5x30"}, True,
    ),
    "a slot has ended once": Case(
        "SpillwaySlotsRestarting", {f'spillway_slot_ends_total{{{J}, slot="w0.0", how="exit"}}': "0x405 1x15"}, False
    ),
    "a slot is silent": Case("SpillwaySlotsSilent", {f'spillway_slots{{{J}, state="silent"}}': "0x400 1x20"}, True),
    "all slots are heard of": Case(
        "SpillwaySlotsSilent",
        {f'spillway_slots{{{J}, state="silent"}}': "0x420", f'spillway_slots{{{J}, state="heard"}}': "8x420"}, False,
    ),
    "nobody hears of an operator": Case("SpillwayOperatorAbsent", {"up": "1x420"}, True),
    "there is one": Case("SpillwayOperatorAbsent", manager(jobs="0x420"), False),
    "the operator has stopped": Case(
        "SpillwayOperatorNotReconciling", manager(jobs="3x420", age="5x400 60+60x20"), True
    ),
    "the operator works": Case(
        "SpillwayOperatorNotReconciling", manager(jobs="3x420", age="5x420"), False
    ),
    "there are no jobs to look at": Case(
        "SpillwayOperatorNotReconciling", manager(jobs="0x420", age="0+60x420"), False
    ),
    "a third of the passes fails": Case(
        "SpillwayOperatorFailing",
        {
            'spillway_manager_passes_total{result="ok"}': "0+20x420",
            'spillway_manager_passes_total{result="error"}': "0+10x420",
        },
        True,
    ),
    "one pass in a hundred fails": Case(
        "SpillwayOperatorFailing",
        {
            'spillway_manager_passes_total{result="ok"}': "0+99x420",
            'spillway_manager_passes_total{result="error"}': "0+1x420",
        },
        False,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def promtool() -> Path:
    """The program."""
    program = prometheus_programs.found("promtool")
    if program is None:
        pytest.skip(prometheus_programs.MISSING.format("promtool"))
    return program


def fires(promtool: Path, folder: Path, case: Case) -> bool:
    """Whether Prometheus would fire the alert, by its own test of rules."""
    rule = {"eval_time": f"{case.minute}m", "alertname": case.alert}
    test: dict[str, Any] = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
        "alert_rule_test": [{**rule, "exp_alerts": []}],
    }
    file = folder / "test.yaml"
    names = [str(path) for path in FILES]
    file.write_text(yaml.safe_dump({"rule_files": names, "evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return False
    got = re.search(r"got:\[(.*)", done.stdout + done.stderr, re.DOTALL)
    assert got, done.stdout + done.stderr
    return case.alert in got[1]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_an_alert_fires_just_when_it_should(promtool: Path, tmp_path: Path, case: Case) -> None:
    assert fires(promtool, tmp_path, case) is case.fires


def test_every_alert_is_seen_to_fire_and_to_stay_silent() -> None:
    for alert in ALERTS:
        assert {case.fires for case in CASES.values() if case.alert == alert} == {True, False}, alert


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_it_is_what_it_is_and_where_to_read_on(name: str) -> None:
    rule = ALERTS[name]
    annotations = rule["annotations"]

    assert rule["labels"]["severity"] in ("critical", "warning")
    assert len(annotations["summary"]) < 120
    assert "$value" in annotations["description"] or "minutes" in annotations["description"]
    assert annotations["runbook_url"].endswith(f"/docs/runbooks/{name}.md")


@pytest.mark.parametrize("name", ALERTS)
def test_a_runbook_says_what_it_means_what_it_does_where_to_look_and_what_to_do(name: str) -> None:
    text = (RUNBOOKS / f"{name}.md").read_text()

    assert text.startswith(f"# {name}\n")
    assert re.findall(r"(?m)^## (.*)$", text) == ["Meaning", "Impact", "Where to look", "What to do"]
    assert f"]({name}.md)" in (RUNBOOKS / "README.md").read_text()


def test_there_is_no_runbook_of_an_alert_that_is_gone() -> None:
    assert {path.stem for path in RUNBOOKS.glob("*.md")} == {*ALERTS, "README"}
