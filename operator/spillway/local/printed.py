"""What driver and workers print of errors, told where somebody sees it; the rest is in their logs.

A slot that dies is started again by its worker, which goes on: nobody would look into its log.
"""

from __future__ import annotations

import re
from pathlib import Path

from spillway.local.events import Event, Kind, Look

# As `runtime.logs` writes a line; what follows without a time belongs to it: a traceback.
_LINE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z (\w+) ([^:]+): (.*)")
AT_ONCE = 256 * 1024  # bytes; of a flood, the end is as good as all
# Seconds in which the same is told once: what fails again and again is one piece of news.
SAME = 60.0


class Printed:
    """The logs of processes, read as they grow."""

    def __init__(self) -> None:
        self._read: dict[Path, int] = {}
        self._told: dict[str, float] = {}

    def begin(self, log: Path) -> None:
        """Look at what is printed from now on; what earlier runs left is not told."""
        self._read.setdefault(log, _size(log))

    def heard(self, now: float) -> list[Event]:
        """The errors that were printed since the last time."""
        events = []
        for log in self._read:
            for who, message, last in _errors(self._new(log)):
                text = f"{who}: {message}" + (f"\n{last}" if last else "")
                if now - self._told.get(text, -SAME) >= SAME:
                    self._told[text] = now
                    data = {"who": who, "log": str(log)}
                    events.append(Event(Kind.ERROR, text, Look.BAD, data))
        return events

    def _new(self, log: Path) -> str:
        size, read = _size(log), self._read[log]
        if size <= read:
            return ""
        with log.open("rb") as opened:
            opened.seek(max(read, size - AT_ONCE))
            text = opened.read(size - opened.tell())
        end = text.rfind(b"\n") + 1  # a line that is being written is read the next time
        self._read[log] = size - len(text) + end
        return text[:end].decode(errors="replace")


def _errors(text: str) -> list[tuple[str, str, str]]:
    """Who said what, and the last line of the traceback under it."""
    found: list[tuple[str, str, str]] = []
    inside = False
    for line in text.splitlines():
        if parts := _LINE.fullmatch(line):
            inside = parts[1] in ("error", "critical")
            if inside:
                found.append((parts[2], parts[3], ""))
        elif inside and line.strip():
            found[-1] = (*found[-1][:2], line.strip())
    return found


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0
