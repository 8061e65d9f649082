"""Figures as a table for people, and lines that tell how far a measurement is."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from spillway.bench.record.figures import Figure


def table(found: Sequence[Figure]) -> str:
    """One line for each figure."""
    wide = max((len(one.name) for one in found), default=0)
    lines = [f"{'':{wide}}  {'median':>10} {'95 % interval':>20}  unit"]
    for one in found:
        interval = f"{one.low:.4g} to {one.high:.4g}"
        wanted = f"  wanted {one.wanted}: {one.verdict}" if one.wanted else "" if one.verdict == "shown" else "  void"
        note = f"  ({one.note})" if one.note else ""
        lines.append(f"{one.name:{wide}}  {one.value:10.4g} {interval:>20}  {one.unit}{wanted}{note}")
    return "\n".join(lines) + "\n"


def say_progress(line: str) -> None:
    """To whoever waits, beside the figures."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
