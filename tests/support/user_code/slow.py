"""A function that takes its time. It sleeps, so that a busy machine is as fast as a quiet one."""

from __future__ import annotations

import time
from typing import Any

EACH = 0.01  # seconds; what a slot and a busy machine add is little beside that


def slow(row: dict[str, Any]) -> dict[str, Any]:
    """The row as it is."""
    time.sleep(EACH)
    return row
