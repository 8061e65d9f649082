"""Figures as a table for people, and as JSON; how a measurement ends, and lines that tell how far it is."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from spillway.bench.record.figures import Figure, Verdict


def parser(
    package: str, about: str, parts: Mapping[str, str], example: str, seconds: str, rounds: int
) -> argparse.ArgumentParser:
    """The arguments of a command line that measures one of some parts; `seconds` says what they are of."""
    wide = max(map(len, parts))
    listed = "\n".join(f"  {name:{wide}}  {what}" for name, what in parts.items())
    found = argparse.ArgumentParser(
        prog=f"python -m {package}",
        description=f"{about}\n\n{listed}",
        epilog=f"Exit code: 0 all reached, 1 one missed or void.\nExample:   python -m {package} {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("what", choices=parts, metavar="WHAT", help="one of the above")
    found.add_argument("--seconds", type=float, help=f"{seconds}; given above where nothing is said")
    found.add_argument("--rounds", type=int, default=rounds, help=f"repetitions [{rounds}]")
    found.add_argument("-o", "--output", choices=("table", "json"), default="table", help="for people, or programs")
    return found


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
