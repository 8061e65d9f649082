"""What is left of the runs: a line of JSON for each, in one file for each measurement."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spillway.bench.dual import machine
from spillway.bench.dual.courses import Run
from spillway.bench.record import reports
from spillway.bench.record.figures import Figure


class Keeper:
    """Keeps runs in a folder, or nowhere."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def keep(self, what: str, run: Run) -> None:
        """One line more."""
        self.told(what, run.told())

    def told(self, what: str, one: Mapping[str, Any]) -> None:
        """One line more; at once, so that what is interrupted leaves what it had."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{what}.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(reports.plain(one)) + "\n")

    def closed(self, what: str, found: Sequence[Figure], about: Mapping[str, Any]) -> None:
        """What came of it, and on which machine: the end of a measurement."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "figures.json").write_text(reports.as_json(what, found) + "\n", encoding="utf-8")
        (self.folder / "table.txt").write_text(reports.table(found), encoding="utf-8")
        (self.folder / "machine.json").write_text(json.dumps(reports.plain(about), indent=2) + "\n", encoding="utf-8")


def option(parser: argparse.ArgumentParser) -> None:
    """Where figures are kept, of a command that measures one thing."""
    parser.add_argument("--keep", type=Path, metavar="DIR", help="of figures and table [build/bench/<what>-<time>]")


def end(asked: argparse.Namespace, found: Sequence[Figure]) -> None:
    """Keep what was found, print it, and end."""
    folder = asked.keep or Path("build/bench") / f"{asked.what}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    Keeper(folder).closed(asked.what, found, machine.about())
    reports.end(asked.what, found, asked.output)
