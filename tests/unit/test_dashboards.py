"""Dashboards ask for metrics that there are, in PromQL that Prometheus takes, and name no cluster."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import prometheus_programs
from spillway.runtime.driver import metrics as driver
from spillway.runtime.worker import metrics as worker

CHART = Path(__file__).parents[2] / "charts" / "spillway"
BOARDS = {path.stem: json.loads(path.read_text()) for path in sorted((CHART / "dashboards").glob("*.json"))}
RULES = [
    rule
    for path in sorted((CHART / "alerts").glob("*.yaml"))
    for group in yaml.safe_load(path.read_text())["groups"]
    for rule in group["rules"]
]
NAME = re.compile(r"(?<![:\w])spillway_[a-z_]+\b(?=[{\[) ]|$)")  # of a series; `spillway_dev_job` is a label
VARIABLES = {"$__rate_interval": "1m", "$__range": "1h", "$namespace": ".+", "$job": ".+"}


def told() -> dict[str, set[str]]:
    """The series of drivers and workers, and their labels, besides those that Prometheus adds."""
    found: dict[str, set[str]] = {}
    for family in (*worker.COUNTERS, worker.ENDS, *driver.COUNTERS):
        found[f"{family.name}_total"] = {*family.labels}
    for family in (worker.LATENCY, driver.PAUSE):
        found |= {f"{family.name}_{part}": {*family.labels} for part in ("sum", "count")}
        found[f"{family.name}_bucket"] = {*family.labels, "le"}
    for family in (*worker.GAUGES, *driver.GAUGES):
        found[family.name] = {*family.labels}
    return found


def told_by_the_operator() -> set[str]:
    """The series of the operator."""
    metrics: Any = importlib.import_module("spillway.manager.metrics")
    registry = metrics.Metrics().registry
    names = {family.name: family.type for family in registry.collect()}
    counters = {f"{name}_total" for name, kind in names.items() if kind == "counter"}
    parts = {f"{name}_{part}" for name, kind in names.items() if kind == "histogram" for part in ("bucket", "count")}
    return {*names, *counters, *parts}


def of_the_operator(name: str) -> bool:
    """What drivers and workers don't tell."""
    return name.startswith(("spillway_manager_", "spillway_job_")) and name != "spillway_job_ready"


def expressions(board: Any) -> Iterator[str]:
    """Everything that a dashboard asks."""
    for panel in board["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    yield from (note["expr"] for note in board["annotations"].get("list", []))


EXPRESSIONS = [one for board in BOARDS.values() for one in expressions(board)] + [rule["expr"] for rule in RULES]
NAMES = {name for one in EXPRESSIONS for name in NAME.findall(one)} - {"spillway_dev_job"}


def unknown(names: set[str]) -> set[str]:
    """Those that neither drivers nor workers tell."""
    return {name for name in names if not of_the_operator(name)} - told().keys()


def test_every_metric_that_is_asked_for_is_told() -> None:
    assert unknown(NAMES) == set()


def test_a_metric_that_nobody_tells_is_found() -> None:
    assert unknown({"spillway_lag_messages", "spillway_lag_massages"}) == {"spillway_lag_massages"}


def test_every_metric_of_the_operator_that_is_asked_for_is_told() -> None:
    if importlib.util.find_spec("spillway.manager.metrics") is None:
        pytest.skip("the operator doesn't tell anything yet")
    assert {name for name in NAMES if of_the_operator(name)} - told_by_the_operator() == set()


def test_most_of_what_is_told_is_shown() -> None:
    """What nobody looks at is worth a thought: these few are for whoever asks."""
    rare = {
        "spillway_driver_leads", "spillway_condition", "spillway_recommended_executors", "spillway_within_bound_ratio",
        "spillway_slot_ready", "spillway_slot_report_age_seconds", "spillway_slot_busy_seconds_total",
        "spillway_partitions", "spillway_partitions_working", "spillway_table_rows", "spillway_suspects",
        "spillway_records_out_total", "spillway_segment_busy_seconds_total", "spillway_segment_planned_slots",
        "spillway_segment_partitions", "spillway_segment_partitions_working", "spillway_segment_partitions_moving",
    }  # fmt: skip
    sums = {name for name in told() if name.endswith(("_sum", "_count"))}
    assert told().keys() - NAMES - sums <= rare


def test_labels_that_are_asked_for_exist() -> None:
    known = {label for labels in told().values() for label in labels} | {"namespace", "spillway_dev_job", "pod"}
    known |= {"job", "instance", "result", "type"}  # of the operator, and of Prometheus
    asked = {
        label.strip()
        for one in EXPRESSIONS
        for inside in re.findall(r"(?:by|on) ?\(([^)]*)\)", one)
        for label in inside.split(",")
        if label.strip()
    }
    assert asked - known == set()


def test_prometheus_takes_every_query(tmp_path: Path) -> None:
    promtool = prometheus_programs.found("promtool")
    if promtool is None:
        pytest.skip(prometheus_programs.MISSING.format("promtool"))
    asked = []
    for expression in EXPRESSIONS:
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        asked.append(expression)

    def taken(expressions: list[str]) -> bool:
        rules = [{"record": f"asked:{number}", "expr": one} for number, one in enumerate(expressions)]
        file = tmp_path / "rules.yaml"
        file.write_text(yaml.safe_dump({"groups": [{"name": "asked", "rules": rules}]}))
        return subprocess.run([promtool, "check", "rules", file], capture_output=True, check=False).returncode == 0

    assert taken(asked)
    assert not taken([*asked, "rate(spillway_moves_total)"])


def test_dashboards_have_stable_names_and_ask_the_source_that_was_chosen() -> None:
    assert {board["uid"] for board in BOARDS.values()} == {f"spillway-{name}" for name in BOARDS}
    for board in BOARDS.values():
        assert board["templating"]["list"][0]["name"] == "datasource"
        assert board["tags"] == ["spillway"]
        parts = [*board["panels"], *(target for panel in board["panels"] for target in panel.get("targets", ()))]
        sources = {part["datasource"]["uid"] for part in parts if part.get("datasource")}
        assert sources == {"${datasource}"}


@pytest.mark.parametrize("name", BOARDS)
def test_panels_have_a_title_and_a_description_and_do_not_overlap(name: str) -> None:
    taken: set[tuple[int, int]] = set()
    titles = [(panel["type"], panel["title"]) for panel in BOARDS[name]["panels"]]
    assert len(titles) == len(set(titles))
    for panel in BOARDS[name]["panels"]:
        assert panel["title"]
        assert panel["type"] == "row" or panel["description"].endswith(".")
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}  # fmt: skip
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells


def test_links_lead_to_dashboards_that_there_are() -> None:
    links = {link for board in BOARDS.values() for link in re.findall(r'"/d/([^?"]*)', json.dumps(board))}
    assert links == {"spillway-job"}
    assert links <= {board["uid"] for board in BOARDS.values()}
