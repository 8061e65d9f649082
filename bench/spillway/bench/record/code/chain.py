"""The functions of the measured chain: what users write at the least."""

from typing import Any


def weigh(record: dict[str, Any]) -> dict[str, Any]:
    """One value made of others."""
    record["total"] *= 1.5
    return record


def split(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Several records made of one."""
    return [{"word": word} for word in record["line"].split(" ")]
