"""Switches between the paradigms: when and why they were decided, what they paused, and what they were for."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as builders

from dashboards import parts
from dashboards.parts import BLUE, GREEN, GREY, ORANGE, RED, YELLOW, Query, figure, graph, of, timeline

SWITCHED, WARM = 'kind="switch"', 'state="warm"'
OF_SEGMENT = "by (namespace, spillway_dev_job, segment)"
SEGMENT = "{{spillway_dev_job}} {{segment}}"


def _pauses(quantile: float, by: str, more: str, window: str) -> str:
    return f"histogram_quantile({quantile}, {parts.gone_up('spillway_move_pause_seconds_bucket', by, more, window)})"


def dashboard() -> builders.Dashboard:
    """It."""
    made = parts.board(
        "spillway-switches",
        "switches",
        "Between record by record and batches: when, why, and at what price.",
        job=False,
    )
    batch, record = (parts.gone_up("spillway_switch_decisions_total", "", f'to="{to}"') for to in ("batch", "record"))
    parts.row(
        made,
        "In the time range of the dashboard",
        figure("To batches", "Decisions.", Query(batch), plain=True,
               decimals=0, steps=[(None, ORANGE)]),
        figure("To record by record", "Decisions.", Query(record), plain=True,
               decimals=0, steps=[(None, BLUE)]),
        figure("Partitions moved", "From one paradigm to the other.",
               Query(parts.gone_up("spillway_moves_total", "", SWITCHED)), plain=True, decimals=0),
        figure("Pause, half", "For how long nobody had a partition: half of them less.",
               Query(_pauses(0.5, "by (le)", SWITCHED, "$__range")), "s", plain=True, decimals=3),
        figure("Pause, 99 %", "99 % of them less.", Query(_pauses(0.99, "by (le)", SWITCHED, "$__range")), "s",
               plain=True, decimals=3),
        figure("Taken over", "Partitions whose owner was lost.",
               Query(parts.gone_up("spillway_moves_total", "", 'kind="takeover"')), plain=True, decimals=0,
               steps=[(None, GREEN), (1, YELLOW)]),
    )  # fmt: skip
    parts.row(
        made,
        "When and why",
        timeline("Paradigm", "Of most partitions of each segment.",
                 Query(f"max {OF_SEGMENT} ({of('spillway_segment_paradigm', parts.IN_BATCHES)})", SEGMENT),
                 parts.PARADIGMS),
        graph("Decisions", "By paradigm and reason; the reference of decisions says what each reason means.",
              Query(parts.gone_up("spillway_switch_decisions_total", "by (to, reason)", window="$__rate_interval")
                    + " > 0", "to {{to}}: {{reason}}"), bars=True, colours={"/to batch/": ORANGE, "/to record/": BLUE}),
        graph("Partitions that changed hands", "By why they did.",
              Query(f"{parts.gone_up('spillway_moves_total', 'by (kind)', window='$__rate_interval')} > 0", "{{kind}}"),
              bars=True, colours={"switch": ORANGE, "resize": BLUE, "takeover": RED, "start": GREY}),
        graph("Pauses", "For how long nobody had a partition that changed its paradigm.",
              Query(_pauses(0.5, "by (le)", SWITCHED, "$__rate_interval") + " >= 0", "half less"),
              Query(_pauses(0.99, "by (le)", SWITCHED, "$__rate_interval") + " >= 0", "99 % less"), unit="s"),
        timeline("Spark", "Whether batches could begin at once.",
                 Query(f"max {parts.BY_JOB} ({of('spillway_standby', WARM)})"),
                 {0: ("not warm", GREY), 1: ("warm", GREEN)}, span=12, height=8),
    )  # fmt: skip
    parts.row(
        made,
        "What for",
        graph("Arrivals", "Against what batches do.",
              Query(f"max {parts.BY_JOB} ({of('spillway_arrival_rate')})", f"{parts.JOB} arrive"),
              Query(f"max {OF_SEGMENT} ({of('spillway_batch_capacity')})", f"{SEGMENT} in batches"), unit="suffix:/s"),
        graph("Lag", "Messages that wait in front of segments.",
              Query(f"max {OF_SEGMENT} ({of('spillway_lag_messages')})", SEGMENT)),
        graph("Batches", "What the last batch of each segment took, and how long it is from one to the next.",
              Query(f"max {OF_SEGMENT} ({of('spillway_batch_seconds')})", f"{SEGMENT} takes"),
              Query(f"max {OF_SEGMENT} ({of('spillway_batch_interval_seconds')})", f"{SEGMENT} every"), unit="s"),
        graph("In time", "Share of the records that left within the bound.",
              Query(parts.in_time("$__rate_interval")), unit="percentunit", most=1),
    )  # fmt: skip
    return made
