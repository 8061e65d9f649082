"""What processes say to people: one line for each event on standard error, `time level who: message`.

    2026-03-01T10:00:00.123Z info w0.1: joined as incarnation 7

A line is written at once and whole, so those of several processes don't mix.
"""

from __future__ import annotations

import datetime
import logging
import sys


class _Lines(logging.Formatter):
    """A line for each record; a traceback, which only what we didn't foresee has, follows on lines of its own."""

    def __init__(self, who: str) -> None:
        super().__init__()
        self._who = who

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - so it is called there
        """The line, whatever the message has in it."""
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        time = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"
        return f"{time} {record.levelname.lower()} {self._who}: {' '.join(record.message.split())}"


def begin(who: str) -> None:
    """From now on this process logs under this name: of a slot, of a worker, or what else it is."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(who))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
