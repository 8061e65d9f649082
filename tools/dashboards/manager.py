"""The operator: whether it works, how long it takes, and what it wants of the cluster against what is there."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as builders

from dashboards import parts
from dashboards.parts import GREEN, GREY, RED, YELLOW, YES, Column, Query, figure, graph, sheet, timeline

BY_NAME = "by (namespace, job)"
NAME = "{{namespace}}/{{job}}"
KNOWN = {-1: ("unknown", GREY), **YES}
LINK = "/d/spillway-job?${datasource:queryparam}&var-namespace=${__data.fields.namespace}&var-job=${__value.raw}"
SINCE = "min(spillway_manager_last_pass_age_seconds)"


def _workers(state: str) -> str:
    return f"max {BY_NAME} (spillway_job_workers_{state})"


def _took(quantile: float) -> str:
    return f"histogram_quantile({quantile}, sum by (le) (rate(spillway_manager_pass_seconds_bucket[$__rate_interval])))"


def dashboard() -> builders.Dashboard:
    """It."""
    made = parts.board("spillway-operator", "operator", "Whether the operator works, and on what.", job=None)
    ready, met = (f'max {BY_NAME} (spillway_job_condition{{type="{one}"}})' for one in ("Ready", "LatencyMet"))
    parts.row(
        made,
        "Now",
        figure("StreamJobs", "That it sees to.", Query("max(spillway_manager_jobs)"), plain=True),
        figure("Not ready", "Of those.", Query(f"count({ready} == 0) or vector(0)"), plain=True,
               steps=[(None, GREEN), (1, RED)]),
        figure("Late", "Jobs that don't keep their promise.", Query(f"count({met} == 0) or vector(0)"), plain=True,
               steps=[(None, GREEN), (1, RED)]),
        figure("Last pass", "How long ago it was done with one.", Query(SINCE), "s", decimals=0,
               steps=[(None, GREEN), (90, YELLOW), (300, RED)]),
        figure("Passes", "Per second.", Query("sum(rate(spillway_manager_passes_total[$__rate_interval]))"),
               "suffix:/s", decimals=1),
        figure("Missing workers", "That are wanted, and not there.",
               Query(f"sum(clamp_min({_workers('wanted')} - {_workers('present')}, 0)) or vector(0)"), plain=True,
               steps=[(None, GREEN), (1, YELLOW)]),
        sheet("StreamJobs", "As the operator sees them.", {"namespace": "namespace", "job": "job"},
              Column(ready, "ready", words=KNOWN),
              Column(met, "keeps its promise", words=KNOWN),
              Column(_workers("wanted"), "workers wanted"),
              Column(_workers("present"), "workers there"), link=LINK),
    )  # fmt: skip
    parts.row(
        made,
        "Its work",
        graph("Passes", "Over StreamJobs, by how they ended.",
              Query("sum by (result) (rate(spillway_manager_passes_total[$__rate_interval]))", "{{result}}"),
              unit="suffix:/s", stacked=True, colours={"ok": GREEN, "error": RED}),
        graph("Time of a pass", "Half of them, and 99 % of them, take less.",
              Query(_took(0.5), "half"), Query(_took(0.99), "99 %"), unit="s"),
    )  # fmt: skip
    parts.row(
        made,
        "What it sees to",
        timeline("Ready", "Each StreamJob.", Query(ready, NAME), KNOWN, span=12, height=8),
        timeline("Keeps its promise", "Each StreamJob.", Query(met, NAME), KNOWN, span=12, height=8),
        graph("Workers", "Wanted by the operator, and there.",
              Query(_workers("wanted"), f"{NAME} wanted"), Query(_workers("present"), f"{NAME} there"), span=24),
    )  # fmt: skip
    return made
