"""The command line of the measurements."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator

from spillway.bench.batch import forms, latency, live, paradigms


def main() -> None:
    """Measure what was asked for, and print a table, or JSON."""
    asked = _parser().parse_args()
    if asked.what == "paradigms":
        costs = list(paradigms.main(asked.share, asked.rounds, _say_progress, asked.only))
        found = [dataclasses.asdict(cost) for cost in costs]
        text = paradigms.table(costs)
    elif asked.what == "forms":
        both = list(forms.main(asked.rounds, _say_progress, asked.only))
        found = [dataclasses.asdict(form) for form in both]
        text = forms.table(both)
    else:
        lines = []
        for line in _lines(asked):
            lines.append(line)
            _say_progress(f"{line.name}: {line.value}")
        found = [dataclasses.asdict(line) for line in lines]
        text = "".join(f"{line.name:56} {line.value}\n" for line in lines)
    sys.stdout.write(json.dumps({"what": asked.what, "figures": found}) + "\n" if asked.output == "json" else text)


def _lines(asked: argparse.Namespace) -> Iterator[latency.Line]:
    if asked.what == "standby":
        return live.standby(asked.rounds, _say_progress)
    if asked.what == "shadow":
        return live.shadow(asked.share, asked.rounds, asked.only, _say_progress)
    if asked.what == "refusal":
        return live.refusal(asked.rounds, _say_progress)
    return latency.main(asked.seconds, _say_progress)


def _parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="python -m spillway.bench.batch",
        description="Measure the batch paradigm.\n\n"
        "  paradigms  processor time of a record in both paradigms, by job and size (some minutes)\n"
        "  forms      a batch as the loop of the record paradigm, and as Spark SQL (some minutes)\n"
        "  latency    what a batch takes in a local Spark, and what that takes (a minute)\n"
        "  standby    how long a switch takes, with a warm Spark and with none (two minutes)\n"
        "  shadow     whether batches take what was predicted of them (some minutes)\n"
        "  refusal    what is decided in a burst that batches can't help with (a minute)",
        epilog="Example:   python -m spillway.bench.batch paradigms --share 0.2 --rounds 1",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument(
        "what",
        choices=("paradigms", "forms", "latency", "standby", "shadow", "refusal"),
        metavar="WHAT",
        help="one of the above",
    )
    found.add_argument("--share", type=float, default=1.0, help="of the records that are run through each job [1]")
    found.add_argument("--only", default="", help="cases with this in their names, such as 'grep' [all]")
    found.add_argument("--rounds", type=int, default=3, help="repetitions in fresh processes [3]")
    found.add_argument("--seconds", type=float, default=latency.IDLE, help="of watching an idle Spark [20]")
    found.add_argument("-o", "--output", choices=("table", "json"), default="table", help="for people, or programs")
    return found


def _say_progress(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
