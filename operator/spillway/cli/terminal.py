"""What is printed: colour for people at a terminal, plain text for pipes, and nothing that a terminal would obey."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TextIO


def plain(stream: TextIO) -> bool:
    """Whether to leave colours out: piped, `NO_COLOR` set, or a terminal that has none."""
    return not stream.isatty() or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def style(text: str, look: str, stream: TextIO) -> str:
    """The text in a colour, where the stream shows colours."""
    return text if plain(stream) else f"\x1b[{_CODES[look]}m{text}\x1b[0m"


def clean(text: str) -> str:
    """The text without control characters: what somebody wrote in a file must not steer the terminal."""
    return "".join(c if c.isprintable() or c == " " else c.encode("unicode_escape").decode() for c in text)


_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, length: int, *, ascii_only: bool) -> str:
    """A share of a whole, drawn as a bar of so many columns."""
    filled = max(0.0, min(1.0, share)) * length
    if ascii_only:
        return ("#" * round(filled)).ljust(length, ".")
    whole, eighths = int(filled), int(filled % 1 * 8)
    return ("█" * whole + (_EIGHTHS[eighths] if eighths else "")).ljust(length, "·")


class Printer:
    """Prints lines. Who reads them may go away at any time: then `gone` is called once, and nothing more is printed."""

    def __init__(self, stream: TextIO, gone: Callable[[], None]) -> None:
        self._stream, self._gone = stream, gone
        self._open = True

    def put(self, line: str) -> None:
        """A line as it is."""
        if not self._open:
            return
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except OSError:
            self._open = False
            self._gone()


def say(text: str) -> None:
    """Print a line on standard output."""
    sys.stdout.write(f"{text}\n")


def complain(text: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(f"{text}\n")
