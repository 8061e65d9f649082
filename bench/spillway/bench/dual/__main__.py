"""The command line of the measurements."""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path

from spillway.bench import workloads
from spillway.bench.dual import machine
from spillway.bench.dual.keeping import Keeper
from spillway.bench.record import reports

# By name: module, what it measures, and seconds of load in each run unless told otherwise.
PARTS = {
    "all": ("everything", "all of the below, one after the other, on word count; `throughput` on all workloads", 8),
    "throughput": ("throughput", "figure D6: records from a full topic, in a second and in one of a processor", 8),
    "bursts": ("bursts", "figure D3: low, burst, low, higher burst, low: what switches cost", 90),
    "high": ("high", "figure D2: more than record by record can do, and within what batches can", 25),
    "low": ("low", "figure D1: latencies at a tenth of what record by record can do", 20),
    "threshold": ("threshold", "figure D7: around what record by record can do: switches", 600),
    "parts": ("parts", "figure D4: latency by component", 10),
}
ROUNDS = 1  # of everything, in less than half an hour; ratios want five


def main() -> None:
    """Measure what was asked for, print a table, or JSON, and keep the raw data."""
    asked = _parser().parse_args()
    module, _, seconds = PARTS[asked.what]
    measure = importlib.import_module(f"{__package__}.{module}").main
    folder = asked.keep or Path("build/bench") / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    some = [workloads.ALL[name] for name in asked.works]
    found = measure(asked.seconds or seconds, asked.rounds, reports.say_progress, Keeper(folder), some)
    Keeper(folder).closed(asked.what, found, machine.about())
    reports.say_progress(f"raw data and pictures: {folder}")
    reports.end(asked.what, found, asked.output)


def _parser() -> argparse.ArgumentParser:
    parts = {name: f"{what} ({seconds} s)" for name, (_, what, seconds) in PARTS.items()}
    about = "Measure both paradigms against each other, and against other systems."
    example = "throughput --works lines ads --rounds 3"
    found = reports.parser(__package__, about, parts, example, "of load in each run, about", ROUNDS)
    found.add_argument(
        "--works", nargs="+", choices=workloads.ALL, default=[], metavar="NAME", help=f"of {', '.join(workloads.ALL)}"
    )
    found.add_argument("--keep", type=Path, metavar="DIR", help="of raw data and pictures [build/bench/<time>]")
    return found


if __name__ == "__main__":
    main()
