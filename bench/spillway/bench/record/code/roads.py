"""The function of the Linear Road workload."""

from collections.abc import Iterator
from typing import Any


def parse(record: dict[str, Any]) -> Iterator[dict[str, int]]:
    """A line that is a position report; others give nothing."""
    kind, _, car, speed, expressway, _, direction, segment, _ = record["line"].split(",")
    if kind == "0":
        yield {
            "car": int(car),
            "speed": int(speed),
            "expressway": int(expressway),
            "direction": int(direction),
            "segment": int(segment),
        }
