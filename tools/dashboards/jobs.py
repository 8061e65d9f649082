"""All jobs: which keep their promise, what is left of their error budgets, how they run, and what that takes."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as builders

from dashboards import parts
from dashboards.parts import BY_JOB, GREEN, RED, YELLOW, YES, Column, Query, figure, graph, of, sheet, timeline

LINK = "/d/spillway-job?${datasource:queryparam}&var-namespace=${__data.fields.namespace}&var-job=${__value.raw}"
QUANTILE = f"max {BY_JOB} ({of('spillway_latency_quantile')})"
BUDGET = f"clamp_min(1 - (1 - {parts.in_time('$__range')}) / (1 - {QUANTILE}), 0)"  # how much too fast, the burn says
LEFT = [(None, RED), (0.001, YELLOW), (0.3, GREEN)]
HOUR_BURN = parts.burn("1h")
SLOTS = f"max {BY_JOB} ({of('spillway_slots', parts.HEARD)})"
EXECUTORS = f"max {BY_JOB} ({of('spillway_executors')})"
BATCHES = of("spillway_segment_paradigm", parts.IN_BATCHES)
IN_BATCHES = f"sum {BY_JOB} (max by (namespace, spillway_dev_job, segment) ({BATCHES}))"
LAG = f"sum {BY_JOB} ({of('spillway_lag_messages')})"
READY = f"max {BY_JOB} ({of('spillway_job_ready')})"


def dashboard() -> builders.Dashboard:
    """It."""
    made = parts.board(
        "spillway-jobs", "all jobs", "The promise of each job, how it is kept, and what that takes.", job=False
    )
    parts.row(
        made,
        "Now",
        figure("Jobs", "Jobs whose driver is heard of.", Query(f"count({READY})"), plain=True),
        figure(
            "Not ready", "Jobs with partitions on which nobody works, or without topics.",
            Query(f"count({READY} == 0) or vector(0)"), plain=True, steps=[(None, GREEN), (1, RED)],
        ),
        figure(
            "Late", "Jobs that have kept their promise for less of the last 5 minutes than they should.",
            Query(f"count({parts.in_time('5m')} < {QUANTILE}) or vector(0)"), plain=True,
            steps=[(None, GREEN), (1, RED)],
        ),
        figure("Records in", "That arrive, over all jobs.", Query(f"sum({of('spillway_arrival_rate')})"), "suffix:/s"),
        figure("Slots", "That work, over all jobs.", Query(f"sum({SLOTS})")),
        figure("Executors", "Of Spark, over all jobs.", Query(f"sum({EXECUTORS}) or vector(0)")),
        sheet(
            "Jobs",
            "The budget is what is left of the share of records that may be late, over the time range of the dashboard."
            " A burn of 1 uses it up exactly; more is too fast.",
            {"namespace": "namespace", "spillway_dev_job": "job"},
            Column(READY, "ready", words=YES),
            Column(f"max {BY_JOB} ({of('spillway_latency_bound_seconds')})", "bound", "s", 2),
            Column(QUANTILE, "promised", "percentunit", 2),
            Column(parts.in_time("$__range"), "in time", "percentunit", 2),
            Column(BUDGET, "budget left", "percentunit", 0, steps=LEFT),
            Column(HOUR_BURN, "burn, 1 h", "short", 1, steps=[(None, GREEN), (1, YELLOW), (6, RED)]),
            Column(f"sum {BY_JOB} ({of('spillway_arrival_rate')})", "in", "suffix:/s"),
            Column(LAG, "lag"),
            Column(IN_BATCHES, "in batches"),
            Column(SLOTS, "slots"),
            Column(EXECUTORS, "executors"),
            Column(parts.gone_up("spillway_switch_decisions_total"), "switches"),
            Column(parts.gone_up("spillway_dead_letters_total"), "dead letters", steps=[(None, GREEN), (1, RED)]),
            link=LINK,
        ),
    )  # fmt: skip
    parts.row(
        made,
        "The promise",
        graph(
            "In time", "Share of the records that left within the bound of their job.",
            Query(parts.in_time("$__rate_interval")), unit="percentunit", most=1,
        ),
        graph(
            "Burn of the error budget", "1 uses up exactly what may be late; 14.4 for an hour is an alert.",
            Query(HOUR_BURN), Query("vector(1)", "as much as may be"), colours={"as much as may be": RED},
        ),
    )  # fmt: skip
    parts.row(
        made,
        "How they run",
        graph("Records in", "That arrive.", Query(f"sum {BY_JOB} ({of('spillway_arrival_rate')})"), unit="suffix:/s"),
        graph("Lag", "Messages that wait in front of segments.", Query(LAG)),
        timeline(
            "In batches", "When at least one segment of a job runs in batches.",
            Query(f"clamp_max({IN_BATCHES}, 1)"), parts.PARADIGMS,
        ),
        graph("Slots", "That work: what jobs cost, with their executors.", Query(SLOTS), stacked=True),
        graph(
            "Workers", "Granted to each job, and those that its load needs.",
            Query(f"max {BY_JOB} ({of('spillway_granted_workers')})", f"{parts.JOB} granted"),
            Query(f"max {BY_JOB} ({of('spillway_recommended_workers')})", f"{parts.JOB} needed"),
        ),
    )  # fmt: skip
    return made
