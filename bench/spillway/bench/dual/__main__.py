"""The command line of the measurements."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import sys
from pathlib import Path

from spillway.bench.dual.keeping import Keeper, plain
from spillway.bench.record import figures, reports

# By name: module, what it measures, and seconds of load in each run unless told otherwise.
PARTS = {
    "throughput": ("throughput", "figure D6: records from a full topic, in a second and in one of a processor", 8),
    "bursts": ("bursts", "figure D3: low, burst, low, higher burst, low: what switches cost", 90),
    "high": ("high", "figure D2: more than record by record can do, and within what batches can", 25),
    "low": ("low", "figure D1: latencies at a tenth of what record by record can do", 20),
    "threshold": ("threshold", "figure D7: around what record by record can do: switches", 120),
}


def main() -> None:
    """Measure what was asked for, and print a table, or JSON."""
    asked = _parser().parse_args()
    module, _, seconds = PARTS[asked.what]
    measure = importlib.import_module(f"{__package__}.{module}").main
    found = measure(asked.seconds or seconds, asked.rounds, reports.say_progress, Keeper(asked.keep))
    if asked.output == "json":
        told = {"what": asked.what, "figures": [dataclasses.asdict(one) for one in found]}
        sys.stdout.write(json.dumps(plain(told)) + "\n")
    else:
        sys.stdout.write(reports.table(found))
    sys.exit(1 if any(one.verdict in (figures.Verdict.MISSED, figures.Verdict.VOID) for one in found) else 0)


def _parser() -> argparse.ArgumentParser:
    listed = "\n".join(f"  {name:10} {what} ({seconds} s)" for name, (_, what, seconds) in PARTS.items())
    found = argparse.ArgumentParser(
        prog="python -m spillway.bench.dual",
        description=f"Measure both paradigms against each and against other systems.\n\n{listed}",
        epilog="Exit code: 0 all reached, 1 one missed or void.\n"
        "Example:   python -m spillway.bench.dual throughput --rounds 1 --keep build/bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("what", choices=PARTS, metavar="WHAT", help="one of the above")
    found.add_argument("--seconds", type=float, help="of load in each run, about; given above where nothing is said")
    found.add_argument("--rounds", type=int, default=figures.ROUNDS, help="repetitions in fresh processes [5]")
    found.add_argument("--keep", type=Path, metavar="DIR", help="write raw data and pictures there [nowhere]")
    found.add_argument("-o", "--output", choices=("table", "json"), default="table", help="for people, or programs")
    return found


if __name__ == "__main__":
    main()
