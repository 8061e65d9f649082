"""The lines that a demonstration prints: one for what happens, wrapped so that 80 columns are enough."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Callable
from typing import TextIO

from spillway.cli import terminal
from spillway.cli.planning import sizes
from spillway.cli.story.moves import Group
from spillway.cli.watching import lines
from spillway.local.events import Event, Kind, Look
from spillway.model.observation import MoveKind, Observation

WIDTH = 80
INDENT = " " * 9  # as wide as a time with the space behind it

# What `spillway up` tells too, and a demonstration leaves out: it has its own words for the rest.
LEFT_OUT = (Kind.PLAN, Kind.MOVES, Kind.DECISION, Kind.TOPICS, Kind.RATES, Kind.DRAINING, Kind.CONDITION, Kind.SIZES)


class Narrator(terminal.Printer):
    """Prints what happens."""

    def __init__(self, stream: TextIO, gone: Callable[[], None], now: Callable[[], datetime.datetime]) -> None:
        super().__init__(stream, gone)
        self._now = now

    def event(self, event: Event) -> None:
        """What the run underneath tells."""
        if event.kind not in LEFT_OUT or event.look is Look.BAD:
            first, *rest = event.text.splitlines() or [""]
            self.say(first, lines.look(event))
            for line in rest:
                self.put(f"{INDENT}{terminal.clean(line)}")

    def say(self, text: str, look: str = "", *details: str) -> None:
        """Something happened; details stand under it, in a quieter colour."""
        clock = f"{self._now():%H:%M:%S} "
        for number, line in enumerate(_wrapped(text)):
            self.put(terminal.style(f"{INDENT if number else clock}{line}", look, self._stream) if look else
                     f"{INDENT if number else clock}{line}")  # fmt: skip
        for detail in details:
            for line in _wrapped(detail):
                self.put(terminal.style(f"{INDENT}{line}", "dim", self._stream))


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(terminal.clean(text), WIDTH - len(INDENT), break_long_words=False) or [""]


def moved(group: Group) -> tuple[str, str, str]:
    """What a group of moves is, in which colour, and why."""
    pause = "" if group.pause is None else f", longest pause {group.pause:.0f} ms"
    count = sizes.count(len(group.moves), "partition")
    what = f"{count} of {', '.join(group.segments)}"
    reason = group.moves[0].reason
    if group.kind is MoveKind.SWITCH:
        way = "to batches" if group.to_batches else "back, record by record"
        return f"switch {way}: {what}{pause}", "cyan", reason
    if group.kind is MoveKind.TAKEOVER:
        return f"takeover: {what}{pause}", "yellow", reason
    source, target = group.ways
    way = " ".join(part for part in (f"from {source}" * bool(source), f"to {target}" * bool(target)) if part)
    return f"{group.kind}: {what} {way}{pause}", "", reason


def standing(seen: Observation, head: str) -> str:
    """How it stands right now, on one line."""
    paradigm = next((str(one.paradigm) for one in seen.segments if one.name == head), "record")
    runs = "in batches" if paradigm == "batch" else "record by record"
    waits = next((one.lag or 0 for one in seen.segments if one.name == head), 0)
    kept = seen.latency
    if kept.within is None:
        return f"{sizes.rate(seen.rate_in or 0.0)} in, {runs}; no results yet"
    bound = sizes.duration(kept.bound_ms / 1000)
    queue = f"; {waits} wait" if waits else ""
    return f"{sizes.rate(seen.rate_in or 0.0)} in, {runs}; {sizes.of_all(kept.within)} within {bound}{queue}"
