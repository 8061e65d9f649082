"""The command line of the measurements."""

from __future__ import annotations

import argparse
import importlib

from spillway.bench.dual import keeping
from spillway.bench.record import figures, reports

# By name: module, function, what it measures, and seconds that it takes unless told otherwise.
PARTS = {
    "loop": ("loop", "main", "figure W: processor time of the record loop, and its parts", 120),
    "transfer": ("transfer", "main", "figure T1: an internal edge with frames of 1 to 10 000 records", 60),
    "deadline": ("latency", "deadline", "figure T4: frames that are never full, at 1000 records a second", 60),
    "latency": ("latency", "main", "two segments at 1000 records a second, and where the time goes", 120),
    "stall": ("latency", "stall", "figure S5: a slot that is stopped shows in the figures", 60),
    "skew": ("skew", "main", "figure S3: all records on one key, and by Zipf's law, against all keys alike", 120),
    "overload": ("overload", "main", "figure P3: shares in time at 0.8, 1.36 and 1.8 times what a slot can do", 240),
    "memory": ("memory", "main", "memory and topics over a long time", 1800),
    "resize": ("resize", "main", "live resize and change of program, 100 MB of state: pauses, and is it right", 180),
    "peers": ("peers", "main", "word count and YSB against bytewax and Quix Streams", 300),
}


def main() -> None:
    """Measure what was asked for, print a table, or JSON, and keep both."""
    asked = _parser().parse_args()
    module, function, _, seconds = PARTS[asked.what]
    measure = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    found = measure(asked.seconds or seconds, asked.rounds, reports.say_progress)
    keeping.end(asked, found)


def _parser() -> argparse.ArgumentParser:
    parts = {name: f"{what} ({seconds} s)" for name, (_, _, what, seconds) in PARTS.items()}
    about, example = "Measure the record paradigm.", "loop --seconds 60 -o json"
    found = reports.parser(__package__, about, parts, example, "about how long to measure", figures.ROUNDS)
    keeping.option(found)
    return found


if __name__ == "__main__":
    main()
