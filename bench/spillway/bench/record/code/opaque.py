"""A function that nobody can look into, and that takes its time: Spark has to run it as it is."""

import zlib
from typing import Any

ROUNDS = 300  # about 50 µs


def score(record: dict[str, Any]) -> dict[str, Any]:
    """A number made of a line, in pure Python."""
    value = zlib.crc32(record["line"].encode())
    for _ in range(ROUNDS):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return {"score": value}
