"""The functions of the measured chain: what users write at the least."""

import time
from typing import Any

SLOW = 0.002  # seconds; it sleeps, so that what a slot can do does not depend on what else the machine does


def weigh(record: dict[str, Any]) -> dict[str, Any]:
    """One value made of others."""
    record["total"] *= 1.5
    return record


def slowly(record: dict[str, Any]) -> dict[str, Any]:
    """The record as it is, after a while."""
    time.sleep(SLOW)
    return record


def cut(record: dict[str, Any]) -> dict[str, Any]:
    """The words of a line."""
    return {"words": record["line"].split(" ")}
