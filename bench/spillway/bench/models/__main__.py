"""The command line of the measurements."""

from __future__ import annotations

import argparse
import importlib

from spillway.bench.dual import keeping
from spillway.bench.record import reports

# By figure: module, its function, what it measures, and seconds of each measurement unless told otherwise.
PARTS = {
    "T2": ("transfer", "main", "throughput from source to sink by the cost model, on sizes of frames not fitted", 1.0),
    "P1": ("latencies", "main", "mean and p99 by the latency model, and that bounds are bounds", 12.0),
    "P2": ("plans", "main", "what is planned against rules of thumb: the rates at which the bound is kept", 6.0),
    "D8": ("ranges", "main", "the chosen switch range against the best one, by selectivity and rate", 1.0),
    "F1": (
        "profiles",
        "nearness",
        "stepwise profiling on linear, star and diamond, against the best of all counts",
        4.0,
    ),
    "F2": ("profiles", "comparison", "stepwise profiling against threshold scaling and Stela", 4.0),
}
ROUNDS = 1


def main() -> None:
    """Measure what was asked for, print a table, or JSON, and keep both."""
    asked = _parser().parse_args()
    module, function, _, seconds = PARTS[asked.what]
    measure = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    found = measure(asked.seconds or seconds, asked.rounds, reports.say_progress)
    keeping.end(asked, found)


def _parser() -> argparse.ArgumentParser:
    parts = {name: f"{what} ({seconds:g} s each)" for name, (_, _, what, seconds) in PARTS.items()}
    about = "Measure whether the models say what is."
    found = reports.parser(__package__, about, parts, "T2 --rounds 5", "of each measurement, about", ROUNDS)
    keeping.option(found)
    return found


if __name__ == "__main__":
    main()
