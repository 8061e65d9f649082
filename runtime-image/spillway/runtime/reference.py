"""The reference of metrics: what processes of a job tell Prometheus, from the code that tells it."""

from __future__ import annotations

from collections.abc import Iterable

from spillway.runtime.driver import metrics as driver
from spillway.runtime.telemetry import BUCKETS
from spillway.runtime.worker import metrics as worker
from spillway.runtime.worker.metrics import Family

_HEADER = "<!-- Made by `make docs` from the code; changes here are lost. -->"


def metrics() -> str:
    """Every metric, its labels, and what it says."""
    counters = _counted((*worker.COUNTERS, worker.ENDS))
    parts = [
        f"{_HEADER}\n\n# Metrics\n",
        "Units are seconds and bytes. Labels are bounded: segments, operators and outputs are those of the manifest,"
        " slots those of the worker.\n",
        "## Worker\n",
        "Counters are sums over all slots of the worker, and over all their processes since the worker started: they"
        " don't go back when a slot is started again, or when a partition moves away.\n",
        "The label `operator` also has the ports, edges and outputs of a segment: a stream by its name, `counts.main`"
        " for the edge that leads to operator `counts`, and `result.output` for output `result`.\n",
        "The phases of a segment together are the age of a record that goes through it, on average: `queue`, from when"
        " its message was sent (appended, where the topic says so) until a slot took it; `cpu`, until what came of it,"
        " and of all that was taken with it, was made; `wait`, for a frame of an edge to fill or to be due; `network`,"
        " of outputs, until the broker had it, or with `exactly-once` until it was committed. What an edge takes of the"
        " network is in the queue of the segment behind it. What goes through batches is not in them.\n",
        f"### Counters\n\n{_table(counters)}",
        f"### Histogram\n\n{_table([worker.LATENCY])}",
        f"It has {len(BUCKETS)} buckets up to {BUCKETS[-1] / 1000:.0f} s, two for each doubling: a quantile that is"
        " read from them is at most 41 % too high. Whether the promise is kept is counted exactly: the share is"
        " `rate(spillway_within_bound_total[5m]) / rate(spillway_latency_seconds_count[5m])`.\n",
        f"### Gauges\n\n{_table(worker.GAUGES)}",
        "## Driver\n",
        "What nobody knows has no sample: a rate before there were two reports, the need before it was measured.\n",
        f"### Counters\n\n{_table(_counted(driver.COUNTERS))}",
        f"### Histograms\n\n{_table([driver.PAUSE, driver.LATENCY])}",
        f"### Gauges\n\n{_table(driver.GAUGES)}",
    ]
    return "\n".join(parts)


def _counted(families: Iterable[Family]) -> list[Family]:
    return [Family(f"{family.name}_total", family.labels, family.says) for family in families]


def _table(families: Iterable[Family]) -> str:
    rows = [f"| `{f.name}` | {', '.join(f'`{label}`' for label in f.labels)} | {f.says} |" for f in families]
    return "\n".join(["| name | labels | says |", "|---|---|---|", *rows, ""])
