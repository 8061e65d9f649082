"""One job: its promise, its load, where and how each segment runs, and what that costs."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as builders

from dashboards import parts
from dashboards.jobs import BUDGET, HOUR_BURN, LEFT, QUANTILE, READY
from dashboards.parts import BLUE, GREEN, GREY, ORANGE, RED, YELLOW, YES, Query, figure, graph, of, rate, timeline

BOUND = f"max({of('spillway_latency_bound_seconds')})"
BUCKETS = rate("spillway_latency_seconds_bucket", "by (output, le)")
PAUSES = parts.gone_up("spillway_move_pause_seconds_bucket", "by (kind, le)", window="$__rate_interval")
BY_PHASE = (
    f"{rate('spillway_phase_seconds_total', 'by (segment, phase)')}"
    f" / ({rate('spillway_phase_records_total', 'by (segment, phase)')} > 0)"
)
PER_RECORD = (
    f"{rate('spillway_timed_seconds_total', 'by (operator)')}"
    f" / ({rate('spillway_timed_records_total', 'by (operator)')} > 0)"
)


def dashboard() -> builders.Dashboard:
    """It."""
    made = parts.board("spillway-job", "one job", "How one job keeps its promise, and what that takes.", job=True)
    for kind, colour, text in (
        ("switch", ORANGE, "partitions changed their paradigm"),
        ("resize", BLUE, "partitions were spread over other slots"),
        ("takeover", RED, "the owner of partitions was lost"),
    ):
        labels = f'kind="{kind}"'
        moved = f"sum(increase({of('spillway_moves_total', labels, '30s')})) > 0"
        parts.mark(made, kind, colour, moved, text)
    parts.row(
        made,
        "The promise",
        figure("Ready", "Every partition that shall is worked on.", Query(READY), words=YES, plain=True, span=3),
        figure("Bound", "For the promised share of the records.", Query(BOUND), "s", plain=True, span=3, decimals=2),
        figure("Promised", "Share of the records within the bound.", Query(QUANTILE), "percentunit", plain=True,
               span=3, decimals=2),
        figure("In time", "Share of the records within the bound, over the time range of the dashboard.",
               Query(parts.in_time("$__range")), "percentunit", plain=True, span=3, decimals=2),
        figure("Budget left", "Of what may be late, over the time range of the dashboard.", Query(BUDGET),
               "percentunit", plain=True, span=4, decimals=0, steps=LEFT),
        figure("Burn", "1 uses up exactly what may be late; over an hour.", Query(HOUR_BURN), span=4, decimals=1,
               steps=[(None, GREEN), (1, YELLOW), (6, RED)]),
        figure("Dead letters", "Records that could not be processed, over the time range of the dashboard.",
               Query(parts.gone_up("spillway_dead_letters_total")), plain=True, span=4, decimals=0,
               steps=[(None, GREEN), (1, RED)]),
        graph("Latency", "Age of records when they leave: what half, and what 99 % of them are within; read from"
              " buckets, so up to 41 % too high.",
              Query(f"histogram_quantile(0.5, {BUCKETS})", "{{output}} p50"),
              Query(f"histogram_quantile(0.99, {BUCKETS})", "{{output}} p99"),
              Query(BOUND, "bound"), unit="s", colours={"bound": RED}),
        graph("In time", "Share of the records that left within the bound, by output.",
              Query(parts.in_time("$__rate_interval", "by (output)"), "{{output}}"),
              Query(QUANTILE, "promised"), unit="percentunit", most=1, colours={"promised": RED}),
    )  # fmt: skip
    parts.row(
        made,
        "Where the time goes",
        graph("Latency by phase", "On average, of records that go record by record: queue until a slot takes them, cpu"
              " while it computes, wait for a frame to leave, and network until readers of an output see them."
              " Together they are the age of a record that goes through all of these segments.",
              Query(BY_PHASE, "{{segment}}: {{phase}}"), unit="s", stacked=True, span=24),
    )  # fmt: skip
    parts.row(
        made,
        "The load",
        graph("Arrivals", "Records per second that come in, over all sources.",
              Query(f"max({of('spillway_arrival_rate')})", "arrive"),
              Query(rate("spillway_latency_seconds_count", "by (output)"), "{{output}} leave"), unit="suffix:/s"),
        graph("Lag", "Messages that wait in front of each segment.",
              Query(f"max by (segment) ({of('spillway_lag_messages')})", "{{segment}}")),
        graph("Records into operators", "Of those that run record by record; slots count nothing of batches.",
              Query(rate("spillway_records_in_total", "by (operator)"), "{{operator}}"), unit="suffix:/s"),
        graph("Trouble", "Records that could not be processed, or came too late for their window.",
              Query(rate("spillway_record_errors_total", "by (operator)") + " > 0", "{{operator}} failed"),
              Query(rate("spillway_late_records_total", "by (segment)") + " > 0", "{{segment}} too late"),
              Query(rate("spillway_dropped_records_total", "by (segment)") + " > 0", "{{segment}} dropped"),
              unit="suffix:/s"),
    )  # fmt: skip
    parts.row(
        made,
        "Where and how it runs",
        timeline("Paradigm", "Of most partitions of each segment.",
                 Query(f"max by (segment) ({of('spillway_segment_paradigm', parts.IN_BATCHES)})", "{{segment}}"),
                 parts.PARADIGMS),
        graph("Partitions that changed hands", "By why they did.",
              Query(f"{parts.gone_up('spillway_moves_total', 'by (kind)', window='$__rate_interval')} > 0", "{{kind}}"),
              bars=True, colours={"switch": ORANGE, "resize": BLUE, "takeover": RED, "start": GREY}),
        graph("Pauses", "For how long nobody had a partition that changed hands: 99 % of them less.",
              Query(f"histogram_quantile(0.99, {PAUSES}) >= 0", "{{kind}}"), unit="s"),
        graph("Time for a record", "In each operator, of 1 record in 64: what a record costs where it goes record by"
              " record.", Query(PER_RECORD, "{{operator}}"), unit="s"),
        graph("Batches", "What the last batch of each segment took, and how long it is from one to the next.",
              Query(f"max by (segment) ({of('spillway_batch_seconds')})", "{{segment}} takes"),
              Query(f"max by (segment) ({of('spillway_batch_interval_seconds')})", "{{segment}} every"), unit="s"),
        graph("Sizes", "Records in a frame of the edges of a segment, and in its last batch.",
              Query(f"max by (segment) ({of('spillway_segment_frame_records')})", "{{segment}} frame"),
              Query(f"max by (segment) ({of('spillway_batch_records')})", "{{segment}} batch")),
        graph("What batches could do", "Records per second, as measured, against those that arrive.",
              Query(f"max by (segment) ({of('spillway_batch_capacity')})", "{{segment}} in batches"),
              Query(f"max({of('spillway_arrival_rate')})", "arrive"), unit="suffix:/s"),
    )  # fmt: skip
    parts.row(
        made,
        "What it costs",
        graph("Slots and executors", "Those that work, and those that the load needs.",
              Query(f"max({of('spillway_slots', parts.HEARD)})", "slots"),
              Query(f"max({of('spillway_recommended_slots')})", "slots needed"),
              Query(f"max({of('spillway_executors')})", "executors"),
              Query(f"max({of('spillway_recommended_executors')})", "executors needed"),
              colours={"slots": BLUE, "executors": ORANGE}),
        graph("Busy slots", "Slots that each segment keeps busy.",
              Query(f"max by (segment) ({of('spillway_segment_busy_slots')})", "{{segment}}"), stacked=True),
        graph("Processors", "Cores that the slots use.",
              Query(rate("spillway_slot_cpu_seconds_total", "by (slot)"), "{{slot}}"), stacked=True),
        graph("Memory", "Resident, of each slot; and what its tables take.",
              Query(f"max by (slot) ({of('spillway_slot_memory_bytes')})", "{{slot}}"),
              Query(f"sum by (segment) ({of('spillway_table_bytes')})", "tables of {{segment}}"), unit="bytes"),
    )  # fmt: skip
    return made
