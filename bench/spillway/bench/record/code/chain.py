"""The functions of the measured chain: what users write at the least."""

from typing import Any


def weigh(record: dict[str, Any]) -> dict[str, Any]:
    """One value made of others."""
    record["total"] *= 1.5
    return record
