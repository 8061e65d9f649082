"""The command line of what has some parts, and does them all unless it is told which."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence


def asked(name: str, parts: Collection[str], about: str | None, given: Sequence[str] | None = None) -> list[str]:
    """The parts that `python -m spillway.bench.NAME` is to do; `about` is what its module says of itself."""
    found = argparse.ArgumentParser(
        prog=f"python -m spillway.bench.{name}",
        description=about,
        epilog=f"Example:   python -m spillway.bench.{name} {next(iter(parts))}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)} [all]")
    chosen: list[str] = found.parse_args(given).parts
    for part in chosen:
        if part not in parts:
            found.error(f"there is no part {part!r}; there are {', '.join(parts)}")
    return chosen or list(parts)
