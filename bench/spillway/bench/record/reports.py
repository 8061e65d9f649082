"""Figures as a table for people, and as JSON; how a measurement ends, and lines that tell how far it is."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from spillway.bench.record.figures import Figure, Verdict


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


def as_json(what: str, found: Sequence[Figure], indent: int | None = None) -> str:
    """All of them; on one line, unless something is indented."""
    return json.dumps(plain({"what": what, "figures": [dataclasses.asdict(one) for one in found]}), indent=indent)


def plain(value: Any) -> Any:
    """Without what JSON can't say: what isn't a number is nothing."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def end(what: str, found: Sequence[Figure], output: str) -> NoReturn:
    """Print them as a table or as `json`, and end: with 1 if one was missed, or is void."""
    sys.stdout.write(as_json(what, found) + "\n" if output == "json" else table(found))
    sys.exit(1 if any(one.verdict in (Verdict.MISSED, Verdict.VOID) for one in found) else 0)


def say_progress(line: str) -> None:
    """To whoever waits, beside the figures."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
