"""What comes of a measurement: where it is kept, and how it is printed."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import time
from collections.abc import Iterator, Sequence

import typer

from spillway.bench.dual import machine
from spillway.bench.dual.keeping import Keeper
from spillway.bench.record import reports
from spillway.bench.record.figures import Figure
from spillway.bench.record.logs import NotTakenError
from spillway.bench.record.systems import EndedError
from spillway.cli import terminal

FAILED = 1


@contextlib.contextmanager
def keeper(folder: pathlib.Path | None) -> Iterator[Keeper]:
    """Who keeps what was seen, and says where."""
    place = folder or pathlib.Path("build/bench") / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    yield Keeper(place)
    terminal.complain(f"raw data and pictures: {place}")


@contextlib.contextmanager
def told() -> Iterator[None]:
    """What goes wrong with a system becomes a line."""
    try:
        yield
    except (EndedError, NotTakenError) as error:
        terminal.complain(f"spillway: {error}")
        raise typer.Exit(FAILED) from None


def close(what: str, found: Sequence[Figure], keeping_it: Keeper, *, as_json: bool) -> None:
    """Keep the figures, and print them."""
    keeping_it.closed(what, found, machine.about())
    if as_json:
        terminal.say(reports.as_json(what, found, indent=2))
    else:
        sys.stdout.write(reports.table(found))
